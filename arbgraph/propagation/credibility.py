"""Credibility propagation (ArbGraph, Algorithm 1) as a torch_geometric message-passing layer.

One round sends one scalar per contradiction pair: the winner gains `eta` on its credibility logit, the loser loses it.
Thresholds, the support cap and the arbitration budget are applied here and not when the graph is built, so one constructed
graph serves any setting.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing

from arbgraph.graph import EvidenceGraph
from arbgraph.propagation.base import Propagation, working_precision
from arbgraph.propagation.choices import HardChoices, SoftChoices, StraightThroughChoices, accepts, tie_order
from arbgraph.propagation.edges import CapScope, Edges, PairGroups, at_ends, count_within, graph_of, num_graphs, rank_within
from arbgraph.propagation.relaxation import GATES, SELECTIONS, Gate, Selection
from arbgraph.propagation.trace import Arbitrator, CredibilityTrace, Round, conflict_intensity

if TYPE_CHECKING:
    from arbgraph.propagation.trust import SourceTrust

Scheduler = Literal["conflict_aware", "hard_first", "easy_first", "random", "round_robin", "exhaustive"]
SCHEDULERS: tuple[Scheduler, ...] = ("conflict_aware", "hard_first", "easy_first", "random", "round_robin", "exhaustive")
Mode = Literal["exact", "soft", "straight_through"]
Choices = HardChoices | SoftChoices | StraightThroughChoices
CHOICES: dict[str, type[Choices]] = {"exact": HardChoices, "soft": SoftChoices, "straight_through": StraightThroughChoices}

# Scalars that can be learned by name, with their intervals; see the arguments of `CredibilityPropagation`.
LEARNABLE = {"step_size": "[0, inf)", "tau_accept": "[0, 1]", "tau_gate": "[0, 1]", "tau_q": "[-inf, inf]", "tau_sim": "[-inf, inf]"}
LEARNABLE |= {"tau_conf": "[0, 1]"}
LEARNABLE |= dict.fromkeys(
    ("coupling", "prior_bias", "prior_sources", "prior_relevance", "prior_credibility", "prior_agreement"), "(-inf, inf)"
)
# Choices with a temperature of their own.
TEMPERATURES = ("relevance", "similarity", "label", "confidence", "active", "cap", "selection", "gate", "direction", "accept")


class CredibilityPropagation(Propagation, MessagePassing):
    r"""Algorithm 1 of ArbGraph on a batch of evidence graphs, exact or differentiable.

    .. math::
        s^{(t+1)} = s^{(t)} + \eta \sum_{e \in \mathrm{top}k(I^{(t)})} w_e (e_{win} - e_{lose}), \qquad p = \sigma(s)

    Active pairs are contradictions with both credibilities above `tau_accept` (strict); the `budget` most intense of each graph
    are arbitrated, ties going to the higher relation confidence, then the higher similarity, then the earlier pair.
    Messages add, and p is frozen within a round, so the order inside a round does not matter. The sum of logits is conserved.

    Args:
        rounds: T. budget: k per graph and round: one number, a tensor `[B]` with one for each graph of the batch, or None for all
            pairs. step_size: eta. tau_accept, tau_gate, tau_q, tau_sim, tau_conf: thresholds. support_cap: M, with
            support_cap_scope "graph" (as released) or "node".
        scheduler: which active pairs go first: `conflict_aware` (Eq. 4), `hard_first` (smallest difference in support edges,
            fixed at the start), `easy_first` (its reverse), `random` (seeded), `round_robin` (least often arbitrated, then
            intensity), `exhaustive` (all active pairs, no budget).
        early_stop: a graph stops when it has no active pair or when no verdict of a round passed the gate.
        mode: "exact" is Algorithm 1; "soft" replaces every choice by a differentiable one (`choices.SoftChoices`);
            "straight_through" computes the exact numbers with the soft gradients.
        temperature: of the soft choices, an attribute that training lowers; `temperatures` holds a factor for each kind of choice.
        selection, gate: relaxations, `capped_simplex` or `fermi`, `hard_sigmoid` or `sigmoid`. tie_slope: total slope that
            separates tied scores.
        soft_cap: whether the cap M is relaxed too, so that gradients reach the similarities around it; else it stays hard.
        learn: names out of `LEARNABLE` that get gradients; the rest stay as given.
        prior_bias, prior_sources, prior_relevance, prior_credibility, prior_agreement: added to the logit of the prior, the last
            four times log(1 + independent sources), relevance, known source credibility minus 1/2, and agreement of copies minus 1
            (where copies of one text differ, somebody altered it). coupling: lambda, what a support edge
            passes on per round, times 2 p - 1 of its other end. All 0 by default: these are ours, the paper has none.
        source_trust: sets the logits of round 0 by alternating source and claim credibility (`trust.SourceTrust`); ours, None by
            default.

    Shapes:
        input: an `EvidenceGraph` or a batch of them, N claims and E pairs in all. output: `CredibilityTrace`.

    The computation runs in the dtype of `graph.prior`, but in float32 where that is half precision (p and s are rounded at the end).
    Soft mode compiles into one graph, `torch.compile(layer, fullgraph=True, dynamic=True)`; all verdicts must then be in
    `graph.verdict`, and with a budget the unrolled bisection makes compilation slow.

    Raises ValueError on an unknown mode, scheduler, relaxation or name, a scalar outside its interval, or a negative budget.
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
    prior_agreement: nn.Parameter

    learnable = LEARNABLE
    from_settings_names = (
        *("rounds", "budget", "step_size", "tau_gate", "scheduler", "early_stop", "seed"),
        *Propagation.from_settings_names,
    )

    def __init__(
        self,
        *,
        rounds: int = 2,
        budget: int | Tensor | None = 3,
        step_size: float = 0.8,
        tau_accept: float = 0.3,
        tau_gate: float = 0.5,
        tau_q: float = 0.3,
        tau_sim: float = 0.75,
        tau_conf: float = 0.5,
        support_cap: int = 60,
        support_cap_scope: CapScope = "graph",
        scheduler: Scheduler = "conflict_aware",
        early_stop: bool = False,
        seed: int = 0,
        mode: Mode = "exact",
        temperature: float = 1.0,
        selection: Selection = "capped_simplex",
        gate: Gate = "hard_sigmoid",
        tie_slope: float = 1e-4,
        soft_cap: bool = True,
        learn: Sequence[str] = (),
        prior_bias: float = 0.0,
        prior_sources: float = 0.0,
        prior_relevance: float = 0.0,
        prior_credibility: float = 0.0,
        prior_agreement: float = 0.0,
        coupling: float = 0.0,
        source_trust: SourceTrust | None = None,
    ) -> None:
        super().__init__(learn=learn, aggr="add", node_dim=0)
        for value, known, name in (
            (mode, CHOICES, "mode"),
            (scheduler, SCHEDULERS, "scheduler"),
            (selection, SELECTIONS, "selection"),
            (gate, GATES, "gate"),
        ):
            if value not in known:
                raise ValueError(f"{name} {value!r} is not known; choose one of {', '.join(known)}")
        if budget is not None and bool((torch.as_tensor(budget) < 0).any()):
            raise ValueError(f"budget is {budget}; a budget must not be negative")
        self.rounds, self.budget, self.scheduler, self.early_stop, self.seed = rounds, budget, scheduler, early_stop, seed
        self.support_cap, self.support_cap_scope = support_cap, support_cap_scope
        self.mode, self.temperature, self.selection, self.gate, self.tie_slope = mode, temperature, selection, gate, tie_slope
        self.soft_cap, self.source_trust = soft_cap, source_trust
        self.temperatures: dict[str, float] = dict.fromkeys(TEMPERATURES, 1.0)
        self.register_scalars(
            step_size=step_size,
            tau_accept=tau_accept,
            tau_gate=tau_gate,
            tau_q=tau_q,
            tau_sim=tau_sim,
            tau_conf=tau_conf,
            coupling=coupling,
        )
        self.register_scalars(
            prior_bias=prior_bias,
            prior_sources=prior_sources,
            prior_relevance=prior_relevance,
            prior_credibility=prior_credibility,
            prior_agreement=prior_agreement,
        )

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

    def budgets(self, graphs: int, device: torch.device) -> Tensor:
        """k of every graph, `[B]` long. Raises ValueError on a tensor of budgets for another number of graphs."""
        assert self.budget is not None
        budget = torch.as_tensor(self.budget, dtype=torch.long, device=device)
        if budget.dim() and budget.shape != (graphs,):
            raise ValueError(f"budget has shape {tuple(budget.shape)}, but there are {graphs} graphs")
        return budget.expand(graphs)

    @property
    def coupled(self) -> bool:
        """Whether support edges pass something on; under compilation, where values are not known, they may."""
        return torch.compiler.is_compiling() or self.coupling.requires_grad or bool(self.coupling != 0)

    def start(self, graph: EvidenceGraph) -> Tensor:
        """Logits at round 0, `[N]`: those of the prior, shifted by what is known of a claim where the weights are not zero."""
        known = torch.nan_to_num(graph.source_credibility - 0.5, nan=0.0)
        shift = (
            self.prior_bias
            + self.prior_sources * torch.log1p(graph.sources.to(graph.prior))
            + self.prior_relevance * graph.relevance.to(graph.prior)
            + self.prior_credibility * known.to(graph.prior)
        )
        # A graph without the field, from before it existed, knows nothing of copies.
        agreement = graph.get("agreement")
        if agreement is not None:
            shift = shift + self.prior_agreement * (agreement.to(graph.prior) - 1)
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
            sizes = count_within(group, graphs).tolist()
            draws = [torch.rand(size, generator=torch.Generator().manual_seed(self.seed)) for size in sizes]
            value = torch.cat(draws).to(graph.prior)
        else:
            return None
        ties = tie_order(graph)
        order = ties[torch.argsort(value[ties], descending=True, stable=True)]
        rank = torch.empty_like(order).index_copy(0, order, rank_within(group[order], graphs))
        return -rank.to(graph.prior) / count_within(group, graphs).clamp(min=1)[group]

    def forward(self, graph: EvidenceGraph, arbitrator: Arbitrator | None = None) -> CredibilityTrace:
        """Runs T rounds. The arbitrator is asked about a pair when it is first selected and never again; the differentiable
        modes, in which every contradiction has a share, ask about all of them before the first round.

        Raises ValueError when a pair that is needed has no verdict and no arbitrator is given.
        """
        dtype, graph = graph.prior.dtype, working_precision(graph)
        edges = self.select_edges(graph)
        choose = CHOICES[self.mode](self, graph, edges)
        ask = _VerdictCache(graph, edges, arbitrator)
        if not isinstance(choose, HardChoices):
            ask(nonzero_rows(choose.contradiction))
        s, rounds, rounds_run, running = self._arbitrate(graph, edges, choose, ask)
        groups = PairGroups.of(graph)
        return CredibilityTrace(
            p=torch.sigmoid(s).to(dtype),
            s=s.to(dtype),
            accepted=accepts(edges, s, self.tau_accept),
            edges=edges,
            verdict=ask.verdict,
            asked=ask.asked,
            rounds=rounds,
            rationales=ask.rationales,
            rounds_run=rounds_run,
            converged=~running | ~groups.any(nonzero_rows(choose.active(s))),
            acceptance=choose.accept(s).to(dtype),
        )

    def _arbitrate(
        self, graph: EvidenceGraph, edges: Edges, choose: Choices, ask: _VerdictCache
    ) -> tuple[Tensor, list[Round], Tensor, Tensor]:
        """The rounds themselves: final logits `[N]`, the record, rounds used `[B]`, and the graphs that early stop left running `[B]`."""
        groups, coupled, s = PairGroups.of(graph), self.coupled, self.start(graph)
        if self.source_trust is not None:
            s = self.source_trust(graph, s, edges)
        running = torch.ones(groups.count, dtype=torch.bool, device=s.device)
        rounds_run = torch.zeros(groups.count, dtype=torch.long, device=s.device)
        fixed = None if self.unlimited else self._fixed_priority(graph, edges)
        times = gate = direction = swing = torch.zeros_like(s[:1])
        rounds: list[Round] = []
        for number in range(1, self.rounds + 1):
            active = choose.active(s)
            if self.early_stop:
                active = active * groups.spread(running)
            selected = choose.select(active, self._priority(s, graph.pair_index, fixed, times))
            chosen = nonzero_rows(selected)
            busy = groups.any(chosen)
            # A round without a pair changes nothing, nor does any later one; under compilation it runs all the same.
            if not (torch.compiler.is_compiling() or coupled or busy.any()):
                break
            if ask(chosen) or not rounds:
                gate, direction = choose.gate(ask.verdict), choose.direction(ask.verdict)
                swing = gate * direction
            # Bytes times bytes: a product of booleans and numbers converts both.
            vote, before = (selected.view(torch.int8) if selected.dtype == torch.bool else selected) * swing, s
            s = self.step(s, vote, graph.pair_index)
            if coupled:
                passed = self._support(torch.sigmoid(before), choose.support, graph.pair_index)
                s = s + passed * running[graph_of(graph)]
            if self.scheduler == "round_robin":
                times = times + selected
            rounds_run = torch.where(busy, number, rounds_run)
            rounds.append(Round(graph.pair_index, selected, gate, direction, before, s))
            if self.early_stop:
                running = running & groups.any(nonzero_rows(vote))
        return s, rounds, rounds_run, running

    def _priority(self, s: Tensor, pair_index: Tensor, fixed: Tensor | None, times: Tensor) -> Tensor | None:
        """Which active pairs go first, `[E]` (higher is earlier); None where all of them are arbitrated."""
        if self.unlimited or fixed is not None:
            return fixed
        intensity = conflict_intensity(*at_ends(torch.sigmoid(s), pair_index))
        return intensity - 3 * times if self.scheduler == "round_robin" else intensity

    def step(self, s: Tensor, vote: Tensor, pair_index: Tensor) -> Tensor:
        """One round's update of the logits `[N]` from signed votes `[E]`: `+vote` reaches a, `-vote` reaches b, times eta.

        Votes are summed before the multiplication: in exact mode they are small integers, so the sum has no rounding and the
        result does not depend on the order of the pairs.
        """
        return s + self.step_size.to(s.dtype) * self.propagate(pair_index, vote=vote.to(s.dtype), size=(s.numel(), s.numel()))

    def _support(self, p: Tensor, support: Tensor, pair_index: Tensor) -> Tensor:
        """What the support edges pass on in one round, `[N]`: lambda times the sum of 2 p - 1 over the neighbours."""
        a, b = pair_index
        passed = torch.zeros_like(p).index_add(0, torch.cat([a, b]), support.repeat(2) * (2 * p - 1)[torch.cat([b, a])])
        return self.coupling.to(p.dtype) * passed

    def message(self, vote: Tensor) -> Tensor:  # type: ignore[override]
        """One scalar per pair."""
        return vote

    def aggregate(self, inputs: Tensor, edge_index: Tensor, dim_size: int | None = None) -> Tensor:  # type: ignore[override]
        """What every claim gains as first end minus what it loses as second; two rows, so that both sums run in parallel. `[N]`."""
        assert dim_size is not None
        gained, lost = inputs.new_zeros(2, dim_size).scatter_add(1, edge_index, inputs.expand(2, -1))
        return gained - lost


