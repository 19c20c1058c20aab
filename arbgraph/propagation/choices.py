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
from arbgraph.propagation.edges import Edges, at_ends, count_within, graph_of, num_graphs, rank_within, where_both
from arbgraph.propagation.relaxation import GATES, SELECTIONS
from arbgraph.schema import CONTRADICT, SUPPORT

if TYPE_CHECKING:
    from arbgraph.propagation.credibility import CredibilityPropagation

# Sigmoids differ in the last bits between devices, and on one device with the position of an element in its tensor. Without a
# tolerance such noise would decide equal cases: intensities equal to 9 decimals (6 in float32) are tied, and a logit within 1e-9
# (1e-6) of a threshold is on it (not active, which is strict; accepted, which is not).
TIE_DECIMALS = {torch.float64: 9, torch.float32: 6}
ON_THRESHOLD = {torch.float64: 1e-9, torch.float32: 1e-6}


def tie_order(graph: EvidenceGraph) -> Tensor:
    """All pairs by relation confidence, then similarity, then position: the fixed order that breaks ties, `[E]`."""
    order = torch.argsort(graph.similarity, descending=True, stable=True)
    return order[torch.argsort(graph.relation.amax(dim=-1)[order], descending=True, stable=True)]


def accepts(edges: Edges, s: Tensor, tau_accept: Tensor) -> Tensor:
    """Whether a kept claim's credibility reaches tau_accept (Eq. 5, non-strict), `[N]` boolean."""
    return edges.kept & (s >= torch.logit(tau_accept.detach()) - ON_THRESHOLD[s.dtype])


class HardChoices:
    """Algorithm 1's own choices on one graph or batch of graphs: booleans, and directions of one byte."""

    def __init__(self, layer: CredibilityPropagation, graph: EvidenceGraph, edges: Edges) -> None:
        self.layer, self.graph, self.edges = layer, graph, edges
        self.threshold = torch.logit(layer.tau_accept.detach()) + ON_THRESHOLD[graph.prior.dtype]
        # The tie order costs two sorts, and only a budget asks for it.
        self.ties = None if layer.unlimited else tie_order(graph)

    @property
    def support(self) -> Tensor:
        """Support edges in force, `[E]`."""
        return self.edges.support.to(self.graph.prior)

    def active(self, s: Tensor) -> Tensor:
        """Contradictions between two claims that are both still credible (strict), `[E]`."""
        return where_both(s > self.threshold, self.edges.contradiction, self.graph.pair_index)

    def select(self, active: Tensor, priority: Tensor | None) -> Tensor:
        """The `budget` active pairs of highest priority in every graph, `[E]`; all of them without a priority."""
        if priority is None:
            return active
        assert self.ties is not None
        active = active > 0
        pairs = self.ties[active[self.ties]]
        score = torch.round(priority[pairs].double(), decimals=TIE_DECIMALS[priority.dtype])
        pairs = pairs[torch.argsort(score, descending=True, stable=True)]
        budgets = self.layer.budgets(num_graphs(self.graph), priority.device)
        group = graph_of(self.graph)[self.graph.pair_index[0, pairs]]
        within = rank_within(group, budgets.numel()) < budgets[group]
        return torch.zeros_like(active).index_copy(0, pairs, within)

    def gate(self, verdict: Tensor) -> Tensor:
        """w `[E]`: whether the likelier winner has at least probability tau_gate; no verdict (NaN) has not."""
        tau = self.layer.tau_gate.detach()
        return (verdict[:, 0] >= tau) | (verdict[:, 1] >= tau)

    def direction(self, verdict: Tensor) -> Tensor:
        """d `[E]` in {-1, 0, 1}: 1 where a is the likelier winner."""
        a, b = verdict[:, 0], verdict[:, 1]
        return (a > b).to(torch.int8) - (b > a).to(torch.int8)

    def accept(self, s: Tensor) -> Tensor:
        """`accepts` as numbers, `[N]`."""
        return accepts(self.edges, s, self.layer.tau_accept).to(s)


