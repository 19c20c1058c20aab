"""Prompts that bring their solved examples along, and the material that the examples are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from arbgraph.chat.base import Messages
from arbgraph.chat.prompts import Prompt
from arbgraph.chat.quoting import Block
from arbgraph.systems.examples import after_examples
from arbgraph.systems.replies import MARK, UNKNOWN


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

_OTHER = Block("document", "Lindau has a football club.", {"number": "2"})
_PAINTERS = (
    Block("question", "When was the painter Anna Holm born?"),
    Block("document", "Anna Holm, the painter from Riga, was born in 1902.", {"number": "1"}),
    Block("document", "Anna Holm (born 1957) paints ships in Oslo.", {"number": "2"}),
)
# Final replies: from several documents, from one, and from none.
ONE_ANSWER = Example((EXAMPLE_QUESTION, EXAMPLE_DOCUMENT, _OTHER), f"The first document gives the year of the opening.\n{MARK} 1884")
TWO_ANSWERS = Example(_PAINTERS, f"Two painters have this name.\n{MARK} 1902; 1957")
ONE_DOCUMENT = Example((EXAMPLE_QUESTION, EXAMPLE_DOCUMENT), f"{MARK} 1884")
NOT_IN_DOCUMENT = Example((EXAMPLE_QUESTION, _OTHER), f"{MARK} {UNKNOWN}")
KNOWN = Example((Block("question", "What is the capital of France?"),), f"{MARK} Paris")
NOBODY_KNOWS = Example((EXAMPLE_QUESTION,), f"{MARK} {UNKNOWN}")
