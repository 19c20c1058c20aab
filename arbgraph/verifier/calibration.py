"""Calibration and the undirected verdict: from logits of two reading orders to probabilities of one relation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from arbgraph.minimise import minimise
from arbgraph.schema import CONTRADICT, NEUTRAL, RELATION_LABELS, SUPPORT

Method = Literal["temperature", "vector"]
Spread = tuple[float, float, float]
# Where the verdict lies between the smaller (-1), the geometric mean (0) and the larger (1) of both orders, by label: a pair
# supports when either text entails the other; contradiction and neutrality hold for both orders or for neither.
STATED_SPREAD: Spread = (1.0, 0.0, 0.0)


class CalibrationError(ValueError):
    """Data that cannot calibrate, or a calibration block that cannot be read; the message says what is missing."""


@dataclass(frozen=True)
class Calibration:
    """One temperature and a bias per label: `softmax(logits / temperature + bias)`, bias in column order.

    Source: Guo et al., On Calibration of Modern Neural Networks, ICML 2017 (temperature); Alexandari et al., Maximum Likelihood
    with Bias-Corrected Calibration is Hard-To-Beat at Label Shift Adaptation, ICML 2020 (bias beside one temperature).
    """

    temperature: float = 1.0
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def log_probabilities(self, logits: Tensor) -> Tensor:
        """Log-probabilities `[.., 3]` of logits `[.., 3]` in the project's column order."""
        return (logits.double() / self.temperature + torch.tensor(self.bias, dtype=torch.float64)).log_softmax(-1)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, with the bias by label name."""
        return {"temperature": self.temperature, "bias": by_label(self.bias)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Calibration:
        """The inverse of `to_dict`. Raises KeyError on a missing entry."""
        return cls(float(values["temperature"]), _from_label(values["bias"]))


@dataclass(frozen=True)
class Decision:
    """From which probability a support or contradiction edge is worth keeping, chosen on dev pairs (`choose_decision`).

    `thresholds` are per label (support, contradict; None where dev had no such pair); `tau_conf` is the one number for both.
    `precision` and `recall` are those of the kept edges on dev at `tau_conf`; `beta` says how the two were weighed.
    """

    thresholds: tuple[float | None, float | None]
    tau_conf: float
    precision: float
    recall: float
    beta: float = 0.5

    def labels(self, probabilities: Tensor) -> Tensor:
        """Label numbers `[P]` of probabilities `[P, 3]`: the most probable one, or neutral where it is below its threshold."""
        confidence, label = probabilities.max(-1)
        lowest = torch.tensor([*(threshold or 0.0 for threshold in self.thresholds), 0.0], dtype=probabilities.dtype)
        return torch.where(confidence >= lowest[label], label, NEUTRAL)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, with thresholds by label name."""
        names = dict(zip(RELATION_LABELS[:NEUTRAL], self.thresholds, strict=True))
        return {"thresholds": names, "tau_conf": self.tau_conf, "precision": self.precision, "recall": self.recall, "beta": self.beta}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Decision:
        """The inverse of `to_dict`. Raises KeyError on a missing entry."""
        thresholds = [values["thresholds"][name] for name in RELATION_LABELS[:NEUTRAL]]
        support, contradict = (None if value is None else float(value) for value in thresholds)
        rest = (float(values[name]) for name in ("tau_conf", "precision", "recall", "beta"))
        return cls((support, contradict), *rest)


