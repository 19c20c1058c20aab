"""Truth discovery: claims are believed for their sources, and sources trusted for their claims.

Sources come from `graph.source_index`; rival claims are the contradiction neighbours of a claim. Support edges
matter to `TruthFinder` only, and the prior only to claims about which a method knows nothing. The update of every method is a
function on claim-source links and can be used without an evidence graph.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from arbgraph.graph import EvidenceGraph
from arbgraph.propagation.base import Arcs, EdgeWeight, Rival, Solution, State, fixed_point, groups_of, maximum_within, ratio
from arbgraph.propagation.edges import Edges

Score = Literal["share", "belief"]


@dataclass(frozen=True)
class Links:
    """Who asserts what: `claim [L]` and `source [L]` numbers of every assertion, of `claims` N and `sources` S in `graphs` B.

    `claim_graph [N]` and `source_graph [S]` are the graph numbers of a batch. Trust is `[S]`, belief `[N]`.
    """

    claim: Tensor
    source: Tensor
    claim_graph: Tensor
    source_graph: Tensor
    graphs: int = 1

    @classmethod
    def single(cls, claim: Tensor, source: Tensor, claims: int, sources: int) -> Links:
        """The links of one graph."""
        return cls(claim, source, claim.new_zeros(claims), source.new_zeros(sources))

    @classmethod
    def of(cls, graph: EvidenceGraph, kept: Tensor) -> Links:
        """The links of the claims that are `kept [N]`."""
        claim, source = graph.source_index[:, kept[graph.source_index[0]]]
        batch, graphs = groups_of(graph)
        counts = torch.as_tensor(graph.num_sources, device=batch.device).view(-1)
        return cls(claim, source, batch, torch.repeat_interleave(torch.arange(graphs, device=batch.device), counts), graphs)

    def to_sources(self, belief: Tensor) -> Tensor:
        """Sum `[S]` of the beliefs of what each source asserts."""
        return belief.new_zeros(self.source_graph.numel()).index_add(0, self.source, belief[self.claim])

    def to_claims(self, trust: Tensor) -> Tensor:
        """Sum `[N]` of the trust of who asserts each claim."""
        return trust.new_zeros(self.claim_graph.numel()).index_add(0, self.claim, trust[self.source])

    def claims_per_source(self, dtype: torch.dtype) -> Tensor:
        """n_s `[S]`."""
        return self.to_sources(torch.ones(self.claim_graph.numel(), dtype=dtype, device=self.claim.device))

    def votes(self, dtype: torch.dtype) -> Tensor:
        """Number of sources of every claim `[N]`."""
        return self.to_claims(torch.ones(self.source_graph.numel(), dtype=dtype, device=self.claim.device))

    def normalised(self, trust: Tensor, belief: Tensor) -> tuple[Tensor, Tensor]:
        """Both divided by their largest value in the graph; a graph of zeros stays at zero."""
        return (
            ratio(trust, maximum_within(trust, self.source_graph, self.graphs)[self.source_graph]),
            ratio(belief, maximum_within(belief, self.claim_graph, self.graphs)[self.claim_graph]),
        )


# Updates: one iteration each, without normalisation unless it is part of the method


def sums_update(trust: Tensor, belief: Tensor, links: Links) -> tuple[Tensor, Tensor]:
    """T_s = sum_{F_s} B_f; B_f = sum_{S_f} T_s (hubs and authorities)."""
    trust = links.to_sources(belief)
    return trust, links.to_claims(trust)


def average_log_update(trust: Tensor, belief: Tensor, links: Links, log_offset: float | Tensor = 1.0) -> tuple[Tensor, Tensor]:
    """T_s = ln(log_offset + n_s) / n_s * sum_{F_s} B_f; B as in `sums_update`. As published, `log_offset` is 0."""
    count = links.claims_per_source(belief.dtype)
    per_claim = ratio((log_offset + count.clamp(min=1)).log(), count)
    trust = per_claim * links.to_sources(belief)
    return trust, links.to_claims(trust)


def investment_update(trust: Tensor, belief: Tensor, links: Links, exponent: float | Tensor = 1.2) -> tuple[Tensor, Tensor]:
    """a_s = T_s / n_s; T_s' = a_s sum_{f in F_s} B_f / sum_{r in S_f} a_r; B_f = (sum_{S_f} T_s' / n_s)^exponent."""
    trust, invested = _returns(trust, belief, links)
    return trust, invested**exponent


def pooled_investment_update(
    trust: Tensor, belief: Tensor, links: Links, rivals: Arcs, exponent: float | Tensor = 1.4
) -> tuple[Tensor, Tensor]:
    """T as in `investment_update`; H_f = sum_{S_f} T_s' / n_s; B_f = H_f H_f^exponent / (H_f^exponent + sum_{rivals} c H^exponent)."""
    trust, invested = _returns(trust, belief, links)
    grown = invested**exponent
    return trust, invested * ratio(grown, grown + rivals.sum(grown))


