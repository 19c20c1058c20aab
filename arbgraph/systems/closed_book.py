"""Closed book: the question alone, so that only what the model remembers can answer it."""

from __future__ import annotations

from arbgraph.chat.quoting import Block
from arbgraph.schema import Query
from arbgraph.systems.base import Ask, ChatSystem, Steps, text_of
from arbgraph.systems.example_prompts import KNOWN, NOBODY_KNOWS, ExamplePrompt
from arbgraph.systems.replies import ANSWER_FORM, answer_of

CLOSED_BOOK = ExamplePrompt(
    id="closed-book",
    version=2,
    rules="You answer a question from what you know.",
    task=f"Answer the question. {ANSWER_FORM}",
    examples=(NOBODY_KNOWS, KNOWN),
)


class ClosedBook(ChatSystem):
    """One call with the question; documents are not shown.

    Args:
        chat: the model. max_tokens: of the reply.
    """

    name = "closed-book"

    def describe(self) -> dict:
        return {**super().describe(), "prompts": [CLOSED_BOOK.name]}

    def solve(self, query: Query) -> Steps:
        [reply] = yield [Ask(CLOSED_BOOK.messages([Block("question", query.query)]), self.max_tokens)]
        return answer_of(text_of(reply), self.name)
