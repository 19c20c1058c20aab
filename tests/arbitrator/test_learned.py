"""The learned evidence arbitrator: features by hand, antisymmetry, checkpoint, and that it learns what decides."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from arbgraph.arbitrator.learned import CONTEXT, DIFFERENCES, LearnedEvidenceArbitrator, PairPerceptron, pair_features
from arbgraph.checkpoint import CheckpointError
from arbgraph.synthetic import SyntheticWorlds, draw_worlds
from tests.arbitrator.test_evidence import CON, SUP, graph_of, masks
from train.propagation_arbitrator import ArbitratorSettings, arbitrator_report, train_arbitrator, training_pairs
from train.propagation_data import LabelledGraphs, TrainingDataError

WORLDS = SyntheticWorlds(worlds=40, verdicts=False, reliability=(0.6, 0.95), cliques=0, off_topic=0.0, ambiguity=0.0)


def features(graph, pair=0):
    d, c = pair_features(graph, torch.tensor([pair]), *masks(graph))
    return dict(zip(DIFFERENCES, d[0].tolist(), strict=True)), dict(zip(CONTEXT, c[0].tolist(), strict=True))


def test_features_by_hand():
    # Claims 0 and 1 conflict; 2 supports 0; source 0 states 0 and 3, source 1 states 1 and 4, and 1 contradicts 4.
    links = [(0, 0), (1, 1), (2, 2), (3, 0), (4, 1)]
    graph = graph_of(
        5,
        [(0, 1), (0, 2), (1, 4)],
        [CON, SUP, CON],
        links,
        relevance=torch.tensor([0.9, 0.5, 0.5, 0.5, 0.5], dtype=torch.float64),
        agreement=torch.tensor([1.0, 0.5, 1.0, 1.0, 1.0], dtype=torch.float64),
    )
    d, c = features(graph)
    assert d["relevance"] == pytest.approx(0.4)
    assert d["sources"] == 0
    assert d["supported"] == pytest.approx(math.log(1.8))
    assert d["contradicted"] == pytest.approx(-math.log(1.8))
    assert d["agreement"] == pytest.approx(0.5)
    # Source 0's other claim (3) has no edges; source 1's other claim (4) has the balance -0.8.
    assert d["trust"] == pytest.approx(0 - math.tanh(-0.8))
    assert d["inconsistency"] == pytest.approx(-math.log(1.8))
    assert c["contradiction"] == pytest.approx(0.8)
    assert c["mean_relevance"] == pytest.approx(0.7)
    assert c["mean_agreement"] == pytest.approx(0.75)


def mirrored(graph):
    """The same graph with claims in reverse order: every pair has its sides swapped."""
    n = graph.prior.numel()
    flip = torch.arange(n - 1, -1, -1)
    fields = {name: graph[name][flip] for name in ("relevance", "source_credibility", "specificity", "published")}
    index = torch.stack([n - 1 - graph.source_index[0], graph.source_index[1]])
    return graph.build(
        graph.prior[flip],
        (n - 1 - graph.pair_index).flip(0),
        graph.relation,
        similarity=graph.similarity,
        source_index=index,
        num_sources=graph.num_sources,
        **fields,
    )


def test_swapping_the_sides_swaps_the_verdict():
    torch.manual_seed(0)
    judge = LearnedEvidenceArbitrator(PairPerceptron())
    for graph in draw_worlds(replace(WORLDS, worlds=10, credibility_known=0.7)):
        pairs = torch.arange(graph.num_pairs)
        there = judge.arbitrate(graph, pairs, *masks(graph)).probabilities
        back = judge.arbitrate(mirrored(graph), pairs, *masks(graph)).probabilities
        torch.testing.assert_close(there, back[:, [1, 0, 2]], rtol=0, atol=1e-12)
        assert (there[:, 0] != there[:, 1]).any()


def test_equal_sides_never_have_a_winner():
    torch.manual_seed(1)
    graph = graph_of(2, [(0, 1)], [CON], [(0, 0), (1, 1)])
    verdict = LearnedEvidenceArbitrator(PairPerceptron()).arbitrate(graph, torch.tensor([0]), *masks(graph))
    assert verdict.probabilities[0, 0] == verdict.probabilities[0, 1]
    assert verdict.rationales == ["nothing separates them"]


def test_it_learns_which_side_wins_and_says_why():
    data = LabelledGraphs(draw_worlds(WORLDS))
    judge = train_arbitrator(data, ArbitratorSettings(steps=150, decay=0.001), seed=0)
    fresh = LabelledGraphs(draw_worlds(replace(WORLDS, seed=9)))
    examples, settings = training_pairs(fresh, ArbitratorSettings()), ArbitratorSettings()
    edges = masks(fresh.batch)
    answer = judge.arbitrate(fresh.batch, examples.pairs, *edges)
    report = arbitrator_report(answer.probabilities, examples.outcome)
    assert settings.confidence < report["winner_accuracy"]
    assert report["winner_accuracy"] > 0.75
    assert len(answer.rationales) == len(examples.pairs)
    assert any("independent support" in reason for reason in answer.rationales)


def test_the_same_seed_gives_the_same_weights_and_another_does_not():
    data = LabelledGraphs(draw_worlds(WORLDS))
    one, two, other = (train_arbitrator(data, ArbitratorSettings(steps=5), seed=seed).model.inner.weight for seed in (3, 3, 4))
    assert torch.equal(one, two)
    assert not torch.equal(one, other)


def test_a_report_by_hand():
    probabilities = torch.tensor([[0.7, 0.2, 0.1], [0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], dtype=torch.float64)
    report = arbitrator_report(probabilities, torch.tensor([0, 1, 2]))
    assert (report["pairs"], report["decided"], report["winner_accuracy"]) == (3, 2, 1.0)
    assert report["accuracy"] == pytest.approx(1 / 3)
    assert report["gated_share"] == pytest.approx(2 / 3)
    assert report["gated_precision"] == 0.5
    assert report["cross_entropy"] == pytest.approx(-(math.log(0.7) + math.log(0.3) + math.log(0.1)) / 3)


def test_a_checkpoint_round_trip_keeps_every_bit(tmp_path):
    data = LabelledGraphs(draw_worlds(WORLDS))
    judge = train_arbitrator(data, ArbitratorSettings(steps=5, hidden=4, context=("similarity",)))
    judge.save(tmp_path / "judge", card="# card\n", metrics={}, training={})
    loaded = LearnedEvidenceArbitrator.load(tmp_path / "judge")
    graph = data.batch
    pairs = torch.arange(graph.num_pairs)
    before, after = (j.arbitrate(graph, pairs, *masks(graph)) for j in (judge, loaded))
    assert torch.equal(before.probabilities, after.probabilities)
    assert before.rationales == after.rationales
    assert loaded.describe()["name"] == "judge"


def test_no_pairs_give_no_verdicts():
    graph = graph_of(2, [(0, 1)], [CON], [(0, 0), (1, 1)])
    answer = LearnedEvidenceArbitrator(PairPerceptron()).arbitrate(graph, torch.zeros(0, dtype=torch.long), *masks(graph))
    assert answer.probabilities.shape == (0, 3)
    assert list(answer.rationales) == []


def test_errors_name_what_is_wrong():
    with pytest.raises(ValueError, match="feature 'vibes' is not known"):
        PairPerceptron(("vibes",))
    with pytest.raises(CheckpointError, match="not a LearnedEvidenceArbitrator"):
        LearnedEvidenceArbitrator.load("verifier-minilm")
    graphs = draw_worlds(WORLDS)
    for graph in graphs:
        a, b = graph.pair_index
        differ = graph.label[a] != graph.label[b]
        graph.relation[differ] = torch.tensor([0.8, 0.1, 0.1], dtype=torch.float64)
    with pytest.raises(TrainingDataError, match="no contradiction has one valid and one invalid side"):
        train_arbitrator(LabelledGraphs(graphs), ArbitratorSettings())
