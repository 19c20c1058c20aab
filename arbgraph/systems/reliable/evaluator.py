"""How credible a triple is, from 0 to 10, in three steps: its entities, its relation, and the two together."""

from __future__ import annotations

import re

from arbgraph.chat.base import Messages
from arbgraph.chat.prompts import Prompt
from arbgraph.chat.quoting import Block
from arbgraph.systems.examples import after_examples
from arbgraph.systems.reliable.triples import Triple

SCALE = 10.0

EVALUATE = Prompt(
    id="reliable-evaluate",
    version=1,
    rules=(
        "You rate how credible a fact is, from 0 (certainly false) to 10 (certainly true), by what you know. Step 1: are its subject and "
        "its object real and established? Step 2: does the relation really hold between them? Step 3: put both together in one number."
    ),
    task='Rate the fact. Write one short sentence for each step, then a last line "Score: " with a number from 0 to 10.',
)
EXAMPLES = (
    ("(Paris; is the capital of; France)", "Step 1: both are real. Step 2: Paris is the capital. Step 3: certain.\nScore: 10"),
    ("(Mount Everest; lies in; Brazil)", "Step 1: both are real. Step 2: it lies in Asia. Step 3: false.\nScore: 0"),
    ("(Karl Nobody; wrote; The Blue Door)", "Step 1: the writer is not established. Step 2: unknown. Step 3: doubtful.\nScore: 4"),
)

_SCORE = re.compile(r"score\W{0,6}(\d+(?:\.\d+)?)", re.IGNORECASE)
_BARE = re.compile(r"\W*(\d+(?:\.\d+)?)(?:\s*/\s*10)?\W*")


def evaluation(triple: Triple) -> Messages:
    """The conversation that asks for a triple's score."""
    solved = [(EVALUATE.messages([Block("fact", fact)]), reply) for fact, reply in EXAMPLES]
    return after_examples(EVALUATE.messages([Block("fact", str(triple))]), solved)


def read_score(reply: str) -> float | None:
    """The last score of a reply divided by 10, in [0, 1]; a reply of one number needs no mark. None when it gives none from 0 to 10."""
    marked = _SCORE.findall(reply)
    bare = _BARE.fullmatch(reply)
    found = marked[-1] if marked else bare[1] if bare else None
    return float(found) / SCALE if found is not None and float(found) <= SCALE else None
