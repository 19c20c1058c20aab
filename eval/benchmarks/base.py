"""What a benchmark is: questions with documents, and what a right answer to each would be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from arbgraph.schema import Query


@dataclass(frozen=True)
class Item:
    """One question.

    Attributes:
        query: question and documents; its id is unique within the benchmark.
        gold: one group of aliases per right answer; all groups are wanted, any alias of a group counts.
        wrong: answers that count as wrong.
        reference: a long reference answer, or None. facts: reference facts, for fact recall.
        labels: document id -> correct, misinfo, noise, outdated, ... as the data says.
        answers: document id -> the answer that the document gives, where the data says so.
        metadata: anything else the data holds, plain JSON values.
    """

    query: Query
    gold: tuple[tuple[str, ...], ...] = ()
    wrong: tuple[str, ...] = ()
    reference: str | None = None
    facts: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Benchmark:
    """A named set of questions.

    Attributes:
        name: as on the command line. title, paper, licence: what it is, where it comes from, under which terms.
        splits: their names; test is last. behaviour: what a right answer does, in one sentence.
        wanted: "all" right answers, or "one" of them. folder: where its files are, below the data folder.
        read: (folder, split) -> items, in a fixed order. Raises InputError naming file and record.
        metrics: names of the metrics (`eval.metrics.table`) that the benchmark is judged by, the main one first.
    """

    name: str
    title: str
    paper: str
    licence: str
    splits: tuple[str, ...]
    behaviour: str
    wanted: Literal["all", "one"]
    folder: str
    read: Callable[[Path, str], list[Item]]
    metrics: tuple[str, ...]
