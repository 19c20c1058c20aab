"""Where a run of `arbgraph-small` loses questions, stage by stage: `python -m eval.answer_errors --run DIR --root DATA`.

A question whose gold answers are not all given, or that gives a wrong one, is put down to the first stage that explains it: a gold answer
stands in no document; the readers do not claim it, though another spelling that holds it or is held by it is claimed (span) or not
(reader); it is claimed and rejected (truth rejected); or all gold answers are given, and a wrong one with them (misinformation accepted).
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from jsonargparse import auto_cli
from rich.console import Console
from rich.table import Table

from arbgraph.systems.small.canonical import same_answer
from eval.benchmarks.base import Item
from eval.metrics.answers import contained, normalise_answer
from eval.run_folder import RunFolder
from eval.runner import config_of

STAGES = ("right", "not in the documents", "reader", "span", "truth rejected", "misinformation accepted")


def stage_of(item: Item, answer: dict[str, Any]) -> str:
    """The first stage, in the order of `STAGES`, that explains how an answered question of arbgraph-small went."""
    given = {normalise_answer(text) for text in answer["short_answers"]}
    claims = [claim["answer"] for claim in answer["trace"].get("claims", [])]
    claimed = {normalise_answer(text) for text in claims}
    missing = [group for group in item.gold if not {normalise_answer(alias) for alias in group} & given]
    wrong = {normalise_answer(text) for text in item.wrong} & given
    if not missing:
        return "misinformation accepted" if wrong else "right"
    unclaimed = [group for group in missing if not {normalise_answer(alias) for alias in group} & claimed]
    if any(not any(contained(document.text, group) for document in item.query.documents) for group in unclaimed):
        return "not in the documents"
    if any(not any(same_answer(alias, text) for alias in group for text in claims) for group in unclaimed):
        return "reader"
    return "span" if unclaimed else "truth rejected"


def answer_errors(run: str, root: str | None = None, json_out: str | None = None) -> None:
    """Prints how many questions each stage loses.

    Args:
        run: folder of a finished run of arbgraph-small. root: folder of the benchmark data; by default that of the run.
        json_out: file to write the counts to as JSON.
    """
    folder = RunFolder(run)
    config = config_of(folder.read_config(), run)
    if root is not None:
        config = replace(config, root=root)
    items = config.items(config.open_benchmark())
    rows = folder.predictions(items)
    answers = {item.query.id: rows[item.query.id]["answer"] for item in items if rows[item.query.id]["answer"] is not None}
    counts = Counter(stage_of(item, answers[item.query.id]) for item in items if item.query.id in answers)
    also_wrong = sum(
        bool({normalise_answer(text) for text in item.wrong} & {normalise_answer(text) for text in answers[item.query.id]["short_answers"]})
        for item in items
        if item.query.id in answers
    )
    table = Table("stage", "questions", "share", box=None, padding=(0, 2, 0, 0))
    for stage in STAGES:
        table.add_row(stage, str(counts[stage]), f"{100 * counts[stage] / len(items):.1f}%")
    table.add_row("failed", str(len(items) - len(answers)), "")
    table.add_row("a wrong answer among those given", str(also_wrong), f"{100 * also_wrong / len(items):.1f}%")
    Console().print(table)
    if json_out is not None:
        values = {stage: counts[stage] for stage in STAGES} | {"questions": len(items), "states_wrong": also_wrong}
        Path(json_out).write_text(json.dumps(values) + "\n", encoding="utf-8")


if __name__ == "__main__":
    auto_cli(answer_errors, as_positional=False)
