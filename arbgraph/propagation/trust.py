"""Learned source trust: claims are believed for their sources and sources trusted for their claims, unrolled and differentiable.

An extension of ours, off by default: the paper has no source model. It sets the logits from which the rounds of Algorithm 1
start. One log-linear model holds plurality vote, TruthFinder's alternation and the Dawid-Skene models (Dawid and Skene 1979)
as special cases, so that which of them a data set wants is a matter of fitted scalars.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from arbgraph.graph import EvidenceGraph
from arbgraph.propagation.base import Arcs, ratio
from arbgraph.propagation.edges import Edges, graph_of, num_graphs

# Scalars that can be learned by name, in the order of the arguments of `SourceTrust`; the last ones are held as logarithms.
TRUST_LEARNABLE = ("weight", "confusion_weight", "bias", "alternatives", "mean", "volume", "unlisted")
TRUST_LEARNABLE += ("partial", "support", "specificity", "class_prior", "sharpness", "strength", "facet_strength", "confusion_strength")
POSITIVE = ("strength", "facet_strength", "confusion_strength")
# Trust and confusion stay this far from 0 and 1, so that no single source can rule a claim out for good.
SMALLEST = 1e-10
# Weight of every cell of the pooled confusion, so that a reply nobody gave yet keeps a little probability.
POOLED_COUNT = 0.1
# Logit of a claim whose truth is given.
KNOWN_LOGIT = 14.0


@dataclass(frozen=True)
class Grouped:
    """`group [R]` of every row and the number of groups; sums rows by group."""

    group: Tensor
    count: int

    @classmethod
    def by(cls, *keys: Tensor) -> tuple[Grouped, Tensor]:
        """Rows that agree in all `keys [R]` share a group. Also the first row of every group `[count]`."""
        key = keys[0]
        for more in keys[1:]:
            key = key * (int(more.max()) + 1 if more.numel() else 1) + more
        _, group = torch.unique(key, return_inverse=True)
        count = int(group.max()) + 1 if group.numel() else 0
        rows = torch.arange(group.numel(), device=group.device)
        first = torch.full((count,), group.numel(), device=group.device).scatter_reduce(0, group, rows, "amin")
        return cls(group, count), first

    def sum(self, value: Tensor) -> Tensor:
        return value.new_zeros(self.count).index_add(0, self.group, value)


@dataclass(frozen=True)
class Confusion:
    """Rows r: a source said something about an item, and `truth [R]` is one of the claims that may be true there.

    `own` groups rows by (source, true class, said class), `own_total [own]` gives the (source, true class) of each such cell;
    `pooled` and `pooled_total` are the same for all sources of a graph, `said` the (graph, said class) of a row.
    """

    link: Tensor
    truth: Tensor
    own: Grouped
    own_first: Tensor
    own_total: Grouped
    pooled: Grouped
    pooled_first: Tensor
    pooled_total: Grouped
    said: Grouped
    said_total: Grouped


@dataclass(frozen=True)
class TrustIndex:
    """What does not change while trust and belief alternate, for N claims, S sources, L assertions, P rival arcs, B graphs.

    `claim [L]`, `source [L]`: who asserts what. `rivals`, `partial`, `support`: arcs. `facet`: assertions by (source, facet).
    `classes`: claims by (graph, category), `with_class [N]`; `confusion` is None where no claim has a category.
    """

    claim: Tensor
    source: Tensor
    sources: int
    kept: Tensor
    rivals: Arcs
    partial: Arcs
    support: Arcs
    facet: Grouped
    facet_first: Tensor
    classes: Grouped
    with_class: Tensor
    claim_graph: Tensor
    graphs: int
    confusion: Confusion | None

    @classmethod
    def of(cls, graph: EvidenceGraph, edges: Edges) -> TrustIndex:
        """The index of the claims and edges in force of a graph or batch."""
        claim, source = graph.source_index[:, edges.kept[graph.source_index[0]]]
        batch, n = graph_of(graph), graph.prior.numel()
        one = torch.ones(graph.num_pairs, dtype=graph.prior.dtype, device=claim.device)
        rivals = Arcs.both_ways(graph.pair_index, edges.contradiction, one)
        category = graph.get("category")
        category = torch.full((n,), -1, device=claim.device) if category is None else category
        facets = graph.get("facet")
        facets = torch.zeros(n, dtype=torch.long, device=claim.device) if facets is None else facets
        facet, facet_first = Grouped.by(source, facets[claim])
        with_class = category >= 0
        classes, _ = Grouped.by(batch, category + 1)
        return cls(
            claim,
            source,
            int(torch.as_tensor(graph.num_sources).sum()),
            edges.kept,
            rivals,
            Arcs.both_ways(graph.pair_index, edges.contradiction, graph.similarity.to(one)),
            Arcs.both_ways(graph.pair_index, edges.support, one),
            facet,
            facet_first,
            classes,
            with_class,
            batch,
            num_graphs(graph),
            _confusion(claim, source, rivals.index, category, batch, n) if bool(with_class.any()) else None,
        )


def _confusion(claim: Tensor, source: Tensor, arcs: Tensor, category: Tensor, batch: Tensor, n: int) -> Confusion:
    """Pairs every assertion of a claim with a category with the claim itself and with each rival that has one."""
    own = (category >= 0).nonzero().squeeze(-1)
    between = arcs[:, (category[arcs[0]] >= 0) & (category[arcs[1]] >= 0)]
    said, truth = torch.cat([own, between[0]]), torch.cat([own, between[1]])
    order = torch.argsort(claim, stable=True)
    count = torch.bincount(claim, minlength=n)
    start, times = torch.cumsum(count, 0) - count, count[said]
    within = torch.arange(int(times.sum()), device=claim.device) - torch.repeat_interleave(torch.cumsum(times, 0) - times, times)
    link, truth = order[torch.repeat_interleave(start[said], times) + within], torch.repeat_interleave(truth, times)
    speaker, k, heard = source[link], category[truth], category[claim[link]]
    where = batch[truth]
    cells, cells_first = Grouped.by(speaker, k, heard)
    totals, _ = Grouped.by(speaker[cells_first], k[cells_first])
    pooled, pooled_first = Grouped.by(where, k, heard)
    pooled_totals, _ = Grouped.by(where[pooled_first], k[pooled_first])
    replies, replies_first = Grouped.by(where, heard)
    all_replies, _ = Grouped.by(where[replies_first])
    return Confusion(link, truth, cells, cells_first, totals, pooled, pooled_first, pooled_totals, replies, all_replies)


@dataclass(frozen=True)
class Trusted:
    """`s [N]` credibility logits, `p [N]` their probabilities among rivals, `trust [S]` mean trust of every source in (0, 1)."""

    s: Tensor
    p: Tensor
    trust: Tensor


class SourceTrust(nn.Module):
    r"""Alternates source trust and claim credibility for a fixed number of rounds.

    Round 0 gives every claim its share of the votes among its rivals. Each further round estimates trust from credibility, with
    a Beta prior, lets every source cast its log-odds as a vote, and normalises among rivals:

    .. math::
        t_s = \frac{\kappa\, m_s + \sum_{f \in F_s} p_f}{\kappa + n_s}, \quad m_s = \sigma(m + v \ln(1 + n_s)), \qquad
        t_{sa} = \frac{\kappa_a t_s + \sum_{f \in F_{sa}} p_f}{\kappa_a + n_{sa}}

    .. math::
        V_f = \sum_{s \in S_f} \big(\mathrm{logit}\, t_{sa} + b + g \ln r_f\big), \qquad
        S_f = s_f^{(0)} + w V_f + \lambda \sum_{g} c_{fg}\, sim_{fg} V_g + \mu \sum_{g \in sup(f)} V_g + d \ln(1 + spec_f) + h \ln P(k_f)

    .. math:: s_f = S_f - \ln\Big(e^u + \sum_{g \in rivals(f)} c_{fg} e^{S_g}\Big), \qquad p_f = \sigma(s_f)

    with a the facet of a claim (an attribute, say), r_f the number of rivals (1 without any), k_f its category and P the share of
    categories in the round before. Where claims have categories (a label vocabulary shared by the items), the full confusion of
    every source adds :math:`w_c \sum \ln (\pi_s[k_f, said] / P(said))` over all assertions about the item, with
    :math:`\pi_s = (\kappa_c \pi + C_s) / (\kappa_c + \sum C_s)` shrunk to the confusion pi of all sources together.

    Special cases: `rounds=0` is plurality vote; weight 1, strength 0, bias ln(K - 1), class_prior 1 and unlisted -inf on items
    where all K labels are candidates is one-coin Dawid-Skene; weight 0, confusion_weight 1 and a small confusion_strength is
    Dawid-Skene.

    Args:
        rounds: alternations R. weight: w. confusion_weight: w_c. bias: b. alternatives: g. mean: logit m of the prior trust.
        volume: v, more prior trust for sources that say more. unlisted: u, log weight of a truth that nobody asserts; -inf for none.
        partial: lambda, credit from rivals with a similar value (`graph.similarity`). support: mu, credit along support edges.
        specificity: d. class_prior: h. strength: kappa, prior pseudo-counts. facet_strength: kappa_a. confusion_strength: kappa_c.
        learn: names out of `TRUST_LEARNABLE` that get gradients.

    Optional fields of the graph: `facet [N]` long, `category [N]` long (-1 for none), `known [N]` 1, 0 or NaN: claims whose truth is
    given; they count as such in the trust of their sources, and their logit is plus or minus 14.

    Shapes: N claims, S sources; see `Trusted`. Raises ValueError on an unknown name or a negative number of rounds or pseudo-counts.
    """

    confusion_weight: nn.Parameter

    def __init__(
        self,
        *,
        rounds: int = 5,
        weight: float = 1.0,
        confusion_weight: float = 0.0,
        bias: float = 0.0,
        alternatives: float = 1.0,
        mean: float = 1.0,
        volume: float = 0.0,
        unlisted: float = 0.0,
        partial: float = 0.0,
        support: float = 0.0,
        specificity: float = 0.0,
        class_prior: float = 0.0,
        sharpness: float = 1.0,
        strength: float = 4.0,
        facet_strength: float = math.inf,
        confusion_strength: float = 4.0,
        learn: Sequence[str] = (),
    ) -> None:
        super().__init__()
        for name in learn:
            if name not in TRUST_LEARNABLE:
                raise ValueError(f"learnable trust parameter {name!r} is not known; choose one of {', '.join(TRUST_LEARNABLE)}")
        if rounds < 0:
            raise ValueError(f"rounds of source trust is {rounds}; it must not be negative")
        self.rounds = rounds
        given = (weight, confusion_weight, bias, alternatives, mean, volume, unlisted, partial, support, specificity, class_prior)
        given += (sharpness,)
        given += (strength, facet_strength, confusion_strength)
        for name, value in zip(TRUST_LEARNABLE, given, strict=True):
            if name in POSITIVE and value < 0:
                raise ValueError(f"{name} is {value}; pseudo-counts must not be negative")
            tensor = torch.tensor(float(value), dtype=torch.float64)
            tensor = tensor.log() if name in POSITIVE else tensor
            self.register_parameter(name, nn.Parameter(tensor, requires_grad=name in learn))

    def extra_repr(self) -> str:
        return f"rounds={self.rounds}, " + ", ".join(f"{name}={self.value(name).item():.4g}" for name in TRUST_LEARNABLE)

    def value(self, name: str) -> Tensor:
        """The scalar of that name as the formulas use it."""
        parameter = getattr(self, name)
        return parameter.exp() if name in POSITIVE else parameter

    @property
    def confused(self) -> bool:
        """Whether confusions count."""
        return self.confusion_weight.requires_grad or bool(self.confusion_weight != 0)

    def forward(self, graph: EvidenceGraph, start: Tensor, edges: Edges) -> Tensor:
        """Logits `[N]` from those of the prior, `start [N]`, on the edges in force; claims that are not kept keep their start.

        Thresholds act hard here: gradients reach the scalars of this module and the prior, not the thresholds of the edges.
        """
        index = TrustIndex.of(graph, edges)
        return self.alternate(index, start, graph.specificity, graph.get("known")).s

    def alternate(self, index: TrustIndex, start: Tensor, specificity: Tensor, known: Tensor | None = None) -> Trusted:
        """The alternation on a prepared index; `specificity [N]`, `known [N]` or None."""
        read = {name: self.value(name).to(start.dtype) for name in TRUST_LEARNABLE}
        votes = start.new_zeros(start.numel()).index_add(0, index.claim, torch.ones_like(index.claim, dtype=start.dtype))
        own = start + read["specificity"] * torch.log1p(specificity.to(start))
        rivals = index.rivals.sum(torch.ones_like(start))
        log_alternatives = torch.log(rivals.clamp(min=1))
        said = torch.zeros(index.sources, dtype=start.dtype, device=start.device).index_add(
            0, index.source, torch.ones_like(index.claim, dtype=start.dtype)
        )
        prior = torch.sigmoid(read["mean"] + read["volume"] * torch.log1p(said))
        p = ratio(votes, votes + index.rivals.sum(votes), torch.sigmoid(start))
        s = torch.logit(p.clamp(SMALLEST, 1 - SMALLEST))
        p, s = _given(p, s, known)
        trust = prior
        for number in range(self.rounds):
            trust, trust_in_facet = self._trust(index, p, prior, said, read)
            log_odds = torch.logit(trust_in_facet.clamp(SMALLEST, 1 - SMALLEST))[index.facet.group]
            vote = log_odds + read["bias"] + read["alternatives"] * log_alternatives[index.claim]
            voted = torch.zeros_like(start).index_add(0, index.claim, vote)
            score = own + read["weight"] * voted + read["partial"] * index.partial.sum(voted) + read["support"] * index.support.sum(voted)
            if index.confusion is not None:
                score = score + self._classes(index, p, read)
                if self.confused:
                    score = score + read["confusion_weight"] * self._confused(index, index.confusion, p, read)
            if number == self.rounds - 1:
                score = read["sharpness"] * score
            s = score - _log_sum_exp(score, index.rivals, read["unlisted"])
            s = torch.where(index.kept, s.clamp(-1 / SMALLEST, 1 / SMALLEST), start)
            p, s = _given(torch.sigmoid(s), s, known)
        return Trusted(s, p, trust)

    @staticmethod
    def _trust(index: TrustIndex, p: Tensor, prior: Tensor, said: Tensor, read: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Trust of every source `[S]`, and in every (source, facet)."""
        believed = p[index.claim]
        right = torch.zeros_like(prior).index_add(0, index.source, believed)
        trust = _shrunk(prior, right, said, read["strength"])
        own = trust[index.source[index.facet_first]]
        times = index.facet.sum(torch.ones_like(believed))
        return trust, _shrunk(own, index.facet.sum(believed), times, read["facet_strength"])

    @staticmethod
    def _classes(index: TrustIndex, p: Tensor, read: dict[str, Tensor]) -> Tensor:
        """h ln P(k_f) `[N]`; 0 without a category."""
        mass = index.classes.sum(torch.where(index.with_class, p, 0))
        total = p.new_zeros(index.graphs).index_add(0, index.claim_graph, torch.where(index.with_class, p, 0))
        share = ratio(mass[index.classes.group], total[index.claim_graph], 1.0).clamp(min=SMALLEST)
        return torch.where(index.with_class, read["class_prior"] * share.log(), 0)

    @staticmethod
    def _confused(index: TrustIndex, rows: Confusion, p: Tensor, read: dict[str, Tensor]) -> Tensor:
        """Sum `[N]` of ln(pi_s[k, said] / P(said)) over the assertions about an item, for each claim k that may be true."""
        belief = p[rows.truth]
        pooled = rows.pooled.sum(belief) + POOLED_COUNT
        pooled = pooled / rows.pooled_total.sum(pooled)[rows.pooled_total.group]
        own = rows.own.sum(belief)
        # A cell's prior is the pooled confusion of the graph that its first row lies in; a source belongs to one graph.
        base = pooled[rows.pooled.group[rows.own_first]]
        total = rows.own_total.sum(own)[rows.own_total.group]
        shrunk = _shrunk(base, own, total, read["confusion_strength"])
        heard = rows.said.sum(belief) + POOLED_COUNT
        heard = heard / rows.said_total.sum(heard)[rows.said_total.group]
        gain = shrunk.clamp(min=SMALLEST).log()[rows.own.group] - heard.log()[rows.said.group]
        return torch.zeros_like(p).index_add(0, rows.truth, gain)


