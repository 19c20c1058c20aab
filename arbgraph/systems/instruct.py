"""InstructRAG in context: demonstrations whose rationales say which documents help and why, then the question.

Wei et al., InstructRAG: Instructing Retrieval-Augmented Generation via Self-Synthesized Rationales, 2024. The fine-tuned variant is not
part of this system.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from arbgraph.chat.base import ChatModel, Messages
from arbgraph.chat.prompts import Prompt
from arbgraph.chat.quoting import Block
from arbgraph.schema import Document, Query, content_id
from arbgraph.systems.base import Ask, Steps, text_of
from arbgraph.systems.document_system import DocumentSystem
from arbgraph.systems.documents import show_documents
from arbgraph.systems.examples import after_examples
from arbgraph.systems.replies import ANSWER_FORM, MARK, answer_of

INSTRUCT = Prompt(
    id="instruct",
    version=1,
    rules=(
        "You answer a question from retrieved documents, some of which may be wrong or beside the point. First say which documents help "
        "and why the others do not; where none helps, use what you know."
    ),
    task=f"Explain which documents help to answer the question, then answer it. {ANSWER_FORM}",
)

RATIONALE = Prompt(
    id="instruct-rationale",
    version=1,
    rules="You explain how a known answer follows from documents, some of which may be wrong or beside the point.",
    task=(
        'Explain in at most three sentences how the documents lead to the answer in the block "answer-{code}": which of them help, and why '
        "the others do not. Where none helps, say so and explain the answer from what you know."
    ),
)


@dataclass(frozen=True)
class Demonstration:
    """A question with documents (most relevant first), a rationale, and the answers."""

    question: str
    documents: tuple[Document, ...]
    answers: tuple[str, ...]
    rationale: str = ""


DEMONSTRATIONS = (
    Demonstration(
        "In which town does the river Talvo reach the sea?",
        (
            Document(text="The Talvo rises in the Orre hills and flows west for 80 km until it meets the sea at Porto Brenn."),
            Document(text="Porto Brenn is known for its fish market and has two schools."),
            Document(text="Visitors say that the Talvo ends in the lake of Sarn, far from any coast."),
        ),
        ("Porto Brenn",),
        "Document 3 follows the river to its mouth at Porto Brenn. Document 2 is about that town and fits. Document 1 reports hearsay "
        "that contradicts the course of the river, so it does not count.",
    ),
    Demonstration(
        "When was the Arden Bridge opened?",
        (
            Document(text="The Arden Bridge in Melk was opened in 1931.", title="Arden Bridge (Melk)"),
            Document(text="The Arden Bridge in Tarro, a footbridge, was opened in 1987.", title="Arden Bridge (Tarro)"),
        ),
        ("1987", "1931"),
        "There are two bridges of this name. Document 1 gives 1987 for the footbridge in Tarro, document 2 gives 1931 for the bridge in "
        "Melk. They do not contradict each other, so both years are right.",
    ),
)


def write_rationales(chat: ChatModel, demonstrations: Sequence[Demonstration], *, max_tokens: int = 192) -> list[Demonstration]:
    """The demonstrations with rationales that the model writes from question, documents and answers; those it cannot write are left out."""
    prompts = []
    for one in demonstrations:
        shown = show_documents(list(reversed(one.documents)), 2000, chat.count_tokens)
        blocks = [Block("question", one.question), *shown.blocks, Block("answer", "; ".join(one.answers))]
        prompts.append(RATIONALE.messages(blocks))
    replies = chat.complete(prompts, None, max_tokens)
    written = zip(demonstrations, replies, strict=True)
    return [replace(one, rationale=reply.text.strip()) for one, reply in written if reply.failure is None]


class InstructRAG(DocumentSystem):
    """One call: demonstrations as earlier turns, then the question with its documents, the most relevant (the first given) last.

    Args:
        chat: the model. demonstrations: with rationales, e.g. from `write_rationales`; the default ones are ours. shared: `DocumentSystem`.

    Raises ValueError on a demonstration without rationale or answer.
    """

    name = "instruct-rag"
    prompts = (INSTRUCT,)

    def __init__(self, chat: ChatModel, *, demonstrations: Sequence[Demonstration] = DEMONSTRATIONS, **shared: int) -> None:
        super().__init__(chat, **shared)
        for one in demonstrations:
            if not one.rationale.strip() or not one.answers:
                raise ValueError(f"the demonstration {one.question!r} lacks a rationale or an answer; write_rationales makes rationales")
        self.demonstrations = tuple(demonstrations)

    def options(self) -> dict[str, Any]:
        return {"demonstrations": content_id(*self.demonstrations)}

    def solve(self, query: Query) -> Steps:
        messages, usage = self._messages(query.query, query.documents)
        solved = [
            (self._messages(one.question, one.documents)[0], f"{one.rationale.strip()}\n{MARK} {'; '.join(one.answers)}")
            for one in self.demonstrations
        ]
        [reply] = yield [Ask(after_examples(messages, solved), self.max_tokens)]
        return answer_of(text_of(reply), self.name, usage=usage)

    def _messages(self, question: str, documents: Sequence[Document]) -> tuple[Messages, dict[str, int]]:
        shown = self.show(list(reversed(documents)))
        return INSTRUCT.messages([Block("question", question), *shown.blocks]), shown.usage
