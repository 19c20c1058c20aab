"""Contradictions with a known outcome, and the judges that `eval.arbitrator` puts them to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from arbgraph.arbitrator import EvidenceArbitrator, LearnedEvidenceArbitrator
from arbgraph.arbitrator.cases import ArbitrationCase, Statement, cases_of
from arbgraph.arbitrator.causal_lm import CausalArbitrator
from arbgraph.arbitrator.chat import ChatArbitrator
from arbgraph.arbitrator.evidence import FEATURES, evidence_features
from arbgraph.arbitrator.load import load_arbitrator
from arbgraph.arbitrator.records import ArbitrationRecord, outcomes, read_arbitration_records
from arbgraph.chat.load import open_chat
from arbgraph.graph import EvidenceGraph
from arbgraph.io import InputError, read_records
from arbgraph.propagation.edges import Edges, select_edges
from arbgraph.propagation.trace import Arbitrator
from arbgraph.schema import CONTRADICT, PublicationDate, content_id
from arbgraph.settings import Settings, load_settings
from eval.cases import read_cases

UNKNOWN = 2


@dataclass(frozen=True)
class GraphView:
    """One contradiction, `pairs [1]`, inside the evidence graph of its question, for arbitrators that read the graph."""

    graph: EvidenceGraph
    pairs: Tensor
    support: Tensor
    contradiction: Tensor


@dataclass(frozen=True)
class Trials:
    """C contradictions: `outcome [C]` (0 = a, 1 = b, 2 = unknown), type and question of each, and both forms in which they are shown.

    `views` and `cases` hold the same contradictions in the same order.
    """

    name: str
    cases: list[ArbitrationCase]
    outcome: Tensor
    types: list[str]
    questions: list[str]
    views: list[GraphView]


@dataclass(frozen=True)
class Judged:
    """Verdicts `[C, 3]` (NaN where a judge failed) and, of models that read in an order, `[C, 2, 3]` before averaging."""

    verdicts: Tensor
    orders: Tensor | None = None
    about: dict[str, Any] = field(default_factory=dict)


Judge = Callable[[Trials], Judged]


# Data


def load_trials(path: Path, settings: Settings, limit: int | None = None) -> Trials:
    """Contradictions of a file of arbitration records, or of cases with claims and verdicts (as `eval.cases` reads). Raises InputError."""
    for where, first in read_records(path):
        if isinstance(first, dict) and "winner" in first:
            return _of_records(path, limit)
        if isinstance(first, dict) and "contradictions" in first:
            return _of_cases(path, settings, limit)
        raise InputError(f"{where}: neither an arbitration record (winner) nor a case with claims (contradictions)")
    raise InputError(f"{path}: holds no record")


def _of_records(path: Path, limit: int | None) -> Trials:
    records = read_arbitration_records(path)[:limit]
    views = [record_view(record) for record in records]
    return Trials(
        path.name.split(".")[0],
        [record.case for record in records],
        outcomes(records),
        [record.type or "untyped" for record in records],
        [content_id("question", record.query) for record in records],
        views,
    )


def _of_cases(path: Path, settings: Settings, limit: int | None) -> Trials:
    """The annotated contradictions with exactly one valid side; the other pairs and all support edges are the verifier's."""
    from arbgraph.pipeline import ArbGraph

    # Every pair of claims is in the graph, so that no annotated contradiction is missed for its similarity.
    system = ArbGraph(load_settings(settings, tau_q=-1.0, tau_sim=-1.0))
    names = ("tau_q", "tau_sim", "tau_conf", "support_cap", "support_cap_scope")
    given = read_cases(str(path))[:limit]
    graphs, _, _ = system.construct([case.query for case in given])
    cases: list[ArbitrationCase] = []
    outcome, types, questions, views = [], [], [], []
    for case, graph in zip(given, graphs, strict=True):
        edges = select_edges(graph, **{name: getattr(settings, name) for name in names})
        ids = [claim.id for claim in graph.claims]
        pairs, sides = [], []
        for pair, (a, b) in enumerate(graph.pair_index.T.tolist()):
            valid = [case.verdicts[ids[node]] == "valid" for node in (a, b)]
            if case.relations.get(frozenset((ids[a], ids[b]))) == "contradict" and sum(valid) == 1:
                pairs.append(pair)
                sides.append(0 if valid[0] else 1)
        for pair in pairs:
            view = _alone(graph, pair, edges)
            cases += cases_of(graph, view.pairs, view.support)
            views.append(view)
        outcome += sides
        types += [case.kind] * len(pairs)
        questions += [case.query.id] * len(pairs)
    return Trials(path.stem, cases, torch.tensor(outcome), types, questions, views)


