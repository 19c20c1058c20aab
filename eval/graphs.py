"""Builds labelled evidence graphs once, for every later sweep: `python -m eval.graphs --set ramdocs --data DIR --split dev --out FILE`.

A label says whether a claim is valid: 1, 0, or NaN where nothing is known.

- ramdocs: a claim that carries the answer of a document that states it takes the type of that document, correct 1 and misinfo 0.
  Noise documents are left out. A claim without an answer, or with those of a correct and of a misinfo document, has NaN.
- arbcases: the claims are given; 1 where the verdict is `valid`, else 0, as in `eval.cases`.

A killed run continues: every finished question stands in `FILE.parts/` until the set is complete.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
from jsonargparse import auto_cli
from torch import Tensor

from arbgraph.graph import EvidenceGraph
from arbgraph.graphset import GraphSetError, graph_set_metadata, load_graphs, save_graphs
from arbgraph.io import BadRecord, InputError, parse_query, read_records
from arbgraph.models import ModelNotFoundError
from arbgraph.schema import Claim, Query, content_id
from arbgraph.settings import Settings, SettingsError, load_settings
from eval.cases import read_cases

SetName = Literal["ramdocs", "arbcases"]
SPLITS = ("dev", "test")

_WORD = re.compile(r"\w+")
_ARTICLES = frozenset(("a", "an", "the"))
_TYPES = {"correct": 1.0, "misinfo": 0.0}


@dataclass(frozen=True)
class LabelledQuery:
    """A query and what its claims are labelled from: the type and answer of its documents, or the verdicts of its claims."""

    query: Query
    answers: dict[str, tuple[str, str]] = field(default_factory=dict)
    verdicts: dict[str, str] = field(default_factory=dict)

    def label(self, claims: Sequence[Claim]) -> tuple[Tensor, Counter[str]]:
        """Labels `[N]` float64, and why: how many claims were labelled, and how many were not, by reason."""
        pairs = [self._verdict(claim) if self.verdicts else self._from_documents(claim) for claim in claims]
        return torch.tensor([value for value, _ in pairs], dtype=torch.float64), Counter(reason for _, reason in pairs)

    def _verdict(self, claim: Claim) -> tuple[float, str]:
        verdict = self.verdicts[claim.id]
        return float(verdict == "valid"), verdict

    def _from_documents(self, claim: Claim) -> tuple[float, str]:
        stated = [self.answers[document] for document in claim.document_ids]
        known = [(_TYPES[kind], answer) for kind, answer in stated if kind in _TYPES]
        if not known:
            return torch.nan, "only in noise documents"
        values = {value for value, answer in known if carries(claim.text, answer)}
        if len(values) != 1:
            return torch.nan, "answers of a correct and a misinfo document" if values else "without an answer"
        value = values.pop()
        return value, "correct" if value else "misinfo"


def carries(text: str, answer: str) -> bool:
    """Whether the words of the answer occur in the text, in order and unbroken; case, punctuation and articles do not count."""
    words, wanted = _words(text), _words(answer)
    return bool(wanted) and any(words[i : i + len(wanted)] == wanted for i in range(len(words) - len(wanted) + 1))


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.casefold()) if word not in _ARTICLES]


def read_ramdocs(folder: Path, split: str) -> list[LabelledQuery]:
    """The questions of a split, from `data.jsonl[.gz]` and `splits.json`. Raises InputError, naming the record."""
    data = next((file for file in (folder / "data.jsonl.gz", folder / "data.jsonl") if file.is_file()), None)
    if data is None:
        raise InputError(f"{folder}: holds no data.jsonl.gz; give the folder of the ramdocs data")
    ((_, splits),) = read_records(folder / "splits.json")
    records = list(read_records(data))
    try:
        chosen = [records[row] for row in splits[split]]
    except (KeyError, IndexError, TypeError) as error:
        raise InputError(f"{folder / 'splits.json'}: has no split {split!r} of {data.name} ({error})") from None
    return [_ramdocs_query(record, where) for where, record in chosen]


def _ramdocs_query(record: Any, where: str) -> LabelledQuery:
    if isinstance(record, BadRecord):
        raise InputError(str(record))
    query = parse_query(record, where)
    if isinstance(query, BadRecord):
        raise InputError(str(query))
    try:
        answers = {d["id"]: (d.get("type", d.get("label")), d["answer"]) for d in record["documents"]}
    except KeyError as error:
        raise InputError(f"{where}: a document has no {error}; expected id, text, label and answer") from None
    wrong = sorted({str(kind) for kind, _ in answers.values()} - {*_TYPES, "noise"})
    if wrong:
        raise InputError(f"{where}: document type {wrong[0]!r}; expected correct, misinfo or noise")
    return LabelledQuery(query, answers=answers)


def read_arbcases(folder: Path, split: str) -> list[LabelledQuery]:
    """The cases of `SPLIT.jsonl`. Raises InputError as `eval.cases.read_cases` does."""
    return [LabelledQuery(case.query, verdicts=case.verdicts) for case in read_cases(str(folder / f"{split}.jsonl"))]


READERS = {"ramdocs": read_ramdocs, "arbcases": read_arbcases}


def data_digest(queries: Sequence[LabelledQuery]) -> str:
    """SHA-256 over the queries, documents, given claims and labels' sources, in order."""
    text = "\x1e".join(f"{q.query.id}\x1f{q.query.digest}\x1f{sorted(q.answers.items())}\x1f{sorted(q.verdicts.items())}" for q in queries)
    return hashlib.sha256(text.encode()).hexdigest()


