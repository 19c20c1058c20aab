"""Credibility propagation (ArbGraph, Algorithm 1) as a torch_geometric message-passing layer.

One round sends one scalar per contradiction pair: the winner gains `eta` on its credibility logit, the loser loses it.
Thresholds, the support cap and the arbitration budget are applied here and not when the graph is built, so one constructed
graph serves any setting.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing

from arbgraph.graph import EvidenceGraph
from arbgraph.propagation.choices import HardChoices, SoftChoices, StraightThroughChoices, accepts, tie_order
from arbgraph.propagation.edges import Edges, graph_of, num_graphs, rank_within, select_edges
from arbgraph.propagation.relaxation import GATES, SELECTIONS, Gate, Selection
from arbgraph.propagation.trace import Arbitrator, CredibilityTrace, Round
from arbgraph.settings import Settings

Scheduler = Literal["conflict_aware", "hard_first", "easy_first", "random", "round_robin", "exhaustive"]
SCHEDULERS: tuple[Scheduler, ...] = ("conflict_aware", "hard_first", "easy_first", "random", "round_robin", "exhaustive")
Mode = Literal["exact", "soft", "straight_through"]
Choices = HardChoices | SoftChoices | StraightThroughChoices
CHOICES: dict[str, type[Choices]] = {"exact": HardChoices, "soft": SoftChoices, "straight_through": StraightThroughChoices}

# Scalars that can be learned by name; see the arguments of `CredibilityPropagation`.
LEARNABLE = ("step_size", "tau_accept", "tau_gate", "tau_q", "tau_sim", "tau_conf", "coupling")
LEARNABLE += ("prior_bias", "prior_sources", "prior_relevance", "prior_credibility")
# Choices with a temperature of their own.
TEMPERATURES = ("relevance", "similarity", "label", "confidence", "active", "selection", "gate", "direction", "accept")


def conflict_intensity(p_a: Tensor, p_b: Tensor) -> Tensor:
    """I = (p_a + p_b) / (1 + |p_a - p_b|), in [0, 2] (ArbGraph, Eq. 4): high where two credible claims are evenly matched."""
    return (p_a + p_b) / (1 + (p_a - p_b).abs())


class CredibilityPropagation(MessagePassing):
    r"""Algorithm 1 of ArbGraph on a batch of evidence graphs, exact or differentiable.

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
        mode: "exact" is Algorithm 1; "soft" replaces every choice by a differentiable one (`choices.SoftChoices`);
            "straight_through" computes the exact numbers with the soft gradients.
        temperature: of the soft choices, an attribute that training lowers; `temperatures` holds a factor for each kind of choice.
        selection, gate: relaxations, `capped_simplex` or `fermi`, `hard_sigmoid` or `sigmoid`. tie_slope: total slope that
            separates tied scores.
        learn: names out of `LEARNABLE` that get gradients; the rest stay as given.
        prior_bias, prior_sources, prior_relevance, prior_credibility: added to the logit of the prior, the last three times
            log(1 + independent sources), relevance, and known source credibility minus 1/2. coupling: lambda, what a support edge
            passes on per round, times 2 p - 1 of its other end. All 0 by default: these are ours, the paper has none.

    Shapes:
        input: an `EvidenceGraph` or a batch of them, N claims and E pairs in all. output: `CredibilityTrace`.

    The computation runs in the dtype of `graph.prior`. Raises ValueError on an unknown mode, scheduler, relaxation or name.
    """

    step_size: nn.Parameter
    tau_accept: nn.Parameter
    tau_gate: nn.Parameter
    tau_q: nn.Parameter
    tau_sim: nn.Parameter
    tau_conf: nn.Parameter
    coupling: nn.Parameter
    prior_bias: nn.Parameter
    prior_sources: nn.Parameter
    prior_relevance: nn.Parameter
    prior_credibility: nn.Parameter
    support_cap_scope: Literal["graph", "node"]

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
        mode: Mode = "exact",
        temperature: float = 1.0,
        selection: Selection = "capped_simplex",
        gate: Gate = "hard_sigmoid",
        tie_slope: float = 1e-4,
        learn: Sequence[str] = (),
        prior_bias: float = 0.0,
        prior_sources: float = 0.0,
        prior_relevance: float = 0.0,
        prior_credibility: float = 0.0,
        coupling: float = 0.0,
    ) -> None:
        super().__init__(aggr="add")
        for value, known, name in (
            (mode, CHOICES, "mode"),
            (scheduler, SCHEDULERS, "scheduler"),
            (selection, SELECTIONS, "selection"),
            (gate, GATES, "gate"),
            *((name, LEARNABLE, "learnable parameter") for name in learn),
        ):
            if value not in known:
                raise ValueError(f"{name} {value!r} is not known; choose one of {', '.join(known)}")
        self.rounds, self.budget, self.scheduler, self.early_stop, self.seed = rounds, budget, scheduler, early_stop, seed
        self.support_cap, self.support_cap_scope = support_cap, support_cap_scope
        self.mode, self.temperature, self.selection, self.gate, self.tie_slope = mode, temperature, selection, gate, tie_slope
        self.temperatures: dict[str, float] = dict.fromkeys(TEMPERATURES, 1.0)
        given = (step_size, tau_accept, tau_gate, tau_q, tau_sim, tau_conf, coupling)
        given += (prior_bias, prior_sources, prior_relevance, prior_credibility)
        for name, value in zip(LEARNABLE, given, strict=True):
            parameter = nn.Parameter(torch.tensor(float(value), dtype=torch.float64), requires_grad=name in learn)
            self.register_parameter(name, parameter)

    @classmethod
    def from_settings(cls, settings: Settings, **options: Any) -> CredibilityPropagation:
        """The layer that a `Settings` object describes, with further constructor options."""
        names = "rounds budget step_size tau_accept tau_gate tau_q tau_sim tau_conf support_cap support_cap_scope scheduler early_stop seed"
        return cls(**{name: getattr(settings, name) for name in names.split()}, **options)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(rounds={self.rounds}, budget={self.budget}, step_size={self.step_size.item():.4g}, "
            f"tau_accept={self.tau_accept.item():.4g}, scheduler={self.scheduler!r}, mode={self.mode!r})"
        )

    @property
    def unlimited(self) -> bool:
        """Whether every active pair is arbitrated in every round."""
        return self.budget is None or self.scheduler == "exhaustive"

    @property
    def inactive_penalty(self) -> float:
        """More than the range of any priority: an inactive pair is selected only after all active ones."""
        return 4.0 + (3.0 * self.rounds if self.scheduler == "round_robin" else 0.0)

    def select_edges(self, graph: EvidenceGraph) -> Edges:
        """Applies tau_q, tau_sim, tau_conf and the support cap (`arbgraph.propagation.edges`)."""
        return select_edges(
            graph,
            tau_q=self.tau_q.item(),
            tau_sim=self.tau_sim.item(),
            tau_conf=self.tau_conf.item(),
            support_cap=self.support_cap,
            support_cap_scope=self.support_cap_scope,
        )

    def start(self, graph: EvidenceGraph) -> Tensor:
        """Logits at round 0, `[N]`: those of the prior, shifted by what is known of a claim where the weights are not zero."""
        known = torch.nan_to_num(graph.source_credibility - 0.5, nan=0.0)
        shift = (
            self.prior_bias
            + self.prior_sources * torch.log1p(graph.sources.to(graph.prior))
            + self.prior_relevance * graph.relevance.to(graph.prior)
            + self.prior_credibility * known.to(graph.prior)
        )
        return torch.logit(graph.prior) + shift.to(graph.prior)

    def _fixed_priority(self, graph: EvidenceGraph, edges: Edges) -> Tensor | None:
        """Priority `[E]` in (-1, 0] of the schedulers that fix their order at the start (higher goes first); None for the others."""
        a, b = graph.pair_index
        group, graphs = graph_of(graph)[a], num_graphs(graph)
        if self.scheduler in ("hard_first", "easy_first"):
            degree = torch.zeros_like(graph.prior).index_add(0, torch.cat([a, b]), edges.support.to(graph.prior).repeat(2))
            # Similarity lies in [-1, 1], so a quarter of it never overturns a difference of one support edge.
            value = graph.similarity.to(graph.prior) / 4 - (degree[a] - degree[b]).abs()
            value = value if self.scheduler == "hard_first" else -value
        elif self.scheduler == "random":
            # Seeded per graph, so that a graph gets the same order alone and inside a batch.
            sizes = torch.bincount(group, minlength=graphs).tolist()
            draws = [torch.rand(size, generator=torch.Generator().manual_seed(self.seed)) for size in sizes]
            value = torch.cat(draws).to(graph.prior)
        else:
            return None
        ties = tie_order(graph)
        rank = rank_within(group, ties[torch.argsort(value[ties], descending=True, stable=True)])
        return -rank.to(graph.prior) / torch.bincount(group, minlength=graphs).clamp(min=1)[group]

    def forward(self, graph: EvidenceGraph, arbitrator: Arbitrator | None = None) -> CredibilityTrace:
        """Runs T rounds. The arbitrator is asked about a pair when it is first selected and never again; the differentiable
        modes, in which every contradiction has a share, ask about all of them before the first round.

        Raises ValueError when a pair that is needed has no verdict and no arbitrator is given.
        """
        edges = self.select_edges(graph)
        choose = CHOICES[self.mode](self, graph, edges)
        ask = _VerdictCache(graph, edges, arbitrator)
        if self.mode != "exact":
            ask(choose.contradiction > 0)
        a, b = graph.pair_index
        batch, graphs = graph_of(graph)[a], num_graphs(graph)
        fixed = self._fixed_priority(graph, edges)
        times = torch.zeros_like(graph.prior[:1]).expand(batch.numel())
        running = torch.ones(graphs, dtype=torch.bool, device=a.device)
        rounds_run = torch.zeros(graphs, dtype=torch.long, device=a.device)
        s = self.start(graph)
        rounds: list[Round] = []
        for _ in range(self.rounds):
            p = torch.sigmoid(s)
            intensity = conflict_intensity(p[a], p[b])
            priority = fixed if fixed is not None else intensity - 3 * times if self.scheduler == "round_robin" else intensity
            selected = choose.select(choose.active(s) * running[batch], priority)
            if not selected.any():
                break
            gate, direction = self.decide(choose, ask(selected > 0), s.dtype)
            vote = selected * gate * direction
            s = self.step(s, vote, graph.pair_index)
            if self.coupling.requires_grad or self.coupling != 0:
                s = s + self._support(p, choose.support, graph.pair_index)
            times = times + selected
            rounds_run = rounds_run + (torch.bincount(batch[selected > 0], minlength=graphs) > 0)
            rounds.append(Round(intensity, selected, gate, direction, s))
            if self.early_stop:
                running = running & (torch.bincount(batch[vote != 0], minlength=graphs) > 0)
        converged = ~running | (torch.bincount(batch[choose.active(s) > 0], minlength=graphs) == 0)
        acceptance, accepted = choose.accept(s), accepts(edges, s, self.tau_accept)
        return CredibilityTrace(
            torch.sigmoid(s), s, accepted, edges, ask.verdict, ask.asked, rounds, ask.rationales, rounds_run, converged, acceptance
        )

    @staticmethod
    def decide(choose: Choices, verdict: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Gate w and direction d of verdicts `[E, 3]`; a row that is not known yet, or failed, gives 0, 0."""
        known = ~verdict[:, 0].isnan()
        filled = torch.where(known.unsqueeze(-1), verdict, torch.zeros_like(verdict))
        return choose.gate(filled).to(dtype) * known, choose.direction(filled).to(dtype)

    def step(self, s: Tensor, vote: Tensor, pair_index: Tensor) -> Tensor:
        """One round's update of the logits `[N]` from signed votes `[E]`: `+vote` reaches a, `-vote` reaches b, times eta.

        Votes are summed before the multiplication: in exact mode they are small integers, so the sum has no rounding and the
        result does not depend on the order of the pairs.
        """
        both_ways = torch.cat([pair_index.flip(0), pair_index], dim=1)
        votes = self.propagate(both_ways, vote=torch.cat([vote, -vote]).unsqueeze(-1), size=(s.numel(), s.numel()))
        return s + self.step_size.to(s.dtype) * votes.squeeze(-1)

    def _support(self, p: Tensor, support: Tensor, pair_index: Tensor) -> Tensor:
        """What the support edges pass on in one round, `[N]`: lambda times the sum of 2 p - 1 over the neighbours."""
        a, b = pair_index
        passed = torch.zeros_like(p).index_add(0, torch.cat([a, b]), support.repeat(2) * (2 * p - 1)[torch.cat([b, a])])
        return self.coupling.to(p.dtype) * passed

    def message(self, vote: Tensor) -> Tensor:  # type: ignore[override]
        """One scalar per directed pair."""
        return vote


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
