"""Measuring a relation verifier: `python -m eval.verifier --checkpoint DIR --data FILE... [--baselines true] [--json OUT]`.

Every set is scored in the given order (the first text is the evidence) and as the undirected verdict of both orders.
`--config configs/eval/verifier.yaml --root DATA` evaluates the project's 18 sets with their groups and baselines.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jsonargparse import ArgumentParser
from torch import Tensor

from arbgraph.checkpoint import CheckpointError, find_checkpoint, is_checkpoint
from arbgraph.schema import RELATION_LABELS
from arbgraph.verifier.pairs import PairFileError
from arbgraph.verifier.relation import Precision, RelationVerifier
from eval.baselines import BASELINES, Baseline, Baselines
from eval.measured import measured
from eval.metrics.classification import classification_report
from eval.metrics.ranking import auroc
from eval.metrics.selective import area_under_risk_coverage
from eval.pair_sets import PairSet, means, one_hot, read_both_orders, read_sets
from eval.verifier_report import progress_line, record, show, write_json

MEANS = ("accuracy", "macro_f1", "ece")


@dataclass(frozen=True)
class SetScores:
    """What the plots need of a set: gold `[N]`, and probabilities `[N, 3]` in one order and of the verdict."""

    name: str
    labels: Tensor
    directed: Tensor
    combined: Tensor


def full_report(probabilities: Tensor, gold: Tensor) -> dict[str, Any]:
    """`classification_report` and more, of probabilities `[N, 3]`.

    `auroc` by label, one against the rest, None where the label never or always occurs; `aurc`, the area under the risk-coverage
    curve; and where gold has only two labels `forced_accuracy`, that of the more probable of the two.
    """
    confidence, predicted = probabilities.max(-1)
    report = classification_report(probabilities, gold)
    report["auroc"] = {name: auroc(probabilities[:, column], gold == column) for column, name in enumerate(RELATION_LABELS)}
    report["aurc"] = area_under_risk_coverage(confidence, predicted != gold)
    present = gold.unique()
    if len(present) == 2:
        report["forced_accuracy"] = float((present[probabilities[:, present].argmax(-1)] == gold).double().mean())
    return report


def score_set(verifier: RelationVerifier, one: PairSet) -> tuple[SetScores, dict[str, float]]:
    """Calibrated probabilities of both readings, and the share of pairs whose label changes when their texts swap."""
    read = read_both_orders(verifier, one)
    assert read.backward is not None
    forward, backward = (verifier.calibration.directed.log_probabilities(logits) for logits in (read.forward, read.backward))
    combined, swapped = verifier.combine(forward, backward), verifier.combine(backward, forward)
    changed = {
        "raw": float((forward.argmax(-1) != backward.argmax(-1)).double().mean()),
        "combined": float((combined.argmax(-1) != swapped.argmax(-1)).double().mean()),
    }
    return SetScores(one.name, read.labels, forward.exp(), combined.exp()), changed


def evaluate_set(verifier: RelationVerifier, one: PairSet) -> tuple[dict[str, Any], SetScores]:
    """Everything about one set: reports of both readings, of the recommended thresholds, and by category."""
    truncated = verifier.truncated
    scores, changed = score_set(verifier, one)
    result: dict[str, Any] = {
        "directed": full_report(scores.directed, scores.labels),
        "combined": full_report(scores.combined, scores.labels),
        "order_sensitivity": changed,
        "truncated": verifier.truncated - truncated,
    }
    if verifier.calibration.decision is not None:
        result["thresholds"] = classification_report(one_hot(verifier.calibration.decision.labels(scores.combined)), scores.labels)
    categories = sorted({pair.category for pair in one.pairs if pair.category})
    if categories:
        result["categories"] = {}
        for category in categories:
            rows = torch.tensor([number for number, pair in enumerate(one.pairs) if pair.category == category])
            result["categories"][category] = {
                "directed": classification_report(scores.directed[rows], scores.labels[rows]),
                "combined": classification_report(scores.combined[rows], scores.labels[rows]),
            }
    return result, scores


def baseline_reports(baselines: Baselines, one: PairSet) -> dict[str, Any]:
    """Accuracy, macro-F1 and confusion of every baseline, with what it was tuned to."""
    reports = {}
    for name, predicted in baselines.predict(one).items():
        report = classification_report(one_hot(predicted.pop("labels")), one.labels)
        reports[name] = {key: report[key] for key in ("n", "accuracy", "macro_f1", "confusion")} | predicted
    return reports


def group_means(sets: Mapping[str, Mapping[str, Any]], groups: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Unweighted means over each group's sets, for both readings, baselines and compared checkpoints; `missing` where sets are."""
    results: dict[str, Any] = {}
    for group, names in groups.items():
        missing = [name for name in names if name not in sets]
        if missing:
            results[group] = {"sets": len(names), "missing": missing}
            continue
        chosen = [sets[name] for name in names]
        results[group] = {"sets": len(names)} | {
            reading: means([one[reading] for one in chosen], MEANS) for reading in ("directed", "combined")
        }
        for kind, keys in (("baselines", MEANS[:2]), ("compared", MEANS)):
            for name in chosen[0].get(kind, {}):
                reports = [one[kind][name] if kind == "baselines" else one[kind][name]["directed"] for one in chosen]
                results[group].setdefault(kind, {})[name] = means(reports, keys)
    return results


