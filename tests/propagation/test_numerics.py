"""Number formats, budgets per graph, compilation, devices, and input that no propagation accepts."""

from __future__ import annotations

import shutil

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch

from arbgraph.graph import EvidenceGraph
from arbgraph.propagation.credibility import CredibilityPropagation
from arbgraph.propagation.relaxation import capped_simplex_topk, fermi_topk
from arbgraph.propagation.trace import Verdicts
from tests.propagation.test_credibility import PARAMETERS, Recorded, as_graph, disjoint_conflicts, graphs, verdict_table
from tests.propagation.test_family import random_graph
from tests.propagation.test_soft import EXACT, world
from tests.reference.algorithm1 import algorithm1

DOUBLE = torch.float64
MODES = ("exact", "soft", "straight_through")
every_mode = pytest.mark.parametrize("mode", MODES)


def rounded(graph: EvidenceGraph, dtype: torch.dtype) -> tuple[EvidenceGraph, EvidenceGraph]:
    """The graph in `dtype`, and the very same numbers in float64."""
    narrow = graph.clone().apply(lambda x: x.to(dtype) if x.is_floating_point() else x)
    return narrow, narrow.clone().apply(lambda x: x.double() if x.is_floating_point() else x)


@given(cases=st.lists(graphs(), min_size=2, max_size=4), parameters=PARAMETERS, data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_batch_with_a_budget_for_each_graph_equals_algorithm_1_bit_for_bit(cases, parameters, data):
    budgets = data.draw(st.lists(st.sampled_from([0, 1, 2, 9]), min_size=len(cases), max_size=len(cases)))
    batch = Batch.from_data_list([as_graph(case) for case in cases])
    layer = CredibilityPropagation(**{**parameters, "budget": torch.tensor(budgets)})
    trace = layer(batch, Recorded(torch.cat([verdict_table(case) for case in cases])))
    start = torch.logit(batch.prior).tolist()
    expected, accepted = [], []
    for case, budget in zip(cases, budgets, strict=True):
        prior, pairs, relation, similarity, relevance, table = case
        own, start = start[: len(prior)], start[len(prior) :]
        found = algorithm1(own, pairs, relation, similarity, relevance, lambda e, table=table: table[e], **{**parameters, "budget": budget})
        expected += found[0]
        accepted += found[1]
    assert trace.s.tolist() == expected
    assert trace.accepted.tolist() == accepted


@every_mode
def test_budgets_of_nothing_and_of_more_than_there_is(mode):
    graph = world(4)
    # Cold, as with a budget soft counts of active pairs share it, however large it is.
    none = CredibilityPropagation(**{**EXACT, "budget": 0}, mode=mode, temperature=1e-7)(graph)
    assert torch.equal(none.s, torch.logit(graph.prior))
    assert int(none.rounds_run) == 0
    much, everything = (CredibilityPropagation(**{**EXACT, "budget": budget}, mode=mode, temperature=1e-7)(graph) for budget in (99, None))
    torch.testing.assert_close(much.s, everything.s, atol=1e-9, rtol=0)


def test_bad_budgets_are_named():
    with pytest.raises(ValueError, match="budget is -1; a budget must not be negative"):
        CredibilityPropagation(budget=-1)
    with pytest.raises(ValueError, match=r"budget has shape \(2,\), but there are 3 graphs"):
        CredibilityPropagation(budget=torch.tensor([1, 2]))(Batch.from_data_list([disjoint_conflicts(2)] * 3))


@every_mode
@pytest.mark.parametrize(("dtype", "error"), [(torch.float32, 2e-5), (torch.bfloat16, 2**-9 + 2e-5)])
def test_narrow_numbers_cost_no_more_than_the_rounding_of_the_result(mode, dtype, error):
    """bfloat16 has 8 bits: half a step below 1 is 2^-9. Sums, logits and selections run in float32."""
    layer = CredibilityPropagation(**EXACT, mode=mode, temperature=0.3)
    for seed in range(8):
        narrow, wide = rounded(world(seed, n=9, pairs=16), dtype)
        here, there = layer(narrow), layer(wide)
        assert here.p.dtype == here.s.dtype == here.acceptance.dtype == dtype
        assert (here.p.double() - there.p).abs().max() <= error
        assert torch.equal(here.accepted, there.accepted)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_ties_are_ties_in_narrow_numbers(dtype):
    """I is 1 whenever the weaker claim is at 0.5, but its two sums round differently."""
    narrow, wide = rounded(disjoint_conflicts(6), dtype)
    for graph in (narrow, wide):
        graph.prior[::2] = torch.tensor([0.57, 0.61, 0.66, 0.73, 0.79, 0.83])
    for budget in (1, 2, 4):
        chosen = [CredibilityPropagation(rounds=1, budget=budget)(graph).rounds[0].selected.tolist() for graph in (narrow, wide)]
        assert chosen[0] == chosen[1] == [True] * budget + [False] * (6 - budget)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("selection", [capped_simplex_topk, fermi_topk])
def test_selections_in_narrow_numbers(selection, dtype):
    scores = torch.tensor([0.9, 0.7, 0.65, 0.2, -0.4, 0.6], dtype=dtype, requires_grad=True)
    wide = scores.detach().double().requires_grad_()
    group, k = torch.tensor([0, 0, 0, 0, 1, 1]), torch.tensor([2, 1])
    weight = torch.arange(6.0)
    for x in (scores, wide):
        mask = selection(x, group, k, 0.3)
        assert mask.dtype == x.dtype
        (mask.double() * weight).sum().backward()
    torch.testing.assert_close(selection(scores, group, k, 0.3).double(), selection(wide, group, k, 0.3), atol=4e-3, rtol=0)
    torch.testing.assert_close(scores.grad.double(), wide.grad, atol=0.05, rtol=0.02)


@every_mode
def test_no_claims_no_pairs_and_a_batch_of_such(mode):
    layer = CredibilityPropagation(budget=2, mode=mode, coupling=0.2)
    graphs_of_little = [random_graph(0, 0), random_graph(1, 1), random_graph(2, 0)]
    batch = layer(Batch.from_data_list(graphs_of_little))
    assert batch.p.shape == (1,)
    assert batch.converged.tolist() == [True] * 3
    for graph in graphs_of_little:
        trace = layer(graph)
        torch.testing.assert_close(trace.p, graph.prior)
        assert trace.acceptance.shape == graph.prior.shape


@every_mode
@pytest.mark.parametrize("early_stop", [False, True])
def test_support_passes_on_in_a_graph_whether_or_not_another_is_in_conflict(mode, early_stop):
    quiet = world(1)
    quiet.relation[:] = torch.tensor([0.9, 0.05, 0.05], dtype=DOUBLE)
    layer = CredibilityPropagation(**EXACT, mode=mode, temperature=0.01, coupling=0.3, early_stop=early_stop)
    parts = [world(2), quiet, world(3)]
    together = layer(Batch.from_data_list(parts))
    torch.testing.assert_close(together.s, torch.cat([layer(graph).s for graph in parts]), atol=1e-9, rtol=0)
    if not early_stop:
        assert not torch.equal(layer(quiet).s, torch.logit(quiet.prior))


@every_mode
def test_another_component_changes_no_bit(mode):
    """Without a budget nothing connects two components."""
    options = {**EXACT, "budget": None, "tau_q": -1.0}
    layer = CredibilityPropagation(**options, mode=mode, temperature=0.3)
    one, two = (disjoint_conflicts(4) for _ in range(2))
    two.verdict[0], two.relation[0] = torch.tensor([0.2, 0.7, 0.1]), torch.tensor([0.0, 1.0, 0.0])
    two.prior[:2] = torch.tensor([0.9, 0.4])
    assert torch.equal(layer(one).s[2:], layer(two).s[2:])
    assert not torch.equal(layer(one).s[:2], layer(two).s[:2])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prior": torch.tensor([0.0, 0.5])}, r"prior\[0\] is 0.0"),
        ({"prior": torch.tensor([0.5, float("nan")])}, r"prior\[1\] is nan"),
        ({"relation": torch.tensor([[0.1, float("inf"), 0.1]])}, r"relation\[0\] is \["),
        ({"similarity": torch.tensor([float("nan")])}, r"similarity\[0\] is nan"),
        ({"relevance": torch.tensor([1.0, float("-inf")])}, r"relevance\[1\] is -inf"),
        ({"verdict": torch.tensor([[float("inf"), 0.0, 0.0]])}, r"verdict\[0\] is \[inf"),
        ({"pair_index": torch.tensor([[-1], [1]])}, "outside 0..1"),
    ],
)
def test_numbers_that_mean_nothing_are_refused(change, message):
    fields = {"prior": torch.tensor([0.5, 0.5]), "pair_index": torch.tensor([[0], [1]]), "relation": torch.tensor([[0.1, 0.8, 0.1]])}
    with pytest.raises(ValueError, match=message):
        EvidenceGraph.build(**{**fields, **change})