def _returns(trust: Tensor, belief: Tensor, links: Links) -> tuple[Tensor, Tensor]:
    count = links.claims_per_source(belief.dtype)
    stake = ratio(trust, count)
    trust = stake * links.to_sources(ratio(belief, links.to_claims(stake)))
    return trust, links.to_claims(ratio(trust, count))


def truthfinder_update(
    trust: Tensor, links: Links, implication: Arcs, influence: float | Tensor = 0.5, dampening: float | Tensor = 0.3
) -> tuple[Tensor, Tensor]:
    """tau_s = -ln(1 - t_s); sg_f = sum_{S_f} tau_s; p_f = sigmoid(dampening (sg_f + influence sum_g imp(g -> f) sg_g));
    t_s = mean_{F_s} p_f. Returns t and p; the weights of `implication` are imp. A trust that rounds to 1 is taken as the largest
    number below 1."""
    score = links.to_claims(-torch.log1p(-trust.clamp(max=1 - torch.finfo(trust.dtype).eps)))
    p = torch.sigmoid(dampening * (score + influence * implication.sum(score)))
    count = links.claims_per_source(p.dtype)
    # A source that asserts nothing keeps its trust; nothing depends on it.
    return ratio(links.to_sources(p), count, trust), p


def crh_update(weight: Tensor, links: Links, rivals: Arcs, epsilon: float | Tensor = 1e-5) -> tuple[Tensor, Tensor]:
    """b_f = V_f / (V_f + sum_{rivals} c V_g) with V_f = sum_{S_f} w_s, and w_s = -ln(loss_s / sum loss) with
    loss_s = sum_{f in F_s} ((b_f - 1)^2 + sum_{g rival of f} c b_g^2) + epsilon. Returns w and b.

    A graph with a single source with claims has no loss to compare, and its weight stays at 1.
    """
    belief = share(links.to_claims(weight), rivals)
    loss = links.to_sources((belief - 1) ** 2 + rivals.sum(belief * belief))
    speaks = links.claims_per_source(loss.dtype) > 0
    loss = torch.where(speaks, loss + epsilon, 0)
    total, speakers = loss.new_zeros(2, links.graphs).index_add(1, links.source_graph, torch.stack([loss, speaks.to(loss.dtype)]))
    fraction = torch.where(speaks, loss, 1) / torch.where(total > 0, total, 1)[links.source_graph]
    compared = speaks & (speakers > 1)[links.source_graph]
    return torch.where(compared, -torch.where(compared, fraction, 1).log(), 1), belief


