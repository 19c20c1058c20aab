"""What answers cost, and how much quality a thousand tokens buy. Undefined is None."""

from __future__ import annotations

import math
from collections.abc import Sequence

# What `usage` of a scored item may hold, and what it means.
COSTS: dict[str, str] = {
    "calls": "calls of the chat model",
    "prompt_tokens": "tokens read by the chat model",
    "completion_tokens": "tokens written by the chat model",
    "seconds": "wall time of the question",
    "graph_claims": "canonical claims of the graph",
    "candidate_pairs": "pairs that the verifier read",
    "support_edges": "pairs related by support",
    "contradiction_edges": "pairs related by contradiction",
    "rounds": "rounds of arbitration",
}


def quality_per_1000_tokens(quality: Sequence[float], tokens: Sequence[float]) -> float | None:
    """Summed quality per 1,000 of all tokens read and written; None without tokens."""
    spent = math.fsum(tokens)
    return 1000 * math.fsum(quality) / spent if spent else None