def wins(sets: Mapping[str, Mapping[str, Any]], names: Sequence[str]) -> dict[str, Any]:
    """On which of the named sets the verifier, read in the given order, is strictly better than each baseline, by both measures."""
    results: dict[str, Any] = {"sets": list(names)}
    for baseline in sets[names[0]].get("baselines", {}) if names else ():
        results[baseline] = {
            key: [name for name in names if sets[name]["directed"][key] > sets[name]["baselines"][baseline][key]]
            for key in ("accuracy", "macro_f1")
        }
    return results


def evaluate(
    verifier: RelationVerifier,
    sets: Sequence[PairSet],
    *,
    groups: Mapping[str, Sequence[str]] | None = None,
    baselines: Baselines | None = None,
    others: Mapping[str, RelationVerifier] | None = None,
    progress: Callable[[str], None] | None = None,
) -> tuple[dict[str, Any], list[SetScores]]:
    """`evaluate_set` of every set, with what was measured, when and where; and the scores for plots.

    Args:
        verifier: the model.
        sets: labelled pairs.
        groups: names of sets by group; means are taken over a group that is complete.
        baselines: run on every set.
        others: other checkpoints to compare with, by name.
        progress: told a line per set.
    """
    results, scores, began, processor, reading = {}, [], time.perf_counter(), time.process_time(), 0.0
    for one in sets:
        start = time.perf_counter()
        results[one.name], scored = evaluate_set(verifier, one)
        reading += time.perf_counter() - start
        scores.append(scored)
        if baselines is not None:
            results[one.name]["baselines"] = baseline_reports(baselines, one)
        for name, other in (others or {}).items():
            results[one.name].setdefault("compared", {})[name] = evaluate_set(other, one)[0]
        if progress is not None:
            progress(f"{one.name}: {len(one.pairs)} pairs, {time.perf_counter() - start:.1f} s")
    grouped = [name for names in (groups or {}).values() for name in names if name in results]
    evaluation = {
        **measured(),
        "verifier": verifier.describe(),
        "truncated": sum(result["truncated"] for result in results.values()),
        "seconds": {
            "verifier": round(reading, 1),
            "all": round(time.perf_counter() - began, 1),
            "cpu": round(time.process_time() - processor, 1),
        },
        "sets": results,
        "groups": group_means(results, groups or {}),
    }
    if baselines is not None:
        evaluation["wins"] = wins(results, list(dict.fromkeys(grouped)) or list(results))
    return evaluation, scores


