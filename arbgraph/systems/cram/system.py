"""CrAM as a system: documents in ascending order of credibility, and attention to each scaled by it.

Deng et al., CrAM: Credibility-Aware Attention Modification in LLMs for Combating Misinformation in RAG, 2024.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from typing import Any, Literal

from arbgraph.chat.base import ChatModel
from arbgraph.chat.prompts import Prompt
from arbgraph.chat.quoting import Block
from arbgraph.schema import Answer, Failed, Query
from arbgraph.systems.base import Ask, Step, StepFailed, Steps, text_of
from arbgraph.systems.cram.attention import Head, ReweightedChat
from arbgraph.systems.document_system import DocumentSystem
from arbgraph.systems.examples import after_examples
from arbgraph.systems.readings import show_each, usable_text
from arbgraph.systems.reliable.evaluator import read_score
from arbgraph.systems.replies import ANSWER_FORM, answer_of

RATE = Prompt(
    id="cram-rate",
    version=1,
    rules="You rate how credible a document is, from 0 (certainly false) to 10 (certainly true), by what you know.",
    task='Rate the document. Write one short sentence, then a last line "Score: " with a number from 0 to 10.',
)

RATED = (
    ("Paris is the capital of France and lies on the Seine.", "This is well known.\nScore: 10"),
    ("Mount Everest is a hill in the south of Brazil.", "Mount Everest lies in Asia.\nScore: 0"),
    ("The writer Karl Nobody finished The Blue Door in a week.", "Neither the writer nor the book is established.\nScore: 4"),
)

ANSWER = Prompt(
    id="cram-answer",
    version=1,
    rules="You answer a question from retrieved documents. Use what the documents say and nothing else.",
    task=f"Answer the question from the documents. {ANSWER_FORM}",
)


class CrAM(DocumentSystem):
    """One answering call with the documents' attention scaled; documents of equal credibility leave the model as it is.

    Args:
        chat: a `TransformersChat`, whose attention can be reached; a `CachedChat` around it caches the ratings.
        credibility: rated by the model itself ("evaluator"), or taken from `Document.credibility` ("document").
        heads: those whose attention is scaled, e.g. from `best_heads`; None takes all.
        shared: `DocumentSystem`; step_tokens are those of a rating.

    A document whose rating cannot be read keeps its attention and is counted as `documents_unrated`.
    """

    name = "cram"
    prompts = (RATE, ANSWER)

    def __init__(
        self,
        chat: ChatModel,
        *,
        credibility: Literal["evaluator", "document"] = "evaluator",
        heads: Sequence[Head] | None = None,
        **shared: int,
    ) -> None:
        self.weighing = ReweightedChat(chat, heads)
        super().__init__(self.weighing, **shared)
        if credibility not in ("evaluator", "document"):
            raise ValueError(f"credibility is {credibility!r}; choose evaluator or document")
        self.credibility = credibility

    def options(self) -> dict[str, Any]:
        heads = self.weighing.heads
        return {"credibility": self.credibility, "heads": None if heads is None else [list(head) for head in heads]}

    def answer(self, batch: Sequence[Query]) -> list[Answer | Failed]:
        try:
            return super().answer(batch)
        finally:
            self.weighing.forget()

    def solve(self, query: Query) -> Steps:
        counts: Counter[str] = Counter()
        scores = yield from self._scores(query, counts)
        weights = attention_weights(scores)
        order = sorted(range(len(weights)), key=lambda row: weights[row])
        shown = self.show([query.documents[row] for row in order])
        counts.update(shown.usage)
        messages = ANSWER.messages([Block("question", query.query), *shown.blocks])
        # Blocks carry their number, so that a document left out does not shift the weights of the others.
        kept = [order[int(block.about["number"]) - 1] for block in shown.blocks]
        self.weighing.weigh(messages, "document", [weights[row] for row in kept])
        [reply] = yield [Ask(messages, self.max_tokens)]
        trace = {"scores": scores, "weights": weights, "order": order}
        return answer_of(text_of(reply), self.name, usage=counts, trace=trace)

    def _scores(self, query: Query, counts: Counter[str]) -> Generator[Step, list[Any], list[float | None]]:
        """The credibility of every document in [0, 1]; None where it could not be rated."""
        if self.credibility == "document":
            for document in query.documents:
                if document.credibility is None:
                    reason = f"document {document.id} has no credibility; give one, or take credibility='evaluator'"
                    raise StepFailed(Failed(stage=self.name, reason=reason))
            return [document.credibility for document in query.documents]
        # What a rating does not see of a long document is counted once, where the document is shown for the answer.
        shown, _ = show_each(query.documents, self.document_tokens, self.chat.count_tokens)
        solved = [(RATE.messages([Block("document", text)]), reply) for text, reply in RATED]
        replies = yield [Ask(after_examples(RATE.messages([block]), solved), self.step_tokens) for _, block in shown]
        scores: list[float | None] = [None] * len(query.documents)
        for (_, block), reply in zip(shown, replies, strict=True):
            text = usable_text(reply, counts)
            scores[int(block.about["number"]) - 1] = None if text is None else read_score(text)
        counts["documents_unrated"] += scores.count(None)
        return scores


def attention_weights(scores: Sequence[float | None]) -> list[float]:
    """Scores less their minimum, divided by the maximum of what is left; all 1 when all are equal, and 1 where unknown."""
    known = [score for score in scores if score is not None]
    low, span = min(known, default=0.0), max(known, default=0.0) - min(known, default=0.0)
    return [1.0 if score is None or span == 0 else (score - low) / span for score in scores]
