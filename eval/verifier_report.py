"""Tables of a verifier's evaluation: on the console, as JSON, and in the checkpoint's card."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from arbgraph.checkpoint import CARD, METRICS
from arbgraph.schema import RELATION_LABELS
from eval.card import set_section, table

HEADER = [
    "set",
    "pairs",
    "accuracy",
    "two-way",
    "macro-F1",
    "ECE",
    "AUROC s/c/n",
    "accuracy, both",
    "macro-F1, both",
    "ECE, both",
    "order matters",
]
COLUMNS_MEANING = (
    "The first numbers read each pair in the order of its set; `both` is the undirected verdict of `relate`. `two-way`: accuracy between "
    "the two labels of a set that has only two. AUROC: one label against the rest, support / contradict / neutral. `order matters`: share "
    "of pairs whose one-order label changes when the texts swap; the verdict's never does."
)


def summary_rows(results: Mapping[str, Any]) -> list[list[str]]:
    """One row per set under `HEADER`."""
    rows = []
    for name, result in results["sets"].items():
        one, both = result["directed"], result["combined"]
        areas = " / ".join("-" if value is None else f"{value:.2f}" for value in one["auroc"].values())
        forced = f"{one['forced_accuracy']:.3f}" if "forced_accuracy" in one else "-"
        numbers = [f"{both[key]:.3f}" for key in ("accuracy", "macro_f1", "ece")]
        measured = [f"{one['accuracy']:.3f}", forced, f"{one['macro_f1']:.3f}", f"{one['ece']:.3f}", areas, *numbers]
        rows.append([name, str(one["n"]), *measured, f"{result['order_sensitivity']['raw']:.3f}"])
    return rows


def class_rows(results: Mapping[str, Any]) -> list[list[str]]:
    """One row per set: precision / recall / F1 (count) by label in one order, and the confusion matrix (rows gold s, c, n)."""
    rows = []
    for name, result in results["sets"].items():
        report = result["directed"]
        scores = [report["per_class"][label] for label in RELATION_LABELS]
        shown = [f"{one['precision']:.2f} / {one['recall']:.2f} / {one['f1']:.2f} ({one['support']})" for one in scores]
        rows.append([name, *shown, " | ".join(" ".join(str(count) for count in row) for row in report["confusion"])])
    return rows


def group_rows(results: Mapping[str, Any]) -> list[list[str]]:
    """Per complete group, one row for each reading, baseline and compared checkpoint: means of accuracy, macro-F1 and ECE."""
    rows = []
    for group, values in results["groups"].items():
        title = f"{group} ({values['sets']} sets)"
        if "missing" in values:
            rows.append([title, f"not averaged, {len(values['missing'])} sets not given", "-", "-", "-"])
            continue
        entries = [("verifier, one order", values["directed"]), ("verifier, both orders", values["combined"])]
        entries += list(values.get("compared", {}).items()) + list(values.get("baselines", {}).items())
        rows += [
            [title, name, *(f"{mean[key]:.3f}" if key in mean else "-" for key in ("accuracy", "macro_f1", "ece"))]
            for name, mean in entries
        ]
    return rows


def baseline_table(results: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Header and rows: accuracy / macro-F1 of the verifier in one order, of compared checkpoints and of every baseline."""
    first = next(iter(results["sets"].values()))
    kinds = [(kind, name) for kind in ("compared", "baselines") for name in first.get(kind, {})]
    rows = []
    for name, result in results["sets"].items():
        others = [result[kind][other] if kind == "baselines" else result[kind][other]["directed"] for kind, other in kinds]
        reports = [result["directed"], *others]
        rows.append([name, *(f"{report['accuracy']:.3f} / {report['macro_f1']:.3f}" for report in reports)])
    return ["set", "verifier", *(Path(name).name if kind == "compared" else name for kind, name in kinds)], rows


