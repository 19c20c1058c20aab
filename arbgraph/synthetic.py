"""Synthetic worlds: evidence graphs whose truth is known, from sources of known reliability, some of which copy each other.

A world has items (an attribute of a thing), each with one true value, or with two where the thing's name is ambiguous, and false
values. Sources state values; sources of a clique repeat their leader. Every value stated in one wording is a claim. The claims of
one item are paired, and the pairs get the probabilities of an imperfect verifier and the verdicts of an imperfect arbitrator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

from arbgraph.graph import EvidenceGraph
from arbgraph.propagation.credibility import CredibilityPropagation
from arbgraph.schema import CONTRADICT, NEUTRAL, SUPPORT, content_id

SHARES = ("ambiguity", "coverage", "popular_falsehood", "copy_rate", "copies_detected", "off_topic", "credibility_known")
SHARES += ("ambiguity_confusion", "verifier_noise", "verdict_noise")


@dataclass(frozen=True)
class SyntheticWorlds:
    """How worlds are drawn. Every share and probability lies in [0, 1].

    Size: `worlds` graphs of `items` items with `false_values` false values each (>= 1), stated in one of `wordings` wordings (>= 1).
    Truth: `ambiguity` is the share of items with two true values; `off_topic` the share of items that do not bear on the query.
    Sources: `sources` of them (>= 1) with reliability (probability of stating a true value) uniform in `reliability`; each states
        an item with probability `coverage`; a false statement is the item's most popular one with probability `popular_falsehood`.
    Copying: `cliques` groups of `clique_size` sources; a member repeats the leader's statement with probability `copy_rate`; a clique
        is recognised, and counted as one independent source, with probability `copies_detected`.
    Known about a source: its reliability, with error 0.1, with probability `credibility_known`.
    Pairs: those with a similarity of at least `mined_from`; two claims on one item have 0.8, others 0.4, with a deviation of 0.1.
    Verifier: a relation is replaced by one of the two others with probability `verifier_noise`; two true values of an ambiguous item
        are taken for a contradiction with probability `ambiguity_confusion`; the probability of the label shown is uniform in
        `confidence`, within (1/3, 1].
    Arbitrator: `verdicts` fills every pair: the true side wins, equal sides abstain, with a probability uniform in
        `verdict_confidence`, within (1/3, 1]; an outcome is replaced by one of the two others with probability `verdict_noise`.
    Priors: sigma of a normal draw with mean 0 and standard deviation `prior_spread` in logits; 0 gives 0.5 everywhere.
    Labels: `truth` is 1 for a true value, 0 for a false one, NaN for off-topic claims. `planted` is what exact propagation with the
        parameters `planted` (arguments of `CredibilityPropagation`) accepts, given verdicts without noise.
    """

    worlds: int = 200
    seed: int = 0
    items: int = 5
    false_values: int = 2
    wordings: int = 2
    ambiguity: float = 0.2
    off_topic: float = 0.2
    sources: int = 8
    reliability: tuple[float, float] = (0.4, 0.9)
    coverage: float = 0.6
    popular_falsehood: float = 0.7
    cliques: int = 1
    clique_size: int = 3
    copy_rate: float = 0.9
    copies_detected: float = 0.7
    credibility_known: float = 0.0
    mined_from: float = 0.45
    verifier_noise: float = 0.1
    ambiguity_confusion: float = 0.3
    confidence: tuple[float, float] = (0.4, 0.98)
    verdicts: bool = True
    verdict_confidence: tuple[float, float] = (0.4, 0.98)
    verdict_noise: float = 0.0
    prior_spread: float = 0.0
    labels: Literal["truth", "planted"] = "truth"
    planted: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in SHARES:
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"SyntheticWorlds.{name} is {getattr(self, name)}; give a share within 0..1")
        for name in ("worlds", "items", "false_values", "wordings", "sources"):
            if getattr(self, name) < 1:
                raise ValueError(f"SyntheticWorlds.{name} is {getattr(self, name)}; give at least 1")
        for name, low in (("reliability", 0.0), ("confidence", 1 / 3), ("verdict_confidence", 1 / 3)):
            first, last = getattr(self, name)
            if not low <= first <= last <= 1:
                raise ValueError(f"SyntheticWorlds.{name} is {first}..{last}; give an ascending range within {low:.3g}..1")
        if self.cliques < 0 or self.clique_size < 1 or self.cliques * self.clique_size > self.sources:
            raise ValueError(f"{self.cliques} cliques of {self.clique_size} do not fit into {self.sources} sources")
        if self.prior_spread < 0:
            raise ValueError(f"SyntheticWorlds.prior_spread is {self.prior_spread}; give a standard deviation of at least 0")
        if (self.labels == "planted") != bool(self.planted):
            raise ValueError("planted labels need planted parameters, and planted parameters need labels='planted'")
        if self.labels == "planted" and not self.verdicts:
            raise ValueError("planted labels need verdicts=True: they are what the planted propagation makes of the verdicts")


def draw_worlds(config: SyntheticWorlds) -> list[EvidenceGraph]:
    """The worlds, in order. A world's draws depend on the seed and its number only: the same seed under another noise rate gives
    the same worlds with more or less noise."""
    layer = CredibilityPropagation(**config.planted) if config.labels == "planted" else None
    return [_World(config, int(content_id("world", config.seed, number)[:15], 16)).graph(layer, number) for number in range(config.worlds)]


class _World:
    """One world: draws are taken from one seeded generator, in a fixed order."""

    def __init__(self, config: SyntheticWorlds, seed: int) -> None:
        self.config, self.generator = config, torch.Generator().manual_seed(seed)

    def graph(self, layer: CredibilityPropagation | None, number: int) -> EvidenceGraph:
        config = self.config
        claims, links, true, topical, credibility = self._claims()
        n = len(claims)
        pairs, similarity, kind = self._pairs(claims, true)
        winner = self._winners(pairs, true)
        clean = self._probabilities(winner, config.verdict_confidence)
        noisy = self._probabilities(self._disturbed(winner, config.verdict_noise), config.verdict_confidence)
        # A verdict that noise left alone keeps its probabilities, so that noise is the only difference to the clean ones.
        verdict = torch.where((noisy.argmax(-1) == winner).unsqueeze(-1), clean, noisy)
        graph = EvidenceGraph.build(
            torch.sigmoid(self._normal(n) * config.prior_spread),
            pairs,
            self._probabilities(self._disturbed(kind, config.verifier_noise), config.confidence),
            similarity=similarity,
            relevance=(torch.where(topical, 0.65, 0.3) + 0.12 * self._normal(n)).clamp(-1, 1),
            verdict=clean if config.verdicts else None,
            source_index=links,
            num_sources=config.sources,
            source_credibility=credibility,
            specificity=(4 * self._uniform(n)).floor().float(),
            name=f"world-{config.seed}-{number}",
        )
        graph.label = torch.where(topical, true.double(), torch.nan) if layer is None else layer(graph).accepted.double()
        if config.verdicts:
            graph.verdict = verdict
        return graph

    def _claims(self) -> tuple[list[tuple[int, int, int]], Tensor, Tensor, Tensor, Tensor]:
        """Claims (item, value, wording), their source links `[2, L]`, truth, topicality and known source credibility `[N]`."""
        config = self.config
        true_values = (1 + (self._uniform(config.items) < config.ambiguity).long()).tolist()
        on_topic = (self._uniform(config.items) >= config.off_topic).tolist()
        low, high = config.reliability
        reliability = low + (high - low) * self._uniform(config.sources)
        stated: dict[tuple[int, int, int], set[int]] = {}
        group = self._groups()
        for item in range(config.items):
            for source, value in self._statements(true_values[item], reliability).items():
                wording = int(self._uniform(1) * config.wordings)
                stated.setdefault((item, value, wording), set()).add(source)
        # A world in which nobody said anything holds one statement, so that every graph has a claim.
        claims = sorted(stated) or [(0, 0, 0)]
        known = self._uniform(config.sources) < config.credibility_known
        guess = torch.where(known, (reliability + 0.1 * self._normal(config.sources)).clamp(0, 1), torch.nan)
        speakers = [sorted(stated.get(claim, {0})) for claim in claims]
        links = sorted({(row, group[source]) for row, sources in enumerate(speakers) for source in sources})
        credibility = torch.stack([guess[sources].nanmean() for sources in speakers]).float()
        true = torch.tensor([value < true_values[item] for item, value, _ in claims])
        topical = torch.tensor([on_topic[item] for item, _, _ in claims])
        return claims, torch.tensor(links).T.contiguous(), true, topical, credibility

    def _groups(self) -> list[int]:
        """The independent source that every source counts as."""
        config, group = self.config, list(range(self.config.sources))
        detected = (self._uniform(max(config.cliques, 1)) < config.copies_detected).tolist()
        for clique in range(config.cliques):
            first = clique * config.clique_size
            if detected[clique]:
                group[first : first + config.clique_size] = [first] * config.clique_size
        return group

    def _statements(self, true_values: int, reliability: Tensor) -> dict[int, int]:
        """What each source says about one item: a value below `true_values` is true, the next one is the popular falsehood."""
        config, said = self.config, {}
        speaks, honest, which, popular, copies = self._uniform(5 * config.sources).view(5, -1).tolist()
        for source, trust in enumerate(reliability.tolist()):
            leader = source - source % config.clique_size if source < config.cliques * config.clique_size else source
            if leader != source and leader in said and copies[source] < config.copy_rate:
                said[source] = said[leader]
            elif speaks[source] < config.coverage:
                if honest[source] < trust:
                    said[source] = int(which[source] * true_values)
                elif popular[source] < config.popular_falsehood:
                    said[source] = true_values
                else:
                    said[source] = true_values + int(which[source] * config.false_values)
        return said

    def _pairs(self, claims: list[tuple[int, int, int]], true: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Candidate pairs `[2, E]`, similarity `[E]`, relation as a label `[E]`. Pairs across items are dissimilar and neutral."""
        a, b = torch.combinations(torch.arange(len(claims))).T.reshape(2, -1)
        item, value, _ = torch.tensor(claims).T
        similarity = torch.where(item[a] == item[b], 0.8, 0.4) + 0.1 * self._normal(a.numel())
        mined = similarity >= self.config.mined_from
        a, b, similarity = a[mined], b[mined], similarity[mined]
        same_item, same_value = item[a] == item[b], value[a] == value[b]
        confused = self._uniform(a.numel()) < self.config.ambiguity_confusion
        conflict = same_item & ~same_value & (~(true[a] & true[b]) | confused)
        kind = torch.full_like(a, NEUTRAL)
        kind[conflict], kind[same_item & same_value] = CONTRADICT, SUPPORT
        return torch.stack([a, b]), similarity.clamp(-1, 1), kind

    @staticmethod
    def _winners(pairs: Tensor, true: Tensor) -> Tensor:
        """0 where a is true and b is not, 1 the other way round, 2 (abstain) where the truth does not decide; `[E]`."""
        a, b = true[pairs]
        return torch.where(a == b, 2, torch.where(a, 0, 1))

    def _disturbed(self, label: Tensor, noise: float) -> Tensor:
        """Labels of three, each replaced by one of the two others with probability `noise`."""
        shift = 1 + (self._uniform(label.numel()) < 0.5).long()
        return torch.where(self._uniform(label.numel()) < noise, (label + shift) % 3, label)

    def _probabilities(self, label: Tensor, within: tuple[float, float]) -> Tensor:
        """`[E, 3]`: the label's probability is uniform in the range, the rest is split so that the label stays the likeliest."""
        size = label.numel()
        top = within[0] + (within[1] - within[0]) * self._uniform(size)
        rest = 1 - top
        # Strictly less than the label's share, or equal only where the three are.
        most = torch.minimum(rest, top - (top - rest / 2) / 100)
        first = rest - most + (2 * most - rest) * self._uniform(size)
        rows = torch.arange(size)
        result = torch.empty(size, 3, dtype=torch.float64)
        result[rows, label], result[rows, (label + 1) % 3], result[rows, (label + 2) % 3] = top, first, rest - first
        return result

    def _uniform(self, size: int) -> Tensor:
        return torch.rand(size, generator=self.generator, dtype=torch.float64)

    def _normal(self, size: int) -> Tensor:
        return torch.randn(size, generator=self.generator, dtype=torch.float64)