def two_estimates_update(error: Tensor, links: Links, rivals: Arcs, rounding: float | Tensor = 0.5) -> tuple[Tensor, Tensor]:
    """p_f = (sum_{S_f} (1 - e_s) + sum_{rivals g} c sum_{S_g} e_s) / (n+ + n-), normalised; then
    e_s = (sum_{F_s} (1 - p_f) + sum of the p of the rivals of F_s) / n_s, normalised. Returns e and p.

    Normalised: x <- (1 - rounding) minmax(x) + rounding round(x), within the graph; where all x are equal minmax(x) is x.
    """
    against = links.to_claims(error)
    voices = links.votes(error.dtype)
    belief = ratio(voices - against + rivals.sum(against), voices + rivals.sum(voices), 0.5)
    belief = _spread(belief, links.claim_graph, links.graphs, rounding)
    count = links.to_sources(1 + rivals.sum(torch.ones_like(belief)))
    error = ratio(links.to_sources(1 - belief + rivals.sum(belief)), count, error)
    return _spread(error, links.source_graph, links.graphs, rounding), belief


def _spread(value: Tensor, group: Tensor, groups: int, rounding: float | Tensor) -> Tensor:
    high = maximum_within(value, group, groups)[group]
    low = value.new_ones(groups).scatter_reduce(0, group, value, "amin")[group]
    # A spread of rounding errors is no spread.
    spread = torch.where(high - low > torch.finfo(value.dtype).eps ** 0.5, high - low, 0)
    stretched = ratio(value - low, spread, value)
    return (1 - rounding) * stretched + rounding * value.round()


def share(value: Tensor, rivals: Arcs, otherwise: Tensor | float = 0.0) -> Tensor:
    """value_f / (value_f + sum_{rivals} c value_g) `[N]`, in [0, 1]; `otherwise` where nobody has any."""
    return ratio(value, value + rivals.sum(value), otherwise)


# The methods on evidence graphs


class _SourceMethod(Rival):
    """Common to the source methods: links and rivals. Edge weights are 1 by default, as published: a rival is a rival."""

    def __init__(self, *, edge_weight: EdgeWeight = "one", **options: Any) -> None:
        super().__init__(edge_weight=edge_weight, **options)

    def rivals(self, graph: EvidenceGraph, edges: Edges) -> Arcs:
        """Contradictions, both ways, with their weights."""
        return Arcs.both_ways(graph.pair_index, edges.contradiction, self.weights(graph))


class MajorityVote(_SourceMethod):
    r"""Share of the independent sources that speak for a claim among those that speak for it or for a rival.

    .. math:: p_f = n_f / (n_f + \sum_{g \in rivals(f)} c_{fg} n_g)

    with n `[N]` the sources of a claim and c the edge weight. Closed form. A claim where nobody speaks keeps its prior.
    """

    def solve(self, graph: EvidenceGraph, edges: Edges) -> Solution:
        links = Links.of(graph, edges.kept)
        p = share(links.votes(graph.prior.dtype), self.rivals(graph, edges), graph.prior)
        iterations = torch.ones(links.graphs, dtype=torch.long, device=p.device)
        return Solution(p, iterations, torch.ones_like(iterations, dtype=torch.bool))


class _FactFinder(_SourceMethod):
    """Alternates trust and belief, both divided by their largest value in the graph after every iteration.

    The normalised belief B only compares claims of one graph, and a claim with few sources but no rival would look false. So p is
    by default the `share` of B that a claim has among itself and its rivals (1 without rivals; the prior where B is 0 on all of
    them); `score="belief"` gives B itself.
    """

    def __init__(self, *, score: Score = "share", max_iterations: int = 20, **options: Any) -> None:
        super().__init__(max_iterations=max_iterations, **options)
        if score not in ("share", "belief"):
            raise ValueError(f"score {score!r} is not known; choose 'share' or 'belief'")
        self.score = score

    @abstractmethod
    def update(self, trust: Tensor, belief: Tensor, links: Links, rivals: Arcs) -> tuple[Tensor, Tensor]:
        """One iteration, before normalisation."""

    def initial_belief(self, links: Links, rivals: Arcs, dtype: torch.dtype) -> Tensor:
        """B at iteration 0 `[N]`: 0.5 everywhere."""
        return torch.full((links.claim_graph.numel(),), 0.5, dtype=dtype, device=links.claim.device)

    def solve(self, graph: EvidenceGraph, edges: Edges) -> Solution:
        links, rivals = Links.of(graph, edges.kept), self.rivals(graph, edges)
        belief = self.initial_belief(links, rivals, graph.prior.dtype)
        (_, belief), iterations, converged = find_facts(
            lambda trust, belief: self.update(trust, belief, links, rivals),
            belief,
            links,
            max_iterations=self.max_iterations,
            tolerance=self.tolerance,
        )
        p = share(belief, rivals, graph.prior) if self.score == "share" else belief
        return Solution(p, iterations, converged)