def win_lines(results: Mapping[str, Any]) -> list[str]:
    """A sentence per baseline: on how many sets the verifier is better, and where it is not."""
    lines = []
    won = dict(results.get("wins", {}))
    names = won.pop("sets", [])
    for baseline, by in won.items():
        lost = [name for name in names if name not in by["accuracy"]]
        lines.append(
            f"Beats {baseline} on {len(by['accuracy'])} of {len(names)} sets by accuracy, {len(by['macro_f1'])} by macro-F1"
            + (f"; not by accuracy on {', '.join(lost)}." if lost else ".")
        )
    return lines


def category_lines(results: Mapping[str, Any]) -> list[str]:
    """A paragraph per set that has categories: macro-F1 (accuracy) of the verdict and of one order, in that order."""
    lines = []
    for name, result in results["sets"].items():
        if "categories" in result:
            shown = (
                f"{key} {reports['combined']['macro_f1']:.2f} ({reports['combined']['accuracy']:.2f})"
                f" | {reports['directed']['macro_f1']:.2f} ({reports['directed']['accuracy']:.2f})"
                for key, reports in result["categories"].items()
            )
            lines += [f"{name} by category, macro-F1 (accuracy), both orders | one order: " + "; ".join(shown) + ".", ""]
    return lines


def progress_line(line: str) -> None:
    """Prints a line beside the results, so that these can be redirected alone."""
    Console(stderr=True, highlight=False).print(line)


def show(results: Mapping[str, Any], title: str) -> None:
    """Prints everything as tables."""
    console = Console(width=170, highlight=False)

    def printed(heading: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        shown = Table(title=heading)
        for number, name in enumerate(header):
            shown.add_column(name, justify="right" if number else "left")
        for row in rows:
            shown.add_row(*row)
        console.print(shown)

    printed(title, HEADER, summary_rows(results))
    classes = [f"{label}: P / R / F1 (n)" for label in RELATION_LABELS]
    printed("by label, one order", ["set", *classes, "confusion, gold s | c | n"], class_rows(results))
    header, rows = baseline_table(results)
    if len(header) > 2:
        printed("accuracy / macro-F1, one order", header, rows)
    if results["groups"]:
        printed("means over groups", ["group", "system", "accuracy", "macro-F1", "ECE"], group_rows(results))
    for line in [*category_lines(results), *win_lines(results)]:
        console.print(line)
    changed = max(result["order_sensitivity"]["combined"] for result in results["sets"].values())
    seconds = results["seconds"]
    console.print(
        f"labels that change when the texts swap, after combination: at most {changed:.3f} of a set; {results['truncated']} readings cut "
        f"to {results['verifier']['max_tokens']} tokens; {seconds['verifier']} s of reading, {seconds['all']} s in all, "
        f"{seconds['cpu']} s of CPU"
    )


def write_json(path: str | Path, results: Mapping[str, Any]) -> None:
    """Writes the numbers as indented JSON."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def record(checkpoint: Path, results: Mapping[str, Any]) -> None:
    """Puts the results into a checkpoint's metrics.json (`evaluation`) and the Evaluation section of its card."""
    metrics = json.loads((checkpoint / METRICS).read_text(encoding="utf-8"))
    metrics["evaluation"] = dict(results)
    write_json(checkpoint / METRICS, metrics)
    limit = f", at most {results['limit']} pairs a set." if results["limit"] else "."
    lines = [f"Measured {results['date']} on {results['hardware']} with `python -m eval.verifier`{limit} {COLUMNS_MEANING}", ""]
    lines += table(HEADER, summary_rows(results))
    if results["groups"]:
        lines += ["", "Means over groups of sets:", "", *table(["group", "system", "accuracy", "macro-F1", "ECE"], group_rows(results))]
    header, rows = baseline_table(results)
    if len(header) > 2:
        lines += ["", "Accuracy / macro-F1 beside the baselines, one order:", "", *table(header, rows), "", *win_lines(results)]
    lines += ["", *category_lines(results)]
    card = (checkpoint / CARD).read_text(encoding="utf-8")
    (checkpoint / CARD).write_text(set_section(card, "Evaluation", lines), encoding="utf-8")
