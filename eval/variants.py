"""The paper's ablations (Table 3) that no setting expresses, made exact.

The others are settings: `no_screen` is tau_q = -1, `no_reject` is tau_accept = 0 (every claim stays active and is accepted), and
`one_step` is one round without a budget.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor

from arbgraph.graph import EvidenceGraph
from arbgraph.propagation.choices import HardChoices, tie_order
from arbgraph.propagation.credibility import CredibilityPropagation
from arbgraph.propagation.edges import Edges, PairGroups, at_ends
from arbgraph.propagation.trace import Arbitrator, Round, Verdicts, conflict_intensity

REMOVED = -torch.inf


def without_pairs(graph: EvidenceGraph) -> EvidenceGraph:
    """`no_graph`: the same claims and no relations; every kept claim goes on with its prior."""
    bare = copy.copy(graph)
    for name in ("similarity", "relation", "verdict"):
        bare[name] = graph[name][:0]
    bare.pair_index = graph.pair_index[:, :0]
    return bare


class HardElimination(CredibilityPropagation):
    """`no_soft`: one pass over all active contradictions by falling intensity; a gated loss removes the claim at once.

    A removed claim takes part in no later pair. Ties of intensity fall in the fixed order of Algorithm 1. Removed claims have the
    logit -inf.
    """

    def _arbitrate(
        self, graph: EvidenceGraph, edges: Edges, choose: HardChoices, ask: object
    ) -> tuple[Tensor, list[Round], Tensor, Tensor]:  # type: ignore[override]
        s = self.start(graph)
        groups = PairGroups.of(graph)
        active = choose.active(s)
        ask(active)  # type: ignore[operator]
        gate, direction = choose.gate(ask.verdict), choose.direction(ask.verdict)  # type: ignore[attr-defined]
        ties = tie_order(graph)
        pairs = ties[active[ties]]
        intensity = conflict_intensity(*at_ends(torch.sigmoid(s), graph.pair_index))[pairs]
        order = pairs[torch.argsort(intensity.round(decimals=9), descending=True, stable=True)]
        after, met = s.clone(), torch.zeros_like(active)
        # One after the other by definition: whether a pair is met depends on the pairs before it.
        for pair in order.tolist():
            a, b = graph.pair_index[:, pair].tolist()
            if REMOVED in (after[a], after[b]):
                continue
            met[pair] = True
            if gate[pair] and direction[pair] != 0:
                after[b if direction[pair] > 0 else a] = REMOVED
        done = groups.any(met).long()
        return after, [Round(graph.pair_index, met, gate, direction, s, after)], done, torch.zeros(groups.count, dtype=torch.bool)


class Decisive:
    """`no_gate` beside tau_gate = 0: where two sides are equally likely, the claim of the higher prior wins, then the earlier one."""

    def __init__(self, arbitrator: Arbitrator) -> None:
        self.arbitrator = arbitrator

    def arbitrate(self, graph: EvidenceGraph, pairs: Tensor, support: Tensor, contradiction: Tensor) -> Verdicts:
        verdicts = self.arbitrator.arbitrate(graph, pairs, support, contradiction)
        probabilities = verdicts.probabilities.clone()
        prior_a, prior_b = at_ends(graph.prior, graph.pair_index[:, pairs])
        tied = probabilities[:, 0] == probabilities[:, 1]
        probabilities[tied] = torch.stack([prior_a >= prior_b, prior_a < prior_b, torch.zeros_like(tied)], dim=-1)[tied].to(probabilities)
        return Verdicts(probabilities, verdicts.rationales)
