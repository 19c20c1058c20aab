"""Reading the documents of many questions in one pass, with a file that remembers what was read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from arbgraph.reader import Answers, Reader, Span
from arbgraph.schema import Query, content_id
from arbgraph.systems.small.evidence import passage_of

N_BEST = 20


class ReadingCacheError(ValueError):
    """A cache of readings that cannot be read; the message names file and line."""


class ReadsPassages(Protocol):
    """What is asked of a reader."""

    def read(self, questions: Sequence[str], passages: Sequence[str], *, n_best: int = 5) -> list[Answers]: ...


class CachedReading:
    """A reader with an optional JSON Lines file of what it read before, one (reader, question, passage) a line.

    Args:
        reader: loaded, or the name of a checkpoint, which is loaded when a passage is met that the cache does not hold.
        identity: what tells this reader's readings from those of others, such as the hash of its weights.
        cache: file to read and to append to; None remembers within the call alone.

    `read_anew` counts the passages that were read, `reused` those found in the cache. Raises ReadingCacheError.
    """

    def __init__(self, reader: ReadsPassages | str, identity: str, cache: str | Path | None = None) -> None:
        self._reader, self.identity = reader, identity
        self.path = Path(cache) if cache is not None else None
        self.read_anew = self.reused = 0
        self._known: dict[str, Answers] = _load(self.path) if self.path is not None and self.path.is_file() else {}

    def read(self, queries: Sequence[Query]) -> list[list[Answers]]:
        """What every document of every query answers, in order."""
        wanted = [(query.query, passage_of(document)) for query in queries for document in query.documents]
        keys = [content_id("reading", self.identity, N_BEST, question, passage) for question, passage in wanted]
        missing = {key: pair for key, pair in zip(keys, wanted, strict=True) if key not in self._known}
        self.reused += len(keys) - len(missing)
        self.read_anew += len(missing)
        if missing:
            if isinstance(self._reader, str):
                self._reader = Reader.load(self._reader)
            questions, passages = zip(*missing.values(), strict=True)
            for key, answers in zip(missing, self._reader.read(questions, passages, n_best=N_BEST), strict=True):
                self._known[key] = answers
            self._append(list(missing))
        found = iter([self._known[key] for key in keys])
        answers = [[next(found) for _ in query.documents] for query in queries]
        if self.path is None:
            self._known.clear()
        return answers

    def _append(self, keys: Sequence[str]) -> None:
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as stream:
            for key in keys:
                answers = self._known[key]
                spans = [[span.text, span.start, span.end, span.score] for span in answers]
                stream.write(json.dumps({"key": key, "no_answer": answers.no_answer, "spans": spans}, ensure_ascii=False) + "\n")


def _load(path: Path) -> dict[str, Answers]:
    known = {}
    with path.open(encoding="utf-8") as stream:
        for number, line in enumerate(stream, 1):
            try:
                row: dict[str, Any] = json.loads(line)
                known[row["key"]] = Answers(tuple(Span(*span) for span in row["spans"]), row["no_answer"])
            except (ValueError, KeyError, TypeError) as error:
                raise ReadingCacheError(f"{path}:{number}: not a reading ({error}); delete the file to read everything anew") from error
    return known
