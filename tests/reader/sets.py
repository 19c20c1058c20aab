"""The question sets in small, for tests."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from arbgraph.reader.readings import SETS


def write(path: Path, rows: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)


def document(text: str, label: str, answer: str | None = None, title: str = "") -> dict:
    return {"id": "d", "text": text, "title": title, "source": "", "label": label, "answer": answer}


def row(question: str, documents: list[dict], gold: list[str], wrong: list[str]) -> dict:
    return {"id": "x", "question": question, "documents": documents, "gold_answers": gold, "wrong_answers": wrong, "meta": {}}


def question_sets(folder: Path) -> Path:
    """Every set with the same 60 questions."""
    for one in SETS:
        rows = [
            row(
                f"When was tower {number} built?",
                [
                    document(
                        f"Tower {number} was built in 1889.",
                        "relevant" if "multihop" in one.path or "hotpot" in one.path else "correct",
                        "1889",
                    ),
                    document(f"Tower {number} was built in 1901, they say.", "misinfo", "1901"),
                    document("Towers are high.", "noise"),
                    document("Towers of 1889 were iron.", "retrieved"),
                ],
                ["1889"],
                ["1901"],
            )
            for number in range(60)
        ]
        write(folder / one.path, rows)
    documents = [
        document("Born in 1812.", "correct", "1812"),
        document("A page.", "noise", "unknown"),
        document("Born long ago.", "correct", "1813"),
    ]
    write(folder / "ramdocs/data.jsonl.gz", [row("When was Dunn born?", documents, ["1812"], []) for _ in range(4)])
    (folder / "ramdocs/splits.json").write_text('{"dev": [1], "test": [0, 2, 3]}')
    return folder
