"""The choices that Algorithm 1 makes, hard, soft, or hard forward and soft backward; the update that they feed is one and the same.

Every choice answers with numbers in [0, 1] (directions in [-1, 1]). `HardChoices` answers 0 or 1. `SoftChoices` replaces every
comparison by a gate of finite temperature and top-k by a budgeted selection (`relaxation.py`): with hard-sigmoid gates it
gives the very same numbers as soon as every quantity is further from its threshold than half the temperature and the selected
scores are apart by the selection's temperature. The acceptance threshold is compared in logit space throughout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from arbgraph.graph import EvidenceGraph
from arbgraph.propagation.edges import Edges, graph_of, num_graphs, rank_within
from arbgraph.propagation.relaxation import GATES, SELECTIONS
from arbgraph.schema import CONTRADICT, SUPPORT

if TYPE_CHECKING:
    from arbgraph.propagation.credibility import CredibilityPropagation

# Sigmoids differ in the last bits between devices, and on one device with the position of an element in its tensor. Without a
# tolerance such noise would decide equal cases: intensities equal to 9 decimals are tied, and a logit within 1e-9 of a
# threshold is on it (not active, which is strict; accepted, which is not).
TIE_DECIMALS = 9
ON_THRESHOLD = 1e-9


def tie_order(graph: EvidenceGraph) -> Tensor:
    """All pairs by relation confidence, then similarity, then position: the fixed order that breaks ties, `[E]`."""
    order = torch.argsort(graph.similarity, descending=True, stable=True)
    return order[torch.argsort(graph.relation.amax(dim=-1)[order], descending=True, stable=True)]


def accepts(edges: Edges, s: Tensor, tau_accept: Tensor) -> Tensor:
    """Whether a kept claim's credibility reaches tau_accept (Eq. 5, non-strict), `[N]` boolean."""
    return edges.kept & (s >= torch.logit(tau_accept.detach()) - ON_THRESHOLD)


class HardChoices:
    """Algorithm 1's own choices on one graph or batch of graphs."""

    def __init__(self, layer: CredibilityPropagation, graph: EvidenceGraph, edges: Edges) -> None:
        self.layer, self.graph, self.edges = layer, graph, edges
        self.kept, self.support = edges.kept.to(graph.prior), edges.support.to(graph.prior)
        self.contradiction = edges.contradiction.to(graph.prior)
        self.threshold = torch.logit(layer.tau_accept.detach())
        self.group, self.ties = graph_of(graph)[graph.pair_index[0]], tie_order(graph)

    def active(self, s: Tensor) -> Tensor:
        """Contradictions between two claims that are both still credible (strict), `[E]`."""
        return (self.edges.contradiction & (s[self.graph.pair_index] > self.threshold + ON_THRESHOLD).all(dim=0)).to(s)

    def select(self, active: Tensor, priority: Tensor) -> Tensor:
        """The `budget` active pairs of highest priority in every graph, `[E]`."""
        if self.layer.unlimited:
            return active
        assert self.layer.budget is not None
        score = torch.where(active > 0, torch.round(priority.double(), decimals=TIE_DECIMALS), -torch.inf)
        order = self.ties[torch.argsort(score[self.ties], descending=True, stable=True)]
        return active * (rank_within(self.group, order) < self.layer.budget)

    def gate(self, verdict: Tensor) -> Tensor:
        """w `[E]`: whether the likelier winner has at least probability tau_gate."""
        return (verdict[:, :2].amax(dim=-1) >= self.layer.tau_gate.detach()).to(verdict)

    def direction(self, verdict: Tensor) -> Tensor:
        """d `[E]` in {-1, 0, 1}: 1 where a is the likelier winner."""
        return torch.sign(verdict[:, 0] - verdict[:, 1])

    def accept(self, s: Tensor) -> Tensor:
        """`accepts` as numbers, `[N]`."""
        return accepts(self.edges, s, self.layer.tau_accept).to(s)