def find_facts(
    update: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]], belief: Tensor, links: Links, *, max_iterations: int, tolerance: float
) -> tuple[State, Tensor, Tensor]:
    """Iterates an update of (trust, belief) from trust 1 and `belief [N]`, normalising after each: ((trust, belief), iterations,
    converged). With tolerance 0 every graph takes all the iterations."""
    return fixed_point(
        lambda trust, belief: links.normalised(*update(trust, belief)),
        (belief.new_ones(links.source_graph.numel()), belief),
        (links.source_graph, links.claim_graph),
        links.graphs,
        max_iterations=max_iterations,
        tolerance=tolerance,
    )


class Sums(_FactFinder):
    r"""Sums, or hubs and authorities (Kleinberg 1999; Pasternack and Roth 2010).

    .. math:: T_s = \sum_{f \in F_s} B_f, \qquad B_f = \sum_{s \in S_f} T_s

    B is 0.5 at the start; 20 iterations. A power iteration: it converges to the top singular vector, slowly where two groups of
    sources are about as strong, and then gives all belief to the larger group.
    """

    def update(self, trust: Tensor, belief: Tensor, links: Links, rivals: Arcs) -> tuple[Tensor, Tensor]:
        return sums_update(trust, belief, links)


class AverageLog(_FactFinder):
    r"""Average.Log (Pasternack and Roth 2010).

    .. math:: T_s = \frac{\ln(o + n_s)}{n_s} \sum_{f \in F_s} B_f, \qquad B_f = \sum_{s \in S_f} T_s

    with n_s the claims of a source and o = `log_offset`. Published with o = 0, where a source with a single claim has no trust
    at all; the default is 1. B is 0.5 at the start; 20 iterations. A power iteration, as `Sums`.
    """

    learnable: ClassVar[Mapping[str, str]] = {"log_offset": "[0, inf)"}
    log_offset: nn.Parameter

    def __init__(self, *, log_offset: float = 1.0, **options: Any) -> None:
        super().__init__(**options)
        self.register_scalars(log_offset=log_offset)

    def update(self, trust: Tensor, belief: Tensor, links: Links, rivals: Arcs) -> tuple[Tensor, Tensor]:
        return average_log_update(trust, belief, links, self.log_offset)


class Investment(_FactFinder):
    r"""Investment (Pasternack and Roth 2010): sources invest their trust in their claims and earn a share of the belief.

    .. math::
        a_s = T_s / n_s, \quad T_s' = a_s \sum_{f \in F_s} \frac{B_f}{\sum_{r \in S_f} a_r}, \quad
        B_f = \Big(\sum_{s \in S_f} T_s' / n_s\Big)^g

    with g = `exponent`. B starts at the share of votes, T at 1; 20 iterations. As g > 1 differences grow with every iteration;
    there is no general convergence, only the flag.
    """

    learnable: ClassVar[Mapping[str, str]] = {"exponent": "(0, inf)"}
    exponent: nn.Parameter

    def __init__(self, *, exponent: float = 1.2, **options: Any) -> None:
        super().__init__(**options)
        self.register_scalars(exponent=exponent)

    def initial_belief(self, links: Links, rivals: Arcs, dtype: torch.dtype) -> Tensor:
        return share(links.votes(dtype), rivals)

    def update(self, trust: Tensor, belief: Tensor, links: Links, rivals: Arcs) -> tuple[Tensor, Tensor]:
        return investment_update(trust, belief, links, self.exponent)


