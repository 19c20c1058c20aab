from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from arbgraph.verifier.calibration import Calibration, combine_orders, fit_calibration

distributions = st.lists(st.floats(0.001, 1.0), min_size=3, max_size=3).map(lambda raw: [value / sum(raw) for value in raw])


def test_calibration_by_hand() -> None:
    # softmax([2, 0, 0] / 2 + [0, ln 2, 0]) = [e, 2, 1] / (e + 3)
    log_p = Calibration(2.0, (0.0, math.log(2.0), 0.0)).log_probabilities(torch.tensor([[2.0, 0.0, 0.0]]))
    expected = torch.tensor([[math.e, 2.0, 1.0]], dtype=torch.float64) / (math.e + 3)
    torch.testing.assert_close(log_p.exp(), expected)


def test_calibration_round_trip() -> None:
    calibration = Calibration(1.25, (0.5, -0.25, 0.0))
    assert Calibration.from_dict(calibration.to_dict()) == calibration


def test_fit_recovers_temperature_and_bias() -> None:
    generator = torch.Generator().manual_seed(0)
    true = torch.randn(20000, 3, generator=generator, dtype=torch.float64) * 2
    labels = torch.multinomial(true.softmax(-1), 1, generator=generator).flatten()
    bias = torch.tensor([0.8, -0.4, 0.0], dtype=torch.float64)
    # The model reports logits that are three times too sure and shifted.
    fitted = fit_calibration((true - bias) * 3, labels)
    assert fitted.temperature == pytest.approx(3, rel=0.05)
    assert fitted.bias[0] == pytest.approx(0.8, abs=0.08)
    assert fitted.bias[1] == pytest.approx(-0.4, abs=0.08)


@settings(deadline=None)
@given(st.integers(0, 1000), st.integers(3, 40))
def test_fit_never_lowers_likelihood(seed: int, rows: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(rows, 3, generator=generator) * 4
    labels = torch.cat([torch.arange(3), torch.randint(0, 3, (rows - 3,), generator=generator)])
    picked = torch.arange(rows), labels
    before = Calibration().log_probabilities(logits)[picked].sum()
    after = fit_calibration(logits, labels).log_probabilities(logits)[picked].sum()
    assert after >= before - 1e-9


def test_fit_respects_weights() -> None:
    logits, labels = torch.zeros(3, 3), torch.tensor([0, 1, 2])
    p = fit_calibration(logits, labels, torch.tensor([3.0, 1.0, 1.0])).log_probabilities(logits)[0].exp()
    assert p.tolist() == pytest.approx([0.6, 0.2, 0.2], rel=1e-3)


def test_combination_by_hand() -> None:
    # support max(.6, .1), contradiction sqrt(.2 * .05) = .1, neutral sqrt(.2 * .85) = .41231, over their sum 1.11231
    combined = combine_orders(torch.tensor([[0.6, 0.2, 0.2]]).log(), torch.tensor([[0.1, 0.05, 0.85]]).log())
    torch.testing.assert_close(combined.exp(), torch.tensor([[0.53942, 0.08990, 0.37068]]), atol=1e-5, rtol=0)


@settings(deadline=None)
@given(distributions, distributions)
def test_combination_is_exactly_symmetric(one: list[float], other: list[float]) -> None:
    forward, backward = torch.tensor([one]).double().log(), torch.tensor([other]).double().log()
    combined = combine_orders(forward, backward)
    assert torch.equal(combined, combine_orders(backward, forward))
    torch.testing.assert_close(combined.exp().sum(-1), torch.ones(1, dtype=torch.float64))


@settings(deadline=None)
@given(distributions)
def test_agreeing_orders_stay(one: list[float]) -> None:
    p = torch.tensor([one]).double()
    torch.testing.assert_close(combine_orders(p.log(), p.log()).exp(), p)


def test_one_way_entailment_is_support() -> None:
    combined = combine_orders(torch.tensor([[0.9, 0.05, 0.05]]).log(), torch.tensor([[0.1, 0.05, 0.85]]).log())
    assert combined.argmax() == 0
    assert combined.exp()[0, 0] > 0.7
