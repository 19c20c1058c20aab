"""Plots of a study from its result files: `python -m eval.plots RESULTS --reference NAME --out DIR [--format png|svg]`.

- sweeps: one panel per swept setting, each metric against the value, with 95% intervals of the difference from the reference;
- runs: a forest plot of the differences of all other runs (variants, schedulers, rivals) from the reference;
- reliability, risk against coverage and score histograms of the conflicted claims, for runs with scored claims.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from arbgraph.io import InputError
from eval.compare import Cell, Comparison, Result, build, load_results
from eval.propagation_plots import draw_all

DEFAULT_METRICS = ("F1 (conflicted)", "AUROC (conflicted)", "gold stated", "clean")
COLOURS = ("#2b6cb0", "#c05621", "#2f855a", "#6b46c1", "#8a8a8a")
STYLE: Any = {"font.size": 8, "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 9, "svg.hashsalt": "arbgraph"}
_SWEPT = re.compile(r"^([a-z_]+)=(.+)$")

FileFormat = Literal["png", "svg"]


def sweeps_of(results: Sequence[Result]) -> dict[str, list[tuple[str, str]]]:
    """Swept setting -> (value, run name) of its runs, in the order of the values; `all` (no budget) comes last."""
    found: dict[str, list[tuple[str, str]]] = {}
    for result in results:
        if match := _SWEPT.match(result.name):
            found.setdefault(match[1], []).append((match[2], result.name))
    return {setting: sorted(runs, key=lambda run: _place(run[0])) for setting, runs in found.items() if len(runs) > 1}


def _place(value: str) -> tuple[bool, float]:
    return (True, 0.0) if value == "all" else (False, float(value))


def draw_sweeps(comparison: Comparison, sweeps: dict[str, list[tuple[str, str]]], title: str) -> Figure:
    """Differences from the reference against the swept value: a row of panels per metric, a column per setting."""
    figure = Figure(figsize=(0.8 + 2.0 * len(sweeps), 0.6 + 1.6 * len(comparison.metrics)), layout="constrained")
    figure.suptitle(f"{title}: difference from {comparison.reference}, 95% intervals over {comparison.questions} questions", fontsize=9)
    axes = figure.subplots(len(comparison.metrics), len(sweeps), squeeze=False, sharey="row", sharex="col")
    for row, metric in zip(axes, comparison.metrics, strict=True):
        for axis, (setting, runs) in zip(row, sweeps.items(), strict=True):
            cells = [comparison.cells[name].get(metric) for _, name in runs]
            _interval_line(axis, cells, COLOURS[0])
            axis.axhline(0, color=COLOURS[-1], linewidth=0.8, linestyle="--")
            # Values are spaced evenly: the grids are not linear, and -1 or `all` have no place on a scale.
            axis.set_xticks(range(len(runs)), [value for value, _ in runs])
            if metric == comparison.metrics[-1]:
                axis.set_xlabel(setting)
        row[0].set_ylabel(metric)
    return figure


def _interval_line(axis, cells: Sequence[Cell | None], colour: str) -> None:
    places = [place for place, cell in enumerate(cells) if cell is not None and cell.difference is not None]
    found = [cell.difference for cell in cells if cell is not None and cell.difference is not None]
    axis.fill_between(places, [d.low for d in found], [d.high for d in found], color=colour, alpha=0.2, linewidth=0)
    axis.plot(places, [d.difference for d in found], color=colour, marker="o", markersize=3, linewidth=1.2)


def draw_runs(comparison: Comparison, names: Sequence[str], title: str) -> Figure:
    """A forest plot: one panel per metric, one line per run, its interval of the difference; filled where p after Holm is below 0.05."""
    metrics = comparison.metrics
    figure = Figure(figsize=(1.6 + 2.1 * len(metrics), 1.1 + 0.27 * len(names)), layout="constrained")
    figure.suptitle(f"{title}: difference from {comparison.reference}, 95% intervals over {comparison.questions} questions", fontsize=9)
    axes = figure.subplots(1, len(metrics), squeeze=False, sharey=True)[0]
    for axis, metric in zip(axes, metrics, strict=True):
        for place, name in enumerate(reversed(names)):
            cell = comparison.cells[name].get(metric)
            if cell is None or cell.difference is None:
                continue
            d, sure = cell.difference, bool(cell.stars)
            axis.plot([d.low, d.high], [place, place], color=COLOURS[0], linewidth=1.4)
            axis.plot([d.difference], [place], "o", color=COLOURS[0], markersize=4.5, markerfacecolor=COLOURS[0] if sure else "white")
        axis.axvline(0, color=COLOURS[-1], linewidth=0.8, linestyle="--")
        axis.set_title(metric)
        axis.set_yticks(range(len(names)), list(reversed(names)))
        axis.locator_params(axis="x", nbins=4)
    figure.supxlabel("filled: p < 0.05 (permutation, Holm over the whole table)", fontsize=7)
    return figure


def draw_study(
    results: Sequence[Result], reference: str, out: Path, *, metrics: Sequence[str] | None = None, file_format: FileFormat = "png"
) -> list[Path]:
    """Every plot that the results allow; returns the files. Raises InputError when no metric asked for is there."""
    chosen = metrics or [m for m in DEFAULT_METRICS if any(_present(result, m) for result in results)]
    if not chosen:
        raise InputError(f"none of {', '.join(DEFAULT_METRICS)} is in the results; name metrics with --metrics")
    comparison = build(results, reference, chosen)
    title, files = str(results[0].about.get("set", "")), []
    sweeps = sweeps_of(results)
    swept = {name for runs in sweeps.values() for _, name in runs}
    others = [result.name for result in results if result.name not in swept and result.name != reference]
    out.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(STYLE):
        if sweeps:
            files.append(_save(draw_sweeps(comparison, sweeps, title), out / f"sweeps.{file_format}"))
        if others:
            files.append(_save(draw_runs(comparison, others, title), out / f"runs.{file_format}"))
    claims = {r.name: (r.claims["conflicted"], None) for r in results if "conflicted" in r.claims and r.name not in swept}
    return [*files, *draw_all(claims, out, title)]


def _present(result: Result, metric: str) -> bool:
    if metric in result.values:
        return any(value is not None for value in result.values[metric])
    return metric in result.metrics


def _save(figure: Figure, path: Path) -> Path:
    FigureCanvasAgg(figure)
    # Without these fields the same results give the same bytes.
    figure.savefig(path, dpi=130, metadata={"Date": None} if path.suffix == ".svg" else {"Software": None})
    return path


def main(results: Path, reference: str, out: Path, metrics: list[str] | None = None, format: FileFormat = "png") -> None:
    """Draws the plots of one study on one set.

    Args:
        results: folder of result files of `eval.ablation`.
        reference: the run that the others are compared with.
        out: folder of the plots.
        metrics: which metrics; by default those of the conflicted claims and of the answers.
        format: of the files; reliability and the like are PNG.
    """
    from rich.console import Console

    for path in draw_study(load_results(results), reference, out, metrics=metrics, file_format=format):
        Console().print(str(path), highlight=False)


if __name__ == "__main__":
    import sys

    from jsonargparse import auto_cli

    try:
        auto_cli(main, as_positional=False)
    except InputError as error:
        sys.exit(f"error: {error}")
