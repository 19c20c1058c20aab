"""What the rivals of Algorithm 1 share: thresholds, signed arcs, iteration to a fixed point for each graph of a batch, the trace."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Self

import torch
from torch import Tensor, nn

from arbgraph.graph import EvidenceGraph
from arbgraph.propagation.edges import Edges, graph_of, num_graphs, select_edges
from arbgraph.propagation.trace import Arbitrator, CredibilityTrace
from arbgraph.settings import Settings

EdgeWeight = Literal["confidence", "one"]
State = tuple[Tensor, ...]


@dataclass(frozen=True)
class Arcs:
    """Directed, weighted arcs over N claims: `index [2, P]` (from, to), `weight [P]`."""

    index: Tensor
    weight: Tensor

    @classmethod
    def both_ways(cls, pair_index: Tensor, chosen: Tensor, weight: Tensor) -> Arcs:
        """Two arcs for every chosen undirected pair; `chosen [E]` boolean, `weight [E]`. Arc i and arc i + P/2 are a pair."""
        pairs, kept = pair_index[:, chosen], weight[chosen]
        return cls(torch.cat([pairs, pairs.flip(0)], dim=1), torch.cat([kept, kept]))

    def sum(self, value: Tensor) -> Tensor:
        """Weighted sum `[N]` of `value [N]` over the arcs that enter a claim."""
        return torch.zeros_like(value).index_add(0, self.index[1], self.weight * value[self.index[0]])


@dataclass(frozen=True)
class Solution:
    """Scores `p [N]` in [0, 1]; of every graph the `iterations [B]` used, and whether it `converged [B]`."""

    p: Tensor
    iterations: Tensor
    converged: Tensor


def maximum_within(value: Tensor, group: Tensor, groups: int) -> Tensor:
    """The largest value of every group `[groups]`, at least 0."""
    return value.new_zeros(groups).scatter_reduce(0, group, value, "amax")


def ratio(numerator: Tensor, denominator: Tensor, otherwise: Tensor | float = 0.0) -> Tensor:
    """numerator / denominator where the denominator is positive, else `otherwise`; gradients stay finite."""
    positive = denominator > 0
    return torch.where(positive, numerator / torch.where(positive, denominator, 1), otherwise)


def largest_change(groups: tuple[Tensor, ...], count: int) -> Callable[[State, State], Tensor]:
    """A measure of how far a step moved every graph `[count]`: the largest absolute change over all parts of the state."""

    group = torch.cat(groups)

    def change(old: State, new: State) -> Tensor:
        return maximum_within(torch.cat([(n - o).abs() for n, o in zip(new, old, strict=True)]), group, count)

    return change


def fixed_point(
    step: Callable[..., State],
    start: State,
    groups: tuple[Tensor, ...],
    count: int,
    *,
    max_iterations: int,
    tolerance: float,
    change: Callable[[State, State], Tensor] | None = None,
) -> tuple[State, Tensor, Tensor]:
    """Iterates `state = step(*state)` until every graph moves by less than `tolerance`, at most `max_iterations` times.

    Each part of the state is a vector whose entries belong to the graphs in `groups`. A graph that has settled is frozen, so
    it ends with the value that it would have alone. Returns the state, iterations `[count]` and converged `[count]`.
    """
    measure = change or largest_change(groups, count)
    state, device = start, groups[0].device
    running = torch.ones(count, dtype=torch.bool, device=device)
    iterations = torch.zeros(count, dtype=torch.long, device=device)
    for _ in range(max_iterations):
        if not running.any():
            break
        new = step(*state)
        with torch.no_grad():
            moved = measure(state, new)
        state = tuple(torch.where(running[group], n, o) for n, o, group in zip(new, state, groups, strict=True))
        iterations = iterations + running
        running = running & ~(moved < tolerance)  # Negated, so that a NaN counts as not settled.
    return state, iterations, ~running


class Rival(nn.Module, ABC):
    """Base of every propagation that is not Algorithm 1: one call of `solve` on the edges that the thresholds leave.

    Args:
        tau_accept: acceptance threshold on p. tau_q, tau_sim, tau_conf, support_cap, support_cap_scope: as in
            `CredibilityPropagation`. edge_weight: weight c of an edge: the verifier's `confidence` in it, or `one`.
        max_iterations, tolerance: a graph that still moves by `tolerance` or more after `max_iterations` is flagged in
            `CredibilityTrace.converged`.

    Shapes:
        input: an `EvidenceGraph` or a batch of them, N claims and E pairs in all. output: `CredibilityTrace` with no rounds;
        `rounds_run [B]` holds the iterations used.

    Claims below tau_q keep their prior. The computation runs in the dtype of `graph.prior`. An arbitrator is never asked.
    """

    def __init__(
        self,
        *,
        tau_accept: float = 0.3,
        tau_q: float = 0.3,
        tau_sim: float = 0.75,
        tau_conf: float = 0.5,
        support_cap: int = 60,
        support_cap_scope: Literal["graph", "node"] = "graph",
        edge_weight: EdgeWeight = "confidence",
        max_iterations: int = 200,
        tolerance: float = 1e-6,
    ) -> None:
        super().__init__()
        if edge_weight not in ("confidence", "one"):
            raise ValueError(f"edge_weight {edge_weight!r} is not known; choose 'confidence' or 'one'")
        if max_iterations < 0 or tolerance < 0:
            raise ValueError(f"max_iterations {max_iterations} and tolerance {tolerance} must not be negative")
        self.tau_accept, self.tau_q, self.tau_sim, self.tau_conf = tau_accept, tau_q, tau_sim, tau_conf
        self.support_cap = support_cap
        self.support_cap_scope: Literal["graph", "node"] = support_cap_scope
        self.edge_weight, self.max_iterations, self.tolerance = edge_weight, max_iterations, tolerance

    @classmethod
    def from_settings(cls, settings: Settings, **options: Any) -> Self:
        """The method under the thresholds of a `Settings` object; `options` are the method's own arguments."""
        names = "tau_accept tau_q tau_sim tau_conf support_cap support_cap_scope"
        return cls(**{name: getattr(settings, name) for name in names.split()}, **options)

    def extra_repr(self) -> str:
        shown = {name: value for name, value in vars(self).items() if not name.startswith("_") and name != "training"}
        return ", ".join(f"{name}={value!r}" for name, value in shown.items())

    def forward(self, graph: EvidenceGraph, arbitrator: Arbitrator | None = None) -> CredibilityTrace:
        """Scores every claim. `arbitrator` is part of the common interface and is not used."""
        edges = select_edges(
            graph,
            tau_q=self.tau_q,
            tau_sim=self.tau_sim,
            tau_conf=self.tau_conf,
            support_cap=self.support_cap,
            support_cap_scope=self.support_cap_scope,
        )
        solution = self.solve(graph, edges)
        p = torch.where(edges.kept, solution.p, graph.prior)
        bounds = torch.finfo(p.dtype)
        return CredibilityTrace(
            p=p,
            s=torch.logit(p.clamp(bounds.tiny, 1 - bounds.eps)),
            accepted=edges.kept & (p >= self.tau_accept),
            edges=edges,
            verdict=graph.verdict,
            asked=torch.zeros(graph.num_pairs, dtype=torch.bool, device=p.device),
            rounds_run=solution.iterations,
            converged=solution.converged,
        )

    @abstractmethod
    def solve(self, graph: EvidenceGraph, edges: Edges) -> Solution:
        """The scores of all claims, given the edges in force."""

    def weights(self, graph: EvidenceGraph) -> Tensor:
        """Weight c `[E]` of every pair."""
        confidence = graph.relation.amax(dim=-1).to(graph.prior.dtype)
        return confidence if self.edge_weight == "confidence" else torch.ones_like(confidence)


def groups_of(graph: EvidenceGraph) -> tuple[Tensor, int]:
    """Graph number of every claim `[N]`, and the number of graphs B."""
    return graph_of(graph), num_graphs(graph)
