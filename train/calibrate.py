"""Recalibrates a relation verifier without training: `python -m train.calibrate --checkpoint DIR --dev FILE... [--out DIR]`.

Every dev pair is read in both orders. Without `--out` the numbers are printed and nothing is written; `--out` may be the checkpoint's
own folder. How well each way of calibrating carries over is measured by leaving out one dev set at a time.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser

from arbgraph.checkpoint import CARD, METRICS, CheckpointError, amend_checkpoint, find_checkpoint, load_checkpoint
from arbgraph.schema import RELATION_LABELS
from arbgraph.verifier.calibration import (
    CalibrationError,
    DevScores,
    Method,
    VerifierCalibration,
    calibrate_verifier,
    likelihood,
)
from arbgraph.verifier.exported import is_export
from arbgraph.verifier.pairs import PairFileError
from arbgraph.verifier.relation import KIND, Precision, RelationVerifier
from eval.card import set_section, table
from eval.measured import measured
from eval.metrics.classification import classification_report
from eval.pair_sets import means, read_both_orders, read_sets
from train.console import console, show_rows

VARIANTS: tuple[tuple[Method, bool], ...] = (("temperature", False), ("temperature", True), ("vector", False), ("vector", True))
MEASURES = ("nll", "macro_f1", "ece")


def measure(one: DevScores, calibration: VerifierCalibration) -> dict[str, dict[str, Any]]:
    """`directed` and `verdict` of a set: the classification report, and `nll`, the mean negative log-likelihood in nats."""
    forward = calibration.directed.log_probabilities(one.forward)
    scores = {"directed": forward}
    if one.backward is not None:
        scores["verdict"] = calibration.verdict(forward, calibration.directed.log_probabilities(one.backward))
    return {name: {**classification_report(rows.exp(), one.labels), "nll": -likelihood(rows, one.labels)} for name, rows in scores.items()}


def left_out(sets: Sequence[DevScores], fit: Mapping[str, Any]) -> dict[str, dict[str, Any]] | None:
    """`measure` of every set under the calibration of the others; None with one set, or where the others lack a label."""
    if len(sets) < 2:
        return None
    try:
        return {one.name: measure(one, calibrate_verifier([other for other in sets if other is not one], **fit)) for one in sets}
    except CalibrationError:
        return None


def compare(sets: Sequence[DevScores], *, equal_sets: bool, beta: float) -> list[dict[str, Any]]:
    """Means over the sets for every way of calibrating: on the pairs it was fitted on, and on sets left out."""
    rows = []
    for method, learn_spread in VARIANTS:
        fit = {"method": method, "learn_spread": learn_spread, "equal_sets": equal_sets, "beta": beta}
        try:
            calibration = calibrate_verifier(sets, **fit)
        except CalibrationError:
            continue
        unseen = left_out(sets, fit)
        for name, reports in (("fitted", {one.name: measure(one, calibration) for one in sets}), ("left out", unseen)):
            if reports is None:
                continue
            row = {"method": method, "spread": "learned" if learn_spread else "stated", "measured on": f"sets {name}"}
            for reading in ("directed", "verdict"):
                mean = means([report[reading] for report in reports.values()], MEASURES)
                row |= {f"{reading} {key}": round(value, 4) for key, value in mean.items()}
            rows.append(row)
    return rows


def set_rows(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row per set, for tables: NLL and ECE before and after, and the ECE under the calibration of the other sets."""
    rows = []
    for name, before in results["before"].items():
        row: dict[str, Any] = {"set": name, "pairs": before["directed"]["n"]}
        for reading, title in (("directed", "one order"), ("verdict", "verdict")):
            old, new, unseen = before[reading], results["after"][name][reading], (results["left_out"] or {}).get(name)
            row[f"{title}: macro-F1"] = f"{new['macro_f1']:.3f}"
            row[f"{title}: NLL"] = f"{old['nll']:.3f} -> {new['nll']:.3f}"
            row[f"{title}: ECE"] = f"{old['ece']:.3f} -> {new['ece']:.3f}"
            row[f"{title}: ECE left out"] = f"{unseen[reading]['ece']:.3f}" if unseen else "-"
        rows.append(row)
    return rows


def describe_block(block: VerifierCalibration) -> list[str]:
    """The fitted numbers in words, one line each."""

    def shown(values: Sequence[float]) -> str:
        return ", ".join(f"{name} {value:+.3f}" for name, value in zip(RELATION_LABELS, values, strict=True))

    lines = [
        f"One order: temperature {block.directed.temperature:.3f}, bias {shown(block.directed.bias)}.",
        f"Verdict: temperature {block.combined.temperature:.3f}, bias {shown(block.combined.bias)}; spread {shown(block.spread)} "
        "(1 takes the larger of both orders, 0 their geometric mean, -1 the smaller).",
    ]
    if block.decision is not None:
        chosen = block.decision
        single = ", ".join(
            f"{name} {'not chosen' if value is None else format(value, '.2f')}"
            for name, value in zip(RELATION_LABELS, chosen.thresholds, strict=False)
        )
        lines.append(
            f"Recommended `tau_conf` {chosen.tau_conf:.2f}: the confidence with the largest F{chosen.beta:g} of the support and "
            f"contradiction edges kept on dev (precision {chosen.precision:.3f}, recall {chosen.recall:.3f}); by label: {single}. "
            "It is a recommendation: the pipeline's own setting stays as it is."
        )
    return lines


