"""RAGChecker's eleven metrics from entailment arrays (Ru et al., NeurIPS 2024), and faithfulness to other evidence.

A response has claims r_1..r_m, the gold answer claims g_1..g_n, and there are chunks c_1..c_K. Only entailment counts; neutral and
contradiction do not differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

Row = Sequence[bool]


@dataclass(frozen=True)
class Entailment:
    """What entails what in one question. Raises ValueError on arrays that do not fit each other.

    Attributes:
        answer2response: `[m]`, the gold answer entails response claim i.
        response2answer: `[n]`, the response entails gold claim j.
        retrieved2response: `[m][K]`, chunk k entails response claim i.
        retrieved2answer: `[n][K]`, chunk k entails gold claim j.
        evidence2response: `[m][E]`, piece e of the evidence that the system wrote from entails response claim i; None where not judged.
    """

    answer2response: Row
    response2answer: Row
    retrieved2response: Sequence[Row]
    retrieved2answer: Sequence[Row]
    evidence2response: Sequence[Row] | None = field(default=None)

    def __post_init__(self) -> None:
        m, n = len(self.answer2response), len(self.response2answer)
        named = [("retrieved2response", self.retrieved2response, m), ("retrieved2answer", self.retrieved2answer, n)]
        named += [("evidence2response", self.evidence2response, m)] if self.evidence2response is not None else []
        for name, rows, wanted in named:
            if len(rows) != wanted or len({len(row) for row in rows}) > 1:
                raise ValueError(f"{name} needs {wanted} rows of one length, got rows of {[len(row) for row in rows]}")
        if m and n and self.chunks != len(self.retrieved2answer[0]):
            raise ValueError(
                f"retrieved2response has {self.chunks} chunks, retrieved2answer {len(self.retrieved2answer[0])}; judge the same chunks"
            )

    @property
    def chunks(self) -> int:
        """K, 0 where neither response nor gold answer has a claim."""
        return next((len(rows[0]) for rows in (self.retrieved2response, self.retrieved2answer) if rows), 0)

    @cached_property
    def right(self) -> np.ndarray:
        """`[m]`: the response claim is entailed by the gold answer."""
        return np.array(self.answer2response, dtype=bool)

    @cached_property
    def recalled(self) -> np.ndarray:
        """`[n]`: the gold claim is entailed by the response."""
        return np.array(self.response2answer, dtype=bool)

    @cached_property
    def by_chunk(self) -> np.ndarray:
        """`[m, K]`: the chunk entails the response claim."""
        return np.array(self.retrieved2response, dtype=bool).reshape(len(self.answer2response), self.chunks)

    @cached_property
    def gold_by_chunk(self) -> np.ndarray:
        """`[n, K]`: the chunk entails the gold claim."""
        return np.array(self.retrieved2answer, dtype=bool).reshape(len(self.response2answer), self.chunks)

    @property
    def relevant(self) -> np.ndarray:
        """`[K]`: the chunk entails a gold claim."""
        return np.any(self.gold_by_chunk, axis=0)

    @property
    def faithful(self) -> np.ndarray:
        """`[m]`: a chunk entails the response claim."""
        return np.any(self.by_chunk, axis=1)


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if values.size else None


def _precision(e: Entailment) -> float | None:
    return _mean(e.right)


def _recall(e: Entailment) -> float | None:
    return _mean(e.recalled)


def _f1(e: Entailment) -> float | None:
    precision, recall = _mean(e.right), _mean(e.recalled)
    if precision is None or recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision and recall else 0.0


def _claim_recall(e: Entailment) -> float | None:
    return _mean(np.any(e.gold_by_chunk, axis=1)) if e.chunks else None


def _context_precision(e: Entailment) -> float | None:
    return _mean(e.relevant) if len(e.recalled) else None


def _context_utilization(e: Entailment) -> float | None:
    return _mean(e.recalled[e.gold_by_chunk.any(1)]) if e.chunks else None


def _noise(e: Entailment, of_relevant: bool) -> float | None:
    if not len(e.recalled) or not e.chunks:
        return None
    relevant = (e.by_chunk & e.relevant).any(1)
    taken = relevant if of_relevant else (e.by_chunk & ~e.relevant).any(1) & ~relevant
    return _mean(taken & ~e.right)


def _noise_in_relevant(e: Entailment) -> float | None:
    return _noise(e, True)


def _noise_in_irrelevant(e: Entailment) -> float | None:
    return _noise(e, False)


def _hallucination(e: Entailment) -> float | None:
    return _mean(~e.faithful & ~e.right) if e.chunks else None


def _self_knowledge(e: Entailment) -> float | None:
    return _mean(~e.faithful & e.right) if e.chunks else None


def _faithfulness(e: Entailment) -> float | None:
    return _mean(e.faithful) if e.chunks else None


@dataclass(frozen=True)
class RagMetric:
    """One metric: its block in RAGChecker's files, what it says, whether more of it is better, when it is undefined, and its value.

    `value` is None where it is undefined; RAGChecker writes 0 there.
    """

    block: str
    definition: str
    higher_is_better: bool
    undefined: str
    value: Callable[[Entailment], float | None]


_NO_RESPONSE, _NO_GOLD = "without response claims", "without gold claims"
_NO_CHUNK, _NOISE = "without response claims or chunks", "without response claims, gold claims or chunks"

# In the order of RAGChecker's own files.
RAGCHECKER: dict[str, RagMetric] = {
    "precision": RagMetric("overall", "share of response claims that the gold answer entails", True, _NO_RESPONSE, _precision),
    "recall": RagMetric("overall", "share of gold claims that the response entails", True, _NO_GOLD, _recall),
    "f1": RagMetric("overall", "harmonic mean of precision and recall", True, "without response claims or gold claims", _f1),
    "claim_recall": RagMetric(
        "retriever", "share of gold claims that a chunk entails", True, "without gold claims or chunks", _claim_recall
    ),
    "context_precision": RagMetric(
        "retriever", "share of chunks that entail a gold claim", True, "without gold claims or chunks", _context_precision
    ),
    "context_utilization": RagMetric(
        "generator", "share of the gold claims in the chunks that the response entails", True, "without a gold claim that a chunk entails",
        _context_utilization,
    ),
    "noise_sensitivity_in_relevant": RagMetric(
        "generator", "share of response claims that are wrong and entailed by a relevant chunk", False, _NOISE, _noise_in_relevant
    ),
    "noise_sensitivity_in_irrelevant": RagMetric(
        "generator", "share of response claims that are wrong and entailed by irrelevant chunks only", False, _NOISE, _noise_in_irrelevant
    ),
    "hallucination": RagMetric(
        "generator", "share of response claims that are wrong and entailed by no chunk", False, _NO_CHUNK, _hallucination
    ),
    "self_knowledge": RagMetric(
        "generator", "share of response claims that are right and entailed by no chunk", False, _NO_CHUNK, _self_knowledge
    ),
    "faithfulness": RagMetric("generator", "share of response claims that a chunk entails", True, _NO_CHUNK, _faithfulness),
}  # fmt: skip


def ragchecker(entailment: Entailment) -> dict[str, float]:
    """All eleven of one question, each in [0, 1], with RAGChecker's 0 where one is undefined."""
    return {name: metric.value(entailment) or 0.0 for name, metric in RAGCHECKER.items()}


def faithfulness_to_evidence(entailment: Entailment) -> float | None:
    """Share of response claims that the system's own evidence entails; None where it was not judged or there is no response claim.

    It says whether a system kept to what it chose to write from, and is close to 1 by design for systems that write from claims.
    """
    evidence = entailment.evidence2response
    return _mean(np.array([any(row) for row in evidence], dtype=bool)) if evidence is not None else None
