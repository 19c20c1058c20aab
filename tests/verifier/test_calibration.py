from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from arbgraph.schema import CONTRADICT, NEUTRAL, SUPPORT
from arbgraph.verifier.calibration import (
    STATED_SPREAD,
    Calibration,
    CalibrationError,
    Decision,
    DevScores,
    Method,
    VerifierCalibration,
    calibrate_verifier,
    choose_decision,
    combine_orders,
    fit_calibration,
    fit_verdict,
    likelihood,
)

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
    fitted = fit_calibration((true - bias) * 3, labels, method="vector")
    assert fitted.temperature == pytest.approx(3, rel=0.05)
    assert fitted.bias[0] == pytest.approx(0.8, abs=0.08)
    assert fitted.bias[1] == pytest.approx(-0.4, abs=0.08)


def random_set(seed: int, rows: int) -> DevScores:
    """Random logits of both orders, and labels among which every relation occurs."""
    generator = torch.Generator().manual_seed(seed)
    forward, backward = torch.randn(2, rows, 3, generator=generator) * 4
    return DevScores(str(seed), torch.cat([torch.arange(3), torch.randint(0, 3, (rows - 3,), generator=generator)]), forward, backward)


def informative(one: DevScores) -> DevScores:
    """The same set with logits that lean to the right label."""
    assert one.backward is not None
    lean = 3 * torch.nn.functional.one_hot(one.labels, 3)
    return replace(one, forward=one.forward + lean, backward=one.backward + lean)


@pytest.mark.parametrize("method", ["temperature", "vector"])
@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 1000), rows=st.integers(3, 40))
def test_fit_never_lowers_likelihood(method: Method, seed: int, rows: int) -> None:
    one = random_set(seed, rows)
    before = Calibration().log_probabilities(one.forward)
    after = fit_calibration(one.forward, one.labels, method=method).log_probabilities(one.forward)
    assert likelihood(after, one.labels) >= likelihood(before, one.labels) - 1e-9


@pytest.mark.parametrize("learn_spread", [False, True])
@pytest.mark.parametrize("method", ["temperature", "vector"])
@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 1000), rows=st.integers(3, 40))
def test_verdict_fit_never_lowers_likelihood(method: Method, learn_spread: bool, seed: int, rows: int) -> None:
    one = random_set(seed, rows)
    assert one.backward is not None
    orders = one.forward.double().log_softmax(-1), one.backward.double().log_softmax(-1)
    spread, combined = fit_verdict(*orders, one.labels, method=method, learn_spread=learn_spread)
    fitted = VerifierCalibration(combined=combined, spread=spread)
    stated = fit_calibration(combine_orders(*orders), one.labels, method=method)
    for other in (VerifierCalibration(), VerifierCalibration(combined=stated)):
        assert likelihood(fitted.verdict(*orders), one.labels) >= likelihood(other.verdict(*orders), one.labels) - 1e-9
    assert all(-1 <= value <= 1 for value in spread)
    assert torch.equal(fitted.verdict(*orders), fitted.verdict(*reversed(orders)))


def test_temperature_keeps_every_decision() -> None:
    one = random_set(5, 40)
    fitted = fit_calibration(one.forward, one.labels)
    assert fitted.bias == (0.0, 0.0, 0.0)
    assert torch.equal(fitted.log_probabilities(one.forward).argmax(-1), one.forward.argmax(-1))


def test_learned_spread_finds_the_rule_behind_the_labels() -> None:
    generator = torch.Generator().manual_seed(1)
    forward, backward = (torch.randn(2, 4000, 3, generator=generator, dtype=torch.float64) * 2).log_softmax(-1)
    truth = combine_orders(forward, backward, (-0.5, 0.8, 0.0))
    labels = torch.multinomial(truth.exp(), 1, generator=generator).flatten()
    spread, combined = fit_verdict(forward, backward, labels, learn_spread=True)
    # The three scores are known up to a common shift, so the differences between the labels are what can be found.
    assert spread[1] - spread[0] == pytest.approx(1.3, abs=0.15)
    assert spread[1] - spread[2] == pytest.approx(0.8, abs=0.15)
    assert combined.temperature == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize(("labels", "missing"), [([0, 1], "neutral"), ([2, 2], "support and no contradict"), ([], "no dev pair")])
