"""Claim extraction through a chat model: chunks at sentence borders, and every claim tied to the words that state it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict

from arbgraph.chat.base import ChatModel, Completion, Messages, cost_of
from arbgraph.chat.prompts import EXTRACTION
from arbgraph.chat.quoting import Block
from arbgraph.extraction.cleaning import MappedText
from arbgraph.extraction.locate import locate
from arbgraph.extraction.sentences import split
from arbgraph.extraction.syntactic import Extraction
from arbgraph.schema import Claim, Document, Failed, Mention

# Most tokens of a reply by those of its passage. Claims and their evidence repeat the passage about two or three times.
REPLY_RATIO, REPLY_FLOOR, REPLY_STEP = 4, 128, 256
COUNTS = (
    "documents",
    "documents_without_claims",
    "chunks",
    "chunks_failed",
    "chunks_halved",
    "claims",
    "unlocated_quotes",
    "overlap_repeats",
    "dropped_duplicate",
    "dropped_empty",
    "dropped_too_long",
    "calls",
    "prompt_tokens",
    "completion_tokens",
)


class ExtractedClaim(BaseModel):
    """One claim of a reply and the words of the passage that state it."""

    model_config = ConfigDict(extra="forbid")

    claim: str
    evidence: str


class ExtractedClaims(BaseModel):
    """The reply to the extraction prompt."""

    model_config = ConfigDict(extra="forbid")

    claims: list[ExtractedClaim]


@dataclass(frozen=True)
class _Chunk:
    """Sentences `units` (spans) of a document to read, after `before` (a span, maybe empty) that only resolves references."""

    document: Document
    units: tuple[tuple[int, int], ...]
    before: tuple[int, int]

    @property
    def span(self) -> tuple[int, int]:
        return self.units[0][0], self.units[-1][1]


@dataclass
class _Found:
    """What one query's documents gave so far: per document, statement -> mentions by place."""

    counts: Counter[str] = field(default_factory=Counter)
    claims: dict[str, dict[str, dict[tuple[int, int], Mention]]] = field(default_factory=dict)
    # Statements read from the text before a chunk: (document, statement, span).
    repeated: list[tuple[Document, str, tuple[int, int]]] = field(default_factory=list)
    failures: list[Failed] = field(default_factory=list)


