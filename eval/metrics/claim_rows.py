"""Rows of the table of metrics on claims: RAGChecker's, and the credibility of the claims of all questions together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch

from eval.metrics.credibility import accepted_set, quality
from eval.metrics.item import Scored
from eval.metrics.metric import Better, Metric
from eval.metrics.ragchecker import RAGCHECKER, RagMetric, faithfulness_to_evidence

_RAGCHECKER = "Ru et al., NeurIPS 2024"
_OURS = "this project"


def _whole(metric: RagMetric) -> Callable[[Scored], float | None]:
    return lambda item: metric.value(item.entailment) or 0.0 if item.entailment else None


def _answered(value: Callable[[Scored], float | None]) -> Callable[[Scored], float | None]:
    return lambda item: value(item) if item.answered else None


def _defined(metric: RagMetric) -> Callable[[Scored], float | None]:
    return lambda item: metric.value(item.entailment) if item.entailment else None


def _ragchecker_rows() -> list[Metric]:
    rows = []
    for name, metric in RAGCHECKER.items():
        better = "higher" if metric.higher_is_better else "lower"
        better = "neither" if name == "self_knowledge" else better
        about = {"source": _RAGCHECKER, "needs": ("entailment",), "better": better}
        zero = f"{metric.definition}; 0 {metric.undefined}, as RAGChecker has it"
        rows.append(Metric(name=f"ragchecker_{name}", definition=zero, undefined="", of_item=_whole(metric), **about))
        undefined = f"{metric.undefined}, or without an answer"
        rows.append(
            Metric(
                name=f"ragchecker_{name}_answered",
                definition=f"{metric.definition}, over answered questions",
                undefined=undefined,
                of_item=_answered(_defined(metric)),
                **about,
            )
        )
    return rows  # fmt: skip


def _to_evidence(item: Scored) -> float | None:
    return faithfulness_to_evidence(item.entailment) if item.entailment else None


EVIDENCE_ROW = Metric(
    "faithfulness_to_evidence", "share of response claims that the evidence the system wrote from entails", ("entailment",),
    "where it was not judged, or without response claims", _OURS, _to_evidence,
)  # fmt: skip

# name -> (definition, when undefined, source, better, range)
_ONE_CLASS, _EMPTY = "without both valid and invalid claims", "without labelled claims"
_Range: TypeAlias = tuple[float, float]
_QUALITY: dict[str, tuple[str, str, str, Better, _Range]] = {
    "claims_labelled": ("claims whose truth is known", "", _OURS, "neither", (0.0, math.inf)),
    "base_rate": ("share of valid claims", _EMPTY, _OURS, "neither", (0.0, 1.0)),
    "distinct_scores": ("distinct credibilities to nine decimals", "", _OURS, "neither", (0.0, math.inf)),
    "auroc": ("chance that a valid claim is more credible than an invalid one", _ONE_CLASS, "Hanley and McNeil 1982", "higher", (0.0, 1.0)),
    "auprc_valid": ("average precision of valid claims", _ONE_CLASS, "Davis and Goadrich, ICML 2006", "higher", (0.0, 1.0)),
    "auprc_invalid": ("average precision of invalid claims", _ONE_CLASS, "Davis and Goadrich, ICML 2006", "higher", (0.0, 1.0)),
    "brier": ("mean squared error of credibility", _EMPTY, "Brier 1950", "lower", (0.0, 1.0)),
    "brier_reliability": ("part of the Brier score that miscalibration adds", _EMPTY, "Murphy 1973", "lower", (0.0, 1.0)),
    "brier_resolution": ("part of the Brier score that telling claims apart removes", _EMPTY, "Murphy 1973", "higher", (0.0, 0.25)),
    "brier_uncertainty": ("Brier score of the base rate", _EMPTY, "Murphy 1973", "neither", (0.0, 0.25)),
    "ece": ("calibration error over 15 bins of equal width", _EMPTY, "Guo et al., ICML 2017", "lower", (0.0, 1.0)),
    "adaptive_ece": ("calibration error over 15 bins of equal mass", _EMPTY, "Nixon et al., CVPR workshops 2019", "lower", (0.0, 1.0)),
    "maximum_ce": ("largest gap of a bin of equal width", _EMPTY, "Guo et al., ICML 2017", "lower", (0.0, 1.0)),
    "log_loss": ("mean negative log-likelihood in nats, clipped at 1e-6", _EMPTY, _OURS, "lower", (0.0, -math.log(1e-6))),
    "aurc": ("mean share of invalid claims among the k most credible, all k", _EMPTY, "Geifman et al., ICLR 2019", "lower", (0.0, 1.0)),
    "aurc_best": ("the lowest aurc that the labels allow", _EMPTY, "Geifman et al., ICLR 2019", "neither", (0.0, 1.0)),
}  # fmt: skip
_ACCEPTED: dict[str, tuple[str, str, Better, _Range]] = {
    "precision": ("share of accepted claims that are valid", "without accepted claims", "higher", (0.0, 1.0)),
    "recall": ("share of valid claims that are accepted", "without valid claims", "higher", (0.0, 1.0)),
    "f1": ("F1 of the accepted claims", "without valid or accepted claims", "higher", (0.0, 1.0)),
    "specificity": ("share of invalid claims that are not accepted", "without invalid claims", "higher", (0.0, 1.0)),
    "balanced_accuracy": ("mean of recall and specificity", _ONE_CLASS, "higher", (0.0, 1.0)),
    "false_rejections": ("valid claims that are not accepted", "", "lower", (0.0, math.inf)),
    "false_acceptances": ("invalid claims that are accepted", "", "lower", (0.0, math.inf)),
}


def _labelled(items: Sequence[Scored], name: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Values and labels of all claims whose truth is known."""
    rows = [
        (float(value), float(valid))
        for item in items
        for value, valid in zip(getattr(item, name), item.valid or (), strict=True)
        if valid is not None
    ]
    table = torch.tensor(rows, dtype=torch.float64).reshape(-1, 2)
    return table[:, 0].contiguous(), table[:, 1].contiguous()