class PooledInvestment(_FactFinder):
    r"""Pooled Investment (Pasternack and Roth 2010): as `Investment`, but rivals share out what was invested in all of them.

    .. math::
        H_f = \sum_{s \in S_f} T_s' / n_s, \qquad B_f = H_f \frac{H_f^g}{H_f^g + \sum_{r \in rivals(f)} c_{fr} H_r^g}

    with g = `exponent`. B starts uniform over a claim and its rivals, T at 1; 10 iterations; no general convergence, only the flag.
    """

    learnable: ClassVar[Mapping[str, str]] = {"exponent": "(0, inf)"}
    exponent: nn.Parameter

    def __init__(self, *, exponent: float = 1.4, max_iterations: int = 10, **options: Any) -> None:
        super().__init__(max_iterations=max_iterations, **options)
        self.register_scalars(exponent=exponent)

    def initial_belief(self, links: Links, rivals: Arcs, dtype: torch.dtype) -> Tensor:
        return share(torch.ones(links.claim_graph.numel(), dtype=dtype, device=links.claim.device), rivals)

    def update(self, trust: Tensor, belief: Tensor, links: Links, rivals: Arcs) -> tuple[Tensor, Tensor]:
        return pooled_investment_update(trust, belief, links, rivals, self.exponent)


class TruthFinder(Rival):
    r"""TruthFinder (Yin, Han, Yu 2008), with the signed edges as implications: +c on support, -c on contradiction.

    .. math::
        \tau_s = -\ln(1 - t_s), \quad \sigma_f = \sum_{s \in S_f} \tau_s, \quad
        p_f = \mathrm{sigmoid}\big(\gamma (\sigma_f + \rho \sum_g imp(g \to f) \sigma_g)\big), \quad t_s = \mathrm{mean}_{F_s}\, p_f

    with rho = `influence`, gamma = `dampening`, t = `initial_trust` at the start. A graph has settled when 1 - cos of its old and new
    trust is under `tolerance` (0.001); this measure does not see a common factor. Scores are not probabilities: without
    contradictions every p is above 0.5. p needs no mapping. Trust and not the prior is the starting point.
    """

    learnable: ClassVar[Mapping[str, str]] = {"influence": "(-inf, inf)", "dampening": "(0, inf)", "initial_trust": "(0, 1)"}
    influence: nn.Parameter
    dampening: nn.Parameter
    initial_trust: nn.Parameter

    def __init__(
        self,
        *,
        influence: float = 0.5,
        dampening: float = 0.3,
        initial_trust: float = 0.9,
        tolerance: float = 0.001,
        **options: Any,
    ) -> None:
        super().__init__(tolerance=tolerance, **options)
        self.register_scalars(influence=influence, dampening=dampening, initial_trust=initial_trust)

    def solve(self, graph: EvidenceGraph, edges: Edges) -> Solution:
        links = Links.of(graph, edges.kept)
        signed = self.weights(graph) * (edges.support.to(graph.prior.dtype) - edges.contradiction.to(graph.prior.dtype))
        implication = Arcs.both_ways(graph.pair_index, edges.support | edges.contradiction, signed)
        (_, p), iterations, converged = find_truth(
            links,
            implication,
            graph.prior,
            influence=self.influence,
            dampening=self.dampening,
            initial_trust=self.initial_trust,
            max_iterations=self.max_iterations,
            tolerance=self.tolerance,
        )
        return Solution(p, iterations, converged)


def find_truth(
    links: Links,
    implication: Arcs,
    p: Tensor,
    *,
    influence: float | Tensor = 0.5,
    dampening: float | Tensor = 0.3,
    initial_trust: float | Tensor = 0.9,
    max_iterations: int = 200,
    tolerance: float = 0.001,
) -> tuple[State, Tensor, Tensor]:
    """TruthFinder to its stopping rule: ((trust, p), iterations, converged). `p [N]` gives the dtype, and the value after no
    iteration at all."""

    def distance(old: State, new: State) -> Tensor:
        products = torch.stack([old[0] * new[0], old[0] ** 2, new[0] ** 2])
        across, before, after = products.new_zeros(3, links.graphs).index_add(1, links.source_graph, products)
        return 1 - ratio(across, (before * after).sqrt(), 1.0)

    return fixed_point(
        lambda trust, _: truthfinder_update(trust, links, implication, influence, dampening),
        (initial_trust * p.new_ones(links.source_graph.numel()), p),
        (links.source_graph, links.claim_graph),
        links.graphs,
        max_iterations=max_iterations,
        tolerance=tolerance,
        change=distance,
    )


