"""An arbitrator that needs no language model: it weighs the evidence that the graph holds for either side of a contradiction."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor

from arbgraph.graph import EvidenceGraph
from arbgraph.propagation.trace import Verdicts
from arbgraph.schema import CONTRADICT, SUPPORT


@dataclass(frozen=True)
class EvidenceWeights:
    """Weight of each feature difference (side a minus side b) in the score z; units in `evidence_features`.

    Set by hand so that two independent sources against one decide, that a clearly newer statement beats an equally
    well supported older one, and that specificity only tips near ties.
    """

    mass: float = 2.5
    credibility: float = 3.0
    margin: float = 0.5
    recency: float = 2.0
    specificity: float = 0.1


FEATURES: tuple[str, ...] = tuple(field.name for field in fields(EvidenceWeights))


@dataclass(frozen=True)
class EvidenceFeatures:
    """`difference [C, F]` in the order of `FEATURES`, positive where side a has more; `mass [C, 2]` of either side."""

    difference: Tensor
    mass: Tensor


def evidence_features(graph: EvidenceGraph, pairs: Tensor, support: Tensor, contradiction: Tensor, ally: float = 0.5) -> EvidenceFeatures:
    """What speaks for either side of the C contradictions `pairs [C]` (columns of `graph.pair_index`).

    mass: log(1 + m), m the independent sources that state a side (1 each), state a claim that supports it (the verifier's
        probability each), or state another claim that contradicts its rival (`ally` times the probability). A source counts
        once, with its largest share. A source that states both rivals counts for neither.
    credibility: mean known credibility of the claim's sources, in [0, 1]; difference 0 where either side's is unknown.
    margin: tanh of the claim's relation balance, sum of P(support) minus sum of P(contradict) over its other edges.
    recency: tanh of the difference in publication dates in units of two years; 0 where either is unknown.
    specificity: log(1 + checkable details).
    """
    a, b = graph.pair_index[:, pairs]
    mass = _independent_mass(graph, pairs, support, contradiction, ally)
    balance = _relation_balance(graph, pairs, support, contradiction)
    differences = {
        "mass": torch.log1p(mass[:, 0]) - torch.log1p(mass[:, 1]),
        "credibility": torch.nan_to_num(graph.source_credibility[a] - graph.source_credibility[b], nan=0.0),
        "margin": torch.tanh(balance[:, 0]) - torch.tanh(balance[:, 1]),
        "recency": torch.tanh(torch.nan_to_num(graph.published[a] - graph.published[b], nan=0.0) / 2),
        "specificity": torch.log1p(graph.specificity[a]) - torch.log1p(graph.specificity[b]),
    }
    return EvidenceFeatures(torch.stack([differences[name].double() for name in FEATURES], dim=-1), mass)


class EvidenceArbitrator:
    """Turns feature differences into P(a wins), P(b wins), P(abstain): softmax of (z/2, -z/2, abstain), z = weights . differences.

    With `abstain` = 0 a side passes a gate of 0.5 from |z| = 0.962, about two independent sources against one.
    Swapping a and b swaps the first two probabilities.
    """

    def __init__(self, weights: EvidenceWeights | None = None, *, abstain: float = 0.0, ally: float = 0.5) -> None:
        self.weights, self.abstain, self.ally = weights or EvidenceWeights(), abstain, ally

    def arbitrate(self, graph: EvidenceGraph, pairs: Tensor, support: Tensor, contradiction: Tensor) -> Verdicts:
        """Verdicts for all pairs at once, `[C, 3]` float64, each with its reason."""
        features = evidence_features(graph, pairs, support, contradiction, self.ally)
        weights = torch.tensor([getattr(self.weights, name) for name in FEATURES], dtype=torch.float64, device=features.difference.device)
        terms = features.difference * weights
        z = terms.sum(-1)
        logits = torch.stack([z / 2, -z / 2, torch.full_like(z, self.abstain)], dim=-1)
        rows = zip(terms.tolist(), features.mass.tolist(), z.tolist(), strict=True)
        return Verdicts(torch.softmax(logits, dim=-1), [_reason(*row) for row in rows])


def _reason(terms: list[float], mass: list[float], z: float) -> str:
    """The features that speak for the better side, in plain words, heaviest first."""
    sign = 1 if z >= 0 else -1
    ours, theirs = (mass[0], mass[1]) if sign > 0 else (mass[1], mass[0])
    words = {
        "mass": f"independent support {ours:.1f} against {theirs:.1f}",
        "credibility": "more credible sources",
        "margin": "agrees better with the other claims",
        "recency": "newer",
        "specificity": "more specific",
    }
    heavy = sorted(((term * sign, name) for term, name in zip(terms, FEATURES, strict=True)), reverse=True)
    reasons = [words[name] for term, name in heavy if term > 0.05]
    return "; ".join(reasons) if reasons else f"nothing separates them: independent support {ours:.1f} on either side"


def _independent_mass(graph: EvidenceGraph, pairs: Tensor, support: Tensor, contradiction: Tensor, ally: float) -> Tensor:
    """Independent sources behind either side `[C, 2]`, each source once with its largest share."""
    n, sources = graph.prior.numel(), int(graph.source_index[1].max()) + 1 if graph.source_index.numel() else 1
    side = graph.pair_index[:, pairs].T.flatten()  # a0, b0, a1, b1, ...
    rival = graph.pair_index[:, pairs].flip(0).T.flatten()
    supporters = Neighbours(graph, support, graph.relation[:, SUPPORT])
    opponents = Neighbours(graph, contradiction, graph.relation[:, CONTRADICT])
    own = Neighbours.of(graph.source_index[0], graph.source_index[1], torch.ones(graph.source_index.shape[1]), n)

    slots = torch.arange(side.numel(), device=side.device)
    speakers = [(slots, side, torch.ones(side.numel()))]
    for neighbours, centre, scale in ((supporters, side, 1.0), (opponents, rival, ally)):
        slot, claim, weight = neighbours.expand(centre)
        other = claim != side[slot]
        speakers.append((slot[other], claim[other], weight[other] * scale))
    slot, claim, weight = (torch.cat(parts) for parts in zip(*speakers, strict=True))
    row, source, _ = own.expand(claim)
    slot, weight = slot[row], weight[row].double()

    states_rival = torch.isin(rival[slot] * sources + source, graph.source_index[0] * sources + graph.source_index[1])
    slot, source, weight = slot[~states_rival], source[~states_rival], weight[~states_rival]
    keys, position = torch.unique(slot * sources + source, return_inverse=True)
    best = torch.zeros(keys.numel(), dtype=torch.float64).scatter_reduce(0, position, weight, "amax")
    return torch.zeros(side.numel(), dtype=torch.float64).index_add(0, keys // sources, best).view(-1, 2)


def _relation_balance(graph: EvidenceGraph, pairs: Tensor, support: Tensor, contradiction: Tensor) -> Tensor:
    """Sum of P(support) minus sum of P(contradict) over a claim's edges, the pair itself left out, `[C, 2]`."""
    relation = graph.relation.double()
    signed = relation[:, SUPPORT] * support - relation[:, CONTRADICT] * contradiction
    a, b = graph.pair_index
    total = torch.zeros(graph.prior.numel(), dtype=torch.float64).index_add(0, torch.cat([a, b]), signed.repeat(2))
    return torch.stack([total[a[pairs]], total[b[pairs]]], dim=-1) - signed[pairs].unsqueeze(-1)


