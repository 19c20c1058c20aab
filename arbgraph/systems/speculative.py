"""Speculative RAG: drafts from diverse subsets of the documents, each scored by how probable the model finds it.

Wang et al., Speculative RAG: Enhancing Retrieval Augmented Generation through Drafting, 2024.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from arbgraph.chat.base import ChatModel, Messages
from arbgraph.chat.prompts import Prompt
from arbgraph.chat.quoting import Block
from arbgraph.encoder import SentenceEncoder
from arbgraph.schema import Failed, Query, content_id
from arbgraph.systems.base import Ask, Score, StepFailed, Steps, scores_of, text_of
from arbgraph.systems.document_system import DocumentSystem, at_least
from arbgraph.systems.examples import EVIDENCE_FORM, after_examples, examples_of_one_document
from arbgraph.systems.readings import listed, usable_text
from arbgraph.systems.replies import ANSWER_FORM, MARK, answer_of, read_answers

DRAFT = Prompt(
    id="speculative-draft",
    version=1,
    rules="You answer a question from retrieved documents. Use what the documents say and nothing else.",
    task=f"Answer the question from the documents. {EVIDENCE_FORM}",
)

EXAMPLES = examples_of_one_document(DRAFT)

# The same form without documents, so that the draft can be scored as a reply.
ALONE = Prompt(id="speculative-alone", version=1, rules="You answer a question.", task=f"Answer the question. {EVIDENCE_FORM}")

REFLECT = Prompt(
    id="speculative-reflect",
    version=1,
    rules="You judge whether a rationale supports an answer to a question.",
    task="Does the rationale support the answer? Answer with one word: Yes or No.",
)

COLLECT = Prompt(
    id="speculative-collect",
    version=1,
    rules="You decide which answers to a question are right. Several drafts answer it, each from other documents; some may be wrong.",
    task=f"Which answers are right? Explain in one or two sentences. {ANSWER_FORM}",
)

YES_NO = ("Yes", "No")
_LLOYD_STEPS = 50
_ANSWER_LINE = re.compile(r"(?:^|\n)[\s*_#>]*(?:final\s+)?answers?[*_\s]*:", re.IGNORECASE)


@dataclass(frozen=True)
class Draft:
    """A rationale and the answers that it leads to."""

    rationale: str
    answers: tuple[str, ...]

    @property
    def answer(self) -> str:
        return "; ".join(self.answers)

    @property
    def text(self) -> str:
        """The draft in the form that was asked for, as it is scored."""
        return f"{self.rationale}\n{MARK} {self.answer}" if self.rationale else f"{MARK} {self.answer}"


class SpeculativeRAG(DocumentSystem):
    """k-means over the documents, subsets of one document per cluster, a draft per subset, and the most probable draft.

    A draft's score is the product of three parts: P(rationale | question, documents) + P(answer | the same and the rationale),
    P(rationale and answer | question), and P(Yes | question, rationale, answer) among Yes and No. The probability of a text is the
    geometric mean over its tokens, exp(mean log-probability): a plain product would vanish and would reward short drafts.

    Args:
        chat: the model; it must offer option scores for "best". encoder: of question and document, for the clusters; None takes
            MiniLM. drafts, clusters: m and k. select: "best" gives the best draft's answer, "all" hands all drafts to an aggregator,
            since several answers may be right. seed: of the subsets. shared: `DocumentSystem`; step_tokens are a draft's, max_tokens
            those of the aggregated answer.
    """

    name = "speculative-rag"
    prompts = (DRAFT, ALONE, REFLECT, COLLECT)

    def __init__(
        self,
        chat: ChatModel,
        *,
        encoder: SentenceEncoder | None = None,
        drafts: int = 5,
        clusters: int = 2,
        select: Literal["best", "all"] = "best",
        seed: int = 0,
        **shared: int,
    ) -> None:
        super().__init__(chat, **shared)
        at_least(1, drafts=drafts, clusters=clusters)
        if select not in ("best", "all"):
            raise ValueError(f"select is {select!r}; choose best or all")
        self.encoder, self.drafts, self.clusters, self.select, self.seed = (
            encoder or SentenceEncoder(max_tokens=256),
            drafts,
            clusters,
            select,
            seed,
        )

    def options(self) -> dict[str, Any]:
        return {
            "drafts": self.drafts,
            "clusters": self.clusters,
            "select": self.select,
            "seed": self.seed,
            "encoder": self.encoder.resolved.sha256,
        }

    def solve(self, query: Query) -> Steps:
        counts: Counter[str] = Counter(documents_cut=0, documents_dropped=0)
        question = Block("question", query.query)
        subsets = self._subsets(query)
        materials = []
        for subset in subsets:
            shown = self.show([query.documents[row] for row in subset])
            counts.update(shown.usage)
            materials.append([question, *shown.blocks])
        replies = yield [Ask(draft_request(material), self.step_tokens) for material in materials]
        read = [_draft(usable_text(reply, counts), counts) for reply in replies]
        drafts = [(draft, material) for draft, material in zip(read, materials, strict=True) if draft is not None]
        trace = {"subsets": [list(subset) for subset in subsets]}
        if subsets and not drafts:
            reason = f"none of the {len(subsets)} drafts can be read"
            raise StepFailed(Failed(stage="speculative-draft", reason=reason, raw=replies[0].text[:2000]))
        known = [(draft, material) for draft, material in drafts if draft.answers]
        if not known:
            return listed([], [], usage=counts, trace=trace)
        if self.select == "all":
            blocks = [Block("draft", draft.text, {"number": str(number)}) for number, (draft, _) in enumerate(known, 1)]
            [reply] = yield [Ask(COLLECT.messages([question, *blocks]), self.max_tokens)]
            return answer_of(text_of(reply), self.name, usage=counts, trace={**trace, "drafts": [draft.text for draft, _ in known]})
        outcomes = yield [request for draft, material in known for request in _scoring(question, draft, material)]
        rows = [self._score(draft, outcomes[3 * row : 3 * row + 3]) for row, (draft, _) in enumerate(known)]
        best = max(range(len(known)), key=lambda row: math.prod(rows[row]))
        kept = [{"text": draft.text, "scores": list(row)} for (draft, _), row in zip(known, rows, strict=True)]
        chosen = known[best][0]
        return answer_of(chosen.text, self.name, usage=counts, trace={**trace, "drafts": kept, "best": best})

    def _subsets(self, query: Query) -> list[tuple[int, ...]]:
        """Up to `drafts` different sets of document numbers, one document per cluster; none without documents."""
        if not query.documents:
            return []
        vectors = self.encoder.encode([f"{query.query} {document.title} {document.text}" for document in query.documents])
        groups = cluster(vectors, self.clusters)
        draw = random.Random(int(content_id(self.seed, query.query, *(document.id for document in query.documents)), 16))
        possible = math.prod(len(group) for group in groups)
        found: dict[tuple[int, ...], None] = {}
        while len(found) < min(self.drafts, possible):
            found[tuple(sorted(draw.choice(group) for group in groups))] = None
        return list(found)

    def _score(self, draft: Draft, outcomes: Sequence[Tensor]) -> tuple[float, float, float]:
        """rho_draft, rho_SC and rho_SR of a draft, from the three outcomes of `_scoring`."""
        with_documents, without, yes_no = (scores_of(outcome) for outcome in outcomes)
        whole, tokens = float(with_documents[-1]), self.chat.count_tokens(draft.text)
        # A draft may consist of nothing but its answer; then nothing says how well the documents explain it.
        rationale, before, drafting = 0.0, 0, 0.0
        if draft.rationale:
            rationale, before = float(with_documents[0]), self.chat.count_tokens(draft.rationale)
            drafting = math.exp(rationale / before)
        drafting += math.exp(min(whole - rationale, 0.0) / max(tokens - before, 1))
        return drafting, math.exp(float(without[0]) / tokens), float(yes_no.softmax(0)[0])


def draft_request(material: Sequence[Block]) -> Messages:
    """The conversation that asks for a draft."""
    return after_examples(DRAFT.messages(material), EXAMPLES)


def _scoring(question: Block, draft: Draft, material: Sequence[Block]) -> list[Score]:
    parts = (draft.rationale, draft.text) if draft.rationale else (draft.text,)
    judged = [question, Block("answer", draft.answer), Block("rationale", draft.rationale or "none")]
    return [
        Score(draft_request(material), parts),
        Score(ALONE.messages([question]), (draft.text,)),
        Score(REFLECT.messages(judged), YES_NO),
    ]


def _draft(text: str | None, counts: Counter[str]) -> Draft | None:
    """The draft of a reply; None, and counted, where it gives no answer that can be read. A draft may know nothing."""
    answers = None if text is None else read_answers(text)
    if text is None or answers is None:
        counts["replies_unreadable"] += text is not None
        return None
    counts["replies_unknown"] += not answers
    marks = list(_ANSWER_LINE.finditer(text))
    return Draft(text[: marks[-1].start()].strip() if marks else "", answers)


def cluster(vectors: Tensor, clusters: int) -> list[list[int]]:
    """k-means of `[N, D]` vectors: the row numbers of each non-empty cluster, ordered by their first row.

    The first centre is row 0, every further one the row farthest from the centres so far, so that equal input gives equal clusters.
    """
    centres = vectors[:1]
    while len(centres) < min(clusters, len(vectors)):
        nearest = torch.cdist(vectors, centres).amin(dim=1)
        centres = torch.cat([centres, vectors[nearest.argmax()][None]])
    assigned = torch.cdist(vectors, centres).argmin(dim=1)
    for _ in range(_LLOYD_STEPS):
        members = [vectors[assigned == number] for number in range(len(centres))]
        centres = torch.stack([own.mean(dim=0) if len(own) else centre for own, centre in zip(members, centres, strict=True)])
        moved = torch.cdist(vectors, centres).argmin(dim=1)
        if moved.equal(assigned):
            break
        assigned = moved
    groups = [assigned.eq(number).nonzero().flatten().tolist() for number in range(len(centres))]
    return sorted(group for group in groups if group)
