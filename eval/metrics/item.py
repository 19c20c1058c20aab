"""The scored item: everything that the metrics may want to know about one question and one system's answer to it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from eval.metrics.claims import CLAIM_LABELS, FACT_LABELS, ClaimLabel, FactLabel
from eval.metrics.ragchecker import Entailment


@dataclass(frozen=True)
class Scored:
    """One question with one answer. A field that is None is missing: the metrics that need it leave the item out and say so.

    Attributes:
        id: unique among the items that are scored together.
        gold: one group of aliases per right answer; every group is wanted, any alias of it counts. Empty where none is known.
        wrong: answers that count as wrong.
        predicted: the short answers given; empty where there is none.
        text: the whole answer.
        written: all that the system wrote, also where it failed and this is no answer.
        abstained: the system declined to answer; what it said instead is no answer.
        answerable: the documents allow an answer; where they do not, the right behaviour is to abstain.
        tokens: tokens of `text`, without special tokens.
        usage: what the answer cost, by the names of `eval.metrics.cost.COSTS`.
        entailment: which claims entail what, for RAGChecker's metrics.
        facts: what the answer says of every reference fact.
        claims: what is known of every claim of the answer.
        credibility: of the question's labelled and unlabelled claims, in [0, 1]. accepted: whether the system took the claim.
        valid: whether the claim is true; None where nobody knows.

    Raises ValueError, naming item and field, on an empty answer among the gold or wrong ones, an unknown label, or values out of range.
    """

    id: str
    gold: Sequence[Sequence[str]] = ()
    wrong: Sequence[str] = ()
    predicted: Sequence[str] | None = None
    text: str | None = None
    written: str | None = None
    abstained: bool = False
    answerable: bool = True
    tokens: int | None = None
    usage: Mapping[str, float] | None = None
    entailment: Entailment | None = None
    facts: Sequence[FactLabel] | None = None
    claims: Sequence[ClaimLabel] | None = None
    credibility: Sequence[float] | None = None
    accepted: Sequence[bool] | None = None
    valid: Sequence[bool | None] | None = None

    def __post_init__(self) -> None:
        for name in ("gold", "wrong", "predicted"):
            self._refuse(isinstance(getattr(self, name), str), f"{name} is one text; give a list")
        for place, group in enumerate(self.gold):
            self._refuse(isinstance(group, str), f"gold {place} is one text; give a list of its aliases, such as [[{group!r}]]")
            blank = not group or any(not alias.strip() for alias in group)
            self._refuse(blank, f"gold {place} has no answer or an empty one; leave it out")
        self._refuse(any(not answer.strip() for answer in self.wrong), "an answer in wrong is empty; leave it out")
        for name, known in (("facts", FACT_LABELS), ("claims", CLAIM_LABELS)):
            unknown = sorted(set(getattr(self, name) or ()) - set(known))
            self._refuse(bool(unknown), f"{name} has the label {unknown[:1]}; choose among {', '.join(known)}")
        self._refuse(self.tokens is not None and self.tokens < 0, f"tokens is {self.tokens}; a count is 0 or more")
        for name, value in (self.usage or {}).items():
            self._refuse(not (math.isfinite(value) and value >= 0), f"usage.{name} is {value}; a cost is finite and 0 or more")
        self._refuse(any(not 0 <= p <= 1 for p in self.credibility or ()), "credibility must lie in [0, 1]")
        lengths = {name: len(getattr(self, name)) for name in ("credibility", "accepted", "valid") if getattr(self, name) is not None}
        self._refuse(len(set(lengths.values())) > 1, f"credibility, accepted and valid must have one length, got {lengths}")

    def _refuse(self, wrong: bool, reason: str) -> None:
        if wrong:
            raise ValueError(f"item {self.id!r}: {reason}")

    @property
    def answered(self) -> bool:
        """Whether there is an answer: not abstained, and a text or a short answer where the system gives such."""
        given = [field for field in (self.text, *(self.predicted or ())) if field is not None]
        known = self.text is not None or self.predicted is not None
        return not self.abstained and (not known or any(field.strip() for field in given))

    @property
    def short(self) -> tuple[str, ...]:
        """The short answers that count as given: none where the system abstained."""
        return () if self.abstained else tuple(answer for answer in self.predicted or () if answer.strip())

    @property
    def said(self) -> str:
        """The text that counts as given: empty where the system abstained."""
        return "" if self.abstained else self.text or ""

    def missing(self, needs: Sequence[str]) -> list[str]:
        """Those of the needed fields (`usage.NAME` for one cost) that the item lacks."""
        return [name for name in needs if self._lacks(name)]

    def _lacks(self, name: str) -> bool:
        field, _, key = name.partition(".")
        value = getattr(self, field)
        return value is None or bool(key and key not in value)


FIELDS = tuple(field.name for field in fields(Scored))