class GenerativeExtractor:
    """Documents -> claims through a chat model. Independent of the order of documents.

    Each chunk is a run of whole sentences; the sentences before it are shown apart, so that pronouns can be resolved and nothing is
    extracted twice. A claim counts only when its evidence is found in the document; what is not found is counted. A chunk whose reply
    is still too long after the retry is halved. A chunk that fails is listed among the failures, and the others are kept.

    Args:
        chat: the model. chunk_tokens: tokens of a passage; a longer sentence is cut. before_tokens: tokens of the text before it.
        max_tokens: tokens of a reply, at most
            (twice as many on the retry). max_claim_words: longer claims are dropped and counted.
        max_sentence_chars: longer runs without a sentence end are cut.

    `document.text[start:end] == quote` holds for every mention.
    """

    def __init__(
        self,
        chat: ChatModel,
        *,
        chunk_tokens: int = 500,
        before_tokens: int = 100,
        max_tokens: int = 1024,
        max_claim_words: int = 80,
        max_sentence_chars: int = 1_000,
    ) -> None:
        if chunk_tokens < 1 or before_tokens < 0:
            raise ValueError(f"chunk_tokens {chunk_tokens} must be at least 1 and before_tokens {before_tokens} at least 0")
        self.chat, self.chunk_tokens, self.before_tokens = chat, chunk_tokens, before_tokens
        self.max_tokens, self.max_claim_words, self.max_sentence_chars = max_tokens, max_claim_words, max_sentence_chars

    def describe(self) -> dict[str, Any]:
        """Model, prompt and budgets."""
        budgets = {"chunk_tokens": self.chunk_tokens, "before_tokens": self.before_tokens, "max_tokens": self.max_tokens}
        return {"name": f"chat:{self.chat.name}", **self.chat.identity(), "prompt": EXTRACTION.name, **budgets}

    def extract(self, batches: Sequence[Sequence[Document]]) -> list[Extraction]:
        """One `Extraction` per query; all chunks of all queries go to the model in one batch."""
        found = [_Found() for _ in batches]
        pending = []
        for query, documents in enumerate(batches):
            for document in sorted(documents, key=lambda d: (d.id, d.text)):
                found[query].claims[document.id] = {}
                pending += [(query, chunk) for chunk in self.chunks(document)]
        while pending:
            replies = self._replies([chunk for _, chunk in pending])
            halves = []
            for (query, chunk), reply in zip(pending, replies, strict=True):
                halves += [(query, half) for half in self._take(chunk, reply, found[query])]
            pending = halves
        for each in found:
            _settle_repeats(each)
        return [_gathered(documents, each) for documents, each in zip(batches, found, strict=True)]

    def _replies(self, chunks: Sequence[_Chunk]) -> list[Completion[ExtractedClaims]]:
        """The replies in the order of the chunks; those with one limit share a call."""
        replies: dict[int, Completion[ExtractedClaims]] = {}
        limits = [self._limit(chunk) for chunk in chunks]
        for limit in sorted(set(limits)):
            rows = [row for row, its in enumerate(limits) if its == limit]
            messages = [extraction_messages(chunks[row].document, chunks[row].span, chunks[row].before) for row in rows]
            replies.update(zip(rows, self.chat.complete(messages, ExtractedClaims, limit), strict=True))
        return [replies[row] for row in range(len(chunks))]

    def _limit(self, chunk: _Chunk) -> int:
        """Tokens of a reply: a few times those of the passage, so that a model that has lost its way does not run on for long."""
        start, end = chunk.span
        wanted = REPLY_FLOOR + REPLY_RATIO * self.chat.count_tokens(chunk.document.text[start:end])
        return min(self.max_tokens, -(-wanted // REPLY_STEP) * REPLY_STEP)

    def chunks(self, document: Document) -> list[_Chunk]:
        """The chunks of a document: their sentences cover it without overlap, and no passage exceeds `chunk_tokens`."""
        units = self._units(document.text)
        chunks: list[_Chunk] = []
        first = 0
        for last in range(len(units)):
            too_long = last > first and self.chat.count_tokens(document.text[units[first][0] : units[last][1]]) > self.chunk_tokens
            if too_long:
                chunks.append(self._chunk(document, units, first, last))
                first = last
        if units:
            chunks.append(self._chunk(document, units, first, len(units)))
        return chunks

    def _chunk(self, document: Document, units: list[tuple[int, int]], first: int, last: int) -> _Chunk:
        begin = first
        while begin and self.chat.count_tokens(document.text[units[begin - 1][0] : units[first - 1][1]]) <= self.before_tokens:
            begin -= 1
        before = (units[begin][0], units[first - 1][1]) if begin < first else (units[first][0], units[first][0])
        return _Chunk(document, tuple(units[first:last]), before)

    def _units(self, text: str) -> list[tuple[int, int]]:
        """Spans of sentences with at least one letter or digit, each within the budget."""
        runs = split(MappedText.of(text), self.max_sentence_chars)
        spans = [(run.text.starts[0], run.text.ends[-1]) for run in runs if any(map(str.isalnum, run.text.text))]
        return [part for span in spans for part in self._bounded(text, *span)]

    def _bounded(self, text: str, start: int, end: int) -> list[tuple[int, int]]:
        if end - start < 2 or self.chat.count_tokens(text[start:end]) <= self.chunk_tokens:
            return [(start, end)]
        middle = (start + end) // 2
        space = text.rfind(" ", start + 1, middle)
        cut = space + 1 if space > 0 else middle
        return [*self._bounded(text, start, cut), *self._bounded(text, cut, end)]

    def _take(self, chunk: _Chunk, reply: Completion[ExtractedClaims], found: _Found) -> list[_Chunk]:
        """Records a reply; returns the halves to ask instead when it was too long."""
        found.counts["chunks"] += 1
        found.counts.update(cost_of(reply))
        if reply.value is not None:
            for item in reply.value.claims:
                self._add(chunk, item, found)
            return []
        assert reply.failure is not None
        if reply.finish == "length" and len(chunk.units) > 1:
            found.counts["chunks_halved"] += 1
            middle = len(chunk.units) // 2
            first, second = chunk.units[:middle], chunk.units[middle:]
            return [_Chunk(chunk.document, first, chunk.before), _Chunk(chunk.document, second, first[-1])]
        start, end = chunk.span
        found.counts["chunks_failed"] += 1
        reason = f"document {chunk.document.id!r}, characters {start} to {end}: {reply.failure.reason}"
        found.failures.append(reply.failure.model_copy(update={"reason": reason}))
        return []

    def _add(self, chunk: _Chunk, item: ExtractedClaim, found: _Found) -> None:
        text = " ".join(item.claim.split())
        if not any(character.isalnum() for character in text):
            found.counts["dropped_empty"] += 1
            return
        if len(text.split()) > self.max_claim_words:
            found.counts["dropped_too_long"] += 1
            return
        document = chunk.document
        span = locate(item.evidence, document.text, *chunk.span)
        if span is not None:
            _record(document, text, span, found)
            return
        span = locate(item.evidence, document.text, *chunk.before)
        if span is None:
            found.counts["unlocated_quotes"] += 1
        else:
            found.repeated.append((document, text, span))


def _record(document: Document, text: str, span: tuple[int, int], found: _Found) -> None:
    mentions = found.claims[document.id].setdefault(text, {})
    found.counts["dropped_duplicate"] += span in mentions
    mentions[span] = Mention(document_id=document.id, start=span[0], end=span[1], quote=document.text[span[0] : span[1]])


def _settle_repeats(found: _Found) -> None:
    """The text before a chunk belongs to an earlier chunk: only what that one missed is news."""
    for document, text, span in found.repeated:
        known = (place for mentions in found.claims[document.id].values() for place in mentions)
        if any(start < span[1] and span[0] < end for start, end in known):
            found.counts["overlap_repeats"] += 1
        else:
            _record(document, text, span, found)


def extraction_messages(document: Document, span: tuple[int, int], before: tuple[int, int]) -> Messages:
    """The prompt for one passage of a document."""
    about = {"title": document.title, "source": document.source, "date": document.published.isoformat() if document.published else ""}
    blocks = [Block("before", document.text[slice(*before)])] if before[0] < before[1] else []
    return EXTRACTION.messages([*blocks, Block("passage", document.text[slice(*span)], about)])


def _gathered(documents: Sequence[Document], found: _Found) -> Extraction:
    claims = [Claim.of(text, tuple(mentions.values())) for texts in found.claims.values() for text, mentions in texts.items()]
    claims.sort(key=lambda c: (c.mentions[0].document_id, c.mentions[0].start, c.mentions[0].end, c.text))
    for document in sorted(documents, key=lambda d: (d.id, d.text)):
        if not found.claims[document.id]:
            found.counts["documents_without_claims"] += 1
            found.failures.append(Failed(stage="extraction", reason=f"document {document.id!r} yields no claim", raw=document.text[:200]))
    found.counts["documents"], found.counts["claims"] = len(documents), len(claims)
    return Extraction(tuple(claims), {name: found.counts[name] for name in COUNTS}, tuple(found.failures))
