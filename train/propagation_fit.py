"""Fitting credibility propagation: gradient through the relaxed layer, then exact search; nothing relaxed is ever selected."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from arbgraph.propagation.credibility import LEARNABLE, Arbitrator, CredibilityPropagation, Scheduler
from arbgraph.propagation.fitted import parameters_of
from arbgraph.propagation.relaxation import geometric_schedule
from train.propagation_data import Criterion, LabelledGraphs

# Where a parameter may go. Relevance and similarity stay above what graphs are usually mined with (`python -m eval.graphs`):
# below, the graph has no pairs to show, and the fitted layer would meet others in use.
RANGES: dict[str, tuple[float, float]] = {
    "step_size": (0.05, 4.0),
    "tau_accept": (0.02, 0.98),
    "tau_gate": (0.34, 0.98),
    "tau_q": (0.2, 0.9),
    "tau_sim": (0.45, 0.95),
    "tau_conf": (0.34, 0.98),
    "coupling": (-2.0, 2.0),
    "prior_bias": (-4.0, 4.0),
    "prior_sources": (-4.0, 4.0),
    "prior_relevance": (-8.0, 8.0),
    "prior_credibility": (-8.0, 8.0),
    "prior_agreement": (-8.0, 8.0),
}
# Temperatures relative to that of logits: cosines and probabilities live on a smaller scale.
SCALES = {"relevance": 0.2, "similarity": 0.2, "label": 0.2, "confidence": 0.2, "gate": 0.2, "direction": 0.5, "selection": 0.5}
WEIGHTS = ("coupling", "prior_bias", "prior_sources", "prior_relevance", "prior_credibility", "prior_agreement")
CANDIDATES = 40  # values of tau_accept tried in an exact search
FLOOR = 1e-3  # of a probability in the cross-entropy: a claim that is wrong for good then stops pulling


@dataclass(frozen=True)
class FitSettings:
    """How the scalars of the layer are fitted.

    learn: names out of `LEARNABLE`; the others stay as they are at the start.
    steps, learning_rate: of Adam, on all graphs at once. temperature: first and last of the geometric schedule, in logits; the first
        `sigmoid_share` of the steps uses sigmoid gates, whose gradient never vanishes, the rest hard sigmoids, which are exact at the end.
    restarts: starting points; the first is the given one, the others are drawn around it.
    acceptance: share of the cross-entropy of acceptance in the objective; the rest is that of credibility.
    conflict_weight: of a conflicted claim in the objective, others have 1.
    decay: L2 pull of the prior's weights and of the coupling to 0.
    refinements: exact coordinate searches over the learned thresholds and the step size after the gradient, each finer; 0 for none.
    rounds, budgets, schedulers: the exact grid; empty keeps what is given.
    """

    learn: tuple[str, ...] = ("step_size", "tau_accept", "tau_gate", "tau_conf", "prior_sources", "prior_relevance")
    steps: int = 200
    learning_rate: float = 0.03
    temperature: tuple[float, float] = (1.0, 0.05)
    sigmoid_share: float = 0.9
    restarts: int = 4
    acceptance: float = 0.5
    conflict_weight: float = 3.0
    decay: float = 0.001
    refinements: int = 0
    rounds: tuple[int, ...] = ()
    budgets: tuple[int | None, ...] = ()
    schedulers: tuple[Scheduler, ...] = ()

    def __post_init__(self) -> None:
        if unknown := [name for name in self.learn if name not in LEARNABLE]:
            raise ValueError(f"FitSettings.learn: {unknown[0]!r} is not known; choose from {', '.join(LEARNABLE)}")
        if not 0 <= self.acceptance <= 1 or not 0 <= self.sigmoid_share <= 1:
            raise ValueError("FitSettings.acceptance and sigmoid_share are shares within 0..1")
        if self.steps < 0 or self.restarts < 1 or self.conflict_weight <= 0:
            raise ValueError("FitSettings needs steps >= 0, restarts >= 1 and conflict_weight > 0")


class Joint(Protocol):
    """An arbitrator that is trained along with the layer (`train.propagation_arbitrator.JointArbitrator`)."""

    def parameters(self) -> list[nn.Parameter]: ...

    def verdict(self) -> Tensor: ...

    def loss(self) -> Tensor: ...

    def finished(self) -> Arbitrator: ...


JointFactory = Callable[[CredibilityPropagation], Joint]


@dataclass(frozen=True)
class Fit:
    """A fitted layer in exact mode, the arbitrator that it was fitted with, and its criterion on the training questions.

    `objective` is the relaxed objective at the last temperature before and after the gradient of the winning restart (of the first
    one, where the start won); `candidates` has a row for the start, every restart and the grid.
    """

    layer: CredibilityPropagation
    arbitrator: Arbitrator | None
    criterion: Criterion
    objective: tuple[float, float]
    candidates: list[dict[str, Any]] = field(default_factory=list)


def objective(layer: CredibilityPropagation, data: LabelledGraphs, settings: FitSettings) -> Tensor:
    """Weighted binary cross-entropy over labelled claims: a share of it on the acceptance, the rest on the credibility."""
    trace = layer(data.batch)
    target = torch.where(data.known, data.label, 0.0)
    loss, weight = torch.zeros((), dtype=torch.float64), data.weight(settings.conflict_weight)
    for share, probability in ((settings.acceptance, trace.acceptance), (1 - settings.acceptance, trace.p)):
        if share:
            bounded = FLOOR + (1 - 2 * FLOOR) * probability
            loss = loss + share * (weight * nn.functional.binary_cross_entropy(bounded, target, reduction="none")).sum()
    return loss


def fill_verdicts(data: LabelledGraphs, layer: CredibilityPropagation, arbitrator: Arbitrator | None) -> Tensor:
    """Verdicts of all candidate pairs `[E, 3]`: the given ones, and the arbitrator's under the layer's edges for the rest."""
    verdict = data.batch.verdict.clone()
    missing = verdict[:, 0].isnan().nonzero().squeeze(-1)
    if missing.numel():
        if arbitrator is None:
            raise ValueError(f"{missing.numel()} pairs have no verdict; name an arbitrator")
        edges = layer.select_edges(data.batch)
        verdict[missing] = arbitrator.arbitrate(data.batch, missing, edges.support, edges.contradiction).probabilities.to(verdict)
    return verdict


@contextmanager
def verdicts_filled(data: LabelledGraphs, layer: CredibilityPropagation, arbitrator: Arbitrator | None) -> Iterator[Tensor]:
    """Lends the batch the verdicts that the arbitrator gives under the layer's edges; the given ones return afterwards."""
    given = data.batch.verdict
    data.batch.verdict = filled = fill_verdicts(data, layer, arbitrator)
    try:
        yield filled
    finally:
        data.batch.verdict = given


