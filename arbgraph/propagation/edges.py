"""Which claims and pairs of an evidence graph take part: thresholds and the support cap, shared by every propagation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from arbgraph.graph import EvidenceGraph
from arbgraph.schema import CONTRADICT, NEUTRAL, SUPPORT

CapScope = Literal["graph", "node"]


@dataclass(frozen=True)
class Edges:
    """What the thresholds leave of a graph, all boolean: claims kept `[N]`, support and contradiction edges `[E]`.

    `capped [E]` marks the support edges that the cap M removed.
    """

    kept: Tensor
    support: Tensor
    contradiction: Tensor
    capped: Tensor


def graph_of(graph: EvidenceGraph) -> Tensor:
    """Graph number of every claim `[N]`; zeros for a single graph."""
    batch = graph.get("batch")
    return torch.zeros(graph.prior.numel(), dtype=torch.long, device=graph.prior.device) if batch is None else batch


def num_graphs(graph: EvidenceGraph) -> int:
    """B, the graphs in a batch; 1 for a single graph."""
    return int(getattr(graph, "num_graphs", 1))


@dataclass(frozen=True)
class PairGroups:
    """The graphs `[E]` that pairs belong to, out of `count`; `index` is None where there is one graph, which saves a pass over E."""

    index: Tensor | None
    count: int

    @classmethod
    def of(cls, graph: EvidenceGraph) -> PairGroups:
        """The graph of every pair: that of its first claim."""
        batch = graph.get("batch")
        return cls(None if batch is None else batch.index_select(0, graph.pair_index[0]), num_graphs(graph))

    def any(self, mask: Tensor) -> Tensor:
        """Whether `mask [E]`, boolean, holds anywhere in a graph, `[B]`."""
        if self.index is None:
            return mask.any().view(1)
        return torch.zeros(self.count, dtype=torch.long, device=mask.device).index_add(0, self.index, mask.long()) > 0

    def spread(self, value: Tensor) -> Tensor:
        """`value [B]` for every pair `[E]`, or `[1]` where there is one graph."""
        return value if self.index is None else value.index_select(0, self.index)


def at_ends(value: Tensor, pair_index: Tensor) -> Tensor:
    """`value [N]` of both claims of every pair, `[2, E]`; a gather of two rows runs in parallel, where two selections do not."""
    return value.expand(2, -1).gather(1, pair_index)


def where_both(flag: Tensor, pairs: Tensor, pair_index: Tensor) -> Tensor:
    """Those of `pairs [E]`, boolean, whose claims both have the `flag [N]`. Where all claims have it, as is common, no gather is needed;
    it takes longer than all else."""
    if not torch.compiler.is_compiling() and bool(flag.all()):
        return pairs
    a, b = at_ends(flag, pair_index)
    return pairs & a & b


def count_within(group: Tensor, groups: int) -> Tensor:
    """Rows per group `[groups]`. Unlike `bincount`, its shape does not depend on data, which compilation needs."""
    return torch.zeros(groups, dtype=torch.long, device=group.device).index_add(0, group, torch.ones_like(group))


def rank_within(group: Tensor, groups: int) -> Tensor:
    """Rank `[R]` of every row among the earlier rows of its group, from 0."""
    if groups == 1:
        return torch.arange(group.numel(), device=group.device)
    by_group = torch.argsort(group, stable=True)
    sizes = count_within(group, groups)
    starts = torch.cumsum(sizes, 0) - sizes
    rank = torch.arange(group.numel(), device=group.device) - starts[group[by_group]]
    return torch.empty_like(group).index_copy(0, by_group, rank)


def positions(mask: Tensor) -> Tensor:
    """Rows in which `mask [R]` holds; all rows under compilation, where shapes must not depend on data."""
    if torch.compiler.is_compiling():
        return torch.arange(mask.numel(), device=mask.device)
    return mask.nonzero().squeeze(-1)


def select_edges(
    graph: EvidenceGraph,
    *,
    tau_q: float | Tensor,
    tau_sim: float | Tensor,
    tau_conf: float | Tensor,
    support_cap: int,
    support_cap_scope: CapScope,
) -> Edges:
    """The claims with relevance >= tau_q, and the pairs between them with similarity >= tau_sim whose most probable relation (the
    first of equals) has probability >= tau_conf. Every contradiction is kept; of the support edges the `support_cap` most similar
    (section 3.3).
    """
    kept = graph.relevance >= tau_q
    alive = where_both(kept, graph.similarity >= tau_sim, graph.pair_index)
    # Column by column: a maximum over rows of three numbers takes several times as long.
    supports, contradicts, neutral = (graph.relation[:, label] for label in (SUPPORT, CONTRADICT, NEUTRAL))
    least, contradicted = torch.maximum(neutral, torch.as_tensor(tau_conf, dtype=neutral.dtype)), contradicts > supports
    support = alive & ~contradicted & (supports >= least)
    contradiction = alive & contradicted & (contradicts >= least)
    within = support & _within_cap(graph, support, support_cap, support_cap_scope)
    return Edges(kept, within, contradiction, support & ~within)


def _within_cap(graph: EvidenceGraph, support: Tensor, cap: int, scope: CapScope) -> Tensor:
    """Among the `cap` most similar support edges of the graph, or of either claim; equals in the order of the pairs. `[E]`."""
    rows = positions(support)
    if rows.numel() <= cap:
        return torch.ones_like(support)
    similarity = graph.similarity[rows].masked_fill(~support[rows], -torch.inf)
    best = rows[torch.argsort(similarity, descending=True, stable=True)]
    a, b = graph.pair_index[:, best]
    if scope == "graph":
        within = rank_within(graph_of(graph)[a], num_graphs(graph)) < cap
    else:
        within = (rank_within(torch.stack([a, b], dim=1).flatten(), graph.prior.numel()) < cap).view(-1, 2).any(dim=1)
    return torch.zeros_like(support).index_copy(0, best, within)
