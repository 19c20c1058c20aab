"""Credibility propagation (ArbGraph, Algorithm 1) as a torch_geometric message-passing layer.

One round sends one scalar per contradiction pair: the winner gains `eta` on its credibility logit, the loser loses it.
Thresholds, the support cap and the arbitration budget are applied here and not when the graph is built, so one constructed
graph serves any setting.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import torch
from torch import Tensor
from torch_geometric.nn import MessagePassing

from arbgraph.graph import EvidenceGraph
from arbgraph.propagation.edges import Edges, graph_of, num_graphs, rank_within, select_edges
from arbgraph.settings import Settings

# Sigmoids differ in the last bits between devices, and on one device with the position of an element in its tensor. Without a
# tolerance such noise would decide equal cases: intensities equal to 9 decimals are tied, and a logit within 1e-9 of a
# threshold is on it (not active, which is strict; accepted, which is not).
TIE_DECIMALS = 9
ON_THRESHOLD = 1e-9

Scheduler = Literal["conflict_aware", "hard_first", "easy_first", "random", "round_robin", "exhaustive"]
SCHEDULERS: tuple[Scheduler, ...] = ("conflict_aware", "hard_first", "easy_first", "random", "round_robin", "exhaustive")


@dataclass(frozen=True)
class Verdicts:
    """An arbitrator's answer for C pairs: `probabilities [C, 3]` of a wins, b wins, abstain; one reason in plain words each.

    A row of NaN means that the arbitrator failed on that pair: it moves nothing, is counted, and is not asked again.
    """

    probabilities: Tensor
    rationales: Sequence[str] = ()


class Arbitrator(Protocol):
    """Decides contradictions. `pairs [C]` are columns of `graph.pair_index`; `support [E]` marks the support edges in force."""

    def arbitrate(self, graph: EvidenceGraph, pairs: Tensor, support: Tensor, contradiction: Tensor) -> Verdicts: ...


@dataclass(frozen=True)
class Round:
    """One executed round: intensity (Eq. 4), pairs selected, gate w, direction d in {-1, 0, 1} `[E]`; logits after it `[N]`."""

    intensity: Tensor
    selected: Tensor
    gate: Tensor
    direction: Tensor
    s: Tensor


@dataclass(frozen=True)
class CredibilityTrace:
    """The result of a propagation over N claims and E pairs.

    `p [N]` credibility, `s [N]` its logit, `accepted [N]` kept and p >= tau_accept (Eq. 5), `verdict [E, 3]` all verdicts known
    at the end, `asked [E]` pairs that the arbitrator was asked about, `rationales` its reasons by pair, `rounds_run [B]` rounds
    in which a graph of the batch arbitrated at least one pair, `converged [B]` whether a graph had settled (for Algorithm 1: no
    active pair is left, or early stop saw a round that moved nothing).
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
            Round(r.intensity[pairs], r.selected[pairs], r.gate[pairs], r.direction[pairs], r.s[nodes])
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
        )

    @property
    def calls(self) -> int:
        """Pairs that the arbitrator was asked about."""
        return int(self.asked.sum())

    @property
    def failed(self) -> int:
        """Pairs on which the arbitrator failed (a verdict of NaN)."""
        return int((self.asked & self.verdict[:, 0].isnan()).sum())


def conflict_intensity(p_a: Tensor, p_b: Tensor) -> Tensor:
    """I = (p_a + p_b) / (1 + |p_a - p_b|), in [0, 2] (ArbGraph, Eq. 4): high where two credible claims are evenly matched."""
    return (p_a + p_b) / (1 + (p_a - p_b).abs())


