"""Classification metrics as pure functions on tensors: accuracy, F1, confusion, calibration error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from arbgraph.schema import RELATION_LABELS
from eval.metrics.calibration import expected_calibration_error


def confusion_matrix(predicted: Tensor, gold: Tensor, classes: int) -> Tensor:
    """Counts `[classes, classes]` long: row = gold, column = predicted, of two `[N]` long tensors."""
    return torch.bincount(gold * classes + predicted, minlength=classes * classes).reshape(classes, classes)


def classification_report(probabilities: Tensor, gold: Tensor, names: Sequence[str] = RELATION_LABELS) -> dict[str, Any]:
    """Everything about one set of predictions, as plain data.

    Args:
        probabilities: `[N, C]`; the prediction is the largest, ties going to the lower column.
        gold: `[N]` long in [0, C).
        names: the C class names.

    Returns `n`, `accuracy`, `macro_f1`, `ece` (of the confidence in the prediction, 15 bins), `confusion` (row = gold) and
    `per_class` with precision, recall, f1 and support. Macro-F1 averages the classes that occur in
    `gold`: a two-way set has no F1 for the third. A ratio with nothing below the line is 0.
    Raises ValueError on no rows or a shape mismatch.
    """
    if len(gold) == 0 or probabilities.shape != (len(gold), len(names)):
        raise ValueError(f"expected probabilities [N, {len(names)}] and N > 0 labels, got {tuple(probabilities.shape)} and {len(gold)}")
    confidence, predicted_class = probabilities.double().max(-1)
    counts = confusion_matrix(predicted_class, gold, len(names))
    hits, predicted, present = counts.diagonal().double(), counts.sum(0).double(), counts.sum(1).double()
    precision, recall = _ratio(hits, predicted), _ratio(hits, present)
    f1 = _ratio(2 * hits, predicted + present)
    per_class = {
        name: {"precision": float(precision[i]), "recall": float(recall[i]), "f1": float(f1[i]), "support": int(present[i])}
        for i, name in enumerate(names)
    }
    return {
        "n": len(gold),
        "accuracy": float(hits.sum() / len(gold)),
        "macro_f1": float(f1[present > 0].mean()),
        "ece": expected_calibration_error(confidence.clamp(max=1), predicted_class == gold),
        "confusion": counts.tolist(),
        "per_class": per_class,
    }


def _ratio(above: Tensor, below: Tensor) -> Tensor:
    return torch.where(below > 0, above / below.clamp(min=1e-12), torch.zeros_like(above))
