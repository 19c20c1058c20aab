"""Plots of credibility on one set of claims: reliability, risk against coverage, score histograms. PNG files, no display needed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from eval.metrics.calibration import equal_width_bins, expected_calibration_error
from eval.metrics.credibility import Scored
from eval.metrics.ranking import auroc
from eval.metrics.selective import area_under_risk_coverage, risk_coverage_curve

VALID, INVALID, GREY = "#2b6cb0", "#c05621", "#8a8a8a"
Systems = Mapping[str, tuple[Scored, float | None]]


def draw_all(systems: Systems, folder: Path, name: str) -> list[Path]:
    """Writes `NAME_reliability.png`, `NAME_risk_coverage.png` and `NAME_scores.png`; every system comes with its tau_accept.

    Nothing is drawn where there are no claims. Returns the files.
    """
    shown = {system: value for system, value in systems.items() if len(value[0].label)}
    if not shown:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for kind, draw in (("reliability", _reliability), ("risk_coverage", _risk_coverage), ("scores", _histograms)):
        with mpl.rc_context({"font.size": 8, "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 8}):
            figure = draw(shown, f"{name}, {len(next(iter(shown.values()))[0].label)} conflicted claims")
            FigureCanvasAgg(figure)
            files.append(folder / f"{name}_{kind}.png")
            figure.savefig(files[-1], dpi=130, metadata={"Software": None})
    return files


def _panels(systems: Systems, title: str) -> tuple[Figure, Iterator[tuple[str, Scored, float | None, Any]]]:
    """A grid with one small panel per system."""
    columns = min(5, len(systems))
    rows = math.ceil(len(systems) / columns)
    figure = Figure(figsize=(0.6 + 2.1 * columns, 0.7 + 2.0 * rows), layout="constrained")
    figure.suptitle(title, fontsize=10)
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).flatten()
    for axis in axes[len(systems) :]:
        axis.set_visible(False)
    # Where the last row is not full, the panels above its gap carry the lowest ticks of their column.
    for axis in axes[max(0, len(systems) - columns) : len(systems)]:
        axis.xaxis.set_tick_params(labelbottom=True)
    return figure, ((name, scored, tau, axis) for (name, (scored, tau)), axis in zip(systems.items(), axes, strict=False))


def _reliability(systems: Systems, title: str) -> Figure:
    figure, panels = _panels(systems, f"Reliability: {title}")
    for name, scored, _, axis in panels:
        bins = equal_width_bins(scored.score, scored.label)
        axis.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle="--")
        axis.plot(bins.score, bins.positive, color=VALID, linewidth=0.8, alpha=0.5)
        axis.scatter(bins.score, bins.positive, s=8 + 160 * bins.count / bins.count.sum(), color=VALID, alpha=0.8, linewidths=0)
        axis.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
        axis.set_title(f"{name}\nECE {expected_calibration_error(scored.score, scored.label):.3f}")
    figure.supxlabel("mean score of a bin (dot area: share of claims)", fontsize=8)
    figure.supylabel("share of valid claims", fontsize=8)
    return figure


def _risk_coverage(systems: Systems, title: str) -> Figure:
    figure = Figure(figsize=(8.5, 4.6), layout="constrained")
    axis = figure.subplots()
    areas = {name: area_under_risk_coverage(scored.score, 1 - scored.label) or 0.0 for name, (scored, _) in systems.items()}
    colours = mpl.colormaps["tab20"].colors  # pyright: ignore[reportAttributeAccessIssue]
    styles, settled = ("-", "--", ":"), 0.0
    for number, name in enumerate(sorted(areas, key=lambda n: (areas[n], n))):
        scored, _ = systems[name]
        coverage, risk = risk_coverage_curve(scored.score, 1 - scored.label)
        settled = max(settled, float(risk[coverage >= 0.1].max()))
        style = styles[number // len(colours) % len(styles)]
        axis.plot(coverage, risk, label=f"{areas[name]:.3f}  {name}", color=colours[number % len(colours)], linestyle=style, linewidth=1.3)
    overall = float((1 - next(iter(systems.values()))[0].label).mean())
    axis.axhline(overall, color=GREY, linewidth=0.8, linestyle="--")
    axis.annotate("all claims", (1, overall), xytext=(4, 0), textcoords="offset points", color=GREY, va="center")
    axis.set(xlim=(0, 1), xlabel="coverage: share of claims kept, highest scores first", ylabel="risk: share of invalid claims among them")
    # The first claims make a curve jump between 0 and 1; they would flatten everything else.
    axis.set_ylim(0, min(1.0, 1.15 * max(settled, overall) + 0.02))
    axis.set_title(f"Risk against coverage: {title}", fontsize=10)
    figure.legend(loc="outside right upper", title="AURC, lower is better", frameon=False, fontsize=7)
    return figure


def _histograms(systems: Systems, title: str) -> Figure:
    """Valid claims upwards, invalid ones downwards, each as shares of their class."""
    figure, panels = _panels(systems, f"Scores: {title}")
    edges = [i / 20 for i in range(21)]
    for name, scored, tau, axis in panels:
        for value, sign, colour in ((1, 1, VALID), (0, -1, INVALID)):
            scores = scored.score[scored.label == value].numpy()
            weights = [sign / max(1, len(scores))] * len(scores)
            axis.hist(scores, bins=edges, weights=weights, color=colour, label="valid" if value else "invalid")
        axis.axhline(0, color=GREY, linewidth=0.6)
        if tau is not None:
            axis.axvline(tau, color="black", linewidth=0.8, linestyle="--", label="tau_accept")
        area = auroc(scored.score, scored.label)
        axis.set_title(name if area is None else f"{name}\nAUROC {area:.3f}")
        axis.set(xlim=(-0.02, 1.02), xticks=[0, 0.5, 1], ylim=(-1.05, 1.05), yticks=[-1, 0, 1], yticklabels=["1", "0", "1"])
    figure.supxlabel("score", fontsize=8)
    figure.supylabel("share of the class", fontsize=8)
    handles, labels = max((axis.get_legend_handles_labels() for axis in figure.axes), key=lambda found: len(found[1]))
    figure.legend(handles, labels, loc="outside lower right", ncols=3, frameon=False)
    return figure
