"""Plain passages of the question sets, for questions made by rule."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from arbgraph.reader.readings import SETS, read_rows
from arbgraph.splits import split_of
from train.data.cloze import Passage


def _key(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def repeated_title(text: str) -> str:
    """The title of a passage that begins with it twice, once as a title ("Brazos River The Brazos River is"); empty where none does."""
    match = re.match(r"(.{3,80}?)( \([^)]*\))? (?:The |A |An )?\1\b", text)
    return match[1] + (match[2] or "") if match else ""


def plain_passages(root: str | Path) -> Iterator[Passage]:
    """Wikipedia-like passages for questions made by rule, each once, in a fixed order that takes turns between the sets.

    A passage that a dev or test question of any set is asked about is left out, and so are false and outdated documents.
    """
    chosen = [
        one for one in SETS if one.name.split("/")[0] in ("cagb", "cram_misinfo", "multihop_train", "conflictqa_kg", "counterfactual_pairs")
    ]
    chosen = [one for one in chosen if one.name not in ("cagb/newspolluted", "cagb/evotemp", "conflictqa_kg/comp_text")]
    rows = {one.name: read_rows(Path(root) / one.path) for one in chosen}
    held = {_key(d["text"]) for one in chosen for row in rows[one.name] if split_of(row["question"]) != "train" for d in row["documents"]}
    queues: list[list[Passage]] = []
    for one in chosen:
        train = [row for row in rows[one.name] if split_of(row["question"]) == "train"]
        documents = [d for row in train for d in row["documents"] if d["label"] != "misinfo" and d["source"] != "kg"]
        queues.append(
            [Passage(document["title"] or repeated_title(document["text"]), document["text"], one.name) for document in documents]
        )
    seen = set(held)
    for place in range(max(map(len, queues))):
        for queue in queues:
            if place < len(queue):
                passage = queue[place]
                key = _key(passage.text)
                if key not in seen and len(passage.text.split()) > 12:
                    seen.add(key)
                    yield passage
