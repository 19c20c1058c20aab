"""Synthetic worlds: reproducible, well-formed, and as noisy as they were asked to be."""

from __future__ import annotations

import pytest
import torch

from arbgraph.propagation.credibility import CredibilityPropagation
from arbgraph.schema import CONTRADICT, NEUTRAL, SUPPORT
from arbgraph.synthetic import SyntheticWorlds, draw_worlds

PLANTED = {"rounds": 2, "budget": None, "step_size": 0.9, "tau_accept": 0.35, "tau_q": 0.45}


def fields(graph):
    return {name: value for name, value in graph.to_dict().items() if isinstance(value, torch.Tensor)}


def same(one, other):
    return all(torch.equal(torch.nan_to_num(one[name], nan=-9), torch.nan_to_num(other[name], nan=-9)) for name in one)


def test_the_seed_decides_everything_and_a_world_depends_on_its_number_only():
    few, many = draw_worlds(SyntheticWorlds(worlds=2, seed=5)), draw_worlds(SyntheticWorlds(worlds=4, seed=5))
    assert all(same(fields(a), fields(b)) for a, b in zip(few, many, strict=False))
    other = draw_worlds(SyntheticWorlds(worlds=1, seed=6))[0]
    assert not same(fields(few[0]) | {"label": few[0].prior}, fields(other) | {"label": other.prior}) or few[0].num_nodes != other.num_nodes


def test_worlds_keep_the_contract_of_a_graph():
    for graph in draw_worlds(SyntheticWorlds(worlds=20, seed=1, credibility_known=0.5, prior_spread=1.0)):
        graph.check()
        torch.testing.assert_close(graph.relation.sum(-1), torch.ones(graph.num_pairs, dtype=torch.float64))
        torch.testing.assert_close(graph.verdict.sum(-1), torch.ones(graph.num_pairs, dtype=torch.float64))
        assert (graph.relation >= 0).all()
        assert (graph.sources >= 1).all()
        assert (graph.similarity >= SyntheticWorlds.mined_from).all()


def clean(**changes):
    return SyntheticWorlds(**{"worlds": 60, "off_topic": 0.0, "verifier_noise": 0.0, "ambiguity_confusion": 0.0, **changes})


def test_without_noise_relations_and_verdicts_follow_the_truth():
    for graph in draw_worlds(clean(ambiguity=0.5)):
        a, b = graph.pair_index
        left, right, label = graph.label[a], graph.label[b], graph.relation.argmax(-1)
        assert (left[label == SUPPORT] == right[label == SUPPORT]).all()
        assert not ((left == 1) & (right == 1) & (label == CONTRADICT)).any()
        winner = graph.verdict.argmax(-1)
        assert ((winner == 0) == (left > right)).all()
        assert ((winner == 2) == (left == right)).all()


@pytest.mark.parametrize("noise", [0.1, 0.4])
def test_verdict_noise_is_the_share_that_changes_and_nothing_else_does(noise):
    quiet, loud = draw_worlds(clean()), draw_worlds(clean(verdict_noise=noise))
    changed = torch.cat([q.verdict.argmax(-1) != n.verdict.argmax(-1) for q, n in zip(quiet, loud, strict=True)])
    assert changed.double().mean() == pytest.approx(noise, abs=0.03)
    for q, n in zip(quiet, loud, strict=True):
        kept = q.verdict.argmax(-1) == n.verdict.argmax(-1)
        assert torch.equal(q.verdict[kept], n.verdict[kept])
        assert torch.equal(q.relation, n.relation)


def test_reliable_sources_state_true_values():
    shares = [
        torch.cat([g.label.repeat_interleave(g.sources) for g in draw_worlds(clean(reliability=(r, r), cliques=0))]).mean()
        for r in (0.3, 0.9)
    ]
    assert shares[0] == pytest.approx(0.3, abs=0.06)
    assert shares[1] == pytest.approx(0.9, abs=0.06)


def test_recognised_copies_count_as_one_source():
    options = {"cliques": 2, "clique_size": 4, "copy_rate": 1.0}
    known, unknown = (draw_worlds(clean(copies_detected=share, **options)) for share in (1.0, 0.0))
    assert max(int(g.sources.max()) for g in known) <= 2
    assert max(int(g.sources.max()) for g in unknown) > 2


def test_off_topic_claims_have_no_label_and_lower_relevance():
    graphs = draw_worlds(SyntheticWorlds(worlds=60, off_topic=0.5))
    unknown = torch.cat([g.label.isnan() for g in graphs])
    relevance = torch.cat([g.relevance for g in graphs])
    assert 0.3 < unknown.double().mean() < 0.7
    assert relevance[unknown].mean() < 0.4 < relevance[~unknown].mean()


def test_planted_labels_are_what_exact_propagation_accepts_with_clean_verdicts():
    options = {"worlds": 10, "labels": "planted", "planted": PLANTED, "prior_spread": 1.0}
    layer = CredibilityPropagation(**PLANTED)
    quiet, loud = draw_worlds(SyntheticWorlds(**options)), draw_worlds(SyntheticWorlds(**options, verdict_noise=0.5))
    for graph, noisy in zip(quiet, loud, strict=True):
        assert torch.equal(graph.label, layer(graph).accepted.double())
        assert torch.equal(graph.label, noisy.label)
    assert any(not torch.equal(n.label, layer(n).accepted.double()) for n in loud)


def test_the_label_shown_stays_the_likeliest_at_low_confidence():
    graphs = draw_worlds(clean(confidence=(0.334, 0.34), worlds=20))
    for graph in graphs:
        top = graph.relation.max(-1).values
        assert (top < 0.341).all()
        assert (graph.relation.argmax(-1) != NEUTRAL).any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"coverage": 1.5}, "coverage is 1.5"),
        ({"sources": 0}, "sources is 0"),
        ({"confidence": (0.2, 0.9)}, "confidence is 0.2..0.9"),
        ({"reliability": (0.9, 0.4)}, "reliability is 0.9..0.4"),
        ({"cliques": 3, "clique_size": 3}, "do not fit into 8 sources"),
        ({"labels": "planted"}, "planted labels need planted parameters"),
        ({"labels": "planted", "planted": PLANTED, "verdicts": False}, "need verdicts=True"),
        ({"prior_spread": -1.0}, "prior_spread is -1.0"),
    ],
)
def test_impossible_worlds_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        SyntheticWorlds(**change)
