"""Source trust against a slow expectation maximisation, hand-worked numbers and the laws it must obey."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch

from arbgraph.graph import EvidenceGraph
from arbgraph.propagation.credibility import CredibilityPropagation
from arbgraph.propagation.trust import TRUST_LEARNABLE, SourceTrust

F64 = torch.float64


def table(links: list[tuple[int, int]], items: list[list[int]], sources: int, **fields) -> EvidenceGraph:
    """Claims of the same item contradict each other; `links` are (claim, source)."""
    pairs = [(a, b) for claims in items for i, a in enumerate(claims) for b in claims[i + 1 :]]
    n = sum(map(len, items))
    return EvidenceGraph.build(
        torch.full((n,), 0.5, dtype=F64),
        torch.tensor(pairs, dtype=torch.long).view(-1, 2).T.contiguous(),
        torch.tensor([[0.01, 0.98, 0.01]], dtype=F64).repeat(len(pairs), 1),
        source_index=torch.tensor(links, dtype=torch.long).view(-1, 2).T.contiguous(),
        num_sources=sources,
        **fields,
    )


def random_table(seed: int, items: int = 12, sources: int = 5, labels: int = 3) -> tuple[EvidenceGraph, torch.Tensor]:
    """Every item has all labels as candidates; most sources answer most items. Also the answers `[items, sources]`, -1 for none."""
    draw = torch.Generator().manual_seed(seed)
    answers = torch.randint(0, labels, (items, sources), generator=draw)
    answers[torch.rand(items, sources, generator=draw) < 0.2] = -1
    links = [(item * labels + int(a), s) for item in range(items) for s, a in enumerate(answers[item]) if a >= 0]
    graph = table(
        sorted(links),
        [list(range(i * labels, (i + 1) * labels)) for i in range(items)],
        sources,
        category=torch.arange(items * labels) % labels,
        facet=torch.arange(items).repeat_interleave(labels) % 2,
        specificity=torch.rand(items * labels, generator=draw, dtype=F64) * 3,
        similarity=torch.rand(items * labels * (labels - 1) // 2, generator=draw, dtype=F64),
    )
    return graph, answers


def scores(graph: EvidenceGraph, **options) -> torch.Tensor:
    with torch.no_grad():
        return CredibilityPropagation(rounds=0, tau_q=-1, tau_sim=-1, source_trust=SourceTrust(**options))(graph).s


def one_coin_em(answers: torch.Tensor, labels: int, iterations: int) -> tuple[list[list[float]], list[float]]:
    """One-coin Dawid-Skene in plain Python: vote shares first, then M and E steps. Posteriors and accuracies."""
    said = [[(s, int(a)) for s, a in enumerate(row) if a >= 0] for row in answers]
    posterior = [[sum(a == k for _, a in row) / len(row) for k in range(labels)] for row in said]
    accuracy: list[float] = []
    for _ in range(iterations):
        prior = [sum(p[k] for p in posterior) / len(posterior) for k in range(labels)]
        accuracy = []
        for s in range(answers.shape[1]):
            hits = [posterior[i][a] for i, row in enumerate(said) for t, a in row if t == s]
            accuracy.append(sum(hits) / len(hits))
        new = []
        for row in said:
            weight = [
                math.log(prior[k]) + sum(math.log(accuracy[s] if a == k else (1 - accuracy[s]) / (labels - 1)) for s, a in row)
                for k in range(labels)
            ]
            high = max(weight)
            total = sum(math.exp(w - high) for w in weight)
            new.append([math.exp(w - high) / total for w in weight])
        posterior = new
    return posterior, accuracy


@pytest.mark.parametrize("iterations", [1, 4, 25])
@pytest.mark.parametrize("seed", [0, 1])
def test_one_coin_dawid_skene_is_a_special_case(seed, iterations):
    graph, answers = random_table(seed)
    assert ((answers >= 0).sum(1) > 0).all()
    assert ((answers >= 0).sum(0) > 0).all()
    s = scores(graph, rounds=iterations, strength=0.0, alternatives=0.0, bias=math.log(2), class_prior=1.0, unlisted=-math.inf)
    expected, _ = one_coin_em(answers, 3, iterations)
    assert torch.sigmoid(s).view(-1, 3).tolist() == [pytest.approx(row, abs=1e-9) for row in expected]


# Two items. Item 1: claim 0 by sources 0 and 1, claim 1 by source 2. Item 2: claim 2 by source 0, claim 3 by source 2.
SMALL = table([(0, 0), (0, 1), (1, 2), (2, 0), (3, 2)], [[0, 1], [2, 3]], 3)


def test_no_rounds_is_plurality_vote():
    assert torch.sigmoid(scores(SMALL, rounds=0)).tolist() == pytest.approx([2 / 3, 1 / 3, 1 / 2, 1 / 2], abs=1e-12)


def test_one_round_by_hand():
    # Shares 2/3, 1/3, 1/2, 1/2. With kappa = 1 and m = 1/2: t0 = (1/2 + 7/6) / 3 = 5/9, t1 = (1/2 + 2/3) / 2 = 7/12,
    # t2 = (1/2 + 5/6) / 3 = 4/9. Odds: 5/4, 7/5, 4/5. Scores: ln(5/4 * 7/5) = ln(7/4), ln(4/5), ln(5/4), ln(4/5).
    # An unlisted truth has weight 1: odds 7/4 / (1 + 4/5) = 35/36, 4/5 / (11/4) = 16/55, 5/4 / (9/5) = 25/36, 4/5 / (9/4) = 16/45.
    s = scores(SMALL, rounds=1, strength=1.0, mean=0.0)
    assert s.exp().tolist() == pytest.approx([35 / 36, 16 / 55, 25 / 36, 16 / 45], abs=1e-9)


def test_a_known_truth_moves_the_trust_of_sources():
    # Claim 1 is known to be right, so source 2 said 1 right and sources 0 and 1 are at 0 on item 1.
    # kappa = 1, m = 1/2: t0 = (1/2 + 0 + 1/2) / 3 = 1/3, t2 = (1/2 + 1 + 1/2) / 3 = 2/3; odds 1/2 and 2; none weighs 1.
    graph = SMALL.clone()
    graph["known"] = torch.tensor([0.0, 1.0, math.nan, math.nan], dtype=F64)
    s = scores(graph, rounds=1, strength=1.0, mean=0.0)
    assert s[2:].exp().tolist() == pytest.approx([(1 / 2) / 3, 2 / (3 / 2)], abs=1e-9)
    assert s[:2].tolist() == [-14, 14]


def test_trust_in_a_facet_is_shrunk_to_the_trust_of_the_source():
    # Source 0 is right on facet 0 twice and wrong on facet 1, and asserts claim 3 (facet 1), whose share is 1: kappa = 0 gives
    # t = 3/4, and kappa_a = 3 gives (3 * 3/4 + 1) / (3 + 2) = 13/20 on facet 1. Odds 13/7 against an unlisted truth of weight 1.
    graph = table([(0, 0), (1, 0), (2, 0), (3, 0)], [[0], [1], [2], [3]], 1, facet=torch.tensor([0, 0, 1, 1]))
    graph["known"] = torch.tensor([1.0, 1.0, 0.0, math.nan], dtype=F64)
    assert scores(graph, rounds=1, strength=0.0, facet_strength=3.0)[3].exp().item() == pytest.approx(13 / 7, abs=1e-9)
    assert scores(graph, rounds=1, strength=0.0)[3].exp().item() == pytest.approx(3, abs=1e-9)


def test_confusions_tell_a_source_that_swaps_labels():
    """Source 3 always gives the opposite label: its confusion, not its accuracy, makes it informative."""
    draw = torch.Generator().manual_seed(3)
    truth = torch.randint(0, 2, (60,), generator=draw)
    wrong = torch.rand(60, 3, generator=draw) < 0.3
    answers = torch.cat([truth[:, None] ^ wrong, 1 - truth[:, None]], 1)
    links = [(2 * i + int(a), s) for i in range(60) for s, a in enumerate(answers[i])]
    graph = table(sorted(links), [[2 * i, 2 * i + 1] for i in range(60)], 4, category=torch.arange(120) % 2)

    def accuracy(**options):
        s = scores(graph, rounds=20, unlisted=-math.inf, **options).view(-1, 2)
        return ((s[:, 1] > s[:, 0]).long() == truth).float().mean().item()

    # One-coin trust uses the swapper too, as a source of trust under 1/2; with confusions it counts as much as the best.
    assert accuracy(weight=0.0, confusion_weight=1.0, confusion_strength=1.0) > 0.95
    vote = scores(graph, rounds=0).view(-1, 2)
    assert ((vote[:, 1] > vote[:, 0]).long() == truth).float().mean().item() < 0.8


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_permuting_sources_changes_nothing(seed):
    graph, _ = random_table(seed, items=6, sources=4)
    order = torch.randperm(4, generator=torch.Generator().manual_seed(seed))
    moved = graph.clone()
    moved.source_index = torch.stack([graph.source_index[0], order[graph.source_index[1]]])
    options = {"rounds": 4, "confusion_weight": 0.5, "facet_strength": 2.0, "partial": 0.3, "class_prior": 0.5, "volume": 0.2}
    assert torch.allclose(scores(graph, **options), scores(moved, **options), atol=1e-9, rtol=0)


def test_a_batch_gives_every_graph_what_it_gets_alone():
    graphs = [random_table(seed, items=3 + seed)[0] for seed in range(3)]
    options = {"rounds": 3, "confusion_weight": 0.7, "facet_strength": 2.0, "partial": 0.3, "class_prior": 0.5, "specificity": 0.4}
    together = scores(Batch.from_data_list(graphs), **options)
    assert torch.allclose(together, torch.cat([scores(g, **options) for g in graphs]), atol=1e-10, rtol=0)


def test_gradients():
    graph, _ = random_table(5, items=4, sources=3)
    layer = CredibilityPropagation(rounds=0, tau_q=-1, tau_sim=-1, source_trust=SourceTrust(rounds=3, learn=TRUST_LEARNABLE))
    values = torch.tensor([0.8, 0.3, 0.1, 0.9, 0.4, 0.1, 0.2, 0.3, 0.1, 0.2, 0.5, 0.9, 1.0, 1.5, 0.5], dtype=F64, requires_grad=True)
    names = [f"source_trust.{name}" for name in TRUST_LEARNABLE]

    def of(v):
        return torch.func.functional_call(layer, dict(zip(names, v.unbind(), strict=True)), (graph,)).s

    assert torch.autograd.gradcheck(of, (values,))


@pytest.mark.parametrize("mode", ["exact", "soft", "straight_through"])
def test_without_trust_nothing_changes(mode):
    graph, _ = random_table(1)
    graph.verdict = torch.tensor([[0.7, 0.2, 0.1]], dtype=F64).repeat(graph.num_pairs, 1)
    plain = CredibilityPropagation(mode=mode)(graph)
    off = CredibilityPropagation(mode=mode, source_trust=None)(graph)
    assert torch.equal(plain.s, off.s)
    # No vote at all and no prior: trust that says nothing about claims without rivals leaves their logits where they are.
    lone = table([(0, 0)], [[0]], 1)
    assert scores(lone, rounds=3, weight=0.0).tolist() == [0.0]


def test_rounds_of_algorithm_1_start_from_trust():
    graph = SMALL.clone()
    graph.verdict = torch.tensor([[0.1, 0.9, 0.0], [0.9, 0.1, 0.0]], dtype=F64)
    trust = SourceTrust(rounds=1, strength=1.0, mean=0.0)
    trace = CredibilityPropagation(rounds=1, tau_q=-1, tau_sim=-1, tau_accept=0.1, source_trust=trust)(graph)
    start = scores(SMALL, rounds=1, strength=1.0, mean=0.0)
    assert (trace.s - start).tolist() == pytest.approx([-0.8, 0.8, 0.8, -0.8], abs=1e-12)


def test_claims_off_the_query_do_not_count():
    graph = SMALL.clone()
    graph.relevance = torch.tensor([1.0, 0.0, 1.0, 1.0], dtype=F64)
    trace = CredibilityPropagation(rounds=0, tau_q=0.5, tau_sim=-1, source_trust=SourceTrust(rounds=1, strength=1.0, mean=0.0))(graph)
    # Claim 0 has no rival in force: share 1. t0 = (1/2 + 3/2) / 3 = 2/3, t1 = 3/4, t2 = (1/2 + 1/2) / 2 = 1/2; odds 2, 3, 1.
    assert trace.s.exp().tolist() == pytest.approx([6, 1, 2 / 2, 1 / 3], abs=1e-9)
    assert trace.s[1] == 0


def test_a_claim_without_sources_and_an_empty_graph():
    assert torch.isfinite(scores(table([(0, 0)], [[0, 1]], 2), rounds=3)).all()
    empty = table([], [], 0)
    assert scores(empty, rounds=3).shape == (0,)


def test_extreme_values_stay_finite():
    graph, _ = random_table(2)
    for options in ({"weight": 1e6}, {"strength": 0.0, "rounds": 50}, {"confusion_strength": 0.0, "confusion_weight": 50.0}):
        assert torch.isfinite(scores(graph, **options)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"learn": ["trust"]}, "'trust' is not known"),
        ({"rounds": -1}, "must not be negative"),
        ({"strength": -1.0}, "pseudo-counts must not be negative"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        SourceTrust(**options)