def build(start: Mapping[str, Any], learn: Sequence[str] = (), **options: Any) -> CredibilityPropagation:
    """A layer from constructor arguments."""
    layer = CredibilityPropagation(**{**start, **options}, learn=learn)
    layer.temperatures.update(SCALES)
    return layer


def fit(
    data: LabelledGraphs,
    start: Mapping[str, Any],
    settings: FitSettings,
    arbitrator: Arbitrator | None,
    *,
    seed: int = 0,
    joint: JointFactory | None = None,
) -> Fit:
    """Fits the layer that `start` describes (constructor arguments) to the labels.

    The unfitted start competes with every restart, each after the exact search of tau_accept; the best `Criterion` wins, and the
    grid over scheduler, budget and rounds starts from it. The same seed gives the same result. With `joint`, the arbitrator that it
    makes is trained along.

    Raises TrainingDataError as `LabelledGraphs`, and ValueError where verdicts are missing and no arbitrator is given.
    """
    generator = torch.Generator().manual_seed(seed)
    judge, best = arbitrator, _searched(data, start, settings, arbitrator)
    rows = [_row("start", best, None)]
    losses: tuple[float, float] | None = None
    for number in range(settings.restarts if settings.learn else 0):
        point = {**start, **(_perturbed(start, settings.learn, generator) if number else {})}
        descent = descend(data, point, settings, arbitrator, joint)
        values = descent.values
        if settings.refinements:
            values = refine(data, {**point, **values}, settings, descent.arbitrator)
        fitted = _searched(data, {**point, **values}, settings, descent.arbitrator)
        rows.append(_row(f"restart {number}", fitted, descent.objective[1]))
        losses = losses or descent.objective
        if fitted[1].key > best[1].key:
            best, judge, losses = fitted, descent.arbitrator, descent.objective
    best = _grid(data, best, settings, judge)
    return Fit(build(best[0]), judge, best[1], losses or (math.nan, math.nan), [*rows, _row("grid", best, None)])


