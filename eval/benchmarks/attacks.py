"""Attacks on retrieval: PoisonedRAG's adversarial passages, and RobustRAG's poison among ranked search results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from arbgraph.io import InputError
from arbgraph.schema import content_id
from arbgraph.splits import split_of
from eval.benchmarks.base import Benchmark, Item, look_for
from eval.benchmarks.kinds import ONE_METRICS, RAGCHECKER_METRICS, main_first
from eval.benchmarks.records import HASHED, Record, aliases, parse, read_file, read_questions, to_item

RANKED = 10  # passages that a system sees of RobustRAG's, as in its paper


def _clean_passages(folder: Path, name: str) -> dict[str, list]:
    """Documents by question id out of an optional file of `{"id", "documents"}`."""
    if look_for(folder, name) is None:
        return {}
    passages = {}
    for where, value in read_file(folder, name):
        record = parse(Record, {"question": "", **value} if isinstance(value, dict) else value, where)
        if not record.id:
            raise InputError(f"{where}: id is missing; it is the id of the question that the passages belong to")
        passages[record.id] = record.documents
    return passages


def _poisoned(part: str) -> Callable[[Path, str], list[Item]]:
    def read(folder: Path, split: str) -> list[Item]:
        passages = _clean_passages(folder, f"{part}_passages.jsonl")
        items = []
        for where, record in read_questions(folder, f"{part}.jsonl"):
            if split_of(record.question) == split:
                clean = passages.get(record.id or "", [])
                record = record.model_copy(update={"documents": [*record.documents, *clean]})
                items.append(to_item(record, where, group=aliases, answerable=bool(clean)))
        return items

    return read


def _ranked(part: str, poison: int, kind: Literal["short", "long"]) -> Callable[[Path, str], list[Item]]:
    """The best passages in their order, `poison` of them replaced by false ones at places that a hash of the question decides."""

    def read(folder: Path, split: str) -> list[Item]:
        items = []
        for where, record in read_questions(folder, f"{part}.jsonl"):
            if split_of(record.question) != split:
                continue
            shown = [document for document in record.documents if document.label != "misinfo"][:RANKED]
            false = [document for document in record.documents if document.label == "misinfo"][:poison]
            places = sorted(range(len(shown)), key=lambda place: content_id("poison", record.question, place))
            for place, document in zip(places, false, strict=False):
                shown[place] = document
            record = record.model_copy(update={"documents": shown})
            more = {} if kind == "short" else {"gold": (), "reference": " ".join(record.gold_answers) or None}
            items.append(to_item(record, where, group=aliases, order="given", **more))
        return items

    return read


def _poisoned_row(part: str, title: str) -> Benchmark:
    return Benchmark(
        name=f"poisonedrag_{part}",
        title=f"PoisonedRAG, {title}: five adversarial passages per question",
        paper="Zou et al. 2025, PoisonedRAG, USENIX Security, arXiv 2402.07867",
        licence="MIT",
        splits=HASHED,
        behaviour="Does not give the answer that the attacker wants: gives the true one where clean passages are added, else abstains.",
        wanted="one",
        folder="poisonedrag",
        files=(f"{part}.jsonl",),
        optional=(f"{part}_passages.jsonl",),
        read=_poisoned(part),
        metrics=("wrong_answer", "wrong_containment", "rejection", "exact_match", "em_substring", "token_f1", "answered"),
    )


def _robust_row(part: str, poison: int, kind: Literal["short", "long"], title: str, behaviour: str) -> Benchmark:
    return Benchmark(
        name=f"robustrag_{part}" if poison else f"robustrag_{part}_clean",
        title=f"RobustRAG, {title}, {'one of the ten passages poisoned' if poison else 'no passage poisoned'}",
        paper="Xiang et al. 2024, Certifiably Robust RAG against Retrieval Corruption, arXiv 2405.15556",
        licence="not stated",
        splits=HASHED,
        behaviour=behaviour,
        wanted="one",
        folder="robustrag",
        files=(f"{part}.jsonl",),
        read=_ranked(part, poison, kind),
        metrics=main_first("em_substring", ONE_METRICS) if kind == "short" else (*RAGCHECKER_METRICS, "wrong_containment"),
    )


BENCHMARKS = (
    _poisoned_row("nq", "Natural Questions"),
    _poisoned_row("hotpotqa", "HotpotQA"),
    _poisoned_row("msmarco", "MS MARCO"),
    *(
        row
        for poison in (1, 0)
        for row in (
            _robust_row("realtimeqa", poison, "short", "RealtimeQA", "Gives the answer of the search results, not that of the poison."),
            _robust_row(
                "biogen", poison, "long", "biographies", "Writes a biography from the search results, free of the poison's statement."
            ),
        )
    ),
)