def build(
    queries: Sequence[LabelledQuery], settings: Settings, out: Path, about: dict[str, Any], *, system: Any = None
) -> tuple[list[EvidenceGraph], dict[str, Any]]:
    """Builds the graphs that `FILE.parts/` does not hold yet, writes the whole set and removes the parts.

    Args:
        queries: what to build, in order.
        settings: of the pipeline; its tau_q and tau_sim are the floors of every later sweep.
        out: the file.
        about: goes into the metadata of the set.
        system: an `ArbGraph` with these settings; made here when missing.

    Returns the graphs and the metadata. Raises InputError when the parts belong to other data, settings or models.
    """
    from rich.progress import track

    from arbgraph.pipeline import ArbGraph

    system = system or ArbGraph(settings)
    made_by = {**about, "data_sha256": data_digest(queries), "settings": settings.model_dump(mode="json"), "models": system.models}
    made_by["verifier"] = system.verifier.describe()
    key = content_id("graph part", *(f"{name}={value}" for name, value in sorted(made_by.items())))
    parts = out.with_name(out.name + ".parts")
    graphs, diagnostics = [], []
    for number, item in enumerate(track(queries, description=out.stem)):
        graph, counts = _part(parts / f"{number:05d}.safetensors", item, system, key)
        graphs.append(graph)
        diagnostics.append(counts)
    metadata = {**made_by, "counts": total(diagnostics)}
    save_graphs(graphs, out, metadata)
    shutil.rmtree(parts, ignore_errors=True)
    return graphs, metadata


def _part(path: Path, item: LabelledQuery, system: Any, key: str) -> tuple[EvidenceGraph, dict[str, Any]]:
    if path.is_file():
        about = graph_set_metadata(path)
        if about["key"] != key:
            raise InputError(f"{path.parent}: an unfinished build of other data, settings or models; remove the folder or change --out")
        return load_graphs(path)[0], about["counts"]
    (graph,), (diagnostics,), (failures,) = system.construct([item.query])
    graph.label, reasons = item.label(graph.claims)
    graph.name = item.query.id
    counts = {
        "claims": len(graph.claims),
        "documents": len(graph.documents),
        "candidate_pairs": graph.num_pairs,
        "labels": dict(reasons),
        "failures": len(failures),
        **{name: diagnostics[name] for name in ("extraction", "merged", "merge_vetoes") if name in diagnostics},
    }
    save_graphs([graph], path, {"key": key, "counts": counts})
    return graph, counts


def total(counts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The sum of nested counts, with the number of questions and how many have claims of both labels."""
    result: dict[str, Any] = {"questions": len(counts)}
    for one in counts:
        _add(result, one)
    return result


def _add(into: dict[str, Any], counts: dict[str, Any]) -> None:
    for name, value in counts.items():
        if isinstance(value, dict):
            _add(into.setdefault(name, {}), value)
        else:
            into[name] = into.get(name, 0) + value


def main(
    set: SetName,
    data: Path,
    split: Literal["dev", "test"],
    out: Path,
    limit: int | None = None,
    settings: str = "default",
    tau_q: float = 0.2,
    tau_sim: float = 0.45,
) -> None:
    """Builds the evidence graphs of a labelled set and writes them to one file.

    Args:
        set: which kind of data the folder holds.
        data: folder of the data.
        split: which questions.
        out: graph set to write (.safetensors).
        limit: only the first questions.
        settings: profile name or YAML file.
        tau_q: relevance from which pairs are kept, whatever the settings say; a sweep can go down to here.
        tau_sim: similarity from which pairs are kept, likewise.
    """
    queries = READERS[set](data, split)[:limit]
    options = load_settings(settings)
    options = load_settings(options, tau_q=min(tau_q, options.tau_q), tau_sim=min(tau_sim, options.tau_sim))
    _, metadata = build(queries, options, out, {"set": set, "split": split, "limit": limit})
    _print(metadata["counts"], out)


def _print(counts: dict[str, Any], out: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("what", "count", title=str(out))
    for name in ("questions", "documents", "claims", "candidate_pairs", "failures"):
        table.add_row(name.replace("_", " "), f"{counts.get(name, 0):,}")
    for name, value in sorted(counts.get("labels", {}).items()):
        table.add_row(f"claims: {name}", f"{value:,}")
    Console().print(table)


if __name__ == "__main__":
    import sys

    try:
        auto_cli(main, as_positional=False)
    except (InputError, GraphSetError, SettingsError, ModelNotFoundError) as error:
        sys.exit(f"error: {error}")
