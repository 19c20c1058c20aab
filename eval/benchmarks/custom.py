"""A user's own questions: JSON or JSON Lines with any column names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from arbgraph.io import InputError
from eval.benchmarks.base import Benchmark, Item
from eval.benchmarks.kinds import LIST_METRICS, ONE_METRICS
from eval.benchmarks.records import Record, aliases, each, parse, read_file, to_item


@dataclass(frozen=True)
class Columns:
    """Which column holds what; `a.b` goes into an object. Only question and documents must be there.

    A document is a text, or an object with the columns named `document_*`. `gold` is an answer, a list of answers, or a list of lists of
    aliases; `wrong` an answer or a list of answers.
    """

    id: str = "id"
    question: str = "question"
    documents: str = "documents"
    gold: str = "gold"
    wrong: str = "wrong"
    reference: str = "reference"
    facts: str = "facts"
    document_text: str = "text"
    document_title: str = "title"
    document_source: str = "source"
    document_date: str = "date"
    document_label: str = "label"
    document_answer: str = "answer"
    document_credibility: str = "credibility"


def custom(file: str | Path, columns: Columns | None = None, wanted: Literal["all", "one"] = "all") -> Benchmark:
    """A benchmark of a file of the user's. `wanted`: whether flat gold answers are all wanted, or name one answer."""
    path, names = Path(file), columns or Columns()

    def read(folder: Path, _split: str) -> list[Item]:
        return [_item(value, where, names, wanted) for where, value in read_file(folder, path.name)]

    return Benchmark(
        name="custom",
        title=path.name,
        paper="",
        licence="",
        splits=("test",),
        behaviour="Gives the gold answers and none of the wrong ones.",
        wanted=wanted,
        folder=str(path.parent),
        files=(path.name,),
        read=read,
        metrics=LIST_METRICS if wanted == "all" else ONE_METRICS,
        repeats="refuse",
    )


def _item(value: Any, where: str, names: Columns, wanted: str) -> Item:
    if not isinstance(value, dict):
        raise InputError(f"{where}: expected an object, found {type(value).__name__}")
    found = {field.name: _get(value, getattr(names, field.name)) for field in fields(names) if not field.name.startswith("document_")}
    for needed in ("question", "documents"):
        if found[needed] is None:
            held = ", ".join(value)
            raise InputError(f"{where}: no column {getattr(names, needed)!r} for the {needed}; the record has {held}; set columns.{needed}")
    if not isinstance(found["documents"], list):
        raise InputError(f"{where}: {names.documents}: expected a list of texts or objects, found {type(found['documents']).__name__}")
    documents = [_document(document, names) for document in found["documents"]]
    gold, wrong = _listed(found["gold"]), _listed(found["wrong"])
    nested = any(isinstance(group, list) for group in gold)
    groups = tuple(group for part in gold for group in aliases(_listed(part))) if nested else None
    identifier = None if found["id"] is None else str(found["id"])
    record = {"id": identifier, "question": found["question"], "documents": documents, "wrong_answers": wrong}
    parsed = parse(Record, {**record, "gold_answers": [] if nested else gold}, where)
    more: dict[str, Any] = {"reference": found["reference"], "facts": tuple(_listed(found["facts"]))}
    if groups is not None:
        more["gold"] = groups
    return to_item(parsed, where, group=each if wanted == "all" else aliases, **more)


def _document(document: Any, names: Columns) -> Any:
    if not isinstance(document, Mapping):
        return {"text": document}
    kept = ("text", "title", "source", "date", "label", "answer", "credibility")
    values = {name: _get(document, getattr(names, f"document_{name}")) for name in kept}
    return {name: value for name, value in values.items() if value is not None}


def _get(record: Mapping[str, Any], path: str) -> Any:
    value: Any = record
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _listed(value: Any) -> list[Any]:
    return [] if value is None else value if isinstance(value, list) else [value]