class CredibilityPropagation(MessagePassing):
    r"""Algorithm 1 of ArbGraph on a batch of evidence graphs.

    .. math::
        s^{(t+1)} = s^{(t)} + \eta \sum_{e \in \mathrm{top}k(I^{(t)})} w_e (e_{win} - e_{lose}), \qquad p = \sigma(s)

    Active pairs are contradictions with both credibilities above `tau_accept` (strict); the `budget` most intense of each graph
    are arbitrated, ties going to the higher relation confidence, then the higher similarity, then the earlier pair.
    Messages add, and p is frozen within a round, so the order inside a round does not matter. The sum of logits is conserved.

    Args:
        rounds: T. budget: k per graph and round, None for all. step_size: eta. tau_accept, tau_gate, tau_q, tau_sim, tau_conf:
            thresholds. support_cap: M, with support_cap_scope "graph" (as released) or "node".
        scheduler: which active pairs go first: `conflict_aware` (Eq. 4), `hard_first` (smallest difference in support edges,
            fixed at the start), `easy_first` (its reverse), `random` (seeded), `round_robin` (least often arbitrated, then
            intensity), `exhaustive` (all active pairs, no budget).
        early_stop: a graph stops when it has no active pair or when no verdict of a round passed the gate.
        mode: "exact".

    Shapes:
        input: an `EvidenceGraph` or a batch of them, N claims and E pairs in all. output: `CredibilityTrace`.

    The computation runs in the dtype of `graph.prior`.
    """

    def __init__(
        self,
        *,
        rounds: int = 2,
        budget: int | None = 3,
        step_size: float = 0.8,
        tau_accept: float = 0.3,
        tau_gate: float = 0.5,
        tau_q: float = 0.3,
        tau_sim: float = 0.75,
        tau_conf: float = 0.5,
        support_cap: int = 60,
        support_cap_scope: Literal["graph", "node"] = "graph",
        scheduler: Scheduler = "conflict_aware",
        early_stop: bool = False,
        seed: int = 0,
        mode: Literal["exact"] = "exact",
    ) -> None:
        super().__init__(aggr="add")
        if mode != "exact":
            raise ValueError(f"mode {mode!r} is not known; the mode is 'exact'")
        if scheduler not in SCHEDULERS:
            raise ValueError(f"scheduler {scheduler!r} is not known; choose one of {', '.join(SCHEDULERS)}")
        self.rounds, self.budget, self.step_size = rounds, budget, step_size
        self.tau_accept, self.tau_gate, self.tau_q, self.tau_sim, self.tau_conf = tau_accept, tau_gate, tau_q, tau_sim, tau_conf
        self.support_cap, self.support_cap_scope = support_cap, support_cap_scope
        self.scheduler, self.early_stop, self.seed, self.mode = scheduler, early_stop, seed, mode

    @classmethod
    def from_settings(cls, settings: Settings) -> CredibilityPropagation:
        """The layer that a `Settings` object describes."""
        names = "rounds budget step_size tau_accept tau_gate tau_q tau_sim tau_conf support_cap support_cap_scope scheduler early_stop seed"
        return cls(**{name: getattr(settings, name) for name in names.split()})

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(rounds={self.rounds}, budget={self.budget}, step_size={self.step_size}, "
            f"tau_accept={self.tau_accept}, scheduler={self.scheduler!r})"
        )

    # Which claims and pairs take part, and in which order

    def select_edges(self, graph: EvidenceGraph) -> Edges:
        """Applies tau_q, tau_sim, tau_conf and the support cap (`arbgraph.propagation.edges`)."""
        return select_edges(
            graph,
            tau_q=self.tau_q,
            tau_sim=self.tau_sim,
            tau_conf=self.tau_conf,
            support_cap=self.support_cap,
            support_cap_scope=self.support_cap_scope,
        )

    def _tie_order(self, graph: EvidenceGraph) -> Tensor:
        """All pairs by relation confidence, then similarity, then position: the fixed order that breaks ties, `[E]`."""
        order = torch.argsort(graph.similarity, descending=True, stable=True)
        return order[torch.argsort(graph.relation.amax(dim=-1)[order], descending=True, stable=True)]

    def _static_priority(self, graph: EvidenceGraph, edges: Edges) -> Tensor | None:
        """Priority `[E]` of the schedulers that fix their order at the start (higher goes first); None for the others."""
        a, b = graph.pair_index
        if self.scheduler in ("hard_first", "easy_first"):
            degree = torch.zeros(graph.num_nodes or 0, dtype=graph.prior.dtype, device=a.device)
            degree = degree.index_add(0, torch.cat([a, b]), edges.support.to(degree.dtype).repeat(2))
            # Similarity lies in [-1, 1], so a quarter of it never overturns a difference of one support edge.
            hardness = graph.similarity.to(degree.dtype) / 4 - (degree[a] - degree[b]).abs()
            return hardness if self.scheduler == "hard_first" else -hardness
        if self.scheduler == "random":
            # Seeded per graph, so that a graph gets the same order alone and inside a batch.
            sizes = torch.bincount(graph_of(graph)[a], minlength=num_graphs(graph)).tolist()
            draws = [torch.rand(size, generator=torch.Generator().manual_seed(self.seed)) for size in sizes]
            return torch.cat(draws).to(a.device) if draws else torch.zeros(0)
        return None

    # The rounds

    def forward(self, graph: EvidenceGraph, arbitrator: Arbitrator | None = None) -> CredibilityTrace:
        """Runs T rounds. The arbitrator is asked about a pair when it is first selected and never again.

        Raises ValueError when a selected pair has no verdict and no arbitrator is given.
        """
        edges = self.select_edges(graph)
        ask = _VerdictCache(graph, edges, arbitrator)
        a, b = graph.pair_index
        batch, graphs = graph_of(graph)[a], num_graphs(graph)
        ties, static = self._tie_order(graph), self._static_priority(graph, edges)
        times = torch.zeros_like(batch)
        running = torch.ones(graphs, dtype=torch.bool, device=a.device)
        rounds_run = torch.zeros(graphs, dtype=torch.long, device=a.device)
        s = torch.logit(graph.prior)
        rounds: list[Round] = []
        for _ in range(self.rounds):
            p = torch.sigmoid(s)
            active = self._active(s, edges, graph.pair_index) & running[batch]
            intensity = conflict_intensity(p[a], p[b])
            selected = self._select(active, self._priority(intensity, static, times), ties, batch)
            if not selected.any():
                break
            verdict = ask(selected)
            gate, direction = self.decide(verdict)
            vote = torch.where(selected, gate * direction, 0).to(s.dtype)
            s = self.step(s, vote, graph.pair_index)
            times = times + selected
            rounds_run = rounds_run + (torch.bincount(batch[selected], minlength=graphs) > 0)
            rounds.append(Round(intensity, selected, gate, direction, s))
            if self.early_stop:
                running = running & (torch.bincount(batch[selected & (vote != 0)], minlength=graphs) > 0)
        accepted = edges.kept & (s >= _logit(self.tau_accept) - ON_THRESHOLD)
        converged = ~running | (torch.bincount(batch[self._active(s, edges, graph.pair_index)], minlength=graphs) == 0)
        return CredibilityTrace(torch.sigmoid(s), s, accepted, edges, ask.verdict, ask.asked, rounds, ask.rationales, rounds_run, converged)

    def _active(self, s: Tensor, edges: Edges, pair_index: Tensor) -> Tensor:
        """Contradictions between two claims that are both still credible (strict), `[E]` boolean."""
        return edges.contradiction & (s[pair_index] > _logit(self.tau_accept) + ON_THRESHOLD).all(dim=0)

    def _priority(self, intensity: Tensor, static: Tensor | None, times: Tensor) -> Tensor:
        if static is not None:
            return static
        if self.scheduler == "round_robin":
            return intensity - 3 * times  # I <= 2, so a pair asked less often always goes first.
        return intensity

    def _select(self, active: Tensor, priority: Tensor, ties: Tensor, batch: Tensor) -> Tensor:
        """The `budget` active pairs of highest priority in every graph, `[E]` boolean."""
        if self.budget is None or self.scheduler == "exhaustive":
            return active
        score = torch.where(active, torch.round(priority.double(), decimals=TIE_DECIMALS), -torch.inf)
        order = ties[torch.argsort(score[ties], descending=True, stable=True)]
        return active & (rank_within(batch, order) < self.budget)

    def decide(self, verdict: Tensor) -> tuple[Tensor, Tensor]:
        """Gate w in {0, 1} and direction d in {-1, 0, 1} of verdicts `[E, 3]`; a row that is not known yet, or failed, gives 0, 0."""
        known = torch.nan_to_num(verdict, nan=0.0)
        gate = (known[:, :2].amax(dim=-1) >= self.tau_gate) & ~verdict[:, 0].isnan()
        return gate.to(verdict.dtype), torch.sign(known[:, 0] - known[:, 1])

    def step(self, s: Tensor, vote: Tensor, pair_index: Tensor) -> Tensor:
        """One round's update of the logits `[N]` from signed votes `[E]`: `+vote` reaches a, `-vote` reaches b, times eta.

        Votes are summed before the multiplication: in exact mode they are small integers, so the sum has no rounding and the
        result does not depend on the order of the pairs.
        """
        both_ways = torch.cat([pair_index.flip(0), pair_index], dim=1)
        votes = self.propagate(both_ways, vote=torch.cat([vote, -vote]).unsqueeze(-1), size=(s.numel(), s.numel()))
        return s + self.step_size * votes.squeeze(-1)

    def message(self, vote: Tensor) -> Tensor:  # type: ignore[override]
        """One scalar per directed pair."""
        return vote


