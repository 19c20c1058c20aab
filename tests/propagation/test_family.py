"""The laws that every propagation of the family table obeys. A new member fails here until it has a case."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch_geometric.data import Batch

from arbgraph.graph import EvidenceGraph
from arbgraph.propagation import PROPAGATIONS, propagation_class
from arbgraph.settings import load_settings

F64 = torch.float64
SUPPORT, CONTRADICTION, NEUTRAL = (0.85, 0.1, 0.05), (0.05, 0.9, 0.05), (0.1, 0.1, 0.8)


def build(prior, pairs, relation, links=None, dtype=F64, **fields) -> EvidenceGraph:
    e = len(pairs)
    return EvidenceGraph.build(
        torch.tensor(prior, dtype=dtype),
        torch.tensor(pairs, dtype=torch.long).view(-1, 2).T.contiguous(),
        torch.tensor(relation, dtype=dtype).view(-1, 3),
        verdict=torch.tensor([0.8, 0.1, 0.1], dtype=dtype).repeat(e, 1),
        source_index=None if links is None else torch.tensor(links, dtype=torch.long).view(-1, 2).T.contiguous(),
        **fields,
    )


def random_graph(seed: int, n: int, dtype=F64) -> EvidenceGraph:
    """n claims, about 1.5 n pairs of all three relations, about 1.5 n links to n / 2 sources, a few claims off the query."""
    draw = torch.Generator().manual_seed(seed)

    def integers(high, count):
        return torch.randint(max(high, 1), (count,), generator=draw).tolist()

    def reals(count, low=0.0):
        return low + (1 - low) * torch.rand(count, generator=draw, dtype=F64)

    pairs = sorted({(min(a, b), max(a, b)) for a, b in zip(integers(n, 2 * n), integers(n, 2 * n), strict=True) if a != b})
    kinds = torch.tensor([SUPPORT, CONTRADICTION, CONTRADICTION, NEUTRAL], dtype=F64)[integers(4, len(pairs))].view(-1, 3)
    noise = 0.1 * reals(3 * len(pairs)).view(-1, 3)
    links = sorted(set(zip(integers(n, 2 * n), integers(max(n // 2, 1), 2 * n), strict=True)))
    return build(
        (0.1 + 0.8 * reals(n)).tolist(),
        pairs,
        ((kinds + noise) / (kinds + noise).sum(-1, keepdim=True)).tolist(),
        links,
        dtype,
        num_sources=max(n // 2, 1),
        relevance=reals(n, 0.2).to(dtype),
        similarity=reals(len(pairs), 0.7).to(dtype),
    )


def rivals(n: int, prior: float) -> EvidenceGraph:
    """Two camps of n claims; every claim contradicts the whole other camp. A simultaneous update swings between the camps."""
    pairs = [(a, n + b) for a in range(n) for b in range(n)]
    return build([prior] * (2 * n), pairs, [CONTRADICTION] * len(pairs))


def slow_sources() -> EvidenceGraph:
    """A chain of 20 sources that share claims pairwise, and four sources of one claim: two groups of nearly equal strength."""
    links = [(i, j) for i in range(20) for j in (i, i + 1)] + [(20, j) for j in range(21, 25)]
    return build([0.5] * 21, [(i, i + 1) for i in range(20)], [CONTRADICTION] * 20, links, num_sources=25)


@dataclass
class Case:
    """What a member needs to be tested. `unsettled` and `options`: a graph, and constructor arguments, on which it does not settle
    (None: a closed form, which always does). `keeps_prior`: whether a claim without edges keeps its prior."""

    unsettled: EvidenceGraph | None
    options: dict[str, Any] = field(default_factory=dict)
    keeps_prior: bool = True


CASES: dict[str, Case] = {
    "arbgraph": Case(rivals(2, 0.8), {"rounds": 1}),
    "dfquad": Case(rivals(8, 0.5), {"damping": 0.0}),
    "quadratic_energy": Case(rivals(8, 0.5), {"damping": 0.0}),
    "euler": Case(rivals(60, 0.1), {"damping": 0.0}),
    "mlp": Case(rivals(8, 0.5), {"damping": 0.0}),
    "mean_field": Case(rivals(8, 0.6)),
    "not_both": Case(rivals(8, 0.6), {"damping": 0.0}),
    # It always converges, but not in five iterations.
    "signed_pagerank": Case(rivals(4, 0.6), {"max_iterations": 5}),
    # Rivals that push each other down harder than their sources push up swing; the third source makes the swing visible to a cosine.
    "truthfinder": Case(build([0.5] * 3, [(0, 1)], [CONTRADICTION]), {"influence": 20.0}, keeps_prior=False),
    "sums": Case(slow_sources(), keeps_prior=False),
    "average_log": Case(slow_sources(), keeps_prior=False),
    "investment": Case(slow_sources(), keeps_prior=False),
    "pooled_investment": Case(slow_sources(), keeps_prior=False),
    # It settles, but not in three iterations.
    "crh": Case(slow_sources(), {"max_iterations": 3}, keeps_prior=False),
    # The spreading to [0, 1] makes it swing on some random graphs when nothing is rounded.
    "two_estimates": Case(random_graph(136, 16), {"rounding": 0.0}, keeps_prior=False),
    "majority": Case(None, keeps_prior=False),
}

everyone = pytest.mark.parametrize("name", sorted(PROPAGATIONS))


def make(name: str, **options):
    return propagation_class(name)(**options)


def test_every_member_has_a_case():
    assert set(CASES) == set(PROPAGATIONS)


def test_an_unknown_name_is_answered_with_close_ones():
    with pytest.raises(ValueError, match="'truth_finder' is not known; did you mean truthfinder"):
        propagation_class("truth_finder")
    with pytest.raises(ValueError, match="choose one of arbgraph, dfquad"):
        propagation_class("zzzz")


@everyone
def test_thresholds_come_from_the_settings(name):
    method = propagation_class(name).from_settings(load_settings("default", tau_accept=0.6, tau_sim=0.9, support_cap=7))
    assert (method.tau_accept, method.tau_sim, method.support_cap) == (0.6, 0.9, 7)
    graph = random_graph(1, 9)
    trace = method(graph)
    assert torch.equal(trace.accepted, trace.edges.kept & (trace.p >= 0.6))


@everyone
def test_the_trace_has_its_shapes_and_ranges(name):
    graphs = [random_graph(seed, n) for seed, n in enumerate([9, 1, 14])]
    batch = Batch.from_data_list(graphs)
    trace = make(name)(batch)
    assert trace.p.shape == trace.s.shape == trace.accepted.shape == (24,)
    assert ((trace.p >= 0) & (trace.p <= 1)).all()
    assert torch.isfinite(trace.s).all()
    assert torch.allclose(torch.sigmoid(trace.s), trace.p, atol=1e-12)
    assert trace.asked.shape == (batch.num_pairs,)
    assert not trace.asked.any()
    assert torch.equal(trace.verdict, batch.verdict)
    assert trace.rounds_run.shape == trace.converged.shape == (3,)
    assert trace.converged.dtype == torch.bool
    assert torch.equal(trace.p[~trace.edges.kept], batch.prior[~trace.edges.kept])


@everyone
def test_a_batch_gives_every_graph_what_it_has_alone(name):
    graphs = [random_graph(10 + seed, n) for seed, n in enumerate([9, 0, 5, 14, 1])]
    method = make(name)
    for part, graph in zip(method(Batch.from_data_list(graphs)).split(graphs), graphs, strict=True):
        alone = method(graph)
        # Vectorised exponentials may differ in the last bit by where a number lies in memory, and no more.
        assert torch.allclose(part.p, alone.p, rtol=0, atol=1e-14)
        assert torch.equal(part.accepted, alone.accepted)
        assert torch.equal(part.rounds_run, alone.rounds_run)
        assert torch.equal(part.converged, alone.converged)


@everyone
def test_renaming_claims_and_sources_renames_the_scores(name):
    graph = random_graph(30, 12)
    draw = torch.Generator().manual_seed(3)
    n, e = 12, graph.num_pairs
    claims, sources = torch.randperm(n, generator=draw), torch.randperm(graph.num_sources, generator=draw)
    renamed = claims[graph.pair_index]
    flipped = renamed[0] > renamed[1]
    shuffle = torch.randperm(e, generator=draw)
    verdict = torch.where(flipped[:, None], graph.verdict[:, [1, 0, 2]], graph.verdict)

    def moved(values):
        return torch.empty_like(values).index_copy(0, claims, values)

    other = EvidenceGraph.build(
        moved(graph.prior),
        renamed.sort(dim=0).values[:, shuffle],
        graph.relation[shuffle],
        similarity=graph.similarity[shuffle],
        relevance=moved(graph.relevance),
        verdict=verdict[shuffle],
        source_index=torch.stack([claims[graph.source_index[0]], sources[graph.source_index[1]]]),
        num_sources=graph.num_sources,
    )
    method = make(name)
    one, two = method(graph), method(other)
    assert torch.allclose(moved(one.p), two.p, atol=1e-9)
    assert torch.equal(one.converged, two.converged)


@everyone
def test_without_edges(name):
    prior = [0.2, 0.5, 0.9]
    trace = make(name)(build(prior, [], []))
    if CASES[name].keeps_prior:
        assert trace.p.tolist() == pytest.approx(prior, abs=1e-12)
    else:
        # One source each and no rival: nothing tells the claims apart.
        assert trace.p.tolist() == pytest.approx([trace.p[0].item()] * 3, abs=1e-12)
        assert (trace.p > 0.5).all()
    assert trace.converged.all()


@everyone
def test_an_empty_graph(name):
    trace = make(name)(build([], [], []))
    assert trace.p.shape == (0,)
    assert trace.converged.tolist() == [True]


# The source methods normalise over the graph, so there a claim may depend on all others.
@pytest.mark.parametrize("name", sorted(name for name, case in CASES.items() if case.keeps_prior))
def test_an_unrelated_part_of_the_graph_changes_nothing(name):
    graph = build([0.4, 0.6, 0.7, 0.5], [(0, 1), (2, 3)], [CONTRADICTION, SUPPORT])
    other = build([0.4, 0.6, 0.7, 0.9], [(0, 1), (2, 3)], [CONTRADICTION, SUPPORT])
    options = {} if name == "arbgraph" else {"tolerance": 1e-12}
    method = make(name, **options)
    assert torch.allclose(method(graph).p[:2], method(other).p[:2], atol=1e-10)


@everyone
def test_gradients_are_finite(name):
    graph = random_graph(50, 11)
    graph.prior.requires_grad_()
    graph.relation.requires_grad_()
    options = {} if name == "arbgraph" else {"edge_weight": "confidence"}
    trace = make(name, **options)(graph)
    # The prior reaches p at least through the claims off the query.
    (trace.p.sum() + trace.s.sum()).backward()
    assert graph.prior.grad is not None
    assert torch.isfinite(graph.prior.grad).all()
    assert graph.prior.grad.abs().sum() > 0
    if graph.relation.grad is not None:
        assert torch.isfinite(graph.relation.grad).all()


@everyone
def test_the_dtype_of_the_prior_is_kept(name):
    exact = make(name)(random_graph(60, 10)).p
    for dtype, error in ((torch.float32, 1e-3), (torch.bfloat16, 0.2)):
        trace = make(name)(random_graph(60, 10, dtype))
        assert trace.p.dtype == dtype
        assert ((trace.p >= 0) & (trace.p <= 1)).all()
        assert (trace.p.to(F64) - exact).abs().max() < error


@everyone
def test_a_graph_that_does_not_settle_is_flagged(name):
    case = CASES[name]
    if case.unsettled is None:
        assert make(name)(random_graph(70, 8)).converged.all()
        return
    # Beside a graph that settles, which must not be flagged with it.
    quiet = build([0.5, 0.5], [], [])
    trace = make(name, **case.options)(Batch.from_data_list([case.unsettled, quiet]))
    assert trace.converged.tolist() == [False, True]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@everyone
def test_the_gpu_agrees(name):
    graph = Batch.from_data_list([random_graph(80, 12), random_graph(81, 7)])
    here, there = make(name)(graph), make(name)(graph.to("cuda"))
    assert torch.allclose(here.p, there.p.cpu(), atol=1e-9)
    assert torch.equal(here.converged, there.converged.cpu())
