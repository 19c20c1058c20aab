"""Records from decision logs: what any arbitrator decided, with the evidence that it had (`arbgraph arbitrate --json FILE`)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import torch
from pydantic import ValidationError

from arbgraph.arbitrator.cases import cases_of
from arbgraph.arbitrator.records import ArbitrationRecord, Winner
from arbgraph.graph import EvidenceGraph
from arbgraph.io import BadRecord, InputError, read_records
from arbgraph.schema import Arbitration, Decision, Document, RelationLabel


def distilled(path: str | Path, *, confidence: float = 0.6, doubt: float = 0.5) -> tuple[list[ArbitrationRecord], Counter[str]]:
    """A record for every contradiction that a log decides, and what was left out.

    The last decision on a pair counts. It names a winner from `confidence` on; an abstention is `unknown` from `doubt` on; what lies
    between is left out, because it would teach the teacher's guesses. Raises InputError, naming the line, on a file that is no log.
    """
    records, counts = [], Counter[str]()
    for where, value in read_records(path):
        if isinstance(value, BadRecord):
            raise InputError(str(value))
        try:
            arbitration = Arbitration.model_validate(value)
        except ValidationError as error:
            first = error.errors()[0]
            raise InputError(f"{where}: not an arbitration: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
        last = {(decision.a, decision.b): decision for decision in sorted(arbitration.decisions, key=lambda d: d.round)}
        chosen = []
        for decision in last.values():
            if decision.confidence < (doubt if decision.winner is None else confidence):
                counts["unsure"] += 1
            else:
                chosen.append(decision)
        counts["records"] += len(chosen)
        records += _records(arbitration, chosen)
    return records, counts


def _records(arbitration: Arbitration, decisions: list[Decision]) -> list[ArbitrationRecord]:
    if not decisions:
        return []
    numbers = {claim.id: number for number, claim in enumerate(arbitration.claims)}
    relations = {frozenset((relation.a, relation.b)): relation for relation in arbitration.relations}
    graph = _graph(arbitration, numbers, decisions)
    rows = {frozenset(pair): row for row, pair in enumerate(graph.pair_index.T.tolist())}
    support = torch.zeros(graph.num_pairs, dtype=torch.bool)
    for pair, relation in relations.items():
        support[rows[frozenset(numbers[claim] for claim in pair)]] = relation.label == RelationLabel.SUPPORT
    made = []
    for decision in decisions:
        row = rows[frozenset((numbers[decision.a], numbers[decision.b]))]
        (case,) = cases_of(graph, torch.tensor([row]), support)
        first = arbitration.claims[int(graph.pair_index[0, row])].id
        winner: Winner = "unknown" if decision.winner is None else "a" if decision.winner == first else "b"
        shown = case.model_dump(exclude={"left_out_a", "left_out_b"})
        made.append(ArbitrationRecord(**shown, winner=winner, type="distilled", origin="decisions"))
    return made


def _graph(arbitration: Arbitration, numbers: dict[str, int], decisions: list[Decision]) -> EvidenceGraph:
    """What `cases_of` reads of a graph: claims, their documents, and the pairs with their similarity."""
    pairs = {(min(numbers[r.a], numbers[r.b]), max(numbers[r.a], numbers[r.b])): r.similarity for r in arbitration.relations}
    for decision in decisions:
        a, b = sorted((numbers[decision.a], numbers[decision.b]))
        pairs.setdefault((a, b), 0.0)
    index = torch.tensor(sorted(pairs)).T
    return EvidenceGraph.build(
        torch.full((len(numbers),), 0.5),
        index,
        torch.full((index.shape[1], 3), 1 / 3),
        similarity=torch.tensor([pairs[pair] for pair in sorted(pairs)]),
        claims=list(arbitration.claims),
        # A log has no document texts, and none is needed: what a document said of a claim is in the claim's quotes.
        documents=[Document(id=d.id, text=d.id, title=d.title, source=d.source, published=d.published) for d in arbitration.documents],
        document_group=torch.tensor([d.source_group for d in arbitration.documents]),
        query=arbitration.query,
    )
