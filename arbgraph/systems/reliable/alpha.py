"""The weight of relevance against credibility, chosen on development questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from arbgraph.schema import Answer, Failed, Query
from arbgraph.systems.base import System

PAPER_ALPHA = 0.4
GRID = tuple(step / 10 for step in range(11))


@dataclass(frozen=True)
class AlphaFit:
    """The chosen alpha, and the mean score of every alpha tried."""

    alpha: float
    scores: dict[float, float]


def fit_alpha(
    build: Callable[[float], System],
    queries: Sequence[Query],
    score: Callable[[Query, Answer | Failed], float],
    *,
    grid: Sequence[float] = GRID,
) -> AlphaFit:
    """Answers the development questions with every alpha of the grid and takes the best mean score.

    Ties go to the alpha nearest to the paper's 0.4, then to the smaller. Extraction and evaluation ask the same for every alpha: with a
    `CachedChat` they are paid for once.

    Args:
        build: a system for an alpha. score: of one outcome; a failure should score lowest.

    Raises ValueError without a question or an alpha.
    """
    if not queries or not grid:
        raise ValueError("fitting alpha needs at least one question and one alpha")
    scores = {}
    for alpha in grid:
        outcomes = build(alpha).answer(queries)
        scores[alpha] = fmean(score(query, outcome) for query, outcome in zip(queries, outcomes, strict=True))
    best = min(scores, key=lambda alpha: (-scores[alpha], round(abs(alpha - PAPER_ALPHA), 9), alpha))
    return AlphaFit(best, scores)
