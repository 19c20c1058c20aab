"""Ranking metrics: by hand, against scikit-learn, and by their symmetries."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata

from eval.metrics.ranking import auroc, average_precision, base_rate, mid_ranks

# Few levels, so that most examples hold ties.
scored = st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.5000001, 0.9, 1.0]), st.integers(0, 1)), min_size=1, max_size=40)


def both(rows):
    return torch.tensor([s for s, _ in rows], dtype=torch.float64), torch.tensor([y for _, y in rows], dtype=torch.float64)


def test_by_hand():
    score, label = torch.tensor([0.9, 0.5, 0.5, 0.1]), torch.tensor([1, 1, 0, 0])
    # Pairs: 0.9 beats both; 0.5 ties with 0.5 and beats 0.1.
    assert auroc(score, label) == pytest.approx(3.5 / 4)
    # Thresholds: 0.9 (recall 1/2, precision 1), 0.5 (recall 1, precision 2/3).
    assert average_precision(score, label) == pytest.approx(0.5 * 1 + 0.5 * 2 / 3)
    # Label 0, lowest first: 0.1 (1/2, 1), 0.5 (1, 2/3).
    assert average_precision(score, label, positive=0) == pytest.approx(0.5 + 0.5 * 2 / 3)
    assert base_rate(label) == 0.5
    assert mid_ranks(score).tolist() == [4, 2.5, 2.5, 1]


def test_equal_scores_have_no_skill():
    score, label = torch.full((10,), 0.5), torch.tensor([1] * 3 + [0] * 7)
    assert auroc(score, label) == 0.5
    assert average_precision(score, label) == pytest.approx(0.3)
    assert average_precision(score, label, positive=0) == pytest.approx(0.7)


def test_undefined_is_none():
    for label in ([], [1, 1], [0, 0]):
        score = torch.linspace(0, 1, len(label))
        assert auroc(score, torch.tensor(label)) is None
        assert average_precision(score, torch.tensor(label)) is None
        assert average_precision(score, torch.tensor(label), positive=0) is None
    assert base_rate(torch.tensor([])) is None


def test_refuses_what_it_cannot_score():
    with pytest.raises(ValueError, match="score 1 is not finite"):
        auroc(torch.tensor([0.0, math.nan]), torch.tensor([0, 1]))
    with pytest.raises(ValueError, match="0 or 1"):
        auroc(torch.tensor([0.0, 1.0]), torch.tensor([0, math.nan]))
    with pytest.raises(ValueError, match="one length"):
        average_precision(torch.tensor([0.0, 1.0]), torch.tensor([0]))


@settings(deadline=None)
@given(scored)
def test_agrees_with_sklearn(rows):
    metrics = pytest.importorskip("sklearn.metrics")
    score, label = both(rows)
    assert mid_ranks(score).tolist() == rankdata(score.numpy()).tolist()
    if len(set(label.tolist())) < 2:
        return
    assert auroc(score, label) == pytest.approx(metrics.roc_auc_score(label, score), abs=1e-12)
    assert average_precision(score, label) == pytest.approx(metrics.average_precision_score(label, score), abs=1e-12)
    assert average_precision(score, label, positive=0) == pytest.approx(metrics.average_precision_score(1 - label, -score), abs=1e-12)


@settings(deadline=None)
@given(scored, st.randoms())
def test_depends_on_the_order_of_scores_alone(rows, random):
    score, label = both(rows)
    found = auroc(score, label)
    if found is None:
        return
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert auroc(*both(shuffled)) == pytest.approx(found)
    assert average_precision(*both(shuffled)) == pytest.approx(average_precision(score, label))
    assert auroc(torch.exp(3 * score), label) == pytest.approx(found)
    assert auroc(-score, label) == pytest.approx(1 - found)
