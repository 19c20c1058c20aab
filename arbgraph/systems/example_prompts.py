"""Prompts that bring their solved examples along, and the material that the examples are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from arbgraph.chat.base import Messages
from arbgraph.chat.prompts import Prompt
from arbgraph.chat.quoting import Block
from arbgraph.systems.examples import after_examples


@dataclass(frozen=True)
class Example:
    """Material, a right reply, and the fields of the task."""

    blocks: tuple[Block, ...]
    reply: str
    fields: Mapping[str, str | int] = field(default_factory=dict)


@dataclass(frozen=True)
class ExamplePrompt(Prompt):
    """A prompt whose conversations begin with its examples."""

    examples: tuple[Example, ...] = ()

    def messages(self, blocks: Sequence[Block], **fields: str | int) -> Messages:
        solved = [(super(ExamplePrompt, self).messages(one.blocks, **one.fields), one.reply) for one in self.examples]
        return after_examples(super().messages(blocks, **fields), solved)


EXAMPLE_QUESTION = Block("question", "When was the bridge of Lindau opened?")
EXAMPLE_DOCUMENT = Block("document", "The bridge of Lindau was opened in 1884 and repaired in 1950.", {"number": "1"})
EXAMPLE_EVIDENCE = Block("evidence", EXAMPLE_DOCUMENT.text, {"number": "1"})
EXAMPLE_ANSWER = Block("answer", "1950")
