"""One recipe for everything that is learned on evidence graphs, and its honest measurement by cross-validation over questions."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

from arbgraph.arbitrator import EvidenceArbitrator, LearnedEvidenceArbitrator
from arbgraph.propagation.credibility import Arbitrator, CredibilityPropagation
from arbgraph.settings import load_settings
from eval.metrics.credibility import accepted_set
from eval.metrics.ranking import auroc
from train.propagation_arbitrator import (
    ArbitratorSettings,
    JointArbitrator,
    arbitrator_report,
    train_arbitrator,
    training_pairs,
)
from train.propagation_data import LabelledGraphs, TrainingDataError
from train.propagation_fit import Fit, FitSettings, build, fill_verdicts, fit

Part = Literal["propagation", "arbitrator", "both", "joint"]


@dataclass(frozen=True)
class Recipe:
    """What is learned, and from where.

    part: `propagation` fits the layer with the verdicts of `arbitrator`; `arbitrator` trains the perceptron alone; `both` trains the
        perceptron, then fits the layer with it; `joint` goes on training the perceptron along with the layer.
    arbitrator: `evidence`, the hand-set one, or a checkpoint of a learned one; for `propagation` only.
    profile: settings profile that the layer starts from; start: constructor arguments of `CredibilityPropagation` on top.
    cross_fit: for `both`, the layer is fitted with verdicts of perceptrons trained on the other parts of so many; 0 for those of the
        one that saw all questions.
    layer, pairs: how the two are fitted.
    """

    part: Part = "propagation"
    arbitrator: str = "evidence"
    profile: str = "default"
    start: dict[str, Any] = field(default_factory=dict)
    cross_fit: int = 5
    layer: FitSettings = field(default_factory=FitSettings)
    pairs: ArbitratorSettings = field(default_factory=ArbitratorSettings)

    def arguments(self) -> dict[str, Any]:
        """Constructor arguments of the unfitted layer."""
        settings = load_settings(self.profile)
        names = "rounds budget step_size tau_accept tau_gate tau_q tau_sim tau_conf support_cap support_cap_scope scheduler early_stop seed"
        return {name: getattr(settings, name) for name in names.split()} | self.start


@dataclass(frozen=True)
class Learned:
    """A fitted layer (None when only the arbitrator was trained) and the arbitrator that belongs to it."""

    fit: Fit | None
    arbitrator: Arbitrator


def named_arbitrator(name: str) -> Arbitrator:
    """`evidence`, or a checkpoint. Raises CheckpointError."""
    return EvidenceArbitrator() if name == "evidence" else LearnedEvidenceArbitrator.load(name)


def learn(data: LabelledGraphs, recipe: Recipe, seed: int = 0) -> Learned:
    """Follows the recipe on all questions; the same seed gives the same result. Raises TrainingDataError."""
    if recipe.part == "propagation":
        judge = named_arbitrator(recipe.arbitrator)
        return Learned(fit(data, recipe.arguments(), recipe.layer, judge, seed=seed), judge)
    trained = train_arbitrator(data, recipe.pairs, seed=seed)
    if recipe.part == "arbitrator":
        return Learned(None, trained)

    def joint(layer: CredibilityPropagation) -> JointArbitrator:
        return JointArbitrator(trained, data, recipe.pairs, layer)

    if recipe.part == "joint":
        fitted = fit(data, recipe.arguments(), recipe.layer, trained, seed=seed, joint=joint)
        assert fitted.arbitrator is not None
        return Learned(fitted, fitted.arbitrator)
    unseen = cross_fitted(data, recipe, seed) if recipe.cross_fit else data
    return Learned(fit(unseen, recipe.arguments(), recipe.layer, trained, seed=seed), trained)


def cross_fitted(data: LabelledGraphs, recipe: Recipe, seed: int) -> LabelledGraphs:
    """The same questions with verdicts of perceptrons that did not see them: those of one that did are surer than they will be in use,
    and the layer would learn to trust them too much."""
    result = data.subset(range(len(data.graphs)))
    layer = build(recipe.arguments())
    verdict = result.batch.verdict.clone()
    for part in data.folds(recipe.cross_fit, seed):
        trained = train_arbitrator(data.subset(sorted(set(range(len(data.graphs))) - set(part))), recipe.pairs, seed=seed)
        held = torch.isin(data.batch.batch[data.batch.pair_index[0]], torch.tensor(part))
        verdict[held] = fill_verdicts(data.subset(part, check=False), layer, trained)
    result.batch.verdict = verdict
    return result


@dataclass(frozen=True)
class OutOfFold:
    """What models that never saw a claim's question said of it: `p`, `accepted`, `fold` `[N]`, in the order of the graphs; and of
    the contradictions between labelled claims `verdict [C, 3]`, `outcome [C]`. Parts that were not learned are empty. `arbitrators`
    are those of the folds."""

    p: Tensor
    accepted: Tensor
    fold: Tensor
    verdict: Tensor
    outcome: Tensor
    arbitrators: tuple[Arbitrator, ...] = ()


def cross_validate(data: LabelledGraphs, recipe: Recipe, folds: int, seed: int = 0) -> OutOfFold:
    """Learns `folds` times on all questions but a part, and predicts that part.

    Raises TrainingDataError when a set has fewer questions than folds, or a training part cannot be learned from.
    """
    count = data.label.numel()
    p, accepted = torch.full((count,), torch.nan, dtype=torch.float64), torch.zeros(count, dtype=torch.bool)
    fold = torch.full((count,), -1)
    verdicts, outcomes = [torch.zeros(0, 3, dtype=torch.float64)], [torch.zeros(0, dtype=torch.long)]
    arbitrators = []
    for number, part in enumerate(data.folds(folds, seed)):
        learned = learn(data.subset(sorted(set(range(len(data.graphs))) - set(part))), recipe, seed)
        arbitrators.append(learned.arbitrator)
        held = data.subset(part, check=False)
        # Parts are ascending, so the held-out claims stand in the order of the whole.
        rows = torch.isin(data.batch.batch, torch.tensor(part))
        fold[rows] = number
        if learned.fit is not None:
            with torch.no_grad():
                trace = learned.fit.layer(held.batch, learned.arbitrator)
            p[rows], accepted[rows] = trace.p, trace.accepted
        with suppress(TrainingDataError):  # a part without a decided contradiction has no verdict to report
            verdict, outcome = training_verdicts(held, recipe.pairs, learned.arbitrator)
            verdicts.append(verdict)
            outcomes.append(outcome)
    return OutOfFold(p, accepted, fold, torch.cat(verdicts), torch.cat(outcomes), tuple(arbitrators))


def claim_report(data: LabelledGraphs, p: Tensor, accepted: Tensor) -> dict[str, dict[str, Any]]:
    """For every set, over all labelled claims and over the conflicted ones: claims, share that is valid, precision, recall and F1 of
    the accepted claims, AUROC of p. None where undefined."""
    result = {}
    for number, name in enumerate(data.names):
        for subset, rows in (("all", data.known), ("conflicted", data.known & data.conflicted)):
            chosen = rows & (data.set_of == number)
            valid, taken = data.label[chosen] == 1, accepted[chosen]
            measured = accepted_set(taken, valid)
            result[f"{name} {subset}"] = {
                "claims": int(chosen.sum()),
                "valid": float(valid.double().mean()) if len(valid) else None,
                **{key: measured[key] for key in ("precision", "recall", "f1")},
                "auroc": auroc(p[chosen], valid),
            }
    return result


@torch.no_grad()
def unfitted_reports(data: LabelledGraphs, profiles: Sequence[str] = ("as_released", "default")) -> dict[str, dict[str, dict[str, Any]]]:
    """The same report of accepting everything, and of the settings profiles with the hand-set arbitrator."""
    reports = {"accept everything": claim_report(data, data.batch.prior, torch.ones_like(data.known))}
    for profile in profiles:
        trace = CredibilityPropagation.from_settings(load_settings(profile))(data.batch, EvidenceArbitrator())
        reports[profile] = claim_report(data, trace.p, trace.accepted)
    return reports


def training_verdicts(data: LabelledGraphs, settings: ArbitratorSettings, arbitrator: Arbitrator) -> tuple[Tensor, Tensor]:
    """Verdicts `[C, 3]` and outcomes `[C]` of the contradictions between labelled claims. Raises TrainingDataError without any."""
    examples = training_pairs(data, settings)
    edges = build({"tau_q": -1.0, "tau_sim": settings.similarity, "tau_conf": settings.confidence}).select_edges(data.batch)
    return arbitrator.arbitrate(data.batch, examples.pairs, edges.support, edges.contradiction).probabilities, examples.outcome


def verdict_reports(data: LabelledGraphs, settings: ArbitratorSettings, verdict: Tensor, outcome: Tensor) -> dict[str, Any]:
    """Verdicts of the learned arbitrator beside those of the hand-set one on the same contradictions."""
    hand_set = training_verdicts(data, settings, EvidenceArbitrator(ally=settings.ally))
    return {"learned": arbitrator_report(verdict, outcome), "hand-set": arbitrator_report(*hand_set)}