@dataclass(frozen=True)
class Descent:
    """What the gradient found: the learned scalars, the arbitrator, and the objective at the last temperature before and after."""

    values: dict[str, float]
    arbitrator: Arbitrator | None
    objective: tuple[float, float]


def descend(
    data: LabelledGraphs,
    start: Mapping[str, Any],
    settings: FitSettings,
    arbitrator: Arbitrator | None,
    joint: JointFactory | None = None,
) -> Descent:
    """Adam on the relaxed layer, the temperature falling. Verdicts are filled once, up front, under the edges of the start."""
    layer = build(start, settings.learn, mode="soft", gate="sigmoid", temperature=settings.temperature[0])
    learner = joint(layer) if joint else None
    scalars = [layer.get_parameter(name) for name in settings.learn]
    optimiser = _optimiser(layer, settings, learner)
    with verdicts_filled(data, layer, arbitrator) as filled:
        before = _final_objective(layer, data, settings)
        for step in range(settings.steps):
            layer.temperature = geometric_schedule(step, settings.steps, *settings.temperature)
            layer.gate = "sigmoid" if step < settings.sigmoid_share * settings.steps else "hard_sigmoid"
            # The steps shrink with the width of the gates.
            for group in optimiser.param_groups:
                group["lr"] = group["first"] * math.sqrt(layer.temperature / settings.temperature[0])
            optimiser.zero_grad()
            data.batch.verdict = learner.verdict() if learner else filled
            loss = objective(layer, data, settings) + (learner.loss() if learner else 0)
            for name in WEIGHTS:
                loss = loss + settings.decay * layer.get_parameter(name).square()
            loss.backward()
            optimiser.step()
            _clamp(layer, settings.learn)
        after = _final_objective(layer, data, settings)
    values = {name: scalar.item() for name, scalar in zip(settings.learn, scalars, strict=True)}
    return Descent(values, learner.finished() if learner else arbitrator, (before, after))


def _optimiser(layer: CredibilityPropagation, settings: FitSettings, learner: Joint | None) -> torch.optim.Optimizer:
    """Weights, which are unbounded logits, take longer steps than thresholds and the step size."""
    rate = settings.learning_rate
    groups = [
        {"params": [layer.get_parameter(name) for name in settings.learn if name not in WEIGHTS], "first": rate},
        {"params": [layer.get_parameter(name) for name in settings.learn if name in WEIGHTS], "first": 4 * rate},
        {"params": learner.parameters() if learner else [], "first": rate},
    ]
    # A short memory: what a gate's gradient is changes with the temperature.
    return torch.optim.Adam([group for group in groups if group["params"]], lr=rate, betas=(0.9, 0.95))


@torch.no_grad()
def _final_objective(layer: CredibilityPropagation, data: LabelledGraphs, settings: FitSettings) -> float:
    layer.temperature, layer.gate = settings.temperature[1], "hard_sigmoid"
    return float(objective(layer, data, settings))


@torch.no_grad()
def _clamp(layer: CredibilityPropagation, learn: Sequence[str]) -> None:
    for name in learn:
        layer.get_parameter(name).clamp_(*RANGES[name])


def _perturbed(start: Mapping[str, Any], learn: Sequence[str], generator: torch.Generator) -> dict[str, float]:
    """A starting point around the given one: weights and the logarithm of the step move by 0.5, thresholds by 0.1 (one sigma)."""
    values, given = {}, build(start)
    for name, draw in zip(learn, torch.randn(len(learn), generator=generator, dtype=torch.float64).tolist(), strict=True):
        value = given.get_parameter(name).item()
        moved = value * math.exp(draw / 2) if name == "step_size" else value + draw * (0.5 if name in WEIGHTS else 0.1)
        low, high = RANGES[name]
        values[name] = min(max(moved, low), high)
    return values


Scored = tuple[dict[str, Any], Criterion]