def _alone(graph: EvidenceGraph, pair: int, edges: Edges) -> GraphView:
    """One contradiction among the edges that the verifier found. The other annotated ones stay unknown: they would tell who is wrong."""
    chosen = torch.tensor([pair])
    contradiction, support = edges.contradiction.clone(), edges.support.clone()
    contradiction[chosen], support[chosen] = True, False
    return GraphView(graph, chosen, support, contradiction)


def record_view(record: ArbitrationRecord) -> GraphView:
    """A record as a graph of two claims: every group of its statements is a source, and the latest date of a side is its date."""
    sources: dict[object, int] = {}
    index: list[tuple[int, int]] = []
    published = []
    for side, context in enumerate((record.context_a, record.context_b)):
        own = {_group(statement, side, row) for row, statement in enumerate(context)}
        index += sorted({(side, sources.setdefault(group, len(sources))) for group in sorted(own, key=str)})
        dates = [_year(statement.date) for statement in context if statement.date]
        published.append(max((date for date in dates if date is not None), default=torch.nan))
    # A claim that nobody states has a source that nobody shares.
    for side in (0, 1):
        if all(owner != side for owner, _ in index):
            index.append((side, sources.setdefault(("none", side), len(sources))))
    relation = torch.zeros(1, 3, dtype=torch.float64)
    relation[0, CONTRADICT] = 1.0
    graph = EvidenceGraph.build(
        torch.full((2,), 0.5, dtype=torch.float64),
        torch.tensor([[0], [1]]),
        relation,
        source_index=torch.tensor(sorted(index)).T,
        num_sources=len(sources),
        published=torch.tensor(published, dtype=torch.float64),
    )
    return GraphView(graph, torch.tensor([0]), torch.tensor([False]), torch.tensor([True]))


def _group(statement: Statement, side: int, row: int) -> object:
    return statement.group if statement.group is not None else ("own", side, row)


def _year(text: str) -> float | None:
    """A date as a year with its fraction, None where it cannot be read."""
    from pydantic import TypeAdapter, ValidationError

    try:
        date = TypeAdapter(PublicationDate).validate_python(text)
    except ValidationError:
        return None
    return None if date is None else date.year + (date.timetuple().tm_yday - 1) / 365.25


# Judges


def make_judge(name: str) -> Judge:
    """A judge by name, as `eval.arbitrator` lists them. `folds:FOLDER` holds what `train.propagation --fold_arbitrators` writes.

    Raises InputError, CheckpointError or ChatError.
    """
    plain: dict[str, Judge] = {
        "oracle": _oracle,
        "majority": _majority,
        "margin": _margin,
        "relevance": _relevance,
        "fixed": _from_graph(EvidenceArbitrator()),
    }
    if name in plain:
        return plain[name]
    kind, _, chat_name = name.partition(":")
    if kind == "folds" and chat_name:
        return _out_of_fold(Path(chat_name))
    if kind in ("zero-shot", "chat") and chat_name:
        chat = open_chat(chat_name)
        if chat is None:
            raise InputError(f"{name} is no judge; name a chat model")
        return _from_orders(CausalArbitrator(chat)) if kind == "zero-shot" else _from_cases(ChatArbitrator(chat))
    arbitrator = load_arbitrator(name)
    return _from_orders(arbitrator) if isinstance(arbitrator, CausalArbitrator) else _from_graph(arbitrator)