class Neighbours:
    """Weighted adjacency in compressed rows; `expand` lists the neighbours of many nodes at once."""

    def __init__(self, graph: EvidenceGraph, mask: Tensor, weight: Tensor) -> None:
        a, b = graph.pair_index[:, mask]
        self._fill(torch.cat([a, b]), torch.cat([b, a]), weight[mask].repeat(2), graph.prior.numel())

    @classmethod
    def of(cls, row: Tensor, column: Tensor, weight: Tensor, rows: int) -> Neighbours:
        table = cls.__new__(cls)
        table._fill(row, column, weight, rows)
        return table

    def _fill(self, row: Tensor, column: Tensor, weight: Tensor, rows: int) -> None:
        order = torch.argsort(row, stable=True)
        self.column, self.weight = column[order], weight[order]
        self.size = torch.bincount(row, minlength=rows)
        self.start = torch.cumsum(self.size, 0) - self.size

    def expand(self, nodes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """For every neighbour of every entry of `nodes`: the entry's position, the neighbour, the weight."""
        size = self.size[nodes]
        position = torch.repeat_interleave(torch.arange(nodes.numel(), device=nodes.device), size)
        first = torch.cumsum(size, 0) - size
        place = self.start[nodes][position] + torch.arange(position.numel(), device=nodes.device) - first[position]
        return position, self.column[place], self.weight[place]
