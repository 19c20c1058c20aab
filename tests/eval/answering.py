"""Systems for the tests of the runner: they answer from the documents' labels or from the question's text, without a model.

`python -m tests.eval.answering OUT [SECONDS]` answers the small RAMDocs file through the runner, slowly, for tests that kill it or start it
several times at once.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arbgraph.schema import Answer, Failed, Query, content_id
from arbgraph.systems import System

DATA = Path(__file__).parent / "data"


class FirstWord(System):
    """Answers with the first word of every document; a query whose id is among `fails` fails. Remembers the batches."""

    name = "first_word"

    def __init__(self, fails: Sequence[str] = (), seconds: float = 0.0, option: int = 1) -> None:
        self.fails, self.seconds, self.option = set(fails), seconds, option
        self.batches: list[list[str]] = []

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "option": self.option}

    def answer(self, batch: Sequence[Query]) -> list[Answer | Failed]:
        self.batches.append([query.id for query in batch])
        time.sleep(self.seconds * len(batch))
        return [self._one(query) for query in batch]

    def _one(self, query: Query) -> Answer | Failed:
        if query.id in self.fails:
            return Failed(stage="first_word", reason="told to fail", usage={"calls": 1, "prompt_tokens": 7, "completion_tokens": 0})
        words = tuple(dict.fromkeys(document.text.split()[0] for document in query.documents))
        usage = {"calls": 1, "prompt_tokens": len(query.query), "completion_tokens": 2}
        return Answer(text=f"{content_id(query.id)}: {'; '.join(words)}", short_answers=words, usage=usage)


def main(out: str, seconds: float = 0.0) -> None:
    """Answers in batches of one."""
    from eval.runner import RunConfig, run

    config = RunConfig(benchmark="custom", system="first_word", data=str(DATA / "many.jsonl"), batch_size=2)
    run(config, out, system=FirstWord(seconds=seconds))


if __name__ == "__main__":
    main(sys.argv[1], *map(float, sys.argv[2:]))
