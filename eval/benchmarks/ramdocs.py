"""RAMDocs: ambiguous questions whose documents hold several right answers, misinformation and noise; and its amplified derivative."""

from __future__ import annotations

from pathlib import Path

from arbgraph.io import InputError
from eval.benchmarks.base import Benchmark, Item
from eval.benchmarks.kinds import LIST_METRICS
from eval.benchmarks.records import each, read_file, read_questions, to_item

BEHAVIOUR = "Gives the answer of every entity that the name may stand for, and no answer that misinformation asserts."


def read_ramdocs(folder: Path, split: str) -> list[Item]:
    """`data.jsonl` in its published form or as question records; `splits.json` lists record numbers from 0 by split."""
    [(where, splits)] = read_file(folder, "splits.json")
    if not isinstance(splits, dict) or not all(isinstance(splits.get(name), list) for name in ("dev", "test")):
        raise InputError(f'{where}: expected {{"dev": [numbers], "test": [numbers]}}, counted from 0 over the lines of data.jsonl')
    chosen = set(splits[split])
    records = list(enumerate(read_questions(folder, "data.jsonl")))
    if beyond := sorted(chosen - {number for number, _ in records}):
        raise InputError(f"{where}: {split} names record {beyond[0]}, but data.jsonl holds {len(records)}")
    return [to_item(record, where, group=each) for number, (where, record) in records if number in chosen]


def read_amplified(folder: Path, split: str) -> list[Item]:
    """`data.jsonl` as question records; `meta.split` is the split of the RAMDocs question that a record derives from."""
    items = []
    for where, record in read_questions(folder, "data.jsonl"):
        if "split" not in record.meta:
            raise InputError(f"{where}: meta.split is missing; it is the split of the RAMDocs question: dev or test")
        if record.meta["split"] == split:
            items.append(to_item(record, where, group=each))
    return items


BENCHMARKS = (
    Benchmark(
        name="ramdocs",
        title="RAMDocs: ambiguity, misinformation and noise",
        paper="Wang et al. 2025, Retrieval-Augmented Generation with Conflicting Evidence, arXiv 2504.13079",
        licence="MIT",
        splits=("dev", "test"),
        behaviour=BEHAVIOUR,
        wanted="all",
        folder="ramdocs",
        files=("data.jsonl", "splits.json"),
        read=read_ramdocs,
        metrics=LIST_METRICS,
    ),
    Benchmark(
        name="ramdocs_amplified",
        title="RAMDocs with eight paraphrased copies of the misinformation",
        paper="no paper of its own; derived from Wang et al. 2025, arXiv 2504.13079",
        licence="not stated (RAMDocs: MIT)",
        splits=("dev", "test"),
        behaviour=f"{BEHAVIOUR} Copies are one source, however many there are.",
        wanted="all",
        folder="ramdocs_amplified",
        files=("data.jsonl",),
        read=read_amplified,
        metrics=LIST_METRICS,
    ),
)
