"""What `eval.propagation` measures: labelled graph sets, and named systems that score their claims."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Batch

from arbgraph.arbitrator import EvidenceArbitrator, LearnedEvidenceArbitrator
from arbgraph.checkpoint import CheckpointError
from arbgraph.graph import EvidenceGraph
from arbgraph.graphset import GraphSetError, load_graphs
from arbgraph.io import BadRecord, InputError, read_records
from arbgraph.propagation import PROPAGATIONS, propagation_class
from arbgraph.propagation.credibility import CredibilityPropagation
from arbgraph.propagation.edges import select_edges
from arbgraph.propagation.fitted import load_propagation
from arbgraph.propagation.trace import Arbitrator
from arbgraph.settings import PROFILES, Settings, load_settings
from eval.metrics.credibility import Scored, accepted_set

_TEXT = ("claims", "documents", "query", "name", "embedding", "document_group")  # what no propagation reads


@dataclass(frozen=True)
class GraphSet:
    """A labelled graph set as one batch."""

    name: str
    graphs: list[EvidenceGraph]

    @classmethod
    def load(cls, path: str | Path) -> GraphSet:
        """Raises GraphSetError on a bad file, or where no claim has a label."""
        graphs = load_graphs(path)
        if not graphs or not all("label" in graph for graph in graphs):
            raise GraphSetError(f"{path}: {'graphs without' if graphs else 'no graph, and no'} labels; build it with eval.graphs")
        result = cls(Path(path).stem, graphs)
        if not result.known.any():
            raise GraphSetError(f"{path}: no claim has a label; build it with eval.graphs")
        return result

    @cached_property
    def batch(self) -> Any:
        """All graphs, without text."""
        return Batch.from_data_list(list(self.graphs), exclude_keys=list(_TEXT))

    @cached_property
    def known(self) -> Tensor:
        """`[N]` boolean: the claim has a label."""
        return ~self.batch.label.isnan()

    @cached_property
    def contradictions(self) -> Tensor:
        """`[2, C]`: the contradiction edges in force under the `default` profile."""
        options = load_settings("default")
        names = ("tau_q", "tau_sim", "tau_conf", "support_cap", "support_cap_scope")
        edges = select_edges(self.batch, **{name: getattr(options, name) for name in names})
        return self.batch.pair_index[:, edges.contradiction]

    @cached_property
    def conflicted(self) -> Tensor:
        """`[N]` boolean: an end of such an edge, with a label."""
        ends = torch.zeros_like(self.known)
        ends[self.contradictions.flatten()] = True
        return ends & self.known

    def edge_counts(self) -> dict[str, int]:
        """How many contradictions are in force, and how many of them join claims of which labels: what a perfect arbitrator could use."""
        labels = self.batch.label[self.contradictions]
        valid = labels[:, ~labels.isnan().any(0)].sum(0)
        names = ("two_invalid", "valid_and_invalid", "two_valid")
        return {"in_force": labels.shape[1], **{name: int((valid == number).sum()) for number, name in enumerate(names)}}

    def scope(self, name: str) -> Tensor:
        return self.conflicted if name == "conflicted" else self.known


@dataclass(frozen=True)
class Output:
    """One system on a set: `score [N]`, `accepted [N]`, `settled [B]` (empty where the system does not iterate), its tau_accept."""

    score: Tensor
    accepted: Tensor
    settled: Tensor
    tau_accept: float | None = None

    def scored(self, data: GraphSet, scope: str) -> Scored:
        """The labelled claims of a scope, questions without any left out."""
        rows = data.scope(scope)
        question = torch.unique(data.batch.batch[rows], return_inverse=True)[1]
        return Scored(self.score[rows].double(), self.accepted[rows], data.batch.label[rows].double(), question)


@dataclass(frozen=True)
class System:
    """A named way to score a set; `run(data, tau_accept)` with None for the system's own threshold.

    `tunable`: the threshold may be chosen on a dev set; `reruns`: it changes the scores too, so every candidate needs a run.
    """

    name: str
    run: Callable[[GraphSet, float | None], Output]
    tunable: bool = False
    reruns: bool = False

    def tuned(self, data: GraphSet | None, folds: int = 0, seed: int = 0) -> System:
        """The system with the tau_accept that has the best F1 on the conflicted claims of `data`, or, without it, out of fold."""
        if data is None:
            return System(self.tuned_name, lambda other, _: out_of_fold(self, other, folds, seed))
        tau = tune_threshold(self, data)
        return System(self.tuned_name, lambda other, _: self.run(other, tau))

    @property
    def tuned_name(self) -> str:
        return f"{self.name}, tuned" if self.reruns else self.name


def tune_threshold(system: System, data: GraphSet) -> float:
    """tau_accept with the best F1 on the conflicted claims: 0, 1, and the middles between neighbouring scores are tried.

    Where the threshold changes the scores too, the system runs anew for each, and multiples of 0.05 and the middles of the run
    without a threshold are tried as well. Of equally good ones the lowest is taken, which rejects least.
    """
    rows = data.conflicted
    if not rows.any():
        raise InputError(f"{data.name}: has no conflicted claim with a label, so tau_accept cannot be tuned on it; give another set")
    everything = system.run(data, 0.0)
    candidates = {0.0, 1.0, *_middles(everything.score[rows])}
    if system.reruns:
        candidates |= {i / 20 for i in range(21)} | set(_middles(system.run(data, None).score[rows]))
    best = (-1.0, 0.0)
    for tau in sorted(candidates):
        accepted = system.run(data, tau).accepted if system.reruns else everything.accepted & (everything.score >= tau)
        f1 = accepted_set(accepted[rows], data.batch.label[rows])["f1"]
        best = max(best, (f1 or 0.0, tau), key=lambda found: found[0])
    return best[1]


def _middles(scores: Tensor) -> list[float]:
    ordered = torch.unique(scores.double())
    return ((ordered[1:] + ordered[:-1]) / 2).tolist()


def out_of_fold(system: System, data: GraphSet, folds: int, seed: int) -> Output:
    """The system on every fold of questions with the tau_accept tuned on the other folds. Raises InputError on too few questions."""
    if not 2 <= folds <= len(data.graphs):
        raise InputError(
            f"{data.name}: {len(data.graphs)} questions cannot be cut into {folds} folds; give 2 or more, and no more than that"
        )
    order = torch.randperm(len(data.graphs), generator=torch.Generator().manual_seed(seed)).tolist()
    whole = system.run(data, None)
    score, accepted = whole.score.clone(), whole.accepted.clone()
    settled = whole.settled.clone()
    for fold in range(folds):
        held = sorted(order[fold::folds])
        rest = GraphSet(data.name, [data.graphs[i] for i in range(len(data.graphs)) if i not in held])
        output = system.run(GraphSet(data.name, [data.graphs[i] for i in held]), tune_threshold(system, rest))
        rows = torch.isin(data.batch.batch, torch.tensor(held))
        score[rows], accepted[rows], settled[held] = output.score, output.accepted, output.settled
    return Output(score, accepted, settled)


def layer_system(
    name: str,
    make: Callable[[float | None], Any],
    arbitrator: Arbitrator,
    *,
    tunable: bool,
    reruns: bool,
    prior: CredibilityPropagation | None = None,
) -> System:
    """A system of a propagation layer; `make(tau_accept)` builds the layer, `prior` gives the claims another start."""

    @torch.no_grad()
    def run(data: GraphSet, tau: float | None) -> Output:
        layer, batch = make(tau), copy.copy(data.batch)
        if prior is not None:
            batch.prior = torch.sigmoid(prior.start(batch))
        trace = layer(batch, arbitrator)
        return Output(trace.p, trace.accepted, trace.converged, float(layer.tau_accept))

    return System(name, run, tunable, reruns)


def accept_all(data: GraphSet, tau: float | None) -> Output:
    """Every claim accepted, with its prior as the score."""
    prior = data.batch.prior
    return Output(prior, torch.ones_like(prior, dtype=torch.bool), torch.zeros(0, dtype=torch.bool))


def score_file(path: Path) -> System:
    """A system whose scores were computed elsewhere. Raises InputError, naming the line, on a bad or missing row."""
    table: dict[tuple[str, str], tuple[float, bool]] = {}
    for where, row in read_records(path):
        if isinstance(row, BadRecord):
            raise InputError(str(row))
        try:
            score, accepted = float(row["score"]), row["accepted"]
            table[str(row["question"]), str(row["claim"])] = score, accepted
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f'{where}: expected {{"question", "claim", "score", "accepted"}}, got {str(row)[:80]} ({error!r})') from None
        if not 0 <= score <= 1 or not isinstance(accepted, bool):
            raise InputError(f"{where}: score {score} with accepted {accepted!r}; a score lies in [0, 1], accepted is true or false")

    def run(data: GraphSet, tau: float | None) -> Output:
        found = [table.get((question, claim), table.get((question, row))) for question, claim, row in claim_keys(data)]
        missing = [number for number, value in enumerate(found) if value is None and data.known[number]]
        if missing:
            question, claim, _ = claim_keys(data)[missing[0]]
            what = f"{len(missing)} labelled claims of {data.name} have no score"
            raise InputError(f"{path}: {what}, the first is claim {claim!r} of question {question!r}; add a line for each")
        values = [value or (0.0, False) for value in found]
        score = torch.tensor([score for score, _ in values], dtype=torch.float64)
        return Output(score, torch.tensor([accepted for _, accepted in values]), torch.zeros(0, dtype=torch.bool))

    return System(path.stem, run)


def claim_keys(data: GraphSet) -> list[tuple[str, str, str]]:
    """(question, claim id, row) of every claim of a set; where there are no claim texts, the row is the id."""
    keys = []
    for number, graph in enumerate(data.graphs):
        rows = [str(row) for row in range(graph.prior.numel())]
        ids = [claim.id for claim in graph.claims] if "claims" in graph else rows
        keys += [(str(graph.get("name", number)), claim, row) for claim, row in zip(ids, rows, strict=True)]
    return keys


def load_arbitrator(name: str) -> Arbitrator:
    """`fixed`, or a checkpoint of a learned evidence arbitrator."""
    return EvidenceArbitrator() if name == "fixed" else LearnedEvidenceArbitrator.load(name)


def make_systems(names: Sequence[str], settings: Settings, arbitrator: str = "fixed", prior: str | None = None) -> list[System]:
    """The systems named on the command line, `all` replaced. Raises ValueError, SettingsError, CheckpointError or InputError."""
    systems: list[System] = []
    for name in names:
        if name == "all":
            names_of_all = [*PROFILES, "accept_all", *(rival for rival in PROPAGATIONS if rival != "arbgraph")]
            systems += make_systems(names_of_all, settings, arbitrator, prior)
        else:
            systems.append(_system(name, settings, arbitrator, prior))
    repeated = sorted({s.name for s in systems if sum(s.name == other.name for other in systems) > 1})
    if repeated:
        raise InputError(f"system {repeated[0]!r} is named twice; name every system once")
    return systems


def _system(name: str, settings: Settings, arbitrator: str, prior: str | None) -> System:
    base, _, own = name.partition("@")
    if base == "accept_all":
        return System(name, accept_all)
    if Path(base).suffix == ".jsonl":
        return score_file(Path(base))
    judge = load_arbitrator(own or arbitrator)
    if base in PROFILES or Path(base).suffix in (".yaml", ".yml"):
        profile = load_settings(base)
        return layer_system(name, lambda t: CredibilityPropagation.from_settings(_with(profile, t)), judge, tunable=True, reruns=True)
    if base in PROPAGATIONS:
        kind, reruns = propagation_class(base), base == "arbgraph"
        start = load_propagation(prior) if prior and not reruns else None
        return layer_system(name, lambda t: kind.from_settings(_with(settings, t)), judge, tunable=True, reruns=reruns, prior=start)
    try:
        layer = load_propagation(base)
    except CheckpointError as error:
        if Path(base).exists():
            raise
        known = ", ".join(("all", *PROFILES, "accept_all", *PROPAGATIONS))
        raise InputError(f"system {base!r}: neither one of {known}, nor a file or checkpoint ({error})") from None
    label = Path(base).name + (f"@{Path(own).name}" if own else "")
    return layer_system(label, lambda t: _accepting_from(layer, t), judge, tunable=True, reruns=True)


def _accepting_from(layer: CredibilityPropagation, tau_accept: float | None) -> CredibilityPropagation:
    if tau_accept is None:
        return layer
    other = copy.deepcopy(layer)
    with torch.no_grad():
        other.tau_accept.fill_(tau_accept)
    return other


def _with(settings: Settings, tau_accept: float | None) -> Settings:
    return settings if tau_accept is None else load_settings(settings, tau_accept=tau_accept)
