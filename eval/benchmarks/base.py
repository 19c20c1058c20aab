"""What a benchmark is: questions with documents, and what a right answer to each would be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from arbgraph.io import InputError
from arbgraph.schema import Query, content_id

# Documents with these labels are false or superseded, whatever their benchmark calls them.
UNTRUE = frozenset({"misinfo", "misinfo_amplified", "outdated", "counterfactual"})


@dataclass(frozen=True)
class Item:
    """One question.

    Attributes:
        query: question and documents; its id is unique within the benchmark. Documents carry no label, and their order tells none.
        gold: one group of aliases per right answer; all groups are wanted, any alias of a group counts.
        wrong: answers that count as wrong.
        answerable: whether the documents allow an answer; where they do not, the right behaviour is to abstain.
        reference: a long reference answer, or None. facts: reference facts, for fact recall.
        labels: document id -> correct, misinfo, noise, outdated, ... as the data says.
        answers: document id -> the answer that the document gives, where the data says so.
        metadata: anything else the data holds, plain JSON values.
    """

    query: Query
    gold: tuple[tuple[str, ...], ...] = ()
    wrong: tuple[str, ...] = ()
    answerable: bool = True
    reference: str | None = None
    facts: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """A hash of all that a system sees: the question and the documents in their order."""
        return content_id("item", self.query.model_dump_json())


@dataclass(frozen=True)
class Benchmark:
    """A named set of questions.

    Attributes:
        name: as on the command line. title, paper, licence: what it is, where it comes from, under which terms.
        splits: their names; test is last. behaviour: what a right answer does, in one sentence.
        wanted: "all" right answers, or "one" of them. folder: where its files are, below the data folder.
        files: what `read` needs, below `folder`; each may be gzipped and then ends in .gz as well.
        read: (folder, split) -> items, in a fixed order. Raises InputError naming file and record.
        metrics: names of the metrics (`eval.metrics.table`) that the benchmark is judged by, the main one first.
        optional: files that `read` takes in where they are there.
        repeats: whether a question that the files hold twice, documents and all, is taken once or refused.
    """

    name: str
    title: str
    paper: str
    licence: str
    splits: tuple[str, ...]
    behaviour: str
    wanted: Literal["all", "one"]
    folder: str
    files: tuple[str, ...]
    read: Callable[[Path, str], list[Item]]
    metrics: tuple[str, ...]
    optional: tuple[str, ...] = ()
    repeats: Literal["merge", "refuse"] = "merge"

    def paths(self, root: str | Path) -> list[Path]:
        """The files that are read. Raises InputError, naming the first that is missing."""
        folder = Path(root) / self.folder
        more = [path for name in self.optional if (path := look_for(folder, name))]
        return [*(find_file(folder, name) for name in self.files), *more]

    def load(self, root: str | Path, split: str | None = None) -> list[Item]:
        """The items of a split, by default the last one; `all` are the items of every split.

        Raises InputError on an unknown split, a missing or broken file, an id used twice, and, where repeats are refused, on the same
        question with the same documents twice: questions are the unit of every comparison, and a repeated one would count double.
        """
        split = split or self.splits[-1]
        if split not in (*self.splits, "all"):
            raise InputError(f"benchmark {self.name}: no split {split!r}; choose one of {', '.join(self.splits)}, all")
        self.paths(root)
        folder = Path(root) / self.folder
        items = [item for part in (self.splits if split == "all" else (split,)) for item in self.read(folder, part)]
        if not items:
            raise InputError(f"{folder}: the split {split!r} of {self.name} holds no question")
        where = f"{folder}: benchmark {self.name}"
        _refuse_repeated_ids(items, where)
        return _without_repeats(items, where, self.repeats)


def _refuse_repeated_ids(items: Sequence[Item], where: str) -> None:
    for identifier, count in Counter(item.query.id for item in items).items():
        if count > 1:
            raise InputError(f"{where}: the id {identifier!r} is used {count} times; give every question its own")


def _without_repeats(items: Sequence[Item], where: str, repeats: str) -> list[Item]:
    """The items, the same question with the same documents once; `metadata["occurs"]` says how often it was there."""
    kept: dict[str, Item] = {}
    for item in items:
        first = kept.setdefault(item.query.digest, item)
        if first is item:
            continue
        if repeats == "refuse":
            ids = f"{first.query.id!r} and {item.query.id!r}"
            raise InputError(f"{where}: {ids} are the same question with the same documents; keep one of them")
        kept[item.query.digest] = replace(first, metadata={**first.metadata, "occurs": first.metadata.get("occurs", 1) + 1})
    return list(kept.values())


def look_for(folder: Path, name: str) -> Path | None:
    """`folder/name` or `folder/name.gz`, whichever is there."""
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def find_file(folder: Path, name: str) -> Path:
    """As `look_for`. Raises InputError where neither is there."""
    path = look_for(folder, name)
    if path is None:
        raise InputError(f"{folder / name}: no such file, nor {name}.gz; give the folder that holds the benchmark data with --root")
    return path
