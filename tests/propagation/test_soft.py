"""The differentiable modes: equal to the exact layer in the limit, correct gradients, straight-through values."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch

from arbgraph.graph import EvidenceGraph
from arbgraph.propagation.credibility import LEARNABLE, SCHEDULERS, CredibilityPropagation
from arbgraph.propagation.relaxation import capped_simplex_topk, fermi_topk, geometric_schedule, hard_sigmoid
from tests.reference.algorithm1 import algorithm1

DOUBLE = torch.float64
EXACT = {"rounds": 3, "budget": 2, "tau_q": 0.2, "tau_sim": 0.5, "tau_conf": 0.45}


def world(seed: int, n: int = 7, pairs: int = 10, tied: bool = False) -> EvidenceGraph:
    """A random graph; with `tied`, all priors, confidences and similarities are equal, so that only the tie order decides."""
    rng = torch.Generator().manual_seed(seed)
    every = torch.combinations(torch.arange(n))
    chosen = every[torch.randperm(len(every), generator=rng)[:pairs].sort().values].T.contiguous()
    e = chosen.shape[1]
    relation = torch.softmax(2 * torch.randn(e, 3, generator=rng, dtype=DOUBLE), -1)
    verdict = torch.softmax(2 * torch.randn(e, 3, generator=rng, dtype=DOUBLE), -1)
    if tied:
        relation = torch.tensor([[0.1, 0.8, 0.1]], dtype=DOUBLE).repeat(e, 1)
    return EvidenceGraph.build(
        torch.full((n,), 0.5, dtype=DOUBLE) if tied else 0.2 + 0.6 * torch.rand(n, generator=rng, dtype=DOUBLE),
        chosen,
        relation,
        similarity=torch.full((e,), 0.8, dtype=DOUBLE) if tied else torch.rand(e, generator=rng, dtype=DOUBLE),
        relevance=torch.rand(n, generator=rng, dtype=DOUBLE),
        verdict=verdict,
        source_credibility=torch.rand(n, generator=rng, dtype=DOUBLE),
    )


@given(seed=st.integers(0, 10**6), tied=st.booleans(), budget=st.sampled_from([1, 2, 4, None]), scheduler=st.sampled_from(SCHEDULERS))
@settings(max_examples=150, deadline=None)
def test_soft_equals_exact_once_the_temperature_is_under_the_smallest_gap(seed, tied, budget, scheduler):
    graph = world(seed, tied=tied)
    options = {**EXACT, "budget": budget, "scheduler": scheduler}
    exact = CredibilityPropagation(**options)(graph)
    soft = CredibilityPropagation(**options, mode="soft", temperature=1e-7)(graph)
    assume(all((r.s - math.log(3 / 7)).abs().min() > 1e-6 for r in exact.rounds))
    assert torch.equal(soft.s, exact.s)
    assert torch.equal(soft.acceptance, exact.accepted.to(DOUBLE))
    assert [r.selected.tolist() for r in soft.rounds] == [r.selected.tolist() for r in exact.rounds]


def test_soft_approaches_exact_as_the_temperature_falls():
    graph = Batch.from_data_list([world(seed) for seed in range(20)])
    exact = CredibilityPropagation(**EXACT)(graph).s
    gaps = [
        float(
            (CredibilityPropagation(**EXACT, mode="soft", temperature=t, gate="sigmoid", selection="fermi")(graph).s - exact).abs().mean()
        )
        for t in (1.0, 0.1, 0.01, 0.001)
    ]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 0.02


@given(seed=st.integers(0, 10**6), temperature=st.sampled_from([1.0, 0.1]))
@settings(max_examples=60, deadline=None)
def test_straight_through_has_the_exact_numbers_and_soft_gradients(seed, temperature):
    graph = world(seed)
    exact = CredibilityPropagation(**EXACT)(graph)
    through = CredibilityPropagation(**EXACT, mode="straight_through", temperature=temperature, learn=["step_size", "tau_accept"])
    trace = through(graph)
    torch.testing.assert_close(trace.s.detach(), exact.s, atol=1e-12, rtol=0)
    assert torch.equal(trace.accepted, exact.accepted)
    torch.testing.assert_close(trace.acceptance.detach(), exact.accepted.to(DOUBLE))
    trace.acceptance.sum().backward()
    assert torch.isfinite(through.tau_accept.grad)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", LEARNABLE)
def test_gradients_of_every_learnable_scalar(name, seed):
    """Finite differences at a temperature where hardly any gate is clipped."""
    graph = world(seed)
    layer = CredibilityPropagation(
        **EXACT, mode="soft", temperature=1.0, gate="sigmoid", selection="fermi", learn=[name], coupling=0.1, prior_sources=0.1
    )
    parameter = getattr(layer, name)

    def output(value):
        layer._parameters[name] = torch.nn.Parameter(value.detach())
        del layer._parameters[name]
        object.__setattr__(layer, name, value)
        trace = layer(graph)
        return trace.s, trace.acceptance

    assert torch.autograd.gradcheck(output, (parameter.detach().clone().requires_grad_(),), atol=1e-5)


@pytest.mark.parametrize("selection", ["capped_simplex", "fermi"])
def test_gradients_reach_relations_verdicts_and_priors(selection):
    graph = world(3)
    inputs = [graph[name].clone().requires_grad_() for name in ("relation", "verdict", "prior", "relevance", "similarity")]

    def output(relation, verdict, prior, relevance, similarity):
        changed = graph.clone()
        changed.relation, changed.verdict, changed.prior, changed.relevance, changed.similarity = (
            relation,
            verdict,
            prior,
            relevance,
            similarity,
        )
        return CredibilityPropagation(**EXACT, mode="soft", gate="sigmoid", selection=selection)(changed).s

    assert torch.autograd.gradcheck(output, inputs, atol=1e-5)


@given(seed=st.integers(0, 10**6), temperature=st.sampled_from([1.0, 0.2, 0.01]))
@settings(max_examples=60, deadline=None)
def test_soft_updates_conserve_the_sum_of_logits(seed, temperature):
    graph = world(seed)
    trace = CredibilityPropagation(**EXACT, mode="soft", temperature=temperature)(graph)
    torch.testing.assert_close(trace.s.sum(), torch.logit(graph.prior).sum(), atol=1e-9, rtol=0)


@pytest.mark.parametrize("mode", ["exact", "soft", "straight_through"])
def test_a_batch_equals_each_graph_alone_in_every_mode(mode):
    graphs = [world(seed, n=4 + seed, pairs=5) for seed in range(5)]
    layer = CredibilityPropagation(**EXACT, mode=mode, temperature=0.3)
    together = layer(Batch.from_data_list(graphs))
    torch.testing.assert_close(together.s, torch.cat([layer(graph).s for graph in graphs]), atol=1e-9, rtol=0)


@pytest.mark.parametrize("mode", ["exact", "soft", "straight_through"])
def test_permuting_the_claims_permutes_the_result(mode):
    graph = world(11)
    order = torch.randperm(graph.prior.numel(), generator=torch.Generator().manual_seed(0))
    place = torch.argsort(order)
    pairs = place[graph.pair_index]
    swapped = pairs[0] > pairs[1]
    moved = EvidenceGraph.build(
        graph.prior[order],
        pairs.sort(dim=0).values,
        graph.relation,
        similarity=graph.similarity,
        relevance=graph.relevance[order],
        verdict=torch.where(swapped[:, None], graph.verdict[:, [1, 0, 2]], graph.verdict),
    )
    layer = CredibilityPropagation(**EXACT, mode=mode, temperature=0.3)
    torch.testing.assert_close(layer(moved).s, layer(graph).s[order], atol=1e-9, rtol=0)


def test_raising_a_winner_never_lowers_it():
    graph = world(5)
    layer = CredibilityPropagation(rounds=1, budget=None, tau_q=-1, tau_sim=-1, tau_conf=0.0, mode="soft", temperature=0.5)
    graph.relation[0] = torch.tensor([0.0, 1.0, 0.0])
    before = layer(graph).s
    graph.verdict[0] = torch.tensor([0.98, 0.01, 0.01])
    after = layer(graph).s
    a, b = graph.pair_index[:, 0]
    assert after[a] >= before[a]
    assert after[b] <= before[b]


def test_the_defaults_learn_nothing_and_names_are_checked():
    assert not any(p.requires_grad for p in CredibilityPropagation().parameters())
    layer = CredibilityPropagation(learn=["step_size", "tau_q"])
    assert {name for name, p in layer.named_parameters() if p.requires_grad} == {"step_size", "tau_q"}
    with pytest.raises(ValueError, match="learnable parameter 'eta' is not known; choose one of step_size"):
        CredibilityPropagation(learn=["eta"])


def test_prior_and_coupling_extensions_by_hand():
    graph = EvidenceGraph.build(
        torch.full((3,), 0.5, dtype=DOUBLE),
        torch.tensor([[0, 0], [1, 2]]),
        torch.tensor([[0.1, 0.8, 0.1], [0.8, 0.1, 0.1]], dtype=DOUBLE),
        verdict=torch.tensor([[0.9, 0.05, 0.05]] * 2, dtype=DOUBLE),
        source_index=torch.tensor([[0, 0, 1, 2], [0, 1, 2, 3]]),
        relevance=torch.tensor([0.5, 0.4, 0.3], dtype=DOUBLE),
        source_credibility=torch.tensor([0.9, float("nan"), 0.2], dtype=DOUBLE),
    )
    layer = CredibilityPropagation(prior_bias=0.1, prior_sources=0.5, prior_relevance=1.0, prior_credibility=2.0)
    expected = [0.1 + 0.5 * math.log(3) + 0.5 + 0.8, 0.1 + 0.5 * math.log(2) + 0.4, 0.1 + 0.5 * math.log(2) + 0.3 - 0.6]
    torch.testing.assert_close(layer.start(graph), torch.tensor(expected, dtype=DOUBLE))
    # What copies disagree on starts lower; where nothing is known of copies, the weight does nothing.
    wary = CredibilityPropagation(prior_agreement=2.0)
    assert torch.equal(wary.start(graph), torch.zeros(3, dtype=DOUBLE))
    graph.agreement = torch.tensor([1.0, 0.5, 0.25], dtype=DOUBLE)
    assert torch.equal(wary.start(graph), torch.tensor([0.0, -1.0, -1.5], dtype=DOUBLE))
    del graph.agreement
    assert torch.equal(wary.start(graph), torch.zeros(3, dtype=DOUBLE))
    # One round: 0 beats 1; claim 2 supports 0, whose p was 0.5 + x at the start, and the other way round.
    coupled = CredibilityPropagation(rounds=1, coupling=2.0, prior_bias=1.0)(graph)
    lift = 2.0 * (2 / (1 + math.exp(-1)) - 1)
    torch.testing.assert_close(coupled.s, torch.tensor([1 + 0.8 + lift, 1 - 0.8, 1 + lift], dtype=DOUBLE))


# Relaxations


@given(
    scores=st.lists(st.floats(-5, 5), min_size=1, max_size=12),
    k=st.integers(0, 14),
    tau=st.sampled_from([1.0, 0.1, 1e-3]),
    selection=st.sampled_from([capped_simplex_topk, fermi_topk]),
)
@settings(max_examples=200, deadline=None)
def test_selections_spend_the_budget_and_keep_the_order(scores, k, tau, selection):
    x = torch.tensor(scores, dtype=DOUBLE)
    mask = selection(x, torch.zeros(len(scores), dtype=torch.long), torch.tensor([k]), tau)
    assert mask.sum().item() == pytest.approx(min(k, len(scores)), abs=1e-6)
    assert ((mask >= 0) & (mask <= 1)).all()
    order = torch.argsort(x, stable=True)
    assert (mask[order].diff() >= -1e-9).all()


@given(scores=st.lists(st.integers(0, 1000), min_size=2, max_size=9, unique=True), k=st.integers(1, 8))
@settings(max_examples=100, deadline=None)
def test_capped_simplex_is_the_hard_top_k_from_a_gap_of_tau_on(scores, k):
    x = torch.tensor(scores, dtype=DOUBLE)
    mask = capped_simplex_topk(x, torch.zeros(len(scores), dtype=torch.long), torch.tensor([k]), 0.999)
    hard = torch.zeros_like(x)
    hard[torch.argsort(x, descending=True)[:k]] = 1
    assert torch.equal(mask, hard)


def test_capped_simplex_by_hand():
    """x / tau = (3, 2.5, 1), k = 2: theta = 1.75 gives (1, 0.75, 0), so theta is 1.5 and the mask (1, 1, 0)."""
    group = torch.zeros(3, dtype=torch.long)
    x = torch.tensor([3.0, 2.5, 1.0], dtype=DOUBLE)
    torch.testing.assert_close(capped_simplex_topk(x, group, torch.tensor([2]), 1.0), torch.tensor([1.0, 1.0, 0.0], dtype=DOUBLE))
    # k = 1: theta solves (3 - t) + (2.5 - t) = 1, t = 2.25.
    torch.testing.assert_close(capped_simplex_topk(x, group, torch.tensor([1]), 1.0), torch.tensor([0.75, 0.25, 0.0], dtype=DOUBLE))


def test_fermi_by_hand():
    """Two scores one apart and k = 1: theta lies in the middle, so the mask is sigma(1/2), sigma(-1/2)."""
    mask = fermi_topk(torch.tensor([1.0, 0.0], dtype=DOUBLE), torch.zeros(2, dtype=torch.long), torch.tensor([1]), 1.0)
    torch.testing.assert_close(mask, torch.sigmoid(torch.tensor([0.5, -0.5], dtype=DOUBLE)))


def test_hard_sigmoid_is_exact_from_one_half_on():
    z = torch.tensor([-2.0, -0.5, 0.0, 0.25, 0.5, 3.0])
    assert hard_sigmoid(z).tolist() == [0, 0, 0.5, 0.75, 1, 1]


def test_geometric_schedule():
    assert [round(geometric_schedule(i, 3, 1.0, 0.01), 6) for i in (0, 1, 2, 9)] == [1.0, 0.1, 0.01, 0.01]
    assert geometric_schedule(0, 1, 1.0, 0.05) == 0.05
    with pytest.raises(ValueError, match="positive"):
        geometric_schedule(0, 3, 0.0, 1.0)


def test_exact_reference_agrees_on_a_soft_world():
    graph = world(2)
    expected, _, _ = algorithm1(
        torch.logit(graph.prior).tolist(),
        [tuple(p) for p in graph.pair_index.T.tolist()],
        [tuple(r) for r in graph.relation.tolist()],
        graph.similarity.tolist(),
        graph.relevance.tolist(),
        lambda e: tuple(graph.verdict[e].tolist()),
        **EXACT,
        step_size=0.8,
        tau_accept=0.3,
        tau_gate=0.5,
        early_stop=False,
    )
    assert CredibilityPropagation(**EXACT)(graph).s.tolist() == expected
