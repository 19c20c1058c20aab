"""Algorithm 1 in plain Python, one graph, one pair at a time: slow and obvious, the oracle of the layer.

It starts from the same logits as the layer, so that equality can be asked for bit by bit. As in the layer, a logit within 1e-9
of the acceptance threshold is on it, and intensities equal to nine decimals are tied.
"""

from __future__ import annotations

import math
from collections.abc import Callable


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def algorithm1(
    start: list[float],
    pairs: list[tuple[int, int]],
    relation: list[tuple[float, float, float]],
    similarity: list[float],
    relevance: list[float],
    verdict: Callable[[int], tuple[float, float, float]],
    *,
    rounds: int,
    budget: int | None,
    step_size: float,
    tau_accept: float,
    tau_gate: float,
    tau_q: float,
    tau_sim: float,
    tau_conf: float,
    early_stop: bool,
) -> tuple[list[float], list[bool], list[list[int]]]:
    """Logits, accepted flags and the pairs arbitrated per round."""
    kept = [r >= tau_q for r in relevance]
    contradictions = []
    for e, (a, b) in enumerate(pairs):
        confidence = max(relation[e])
        if kept[a] and kept[b] and similarity[e] >= tau_sim and confidence >= tau_conf and relation[e].index(confidence) == 1:
            contradictions.append(e)
    s = list(start)
    threshold = math.log(tau_accept / (1 - tau_accept))
    history = []
    for _ in range(rounds):
        p = [sigmoid(x) for x in s]
        active = []
        for e in contradictions:
            a, b = pairs[e]
            if min(s[a], s[b]) > threshold + 1e-9:
                intensity = (p[a] + p[b]) / (1 + abs(p[a] - p[b]))
                active.append((-round(intensity, 9), -max(relation[e]), -similarity[e], e))
        chosen = [e for *_, e in sorted(active)][: budget if budget is not None else len(active)]
        if not chosen:
            break
        history.append(sorted(chosen))
        net = [0] * len(s)
        for e in chosen:
            a, b = pairs[e]
            wins_a, wins_b, _ = verdict(e)
            if max(wins_a, wins_b) >= tau_gate and wins_a != wins_b:
                winner, loser = (a, b) if wins_a > wins_b else (b, a)
                net[winner] += 1
                net[loser] -= 1
        s = [x + step_size * n for x, n in zip(s, net, strict=True)]
        if early_stop and not any(max(verdict(e)[:2]) >= tau_gate and verdict(e)[0] != verdict(e)[1] for e in chosen):
            break
    accepted = [k and x >= threshold - 1e-9 for k, x in zip(kept, s, strict=True)]
    assert all(math.isfinite(x) for x in s)
    return s, accepted, history
