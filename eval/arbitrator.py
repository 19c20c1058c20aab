"""Measures arbitrators on contradictions with a known outcome: `python -m eval.arbitrator --data FILE... --judges NAME...`.

DATA is a file of arbitration records (`arbgraph.arbitrator.records`) or of cases with claims and verdicts (as `eval.cases` reads; their
annotated contradictions with one valid side are judged). A judge is one of
- `fixed`: the evidence arbitrator with its hand-set weights; a checkpoint: a learned evidence or a causal arbitrator;
- `zero-shot:CHAT`: option scores of a chat model without an adapter (`zero-shot:smollm2`); `chat:CHAT`: its written verdict;
- `majority`: the side with more independent sources; `margin`: the side that the verifier's other relations favour; `relevance`: the
  claim that is closer to the query;
- `folds:FOLDER`: learned evidence arbitrators of cross-validation, each on the questions that it did not see;
- `oracle`: the outcome itself.

Numbers, over contradictions that have a right side unless said otherwise:
- accuracy: the likelier side is the right one (a tie counts half); at 80%: the same over the most confident 80%, confidence being the
  larger probability of a side; AURC: area under risk against coverage, 0 is best;
- coverage: share of all contradictions in which a side passes the gate; right when gated: share of those it is right in (a contradiction
  without a right side counts as wrong); three-way: accuracy with `unknown` as a third outcome, over all;
- ECE: 15 equal-width bins of the larger probability of a side against its being right;
- bias: mean difference of P(first claim wins) between the two orders before they are averaged, signed and absolute; after averaging it is
  measured by judging swapped cases, and reported as `bias after`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from jsonargparse import auto_cli
from torch import Tensor

from arbgraph.chat.base import ChatError
from arbgraph.checkpoint import CheckpointError
from arbgraph.io import InputError, write_json_lines
from arbgraph.models import ModelNotFoundError
from arbgraph.settings import SettingsError, load_settings
from eval.arbitrator_trials import UNKNOWN, Judge, Judged, Trials, load_trials, make_judge
from eval.metrics.calibration import expected_calibration_error
from eval.metrics.selective import area_under_risk_coverage, risk_coverage_curve
from eval.metrics.significance import compare_questions, holm

COVERAGE = 0.8


def quality(verdicts: Tensor, outcome: Tensor, gate: float) -> dict[str, float | int | None]:
    """Every number of the table for verdicts `[C, 3]` against `outcome [C]`; failed rows (NaN) decide nothing and are counted."""
    failed = verdicts.isnan().any(-1)
    known = torch.where(failed.unsqueeze(-1), torch.tensor([0.0, 0.0, 1.0], dtype=torch.float64), verdicts.double())
    sides, decided = known[:, :2], outcome != UNKNOWN
    right, confidence = correctness(known, outcome), sides.amax(-1)
    gated = (confidence >= gate) & (sides[:, 0] != sides[:, 1])
    correct, sure = right[decided], confidence[decided]
    coverage, risk = risk_coverage_curve(sure, 1 - correct.round()) if decided.any() else (torch.zeros(0), torch.zeros(0))
    three_way = known.argmax(-1) == outcome
    return {
        "contradictions": len(outcome),
        "with a right side": int(decided.sum()),
        "failed": int(failed.sum()),
        "accuracy": _mean(correct),
        "accuracy at 80%": 1 - float(risk[(coverage >= COVERAGE - 1e-9).nonzero()[0, 0]]) if len(risk) else None,
        "AURC": area_under_risk_coverage(sure, 1 - correct.round()) if decided.any() else None,
        "coverage": _mean(gated.double()),
        "right when gated": _mean((right * decided)[gated]),
        "three-way": _mean(three_way.double()),
        "ECE": expected_calibration_error(sure.clamp(0, 1), (correct == 1).double()) if decided.any() else None,
    }


def correctness(verdicts: Tensor, outcome: Tensor) -> Tensor:
    """1 where the likelier side is the right one, 1/2 where both are equally likely, else 0; `[C]` float64, 0 without a right side."""
    a, b = verdicts[:, 0], verdicts[:, 1]
    first = torch.where(a == b, 0.5, (a > b).double())
    return torch.where(outcome == 0, first, torch.where(outcome == 1, 1 - first, 0.0))


def _mean(values: Tensor) -> float | None:
    return float(values.double().mean()) if values.numel() else None


def position_bias(orders: Tensor) -> dict[str, float]:
    """P(a wins) with a first minus with b first, of orders `[C, 2, 3]`: its mean, and the mean of its size."""
    difference = orders[:, 0, 0] - orders[:, 1, 0]
    difference = difference[~difference.isnan()]
    return {"bias": float(difference.mean()), "bias size": float(difference.abs().mean())}


def swapped(trials: Trials) -> Trials:
    """The same contradictions with the sides of every text case exchanged."""
    outcome = torch.tensor([1, 0, 2])[trials.outcome]
    return replace(trials, cases=[case.swapped() for case in trials.cases], outcome=outcome)


def evaluate(trials: Trials, judges: dict[str, Judge], reference: str, gate: float, seed: int = 0) -> dict[str, Any]:
    """Every judge on the trials: numbers over all and by type, bias, and paired tests of accuracy over questions against the reference."""
    if reference not in judges:
        raise InputError(f"reference {reference!r} is none of the judges; choose one of {', '.join(judges)}")
    if not trials.cases:
        raise InputError(f"{trials.name}: holds no contradiction with an outcome")
    judged = {name: judge(trials) for name, judge in judges.items()}
    types = sorted(set(trials.types))
    rows: dict[str, dict[str, Any]] = {}
    for name, found in judged.items():
        row: dict[str, Any] = quality(found.verdicts, trials.outcome, gate)
        if found.orders is not None:
            row |= position_bias(found.orders)
            again = judges[name](swapped(trials))
            row["bias after"] = float((again.verdicts[:, 1] - found.verdicts[:, 0]).abs().nan_to_num().mean())
        row["by type"] = {kind: _accuracy_of(found, trials, [kind == other for other in trials.types]) for kind in types}
        rows[name] = row
    tests = {name: _compared(found, judged[reference], trials, seed) for name, found in judged.items() if name != reference}
    corrected = holm([None if test is None else test["p_permutation"] for test in tests.values()])
    for (name, test), p in zip(tests.items(), corrected, strict=True):
        rows[name]["against reference"] = test and {**test, "p_holm": p}
    about = {"set": trials.name, "gate": gate, "reference": reference, "types": {kind: trials.types.count(kind) for kind in types}}
    return {**about, "questions": len(set(trials.questions)), "judges": rows}


def _accuracy_of(found: Judged, trials: Trials, chosen: Sequence[bool]) -> float | None:
    rows = torch.tensor(chosen) & (trials.outcome != UNKNOWN)
    verdicts = found.verdicts[rows].nan_to_num(0.0)
    return _mean(correctness(verdicts, trials.outcome[rows]))


def _compared(found: Judged, reference: Judged, trials: Trials, seed: int) -> dict[str, Any] | None:
    """Accuracy per question (the mean over its contradictions with a right side), system minus reference."""
    ours, theirs = (_by_question(one, trials) for one in (found, reference))
    result = compare_questions(ours, theirs, seed=seed)
    return result and {**asdict(result.difference), "p_permutation": result.p_permutation}


def _by_question(found: Judged, trials: Trials) -> dict[str, float | None]:
    right = correctness(found.verdicts.nan_to_num(0.0), trials.outcome).tolist()
    values: dict[str, list[float]] = {question: [] for question in trials.questions}
    for question, outcome, value in zip(trials.questions, trials.outcome.tolist(), right, strict=True):
        if outcome != UNKNOWN:
            values[question].append(value)
    return {question: sum(each) / len(each) if each else None for question, each in values.items()}


def main(
    data: list[Path],
    judges: list[str],
    reference: str = "fixed",
    gate: float = 0.5,
    settings: str = "default",
    limit: int | None = None,
    seed: int = 0,
    json: Path | None = None,
) -> None:
    """Measures arbitrators on contradictions with a known outcome.

    Args:
        data: files of arbitration records, or of cases with claims and verdicts.
        judges: who judges; see the top of this module.
        reference: the judge that the others are compared with.
        gate: confidence from which a verdict counts as given.
        settings: profile or YAML file, for the graphs of cases.
        limit: only the first records or cases of every file.
        seed: of the resampling.
        json: write all numbers here, one line per file.
    """
    options = load_settings(settings)
    made = {name: make_judge(name) for name in judges}
    results = []
    for path in data:
        results.append({"data": str(path), **evaluate(load_trials(path, options, limit), made, reference, gate, seed)})
        _print(results[-1])
    if json is not None:
        write_json_lines(json, results)


_COLUMNS = ("accuracy", "accuracy at 80%", "AURC", "coverage", "right when gated", "three-way", "ECE", "bias", "bias size", "bias after")


def _print(result: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    first = next(iter(result["judges"].values()))
    title = f"{result['set']}: {first['contradictions']} contradictions of {result['questions']} questions, "
    table = Table("", *result["judges"], title=f"{title}{first['with a right side']} with a right side; gate {result['gate']:g}")
    for column in _COLUMNS:
        table.add_row(column, *(_number(row.get(column)) for row in result["judges"].values()))
    table.add_row("failed", *(str(row["failed"]) for row in result["judges"].values()))
    table.add_section()
    for kind, count in result["types"].items():
        table.add_row(f"{kind} ({count})", *(_number(row["by type"][kind]) for row in result["judges"].values()))
    table.add_section()
    table.add_row(f"accuracy less {result['reference']}", *(_difference(row.get("against reference")) for row in result["judges"].values()))
    console.print(table)
    console.print("Accuracy by type below the line. Differences: mean over questions, 95% bootstrap interval, permutation p after Holm.")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _difference(row: dict[str, Any] | None) -> str:
    return "-" if row is None else f"{row['difference']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}] p {row['p_holm']:.3f}"


if __name__ == "__main__":
    import sys

    try:
        auto_cli(main, as_positional=False)
    except (InputError, SettingsError, CheckpointError, ChatError, ModelNotFoundError) as error:
        sys.exit(f"error: {error}")