def test_missing_labels_are_named(labels: list[int], missing: str) -> None:
    with pytest.raises(CalibrationError, match=missing):
        fit_calibration(torch.zeros(len(labels), 3), torch.tensor(labels, dtype=torch.long), method="vector")


def test_temperature_needs_no_neutral() -> None:
    sets = [DevScores("two-way", torch.tensor([0, 1, 0]), torch.eye(3), torch.eye(3))]
    assert calibrate_verifier(sets).directed.bias == (0.0, 0.0, 0.0)
    with pytest.raises(CalibrationError, match="no neutral pair"):
        calibrate_verifier(sets, "vector")
    with pytest.raises(CalibrationError, match="temperature, vector"):
        fit_calibration(torch.zeros(1, 3), torch.tensor([0]), method="isotonic")  # pyright: ignore


def test_fit_respects_weights() -> None:
    logits, labels = torch.zeros(3, 3), torch.tensor([0, 1, 2])
    p = fit_calibration(logits, labels, torch.tensor([3.0, 1.0, 1.0]), "vector").log_probabilities(logits)[0].exp()
    assert p.tolist() == pytest.approx([0.6, 0.2, 0.2], rel=1e-3)


def test_sets_count_alike_whatever_their_size() -> None:
    # A large set of sure and wrong scores beside a small one of sure and right ones.
    sure = torch.tensor([[4.0, 0.0, 0.0]])
    wrong, right = DevScores("a", torch.full((90,), 1), sure.repeat(90, 1)), DevScores("b", torch.zeros(10).long(), sure.repeat(10, 1))
    # Half of the weight is right: p = 1/2 against 1/4 and 1/4 wins over the even third, so the temperature stays finite.
    alike = calibrate_verifier([wrong, right]).directed.log_probabilities(sure).exp()[0, 0]
    by_pair = calibrate_verifier([wrong, right], equal_sets=False).directed.log_probabilities(sure).exp()[0, 0]
    assert float(alike) == pytest.approx(0.5, abs=0.01)
    assert float(by_pair) == pytest.approx(1 / 3, abs=0.01)


def test_verdict_is_fitted_on_sets_read_in_both_orders() -> None:
    one, other = (informative(random_set(seed, 30)) for seed in (1, 2))
    directed_only = DevScores("other", other.labels, other.forward)
    assert calibrate_verifier([directed_only]) == VerifierCalibration(fit_calibration(other.forward, other.labels))
    mixed = calibrate_verifier([one, directed_only])
    assert mixed.directed == calibrate_verifier([one, other]).directed
    assert mixed.combined != calibrate_verifier([one, other]).combined
    assert mixed.decision is not None


def test_block_round_trip_and_older_blocks() -> None:
    block = VerifierCalibration(
        Calibration(1.5, (0.1, 0.2, 0.0)), Calibration(0.8), (0.9, 0.1, -0.3), Decision((0.6, None), 0.55, 0.8, 0.7)
    )
    assert VerifierCalibration.from_dict(block.to_dict()) == block
    assert VerifierCalibration.from_dict(None) == VerifierCalibration()
    older = {"directed": Calibration(2.0).to_dict(), "combined": Calibration(3.0).to_dict()}
    assert VerifierCalibration.from_dict(older) == VerifierCalibration(Calibration(2.0), Calibration(3.0), STATED_SPREAD, None)


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ({"directed": {"temperature": 1.0}}, "bias"),
        ({"isotonic": 1}, "unknown entry isotonic"),
        ({"spread": {"support": 1.0}}, "contradict"),
        ({"decision": {"thresholds": {"support": 0.5, "contradict": "high"}, "tau_conf": 0.5}}, "high"),
    ],
)
def test_malformed_blocks(block: dict, message: str) -> None:
    with pytest.raises(CalibrationError, match=message):
        VerifierCalibration.from_dict(block)


def probabilities(*rows: tuple[int, float]) -> torch.Tensor:
    """Rows with one label at the given probability, the others sharing the rest."""
    return torch.stack([torch.full((3,), (1 - p) / 2).index_fill(0, torch.tensor(label), p) for label, p in rows]).double()


