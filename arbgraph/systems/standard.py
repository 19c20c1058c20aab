"""Standard RAG, the concatenated prompt: one call with the question and every document."""

from __future__ import annotations

from arbgraph.chat.base import ChatModel
from arbgraph.chat.quoting import Block
from arbgraph.schema import Query
from arbgraph.systems.base import Ask, ChatSystem, Steps, text_of
from arbgraph.systems.documents import show_documents
from arbgraph.systems.example_prompts import ONE_ANSWER, TWO_ANSWERS, ExamplePrompt
from arbgraph.systems.replies import ANSWER_FORM, answer_of

STANDARD = ExamplePrompt(
    id="standard",
    version=2,
    rules="You answer a question from retrieved documents. Use what the documents say and nothing else.",
    task=f"Answer the question from the documents. {ANSWER_FORM}",
    examples=(TWO_ANSWERS, ONE_ANSWER),
)


class StandardRAG(ChatSystem):
    """One call: the question, the documents one after the other, and the request for every right answer.

    Args:
        chat: the model. document_tokens: tokens of all documents together; longer ones are cut, and counted. max_tokens: of the reply.
    """

    name = "standard"

    def __init__(self, chat: ChatModel, *, document_tokens: int = 4000, max_tokens: int = 256) -> None:
        super().__init__(chat, max_tokens=max_tokens)
        self.document_tokens = document_tokens

    def describe(self) -> dict:
        return {**super().describe(), "document_tokens": self.document_tokens, "prompts": [STANDARD.name]}

    def solve(self, query: Query) -> Steps:
        shown = show_documents(query.documents, self.document_tokens, self.chat.count_tokens)
        messages = STANDARD.messages([Block("question", query.query), *shown.blocks])
        [reply] = yield [Ask(messages, self.max_tokens)]
        return answer_of(text_of(reply), self.name, usage=shown.usage)
