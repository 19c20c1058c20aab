"""What arbitrators answer, and what every propagation returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor

from arbgraph.graph import EvidenceGraph
from arbgraph.propagation.edges import Edges
from arbgraph.schema import Failed


@dataclass(frozen=True)
class Verdicts:
    """An arbitrator's answer for C pairs: `probabilities [C, 3]` of a wins, b wins, abstain; one reason in plain words each.

    A row of NaN means that the arbitrator failed on that pair: it moves nothing, is counted, and is not asked again.
    An arbitrator that asks a chat model also gives, per pair, what it spent (`calls`, `prompt_tokens`, ...) and what failed.
    """

    probabilities: Tensor
    rationales: Sequence[str] = ()
    usage: Sequence[Mapping[str, int]] = ()
    failures: Sequence[Sequence[Failed]] = ()


class Arbitrator(Protocol):
    """Decides contradictions. `pairs [C]` are columns of `graph.pair_index`; `support [E]` marks the support edges in force."""

    def arbitrate(self, graph: EvidenceGraph, pairs: Tensor, support: Tensor, contradiction: Tensor) -> Verdicts: ...


def conflict_intensity(p_a: Tensor, p_b: Tensor) -> Tensor:
    """I = (p_a + p_b) / (1 + |p_a - p_b|), in [0, 2] (ArbGraph, Eq. 4): high where two credible claims are evenly matched."""
    return (p_a + p_b) / (1 + (p_a - p_b).abs())


@dataclass(frozen=True)
class Round:
    """One executed round: selection m, gate w, direction d `[E]`; logits before and after it `[N]`.

    In exact mode m and w are booleans and d is -1, 0 or 1, of one byte.
    """

    pair_index: Tensor
    selected: Tensor
    gate: Tensor
    direction: Tensor
    before: Tensor
    s: Tensor

    @property
    def intensity(self) -> Tensor:
        """Conflict intensity (Eq. 4) of every pair at the start of the round, `[E]`."""
        return conflict_intensity(*torch.sigmoid(self.before)[self.pair_index])


@dataclass(frozen=True)
class CredibilityTrace:
    """The result of a propagation over N claims and E pairs.

    `p [N]` credibility, `s [N]` its logit, `accepted [N]` kept and p >= tau_accept (Eq. 5), `verdict [E, 3]` all verdicts known
    at the end, `asked [E]` pairs that the arbitrator was asked about, `rationales` its reasons by pair, `rounds_run [B]` rounds
    up to the last in which a graph of the batch arbitrated a pair, `converged [B]` whether a graph had settled (for Algorithm 1: no
    active pair is left, or early stop saw a round that moved nothing), `acceptance [N]` in [0, 1] the differentiable form of
    `accepted`.
    """

    p: Tensor
    s: Tensor
    accepted: Tensor
    edges: Edges
    verdict: Tensor
    asked: Tensor
    rounds: list[Round] = field(default_factory=list)
    rationales: dict[int, str] = field(default_factory=dict)
    rounds_run: Tensor = field(default_factory=lambda: torch.zeros(0, dtype=torch.long))
    converged: Tensor = field(default_factory=lambda: torch.zeros(0, dtype=torch.bool))
    acceptance: Tensor = field(default_factory=lambda: torch.zeros(0))

    def split(self, graphs: Sequence[EvidenceGraph]) -> list[CredibilityTrace]:
        """The trace of every graph of the batch that this trace was computed on; each is what the graph alone would give."""
        parts, n, e = [], 0, 0
        for number, graph in enumerate(graphs):
            nodes, pairs = slice(n, n + graph.prior.numel()), slice(e, e + graph.num_pairs)
            parts.append(self._part(nodes, pairs, slice(number, number + 1)))
            n, e = nodes.stop, pairs.stop
        return parts

    def _part(self, nodes: slice, pairs: slice, graph: slice) -> CredibilityTrace:
        asked = self.asked[pairs]
        edges = Edges(self.edges.kept[nodes], self.edges.support[pairs], self.edges.contradiction[pairs], self.edges.capped[pairs])
        rounds = [
            Round(r.pair_index[:, pairs] - nodes.start, r.selected[pairs], r.gate[pairs], r.direction[pairs], r.before[nodes], r.s[nodes])
            for r in self.rounds[: int(self.rounds_run[graph])]
        ]
        return CredibilityTrace(
            self.p[nodes],
            self.s[nodes],
            self.accepted[nodes],
            edges,
            self.verdict[pairs],
            asked,
            rounds,
            {e - pairs.start: text for e, text in self.rationales.items() if pairs.start <= e < pairs.stop},
            self.rounds_run[graph],
            self.converged[graph],
            self.acceptance[nodes],
        )

    @property
    def calls(self) -> int:
        """Pairs that the arbitrator was asked about."""
        return int(self.asked.sum())

    @property
    def failed(self) -> int:
        """Pairs on which the arbitrator failed (a verdict of NaN)."""
        return int((self.asked & self.verdict[:, 0].isnan()).sum())