class SoftChoices:
    """Differentiable counterparts; `layer.temperature` scales all of them, `layer.temperatures` each one's own."""

    def __init__(self, layer: CredibilityPropagation, graph: EvidenceGraph, edges: Edges) -> None:
        self.layer, self.graph, self.edges = layer, graph, edges
        self.kept = self._gate(graph.relevance - layer.tau_q, "relevance")
        kept_a, kept_b = at_ends(self.kept, graph.pair_index)
        self.alive = kept_a * kept_b * self._gate(graph.similarity - layer.tau_sim, "similarity")
        self.contradiction = self.alive * self._label(CONTRADICT)
        self.threshold = torch.logit(layer.tau_accept)
        if not layer.unlimited:
            self.group, self.graphs = graph_of(graph)[graph.pair_index[0]], num_graphs(graph)
            self.budgets = layer.budgets(self.graphs, self.group.device)
            ties = tie_order(graph)
            rank = torch.empty_like(ties).index_copy(0, ties, rank_within(self.group[ties], self.graphs))
            self.tie_break = self._slope(rank, self.group, self.graphs)

    def _gate(self, distance: Tensor, name: str) -> Tensor:
        distance = distance.to(self.graph.prior)
        return GATES[self.layer.gate](distance / self._temperature(name))

    def _temperature(self, name: str) -> float:
        return self.layer.temperature * self.layer.temperatures[name]

    def _slope(self, rank: Tensor, group: Tensor, groups: int) -> Tensor:
        """What is taken off the score of the rank-th row of a group. Ties are normal at the start; without this small slope tied rows
        would share the budget at every temperature."""
        sizes = count_within(group, groups).clamp(min=1).to(self.graph.prior)
        return self.layer.tie_slope * rank.to(sizes) / sizes[group]

    def _label(self, label: int) -> Tensor:
        """How much a relation is `label`: ahead of the other two, and above tau_conf."""
        own, (one, two) = self.graph.relation[:, label], (self.graph.relation[:, other] for other in range(3) if other != label)
        return self._gate(own - torch.maximum(one, two), "label") * self._gate(own - self.layer.tau_conf, "confidence")

    @property
    def support(self) -> Tensor:
        """Support edges in force, `[E]`, those of a relaxed cap M by their share."""
        support = self.alive * self._label(SUPPORT)
        return support * (self._within_cap(support) if self.layer.soft_cap else ~self.edges.capped)

    def _within_cap(self, support: Tensor) -> Tensor:
        """The selection of the `support_cap` most similar support edges, `[E]`; per claim, an edge may be selected by either end."""
        ends, times = self.graph.pair_index, 1
        group, groups = graph_of(self.graph)[ends[0]], num_graphs(self.graph)
        if self.layer.support_cap_scope == "node":
            group, groups, times = ends.T.flatten(), self.graph.prior.numel(), 2
        cap = torch.full((groups,), float(self.layer.support_cap), dtype=support.dtype, device=support.device)
        share = support.repeat_interleave(times)
        score = self.graph.similarity.to(support).repeat_interleave(times) - self._slope(rank_within(group, groups), group, groups)
        within = self._best(score, share, group, cap, "cap", penalty=3.0)
        return 1 - (1 - within.view(-1, times)).prod(dim=1)

    def _best(self, score: Tensor, share: Tensor, group: Tensor, budget: Tensor, name: str, penalty: float) -> Tensor:
        """The relaxed selection of `budget [B]` rows by score, those that take part by a `share` only last. As many as the budget, but
        no more than there are: soft counts, so that the limit is exact. `penalty` is more than the range of the scores."""
        available = torch.zeros_like(budget).index_add(0, group, share)
        selection = SELECTIONS[self.layer.selection]
        return selection(score - penalty * (1 - share), group, torch.minimum(budget, available), self._temperature(name))

    def active(self, s: Tensor) -> Tensor:
        return self.contradiction * self._gate(torch.minimum(*at_ends(s, self.graph.pair_index)) - self.threshold, "active")

    def select(self, active: Tensor, priority: Tensor | None) -> Tensor:
        if priority is None:
            return active
        budget = self.budgets.to(active)
        return active * self._best(priority - self.tie_break, active, self.group, budget, "selection", self.layer.inactive_penalty)

    def gate(self, verdict: Tensor) -> Tensor:
        known, verdict = _known(verdict)
        return self._gate(torch.maximum(verdict[:, 0], verdict[:, 1]) - self.layer.tau_gate, "gate") * known

    def direction(self, verdict: Tensor) -> Tensor:
        _, verdict = _known(verdict)
        return ((verdict[:, 0] - verdict[:, 1]) / self._temperature("direction")).clamp(-1, 1).to(self.graph.prior)

    def accept(self, s: Tensor) -> Tensor:
        return self.kept * self._gate(s - self.threshold, "accept")


def _known(verdict: Tensor) -> tuple[Tensor, Tensor]:
    """Which verdicts there are `[E]`, and all `[E, 3]` with zeros for those that there are not, or that failed."""
    known = ~verdict[:, 0].isnan()
    return known, torch.where(known.unsqueeze(-1), verdict, 0)


class StraightThroughChoices:
    """The numbers of `HardChoices` with the gradients of `SoftChoices`."""

    def __init__(self, layer: CredibilityPropagation, graph: EvidenceGraph, edges: Edges) -> None:
        self.hard, self.soft = HardChoices(layer, graph, edges), SoftChoices(layer, graph, edges)
        self.contradiction = self.soft.contradiction

    @property
    def support(self) -> Tensor:
        return _through(self.hard.support, self.soft.support)

    def active(self, s: Tensor) -> Tensor:
        return _through(self.hard.active(s), self.soft.active(s))

    def select(self, active: Tensor, priority: Tensor | None) -> Tensor:
        hard = self.hard.select(active.detach(), None if priority is None else priority.detach())
        return _through(hard, self.soft.select(active, priority))

    def gate(self, verdict: Tensor) -> Tensor:
        return _through(self.hard.gate(verdict), self.soft.gate(verdict))

    def direction(self, verdict: Tensor) -> Tensor:
        return _through(self.hard.direction(verdict), self.soft.direction(verdict))

    def accept(self, s: Tensor) -> Tensor:
        return _through(self.hard.accept(s), self.soft.accept(s))


def _through(hard: Tensor, soft: Tensor) -> Tensor:
    return hard.detach().to(soft) + (soft - soft.detach())
