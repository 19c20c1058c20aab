"""Standard RAG, the concatenated prompt: one call with the question and every document."""

from __future__ import annotations

from arbgraph.chat.quoting import Block
from arbgraph.schema import Query
from arbgraph.systems.base import Ask, Steps, text_of
from arbgraph.systems.document_system import DocumentSystem
from arbgraph.systems.example_prompts import ONE_ANSWER, TWO_ANSWERS, ExamplePrompt
from arbgraph.systems.replies import ANSWER_FORM, answer_of

STANDARD = ExamplePrompt(
    id="standard",
    version=2,
    rules="You answer a question from retrieved documents. Use what the documents say and nothing else.",
    task=f"Answer the question from the documents. {ANSWER_FORM}",
    examples=(TWO_ANSWERS, ONE_ANSWER),
)


class StandardRAG(DocumentSystem):
    """One call: the question, the documents one after the other, and the request for every right answer.

    Args: `DocumentSystem`.
    """

    name = "standard"
    prompts = (STANDARD,)

    def solve(self, query: Query) -> Steps:
        shown = self.show(query.documents)
        [reply] = yield [Ask(STANDARD.messages([Block("question", query.query), *shown.blocks]), self.max_tokens)]
        return answer_of(text_of(reply), self.name, usage=shown.usage)
