"""Fits the scalars of `SourceTrust` on the items of a table whose truth is given, and scores tables with it.

The claims of all items are seen, as they are whenever a table is arbitrated; truths are seen of the given items only. Labels
serve twice: they choose the structure and the scalars, and (unless `use_labels` is off) they stand as known claims, so that a
source is trusted for what it got right. Then every part of them is scored while only the other parts are known; the scalars are
the same for all parts, so this is cross-validation of the evidence and not of the scalars.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn.functional import softplus

from arbgraph.propagation.credibility import CredibilityPropagation
from arbgraph.propagation.trust import SourceTrust, TrustIndex
from arbgraph.tables import ClaimTable

CORE = ("weight", "bias", "alternatives", "mean", "volume", "strength", "sharpness")
VALUES = ("partial", "specificity")
CONFUSION = ("confusion_weight", "confusion_strength", "class_prior")
# Scores above this logit count as this in the loss: beyond it a label error would outweigh everything else.
LOSS_LOGIT = 30.0
# A step that gains less than this, in nats per item, ends a fit.
ENOUGH = 1e-5


@dataclass(frozen=True)
class Structure:
    """What may move in a fit: where it starts and which scalars it learns."""

    name: str
    start: dict[str, float]
    learn: tuple[str, ...]
    rounds: int = 5


@dataclass(frozen=True)
class Fit:
    """A fitted layer, with the accuracy and negative log-likelihood, on hidden labels, of every structure `tried`."""

    layer: SourceTrust
    structure: Structure
    use_labels: bool
    tried: dict[str, tuple[float, float]] = field(default_factory=dict)


def structures(table: ClaimTable) -> list[Structure]:
    """The structures that fit a table: vote, one trust per source; values compared; trust per attribute; confusions of categories."""
    graph = table.graph
    closed = bool((graph["category"] >= 0).all())
    start = {"sharpness": 0.3} | ({"unlisted": -float("inf")} if closed else {})
    core = CORE if closed else (*CORE, "unlisted")
    found = [Structure("vote", {}, (), rounds=0), Structure("one_coin", start, core)]
    if closed:
        full = start | {"weight": 0.1, "confusion_weight": 0.9, "class_prior": 1.0}
        found += [
            Structure("confusion", start | {"weight": 0.0, "confusion_weight": 1.0, "class_prior": 1.0}, (*CONFUSION, "sharpness")),
            Structure("one_coin_confusion", full, (*core, *CONFUSION)),
        ]
    else:
        found.append(Structure("one_coin_values", start, (*core, *VALUES)))
        if len(table.kinds) > 1:
            found.append(Structure("by_attribute", start | {"facet_strength": 10.0}, (*core, *VALUES, "facet_strength")))
    return found


def layer_of(structure: Structure, rounds: int | None = None, learn: bool = True) -> SourceTrust:
    """A layer at the start of a structure."""
    return SourceTrust(rounds=structure.rounds if rounds is None else rounds, learn=structure.learn if learn else (), **structure.start)


def table_propagation(layer: SourceTrust) -> CredibilityPropagation:
    """Source trust alone. A table is no retrieval: no claim is off the query, and every pair of an item counts."""
    return CredibilityPropagation(rounds=0, tau_q=-1.0, tau_sim=-1.0, tau_conf=0.5, source_trust=layer)


def score_table(table: ClaimTable, layer: SourceTrust, known: Tensor | None = None) -> Tensor:
    """Credibility logits `[N]` of the claims: source trust alone, no arbitration rounds, because no arbitrator reads a table.

    `known [I]` marks items whose label is given as known. Rounds with verdicts from these very credibilities would push the values of an
    item apart without changing their order.
    """
    graph = table.graph.clone()
    if known is not None:
        graph["known"] = known_claims(table, known)
    with torch.no_grad():
        return table_propagation(layer)(graph).s


def known_claims(table: ClaimTable, items: Tensor) -> Tensor:
    """Labels `[N]` of the claims of the marked `items [I]`; NaN elsewhere."""
    return torch.where(items[table.item], table.graph["label"], torch.nan)


def correct_share(table: ClaimTable, score: Tensor) -> Tensor:
    """Of every item `[I]`, the share of its best-scored claims that is true: 1 or 0, less where several claims tie for the first place.

    Scores within 1e-9 of each other are tied. Meaningful for labelled items only.
    """
    count = len(table.items)
    best = torch.full((count,), -torch.inf, dtype=score.dtype).scatter_reduce(0, table.item, score, "amax")
    first = (score >= best[table.item] - 1e-9).to(score)
    sums = score.new_zeros(2, count).index_add(1, table.item, torch.stack([first, first * (table.graph["label"] == 1)]))
    return sums[1] / sums[0]


def split_items(items: Tensor, folds: int, seed: int) -> list[Tensor]:
    """The marked `items [I]` in `folds` random parts, each as marks `[I]`; a part more than there are items is left out."""
    chosen = items.nonzero().squeeze(-1)
    order = chosen[torch.randperm(chosen.numel(), generator=torch.Generator().manual_seed(seed))]
    parts = []
    for number in range(min(folds, chosen.numel())):
        part = torch.zeros_like(items)
        part[order[number::folds]] = True
        parts.append(part)
    return parts


class _Objective:
    """Loss and accuracy of a layer on labelled items; with `use_labels` each part is scored while the other parts are known."""

    def __init__(self, table: ClaimTable, train: Tensor, use_labels: bool, folds: int, seed: int) -> None:
        graph = table.graph
        edges = table_propagation(SourceTrust()).select_edges(graph)
        self.table, self.index = table, TrustIndex.of(graph, edges)
        self.start, self.specificity = torch.logit(graph.prior), graph.specificity
        if use_labels:
            self.parts = [(known_claims(table, train & ~part), part) for part in split_items(train, folds, seed)]
        else:
            self.parts = [(None, train)]
        self.count = int(train.sum())

    def loss(self, layer: SourceTrust) -> Tensor:
        total = self.start.new_zeros(())
        for known, part in self.parts:
            s = layer.alternate(self.index, self.start, self.specificity, known).s
            true = (self.table.graph["label"] == 1) & part[self.table.item]
            total = total + softplus(-s[true].clamp(-LOSS_LOGIT, LOSS_LOGIT)).sum()
        return total / self.count

    def accuracy(self, layer: SourceTrust) -> float:
        total = 0.0
        for known, part in self.parts:
            s = layer.alternate(self.index, self.start, self.specificity, known).s
            total += float(correct_share(self.table, s)[part].sum())
        return total / self.count


def fit_source_trust(
    table: ClaimTable,
    train: Tensor | None = None,
    *,
    use_labels: bool = True,
    folds: int = 5,
    steps: int = 12,
    ridge: float = 0.5,
    rounds: tuple[int, ...] = (2, 10),
    seed: int = 0,
) -> Fit:
    """Fits every structure, keeps the one of highest accuracy on hidden labels (then lowest loss), and tries other numbers of rounds.

    Args:
        train: marks `[I]` of the items whose labels may be used; all labelled ones by default.
        use_labels: labels are also evidence: known claims for the trust of their sources.
        folds: parts in which labels are scored while the others are known. steps: L-BFGS iterations. ridge: pull to the
            start, as a sum of squares per labelled item. rounds: numbers of rounds tried for the best structure.

    Raises ValueError where fewer than 2 items are labelled.
    """
    train = table.labelled if train is None else train & table.labelled
    if int(train.sum()) < 2:
        raise ValueError(
            f"{int(train.sum())} labelled items; fitting source trust needs at least 2 (give more truths, or use the default layer)"
        )
    objective = _Objective(table, train, use_labels, folds, seed)
    tried: dict[str, tuple[float, float]] = {}
    best: tuple[tuple[float, float], SourceTrust, Structure] | None = None

    def attempt(structure: Structure, number: int) -> None:
        nonlocal best
        layer = layer_of(structure, number)
        loss = _minimise(layer, structure, objective, steps, ridge)
        with torch.no_grad():
            result = (objective.accuracy(layer), loss)
        tried[f"{structure.name}, {number} rounds"] = result
        rank = (result[0], -result[1])
        if best is None or rank > best[0]:
            best = (rank, layer, structure)

    for structure in structures(table):
        attempt(structure, structure.rounds)
    assert best is not None
    if best[2].rounds > 0:
        for number in rounds:
            attempt(best[2], number)
    return Fit(best[1].requires_grad_(False), best[2], use_labels, tried)


def _minimise(layer: SourceTrust, structure: Structure, objective: _Objective, steps: int, ridge: float) -> float:
    """Fits the learned scalars in place and returns the loss without the ridge."""
    parameters = [getattr(layer, name) for name in structure.learn]
    start = [parameter.detach().clone() for parameter in parameters]
    if parameters and steps > 0:
        optimiser = torch.optim.LBFGS(parameters, max_iter=steps, tolerance_change=ENOUGH, line_search_fn="strong_wolfe")

        def closure() -> Tensor:
            optimiser.zero_grad()
            pull = sum(((parameter - at) ** 2 for parameter, at in zip(parameters, start, strict=True)), torch.zeros(()))
            loss = objective.loss(layer) + ridge / objective.count * pull
            loss.backward()
            return loss

        optimiser.step(closure)  # type: ignore[arg-type]
        if not all(torch.isfinite(parameter).all() for parameter in parameters):
            for parameter, at in zip(parameters, start, strict=True):
                parameter.data.copy_(at)
    with torch.no_grad():
        return float(objective.loss(layer))
