"""RGB, English: documents with the answer replaced (counterfactual), and noise beside the documents that hold the answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from arbgraph.io import InputError
from arbgraph.splits import split_of
from eval.benchmarks.base import Benchmark, Item
from eval.benchmarks.kinds import LIST_METRICS, main_first
from eval.benchmarks.records import HASHED, aliases, read_questions, to_item


def _groups(nested: Any, gold: list[str], where: str) -> tuple[tuple[str, ...], ...]:
    """The published nesting: a text or a list of aliases is one right answer, a list of them several."""
    if nested is None:
        return aliases(gold)
    parts = [nested] if isinstance(nested, str) else nested
    if not isinstance(parts, list) or not all(isinstance(part, str | list) for part in parts):
        raise InputError(f"{where}: meta.answer_groups is {str(nested)[:60]!r}; expected an answer, or a list of answers or alias lists")
    return tuple(group for part in parts for group in aliases([part] if isinstance(part, str) else part))


def _reader(name: str) -> Callable[[Path, str], list[Item]]:
    def read(folder: Path, split: str) -> list[Item]:
        items = []
        for where, record in read_questions(folder, name):
            if split_of(record.question) == split:
                gold = _groups(record.meta.get("answer_groups"), record.gold_answers, where)
                items.append(to_item(record, where, group=aliases, gold=gold))
        return items

    return read


def _row(name: str, title: str, behaviour: str) -> Benchmark:
    return Benchmark(
        name=f"rgb_{name}",
        title=f"RGB, {title}",
        paper="Chen et al. 2024, Benchmarking LLMs in Retrieval-Augmented Generation, AAAI, arXiv 2309.01431",
        licence="CC BY-NC-SA 4.0",
        splits=HASHED,
        behaviour=behaviour,
        wanted="all",
        folder="rgb",
        files=(f"{name}.jsonl",),
        read=_reader(f"{name}.jsonl"),
        metrics=main_first("em_substring", LIST_METRICS),
    )


BENCHMARKS = (
    _row(
        "counterfactual", "the answer replaced in half of the documents", "Gives the true answer although as many documents assert another."
    ),
    _row("noise04", "40% noise", "Gives the answer that a few documents hold, undisturbed by those that do not bear on it."),
    _row("noise08", "80% noise", "Gives the answer that one document in five holds, undisturbed by the rest."),
)
