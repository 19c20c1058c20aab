"""An answer written by a chat model from validated claims only, with a citation per sentence and every dispute stated."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from arbgraph.chat.base import ChatModel, Completion, Messages, cost_of
from arbgraph.chat.prompts import WRITING
from arbgraph.chat.quoting import Block
from arbgraph.generation.extractive import NOTHING_LEFT, ExtractiveWriter
from arbgraph.schema import Answer, ArbitratedClaim, Arbitration, Citation, Failed, RelationLabel

_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")


class WrittenSentence(BaseModel):
    """One sentence and the numbers of the claims it rests on."""

    model_config = ConfigDict(extra="forbid")

    text: str
    claims: list[int]


class WrittenAnswer(BaseModel):
    """The reply to the writing prompt."""

    model_config = ConfigDict(extra="forbid")

    answerable: bool
    sentences: list[WrittenSentence]
    short_answers: list[str]


class GenerativeWriter(ExtractiveWriter):
    """Writes with a chat model; what the model may not be trusted with is checked or added here.

    The model sees validated claims only, most credible and relevant first, as many as fit. A sentence is kept when it cites claims
    it was shown and every figure in it stands in those claims or in the query; others are dropped and counted. Disputes that the
    sentences leave out are added as in the extractive answer. When the model fails, or no sentence survives, the extractive answer
    is given and counted: a failed reply never becomes an answer.

    Args:
        chat: the model. sentences: sentences asked for. claim_tokens: tokens of the claims shown. max_tokens: tokens of a reply.
        disputes: disputes added at most.

    `Answer.usage` holds `prompt_tokens`, `completion_tokens`, `calls`, `claims_left_out`, `sentences_uncited`,
    `sentences_unsupported`, `short_answers_dropped` and `generation_failed`; `Answer.trace["failure"]` says what failed.
    """

    def __init__(self, chat: ChatModel, sentences: int = 5, *, claim_tokens: int = 2000, max_tokens: int = 768, disputes: int = 3) -> None:
        super().__init__(sentences, disputes=disputes)
        self.chat, self.claim_tokens, self.max_tokens = chat, claim_tokens, max_tokens

    def describe(self) -> dict[str, Any]:
        """Model, prompt and budgets."""
        budgets = {"sentences": self.sentences, "claim_tokens": self.claim_tokens, "max_tokens": self.max_tokens}
        return {"name": f"chat:{self.chat.name}", **self.chat.identity(), "prompt": WRITING.name, **budgets}

    def write(self, arbitrations: Sequence[Arbitration]) -> list[Answer]:
        """One answer per arbitration, all asked in one batch; it abstains when no claim is validated or bears on the query."""
        shown = [self._shown(arbitration) for arbitration in arbitrations]
        asked = [row for row, claims in enumerate(shown) if claims]
        replies = self.chat.complete([self.messages(arbitrations[row], shown[row]) for row in asked], WrittenAnswer, self.max_tokens)
        answers = [Answer(text=NOTHING_LEFT, abstained=True) for _ in arbitrations]
        for row, reply in zip(asked, replies, strict=True):
            answers[row] = self._answer(arbitrations[row], shown[row], reply)
        return answers

    def _shown(self, arbitration: Arbitration) -> list[ArbitratedClaim]:
        """The claims that the model sees, in order; at least the best one."""
        ranked = sorted(arbitration.validated, key=lambda c: (-self._score(c), c.id))
        shown, room = [], self.claim_tokens
        for claim in ranked:
            room -= self.chat.count_tokens(_line(len(shown) + 1, claim, arbitration))
            if room < 0 and shown:
                break
            shown.append(claim)
        return shown

    def messages(self, arbitration: Arbitration, claims: Sequence[ArbitratedClaim]) -> Messages:
        """The prompt for these claims."""
        lines = [_line(number, claim, arbitration) for number, claim in enumerate(claims, 1)]
        number = {claim.id: position for position, claim in enumerate(claims, 1)}
        pairs = [sorted((number[a], number[b])) for a, b in self._open_disputes(arbitration) if a in number and b in number]
        disputes = ", ".join(f"{a} and {b}" for a, b in sorted(pairs)) or "none"
        blocks = [Block("question", arbitration.query), Block("claims", "\n".join(lines))]
        return WRITING.messages(blocks, sentences=self.sentences, disputes=disputes)

    def _open_disputes(self, arbitration: Arbitration) -> list[tuple[str, str]]:
        """Contradictions that were put to the arbitrator and left both claims standing."""
        valid = {claim.id for claim in arbitration.validated}
        return [
            (r.a, r.b)
            for r in arbitration.relations
            if r.label == RelationLabel.CONTRADICT and {r.a, r.b} <= valid and self._disputed(arbitration, r.a, r.b)
        ]

    def _answer(self, arbitration: Arbitration, shown: list[ArbitratedClaim], reply: Completion[WrittenAnswer]) -> Answer:
        usage = cost_of(reply)
        usage["claims_left_out"] = len(arbitration.validated) - len(shown)
        if reply.value is not None and not reply.value.answerable:
            return Answer(text=NOTHING_LEFT, abstained=True, usage=_plain(usage))
        sentences = self._checked(arbitration, shown, reply.value, usage) if reply.value is not None else []
        if not sentences:
            failure = reply.failure or Failed(stage=WRITING.id, reason="no sentence rests on the claims", raw=reply.text[:2000])
            usage["generation_failed"] = 1
            trace = {"failure": failure.model_dump(mode="json", exclude={"usage"})}
            return self._write(arbitration).model_copy(update={"usage": _plain(usage), "trace": trace})
        assert reply.value is not None
        cited = {claim.id for _, claims in sentences for claim in claims}
        sentences += [dispute for dispute in self._disputes(arbitration, cited) if not _stated(dispute[1], sentences)]
        text, citations = _joined(sentences)
        short = _short_answers(reply.value.short_answers, text, shown, usage)
        return Answer(text=text, short_answers=short, citations=citations, usage=_plain(usage))

    def _checked(
        self, arbitration: Arbitration, shown: list[ArbitratedClaim], written: WrittenAnswer, usage: Counter[str]
    ) -> list[tuple[str, list[ArbitratedClaim]]]:
        """The sentences that rest on claims, with their claims; the others are counted."""
        kept: list[tuple[str, list[ArbitratedClaim]]] = []
        for sentence in written.sentences:
            text = " ".join(sentence.text.split())
            claims = [shown[number - 1] for number in dict.fromkeys(sentence.claims) if 1 <= number <= len(shown)]
            if not claims or not text:
                usage["sentences_uncited"] += 1
                continue
            grounds = " ".join([arbitration.query, *(claim.text for claim in claims)])
            if not set(_FIGURE.findall(text)) <= set(_FIGURE.findall(grounds)):
                usage["sentences_unsupported"] += 1
                continue
            kept.append((text, claims))
        return kept


def _line(number: int, claim: ArbitratedClaim, arbitration: Arbitration) -> str:
    """A claim with its number and where it comes from."""
    documents = {document.id: document for document in arbitration.documents}
    origins = []
    for identifier in claim.document_ids:
        document = documents[identifier]
        date = document.published.isoformat() if document.published else ""
        origins.append(", ".join(" ".join(part.split()) for part in (document.title, document.source, date) if part.strip()) or "unnamed")
    return f"{number}. {' '.join(claim.text.split())} [{'; '.join(origins)}]"


def _stated(claims: Sequence[ArbitratedClaim], sentences: Sequence[tuple[str, list[ArbitratedClaim]]]) -> bool:
    """Whether sentences cite both claims of an open dispute. A rejected claim was never shown, so the model cannot have stated it."""
    cited = {claim.id for _, group in sentences for claim in group}
    return len(claims) > 1 and all(claim.id in cited for claim in claims)


def _joined(sentences: Sequence[tuple[str, list[ArbitratedClaim]]]) -> tuple[str, tuple[Citation, ...]]:
    text, citations = "", []
    for sentence, claims in sentences:
        start = len(text) + bool(text)
        text = f"{text} {sentence}" if text else sentence
        documents = sorted({document for claim in claims for document in claim.document_ids})
        citations.append(Citation(start=start, end=len(text), claim_ids=tuple(c.id for c in claims), document_ids=tuple(documents)))
    return text, tuple(citations)


def _short_answers(given: Sequence[str], text: str, shown: Sequence[ArbitratedClaim], usage: Counter[str]) -> tuple[str, ...]:
    """The short answers that stand in the answer or in a claim, or are yes or no; the others are counted."""
    grounds = [" ".join(each.casefold().split()) for each in (text, *(claim.text for claim in shown))]
    kept = []
    for answer in dict.fromkeys(" ".join(each.split()) for each in given):
        folded = answer.casefold()
        if folded and (folded in ("yes", "no") or any(folded in ground for ground in grounds)):
            kept.append(answer)
        else:
            usage["short_answers_dropped"] += 1
    return tuple(kept)


def _plain(usage: Counter[str]) -> dict[str, int]:
    return {name: count for name, count in sorted(usage.items()) if count}