class _SourceWeights(_SourceMethod):
    """Alternates one number per source and p; settled when neither moves by `tolerance`."""

    initial = 1.0

    def __init__(self, *, tolerance: float = 1e-5, **options: Any) -> None:
        super().__init__(tolerance=tolerance, **options)

    @abstractmethod
    def update(self, state: Tensor, links: Links, rivals: Arcs) -> tuple[Tensor, Tensor]:
        """One iteration: new source numbers `[S]` and p `[N]`."""

    def solve(self, graph: EvidenceGraph, edges: Edges) -> Solution:
        links, rivals = Links.of(graph, edges.kept), self.rivals(graph, edges)
        (_, p), iterations, converged = fixed_point(
            lambda state, _: self.update(state, links, rivals),
            (graph.prior.new_full((links.source_graph.numel(),), self.initial), graph.prior),
            (links.source_graph, links.claim_graph),
            links.graphs,
            max_iterations=self.max_iterations,
            tolerance=self.tolerance,
        )
        voices = links.votes(p.dtype)
        return Solution(torch.where(voices + rivals.sum(voices) > 0, p, graph.prior), iterations, converged)


class CRH(_SourceWeights):
    r"""Conflict resolution on heterogeneous data (Li et al. 2014), in its soft form, which is differentiable.

    .. math::
        b_f = \frac{V_f}{V_f + \sum_{g \in rivals(f)} c_{fg} V_g}, \quad V_f = \sum_{s \in S_f} w_s, \quad
        w_s = -\ln \frac{loss_s}{\sum_r loss_r}, \quad
        loss_s = \epsilon + \sum_{f \in F_s} \Big((b_f - 1)^2 + \sum_{g \in rivals(f)} c_{fg} b_g^2\Big)

    w is 1 at the start; alternates to a stationary point. p = b; a claim where nobody speaks keeps its prior.
    """

    learnable: ClassVar[Mapping[str, str]] = {"epsilon": "(0, inf)"}
    epsilon: nn.Parameter

    def __init__(self, *, epsilon: float = 1e-5, **options: Any) -> None:
        super().__init__(**options)
        self.register_scalars(epsilon=epsilon)

    def update(self, state: Tensor, links: Links, rivals: Arcs) -> tuple[Tensor, Tensor]:
        return crh_update(state, links, rivals, self.epsilon)


class TwoEstimates(_SourceWeights):
    r"""2-Estimates (Galland et al. 2010): the sources of rivals vote against a claim; e_s is the error rate of a source.

    .. math::
        p_f = \frac{\sum_{s \in S_f} (1 - e_s) + \sum_{g \in rivals(f)} c_{fg} \sum_{s \in S_g} e_s}{n_f^+ + n_f^-}, \qquad
        e_s = \frac{\sum_{f \in F_s} \big(1 - p_f + \sum_{g \in rivals(f)} c_{fg} p_g\big)}{n_s}

    After each step x <- (1 - r) minmax(x) + r round(x) within the graph, r = `rounding`; the rounding has no gradient. e starts at
    0.1. No general convergence, only the flag. A claim where nobody speaks keeps its prior.
    """

    learnable: ClassVar[Mapping[str, str]] = {"rounding": "[0, 1]"}
    rounding: nn.Parameter
    initial = 0.1

    def __init__(self, *, rounding: float = 0.5, **options: Any) -> None:
        super().__init__(**options)
        self.register_scalars(rounding=rounding)

    def update(self, state: Tensor, links: Links, rivals: Arcs) -> tuple[Tensor, Tensor]:
        return two_estimates_update(state, links, rivals, self.rounding)
