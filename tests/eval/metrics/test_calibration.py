"""Calibration metrics: by hand, against scikit-learn, identities, independence of order."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.metrics.calibration import (
    adaptive_calibration_error,
    brier_parts,
    brier_score,
    equal_mass_bins,
    equal_width_bins,
    expected_calibration_error,
    log_loss,
    maximum_calibration_error,
)

scored = st.lists(st.tuples(st.sampled_from([i / 15 for i in range(16)] + [0.21, 0.5, 0.999]), st.integers(0, 1)), min_size=1, max_size=50)


def both(rows):
    return torch.tensor([s for s, _ in rows], dtype=torch.float64), torch.tensor([y for _, y in rows], dtype=torch.float64)


def test_bins_are_closed_on_the_right():
    edges = torch.arange(16, dtype=torch.float64) / 15
    table = equal_width_bins(edges, torch.ones(16))
    # 0 and 1/15 share the first bin; every other edge is the top of its own.
    assert table.count.tolist() == [2] + [1] * 14
    assert equal_width_bins(edges + 1e-9 * (edges < 1), torch.ones(16)).count.tolist() == [1] * 14 + [2]


def test_calibration_errors_by_hand():
    # Two bins of 0.5 width: (0, .5] holds .1, .5 with labels 0, 1: gap .2; (.5, 1] holds .7, .9, .8 with labels 1, 0, 0: gap .8 - 1/3.
    score, label = torch.tensor([0.1, 0.5, 0.7, 0.9, 0.8], dtype=torch.float64), torch.tensor([0, 1, 1, 0, 0])
    assert expected_calibration_error(score, label, 2) == pytest.approx(0.4 * 0.2 + 0.6 * (0.8 - 1 / 3))
    assert maximum_calibration_error(score, label, 2) == pytest.approx(0.8 - 1 / 3)
    # Ranks 0..4 of 5 in two bins: 0, 1, 2 (0.1, 0.5, 0.7; two positives) and 3, 4 (0.8, 0.9; none).
    assert adaptive_calibration_error(score, label, 2) == pytest.approx(0.6 * (2 / 3 - 1.3 / 3) + 0.4 * 0.85)


def test_equal_mass_bins_never_part_a_tie():
    score, label = torch.tensor([0.5] * 9 + [0.9]), torch.tensor([1, 0, 1, 0, 1, 0, 1, 0, 1, 1])
    table = equal_mass_bins(score, label)
    assert table.count.tolist() == [9, 1]
    assert table.positive.tolist() == pytest.approx([5 / 9, 1])
    distinct = torch.linspace(0.01, 0.99, 30, dtype=torch.float64)
    assert equal_mass_bins(distinct, torch.ones(30)).count.tolist() == [2] * 15


def test_brier_and_log_loss_by_hand():
    score, label = torch.tensor([0.8, 0.8, 0.8, 0.2, 0.2], dtype=torch.float64), torch.tensor([1, 1, 0, 0, 0])
    assert brier_score(score, label) == pytest.approx((0.04 + 0.04 + 0.64 + 0.04 + 0.04) / 5)
    parts = brier_parts(score, label)
    assert parts is not None
    assert parts.reliability == pytest.approx(0.6 * (0.8 - 2 / 3) ** 2 + 0.4 * 0.2**2)
    assert parts.resolution == pytest.approx(0.6 * (2 / 3 - 0.4) ** 2 + 0.4 * 0.4**2)
    assert parts.uncertainty == pytest.approx(0.24)
    assert parts.within_bin == pytest.approx(0, abs=1e-12)
    assert log_loss(score, label) == pytest.approx(-(2 * math.log(0.8) + 3 * math.log(0.8) + math.log(0.2) - math.log(0.8)) / 5)


def test_log_loss_is_clipped():
    assert log_loss(torch.tensor([0.0, 1.0]), torch.tensor([1, 0])) == pytest.approx(-math.log(1e-6))
    assert log_loss(torch.tensor([1.0]), torch.tensor([1])) == pytest.approx(-math.log(1 - 1e-6))


def test_undefined_is_none():
    empty = torch.tensor([])
    metrics = (
        brier_score,
        brier_parts,
        log_loss,
        expected_calibration_error,
        adaptive_calibration_error,
        maximum_calibration_error,
    )
    assert [metric(empty, empty) for metric in metrics] == [None] * len(metrics)


def test_refuses_scores_that_are_no_probabilities():
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        brier_score(torch.tensor([1.5]), torch.tensor([1]))


@settings(deadline=None)
@given(scored)
def test_brier_and_log_loss_agree_with_sklearn(rows):
    metrics = pytest.importorskip("sklearn.metrics")
    score, label = both(rows)
    assert brier_score(score, label) == pytest.approx(metrics.brier_score_loss(label, score), abs=1e-12)
    assert log_loss(score, label) == pytest.approx(metrics.log_loss(label, score.clamp(1e-6, 1 - 1e-6), labels=[0, 1]), abs=1e-9)


@settings(deadline=None)
@given(scored)
def test_reliability_bins_agree_with_sklearn_where_no_score_is_on_an_edge(rows):
    calibration = pytest.importorskip("sklearn.calibration")
    rows = [((s * 14 + 0.4) / 15, y) for s, y in rows]
    score, label = both(rows)
    positive, mean = calibration.calibration_curve(label, score, n_bins=15)
    table = equal_width_bins(score, label)
    assert table.positive.tolist() == pytest.approx(positive.tolist())
    assert table.score.tolist() == pytest.approx(mean.tolist())


@settings(deadline=None)
@given(scored, st.randoms())
def test_identities(rows, random):
    score, label = both(rows)
    brier, parts = brier_score(score, label), brier_parts(score, label)
    assert brier is not None
    assert parts is not None
    assert parts.reliability - parts.resolution + parts.uncertainty + parts.within_bin == pytest.approx(brier)
    assert min(parts.reliability, parts.resolution, parts.uncertainty) >= 0
    assert parts.resolution <= parts.uncertainty + 1e-12
    ece, largest = expected_calibration_error(score, label), maximum_calibration_error(score, label)
    assert ece is not None
    assert largest is not None
    assert abs(float(score.mean() - label.mean())) - 1e-12 <= ece <= largest + 1e-12
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert expected_calibration_error(*both(shuffled)) == pytest.approx(ece)
    assert adaptive_calibration_error(*both(shuffled)) == pytest.approx(adaptive_calibration_error(score, label))
