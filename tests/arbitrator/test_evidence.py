"""The evidence arbitrator on graphs small enough to count by hand."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch

from arbgraph.arbitrator import EvidenceArbitrator, EvidenceWeights
from arbgraph.arbitrator.evidence import FEATURES, evidence_features
from arbgraph.graph import EvidenceGraph

SUP = [0.8, 0.1, 0.1]
CON = [0.1, 0.8, 0.1]


def graph_of(n, pairs, relation, links, **fields):
    """A graph of n claims; `links` are (claim, source)."""
    relation = torch.tensor(relation, dtype=torch.float64).view(-1, 3)
    source_index = torch.tensor(links, dtype=torch.long).T.contiguous()
    return EvidenceGraph.build(
        torch.full((n,), 0.5, dtype=torch.float64),
        torch.tensor(pairs, dtype=torch.long).view(-1, 2).T.contiguous(),
        relation,
        source_index=source_index,
        **fields,
    )


def masks(graph):
    label = graph.relation.argmax(-1)
    return label == 0, label == 1


def features(graph, pair=0, **kwargs):
    return evidence_features(graph, torch.tensor([pair]), *masks(graph), **kwargs)


def test_mass_counts_each_source_once_with_its_largest_share():
    # Claim 0 (sources 0, 1) against claim 1 (source 2). Claim 2 supports 0 (0.8) and is stated by sources 1 and 3.
    graph = graph_of(3, [(0, 1), (0, 2)], [CON, SUP], [(0, 0), (0, 1), (1, 2), (2, 1), (2, 3)])
    torch.testing.assert_close(features(graph).mass, torch.tensor([[2.8, 1.0]], dtype=torch.float64))


def test_a_source_that_states_both_rivals_counts_for_neither():
    graph = graph_of(2, [(0, 1)], [CON], [(0, 0), (0, 1), (1, 1), (1, 2)])
    torch.testing.assert_close(features(graph).mass, torch.tensor([[1.0, 1.0]], dtype=torch.float64))


def test_whoever_contradicts_the_rival_is_an_ally_at_a_discount():
    # Claim 2 (source 2) contradicts claim 1 with 0.8: half of it counts for claim 0.
    graph = graph_of(3, [(0, 1), (1, 2)], [CON, CON], [(0, 0), (1, 1), (2, 2)])
    torch.testing.assert_close(features(graph).mass, torch.tensor([[1.4, 1.0]], dtype=torch.float64))
    torch.testing.assert_close(features(graph, ally=0.0).mass, torch.tensor([[1.0, 1.0]], dtype=torch.float64))


def test_feature_values_by_hand():
    graph = graph_of(
        3,
        [(0, 1), (0, 2)],
        [CON, SUP],
        [(0, 0), (1, 1), (2, 2)],
        source_credibility=torch.tensor([0.9, 0.4, float("nan")]),
        published=torch.tensor([2012.0, 2010.0, float("nan")]),
        specificity=torch.tensor([3.0, 0.0, 0.0]),
    )
    difference = dict(zip(FEATURES, features(graph).difference[0].tolist(), strict=True))
    assert difference["mass"] == pytest.approx(math.log(2.8) - math.log(2.0))
    assert difference["credibility"] == pytest.approx(0.5)
    assert difference["margin"] == pytest.approx(math.tanh(0.8))
    assert difference["recency"] == pytest.approx(math.tanh(1.0))
    assert difference["specificity"] == pytest.approx(math.log(4.0))


def test_unknown_credibility_and_dates_say_nothing():
    graph = graph_of(2, [(0, 1)], [CON], [(0, 0), (1, 1)], source_credibility=torch.tensor([0.9, float("nan")]))
    assert features(graph).difference[0].abs().sum() == 0


@pytest.mark.parametrize(("sources", "winner"), [((1, 1), 2), ((2, 1), 0), ((1, 2), 1), ((3, 3), 2)])
def test_two_sources_beat_one_and_equal_evidence_abstains(sources, winner):
    links = [(0, s) for s in range(sources[0])] + [(1, 10 + s) for s in range(sources[1])]
    graph = graph_of(2, [(0, 1)], [CON], links)
    verdict = EvidenceArbitrator().arbitrate(graph, torch.tensor([0]), *masks(graph)).probabilities[0]
    gated = int(verdict[:2].argmax()) if verdict[:2].max() >= 0.5 else 2
    assert gated == winner
    assert verdict.sum() == pytest.approx(1.0)


def test_a_newer_statement_beats_an_equally_supported_one_and_the_reason_says_so():
    graph = graph_of(2, [(0, 1)], [CON], [(0, 0), (1, 1)], published=torch.tensor([2003.0, 2021.0]))
    answer = EvidenceArbitrator().arbitrate(graph, torch.tensor([0]), *masks(graph))
    assert answer.probabilities[0, 1] > 0.5
    assert answer.rationales == ["newer"]


def test_weights_are_what_decides():
    graph = graph_of(2, [(0, 1)], [CON], [(0, 0), (0, 2), (1, 1)])
    deaf = EvidenceArbitrator(EvidenceWeights(mass=0.0))
    torch.testing.assert_close(
        deaf.arbitrate(graph, torch.tensor([0]), *masks(graph)).probabilities[0], torch.full((3,), 1 / 3, dtype=torch.float64)
    )


@st.composite
def random_graph(draw):
    n = draw(st.integers(2, 7))
    pairs = sorted(draw(st.lists(st.sampled_from([(a, b) for a in range(n) for b in range(a + 1, n)]), unique=True, min_size=1)))
    relation = [draw(st.sampled_from([SUP, CON, [0.1, 0.1, 0.8]])) for _ in pairs]
    links = sorted(
        {(c, draw(st.integers(0, 5))) for c in range(n)} | set(draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, 5)))))
    )
    years = [draw(st.sampled_from([2000.0, 2010.0, float("nan")])) for _ in range(n)]
    return graph_of(n, pairs, relation, links, published=torch.tensor(years))


def mass_by_loop(graph, e, ally=0.5):
    """The definition of independent mass, one source at a time."""
    a, b = graph.pair_index[:, e].tolist()
    pairs, label = graph.pair_index.T.tolist(), graph.relation.argmax(-1).tolist()
    stated_by = {}
    for claim, source in graph.source_index.T.tolist():
        stated_by.setdefault(claim, set()).add(source)
    result = []
    for side, rival in ((a, b), (b, a)):
        share = dict.fromkeys(stated_by.get(side, ()), 1.0)
        for k, (x, y) in enumerate(pairs):
            for centre, kind, scale, column in ((side, 0, 1.0, 0), (rival, 1, ally, 1)):
                if label[k] == kind and centre in (x, y):
                    other = y if x == centre else x
                    if other != side:
                        for source in stated_by.get(other, ()):
                            share[source] = max(share.get(source, 0), scale * float(graph.relation[k, column]))
        result.append(sum(w for source, w in share.items() if source not in stated_by.get(rival, ())))
    return result


@given(graph=random_graph())
@settings(max_examples=150, deadline=None)
def test_mass_equals_the_loop(graph):
    pairs = torch.arange(graph.num_pairs)
    expected = torch.tensor([mass_by_loop(graph, e) for e in range(graph.num_pairs)], dtype=torch.float64)
    torch.testing.assert_close(evidence_features(graph, pairs, *masks(graph)).mass, expected)


@given(first=random_graph(), second=random_graph())
@settings(max_examples=50, deadline=None)
def test_a_batch_equals_each_graph_alone(first, second):
    arbitrator, batch = EvidenceArbitrator(), Batch.from_data_list([first, second])
    together = arbitrator.arbitrate(batch, torch.arange(batch.num_pairs), *masks(batch))
    alone = [arbitrator.arbitrate(g, torch.arange(g.num_pairs), *masks(g)) for g in (first, second)]
    torch.testing.assert_close(together.probabilities, torch.cat([v.probabilities for v in alone]))
    assert list(together.rationales) == [r for v in alone for r in v.rationales]
