"""Which claims and pairs of an evidence graph take part: thresholds and the support cap, shared by every propagation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from arbgraph.graph import EvidenceGraph
from arbgraph.schema import CONTRADICT, SUPPORT


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


def rank_within(group: Tensor, order: Tensor) -> Tensor:
    """Rank `[E]` of every element inside its group, from 0, when elements are taken in `order` (a permutation of E)."""
    by_group = order[torch.argsort(group[order], stable=True)]
    sizes = torch.bincount(group, minlength=int(group.max()) + 1 if group.numel() else 0)
    starts = torch.cumsum(sizes, 0) - sizes
    rank = torch.empty_like(order)
    rank[by_group] = torch.arange(order.numel(), device=order.device) - starts[group[by_group]]
    return rank


def select_edges(
    graph: EvidenceGraph,
    *,
    tau_q: float,
    tau_sim: float,
    tau_conf: float,
    support_cap: int,
    support_cap_scope: Literal["graph", "node"],
) -> Edges:
    """The claims with relevance >= tau_q, and the pairs between them with similarity >= tau_sim whose most probable relation has
    probability >= tau_conf. Every contradiction is kept; of the support edges the `support_cap` most similar (section 3.3).
    """
    a, b = graph.pair_index
    kept = graph.relevance >= tau_q
    alive = kept[a] & kept[b] & (graph.similarity >= tau_sim)
    confidence, label = graph.relation.max(dim=-1)
    certain = alive & (confidence >= tau_conf)
    support = certain & (label == SUPPORT)
    within = support & _within_cap(graph, support, support_cap, support_cap_scope)
    return Edges(kept, within, certain & (label == CONTRADICT), support & ~within)


def _within_cap(graph: EvidenceGraph, support: Tensor, cap: int, scope: Literal["graph", "node"]) -> Tensor:
    a, b = graph.pair_index
    order = torch.argsort(torch.where(support, graph.similarity, -torch.inf), descending=True, stable=True)
    if scope == "graph":
        return rank_within(graph_of(graph)[a], order) < cap
    # Per claim: an edge stays when it is among the M best of either end.
    both = rank_within(torch.cat([a, b]), torch.stack([order, order + a.numel()], dim=1).flatten())
    return (both[: a.numel()] < cap) | (both[a.numel() :] < cap)
