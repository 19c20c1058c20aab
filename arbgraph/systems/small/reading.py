"""Reading the documents of many questions in one pass, with a file that remembers what was read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from arbgraph.reader import Answers, Reader, Span
from arbgraph.reader.generative import GenerativeReader
from arbgraph.schema import Query, content_id
from arbgraph.systems.small.evidence import Testimony, passage_of

N_BEST = 20
# Passages between two writes of a cache.
ROWS = 32
# Of a log-probability.
DECIMALS = 3


class ReadingCacheError(ValueError):
    """A cache of readings that cannot be read; the message names file and line."""


class ReadsPassages(Protocol):
    """What is asked of a reader."""

    def read(self, questions: Sequence[str], passages: Sequence[str], *, n_best: int = 5) -> list[Answers]: ...


class ScoresPhrases(Protocol):
    """What is asked of a generative reader."""

    def score(self, questions: Sequence[str], passages: Sequence[str], phrases: Sequence[Sequence[str]]) -> Sequence[Any]: ...


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
        self._known: dict[str, Answers] = dict(_rows(self.path, "spans"))

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
        found = [(key, self._known[key]) for key in keys]
        spans = [[[span.text, span.start, span.end, span.score] for span in answers] for _, answers in found]
        rows = [{"key": key, "no_answer": one.no_answer, "spans": some} for (key, one), some in zip(found, spans, strict=True)]
        _append(self.path, rows)


class CachedScoring:
    """A generative reader with the same kind of memory: log-probabilities of the phrases of a passage, by (reader, question, passage).

    Args:
        reader: loaded, or the name of a checkpoint, which is loaded when something is asked that the cache does not hold.
        identity: what tells this reader's scores from those of others. cache: file to read and to append to; None remembers nothing.

    Raises ReadingCacheError.
    """

    def __init__(self, reader: ScoresPhrases | str, identity: str, cache: str | Path | None = None) -> None:
        self._reader, self.identity = reader, identity
        self.path = Path(cache) if cache is not None else None
        self._known: dict[str, dict[str, float]] = dict(_rows(self.path, "scores"))

    def score(self, questions: Sequence[str], testimonies: Sequence[Testimony]) -> list[list[float]]:
        """Log-probabilities of no answer and of each phrase of every testimony, read with the question at the same place."""
        passages = [passage_of(one.document) for one in testimonies]
        phrases = [[phrase.text for phrase in one.phrases] for one in testimonies]
        keys = [content_id("scores", self.identity, *pair) for pair in zip(questions, passages, strict=True)]
        missing = [row for row, key in enumerate(keys) if not {*phrases[row], ""} <= self._known.get(key, {}).keys()]
        if missing:
            if isinstance(self._reader, str):
                self._reader = GenerativeReader.load(self._reader)
            for some in (missing[start : start + ROWS] for start in range(0, len(missing), ROWS)):
                asked = [questions[row] for row in some], [passages[row] for row in some], [phrases[row] for row in some]
                for row, scores in zip(some, self._reader.score(*asked), strict=True):
                    # Which passages share a batch changes the last bits; rounded, a question is answered alike alone and in a batch.
                    rounded = [round(score, DECIMALS) for score in scores.tolist()]
                    self._known[keys[row]] = self._known.get(keys[row], {}) | dict(zip(["", *phrases[row]], rounded, strict=True))
                _append(self.path, [{"key": keys[row], "scores": self._known[keys[row]]} for row in some])
        found = [[self._known[key][text] for text in ("", *some)] for key, some in zip(keys, phrases, strict=True)]
        if self.path is None:
            self._known.clear()
        return found


def _append(path: Path | None, rows: Sequence[dict[str, Any]]) -> None:
    if path is not None and rows:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as stream:
            stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _rows(path: Path | None, kind: Literal["spans", "scores"]) -> Iterator[tuple[str, Any]]:
    """What a cache remembers of one kind, with its key: spans of a reader, or scores of a generative one."""
    if path is None or not path.is_file():
        return
    with path.open(encoding="utf-8") as stream:
        for number, line in enumerate(stream, 1):
            try:
                row: dict[str, Any] = json.loads(line)
                spans = None if "scores" in row else Answers(tuple(Span(*span) for span in row["spans"]), row["no_answer"])
                if kind in row:
                    yield row["key"], row["scores"] if spans is None else spans
            except (ValueError, KeyError, TypeError) as error:
                raise ReadingCacheError(f"{path}:{number}: not a reading ({error}); delete the file to read everything anew") from error