def _quality(name: str) -> Callable[[Sequence[Scored]], float | None]:
    def value(items: Sequence[Scored]) -> float | None:
        score, label = _labelled(items, "credibility")
        found: dict[str, Any] = quality(score, score >= 0.5, label)
        if name == "claims_labelled":
            return float(found["claims"])
        if name.startswith("brier_"):
            return found["brier_parts"][name.removeprefix("brier_")] if found["brier_parts"] else None
        return float(found[name]) if found[name] is not None else None

    return value


def _accepted(name: str) -> Callable[[Sequence[Scored]], float | None]:
    def value(items: Sequence[Scored]) -> float | None:
        found = accepted_set(*_labelled(items, "accepted"))[name]
        return float(found) if found is not None else None

    return value


def _unlabelled(items: Sequence[Scored]) -> float:
    return float(sum(valid is None for item in items for valid in item.valid or ()))


def _credibility_rows() -> list[Metric]:
    rows: list[Metric] = []
    for name, (definition, undefined, source, better, (low, high)) in _QUALITY.items():
        rows.append(
            Metric(
                name, definition, ("credibility", "valid"), undefined, source, of_items=_quality(name), low=low, high=high, better=better
            )
        )
    for name, (definition, undefined, better, (low, high)) in _ACCEPTED.items():
        of_items, needs = _accepted(name), ("accepted", "valid")
        rows.append(Metric(f"accepted_{name}", definition, needs, undefined, _OURS, of_items=of_items, low=low, high=high, better=better))
    about = {"undefined": "", "source": _OURS, "high": math.inf, "better": "neither"}
    rows.append(
        Metric(name="claims_unlabelled", definition="claims left out for want of a label", needs=("valid",), of_items=_unlabelled, **about)
    )
    return rows


CLAIM_ROWS: tuple[Metric, ...] = (*_ragchecker_rows(), EVIDENCE_ROW, *_credibility_rows())
