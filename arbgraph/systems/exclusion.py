"""Credibility in the prompt: documents with their scores, and documents excluded by them.

Both are the peers that Deng et al., CrAM: Credibility-Aware Attention Modification, 2025, and the paper of ReliableRAG compare with.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arbgraph.chat.base import ChatModel, Messages
from arbgraph.chat.quoting import Block
from arbgraph.schema import Document, Query
from arbgraph.systems.base import Ask, Steps, text_of
from arbgraph.systems.closed_book import CLOSED_BOOK
from arbgraph.systems.document_system import DocumentSystem
from arbgraph.systems.documents import Shown
from arbgraph.systems.example_prompts import EXAMPLE_DOCUMENT, EXAMPLE_QUESTION, Example, ExamplePrompt
from arbgraph.systems.replies import ANSWER_FORM, MARK, answer_of
from arbgraph.systems.standard import STANDARD

SCALE = 10
UNKNOWN_SCORE = 5.0  # of a document whose credibility nobody gave; it is shown as unknown

WEIGHED = ExamplePrompt(
    id="prompt-based",
    version=2,
    rules=(
        "You answer a question from retrieved documents. Each has a credibility from 0, not to be believed, to 10, surely right. Where "
        "documents disagree, believe those of higher credibility. Use what the documents say and nothing else."
    ),
    task=f"Answer the question from the documents, and weigh them by their credibility. {ANSWER_FORM}",
    examples=(
        Example(
            (
                EXAMPLE_QUESTION,
                Block("document", "The bridge of Lindau was opened in 1950.", {"number": "1", "credibility": "2 of 10"}),
                Block("document", EXAMPLE_DOCUMENT.text, {"number": "2", "credibility": "9 of 10"}),
            ),
            f"The more credible document says 1884.\n{MARK} 1884",
        ),
    ),
)


def score(document: Document) -> float:
    """Credibility from 0 to 10; `UNKNOWN_SCORE` where it is not given."""
    # Rounded, so that 0.7 is 7 and not a little more.
    return UNKNOWN_SCORE if document.credibility is None else round(SCALE * document.credibility, 6)


class PromptBased(DocumentSystem):
    """One call: the question and all documents with their credibility from 0 to 10, the least credible first.

    A document of unknown credibility is shown as such and sorted as 5. `Answer.usage` counts them as `credibility_unknown`.

    Args: `DocumentSystem`.
    """

    name = "prompt-based"
    prompts = (WEIGHED,)

    def solve(self, query: Query) -> Steps:
        messages, usage = self.weighed(query.query, query.documents)
        [reply] = yield [Ask(messages, self.max_tokens)]
        return answer_of(text_of(reply), self.name, usage=usage)

    def weighed(self, question: str, documents: Sequence[Document]) -> tuple[Messages, dict[str, int]]:
        """The conversation about documents with their scores, and what was lost or not known."""
        ordered = sorted(documents, key=score)
        shown = self.show(ordered)
        blocks = [Block("question", question), *_scored(shown, ordered)]
        return WEIGHED.messages(blocks), {**shown.usage, "credibility_unknown": sum(one.credibility is None for one in documents)}


class Exclusion(PromptBased):
    """Documents of low credibility are left out; the rest are shown with their credibility, the least credible first.

    A threshold of 0 turns credibility off: nothing is left out, sorted or scored, which is the concatenated prompt of Standard RAG. When
    every document is left out, the question is answered without documents. One of unknown credibility stays, whatever the threshold.

    Args:
        chat: the model. threshold: documents of this credibility or less, on a scale of 10, are left out; `Answer.usage` counts them as
            `documents_excluded`. The rest: `DocumentSystem`.
    """

    name = "exclusion"
    prompts = (STANDARD, WEIGHED, CLOSED_BOOK)

    def __init__(self, chat: ChatModel, *, threshold: float = 3.0, **options: Any) -> None:
        super().__init__(chat, **options)
        if not 0 <= threshold <= SCALE:
            raise ValueError(f"threshold is {threshold}; it lies in [0, {SCALE}]")
        self.threshold = threshold

    def options(self) -> dict[str, Any]:
        return {"threshold": self.threshold}

    def solve(self, query: Query) -> Steps:
        messages, usage = self._messages(query)
        [reply] = yield [Ask(messages, self.max_tokens)]
        return answer_of(text_of(reply), self.name, usage=usage)

    def _messages(self, query: Query) -> tuple[Messages, dict[str, int]]:
        if self.threshold == 0:
            shown = self.show(query.documents)
            return STANDARD.messages([Block("question", query.query), *shown.blocks]), {**shown.usage, "documents_excluded": 0}
        kept = [document for document in query.documents if document.credibility is None or score(document) > self.threshold]
        excluded = {"documents_excluded": len(query.documents) - len(kept)}
        if not kept and query.documents:
            return CLOSED_BOOK.messages([Block("question", query.query)]), excluded
        messages, usage = self.weighed(query.query, kept)
        return messages, {**usage, **excluded}


def _scored(shown: Shown, documents: Sequence[Document]) -> list[Block]:
    """The shown blocks with the credibility of their documents, found by number because some documents may have been dropped."""
    scored = []
    for block in shown.blocks:
        document = documents[int(block.about["number"]) - 1]
        credibility = "unknown" if document.credibility is None else f"{score(document):g} of {SCALE}"
        scored.append(Block(block.kind, block.text, {**block.about, "credibility": credibility}))
    return scored