def _from_graph(arbitrator: Arbitrator) -> Judge:
    def judge(trials: Trials) -> Judged:
        rows = [arbitrator.arbitrate(v.graph, v.pairs, v.support, v.contradiction).probabilities for v in trials.views]
        return Judged(torch.cat(rows).double())

    return judge


def _out_of_fold(folder: Path) -> Judge:
    """Every question judged by the arbitrator that was trained without it. Raises InputError on a question of no fold."""
    fold: dict[str, int] = {}
    for where, row in read_records(folder / "folds.jsonl"):
        if not isinstance(row, dict) or not {"question", "fold"} <= set(row):
            raise InputError(f'{where}: expected {{"question", "fold"}}')
        fold[str(row["question"])] = row["fold"]
    arbitrators = {number: LearnedEvidenceArbitrator.load(folder / f"fold-{number}") for number in sorted(set(fold.values()))}

    def judge(trials: Trials) -> Judged:
        lost = [question for question in trials.questions if question not in fold]
        if lost:
            raise InputError(f"{folder / 'folds.jsonl'}: has no question {lost[0]!r}; these folds are of other data than {trials.name}")
        rows = [
            arbitrators[fold[question]].arbitrate(v.graph, v.pairs, v.support, v.contradiction).probabilities
            for question, v in zip(trials.questions, trials.views, strict=True)
        ]
        return Judged(torch.cat(rows).double())

    return judge


def _from_orders(arbitrator: CausalArbitrator) -> Judge:
    def judge(trials: Trials) -> Judged:
        orders = arbitrator.order_scores(trials.cases)
        verdicts = arbitrator.calibration.log_probabilities(orders.mean(1)).exp()
        return Judged(verdicts, orders.exp(), arbitrator.describe())

    return judge


def _from_cases(arbitrator: ChatArbitrator) -> Judge:
    return lambda trials: Judged(arbitrator.decide(trials.cases).probabilities, about=arbitrator.describe())


def _oracle(trials: Trials) -> Judged:
    return Judged(torch.nn.functional.one_hot(trials.outcome, 3).double())


def _majority(trials: Trials) -> Judged:
    """The side with more independent sources, by its share of them; equally many decide nothing."""
    counts = torch.tensor([[_sources(side, row) for row, side in enumerate((c.context_a, c.context_b))] for c in trials.cases])
    share = counts.double() / counts.sum(-1, keepdim=True).clamp(min=1)
    tied = counts[:, 0] == counts[:, 1]
    verdicts = torch.cat([share, torch.zeros(len(share), 1, dtype=torch.float64)], dim=-1)
    verdicts[tied] = torch.tensor([0.0, 0.0, 1.0], dtype=torch.float64)
    return Judged(verdicts)


def _sources(context: Sequence[Statement], side: int) -> int:
    return len({_group(statement, side, row) for row, statement in enumerate(context)})


def _margin(trials: Trials) -> Judged:
    """The side that the verifier's other relations favour: support less contradiction over all its other edges."""
    column = FEATURES.index("margin")
    rows = [evidence_features(v.graph, v.pairs, v.support, v.contradiction).difference[:, column] for v in trials.views]
    first = torch.sigmoid(2 * torch.cat(rows).double())
    return Judged(torch.stack([first, 1 - first, torch.zeros_like(first)], dim=-1))


def _relevance(trials: Trials) -> Judged:
    """The claim that is closer to the query. It says nothing about truth: a judge that it beats has learned how the cases were worded."""
    ends = [v.graph.relevance[v.graph.pair_index[:, v.pairs]] for v in trials.views]
    sides = torch.cat(ends, dim=1).double().T.softmax(-1)
    return Judged(torch.cat([sides, torch.zeros(len(sides), 1, dtype=torch.float64)], dim=-1))