def _logit(p: float) -> float:
    """ln(p / (1 - p)), infinite at 0 and 1."""
    return math.log(p / (1 - p)) if 0 < p < 1 else math.copysign(math.inf, p - 0.5)


class _VerdictCache:
    """Asks the arbitrator about selected pairs without a verdict, a whole round in one call, and remembers the answers."""

    def __init__(self, graph: EvidenceGraph, edges: Edges, arbitrator: Arbitrator | None) -> None:
        self.graph, self.edges, self.arbitrator = graph, edges, arbitrator
        self.verdict = graph.verdict.clone()
        self.known = ~self.verdict[:, 0].isnan()
        self.asked = torch.zeros_like(self.known)
        self.rationales: dict[int, str] = {}

    def __call__(self, selected: Tensor) -> Tensor:
        pairs = (selected & ~self.known & ~self.asked).nonzero().squeeze(-1)
        if pairs.numel() == 0:
            return self.verdict
        if self.arbitrator is None:
            raise ValueError(f"{pairs.numel()} selected contradictions have no verdict; pass an arbitrator or fill graph.verdict")
        answer = self.arbitrator.arbitrate(self.graph, pairs, self.edges.support, self.edges.contradiction)
        self.verdict[pairs] = answer.probabilities.to(self.verdict)
        self.asked[pairs] = True
        self.rationales.update(zip(pairs.tolist(), answer.rationales, strict=False))
        return self.verdict
