"""Scores arbitration cases with given claims: `python -m eval.cases --data FILE [--settings NAME|FILE] [--json OUT]`.

A case is `{"id", "query", "documents", "claims": [{"id", "text", "doc_ids", "verdict": valid|invalid|irrelevant}], "contradictions",
"supports", "type"}`. The claims are arbitrated as they stand; a claim counts as predicted when it is validated and as correct
when its verdict is `valid`. Precision, recall and F1 are pooled over the claims of a case type and of all cases; the
interval is a bootstrap over cases, because the claims of one case depend on each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from jsonargparse import auto_cli

from arbgraph.io import BadRecord, InputError, parse_query, read_records, write_json_lines
from arbgraph.schema import RELATION_LABELS, Arbitration, Query, RelationLabel
from eval.metrics.significance import bootstrap_ratio

if TYPE_CHECKING:
    from arbgraph.graph import EvidenceGraph


@dataclass(frozen=True)
class Case:
    """A query with given claims, the verdict of every claim, and the related pairs as annotated."""

    query: Query
    kind: str
    verdicts: dict[str, str]
    relations: dict[frozenset[str], str]


@dataclass(frozen=True)
class Counts:
    """Claims of a case: validated and valid, validated and not valid, valid but not validated."""

    hit: int
    extra: int
    miss: int


def read_cases(path: str) -> list[Case]:
    """Raises InputError, naming the record, when a case does not have the format."""
    cases = []
    for where, record in read_records(path):
        if isinstance(record, BadRecord):
            raise InputError(str(record))
        try:
            claims = [{"id": c["id"], "text": c["text"], "document_ids": c["doc_ids"]} for c in record["claims"]]
            verdicts = {c["id"]: c["verdict"] for c in record["claims"]}
            relations = {frozenset(pair): "contradict" for pair in record["contradictions"]}
            relations |= {frozenset(pair): "support" for pair in record["supports"]}
            kind = record["type"]
        except (KeyError, TypeError) as error:
            raise InputError(f"{where}: not an arbitration case: {error!r}") from None
        query = parse_query({**record, "claims": claims}, where)
        if isinstance(query, BadRecord):
            raise InputError(str(query))
        cases.append(Case(query, kind, verdicts, relations))
    return cases


def count(case: Case, arbitration: Arbitration) -> Counts:
    """Validated claims against `verdict == valid`."""
    validated = {claim.id for claim in arbitration.validated}
    valid = {claim for claim, verdict in case.verdicts.items() if verdict == "valid"}
    return Counts(len(validated & valid), len(validated - valid), len(valid - validated))


def scores(counts: Sequence[Counts]) -> dict[str, float | None]:
    """Precision, recall, F1 pooled over the counts, each in [0, 1]; None where it is undefined."""
    hit, extra, miss = (sum(getattr(c, name) for c in counts) for name in ("hit", "extra", "miss"))
    return {
        "precision": hit / (hit + extra) if hit + extra else None,
        "recall": hit / (hit + miss) if hit + miss else None,
        "f1": 2 * hit / (2 * hit + extra + miss) if hit + extra + miss else None,
    }


def interval(counts: Sequence[Counts]) -> tuple[float, float] | None:
    """95% percentile bootstrap interval of the pooled F1, resampling cases; None where F1 is undefined."""
    hit = torch.tensor([2.0 * c.hit for c in counts])
    found = bootstrap_ratio(hit, hit + torch.tensor([float(c.extra + c.miss) for c in counts]))
    return (found.low, found.high) if found else None


def relation_scores(cases: Sequence[Case], arbitrations: Sequence[Arbitration]) -> dict[str, float | None]:
    """How well the candidate pairs' labels find the annotated contradictions and supports."""
    result: dict[str, float | None] = {}
    for label in (RelationLabel.CONTRADICT, RelationLabel.SUPPORT):
        counts = []
        for case, arbitration in zip(cases, arbitrations, strict=True):
            found = {frozenset((r.a, r.b)) for r in arbitration.relations if r.label == label}
            gold = {pair for pair, kind in case.relations.items() if kind == label}
            counts.append(Counts(len(found & gold), len(found - gold), len(gold - found)))
        result |= {f"{label}_{name}": value for name, value in scores(counts).items()}
    return result


