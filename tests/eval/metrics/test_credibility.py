"""Quality of scores and paired comparisons, against plain recomputation."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.metrics.credibility import Scored, accepted_set, compare, quality
from eval.metrics.ranking import auroc, mid_ranks
from eval.metrics.significance import bootstrap_weights, sign_flips


def make(seed: int, questions: int = 6, claims: int = 30, skill: float = 0.0) -> Scored:
    draw = torch.Generator().manual_seed(seed)
    question = torch.randint(questions, (claims,), generator=draw)
    question[:questions] = torch.arange(questions)
    label = torch.randint(2, (claims,), generator=draw).double()
    label[:2] = torch.tensor([0.0, 1.0])
    score = (torch.randint(5, (claims,), generator=draw) / 8 + skill * label * 0.4).double()
    return Scored(score, score >= 0.4, label, question)


def other(scored: Scored, seed: int) -> Scored:
    score = make(seed, claims=len(scored.label)).score
    return Scored(score, score >= 0.3, scored.label, scored.question)


def test_accepted_set_by_hand():
    found = accepted_set(torch.tensor([True, True, False, False, False]), torch.tensor([1.0, 0.0, 1.0, 1.0, 0.0]))
    assert found == pytest.approx(
        {
            "precision": 0.5,
            "recall": 1 / 3,
            "f1": 0.4,
            "specificity": 0.5,
            "balanced_accuracy": 5 / 12,
            "false_rejections": 2,
            "false_acceptances": 1,
        }
    )
    nothing = accepted_set(torch.zeros(2), torch.zeros(2))
    assert [nothing[name] for name in ("precision", "recall", "f1", "balanced_accuracy", "specificity")] == [None, None, None, None, 1.0]


def test_quality_of_constant_scores():
    found = quality(torch.full((4,), 0.5), torch.ones(4), torch.tensor([1.0, 1.0, 1.0, 0.0]))
    assert found["distinct_scores"] == 1
    assert (found["auroc"], found["auprc_valid"], found["auprc_invalid"]) == (0.5, 0.75, 0.25)
    assert (found["brier"], found["ece"], found["recall"]) == (0.25, 0.25, 1.0)
    assert found["brier_parts"]["resolution"] == 0


def test_quality_of_no_claims_is_undefined():
    found = quality(torch.zeros(0), torch.zeros(0), torch.zeros(0))
    assert {name for name, value in found.items() if value is not None} == {
        "claims",
        "false_rejections",
        "false_acceptances",
        "distinct_scores",
    }


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000))
def test_resampling_equals_repeating_the_claims(seed):
    scored = make(seed)
    weights = bootstrap_weights(scored.questions, 5, seed)
    for metric in ("f1", "brier", "auroc"):
        for row, found in zip(weights, scored.resampled(metric, weights).tolist(), strict=True):
            rows = torch.repeat_interleave(torch.arange(len(scored.label)), row[scored.question].long())
            expected = quality(scored.score[rows], scored.accepted[rows], scored.label[rows])[metric]
            assert found == pytest.approx(expected, nan_ok=True) if expected is not None else found != found


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000))
def test_permutation_equals_exchanging_the_scores(seed):
    a = make(seed)
    b = other(a, seed + 1)
    flips = sign_flips(a.questions)
    weights = bootstrap_weights(a.questions, 10)
    for metric in ("f1", "brier", "auroc"):
        differences = []
        for flip in flips:
            swap = flip[a.question] < 0
            left, right = (mid_ranks(a.score), mid_ranks(b.score)) if metric == "auroc" else (a.score, b.score)
            pairs = [(left, a.accepted, right, b.accepted), (right, b.accepted, left, a.accepted)]
            values: list[Any] = [
                auroc(torch.where(swap, s2, s1), a.label)
                if metric == "auroc"
                else quality(torch.where(swap, s2, s1), torch.where(swap, x2, x1), a.label)[metric]
                for s1, x1, s2, x2 in pairs
            ]
            differences.append(values[0] - values[1])
        permuted = torch.tensor(differences, dtype=torch.float64)
        expected = float((permuted.abs() >= permuted[0].abs() - 1e-12).double().mean())
        found = compare(a, b, metric, weights, flips)
        assert found is not None
        assert found[0].difference == pytest.approx(float(permuted[0]))
        assert found[1] == pytest.approx(expected)


def test_a_better_system_is_found_and_an_equal_one_is_not():
    good, weights, flips = make(1, 40, 400, skill=1.0), bootstrap_weights(40), sign_flips(40)
    poor = other(good, 2)
    for metric, sign in (("f1", 1), ("auroc", 1), ("brier", -1)):
        found = compare(good, poor, metric, weights, flips)
        assert found is not None
        assert found[0].difference * sign > 0
        assert max(found[0].p, found[1]) < 0.01
        same = compare(good, good, metric, weights, flips)
        assert same is not None
        assert (same[0].difference, same[0].p, same[1]) == (0, 1, 1)


def test_undefined_and_unpaired():
    one_class = Scored(torch.rand(3), torch.ones(3), torch.ones(3, dtype=torch.float64), torch.arange(3))
    assert compare(one_class, one_class, "auroc", bootstrap_weights(3, 10), sign_flips(3)) is None
    with pytest.raises(ValueError, match="different claims"):
        compare(make(1), make(2), "f1", bootstrap_weights(6, 10), sign_flips(6))
