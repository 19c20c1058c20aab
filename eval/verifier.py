"""Measuring a relation verifier: `python -m eval.verifier --checkpoint DIR --data FILE... [--json OUT] [--record]`.

Every set is scored twice: in the given order (the first text is the evidence) and as the undirected verdict of both orders.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from arbgraph.checkpoint import CARD, METRICS, find_checkpoint, is_checkpoint
from arbgraph.schema import RELATION_LABELS
from arbgraph.verifier.pairs import LabelledPair, read_pairs
from arbgraph.verifier.relation import RelationVerifier
from eval.metrics.classification import classification_report


def evaluate_set(verifier: RelationVerifier, pairs: Sequence[LabelledPair]) -> dict[str, Any]:
    """Reports `directed` and `combined`, the share of labels that depend on the order, and reports by category."""
    gold = torch.tensor([RELATION_LABELS.index(pair.label) for pair in pairs])
    forward = verifier.log_probabilities([(pair.a, pair.b) for pair in pairs])
    backward = verifier.log_probabilities([(pair.b, pair.a) for pair in pairs])
    combined = verifier.combine(forward, backward).exp()
    result: dict[str, Any] = {
        "directed": classification_report(forward.exp(), gold),
        "combined": classification_report(combined, gold),
        "order_sensitivity": float((forward.argmax(-1) != backward.argmax(-1)).double().mean()),
    }
    categories = sorted({pair.category for pair in pairs if pair.category})
    if categories:
        result["categories"] = {}
        for category in categories:
            rows = torch.tensor([number for number, pair in enumerate(pairs) if pair.category == category])
            result["categories"][category] = classification_report(combined[rows], gold[rows])
    return result


def evaluate(verifier: RelationVerifier, sets: Sequence[str | Path], limit: int | None = None) -> dict[str, Any]:
    """`evaluate_set` of every file, by `folder/file` name, with what was measured, when and where.

    Args:
        verifier: the model.
        sets: pair files.
        limit: at most this many pairs of each set, evenly spaced over the file; None takes all.
    """
    results: dict[str, Any] = {}
    truncated = verifier.truncated
    for file in map(Path, sets):
        name = f"{file.parent.name}/{file.name.split('.', 1)[0]}"
        if name in results:
            raise ValueError(f"{file}: a set named {name} was given twice; give each file once")
        pairs = read_pairs(file)
        if limit is not None and len(pairs) > limit:
            pairs = [pairs[number * len(pairs) // limit] for number in range(limit)]
        results[name] = evaluate_set(verifier, pairs)
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "hardware": f"{os.cpu_count()} CPU cores ({platform.machine()}), {torch.get_num_threads()} threads",
        "verifier": verifier.describe(),
        "limit": limit,
        "truncated": verifier.truncated - truncated,
        "sets": results,
    }


def summary_rows(results: dict[str, Any]) -> list[list[str]]:
    """One row per set: name, pairs, then accuracy, macro-F1 and ECE in one order and combined, and order sensitivity."""
    rows = []
    for name, result in results["sets"].items():
        one, both = result["directed"], result["combined"]
        numbers = [report[key] for report in (one, both) for key in ("accuracy", "macro_f1", "ece")] + [result["order_sensitivity"]]
        rows.append([name, str(one["n"]), *(f"{number:.3f}" for number in numbers)])
    return rows


HEADER = ["set", "pairs", "accuracy", "macro-F1", "ECE", "accuracy, both", "macro-F1, both", "ECE, both", "order matters"]


def record(checkpoint: Path, results: dict[str, Any]) -> None:
    """Puts the results into a checkpoint's metrics.json (`evaluation`) and the Evaluation section of its card."""
    metrics = json.loads((checkpoint / METRICS).read_text(encoding="utf-8"))
    metrics["evaluation"] = results
    (checkpoint / METRICS).write_text(json.dumps(metrics, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    lines = [
        f"Measured {results['date']} on {results['hardware']} with `python -m eval.verifier`"
        + (f", at most {results['limit']} pairs a set." if results["limit"] else ".")
        + " The first three numbers read each pair in the order of its set; `both` is the undirected verdict of `relate`; "
        "the last column is the share of pairs whose one-order label changes when the texts swap.",
        "",
        f"| {' | '.join(HEADER)} |",
        "|---" * len(HEADER) + "|",
        *(f"| {' | '.join(row)} |" for row in summary_rows(results)),
    ]
    for name, result in results["sets"].items():
        if "categories" in result:
            lines += ["", f"{name} by category (undirected): macro-F1 (accuracy)", ""]
            shown = (f"{key} {report['macro_f1']:.2f} ({report['accuracy']:.2f})" for key, report in result["categories"].items())
            lines.append(", ".join(shown) + ".")
    card = (checkpoint / CARD).read_text(encoding="utf-8")
    section = "## Evaluation\n\n" + "\n".join(lines) + "\n\n"
    card, found = re.subn(r"## Evaluation\n.*?(?=^## |\Z)", lambda _: section, card, count=1, flags=re.DOTALL | re.MULTILINE)
    if not found:
        raise ValueError(f"{checkpoint / CARD}: has no `## Evaluation` section to fill")
    (checkpoint / CARD).write_text(card, encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line, or `arguments` in its place."""
    parser = argparse.ArgumentParser(prog="python -m eval.verifier", description="Scores a relation verifier on labelled pairs.")
    parser.add_argument("--checkpoint", required=True, help="folder, shipped checkpoint, or folder of a Hugging Face pair classifier")
    parser.add_argument("--data", required=True, nargs="+", metavar="FILE", help=".jsonl, .jsonl.gz or .parquet files of pairs")
    parser.add_argument("--json", metavar="OUT", help="write all results here")
    parser.add_argument("--record", action="store_true", help="write them into the checkpoint's card and metrics too")
    parser.add_argument("--limit", type=int, help="at most this many pairs per set")
    parser.add_argument("--batch-size", type=int, default=64, help="pairs per forward pass")
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    options = parser.parse_args(arguments)
    folder = find_checkpoint(options.checkpoint)
    if options.record and not is_checkpoint(folder):
        parser.error(f"{folder}: results are recorded in an ArbGraph checkpoint only; use --json")
    verifier = RelationVerifier.load(folder, batch_size=options.batch_size, precision=options.precision)
    results = evaluate(verifier, options.data, options.limit)
    table = Table(*HEADER, title=options.checkpoint)
    for row in summary_rows(results):
        table.add_row(*row)
    Console(width=150).print(table)
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    if options.record:
        record(folder, results)


if __name__ == "__main__":
    main()