class SoftChoices:
    """Differentiable counterparts; `layer.temperature` scales all of them, `layer.temperatures` each one's own."""

    def __init__(self, layer: CredibilityPropagation, graph: EvidenceGraph, edges: Edges) -> None:
        self.layer, self.graph = layer, graph
        self.group = graph_of(graph)[graph.pair_index[0]]
        rank = rank_within(self.group, tie_order(graph)).to(graph.prior)
        sizes = torch.bincount(self.group, minlength=num_graphs(graph)).to(graph.prior)
        # Ties are normal at the start. Without this small slope tied pairs would share the budget at every temperature.
        self.tie_break = layer.tie_slope * rank / sizes[self.group].clamp(min=1)
        a, b = graph.pair_index
        self.kept = self._gate(graph.relevance - layer.tau_q, "relevance")
        alive = self.kept[a] * self.kept[b] * self._gate(graph.similarity - layer.tau_sim, "similarity")
        self.contradiction = alive * self._label(CONTRADICT)
        # The cap M counts edges and is not relaxed; gradients pass through the edges that it leaves.
        self.support = alive * self._label(SUPPORT) * ~edges.capped
        self.threshold = torch.logit(layer.tau_accept)

    def _gate(self, distance: Tensor, name: str) -> Tensor:
        distance = distance.to(self.graph.prior)
        return GATES[self.layer.gate](distance / (self.layer.temperature * self.layer.temperatures[name]))

    def _label(self, label: int) -> Tensor:
        """How much a relation is `label`: ahead of the other two, and above tau_conf."""
        relation = self.graph.relation
        others = relation[:, [column for column in range(3) if column != label]].amax(dim=-1)
        return self._gate(relation[:, label] - others, "label") * self._gate(relation[:, label] - self.layer.tau_conf, "confidence")

    def active(self, s: Tensor) -> Tensor:
        a, b = self.graph.pair_index
        return self.contradiction * self._gate(torch.minimum(s[a], s[b]) - self.threshold, "active")

    def select(self, active: Tensor, priority: Tensor) -> Tensor:
        if self.layer.unlimited:
            return active
        score = priority - self.tie_break - self.layer.inactive_penalty * (1 - active)
        groups = num_graphs(self.graph)
        # As many as the budget, but no more than there are active pairs: soft counts, so that the limit is exact.
        available = torch.zeros(groups, dtype=active.dtype, device=active.device).index_add(0, self.group, active)
        budget = torch.minimum(torch.full_like(available, float(self.layer.budget or 0)), available)
        tau = self.layer.temperature * self.layer.temperatures["selection"]
        return active * SELECTIONS[self.layer.selection](score, self.group, budget, tau)

    def gate(self, verdict: Tensor) -> Tensor:
        return self._gate(verdict[:, :2].amax(dim=-1) - self.layer.tau_gate, "gate")

    def direction(self, verdict: Tensor) -> Tensor:
        return ((verdict[:, 0] - verdict[:, 1]) / (self.layer.temperature * self.layer.temperatures["direction"])).clamp(-1, 1)

    def accept(self, s: Tensor) -> Tensor:
        return self.kept * self._gate(s - self.threshold, "accept")


class StraightThroughChoices:
    """The numbers of `HardChoices` with the gradients of `SoftChoices`."""

    def __init__(self, layer: CredibilityPropagation, graph: EvidenceGraph, edges: Edges) -> None:
        self.hard, self.soft = HardChoices(layer, graph, edges), SoftChoices(layer, graph, edges)
        self.kept, self.support = _through(self.hard.kept, self.soft.kept), _through(self.hard.support, self.soft.support)
        self.contradiction = self.soft.contradiction

    def active(self, s: Tensor) -> Tensor:
        return _through(self.hard.active(s), self.soft.active(s))

    def select(self, active: Tensor, priority: Tensor) -> Tensor:
        return _through(self.hard.select(active.detach(), priority.detach()), self.soft.select(active, priority))

    def gate(self, verdict: Tensor) -> Tensor:
        return _through(self.hard.gate(verdict), self.soft.gate(verdict))

    def direction(self, verdict: Tensor) -> Tensor:
        return _through(self.hard.direction(verdict), self.soft.direction(verdict))

    def accept(self, s: Tensor) -> Tensor:
        return _through(self.hard.accept(s), self.soft.accept(s))


def _through(hard: Tensor, soft: Tensor) -> Tensor:
    return hard.detach() + (soft - soft.detach())