def save(path: Path, out: Path, block: VerifierCalibration, results: Mapping[str, Any]) -> None:
    """Writes the checkpoint with the new block, its numbers in metrics.json, and the Calibration section of the card.

    Results of the evaluation are dropped: they were measured with the calibration before.
    """
    checkpoint = load_checkpoint(path, kind=KIND)
    metrics = json.loads((path / METRICS).read_text(encoding="utf-8")) if (path / METRICS).is_file() else {}
    stale = metrics.pop("evaluation", None) is not None
    card = (path / CARD).read_text(encoding="utf-8") if (path / CARD).is_file() else f"# {out.name}\n"
    rows = set_rows(results)
    lines = [
        f"Fitted {results['date']} on {results['hardware']} with `python -m train.calibrate --method {results['method']}` on the dev sets "
        "below, each read in both orders; it replaces the calibration of the training run. `left out`: under the calibration of the "
        "other sets.",
        "",
        *table(list(rows[0]), [[str(value) for value in row.values()] for row in rows]),
        "",
        *(f"- {line}" for line in describe_block(block)),
    ]
    card = set_section(card, "Calibration", lines, before="Evaluation")
    if stale:
        missing = "Not recorded since the calibration changed: `python -m eval.verifier --checkpoint DIR --data FILE... --record true`."
        card = set_section(card, "Evaluation", [missing])
    amend_checkpoint(checkpoint, out, calibration=block.to_dict(), card=card, metrics={**metrics, "calibration": results})


def calibrate(
    checkpoint: str,
    dev: list[str],
    out: str | None = None,
    method: Method = "temperature",
    learn_spread: bool = False,
    equal_sets: bool = True,
    beta: float = 0.5,
    limit: int | None = None,
    columns: dict[str, str] | None = None,
    batch_size: int = 64,
    precision: Precision = "fp32",
) -> VerifierCalibration:
    """Fits the calibration of a verifier checkpoint on dev pairs, measures it, and writes it where asked.

    Args:
        checkpoint: folder or name of a shipped checkpoint.
        dev: .jsonl, .jsonl.gz or .parquet files of pairs that no training saw.
        out: folder to write; the checkpoint's own recalibrates in place; null writes nothing.
        method: `temperature` keeps every decision; `vector` also fits a bias per label and needs every label in dev.
        learn_spread: also learn how the two orders are combined.
        equal_sets: every file counts alike; false counts every pair alike.
        beta: of the F_beta that chooses the thresholds; below 1 a false edge costs more than a missed one.
        limit: at most this many pairs per file, evenly spaced.
        columns: which column holds `a`, `b` and `label`, where not the usual ones.
        batch_size: pairs per forward pass.
        precision: of the encoder.

    Raises CheckpointError, PairFileError, CalibrationError.
    """
    if is_export(find_checkpoint(checkpoint)):
        raise CheckpointError(f"{checkpoint}: is an export, whose calibration is part of it; recalibrate its checkpoint and export again")
    folder = load_checkpoint(checkpoint, kind=KIND).path
    verifier = RelationVerifier.load(folder, batch_size=batch_size, precision=precision)
    sets = [read_both_orders(verifier, one) for one in read_sets(dev, limit=limit, columns=columns)]
    fit = {"method": method, "learn_spread": learn_spread, "equal_sets": equal_sets, "beta": beta}
    block = calibrate_verifier(sets, **fit)
    results = {
        **measured(),
        **fit,
        "limit": limit,
        "truncated": verifier.truncated,
        "before": {one.name: measure(one, VerifierCalibration()) for one in sets},
        "after": {one.name: measure(one, block) for one in sets},
        "left_out": left_out(sets, fit),
        "variants": compare(sets, equal_sets=equal_sets, beta=beta),
    }
    show_rows("calibration by set (uncalibrated -> calibrated)", set_rows(results))
    if results["variants"]:
        show_rows("ways of calibrating, means over the sets", results["variants"])
    for line in describe_block(block):
        console.print(line)
    console.print(f"{verifier.truncated} readings were cut to {verifier.tokenizer.max_tokens} tokens")
    if out is not None:
        save(folder, Path(out), block, results)
        console.print(f"wrote {out}")
    return block


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line, or `arguments` in its place."""
    parser = ArgumentParser(prog="python -m train.calibrate", description="Recalibrates a relation verifier on dev pairs.")
    parser.add_argument("--config", action="config", help="YAML file of the flags below")
    parser.add_function_arguments(calibrate, as_group=False, skip={"dev"})
    parser.add_argument("--dev", nargs="+", type=str, required=True, metavar="FILE", help="files of pairs that no training saw")
    options = parser.parse_args(arguments).as_dict()
    options.pop("config")
    try:
        calibrate(**options)
    except (CheckpointError, PairFileError, CalibrationError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
