"""The exact layer against the plain-Python Algorithm 1, the paper code's starvation numbers, and the laws of the update."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch

from arbgraph.graph import EvidenceGraph
from arbgraph.propagation.credibility import SCHEDULERS, CredibilityPropagation
from arbgraph.propagation.trace import Verdicts, conflict_intensity
from arbgraph.settings import load_settings
from tests.reference.algorithm1 import algorithm1

CONTRADICTION = torch.tensor([0.1, 0.8, 0.1], dtype=torch.float64)
A_WINS = torch.tensor([0.9, 0.05, 0.05], dtype=torch.float64)
LOGIT_03 = -0.8473


class Recorded:
    """An arbitrator that answers from a table and records what it was asked."""

    def __init__(self, table: torch.Tensor) -> None:
        self.table, self.asked = table, []

    def arbitrate(self, graph, pairs, support, contradiction):
        self.asked.append(pairs.tolist())
        return Verdicts(self.table[pairs], [f"pair {e}" for e in pairs.tolist()])


def disjoint_conflicts(n: int) -> EvidenceGraph:
    """n contradictions that share no claim; the first claim of each wins."""
    return EvidenceGraph.build(
        torch.full((2 * n,), 0.5, dtype=torch.float64),
        torch.arange(2 * n).view(n, 2).T.contiguous(),
        CONTRADICTION.repeat(n, 1),
        verdict=A_WINS.repeat(n, 1),
    )


@st.composite
def graphs(draw):
    """Random graphs with coarse values, so that ties and boundary cases are common."""
    n = draw(st.integers(0, 8))
    candidates = [(a, b) for a in range(n) for b in range(a + 1, n)]
    pairs = sorted(draw(st.lists(st.sampled_from(candidates), unique=True, max_size=14))) if candidates else []
    e = len(pairs)
    rows = st.sampled_from([(0.1, 0.8, 0.1), (0.8, 0.1, 0.1), (0.2, 0.5, 0.3), (0.3, 0.4, 0.3), (0.05, 0.9, 0.05)])
    relation = draw(st.lists(rows, min_size=e, max_size=e))
    similarity = draw(st.lists(st.sampled_from([0.7, 0.75, 0.8, 0.9]), min_size=e, max_size=e))
    relevance = draw(st.lists(st.sampled_from([0.1, 0.3, 0.6]), min_size=n, max_size=n))
    prior = draw(st.lists(st.sampled_from([0.3, 0.5, 0.6, 0.9]), min_size=n, max_size=n))
    verdicts = st.sampled_from([(0.9, 0.05, 0.05), (0.05, 0.9, 0.05), (0.5, 0.4, 0.1), (0.4, 0.4, 0.2), (0.3, 0.2, 0.5), (0.5, 0.5, 0.0)])
    table = draw(st.lists(verdicts, min_size=e, max_size=e))
    return prior, pairs, relation, similarity, relevance, table


def as_graph(case) -> EvidenceGraph:
    prior, pairs, relation, similarity, relevance, _ = case
    return EvidenceGraph.build(
        torch.tensor(prior, dtype=torch.float64),
        torch.tensor(pairs, dtype=torch.long).view(-1, 2).T.contiguous(),
        torch.tensor(relation, dtype=torch.float64).view(-1, 3),
        similarity=torch.tensor(similarity, dtype=torch.float64),
        relevance=torch.tensor(relevance, dtype=torch.float64),
    )


def verdict_table(case) -> torch.Tensor:
    return torch.tensor(case[5], dtype=torch.float64).view(-1, 3)


PARAMETERS = st.fixed_dictionaries(
    {
        "rounds": st.integers(0, 5),
        "budget": st.sampled_from([None, 0, 1, 2, 3, 50]),
        "step_size": st.sampled_from([0.8, 0.3, 1.7]),
        "tau_accept": st.sampled_from([0.3, 0.5]),
        "tau_gate": st.sampled_from([0.5, 0.6]),
        "tau_q": st.sampled_from([-1.0, 0.3, 0.5]),
        "tau_sim": st.sampled_from([0.0, 0.75]),
        "tau_conf": st.sampled_from([0.0, 0.5]),
        "early_stop": st.booleans(),
    }
)


@given(case=graphs(), parameters=PARAMETERS)
@settings(max_examples=300, deadline=None)
def test_equals_algorithm_1_bit_for_bit(case, parameters):
    _, pairs, relation, similarity, relevance, table = case
    start = torch.logit(as_graph(case).prior).tolist()
    expected_s, expected_accepted, history = algorithm1(start, pairs, relation, similarity, relevance, lambda e: table[e], **parameters)
    trace = CredibilityPropagation(**parameters)(as_graph(case), Recorded(verdict_table(case)))
    assert trace.s.tolist() == expected_s
    assert trace.accepted.tolist() == expected_accepted
    assert [r.selected.nonzero().squeeze(-1).tolist() for r in trace.rounds] == history


@given(cases=st.lists(graphs(), min_size=2, max_size=4), parameters=PARAMETERS, scheduler=st.sampled_from(SCHEDULERS))
@settings(max_examples=100, deadline=None)
def test_a_batch_equals_each_graph_alone(cases, parameters, scheduler):
    layer = CredibilityPropagation(**parameters, scheduler=scheduler)
    together = layer(Batch.from_data_list([as_graph(case) for case in cases]), Recorded(torch.cat([verdict_table(c) for c in cases])))
    alone = [layer(as_graph(case), Recorded(verdict_table(case))) for case in cases]
    torch.testing.assert_close(together.s, torch.cat([t.s for t in alone]), atol=1e-12, rtol=0)
    assert torch.equal(together.accepted, torch.cat([t.accepted for t in alone]))
    assert together.rounds_run.tolist() == [int(t.rounds_run) for t in alone]
    assert together.calls == sum(t.calls for t in alone)
    for part, one in zip(together.split([as_graph(case) for case in cases]), alone, strict=True):
        torch.testing.assert_close(part.p, one.p, atol=1e-12, rtol=0)
        assert part.rationales.keys() == one.rationales.keys()
        assert [r.selected.tolist() for r in part.rounds] == [r.selected.tolist() for r in one.rounds]


@given(case=graphs(), parameters=PARAMETERS)
@settings(max_examples=100, deadline=None)
def test_logit_sum_is_conserved_and_isolated_claims_keep_their_prior(case, parameters):
    graph = as_graph(case)
    trace = CredibilityPropagation(**parameters)(graph, Recorded(verdict_table(case)))
    start = torch.logit(graph.prior)
    torch.testing.assert_close(trace.s.sum(), start.sum(), atol=1e-9, rtol=0)
    touched = set(graph.pair_index[:, trace.edges.contradiction].flatten().tolist())
    for node in set(range(graph.prior.numel())) - touched:
        assert trace.s[node] == start[node]


@pytest.mark.parametrize(
    ("rounds", "conflicts", "rejected"),
    [
        *[(2, 1, 1), (2, 2, 2), (2, 3, 3), (2, 4, 2), (2, 5, 1), (2, 6, 0), (2, 9, 0)],
        *[(3, 4, 4), (3, 5, 4), (3, 6, 3), (3, 8, 1), (3, 10, 0), (10, 10, 10), (1, 3, 0)],
    ],
)
def test_starvation_numbers(rounds, conflicts, rejected):
    """With k = 3 and p0 = 0.5 fresh pairs always go first, so few rounds reject few losers; the released T = 2 rejects none of six."""
    trace = CredibilityPropagation(rounds=rounds, budget=3)(disjoint_conflicts(conflicts))
    assert int((~trace.accepted).sum()) == rejected


def test_the_released_profile_drops_nothing_under_six_disjoint_conflicts():
    trace = CredibilityPropagation.from_settings(load_settings("as_released"))(disjoint_conflicts(6))
    assert trace.accepted.all()


def test_golden_values_of_one_and_two_losses():
    once = CredibilityPropagation(rounds=1)(disjoint_conflicts(1))
    twice = CredibilityPropagation(rounds=2)(disjoint_conflicts(1))
    torch.testing.assert_close(once.p, torch.tensor([0.6900, 0.3100], dtype=torch.float64), atol=5e-5, rtol=0)
    torch.testing.assert_close(twice.p[1], torch.tensor(0.1680, dtype=torch.float64), atol=5e-5, rtol=0)
    assert once.accepted.tolist() == [True, True]
    assert twice.accepted.tolist() == [True, False]
    assert twice.s[1] < LOGIT_03 < once.s[1]


@pytest.mark.parametrize(("prior", "losses"), [(0.5, 2), (0.6, 2), (0.7, 3), (0.8, 3), (0.9, 4)])
def test_losses_needed_for_rejection(prior, losses):
    graph = disjoint_conflicts(1)
    graph.prior = torch.full((2,), prior, dtype=torch.float64)
    accepted = [bool(CredibilityPropagation(rounds=t, budget=None)(graph).accepted[1]) for t in range(losses + 1)]
    assert accepted == [True] * losses + [False]


def test_a_pair_is_asked_once_and_a_round_in_one_call():
    graph = disjoint_conflicts(4)
    graph.verdict.fill_(torch.nan)
    arbitrator = Recorded(A_WINS.repeat(4, 1))
    trace = CredibilityPropagation(rounds=6, budget=3)(graph, arbitrator)
    assert arbitrator.asked == [[0, 1, 2], [3]]
    assert trace.calls == 4
    assert trace.rationales == {e: f"pair {e}" for e in range(4)}
    assert graph.verdict.isnan().all(), "the graph is not changed"


def test_a_failed_verdict_moves_nothing_is_counted_and_not_asked_again():
    graph = disjoint_conflicts(2)
    graph.verdict.fill_(torch.nan)
    table = torch.stack([torch.full((3,), torch.nan, dtype=torch.float64), A_WINS])
    arbitrator = Recorded(table)
    trace = CredibilityPropagation(rounds=4, budget=None)(graph, arbitrator)
    assert arbitrator.asked == [[0, 1]]
    assert trace.failed == 1
    assert trace.p[:2].tolist() == [0.5, 0.5]
    assert trace.accepted.tolist() == [True, True, True, False]
    assert not trace.converged
    assert CredibilityPropagation(rounds=2, budget=None)(disjoint_conflicts(2)).converged


def test_a_missing_arbitrator_is_named():
    graph = disjoint_conflicts(1)
    graph.verdict.fill_(torch.nan)
    with pytest.raises(ValueError, match="1 selected contradictions have no verdict"):
        CredibilityPropagation()(graph)


def test_ties_go_to_confidence_then_similarity_then_position():
    relation = torch.tensor([[0.1, 0.8, 0.1], [0.05, 0.9, 0.05], [0.1, 0.8, 0.1], [0.1, 0.8, 0.1]], dtype=torch.float64)
    graph = EvidenceGraph.build(
        torch.full((8,), 0.5, dtype=torch.float64),
        torch.arange(8).view(4, 2).T.contiguous(),
        relation,
        similarity=torch.tensor([0.8, 0.8, 0.9, 0.8], dtype=torch.float64),
        verdict=A_WINS.repeat(4, 1),
    )
    order = [CredibilityPropagation(rounds=1, budget=k)(graph).rounds[0].selected.nonzero().squeeze(-1).tolist() for k in (1, 2, 3)]
    assert order == [[1], [1, 2], [0, 1, 2]]


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_schedulers_respect_the_budget(scheduler):
    trace = CredibilityPropagation(rounds=3, budget=2, scheduler=scheduler)(disjoint_conflicts(5))
    assert [int(r.selected.sum()) for r in trace.rounds] == ([5, 5] if scheduler == "exhaustive" else [2, 2, 2])


def test_round_robin_cures_starvation_of_an_undecided_pair():
    graph = disjoint_conflicts(2)
    graph.verdict[0] = torch.tensor([0.2, 0.2, 0.6])
    blocked = CredibilityPropagation(rounds=4, budget=1)(graph)
    turned = CredibilityPropagation(rounds=4, budget=1, scheduler="round_robin")(graph)
    assert blocked.accepted.all()
    assert turned.accepted.tolist() == [True, True, True, False]


def test_hard_first_takes_the_evenly_supported_pair_and_easy_first_the_other():
    pairs = torch.tensor([[0, 0, 2], [1, 4, 3]])
    relation = torch.tensor([[0.1, 0.8, 0.1], [0.8, 0.1, 0.1], [0.1, 0.8, 0.1]], dtype=torch.float64)
    graph = EvidenceGraph.build(torch.full((5,), 0.5, dtype=torch.float64), pairs, relation, verdict=A_WINS.repeat(3, 1))
    first = {
        name: CredibilityPropagation(rounds=1, budget=1, scheduler=name)(graph).rounds[0].selected.tolist()
        for name in ("hard_first", "easy_first")
    }
    assert first == {"hard_first": [False, False, True], "easy_first": [True, False, False]}


@pytest.mark.parametrize(("scope", "expected"), [("graph", [True, False, False]), ("node", [True, False, True])])
def test_support_cap(scope, expected):
    """Similarities 0.9, 0.8, 0.7 on pairs 0-1, 0-2, 2-3 with M = 1; per claim, 2-3 is the best edge of claim 3."""
    graph = EvidenceGraph.build(
        torch.full((4,), 0.5, dtype=torch.float64),
        torch.tensor([[0, 0, 2], [1, 2, 3]]),
        torch.tensor([[0.8, 0.1, 0.1]] * 3, dtype=torch.float64),
        similarity=torch.tensor([0.9, 0.8, 0.76], dtype=torch.float64),
    )
    expected = expected if scope == "graph" else [True, True, True]
    edges = CredibilityPropagation(support_cap=1, support_cap_scope=scope).select_edges(graph)
    assert edges.support.tolist() == expected
    assert edges.capped.tolist() == [not kept for kept in expected]
    assert CredibilityPropagation(support_cap=0, support_cap_scope=scope).select_edges(graph).capped.all()


def test_intensity_is_one_where_the_weaker_claim_is_undecided():
    p = torch.linspace(0.5, 1, 9, dtype=torch.float64)
    assert torch.equal(conflict_intensity(p, torch.full_like(p, 0.5)), torch.ones_like(p))
    assert conflict_intensity(torch.tensor(1.0), torch.tensor(1.0)) == 2


def test_perturbing_one_component_leaves_the_others_bit_equal():
    graph, changed = disjoint_conflicts(3), disjoint_conflicts(3)
    changed.verdict[0] = torch.tensor([0.05, 0.9, 0.05])
    layer = CredibilityPropagation(rounds=2, budget=None)
    before, after = layer(graph), layer(changed)
    assert torch.equal(before.s[2:], after.s[2:])
    assert torch.equal(before.s[:2], after.s[:2].flip(0))


def test_no_claims_and_no_pairs():
    empty = EvidenceGraph.build(torch.zeros(0, dtype=torch.float64), torch.zeros(2, 0, dtype=torch.long), torch.zeros(0, 3))
    lone = EvidenceGraph.build(torch.tensor([0.7], dtype=torch.float64), torch.zeros(2, 0, dtype=torch.long), torch.zeros(0, 3))
    assert CredibilityPropagation()(empty).p.shape == (0,)
    trace = CredibilityPropagation()(Batch.from_data_list([empty, lone]))
    torch.testing.assert_close(trace.p, torch.tensor([0.7], dtype=torch.float64))
    assert trace.accepted.tolist() == [True]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prior": torch.tensor([0.5, 1.0])}, r"prior\[1\] is 1.0"),
        ({"pair_index": torch.tensor([[1], [1]])}, "smaller index first"),
        ({"pair_index": torch.tensor([[0], [2]])}, "outside 0..1"),
        ({"pair_index": torch.tensor([[0, 0], [1, 1]]), "relation": torch.full((2, 3), 0.3)}, "repeats a pair"),
        ({"relation": torch.tensor([[0.1, float("nan"), 0.1]])}, "NaN"),
        ({"relation": torch.zeros(2, 3)}, "relation has 2 rows, expected 1"),
    ],
)
def test_bad_graphs_are_refused(change, message):
    fields = {"prior": torch.tensor([0.5, 0.5]), "pair_index": torch.tensor([[0], [1]]), "relation": torch.tensor([[0.1, 0.8, 0.1]])}
    with pytest.raises(ValueError, match=message):
        EvidenceGraph.build(**{**fields, **change})


def test_unknown_mode_and_scheduler_are_refused():
    with pytest.raises(ValueError, match="mode 'fuzzy' is not known; choose one of exact, soft, straight_through"):
        CredibilityPropagation(mode="fuzzy")
    with pytest.raises(ValueError, match="scheduler 'best'"):
        CredibilityPropagation(scheduler="best")