def _shrunk(prior: Tensor, hits: Tensor, trials: Tensor, strength: Tensor) -> Tensor:
    """(strength prior + hits) / (strength + trials), which is the prior where the strength is infinite or there is nothing."""
    return prior + ratio(hits - trials * prior, strength + trials)


def _given(p: Tensor, s: Tensor, known: Tensor | None) -> tuple[Tensor, Tensor]:
    """Credibility with the given truths in place."""
    if known is None:
        return p, s
    given = ~known.isnan()
    sign = torch.where(given, 2 * known - 1, 0).to(s)
    return torch.where(given, (sign + 1) / 2, p), torch.where(given, KNOWN_LOGIT * sign, s)


def _log_sum_exp(score: Tensor, rivals: Arcs, unlisted: Tensor) -> Tensor:
    """ln(e^unlisted + sum_{rivals} c e^score) `[N]`, without overflow; very low, not -inf, where the sum is empty."""
    sender, receiver = rivals.index
    with torch.no_grad():
        high = unlisted.expand_as(score).clamp(min=-1 / SMALLEST)
        high = high.scatter_reduce(0, receiver, score[sender], "amax")
    total = (unlisted - high).exp().index_add(0, receiver, rivals.weight.to(score) * (score[sender] - high[receiver]).exp())
    return high + total.clamp(min=torch.finfo(score.dtype).tiny).log()