def run(
    checkpoint: str,
    data: list[str],
    root: str = ".",
    groups: dict[str, list[str]] | None = None,
    baselines: list[str] | None = None,
    train: list[str] | None = None,
    compare: list[str] | None = None,
    limit: int | None = None,
    columns: dict[str, str] | None = None,
    json: str | None = None,
    plots: str | None = None,
    record_results: bool = False,
    batch_size: int = 64,
    precision: Precision = "fp32",
) -> dict[str, Any]:
    """Scores a relation verifier on labelled pairs and prints, writes and records the numbers.

    Args:
        checkpoint: folder, name of a shipped checkpoint, or folder of a Hugging Face pair classifier.
        data: .jsonl, .jsonl.gz or .parquet files of pairs.
        root: folder that `data` and `train` are relative to.
        groups: names of sets (`folder/file`) to average, by group.
        baselines: `true` for all, or names of baselines.
        train: training files of the baseline `hypothesis_only`.
        compare: other checkpoints to read the same pairs, such as a full fine-tune of the same base.
        limit: at most this many pairs per set, evenly spaced over the file.
        columns: which column holds `a`, `b` and `label`, where not the usual ones.
        json: write all numbers here.
        plots: folder for reliability diagrams, confusion matrices and risk-coverage curves.
        record_results: put the numbers into the checkpoint's card and metrics too.
        batch_size: pairs per forward pass.
        precision: of the encoder.

    Raises CheckpointError, PairFileError.
    """
    folder = find_checkpoint(checkpoint)
    if record_results and not is_checkpoint(folder):
        raise CheckpointError(f"{folder}: results are recorded in an ArbGraph checkpoint only; use --json")
    sets = read_sets(data, root=root, limit=limit, columns=columns)
    rules = None
    if names := baseline_names(baselines or []):
        progress_line(f"baselines: {', '.join(names)}")
        rules = Baselines(names, sets, train=train or [], root=root, columns=columns)
    verifier, *rest = (
        RelationVerifier.load(path, batch_size=batch_size, precision=precision) for path in (folder, *map(find_checkpoint, compare or []))
    )
    others = dict(zip(compare or [], rest, strict=True))
    results, scores = evaluate(verifier, sets, groups=groups, baselines=rules, others=others, progress=progress_line)
    results["limit"] = limit
    show(results, checkpoint)
    if json is not None:
        write_json(json, results)
    if plots is not None:
        from eval.verifier_plots import draw

        draw(scores, Path(plots))
    if record_results:
        record(folder, results)
    return results


def baseline_names(chosen: Sequence[str]) -> list[Baseline]:
    """The baselines that the flag names; `true` is all of them. Raises PairFileError on an unknown name."""
    if list(chosen) in ([], ["false"]):
        return []
    unknown = [name for name in chosen if name not in BASELINES]
    if unknown and list(chosen) != ["true"]:
        raise PairFileError(f"--baselines {' '.join(unknown)}: unknown; choose true or some of {', '.join(BASELINES)}")
    return [name for name in BASELINES if name in chosen or list(chosen) == ["true"]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line, or `arguments` in its place."""
    parser = ArgumentParser(prog="python -m eval.verifier", description="Scores a relation verifier on labelled pairs.")
    parser.add_argument("--config", action="config", help="YAML file of the flags below")
    parser.add_function_arguments(run, as_group=False, skip={"data", "baselines", "train", "compare", "record_results"})
    parser.add_argument("--data", nargs="+", type=str, required=True, metavar="FILE", help=".jsonl, .jsonl.gz or .parquet files of pairs")
    parser.add_argument("--baselines", nargs="+", type=str, metavar="NAME", help=f"true, or some of {', '.join(BASELINES)}")
    parser.add_argument("--train", nargs="+", type=str, metavar="FILE", help="training files of the baseline hypothesis_only")
    parser.add_argument("--compare", nargs="+", type=str, metavar="DIR", help="other checkpoints to read the same pairs")
    parser.add_argument("--record", type=bool, default=False, help="put the numbers into the checkpoint's card and metrics too")
    options = parser.parse_args(arguments).as_dict()
    options.pop("config")
    options["record_results"] = options.pop("record")
    try:
        run(**options)
    except (CheckpointError, PairFileError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