@torch.no_grad()
def score(data: LabelledGraphs, arguments: Mapping[str, Any], arbitrator: Arbitrator | None = None) -> Criterion:
    """The criterion of the exact layer with these constructor arguments."""
    layer = build(arguments)
    return data.criterion(layer(data.batch, arbitrator), layer.rounds)


@torch.no_grad()
def _searched(data: LabelledGraphs, arguments: Mapping[str, Any], settings: FitSettings, arbitrator: Arbitrator | None) -> Scored:
    """The best tau_accept in exact mode, where it is to be learned: the given one, and the middles between scores of the dev claims.

    tau_accept also decides which pairs stay active, so every candidate runs the layer anew.
    """
    arguments, layer = dict(arguments), build(arguments)
    with verdicts_filled(data, layer, arbitrator):
        best = arguments, score(data, arguments)
        if "tau_accept" not in settings.learn:
            return best
        scores = torch.unique(layer(data.batch).p[data.known & data.conflicted])
        middles = ((scores[1:] + scores[:-1]) / 2).clamp(*RANGES["tau_accept"])
        spread = torch.linspace(0, max(len(middles) - 1, 0), min(len(middles), CANDIDATES)).round().long()
        for value in torch.unique(middles[spread]).tolist():
            candidate = {**arguments, "tau_accept": value}
            if (found := score(data, candidate)).key > best[1].key:
                best = candidate, found
    return best


def _grid(data: LabelledGraphs, best: Scored, settings: FitSettings, arbitrator: Arbitrator | None) -> Scored:
    """The exact grid over scheduler, budget and rounds, each with its own tau_accept."""
    given = best[0]
    for budget in settings.budgets or (given.get("budget", 3),):
        # Without a budget every active pair is taken, in whatever order.
        for scheduler in (settings.schedulers or (given.get("scheduler", "conflict_aware"),))[: 1 if budget is None else None]:
            for rounds in settings.rounds or (given.get("rounds", 2),):
                candidate = {**given, "budget": budget, "scheduler": scheduler, "rounds": rounds}
                if candidate == given:
                    continue
                found = _searched(data, candidate, settings, arbitrator)
                if found[1].key > best[1].key:
                    best = found
    return best


@torch.no_grad()
def refine(data: LabelledGraphs, arguments: Mapping[str, Any], settings: FitSettings, arbitrator: Arbitrator | None) -> dict[str, float]:
    """Exact coordinate search around the gradient's result: each learned threshold, and the step size, goes to the middle of the
    interval with the smallest weighted share of wrong decisions; the window shrinks fourfold with every refinement."""
    arguments = dict(arguments)
    names = [name for name in settings.learn if name not in WEIGHTS]
    for level in range(settings.refinements):
        width = 0.1 / 4 ** (level // 2)
        for name in names:
            low, high = RANGES[name]
            values = (arguments[name] + width * torch.linspace(-1, 1, 21, dtype=torch.float64)).clamp(low, high)
            wrong = torch.stack([_error(data, {**arguments, name: value}, settings, arbitrator) for value in values.tolist()])
            arguments[name] = float(values[_middle_of_best(wrong)])
    return {name: arguments[name] for name in settings.learn}


def _error(data: LabelledGraphs, arguments: Mapping[str, Any], settings: FitSettings, arbitrator: Arbitrator | None) -> Tensor:
    accepted = build(arguments)(data.batch, arbitrator).accepted.double()
    return torch.nan_to_num(data.weight(settings.conflict_weight) * (accepted - data.label).abs()).sum()


def _middle_of_best(wrong: Tensor) -> int:
    """The middle of the longest run of entries that are as small as the smallest."""
    best, run = (0, 0), []
    for place, good in enumerate([*(wrong <= wrong.min() + 1e-12).tolist(), False]):
        if good:
            run.append(place)
        elif run:
            best, run = max(best, (len(run), run[(len(run) - 1) // 2]), key=lambda found: found[0]), []
    return best[1]


def _row(name: str, found: Scored, loss: float | None) -> dict[str, Any]:
    arguments, criterion = found
    return {
        "candidate": name,
        "f1": criterion.f1,
        "auroc": criterion.auroc,
        "objective": loss,
        "parameters": parameters_of(build(arguments)),
    }