def nonzero_rows(value: Tensor) -> Tensor:
    """Where `value [E]` is not zero. A comparison of booleans with a number converts them all, which takes longer than all else."""
    return value if value.dtype == torch.bool else value != 0


class _VerdictCache:
    """Asks the arbitrator about selected pairs without a verdict, a whole round in one call, and remembers the answers."""

    def __init__(self, graph: EvidenceGraph, edges: Edges, arbitrator: Arbitrator | None) -> None:
        self.graph, self.edges, self.arbitrator = graph, edges, arbitrator
        self.verdict = graph.verdict
        self.unknown = self.verdict[:, 0].isnan()
        self.complete = not torch.compiler.is_compiling() and not bool(self.unknown.any())
        self.asked = torch.zeros_like(self.unknown)
        self.rationales: dict[int, str] = {}

    def __call__(self, selected: Tensor) -> bool:
        """Whether there are new verdicts."""
        if torch.compiler.is_compiling():
            torch.ops.aten._assert_async.msg(~(selected & self.unknown).any(), "a compiled propagation needs all verdicts in graph.verdict")
            return False
        if self.complete:
            return False
        pairs = (selected & self.unknown).nonzero().squeeze(-1)
        if pairs.numel() == 0:
            return False
        if self.arbitrator is None:
            raise ValueError(f"{pairs.numel()} selected contradictions have no verdict; pass an arbitrator or fill graph.verdict")
        answer = self.arbitrator.arbitrate(self.graph, pairs, self.edges.support, self.edges.contradiction)
        probabilities = answer.probabilities.to(self.verdict)
        # A verdict that is not finite counts as failed: it is NaN, and not asked for again.
        finite = probabilities.isfinite().all(dim=-1, keepdim=True)
        self.verdict = self.verdict.index_copy(0, pairs, probabilities.masked_fill(~finite, torch.nan))
        self.unknown = self.unknown.index_fill(0, pairs, False)
        self.asked = self.asked.index_fill(0, pairs, True)
        self.rationales.update(zip(pairs.tolist(), answer.rationales, strict=False))
        return True
