"""Question records, the format that most benchmarks are kept in, as items.

A record is `{"id", "question", "documents": [{"text", "title"?, "source"?, "date"?, "label"?, "answer"?}], "gold_answers", "wrong_answers",
"meta"?}`, one per line. What must not reach a system is kept apart: labels and answers stand beside the query, the ids of documents are
hashes of what they say, and their order is decided by those hashes, because many benchmarks list the true documents first or last.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from arbgraph.io import BadRecord, InputError, read_records
from arbgraph.schema import Document, Query, content_id
from arbgraph.splits import split_of
from eval.benchmarks.base import Item, find_file

HASHED = ("train", "dev", "test")  # the splits of data that brings none of its own


def _known(value: Any) -> Any:
    """NaN is how tables written as JSON say that nothing is known."""
    return None if isinstance(value, float) and math.isnan(value) else value


class SourceText(BaseModel):
    """A document of a record. `label` may be called `type`, as RAMDocs does; `credibility` is what the user knows of the source."""

    model_config = ConfigDict(extra="allow")

    text: str
    title: str = ""
    source: str = ""
    date: Annotated[str | None, BeforeValidator(_known)] = None
    label: str | None = None
    type: str | None = None
    answer: str | None = None
    credibility: float | None = None


class Record(BaseModel):
    """One question as it stands in a file."""

    id: str | None = None
    question: str
    documents: list[SourceText]
    gold_answers: list[str] = []
    wrong_answers: list[str] = []
    meta: dict[str, Any] = {}


def read_file(folder: Path, name: str) -> Iterator[tuple[str, Any]]:
    """`read_lines` of a file of a benchmark's folder, which may be gzipped."""
    return read_lines(find_file(folder, name))


def read_lines(path: Path) -> Iterator[tuple[str, Any]]:
    """(where, value) of every record. Raises InputError, naming file and line, on one that is not JSON."""
    for where, record in read_records(path):
        if isinstance(record, BadRecord):
            raise InputError(str(record))
        yield where, record


def read_questions(folder: Path, name: str) -> Iterator[tuple[str, Record]]:
    """(where, record) of every question. Raises InputError, naming file, line and field, on a record of another form."""
    for where, value in read_file(folder, name):
        yield where, parse(Record, value, where)


def parse(model: type[Any], value: Any, where: str) -> Any:
    """The value as `model`. Raises InputError, naming the place and the field."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "record"
        raise InputError(f"{where}: {field}: {first['msg']}; found {str(first.get('input'))[:60]!r}") from None


def each(answers: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Every answer is a right answer of its own; repetitions count once."""
    return tuple((answer,) for answer in dict.fromkeys(answers) if answer.strip())


def aliases(answers: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """All answers name the same right answer."""
    group = tuple(answer for answer in dict.fromkeys(answers) if answer.strip())
    return (group,) if group else ()


def to_item(
    record: Record,
    where: str,
    *,
    group: Callable[[Sequence[str]], tuple[tuple[str, ...], ...]],
    titles: bool = True,
    clean: Callable[[str], str] | None = None,
    order: Literal["hash", "given"] = "hash",
    loose_dates: bool = False,
    **more: Any,
) -> Item:
    """The item of a record.

    Args:
        record: the question; without an id, its id is the hash of question and documents.
        where: its place, for errors.
        group: how the gold answers form groups.
        titles: whether systems see the titles; they are left out where their style tells the label.
        clean: applied to every text.
        order: by the hash of question and document, or as given.
        loose_dates: a date that cannot be read, such as "1 day ago", counts as unknown and is kept in the metadata as `unread_dates`.
        more: further fields of the item, in place of those made here.

    Raises InputError.
    """
    unread = {given.date for given in record.documents if given.date and loose_dates and not _readable(given.date)}
    if unread:
        kept = [given.model_copy(update={"date": None}) if given.date in unread else given for given in record.documents]
        record = record.model_copy(update={"documents": kept, "meta": {**record.meta, "unread_dates": sorted(unread)}})
    documents, labels, answers = _documents(record, where, titles, clean)
    if order == "hash":
        documents.sort(key=lambda document: content_id("order", record.question, document.id))
    identifier = record.id or content_id("question", record.question, *sorted(document.id for document in documents))
    fields: dict[str, Any] = {
        "gold": group(record.gold_answers),
        "wrong": tuple(answer for answer in dict.fromkeys(record.wrong_answers) if answer.strip()),
        "metadata": record.meta,
    }
    query = Query(id=identifier, query=record.question.strip(), documents=tuple(documents))
    return Item(query=query, labels=labels, answers=answers, **{**fields, **more})


def _iso(date: str | None) -> str | None:
    """`2023/1/5` as `2023-01-05`; everything else as it stands."""
    return "-".join(part.zfill(2) for part in date.split("/")) if date else None


def _readable(date: str) -> bool:
    try:
        Document(text="-", published=_iso(date))  # pyright: ignore[reportArgumentType] the field parses text
    except ValidationError:
        return False
    return True


def _documents(
    record: Record, where: str, titles: bool, clean: Callable[[str], str] | None
) -> tuple[list[Document], dict[str, str], dict[str, str]]:
    documents: dict[str, Document] = {}
    labels, answers = {}, {}
    for number, given in enumerate(record.documents):
        try:
            document = Document(
                text=clean(given.text) if clean else given.text,
                title=given.title if titles else "",
                source=given.source,
                published=_iso(given.date),  # pyright: ignore[reportArgumentType] the field parses text
                credibility=given.credibility,
            )
        except ValidationError as error:
            first = error.errors()[0]
            field = "".join(f".{part}" for part in first["loc"])
            raise InputError(f"{where}: documents[{number}]{field}: {first['msg'].removeprefix('Value error, ')}") from None
        copies = sum(1 for known in documents if known.split("-")[0] == document.id)
        if copies:
            document = document.model_copy(update={"id": f"{document.id}-{copies + 1}"})
        documents[document.id] = document
        if label := given.label or given.type:
            labels[document.id] = label
        if given.answer is not None:
            answers[document.id] = given.answer
    return list(documents.values()), labels, answers


def hashed_reader(
    name: str, group: Callable[[Sequence[str]], tuple[tuple[str, ...], ...]] = aliases, **options: Any
) -> Callable[[Path, str], list[Item]]:
    """Reads a file of records whose questions are split by the hash of their text; options are those of `to_item`."""

    def read(folder: Path, split: str) -> list[Item]:
        records = [(where, record) for where, record in read_questions(folder, name) if split_of(record.question) == split]
        return [to_item(record, where, group=group, **options) for where, record in records]

    return read


def named_reader(
    names: Mapping[str, str], group: Callable[[Sequence[str]], tuple[tuple[str, ...], ...]] = aliases, **options: Any
) -> Callable[[Path, str], list[Item]]:
    """Reads one file of records per split, by the split's name; options are those of `to_item`."""

    def read(folder: Path, split: str) -> list[Item]:
        return [to_item(record, where, group=group, **options) for where, record in read_questions(folder, names[split])]

    return read