def evaluate(cases: Sequence[Case], arbitrations: Sequence[Arbitration]) -> dict[str, Any]:
    """All numbers: overall, per case type, share of invalid and of irrelevant claims that were validated, relations."""
    counts = [count(case, arbitration) for case, arbitration in zip(cases, arbitrations, strict=True)]
    kinds = sorted({case.kind for case in cases})
    status = [(case.verdicts[claim.id], claim.status) for case, a in zip(cases, arbitrations, strict=True) for claim in a.claims]
    validated = {
        f"{verdict}_validated": sum(s == "validated" for v, s in status if v == verdict) / max(1, sum(v == verdict for v, _ in status))
        for verdict in ("valid", "invalid", "irrelevant")
    }
    everything = [Counts(sum(v == "valid" for v in c.verdicts.values()), sum(v != "valid" for v in c.verdicts.values()), 0) for c in cases]
    return {
        "cases": len(cases),
        "overall": {**scores(counts), "f1_interval": interval(counts)},
        "accept_everything": scores(everything),
        "by_type": {kind: scores([c for c, case in zip(counts, cases, strict=True) if case.kind == kind]) for kind in kinds},
        **validated,
        "relations": relation_scores(cases, arbitrations),
    }


def use_annotated_relations(cases: Sequence[Case], graphs: Sequence[EvidenceGraph], certainty: float = 0.9) -> None:
    """Replaces the verifier's probabilities by the annotation, in place: what a perfect verifier would give."""
    rest = (1 - certainty) / 2
    for case, graph in zip(cases, graphs, strict=True):
        ids = [claim.id for claim in graph.claims]
        for row, (a, b) in enumerate(graph.pair_index.T.tolist()):
            label = case.relations.get(frozenset((ids[a], ids[b])), "neutral")
            graph.relation[row] = rest
            graph.relation[row, RELATION_LABELS.index(label)] = certainty


def main(data: str, settings: str = "default", json: str | None = None, annotated_relations: bool = False) -> None:
    """Arbitrates the cases of a file and prints precision, recall and F1 of the validated claims.

    Args:
        data: cases as JSON lines.
        settings: profile name or YAML file.
        json: also write the numbers to this file.
        annotated_relations: take the annotated relations in place of the verifier's, to tell its errors from the arbitration's.
    """
    from arbgraph.pipeline import ArbGraph

    cases = read_cases(data)
    queries, system = [case.query for case in cases], ArbGraph(settings)
    graphs, diagnostics, failures = system.construct(queries)
    if annotated_relations:
        use_annotated_relations(cases, graphs)
    arbitrations = system.conclude(queries, graphs, diagnostics, failures)
    result = {"settings": settings, "annotated_relations": annotated_relations, **evaluate(cases, arbitrations)}
    if json is not None:
        write_json_lines(json, [result])
    _print(result)


def _print(result: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(
        "case type", "precision", "recall", "F1", title=f"validated claims, {result['cases']} cases, settings {result['settings']}"
    )
    rows = [*result["by_type"].items(), ("all", result["overall"]), ("accept everything", result["accept_everything"])]
    for name, row in rows:
        table.add_row(name, *("-" if row[key] is None else f"{row[key]:.3f}" for key in ("precision", "recall", "f1")))
    console = Console()
    console.print(table)
    if result["overall"]["f1_interval"] is not None:
        low, high = result["overall"]["f1_interval"]
        console.print(f"F1 of all cases, 95% bootstrap interval over cases: {low:.3f} to {high:.3f}")
    shares = ", ".join(f"{name} {result[f'{name}_validated']:.3f}" for name in ("valid", "invalid", "irrelevant"))
    console.print(f"share of claims validated: {shares}")
    relations = result["relations"]
    for label in ("contradict", "support"):
        values = ", ".join(
            f"{name} {relations[f'{label}_{name}']:.3f}"
            for name in ("precision", "recall", "f1")
            if relations[f"{label}_{name}"] is not None
        )
        console.print(f"{label} relations: {values or 'none found'}")


if __name__ == "__main__":
    import sys

    try:
        auto_cli(main, as_positional=False)
    except InputError as error:
        sys.exit(f"error: {error}")
