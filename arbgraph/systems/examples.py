"""Solved examples as earlier turns: small models learn the form of a reply from them rather than from instructions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from arbgraph.chat.base import Message, Messages
from arbgraph.chat.prompts import Prompt
from arbgraph.chat.quoting import Block


def after_examples(asked: Messages, examples: Sequence[tuple[Messages, str]]) -> Messages:
    """A conversation of system and user turn with solved ones before it: the user turn of each example, then its reply."""
    system, user = asked.turns
    solved = [turn for example, reply in examples for turn in (example.turns[-1], Message("assistant", reply))]
    return replace(asked, turns=(system, *solved, user))


def examples_of_one_document(
    prompt: Prompt, unknown: str, answered: str, *, beside_unknown: Sequence[Block] = (), beside_answered: Sequence[Block] = ()
) -> list[tuple[Messages, str]]:
    """Two solved examples of a prompt that reads one document: one that does not answer the question, then one that does.

    `beside_...` are further blocks of each. In this order a small model copies neither reply.
    """
    return [
        (prompt.messages([_QUESTION, _BESIDE_THE_POINT, *beside_unknown]), unknown),
        (prompt.messages([_QUESTION, _TO_THE_POINT, *beside_answered]), answered),
    ]


_QUESTION = Block("question", "Which river flows through Velm?")
_BESIDE_THE_POINT = Block("document", "Northern Rovers play at Kelvin Park and won the Highland Cup in 2004.", {"number": "1"})
_TO_THE_POINT = Block("document", "Velm is a town in Orren with 8,210 inhabitants. The river Aske flows through Velm.", {"number": "1"})
