"""Which documents are found to be one source: copies that a language model has rewritten, against texts that were written apart.

    python -m benchmarks.copies --data DATA [--split dev] [--cosine 0.75] [--words 0.45] [--json OUT]

The questions of `ramdocs_amplified` have paraphrased copies of a false document. `copies`: share of the pairs of such a document and its
paraphrases that are one source (to be 1). `apart`: share of the pairs of other documents of a question, less the false ones and those that
share word runs with them, that are (to be 0); among them are texts that state one answer independently. `sources` is the mean number of
sources of a question, and `plain` the same without the paraphrases: if copies are no evidence, the two are equal.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from arbgraph.independence import source_groups
from arbgraph.reader.readings import read_rows
from arbgraph.retellings import Retellings
from arbgraph.schema import Document

COPY_OVERLAP = 0.2
FALSE, REWRITTEN = "misinfo", "misinfo_amplified"


def measure(questions: Sequence[tuple[list[Document], list[str]]], retellings: Retellings) -> dict[str, float]:
    """The numbers of one way to find sources; questions hold documents and labels."""
    joined = {"copies": [0, 0], "apart": [0, 0]}
    sources = plain = 0
    for documents, labels in questions:
        kept = [document for document, label in zip(documents, labels, strict=True) if label != REWRITTEN]
        plain += len(set(source_groups(kept, COPY_OVERLAP, retellings.of(kept))))
        groups = source_groups(documents, COPY_OVERLAP, retellings.of(documents))
        sources += len(set(groups))
        near = source_groups(documents, COPY_OVERLAP)
        false = {near[row] for row, label in enumerate(labels) if label == FALSE}
        for a, b in combinations(range(len(documents)), 2):
            kinds = {labels[a], labels[b]}
            if REWRITTEN in kinds and kinds <= {FALSE, REWRITTEN}:
                kind = "copies"
            elif not kinds & {FALSE, REWRITTEN} and not {near[a], near[b]} & false:
                kind = "apart"
            else:
                continue
            joined[kind][0] += groups[a] == groups[b]
            joined[kind][1] += 1
    shares = {kind: together / max(1, count) for kind, (together, count) in joined.items()}
    return shares | {"sources": sources / len(questions), "plain": plain / len(questions)}


def read_questions(data: Path, split: str) -> list[tuple[list[Document], list[str]]]:
    """Documents and labels of the questions of a split."""
    rows = [row for row in read_rows(data / "ramdocs_amplified/data.jsonl.gz") if row["meta"]["split"] == split]
    return [([Document(id=d["id"], text=d["text"]) for d in row["documents"]], [d["label"] for d in row["documents"]]) for row in rows]


def main() -> None:
    from rich.console import Console
    from rich.table import Table

    parser = argparse.ArgumentParser(description="Copies that were rewritten, found or not.")
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--split", default="dev", choices=("dev", "test"))
    parser.add_argument("--cosine", type=float, default=0.75)
    parser.add_argument("--words", type=float, default=0.45)
    parser.add_argument("--json", type=Path, help="write the numbers here")
    given = parser.parse_args()
    questions = read_questions(given.data, given.split)
    ways = {
        "word runs": (2.0, 0.0),
        f"or cosine {given.cosine}": (given.cosine, 0.0),
        f"or words {given.words}": (-1.0, given.words),
        f"or cosine {given.cosine} and words {given.words}": (given.cosine, given.words),
    }
    found: dict[str, Any] = {name: measure(questions, Retellings(*way)) for name, way in ways.items()}
    columns = ("copies", "apart", "sources", "plain")
    table = Table("one source by", *columns, title=f"ramdocs_amplified, {given.split}: {len(questions)} questions")
    for name, row in found.items():
        table.add_row(name, *(f"{row[column]:.3f}" for column in columns))
    Console().print(table)
    if given.json:
        given.json.write_text(
            json.dumps({"split": given.split, "questions": len(questions), "found": found}, indent=1) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