def test_a_verdict_that_is_not_finite_counts_as_failed():
    class Broken:
        def arbitrate(self, graph, pairs, support, contradiction):
            return Verdicts(torch.tensor([[0.9, float("inf"), 0.1]], dtype=DOUBLE).repeat(len(pairs), 1))

    graph = disjoint_conflicts(2)
    graph.verdict.fill_(torch.nan)
    trace = CredibilityPropagation()(graph, Broken())
    assert trace.failed == trace.calls == 2
    assert torch.equal(trace.p, graph.prior)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_soft_mode_compiles_into_one_graph(backend, tmp_path, monkeypatch):
    """No graph break, and none for another size; the same numbers and gradients; a missing verdict still is an error."""
    if backend == "inductor" and shutil.which("g++") is None:
        pytest.skip("no C++ compiler for the inductor backend")
    # The cache of a run that was killed may hold half a library.
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    # The unrolled rounds and bisections take inductor minutes.
    rounds, budget = (2, 2) if backend == "eager" else (1, None)
    layer = CredibilityPropagation(**{**EXACT, "rounds": rounds, "budget": budget}, mode="soft", temperature=0.3, learn=["step_size"])
    torch._dynamo.reset()
    compiled = torch.compile(layer, fullgraph=True, dynamic=True, backend=backend)
    for seed, size in ((3, 7), (4, 9)):
        graph = Batch.from_data_list([world(seed, n=size), world(seed + 1, n=size)])
        gradients = []
        for run in (layer, compiled):
            layer.step_size.grad = None
            trace = run(graph)
            trace.acceptance.sum().backward()
            gradients.append((trace.s.detach(), trace.accepted, layer.step_size.grad))
        torch.testing.assert_close(gradients[0], gradients[1], atol=1e-9, rtol=0)
    graph.verdict.fill_(torch.nan)
    with pytest.raises(RuntimeError, match="needs all verdicts"):
        compiled(graph)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@every_mode
@pytest.mark.parametrize("budget", [None, 2])
@pytest.mark.parametrize("dtype", [DOUBLE, torch.float32])
def test_the_gpu_agrees_in_every_mode(mode, budget, dtype):
    """Bit for bit in exact mode from the same logits: votes are whole numbers, so that their order does not matter."""
    layer = CredibilityPropagation(**{**EXACT, "budget": budget}, mode=mode, temperature=0.3)
    graph, _ = rounded(Batch.from_data_list([world(seed, n=8, pairs=14) for seed in range(12)]), dtype)
    here, there = layer(graph), layer(graph.clone().to("cuda"))
    torch.testing.assert_close(here.s, there.s.cpu(), atol=1e-9 if dtype == DOUBLE else 2e-5, rtol=0)
    assert torch.equal(here.accepted, there.accepted.cpu())
    if mode == "exact":
        assert [r.selected.tolist() for r in here.rounds] == [r.selected.tolist() for r in there.rounds]
