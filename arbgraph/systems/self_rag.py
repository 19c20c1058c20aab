"""Self-RAG without its checkpoint: the same judgements, asked of any model and read from the probabilities of their labels.

Asai et al., Self-RAG: Learning to Retrieve, Generate, and Critique through Self-Reflection, 2024.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from arbgraph.chat.base import ChatModel, Messages
from arbgraph.chat.prompts import Prompt
from arbgraph.chat.quoting import Block
from arbgraph.schema import Answer, Document, Failed, Query
from arbgraph.systems.base import Ask, Score, StepFailed, Steps, scores_of, text_of
from arbgraph.systems.closed_book import CLOSED_BOOK
from arbgraph.systems.document_system import DocumentSystem
from arbgraph.systems.example_prompts import NOT_IN_DOCUMENT, ONE_DOCUMENT, ExamplePrompt
from arbgraph.systems.forms import same_set
from arbgraph.systems.readings import listed, show_each, usable_answers, usable_text
from arbgraph.systems.replies import ANSWER_FORM, answer_of

if TYPE_CHECKING:
    from torch import Tensor

NEED_LABELS = ("yes", "no")
RELEVANCE_LABELS = ("relevant", "irrelevant")
SUPPORT_LABELS = ("fully", "partly", "not")
UTILITY_LABELS = ("1", "2", "3", "4", "5")
UTILITY_VALUES = (-1.0, -0.5, 0.0, 0.5, 1.0)

NEED = Prompt(
    id="self-rag-need",
    version=1,
    rules="You decide whether documents are needed to answer a question.",
    task="Would looking up documents help to answer the question? Reply with one word: yes or no.",
)
PASSAGE = ExamplePrompt(
    id="self-rag-answer",
    version=2,
    rules="You answer a question from one document. Use what the document says and nothing else.",
    task=f"Answer the question from the document. {ANSWER_FORM}",
    examples=(NOT_IN_DOCUMENT, ONE_DOCUMENT),
)
RELEVANCE = Prompt(
    id="self-rag-relevance",
    version=1,
    rules="You judge whether a document helps to answer a question.",
    task="Is the document relevant to the question? Reply with one word: relevant or irrelevant.",
)
SUPPORT = Prompt(
    id="self-rag-support",
    version=1,
    rules="You judge whether a document supports an answer to a question.",
    task="How far does the document support the answer: fully, partly or not? Reply with one of these words.",
)
UTILITY = Prompt(
    id="self-rag-utility",
    version=1,
    rules="You judge how useful an answer is to whoever asked the question.",
    task="How useful is the answer, from 1, useless, to 5, perfect? Reply with one number.",
)


@dataclass(frozen=True)
class Judged:
    """An answer from one document with its judgements: mean token probability (geometric), relevance and support in [0, 1], utility in
    [-1, 1], and their weighted sum."""

    document: Document
    answers: tuple[str, ...]
    text: str
    likelihood: float
    relevance: float
    support: float
    utility: float
    score: float

    @property
    def record(self) -> dict[str, Any]:
        names = ("answers", "likelihood", "relevance", "support", "utility", "score")
        return {"document": self.document.id, **{name: getattr(self, name) for name in names}}


class SelfRagPrompted(DocumentSystem):
    """An answer per document, and the best of them by likelihood + relevance + support + half the utility.

    Documents are read when P(yes) / (P(yes) + P(no)) of needing them exceeds `threshold`; otherwise the model answers alone. An answer that
    cannot be read is counted and out of the competition; one that is "unknown" wins only over others that are unknown.

    Args:
        chat: a model that gives option scores. threshold: below 0 always reads, 1 never does.
        pool: "best" returns the answer of the best document; "sum" adds the scores of documents with the same answer, as for closed sets.
        relevance, support, utility: weights. document_tokens: of one document. The rest: `DocumentSystem`.
    """

    name = "self-rag-prompted"
    prompts = (NEED, PASSAGE, RELEVANCE, SUPPORT, UTILITY, CLOSED_BOOK)

    def __init__(
        self,
        chat: ChatModel,
        *,
        threshold: float = 0.2,
        pool: Literal["best", "sum"] = "best",
        relevance: float = 1.0,
        support: float = 1.0,
        utility: float = 0.5,
        document_tokens: int = 2000,
        **options: Any,
    ) -> None:
        super().__init__(chat, document_tokens=document_tokens, **options)
        if pool not in ("best", "sum"):
            raise ValueError(f"pool is {pool!r}; choose best or sum")
        self.threshold, self.pool = threshold, pool
        self.relevance, self.support, self.utility = relevance, support, utility

    def options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("threshold", "pool", "relevance", "support", "utility")}

    def solve(self, query: Query) -> Steps:
        question = Block("question", query.query)
        shown, counts = show_each(query.documents, self.document_tokens, self.chat.count_tokens)
        need = 0.0
        if shown:
            [scores] = yield [Score(NEED.messages([question]), NEED_LABELS)]
            need = _shares(scores)[0]
        if not shown or need <= self.threshold:
            [reply] = yield [Ask(CLOSED_BOOK.messages([question]), self.max_tokens)]
            return answer_of(text_of(reply), self.name, usage={**counts, "read": 0}, trace={"need": need})
        prompts = [PASSAGE.messages([question, block]) for _, block in shown]
        outcomes = yield [
            *(Ask(messages, self.max_tokens) for messages in prompts),
            *(Score(RELEVANCE.messages([question, block]), RELEVANCE_LABELS) for _, block in shown),
        ]
        texts = [usable_text(reply, counts) for reply in outcomes[: len(shown)]]
        answers = [usable_answers(text, counts) for text in texts]
        relevance = [_shares(scores)[0] for scores in outcomes[len(shown) :]]
        rows = [row for row, given in enumerate(answers) if given is not None]
        if not rows:
            reason = f"none of the {len(shown)} documents got a reply that can be read"
            raise StepFailed(Failed(stage=self.name, reason=reason, raw=outcomes[0].text[:2000]))
        scored = yield [ask for row in rows for ask in _judgements(prompts[row], question, shown[row][1], texts[row] or "")]
        judged = [
            self._judged(shown[row][0], answers[row] or (), texts[row] or "", relevance[row], scored[3 * at : 3 * at + 3])
            for at, row in enumerate(rows)
        ]
        return self._chosen(judged, counts, need)

    def _judged(self, document: Document, answers: tuple[str, ...], text: str, relevance: float, scores: list[Tensor]) -> Judged:
        length = max(self.chat.count_tokens(text), 1)
        likelihood = math.exp(float(scores_of(scores[0])[0]) / length)
        fully, partly, _ = _shares(scores[1])
        support = fully + 0.5 * partly
        utility = sum(share * value for share, value in zip(_shares(scores[2]), UTILITY_VALUES, strict=True))
        score = likelihood + self.relevance * relevance + self.support * support + self.utility * utility
        return Judged(document, answers, text, likelihood, relevance, support, utility, score)

    def _chosen(self, judged: list[Judged], counts: Counter[str], need: float) -> Answer:
        trace = {"need": need, "judged": [one.record for one in judged]}
        known = [one for one in judged if one.answers] or judged
        totals: dict[frozenset[str], float] = {}
        for one in known:
            key = same_set(one.answers)
            totals[key] = totals.get(key, 0.0) + one.score if self.pool == "sum" else max(totals.get(key, -math.inf), one.score)
        winner = max(totals, key=lambda key: totals[key])
        group = sorted((one for one in known if same_set(one.answers) == winner), key=lambda one: -one.score)
        sources = [one.document.id for one in group]
        best = group[0].answers
        return listed(best, [sources] * len(best), usage={**counts, "read": len(judged)}, trace=trace)


def _judgements(prompt: Messages, question: Block, document: Block, text: str) -> list[Score]:
    answer = Block("answer", text)
    return [
        Score(prompt, (text,)),
        Score(SUPPORT.messages([question, document, answer]), SUPPORT_LABELS),
        Score(UTILITY.messages([question, answer]), UTILITY_LABELS),
    ]


def _shares(scores: Tensor) -> list[float]:
    """The options' probabilities, normalised over them. Raises StepFailed when the model gave none."""
    return scores_of(scores).softmax(-1).tolist()
