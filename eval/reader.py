"""Measuring a reader: `python -m eval.reader --data DATA [--checkpoint reader-minilm] [--part test] [--json OUT]`.

Every question set is read one passage at a time, with the answer that the passage states as gold. EM and F1 are of the best span on
passages that state an answer, whether or not the reader would have kept it; `answered` and `none` say how often its decision was right on
passages with and without one; `right` is the share of passages with the right outcome. `--record true` writes the numbers into the card.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from jsonargparse import auto_cli

from arbgraph.checkpoint import CARD, METRICS, CheckpointError
from arbgraph.models import ModelNotFoundError
from arbgraph.reader import Reader
from arbgraph.reader.reader import Precision
from arbgraph.reader.readings import QuestionFileError, Reading, ramdocs, readings
from arbgraph.schema import content_id
from eval.card import set_section, table
from eval.measured import measured
from eval.metrics.reading import mean, reading_scores
from eval.verifier_report import write_json

COLUMNS = ("readings", "em", "f1", "answered", "none", "right", "auroc_right", "auroc_answered", "ece")


def sampled(rows: Sequence[Reading], limit: int | None) -> list[Reading]:
    """At most `limit` readings, chosen by a hash of their texts; a smaller limit chooses a part of a larger one."""
    return sorted(rows, key=lambda row: content_id("evaluation", row.question, row.passage))[:limit]


def evaluate_reader(
    data: str,
    checkpoint: str = "reader-minilm",
    part: Literal["dev", "test"] = "test",
    ramdocs_part: Literal["dev", "test", "none"] = "dev",
    limit: int | None = None,
    json: str | None = None,
    record: bool = False,
    device: str | None = None,
    precision: Precision = "fp32",
) -> None:
    """Reads the sets and shows a table.

    Args:
        data: folder of the question sets.
        checkpoint: folder, or name of a shipped reader.
        part: of the question sets.
        ramdocs_part: of RAMDocs; its test part is for the final number of a released reader only.
        limit: at most this many readings a set.
        json: file to write the numbers to.
        record: write them into the checkpoint's card and metrics.
        device: a torch device; null takes CUDA where there is one.
        precision: fp32 or bf16.
    """
    reader = Reader.load(checkpoint, device=device, precision=precision)
    found, lost = readings(data, part)
    sets = {name: rows for name, rows in found.items() if rows}
    if ramdocs_part != "none":
        sets[f"ramdocs/{ramdocs_part}"], lost[f"ramdocs/{ramdocs_part}"] = ramdocs(data, ramdocs_part)
    results: dict[str, dict[str, Any]] = {}
    started, windows = time.perf_counter(), 0
    for name, rows in sets.items():
        rows = sampled(rows, limit)
        answers = reader.read([row.question for row in rows], [row.passage for row in rows], n_best=1)
        results[name] = reading_scores(rows, answers) | {"lost": lost[name]}
        windows += len(rows)
    results["mean"] = {key: mean([one[key] for one in results.values() if one.get(key) is not None]) for key in COLUMNS[1:]}
    rate = windows / (time.perf_counter() - started)
    about = {
        **measured(),
        "checkpoint": checkpoint,
        "part": part,
        "limit": limit,
        "precision": precision,
        "passages_per_second": rate,
    }
    _show(results, f"{checkpoint}: {part} parts, {rate:.0f} passages/s")
    if json is not None:
        write_json(json, about | {"sets": results})
    if record:
        _record(reader, about | {"sets": results})


def _show(results: Mapping[str, Mapping[str, Any]], title: str) -> None:
    from rich.console import Console
    from rich.table import Table

    shown = Table(title=title)
    for name in ("set", *COLUMNS):
        shown.add_column(name, justify="left" if name == "set" else "right")
    for name, one in results.items():
        shown.add_row(name, *(_text(one.get(key)) for key in COLUMNS))
    # A log file has no width; rich would fold it to 80 columns.
    Console(highlight=False, width=None if sys.stdout.isatty() else 160).print(shown)


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


def _record(reader: Reader, report: Mapping[str, Any]) -> None:
    import json

    assert reader.checkpoint is not None
    folder = Path(reader.checkpoint.path)
    limit = f"at most {report['limit']} readings a set" if report["limit"] else "all readings"
    lines = [
        f"{report['date']}, {report['hardware']}, {limit}; `python -m eval.reader --checkpoint {reader.checkpoint.path.name} --data DATA "
        f"--part {report['part']} --precision {report['precision']}`.",
        "",
        *table(("set", *COLUMNS), [[name, *(_text(one.get(key)) for key in COLUMNS)] for name, one in report["sets"].items()]),
    ]
    card = folder / CARD
    card.write_text(set_section(card.read_text(encoding="utf-8"), "Evaluation", lines), encoding="utf-8")
    metrics = folder / METRICS
    content = json.loads(metrics.read_text(encoding="utf-8")) | {"evaluation": report}
    metrics.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    try:
        auto_cli(evaluate_reader, as_positional=False)
    except (QuestionFileError, CheckpointError, ModelNotFoundError) as error:
        raise SystemExit(f"error: {error}") from error