@dataclass(frozen=True)
class VerifierCalibration:
    """Everything between a verifier's logits and its decisions: the `calibration` block of a checkpoint.

    `directed` calibrates one reading order; `spread` combines two (`combine_orders`) and `combined` calibrates the verdict.
    """

    directed: Calibration = Calibration()
    combined: Calibration = Calibration()
    spread: Spread = STATED_SPREAD
    decision: Decision | None = None

    def verdict(self, forward: Tensor, backward: Tensor) -> Tensor:
        """Calibrated log-probabilities `[P, 3]` of the undirected verdict, from those of both reading orders."""
        return self.combined.log_probabilities(combine_orders(forward, backward, self.spread))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for `config.json`."""
        return {
            "directed": self.directed.to_dict(),
            "combined": self.combined.to_dict(),
            "spread": by_label(self.spread),
            "decision": self.decision and self.decision.to_dict(),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any] | None) -> VerifierCalibration:
        """The inverse of `to_dict`; None, and entries that an older checkpoint lacks, take the defaults. Raises CalibrationError."""
        values = dict(values or {})
        if unknown := sorted(set(values) - {"directed", "combined", "spread", "decision"}):
            raise CalibrationError(f"calibration: unknown entry {', '.join(unknown)}; a newer version may have written it")
        try:
            return cls(
                Calibration.from_dict(values["directed"]) if "directed" in values else Calibration(),
                Calibration.from_dict(values["combined"]) if "combined" in values else Calibration(),
                _from_label(values["spread"]) if "spread" in values else STATED_SPREAD,
                Decision.from_dict(values["decision"]) if values.get("decision") else None,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise CalibrationError(f"calibration: missing or malformed entry ({error})") from error


def by_label(values: tuple[float, float, float]) -> dict[str, float]:
    """Three numbers in column order, by label name."""
    return dict(zip(RELATION_LABELS, values, strict=True))


def _from_label(values: Mapping[str, Any]) -> tuple[float, float, float]:
    support, contradict, neutral = (float(values[name]) for name in RELATION_LABELS)
    return support, contradict, neutral


def combine_orders(forward: Tensor, backward: Tensor, spread: Spread = STATED_SPREAD) -> Tensor:
    """One undirected verdict from the log-probabilities of both reading orders, `[P, 3]` each; returns log-probabilities `[P, 3]`.

    Each label's score is the mean of both log-probabilities plus `spread` times half their distance, and the three are
    renormalised: spread 1 takes the larger, 0 the geometric mean, -1 the smaller. Swapping the arguments gives bit-identical
    results, and two orders that agree are returned as they are.
    """
    middle, half = (forward + backward) / 2, (forward - backward).abs() / 2
    return (middle + half * torch.tensor(spread, dtype=middle.dtype)).log_softmax(-1)


def fit_calibration(logits: Tensor, labels: Tensor, weights: Tensor | None = None, method: Method = "temperature") -> Calibration:
    """Calibration that minimises the (weighted) negative log-likelihood; never worse than no calibration.

    Args:
        logits: `[N, 3]` in the project's column order.
        labels: `[N]` long.
        weights: `[N]`, for example to count every data set alike; None counts every row alike.
        method: `temperature` keeps every decision and carries over to other sets; `vector` fits a bias too, which follows the label
            shares of the dev sets and suits text like theirs.

    Raises CalibrationError when there is no row, or `vector` has no row of some label: its bias would have no bound.
    """
    _require_labels(labels, method)
    scores, weights = logits.double(), _normalised(weights, len(labels))
    raw = torch.zeros(3 if method == "vector" else 1, dtype=torch.float64, requires_grad=True)

    def calibrated() -> Tensor:
        # Softmax is blind to a common shift, so the neutral bias stays 0 and the fit has one solution.
        return (scores / raw[0].exp() + torch.nn.functional.pad(raw[1:], (0, 4 - len(raw)))).log_softmax(-1)

    if not _minimise(raw, calibrated, labels, weights):
        return Calibration()
    log_temperature, *bias = raw.detach().tolist()
    return _calibration(log_temperature, bias)


def fit_verdict(
    forward: Tensor,
    backward: Tensor,
    labels: Tensor,
    weights: Tensor | None = None,
    method: Method = "temperature",
    *,
    learn_spread: bool = False,
) -> tuple[Spread, Calibration]:
    """`spread` and calibration of the undirected verdict.

    Args:
        forward, backward: `[N, 3]` calibrated log-probabilities of both reading orders.
        labels, weights, method: as in `fit_calibration`.
        learn_spread: fit the spread too, between -1 and 1; else it is the stated one.

    Never less likely than the stated spread, with or without a calibration of its own. Raises CalibrationError as `fit_calibration`.
    """
    stated = fit_calibration(combine_orders(forward, backward), labels, weights, method)
    if not learn_spread:
        return STATED_SPREAD, stated
    middle, half = (forward + backward).double() / 2, (forward - backward).double().abs() / 2
    start = [1.5, 0.0, 0.0, math.log(stated.temperature), *(stated.bias[:2] if method == "vector" else ())]
    raw = torch.tensor(start, dtype=torch.float64, requires_grad=True)

    def calibrated() -> Tensor:
        # Between the smaller and the larger of both orders: beyond, less support in one order would make the verdict surer.
        score = (middle + half * raw[:3].tanh()) / raw[3].exp()
        return (score + torch.nn.functional.pad(raw[4:], (0, 7 - len(raw)))).log_softmax(-1)

    _minimise(raw, calibrated, labels, _normalised(weights, len(labels)))
    support, contradict, neutral, log_temperature, *bias = raw.detach().tolist()
    spread = (math.tanh(support), math.tanh(contradict), math.tanh(neutral))
    fitted = _calibration(log_temperature, bias)
    learned = VerifierCalibration(combined=fitted, spread=spread).verdict(forward, backward)
    before = VerifierCalibration(combined=stated).verdict(forward, backward)
    if likelihood(learned, labels, weights) >= likelihood(before, labels, weights):
        return spread, fitted
    return STATED_SPREAD, stated


def _calibration(log_temperature: float, bias: Sequence[float]) -> Calibration:
    first, second = bias or (0.0, 0.0)
    return Calibration(math.exp(log_temperature), (first, second, 0.0))


def likelihood(log_probabilities: Tensor, labels: Tensor, weights: Tensor | None = None) -> float:
    """(Weighted) mean log-likelihood of labels `[N]` under log-probabilities `[N, 3]`."""
    picked = log_probabilities.double()[torch.arange(len(labels)), labels]
    return float((_normalised(weights, len(labels)) * picked).sum())


def choose_decision(probabilities: Tensor, labels: Tensor, weights: Tensor | None = None, beta: float = 0.5) -> Decision:
    """The confidences that maximise F_beta of the kept edges, on a grid of hundredths; the smallest of equals.

    A pair becomes an edge when its most probable label is support or contradiction with at least that probability. `tau_conf`
    pools both kinds; the thresholds of `Decision` are chosen by label. With beta 0.5 a false edge counts more than a missed one:
    a false contradiction suppresses a true claim, a missed one leaves the other edges of a claim to decide.

    Args:
        probabilities: `[N, 3]` of the undirected verdict.
        labels, weights: as in `fit_calibration`.

    Raises CalibrationError without a single support or contradiction pair.
    """
    _require_labels(labels, "temperature")
    if not bool((labels != NEUTRAL).any()):
        raise CalibrationError("dev has neither support nor contradict pairs; thresholds cannot be chosen")
    weights = _normalised(weights, len(labels))
    confidence, predicted = probabilities.double().max(-1)
    grid = torch.arange(34, 100, dtype=torch.float64) / 100
    kept = confidence >= grid[:, None] - 1e-9

    def scores(kinds: tuple[int, ...]) -> tuple[Tensor, Tensor, Tensor]:
        edge = kept & torch.isin(predicted, torch.tensor(kinds))
        hit = (edge & (predicted == labels)).double() @ weights
        total, gold = edge.double() @ weights, weights[torch.isin(labels, torch.tensor(kinds))].sum()
        f = (1 + beta**2) * hit / (total + beta**2 * gold).clamp(min=1e-12)
        return f, hit / total.clamp(min=1e-12), hit / gold.clamp(min=1e-12)

    f, precision, recall = scores((SUPPORT, CONTRADICT))
    best = int(f.argmax())
    single = [scores((kind,))[0] if bool((labels == kind).any()) else None for kind in (SUPPORT, CONTRADICT)]
    support, contradict = (None if one is None else float(grid[one.argmax()]) for one in single)
    return Decision((support, contradict), float(grid[best]), float(precision[best]), float(recall[best]), beta)


@dataclass(frozen=True)
class DevScores:
    """A dev set: gold `labels` `[N]`, raw logits `[N, 3]` in the given order and, where its labels speak of the pair, backwards."""

    name: str
    labels: Tensor
    forward: Tensor
    backward: Tensor | None = None


def calibrate_verifier(
    sets: Sequence[DevScores],
    method: Method = "temperature",
    *,
    learn_spread: bool = False,
    equal_sets: bool = True,
    beta: float = 0.5,
) -> VerifierCalibration:
    """The whole block: one reading order on every set, then the verdict and its decisions on the sets read in both orders.

    Args:
        sets: dev sets; without one that was read backwards the verdict keeps its defaults and no decision is chosen, nor is one
            without support and contradiction pairs.
        method: of `fit_calibration`, for order and verdict alike.
        learn_spread: of `fit_verdict`.
        equal_sets: every set counts alike, whatever its size; else every pair does.
        beta: of `choose_decision`.

    Raises CalibrationError as `fit_calibration`.
    """
    if not sets:
        raise CalibrationError("there is no dev set to calibrate on")

    def pooled(chosen: Sequence[DevScores]) -> tuple[Tensor, Tensor]:
        weights = torch.cat([torch.full((len(one.labels),), 1 / len(one.labels) if equal_sets else 1.0) for one in chosen])
        return torch.cat([one.labels for one in chosen]), weights

    labels, weights = pooled(sets)
    directed = fit_calibration(torch.cat([one.forward for one in sets]), labels, weights, method)
    both = [(one, one.backward) for one in sets if one.backward is not None]
    if not both:
        return VerifierCalibration(directed)
    labels, weights = pooled([one for one, _ in both])
    forward = directed.log_probabilities(torch.cat([one.forward for one, _ in both]))
    backward = directed.log_probabilities(torch.cat([scores for _, scores in both]))
    spread, combined = fit_verdict(forward, backward, labels, weights, method, learn_spread=learn_spread)
    fitted = VerifierCalibration(directed, combined, spread)
    if not bool((labels != NEUTRAL).any()):
        return fitted
    return replace(fitted, decision=choose_decision(fitted.verdict(forward, backward).exp(), labels, weights, beta))


def _require_labels(labels: Tensor, method: Method) -> None:
    if method not in get_args(Method):
        raise CalibrationError(f"method {method!r} is unknown; choose one of {', '.join(get_args(Method))}")
    if not len(labels):
        raise CalibrationError("there is no dev pair to calibrate on")
    missing = [name for number, name in enumerate(RELATION_LABELS) if not bool((labels == number).any())]
    if missing and method == "vector":
        raise CalibrationError(f"dev has no {' and no '.join(missing)} pair; add dev pairs of every label, or use method temperature")


def _normalised(weights: Tensor | None, rows: int) -> Tensor:
    weights = torch.ones(rows, dtype=torch.float64) if weights is None else weights.double()
    return weights / weights.sum()


def _minimise(raw: Tensor, calibrated: Callable[[], Tensor], labels: Tensor, weights: Tensor) -> bool:
    """Moves `raw` to the least negative log-likelihood of `calibrated()`; False when that did not improve on where it started."""

    def loss() -> Tensor:
        return -(weights * calibrated()[torch.arange(len(labels)), labels]).sum()

    return minimise(raw, loss)
