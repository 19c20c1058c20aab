"""Risk and coverage: by hand, ties, bounds."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.metrics.selective import area_under_risk_coverage, best_area_under_risk_coverage, risk_coverage_curve

cases = st.lists(st.tuples(st.sampled_from([0.1, 0.2, 0.5, 0.9]), st.integers(0, 1)), min_size=1, max_size=6)


def both(rows):
    return torch.tensor([c for c, _ in rows], dtype=torch.float64), torch.tensor([e for _, e in rows], dtype=torch.float64)


def test_by_hand():
    coverage, risk = risk_coverage_curve(torch.tensor([0.9, 0.1, 0.5]), torch.tensor([0, 1, 1]))
    assert coverage.tolist() == pytest.approx([1 / 3, 2 / 3, 1])
    assert risk.tolist() == pytest.approx([0, 1 / 2, 2 / 3])
    assert area_under_risk_coverage(torch.tensor([0.9, 0.1, 0.5]), torch.tensor([0, 1, 1])) == pytest.approx((0.5 + 2 / 3) / 3)


def test_equal_confidence_has_the_same_risk_everywhere():
    _, risk = risk_coverage_curve(torch.full((4,), 0.5), torch.tensor([1, 0, 0, 0]))
    assert risk.tolist() == pytest.approx([0.25] * 4)


def test_undefined_is_none():
    assert area_under_risk_coverage(torch.tensor([]), torch.tensor([])) is None
    assert best_area_under_risk_coverage(torch.tensor([])) is None


@settings(deadline=None)
@given(cases)
def test_ties_give_the_mean_over_all_orders(rows):
    confidence, error = both(rows)
    orders = [
        order for order in itertools.permutations(range(len(rows))) if all(rows[a][0] >= rows[b][0] for a, b in itertools.pairwise(order))
    ]
    curves = torch.stack([torch.cumsum(error[list(order)], 0) / torch.arange(1, len(rows) + 1) for order in orders])
    _, risk = risk_coverage_curve(confidence, error)
    assert risk.tolist() == pytest.approx(curves.mean(0).tolist())
    best, found = best_area_under_risk_coverage(error), area_under_risk_coverage(confidence, error)
    assert best is not None
    assert found is not None
    assert best - 1e-12 <= found <= 1
