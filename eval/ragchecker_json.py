"""RAGChecker's own files, read and written, so that its tool runs on our output and our metrics on its.

A file holds `results`, one record per question with the texts, the claims as texts or triplets, the labels of the checker and the
metrics as fractions, and `metrics`, the means in percent to one decimal. An input file holds the texts only.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arbgraph.io import InputError, whole_file
from eval.checking import Checked, Response
from eval.metrics.ragchecker import RAGCHECKER, Entailment, ragchecker

_TEXTS = ("query_id", "query", "gt_answer", "response", "retrieved_context")
_CLAIMS = ("response_claims", "gt_answer_claims")
_LABELS = ("answer2response", "response2answer", "retrieved2response", "retrieved2answer")
_NAMES = {"support": "Entailment", "contradict": "Contradiction", "neutral": "Neutral", "partial": "Neutral"}


@dataclass(frozen=True)
class RagRecord:
    """One question of such a file, its values unchanged; `claims`, `labels` and `metrics` are None where the file has none.

    `chunks` are (document id, text).
    """

    query_id: str
    query: str
    gt_answer: str
    response: str
    chunks: tuple[tuple[str, str], ...]
    claims: Mapping[str, Sequence[Any]] | None = None
    labels: Mapping[str, Sequence[Any]] | None = None
    metrics: Mapping[str, float] | None = None

    def entailment(self) -> Entailment | None:
        """The arrays of the metrics, only `Entailment` being true; None without labels."""
        if self.labels is None:
            return None
        return Entailment(**{name: _true(self.labels[name]) for name in _LABELS})

    def to_response(self) -> Response:
        """What `eval.checking` takes, with the file's claims where it has them; a triplet is written as one text."""
        ours, gold = (tuple(map(claim_text, self.claims[name])) if self.claims else None for name in _CLAIMS)
        chunks = tuple(text for _, text in self.chunks)
        return Response(self.query_id, self.query, self.response, self.gt_answer, chunks, response_claims=ours, gold_claims=gold)


def _true(labels: Sequence[Any]) -> list[Any]:
    return [_true(label) if isinstance(label, list) else label == "Entailment" for label in labels]


def claim_text(claim: Any) -> str:
    """A claim, or the parts of a triplet, as one text."""
    return claim if isinstance(claim, str) else " ".join(map(str, claim))


def read_ragchecker(path: str | Path) -> list[RagRecord]:
    """The records of an input or output file. Raises InputError, naming file, record and field."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as JSON: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("results"), list):
        raise InputError(f'{path}: a file of RAGChecker is an object with a list "results"')
    return [_record(row, f"{path}: result {number}") for number, row in enumerate(data["results"], start=1)]


def _record(row: Any, where: str) -> RagRecord:
    try:
        chunks = tuple((str(chunk["doc_id"]), str(chunk["text"])) for chunk in row["retrieved_context"])
        query_id, query, gold, response = (str(row[name]) for name in _TEXTS[:4])
        claims = {name: row[name] for name in _CLAIMS} if row.get(_CLAIMS[0]) is not None else None
        labels = {name: row[name] for name in _LABELS} if row.get(_LABELS[0]) is not None else None
        record = RagRecord(query_id, query, gold, response, chunks, claims, labels, row.get("metrics") or None)
        record.entailment()
    except KeyError as error:
        raise InputError(f"{where}: has no {error}") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{where}: {error}") from None
    return record


def record_of(response: Response, checked: Checked, document_ids: Sequence[str] | None = None) -> RagRecord:
    """A checked answer as a record; without ids the chunks are numbered. Raises ValueError where the judge failed on a cell.

    The judge of RAGChecker knows three labels: what is stated in part is neutral.
    """
    entailment = checked.entailment()
    if entailment is None:
        raise ValueError(f"response {checked.id!r}: the judge failed on {checked.failed} cells; check it again before it is written")
    names = document_ids if document_ids is not None else [f"{place:03d}" for place in range(len(response.chunks))]
    named = {name: [[_NAMES[str(label)] for label in row] for row in checked.matrices[name].labels] for name in _LABELS}
    labels = {name: [row[0] for row in rows] if "retrieved" not in name else rows for name, rows in named.items()}
    claims = {"response_claims": list(checked.response_claims), "gt_answer_claims": list(checked.gold_claims)}
    chunks = tuple(zip(names, response.chunks, strict=True))
    return RagRecord(checked.id, response.query, response.reference, response.text, chunks, claims, labels, ragchecker(entailment))


def overall(metrics: Iterable[Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Means over questions in percent to one decimal, in the three blocks of the tool; empty without questions."""
    rows = list(metrics)
    blocks: dict[str, dict[str, float]] = {}
    for name, metric in RAGCHECKER.items():
        if rows:
            mean = math.fsum(row[name] for row in rows) / len(rows)
            blocks.setdefault(metric.block, {})[name] = round(100 * mean, 1)
    return blocks


def write_ragchecker(path: str | Path, records: Sequence[RagRecord]) -> None:
    """Writes a file that the tool reads: texts, and claims, labels and metrics where the records have them. Raises InputError."""
    results = []
    for record in records:
        context = [{"doc_id": name, "text": text} for name, text in record.chunks]
        texts = (record.query_id, record.query, record.gt_answer, record.response, context)
        found = {**(record.claims or {}), **(record.labels or {}), "metrics": record.metrics}
        results.append(dict(zip(_TEXTS, texts, strict=True)) | {name: value for name, value in found.items() if value is not None})
    means = overall(record.metrics for record in records if record.metrics is not None)
    with whole_file(path) as stream:
        json.dump({"results": results} | ({"metrics": means} if means else {}), stream, indent=1, ensure_ascii=False)
