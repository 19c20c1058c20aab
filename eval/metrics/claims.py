"""What a long answer states: fact recall, information density, and LongFact's F1@K. Undefined is None."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

# What an answer says of a reference fact.
FactLabel: TypeAlias = Literal["consistent", "partial", "contradictory", "missing"]
# What is known of a claim of an answer; an irrelevant one does not bear on the question.
ClaimLabel: TypeAlias = Literal["supported", "unsupported", "irrelevant"]
FACT_LABELS: tuple[FactLabel, ...] = ("consistent", "partial", "contradictory", "missing")
CLAIM_LABELS: tuple[ClaimLabel, ...] = ("supported", "unsupported", "irrelevant")
# Median and maximum number of relevant facts of an answer (Wei et al., NeurIPS 2024).
LONGFACT_K = (64, 178)


def fact_recall(facts: Sequence[FactLabel], *, partial: float = 0.0) -> float | None:
    """Share of reference facts that the answer states, in [0, 1]; a fact stated in part counts `partial`. None without facts."""
    if not facts:
        return None
    return (facts.count("consistent") + partial * facts.count("partial")) / len(facts)


def information_density(facts: int, tokens: int) -> float:
    """Facts per 1,000 tokens of the answer; 0 for an empty answer, which is counted by the answered share."""
    return 1000 * facts / tokens if tokens else 0.0


def pooled_information_density(facts: Sequence[int], tokens: Sequence[int]) -> float | None:
    """All facts per 1,000 of all tokens; None without tokens."""
    return 1000 * sum(facts) / sum(tokens) if sum(tokens) else None


def longfact_f1(claims: Sequence[ClaimLabel], k: int) -> float:
    """F1@K: precision S / (S + N) and recall min(1, S / K) of S supported and N unsupported claims; 0 where S = 0.

    Irrelevant claims count nowhere. Source: Wei et al., NeurIPS 2024. Raises ValueError on k < 1.
    """
    if k < 1:
        raise ValueError(f"K is {k}; it is a number of facts, at least 1")
    supported, unsupported = claims.count("supported"), claims.count("unsupported")
    if not supported:
        return 0.0
    precision, recall = supported / (supported + unsupported), min(1.0, supported / k)
    return 2 * precision * recall / (precision + recall)
