"""WikiContradict: real contradictions in Wikipedia, annotated by hand; both sides are to be reported."""

from __future__ import annotations

import re
from pathlib import Path

from arbgraph.splits import split_of
from eval.benchmarks.base import Benchmark, Item
from eval.benchmarks.kinds import LIST_METRICS, main_first
from eval.benchmarks.records import HASHED, each, read_questions, to_item

# Tags of Wikipedia's editors say outright that a passage is disputed.
TAGS = re.compile(r"\s*\[(?:inconsistent|contradictory|disputed|dubious|clarification needed|citation needed)[^\]]*\]", re.IGNORECASE)


def read_wikicontradict(folder: Path, split: str) -> list[Item]:
    """Questions on one contradiction share their passages, so they share a split: that of the first of them."""
    records = list(read_questions(folder, "data.jsonl"))
    first: dict[str, str] = {}
    for _, record in records:
        first.setdefault(str(record.meta.get("contradiction", record.question)), record.question)
    chosen = [
        (where, record) for where, record in records if split_of(first[str(record.meta.get("contradiction", record.question))]) == split
    ]
    return [to_item(record, where, group=each, clean=lambda text: TAGS.sub("", text)) for where, record in chosen]


BENCHMARKS = (
    Benchmark(
        name="wikicontradict",
        title="WikiContradict: real contradictions in Wikipedia",
        paper="Hou et al. 2024, WikiContradict, NeurIPS Datasets and Benchmarks, arXiv 2406.13805",
        licence="Apache-2.0 (passages: CC BY-SA)",
        splits=HASHED,
        behaviour="Reports the contradiction: gives both answers, since neither is known to be true.",
        wanted="all",
        folder="wikicontradict",
        files=("data.jsonl",),
        read=read_wikicontradict,
        metrics=main_first("em_substring", LIST_METRICS),
    ),
)
