"""Rivals that share the reader: the answer of most documents, and the answers of all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arbgraph.schema import Answer, Failed, Query
from arbgraph.systems.base import System
from arbgraph.systems.majority import count_votes
from arbgraph.systems.readings import listed
from arbgraph.systems.small.reading import ReadsPassages
from arbgraph.systems.small.system import open_reading


class MajoritySmall(System):
    """Every document votes for the reader's best answer, if it has one; answers with enough votes win.

    Args:
        reader: a reader, or the name or folder of its checkpoint. theta: the least number of votes; None returns those with the most.
        cache: a JSON Lines file that keeps what the reader found.
    """

    name = "majority-small"

    def __init__(self, *, reader: str | ReadsPassages = "reader-minilm", theta: int | None = None, cache: str | Path | None = None) -> None:
        if theta is not None and theta < 1:
            raise ValueError(f"theta is {theta}; give the least number of votes of an answer, or None for the plurality")
        self.reading, self.theta = open_reading(reader, cache), theta

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "reader": self.reading.identity, "theta": self.theta}

    def answer(self, batch: Sequence[Query]) -> list[Answer | Failed]:
        outcomes: list[Answer | Failed] = []
        for query, read in zip(batch, self.reading.read(batch), strict=True):
            answers = [(answers.best.text,) if answers.best is not None else () for answers in read]
            clusters = count_votes(query.documents, answers)
            least = self.theta if self.theta is not None else max((cluster.votes for cluster in clusters), default=0)
            chosen = [cluster for cluster in clusters if cluster.votes >= least]
            usage = {"documents": len(query.documents)}
            trace = {"votes": {cluster.name: cluster.votes for cluster in clusters}}
            outcomes.append(listed([c.name for c in chosen], [c.document_ids for c in chosen], usage=usage, trace=trace))
        return outcomes


class AllAnswersSmall(MajoritySmall):
    """The best answer of every document that has one: nothing is arbitrated."""

    name = "all-answers-small"

    def __init__(self, *, reader: str | ReadsPassages = "reader-minilm", cache: str | Path | None = None) -> None:
        super().__init__(reader=reader, theta=1, cache=cache)
