"""The values that flow through ArbGraph: documents, claims, relations, decisions, arbitrations, answers, failures.

Everything here is a frozen pydantic model: immutable, validated at the door, and equal after a JSON round trip.
Ids are content hashes, so the same text has the same id on every machine and in every run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator


class RelationLabel(StrEnum):
    """What one claim says about another. The order of the members is the column order of every `[.., 3]` tensor."""

    SUPPORT = "support"
    CONTRADICT = "contradict"
    NEUTRAL = "neutral"


RELATION_LABELS: tuple[str, ...] = tuple(label.value for label in RelationLabel)
SUPPORT, CONTRADICT, NEUTRAL = range(3)

Status = Literal["validated", "suppressed", "filtered"]


def content_id(*parts: object) -> str:
    """A 16-character hexadecimal id of the parts: SHA-256 over their text, separated by an unprintable character."""
    return hashlib.sha256("\x1f".join(str(part) for part in parts).encode()).hexdigest()[:16]


def _parse_date(value: Any) -> Any:
    """Accepts a date, a datetime, or ISO 8601 text of a day, month or year (`2011`, `2011-11`, `2011-11-19`)."""
    if value is None or (isinstance(value, date) and not isinstance(value, datetime)):
        return value
    if isinstance(value, datetime):
        return value.date()
    text = str(value).strip()
    if not text:
        return None
    parts = text.split("-")
    if all(part.isdigit() for part in parts) and len(parts[0]) == 4 and len(parts) < 3:
        text = "-".join([parts[0], parts[1] if len(parts) == 2 else "01", "01"])
    try:
        return datetime.fromisoformat(text).date()
    except ValueError:
        raise ValueError(f"{value!r} is not a date; write YYYY, YYYY-MM or YYYY-MM-DD") from None


PublicationDate = Annotated[date | None, BeforeValidator(_parse_date)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Document(_Frozen):
    """One retrieved document.

    `credibility` is what the caller knows about the source, in [0, 1]; None means nothing is known.
    `published` is an ISO date (`YYYY`, `YYYY-MM` and `YYYY-MM-DD` are read; a missing month or day becomes 1).
    Without an id, the id is the hash of title, source and text. Raises `ValidationError` on an empty text.
    """

    id: str = ""
    text: str
    title: str = ""
    source: str = ""
    published: PublicationDate = None
    credibility: float | None = Field(default=None, ge=0.0, le=1.0)
    metadata: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _fill_id(cls, data: Any) -> Any:
        if isinstance(data, dict):
            data = {key: value for key, value in data.items() if value is not None or key in ("published", "credibility")}
            text = data.get("text")
            if isinstance(text, str) and not text.strip():
                raise ValueError("text is empty; give the document's text or leave the document out")
            if "id" in data:
                data["id"] = str(data["id"])
            if not data.get("id"):
                data["id"] = content_id("document", data.get("title", ""), data.get("source", ""), text)
        return data


class Mention(_Frozen):
    """Where a document states a claim: `document.text[start:end] == quote`, character offsets."""

    document_id: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    quote: str = ""


class Claim(_Frozen):
    """One atomic, self-contained statement and every place that states it.

    `text` may differ from the quotes: pronouns are resolved and a carried-over subject is written out.
    """

    id: str
    text: str
    mentions: tuple[Mention, ...] = ()

    @property
    def document_ids(self) -> tuple[str, ...]:
        """The documents that state the claim, each once, sorted."""
        return tuple(sorted({mention.document_id for mention in self.mentions}))

    @classmethod
    def of(cls, text: str, mentions: tuple[Mention, ...]) -> Claim:
        """A claim whose id is the hash of its text and of where it is stated; mentions are sorted."""
        ordered = tuple(sorted(mentions, key=lambda m: (m.document_id, m.start, m.end)))
        where = (f"{m.document_id}\x1e{m.start}\x1e{m.end}" for m in ordered)
        return cls(id=content_id("claim", text, *where), text=text, mentions=ordered)


class Relation(_Frozen):
    """An undirected relation between two claims (`a < b`): label, calibrated probabilities by label, cosine in [-1, 1]."""

    a: str
    b: str
    label: RelationLabel
    probabilities: dict[RelationLabel, float]
    similarity: float


class Decision(_Frozen):
    """What the arbitrator said about one contradiction in one round.

    `winner` is a claim id, or None when the evidence does not decide; `confidence` is the probability of that outcome,
    in [0, 1]; `gate` says whether the verdict moved credibility (Algorithm 1's w); `round` counts from 1.
    """

    a: str
    b: str
    winner: str | None
    confidence: float = Field(ge=0.0, le=1.0)
    gate: float = Field(ge=0.0, le=1.0)
    round: int = Field(ge=1)
    rationale: str = ""


class Failed(_Frozen):
    """A failure as a value: it is counted and shown, and never becomes a label, a score or an answer."""

    stage: str
    reason: str
    raw: str = ""
    usage: dict[str, int] = Field(default_factory=dict)


class Citation(_Frozen):
    """The sentence `answer.text[start:end]` and the claims and documents that it rests on."""

    start: int = Field(ge=0)
    end: int = Field(ge=0)
    claim_ids: tuple[str, ...]
    document_ids: tuple[str, ...]


class Answer(_Frozen):
    """The written answer. `abstained` is set when no validated claim bears on the query; `text` then says so.

    `usage` counts what the answer cost (`calls`, `prompt_tokens`, `completion_tokens`) and what was left out on the way; `trace` holds
    the steps that led to it, in plain JSON values.
    """

    text: str
    short_answers: tuple[str, ...] = ()
    citations: tuple[Citation, ...] = ()
    abstained: bool = False
    usage: dict[str, int] = Field(default_factory=dict)
    trace: dict[str, Any] = Field(default_factory=dict)


class ArbitratedClaim(Claim):
    """A claim after arbitration: its status, credibility p in (0, 1), relevance (cosine with the query), independent sources.

    Filtered claims keep their prior: nothing was decided about them.
    """

    status: Status
    credibility: float = Field(ge=0.0, le=1.0)
    relevance: float = 0.0
    sources: int = Field(default=1, ge=0)


class SourceDocument(_Frozen):
    """What an arbitration keeps of a document: enough to cite it. Documents that share `source_group` are copies of one source."""

    id: str
    title: str = ""
    source: str = ""
    published: PublicationDate = None
    credibility: float | None = None
    source_group: int = 0


class Query(_Frozen):
    """One unit of work: a query, its documents and, optionally, claims extracted elsewhere."""

    id: str
    query: str
    documents: tuple[Document, ...]
    claims: tuple[Claim, ...] | None = None

    @property
    def digest(self) -> str:
        """A hash of everything that the query holds, independent of the order of documents and claims."""
        documents = sorted(document.model_dump_json() for document in self.documents)
        claims = sorted(claim.model_dump_json() for claim in self.claims) if self.claims is not None else ["none"]
        return content_id("query", self.query, *documents, "\x1d", *claims)


class Arbitration(_Frozen):
    """Everything ArbGraph decided about one query; `arbgraph show` renders it, and its JSON holds enough to re-render it."""

    id: str
    query: str
    claims: tuple[ArbitratedClaim, ...]
    relations: tuple[Relation, ...] = ()
    decisions: tuple[Decision, ...] = ()
    answer: Answer | None = None
    documents: tuple[SourceDocument, ...] = ()
    failures: tuple[Failed, ...] = ()
    diagnostics: dict[str, Any] = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)

    def with_status(self, status: Status) -> Iterator[ArbitratedClaim]:
        """The claims of one status, most credible first, then most relevant."""
        chosen = [claim for claim in self.claims if claim.status == status]
        return iter(sorted(chosen, key=lambda c: (-c.credibility, -c.relevance, c.id)))

    @property
    def validated(self) -> tuple[ArbitratedClaim, ...]:
        """Claims that survived arbitration: the only grounding of the answer (Eq. 5)."""
        return tuple(self.with_status("validated"))

    @property
    def suppressed(self) -> tuple[ArbitratedClaim, ...]:
        """Claims that lost: credibility below tau_accept."""
        return tuple(self.with_status("suppressed"))

    @property
    def filtered(self) -> tuple[ArbitratedClaim, ...]:
        """Claims whose relevance to the query is below tau_q (Eq. 1)."""
        return tuple(self.with_status("filtered"))
