"""Questions whose documents give conflicting answers, with what each document says and which answers are right."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arbgraph.reader.readings import read_rows
from arbgraph.schema import Document, Query
from arbgraph.splits import split_of
from arbgraph.systems.readings import normal_form

RAMDOCS = "ramdocs"
# The same questions with paraphrased copies of the misinformation.
AMPLIFIED = "ramdocs_amplified"
# Sets that share the task of telling a right answer from a false one; their dev questions were not trained on by the reader.
OTHERS = (
    "cram_misinfo/nq",
    "counterfactual_pairs/squad",
    "counterfactual_pairs/musique",
    "cagb/newspolluted",
    "cagb/evotemp",
    "conflictqa_kg/noncomp",
    "conflictqa_kg/comp_text",
    "conflict_nq/val",
)
NOTHING = ""


@dataclass(frozen=True)
class DisputedQuestion:
    """One question.

    `stated` is by document what it answers: a text, "" where it answers nothing, None where that is not known. `gold` and `wrong` are
    normal forms. `several` says that every gold answer is wanted, and not one of its spellings.
    """

    query: Query
    source: str
    stated: tuple[str | None, ...]
    gold: tuple[str, ...]
    wrong: frozenset[str]
    several: bool

    def label(self, answer: str) -> int:
        """1 for a gold answer, -1 for a wrong one, 0 for neither."""
        form = normal_form(answer)
        return 1 if form in self.gold else -1 if form in self.wrong else 0


def disputed_questions(root: str | Path, name: str) -> list[DisputedQuestion]:
    """The dev questions of a set, in the order of its file. RAMDocs has its own split, other files go by `split_of`."""
    if name == AMPLIFIED:
        rows = read_rows(Path(root) / "ramdocs_amplified/data.jsonl.gz")
        return [_question(row, name, several=True) for row in rows if row["meta"]["split"] == "dev"]
    if name == RAMDOCS:
        rows = read_rows(Path(root) / "ramdocs/data.jsonl.gz")
        chosen = json.loads((Path(root) / "ramdocs/splits.json").read_text(encoding="utf-8"))["dev"]
        return [_question(rows[number], name, several=True) for number in chosen]
    rows = read_rows(Path(root) / f"{name}.jsonl.gz")
    return [_question(row, name, several=False) for row in rows if split_of(row["question"]) == "dev"]


def all_questions(root: str | Path, others: Sequence[str] = OTHERS) -> Iterator[DisputedQuestion]:
    """RAMDocs dev, then the dev parts of the other sets."""
    for name in (RAMDOCS, *others):
        yield from disputed_questions(root, name)


def _question(row: dict[str, Any], name: str, *, several: bool) -> DisputedQuestion:
    documents, stated = [], []
    seen: dict[str, int] = {}
    for given in row["documents"]:
        if not given["text"].strip() or given["source"] == "kg":
            continue
        # Titles of genuine ConflictNQ passages are names of pages, those of fabricated ones are sentences.
        title = "" if name.startswith("conflict_nq") else given["title"] or ""
        fields = {"text": given["text"], "title": title, "source": given["source"] or "", "published": _date(given.get("date"))}
        document = Document.model_validate(fields)
        seen[document.id] = seen.get(document.id, 0) + 1
        if seen[document.id] > 1:
            document = document.model_copy(update={"id": f"{document.id}-{seen[document.id]}"})
        documents.append(document)
        stated.append(NOTHING if given["label"] == "noise" else given["answer"])
    gold = tuple(dict.fromkeys(normal_form(answer) for answer in row["gold_answers"]))
    wrong = frozenset(normal_form(answer) for answer in row["wrong_answers"]) - set(gold)
    query = Query(id=row["id"], query=row["question"], documents=tuple(documents))
    return DisputedQuestion(query, name, tuple(stated), gold, wrong, several)


def _date(text: str | None) -> str | None:
    return "-".join(part.zfill(2) for part in text.split("/")) if text and text.replace("/", "").replace("-", "").isdigit() else None
