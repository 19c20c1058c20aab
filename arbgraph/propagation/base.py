"""What the rivals of Algorithm 1 share: thresholds, signed arcs, iteration to a fixed point for each graph of a batch, the trace."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import torch
from torch import Tensor, nn

from arbgraph.graph import EvidenceGraph
from arbgraph.propagation.edges import CapScope, Edges, graph_of, num_graphs, select_edges
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


def working_precision(graph: EvidenceGraph) -> EvidenceGraph:
    """The graph with a prior of at least float32: iterated sums and logits near 0 and 1 do not fit into half precision."""
    if graph.prior.dtype not in (torch.bfloat16, torch.float16):
        return graph
    wide = copy.copy(graph)
    wide.prior = graph.prior.float()
    return wide


class Propagation(nn.Module):
    """What Algorithm 1 and its rivals share: thresholds of the edges and of acceptance, and scalars that are learned by name.

    `learnable` names the scalars that can get gradients, with the interval of each, such as "[0, 1)". Every scalar is a float64
    parameter of no dimension; those that are not learned stay as given.
    """

    learnable: ClassVar[Mapping[str, str]] = {}
    # Constructor arguments that `from_settings` fills in.
    from_settings_names: ClassVar[tuple[str, ...]] = ("tau_accept", "tau_q", "tau_sim", "tau_conf", "support_cap", "support_cap_scope")

    tau_accept: nn.Parameter
    tau_q: nn.Parameter
    tau_sim: nn.Parameter
    tau_conf: nn.Parameter
    support_cap: int
    support_cap_scope: CapScope

    def __init__(self, *, learn: Sequence[str] = (), **options: Any) -> None:
        """Remembers what to learn; raises ValueError on a name that is not learnable. `options` go to the next base class."""
        for name in learn:
            if name not in self.learnable:
                known = f"choose one of {', '.join(self.learnable)}" if self.learnable else f"{type(self).__name__} has none"
                raise ValueError(f"learnable parameter {name!r} is not known; {known}")
        super().__init__(**options)
        self.learn = tuple(learn)

    @classmethod
    def from_settings(cls, settings: Settings, **options: Any) -> Self:
        """The method that a `Settings` object describes; `options` are further constructor arguments."""
        return cls(**{name: getattr(settings, name) for name in cls.from_settings_names}, **options)

    def register_scalars(self, **values: float) -> None:
        """Makes parameters out of `values`; those in `learn` get gradients. Raises ValueError on a value outside its interval."""
        for name, value in values.items():
            interval = self.learnable.get(name, "[-inf, inf]")
            low, high = _ends(interval)
            if not (low < value < high or (value == low and interval[0] == "[") or (value == high and interval[-1] == "]")):
                raise ValueError(f"{name} is {value}; it lies in {interval}")
            self.register_parameter(name, nn.Parameter(torch.tensor(float(value), dtype=torch.float64), requires_grad=name in self.learn))

    @torch.no_grad()
    def project(self, margin: float = 1e-6) -> None:
        """Moves the learned scalars back into their intervals, `margin` from a finite end; to be called after an optimiser's step."""
        for name, interval in self.learnable.items():
            if self.get_parameter(name).requires_grad:
                low, high = _ends(interval)
                self.get_parameter(name).clamp_(low + margin, high - margin)

    def select_edges(self, graph: EvidenceGraph) -> Edges:
        """Applies tau_q, tau_sim, tau_conf and the support cap (`arbgraph.propagation.edges`)."""
        return select_edges(
            graph,
            tau_q=self.tau_q.detach(),
            tau_sim=self.tau_sim.detach(),
            tau_conf=self.tau_conf.detach(),
            support_cap=self.support_cap,
            support_cap_scope=self.support_cap_scope,
        )


def _ends(interval: str) -> tuple[float, float]:
    low, high = interval[1:-1].split(",")
    return float(low), float(high)


class Rival(Propagation, ABC):
    """Base of every propagation that is not Algorithm 1: one call of `solve` on the edges that the thresholds leave.

    Args:
        tau_accept: acceptance threshold on p. tau_q, tau_sim, tau_conf, support_cap, support_cap_scope: as in
            `CredibilityPropagation`. edge_weight: weight c of an edge: the verifier's `confidence` in it, or `one`.
        max_iterations, tolerance: a graph that still moves by `tolerance` or more after `max_iterations` is flagged in
            `CredibilityTrace.converged`.
        learn: names out of `learnable` that get gradients, through the unrolled iteration. The edges are chosen hard.

    Shapes:
        input: an `EvidenceGraph` or a batch of them, N claims and E pairs in all. output: `CredibilityTrace` with no rounds;
        `rounds_run [B]` holds the iterations used.

    Claims below tau_q keep their prior. The computation runs in the dtype of `graph.prior`, but in float32 where that is half
    precision. An arbitrator is never asked.
    """

    def __init__(
        self,
        *,
        tau_accept: float = 0.3,
        tau_q: float = 0.3,
        tau_sim: float = 0.75,
        tau_conf: float = 0.5,
        support_cap: int = 60,
        support_cap_scope: CapScope = "graph",
        edge_weight: EdgeWeight = "confidence",
        max_iterations: int = 200,
        tolerance: float = 1e-6,
        learn: Sequence[str] = (),
    ) -> None:
        super().__init__(learn=learn)
        if edge_weight not in ("confidence", "one"):
            raise ValueError(f"edge_weight {edge_weight!r} is not known; choose 'confidence' or 'one'")
        if max_iterations < 0 or tolerance < 0:
            raise ValueError(f"max_iterations {max_iterations} and tolerance {tolerance} must not be negative")
        self.register_scalars(tau_accept=tau_accept, tau_q=tau_q, tau_sim=tau_sim, tau_conf=tau_conf)
        self.support_cap, self.support_cap_scope = support_cap, support_cap_scope
        self.edge_weight, self.max_iterations, self.tolerance = edge_weight, max_iterations, tolerance

    def extra_repr(self) -> str:
        shown = {name: value for name, value in vars(self).items() if not name.startswith("_") and name != "training"}
        scalars = [f"{name}={value.item():.4g}" for name, value in self.named_parameters()]
        return ", ".join([*scalars, *(f"{name}={value!r}" for name, value in shown.items())])

    def forward(self, graph: EvidenceGraph, arbitrator: Arbitrator | None = None) -> CredibilityTrace:
        """Scores every claim. `arbitrator` is part of the common interface and is not used."""
        edges, wide = self.select_edges(graph), working_precision(graph)
        solution = self.solve(wide, edges)
        p = torch.where(edges.kept, solution.p, wide.prior)
        bounds = torch.finfo(p.dtype)
        return CredibilityTrace(
            p=p.to(graph.prior),
            s=torch.logit(p.clamp(bounds.tiny, 1 - bounds.eps)).to(graph.prior),
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
