"""Plots of a verifier's evaluation: reliability, confusion and risk-coverage, one panel per set."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl

mpl.use("agg")

import matplotlib.pyplot as plt
from matplotlib.lines import Line2D
from torch import Tensor

from arbgraph.schema import RELATION_LABELS
from eval.metrics.calibration import equal_width_bins, expected_calibration_error
from eval.metrics.classification import confusion_matrix
from eval.metrics.selective import area_under_risk_coverage, risk_coverage_curve

if TYPE_CHECKING:
    from eval.verifier import SetScores

READINGS = (("directed", "one order", "#0072b2"), ("combined", "both orders", "#d55e00"))


def draw(scores: Sequence[SetScores], folder: Path) -> list[Path]:
    """Writes `reliability.png`, `confusion.png`, `confusion_both_orders.png` and `risk_coverage.png` into a folder, made if missing.

    Args:
        scores: one entry per set.
        folder: where to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    legend = [(label, color) for _, label, color in READINGS]
    return [
        _grid(scores, _reliability, folder / "reliability.png", "confidence", "share of right decisions", legend),
        _grid(scores, _confusion("directed"), folder / "confusion.png", "predicted, one order", "gold", ()),
        _grid(scores, _confusion("combined"), folder / "confusion_both_orders.png", "predicted, both orders", "gold", ()),
        _grid(scores, _risk_coverage, folder / "risk_coverage.png", "coverage, most confident first", "share of wrong decisions", legend),
    ]


def _grid(
    scores: Sequence[SetScores],
    panel: Callable[[Any, SetScores], None],
    path: Path,
    horizontal: str,
    vertical: str,
    legend: Sequence[tuple[str, str]],
) -> Path:
    columns = min(6, max(1, math.ceil(math.sqrt(len(scores) * 1.6))))
    rows = math.ceil(len(scores) / columns)
    width, height = max(2.5 * columns, 3.4), 2.5 * rows + 0.9
    figure, axes = plt.subplots(rows, columns, figsize=(width, height), squeeze=False, layout="constrained")
    for axis, one in zip(axes.flat, scores, strict=False):
        panel(axis, one)
        axis.set_title(one.name, fontsize=9, pad=16 if legend else 6)
        axis.tick_params(labelsize=7)
        axis.set_box_aspect(1)
    for axis in axes.flat[len(scores) :]:
        axis.set_visible(False)
    figure.supxlabel(horizontal, fontsize=10)
    figure.supylabel(vertical, fontsize=10)
    if legend:
        handles = [Line2D([], [], color=color, marker="o", markersize=3, label=label) for label, color in legend]
        figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), fontsize=9, frameon=False)
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path


def _outcomes(one: SetScores, reading: str) -> tuple[Tensor, Tensor]:
    """Confidence `[N]` and whether the decision is right `[N]`."""
    confidence, predicted = getattr(one, reading).double().max(-1)
    return confidence.clamp(max=1.0), predicted == one.labels


def _reliability(axis: Any, one: SetScores) -> None:
    axis.plot([1 / 3, 1], [1 / 3, 1], color="0.7", linewidth=1, zorder=1)
    for row, (reading, _, color) in enumerate(READINGS):
        confidence, right = _outcomes(one, reading)
        bins = equal_width_bins(confidence, right)
        # Area in proportion to the share of pairs: a far point with three pairs in it should not look like a finding.
        sizes = 4 + 120 * bins.count / bins.count.sum()
        axis.plot(bins.score, bins.positive, color=color, linewidth=1, alpha=0.6, zorder=2)
        axis.scatter(bins.score, bins.positive, s=sizes, color=color, linewidths=0, alpha=0.85, zorder=3)
        _note(axis, row, f"ECE {expected_calibration_error(confidence, right):.3f}", color)
    axis.set(xlim=(0.3, 1.02), ylim=(-0.02, 1.02), xticks=[0.4, 0.6, 0.8, 1.0], yticks=[0, 0.25, 0.5, 0.75, 1])
    axis.grid(color="0.92", linewidth=0.6)


def _confusion(reading: str) -> Callable[[Any, SetScores], None]:
    def panel(axis: Any, one: SetScores) -> None:
        counts = confusion_matrix(getattr(one, reading).argmax(-1), one.labels, 3)
        shares = counts / counts.sum(1, keepdim=True).clamp(min=1)
        axis.imshow(shares, cmap="Blues", vmin=0, vmax=1)
        for gold in range(3):
            for predicted in range(3):
                dark = float(shares[gold, predicted]) > 0.55
                axis.text(predicted, gold, int(counts[gold, predicted]), ha="center", va="center", fontsize=8, color="w" if dark else "0.2")
        axis.set(xticks=range(3), yticks=range(3), xticklabels=[name[:7] for name in RELATION_LABELS])
        axis.set_yticklabels([name[:7] for name in RELATION_LABELS], rotation=90, va="center")

    return panel


def _risk_coverage(axis: Any, one: SetScores) -> None:
    for row, (reading, _, color) in enumerate(READINGS):
        confidence, right = _outcomes(one, reading)
        coverage, risk = risk_coverage_curve(confidence, ~right)
        # The risk of the first few pairs jumps between 0 and 1 and says nothing.
        shown = coverage >= min(1.0, max(0.02, 10 / len(risk)))
        axis.plot(coverage[shown], risk[shown], color=color, linewidth=1.4)
        _note(axis, row, f"area {area_under_risk_coverage(confidence, ~right):.3f}", color)
    axis.set(xlim=(0, 1), ylim=(0, 1), xticks=[0, 0.5, 1], yticks=[0, 0.25, 0.5, 0.75, 1])
    axis.grid(color="0.92", linewidth=0.6)


def _note(axis: Any, row: int, text: str, color: str) -> None:
    # Between title and panel, one at each side, where no curve runs.
    place = {"ha": "left", "x": 0.0} if row == 0 else {"ha": "right", "x": 1.0}
    axis.text(**place, y=1.025, s=text, color=color, fontsize=7.5, transform=axis.transAxes, va="bottom")
