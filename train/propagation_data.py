"""Labelled evidence graphs as one batch for fitting: what is known of every claim, how much it weighs, and what a good fit is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Batch

from arbgraph.graph import NODE_FIELDS, PAIR_FIELDS, EvidenceGraph
from arbgraph.propagation.credibility import CredibilityPropagation, CredibilityTrace
from arbgraph.schema import NEUTRAL
from arbgraph.settings import load_settings
from eval.metrics.credibility import accepted_set
from eval.metrics.ranking import auroc

# What propagation and the evidence arbitrators read; text and embeddings stay behind.
TENSORS = (*(name for name in NODE_FIELDS if name != "embedding"), *PAIR_FIELDS, "pair_index", "source_index", "label")

DOUBLES = tuple(name for name in TENSORS if name not in ("sources", "pair_index", "source_index"))

RESOLUTION = 0.01


class TrainingDataError(ValueError):
    """Graphs that cannot be learned from; the message names the set or graph and what is missing."""


@dataclass(frozen=True)
class Criterion:
    """What a fit is selected by, better when larger: F1 of the accepted claims among conflicted ones, then their AUROC, then fewer
    rounds. Both are means over the sets, in [0, 1]; differences below `RESOLUTION` are noise and count as ties."""

    f1: float
    auroc: float
    rounds: int

    @property
    def key(self) -> tuple[int, int, int]:
        return (round(self.f1 / RESOLUTION), round(self.auroc / RESOLUTION), -self.rounds)


class LabelledGraphs:
    """Questions with claim labels, from one or several sets.

    Args:
        graphs: with `label [N]`: 1 valid, 0 not, NaN unknown. A pair's `verdict` is kept where it is given.
        sets: name of every graph's set; sets count alike, whatever their size.
        check: whether every set must be one to learn from; held-out parts need not be.

    Raises TrainingDataError where a graph has no label, a label is neither 0, 1 nor NaN, or a set has no labelled claim, labels of one
    class only, or no conflicted labelled claim.
    """

    def __init__(self, graphs: Sequence[EvidenceGraph], sets: Sequence[str] | None = None, *, check: bool = True) -> None:
        if not graphs:
            raise TrainingDataError("there is no graph to learn from")
        self.graphs, self.sets = list(graphs), list(sets or ["graphs"] * len(graphs))
        for number, (graph, name) in enumerate(zip(self.graphs, self.sets, strict=True)):
            _check_label(graph, f"{name}, graph {number} ({graph.get('name') or 'without a name'})")
        names = sorted(set(self.sets))
        self.set_of = torch.tensor([names.index(name) for name in self.sets])[self.batch.batch]
        self.names = names
        for number, name in enumerate(names if check else ()):
            _check_set(self.label[self.set_of == number], self.conflicted[self.set_of == number], name)

    @cached_property
    def batch(self) -> Any:
        """All graphs as one, without text."""
        return Batch.from_data_list([_numbers_only(graph) for graph in self.graphs])

    @property
    def label(self) -> Tensor:
        """`[N]` float64, NaN where unknown."""
        return self.batch.label.double()

    @cached_property
    def known(self) -> Tensor:
        """`[N]` boolean."""
        return ~self.label.isnan()

    @cached_property
    def conflicted(self) -> Tensor:
        """`[N]` boolean: an end of a contradiction edge in force under the `default` profile, whatever thresholds are fitted."""
        edges = CredibilityPropagation.from_settings(load_settings("default")).select_edges(self.batch)
        result = torch.zeros(self.label.numel(), dtype=torch.bool)
        result[self.batch.pair_index[:, edges.contradiction].flatten()] = True
        return result

    def weight(self, conflict_weight: float) -> Tensor:
        """`[N]` float64, sum 1: conflicted claims weigh `conflict_weight` times as much as others; sets weigh alike."""
        raw = torch.where(self.conflicted, conflict_weight, 1.0).double() * self.known
        totals = torch.zeros(len(self.names), dtype=torch.float64).index_add(0, self.set_of, raw)
        return raw / totals[self.set_of] / len(self.names)

    def subset(self, rows: Sequence[int], *, check: bool = True) -> LabelledGraphs:
        """Some of the questions, in the given order."""
        graphs, sets = [self.graphs[i] for i in rows], [self.sets[i] for i in rows]
        return LabelledGraphs(graphs, sets, check=check)

    def folds(self, count: int, seed: int) -> list[list[int]]:
        """Disjoint parts of the questions, each set spread evenly over them. Raises TrainingDataError when a set is too small."""
        generator = torch.Generator().manual_seed(seed)
        parts: list[list[int]] = [[] for _ in range(count)]
        for name in self.names:
            rows = [row for row, other in enumerate(self.sets) if other == name]
            if len(rows) < count:
                raise TrainingDataError(f"set {name}: {len(rows)} questions do not fill {count} folds; use fewer folds")
            for place, i in enumerate(torch.randperm(len(rows), generator=generator).tolist()):
                parts[place % count].append(rows[i])
        return [sorted(part) for part in parts]

    def criterion(self, trace: CredibilityTrace, rounds: int) -> Criterion:
        """How good a trace is on the conflicted claims with a label."""
        f1, areas = [], []
        for number in range(len(self.names)):
            rows = self.known & self.conflicted & (self.set_of == number)
            valid = self.label[rows] == 1
            f1.append(accepted_set(trace.accepted[rows], valid)["f1"] or 0.0)
            areas.append(auroc(trace.p[rows].detach(), valid) or 0.5)
        return Criterion(sum(f1) / len(f1), sum(areas) / len(areas), rounds)


def _numbers_only(graph: EvidenceGraph) -> EvidenceGraph:
    """The graph without text and without the pairs that no threshold turns into an edge: those that are most probably neutral."""
    edge = graph.relation.argmax(-1) != NEUTRAL
    if missing := [name for name in TENSORS if name not in graph]:
        raise TrainingDataError(f"graph {graph.get('name') or ''}: has no {missing[0]}; build the graph set again with this version")
    fields = {name: graph[name][edge] if name in PAIR_FIELDS else graph[name] for name in TENSORS}
    fields["pair_index"] = graph.pair_index[:, edge]
    # Graphs of several files share a batch, so their fields share a type.
    fields |= {name: fields[name].double() for name in DOUBLES}
    return EvidenceGraph(num_nodes=graph.prior.numel(), num_sources=int(graph.num_sources), **fields)


def _check_label(graph: EvidenceGraph, where: str) -> None:
    label = graph.get("label")
    if label is None:
        raise TrainingDataError(f"{where}: has no label; give every claim 1, 0 or NaN")
    if label.shape != graph.prior.shape:
        raise TrainingDataError(f"{where}: label has {label.numel()} entries for {graph.prior.numel()} claims")
    bad = ~((label == 0) | (label == 1) | label.isnan())
    if bad.any():
        row = int(bad.nonzero()[0])
        raise TrainingDataError(f"{where}: label[{row}] is {float(label[row])}; a label is 1, 0 or NaN")


def _check_set(label: Tensor, conflicted: Tensor, name: str) -> None:
    known = ~label.isnan()
    if not known.any():
        raise TrainingDataError(f"set {name}: no claim has a label; there is nothing to learn from")
    classes = sorted(set(label[known].tolist()))
    if len(classes) == 1:
        raise TrainingDataError(f"set {name}: every labelled claim is {int(classes[0])}; both classes are needed")
    if not conflicted.any():
        raise TrainingDataError(
            f"set {name}: no contradiction is in force under the default profile, so there is no conflict to learn from"
        )
    if not (conflicted & known).any():
        raise TrainingDataError(f"set {name}: no conflicted claim has a label; label the claims that contradict each other")
