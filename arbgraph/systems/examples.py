"""Solved examples as earlier turns: small models learn the form of a reply from them rather than from instructions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from arbgraph.chat.base import Message, Messages
from arbgraph.chat.prompts import Prompt
from arbgraph.chat.quoting import Block
from arbgraph.systems.replies import MARK, UNKNOWN

# How a prompt about one document asks for its reply: evidence before the answer, and "unknown" before both, which a small model would
# otherwise say last and therefore always.
EVIDENCE_FORM = (
    f'Where the answer is not given, it is "{UNKNOWN}"; several answers are separated by semicolons. Write one or two sentences with the '
    f'evidence, then a line that begins with "{MARK}" and gives the answer in as few words as possible.'
)


def after_examples(asked: Messages, examples: Sequence[tuple[Messages, str]]) -> Messages:
    """A conversation of system and user turn with solved ones before it: the user turn of each example, then its reply."""
    system, user = asked.turns
    solved = [turn for example, reply in examples for turn in (example.turns[-1], Message("assistant", reply))]
    return replace(asked, turns=(system, *solved, user))


UNKNOWN_REPLY = f"The document is about a football club and does not name a river.\n{MARK} {UNKNOWN}"
ANSWERED_REPLY = f"The document says that the river Aske flows through Velm.\n{MARK} Aske"


def examples_of_one_document(
    prompt: Prompt, *, beside_unknown: Sequence[Block] = (), beside_answered: Sequence[Block] = ()
) -> list[tuple[Messages, str]]:
    """Two solved examples of a prompt that asks for `EVIDENCE_FORM`: a document that does not give the answer, then one that does.

    `beside_...` are further blocks of each. In the other order a small model says "unknown" to everything.
    """
    return [
        (prompt.messages([_QUESTION, _BESIDE_THE_POINT, *beside_unknown]), UNKNOWN_REPLY),
        (prompt.messages([_QUESTION, _TO_THE_POINT, *beside_answered]), ANSWERED_REPLY),
    ]


_QUESTION = Block("question", "Which river flows through Velm?")
_BESIDE_THE_POINT = Block("document", "Northern Rovers play at Kelvin Park and won the Highland Cup in 2004.", {"number": "1"})
_TO_THE_POINT = Block("document", "Velm is a town in Orren with 8,210 inhabitants. The river Aske flows through Velm.", {"number": "1"})