def test_decision_by_hand() -> None:
    predicted = probabilities((SUPPORT, 0.9), (SUPPORT, 0.7), (SUPPORT, 0.6), (CONTRADICT, 0.95), (CONTRADICT, 0.5), (NEUTRAL, 0.8))
    gold = torch.tensor([SUPPORT, SUPPORT, NEUTRAL, CONTRADICT, SUPPORT, CONTRADICT])
    decision = choose_decision(predicted, gold)
    # Support, 3 gold: from above 0.6 both kept edges are right, 2 of 3 found: F0.5 = 1.25 * 2 / (2 + 0.25 * 3), against 2 of 3 kept.
    # Contradiction, 2 gold: from above 0.5 the one kept edge is right. Both grids step by 0.01 and the smallest best value is taken.
    assert decision.thresholds == pytest.approx((0.61, 0.51))
    # Pooled, 5 gold edges: above 0.6 keeps 3, all right: 1.25 * 3 / (3 + 0.25 * 5).
    assert decision.tau_conf == pytest.approx(0.61)
    assert (decision.precision, decision.recall) == pytest.approx((1.0, 3 / 5))
    assert decision.labels(predicted).tolist() == [SUPPORT, SUPPORT, NEUTRAL, CONTRADICT, NEUTRAL, NEUTRAL]


def test_decision_weighs_and_needs_edges() -> None:
    predicted, gold = probabilities((SUPPORT, 0.9), (SUPPORT, 0.5), (SUPPORT, 0.5)), torch.tensor([SUPPORT, SUPPORT, NEUTRAL])
    # A heavy false edge moves the threshold above it, a light one does not.
    assert choose_decision(predicted, gold, torch.tensor([1.0, 1.0, 3.0])).tau_conf == pytest.approx(0.51)
    assert choose_decision(predicted, gold, torch.tensor([1.0, 1.0, 0.1])).tau_conf == pytest.approx(0.34)
    assert choose_decision(predicted, gold).thresholds[1] is None
    with pytest.raises(CalibrationError, match="neither support nor contradict"):
        choose_decision(predicted, torch.tensor([NEUTRAL] * 3))


def test_combination_by_hand() -> None:
    # support max(.6, .1), contradiction sqrt(.2 * .05) = .1, neutral sqrt(.2 * .85) = .41231, over their sum 1.11231
    combined = combine_orders(torch.tensor([[0.6, 0.2, 0.2]]).log(), torch.tensor([[0.1, 0.05, 0.85]]).log())
    torch.testing.assert_close(combined.exp(), torch.tensor([[0.53942, 0.08990, 0.37068]]), atol=1e-5, rtol=0)


@settings(deadline=None)
@given(distributions, distributions)
def test_combination_is_exactly_symmetric(one: list[float], other: list[float]) -> None:
    forward, backward = torch.tensor([one]).double().log(), torch.tensor([other]).double().log()
    for spread in (STATED_SPREAD, (0.3, -0.7, 0.9)):
        combined = combine_orders(forward, backward, spread)
        assert torch.equal(combined, combine_orders(backward, forward, spread))
    torch.testing.assert_close(combined.exp().sum(-1), torch.ones(1, dtype=torch.float64))


@settings(deadline=None)
@given(distributions)
def test_agreeing_orders_stay(one: list[float]) -> None:
    p = torch.tensor([one]).double()
    torch.testing.assert_close(combine_orders(p.log(), p.log()).exp(), p)


def test_spread_runs_from_the_smaller_to_the_larger() -> None:
    forward, backward = torch.tensor([[0.6, 0.2, 0.2]]).double().log(), torch.tensor([[0.1, 0.05, 0.85]]).double().log()
    torch.testing.assert_close(combine_orders(forward, backward, (1.0, 1.0, 1.0)), torch.maximum(forward, backward).log_softmax(-1))
    torch.testing.assert_close(combine_orders(forward, backward, (-1.0, -1.0, -1.0)), torch.minimum(forward, backward).log_softmax(-1))


def test_one_way_entailment_is_support() -> None:
    combined = combine_orders(torch.tensor([[0.9, 0.05, 0.05]]).log(), torch.tensor([[0.1, 0.05, 0.85]]).log())
    assert combined.argmax() == 0
    assert combined.exp()[0, 0] > 0.7
