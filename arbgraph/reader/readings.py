"""Question sets read as readings: a question, one passage, and the places where the passage states its answer.

A reader reads and does not judge, so a false document teaches as much as a true one: its target is the answer that it gives. Sets that
bring no splits of their own are split by `arbgraph.splits.split_of`; RAMDocs by its `splits.json`. Training reads `dev` of it at most.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arbgraph.splits import Split, split_of

Row = dict[str, Any]


@dataclass(frozen=True)
class Reading:
    """A question on one passage. `spans` are the character offsets of the stated answer, everywhere it stands; none: not answered."""

    question: str
    passage: str
    spans: tuple[tuple[int, int], ...]
    source: str

    @property
    def answers(self) -> list[str]:
        """The distinct texts of the spans, in order."""
        return list(dict.fromkeys(self.passage[start:end] for start, end in self.spans))


class QuestionFileError(ValueError):
    """A question file that is missing or broken; the message names it."""


def read_rows(path: Path) -> list[Row]:
    """The rows of a `.jsonl.gz` file. Raises QuestionFileError with the line number on a broken one."""
    if not path.is_file():
        raise QuestionFileError(f"{path}: no such file; name the folder that holds the question sets")
    rows = []
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        for number, line in enumerate(stream, 1):
            try:
                rows.append(json.loads(line))
            except ValueError as error:
                raise QuestionFileError(f"{path}:{number}: not JSON: {error}") from error
    return rows


def find_spans(passage: str, answers: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Everywhere that one of the answers stands in the passage as whole words, whatever the case and the spacing of punctuation.

    A leading article of an answer is optional. Overlapping finds are reduced to the longest. Offsets are of the passage, in order.
    """
    found: list[tuple[int, int]] = []
    for answer in answers:
        pattern = _pattern(answer)
        if pattern is not None:
            found += [match.span() for match in pattern.finditer(passage)]
    kept: list[tuple[int, int]] = []
    for start, end in sorted(found, key=lambda span: (span[0] - span[1], span)):
        if all(end <= other or start >= stop for other, stop in kept):
            kept.append((start, end))
    return tuple(sorted(kept))


def _pattern(answer: str) -> re.Pattern[str] | None:
    pieces = re.findall(r"\w+|[^\w\s]", answer.strip(" .,;:\"'"))
    if len(pieces) > 1 and pieces[0].lower() in ("the", "a", "an"):
        pieces = pieces[1:]
    if not any(piece[0].isalnum() for piece in pieces):
        return None
    before = r"(?<!\w)(?<!\d[.,])" if pieces[0][0].isalnum() else ""
    after = r"(?!\w)(?![.,]\d)" if pieces[-1][0].isalnum() else ""
    return re.compile(before + r"\s*".join(map(re.escape, pieces)).replace(r"\s*", r"\s*") + after, re.IGNORECASE)


def _stated(row: Row, document: Row, source: str, answers: Sequence[str]) -> Reading | None:
    """The reading of a document that states one of the answers in its own words; None where the string is not found."""
    spans = find_spans(document["text"], answers)
    return Reading(row["question"], document["text"], spans, source) if spans else None


def _unstated(row: Row, document: Row, source: str) -> Reading | None:
    """A reading without an answer; None where a gold or wrong answer stands in the document by chance."""
    answers = [*row["gold_answers"], *row["wrong_answers"]]
    return None if find_spans(document["text"], answers) else Reading(row["question"], document["text"], (), source)


def _annotated(row: Row, source: str) -> Iterator[Reading | None]:
    """Documents that carry the answer they give."""
    for document in row["documents"]:
        if document["answer"] and document["source"] != "kg":
            yield _stated(row, document, source, _aliases(row, document["answer"]))


def _aliases(row: Row, answer: str) -> list[str]:
    """An answer and the other gold spellings where it is a gold one and the row has a single answer."""
    folded = [alias.casefold() for alias in row["gold_answers"]]
    return (
        [answer, *row["gold_answers"]]
        if answer.casefold() in folded and len(folded) > 1 and row["id"].startswith("dynamicqa")
        else [answer]
    )


def _retrieved(row: Row, source: str) -> Iterator[Reading | None]:
    """Generated falsehoods with their answer, and retrieved passages whose answer is known by string alone."""
    for document in row["documents"]:
        if document["label"] == "misinfo" and document["answer"]:
            yield _stated(row, document, source, [document["answer"]])
        elif document["label"] != "misinfo":
            text = f"{document['title']} {document['text']}".strip()
            # A short number stands in a passage by chance.
            gold = [answer for answer in row["gold_answers"] if len(answer) > 2]
            if gold:
                yield _stated(row, {**document, "text": text}, source, gold) or _unstated(row, {**document, "text": text}, source)


def _multihop(row: Row, source: str) -> Iterator[Reading | None]:
    """The supporting passage that holds the answer; and distractors, two a question, as unanswered."""
    if row["gold_answers"][0].lower() in ("yes", "no"):
        return
    noise = 0
    for document in row["documents"]:
        text = document["text"]
        if document["label"] == "relevant":
            yield _stated(row, document, source, row["gold_answers"])
        elif document["label"] == "noise" and noise < 2:
            noise += 1
            yield _unstated(row, {**document, "text": text}, source)


def _choices(row: Row, source: str) -> Iterator[Reading | None]:
    """Genuine news with its answer, and false news in which exactly one of the wrong choices stands."""
    for document in row["documents"]:
        if document["label"] == "correct":
            yield _stated(row, document, source, row["gold_answers"])
        elif document["label"] == "misinfo":
            named = [answer for answer in row["wrong_answers"] if find_spans(document["text"], [answer])]
            if len(named) == 1:
                yield _stated(row, document, source, named)


def _ramdocs(row: Row, source: str) -> Iterator[Reading | None]:
    for document in row["documents"]:
        if document["label"] == "noise":
            yield _unstated(row, document, source)
        else:
            yield _stated(row, document, source, [document["answer"]])


@dataclass(frozen=True)
class QuestionSet:
    """A file of questions: how to read its rows, its licence as stated, and whether the whole file is a training part (never measured)."""

    path: str
    read: Callable[[Row, str], Iterator[Reading | None]]
    licence: str
    whole: bool = False

    @property
    def name(self) -> str:
        """Folder and file without their endings: `cram_misinfo/nq`."""
        return self.path.removesuffix(".jsonl.gz")


SETS = (
    QuestionSet("cram_misinfo/nq.jsonl.gz", _retrieved, "not stated (questions: Natural Questions, CC BY-SA 3.0)"),
    QuestionSet("cram_misinfo/trivia.jsonl.gz", _retrieved, "not stated (questions: TriviaQA, Apache-2.0)"),
    QuestionSet("counterfactual_pairs/squad.jsonl.gz", _annotated, "not stated (SQuAD: CC BY-SA 4.0)"),
    QuestionSet("counterfactual_pairs/musique.jsonl.gz", _annotated, "not stated (MuSiQue: CC BY 4.0)"),
    QuestionSet("conflictqa_kg/noncomp.jsonl.gz", _annotated, "not stated"),
    QuestionSet("conflictqa_kg/comp_text.jsonl.gz", _annotated, "not stated"),
    QuestionSet("dynamicqa/static.jsonl.gz", _annotated, "not stated"),
    QuestionSet("dynamicqa/temporal.jsonl.gz", _annotated, "not stated"),
    QuestionSet("dynamicqa/disputable.jsonl.gz", _annotated, "not stated"),
    QuestionSet("cagb/newspolluted.jsonl.gz", _choices, "MIT"),
    QuestionSet("cagb/evotemp.jsonl.gz", _choices, "MIT"),
    QuestionSet("cagb/hotpotqa.jsonl.gz", _multihop, "MIT (HotpotQA: CC BY-SA 4.0)"),
    QuestionSet("cagb/2wiki.jsonl.gz", _multihop, "MIT (2WikiMultiHopQA: Apache-2.0)"),
    QuestionSet("multihop_train/musique.jsonl.gz", _multihop, "MIT (MuSiQue: CC BY 4.0)", whole=True),
    QuestionSet("multihop_train/hotpotqa.jsonl.gz", _multihop, "MIT (HotpotQA: CC BY-SA 4.0)", whole=True),
    QuestionSet("robustrag/realtimeqa.jsonl.gz", _retrieved, "not stated"),
    QuestionSet("poisonedrag/nq.jsonl.gz", _retrieved, "MIT"),
    QuestionSet("poisonedrag/hotpotqa.jsonl.gz", _retrieved, "MIT"),
    QuestionSet("poisonedrag/msmarco.jsonl.gz", _retrieved, "MIT"),
    QuestionSet("conflict_nq/val.jsonl.gz", _annotated, "Apache-2.0 (Natural Questions: CC BY-SA 3.0)", whole=True),
)
RAMDOCS = QuestionSet("ramdocs/data.jsonl.gz", _ramdocs, "MIT")


def readings(root: str | Path, part: Split, sets: Sequence[QuestionSet] = SETS) -> tuple[dict[str, list[Reading]], dict[str, int]]:
    """The readings of one part by set, and how many documents of each set gave none (answer not a string of theirs, or ambiguous).

    The split goes by the question's text, so a question of two sets is on the same side in both.
    """
    found: dict[str, list[Reading]] = {}
    lost: dict[str, int] = {}
    for one in sets:
        made = [
            reading
            for row in read_rows(Path(root) / one.path)
            if split_of(row["question"]) == part and (part == "train" or not one.whole)
            for reading in one.read(row, one.name)
        ]
        found[one.name] = list(dict.fromkeys(reading for reading in made if reading is not None))
        lost[one.name] = sum(reading is None for reading in made)
    return found, lost


def ramdocs(root: str | Path, part: str) -> tuple[list[Reading], int]:
    """The readings of RAMDocs `dev` or `test`, and how many of its documents state their answer in other words than it is given."""
    rows = read_rows(Path(root) / RAMDOCS.path)
    chosen = json.loads((Path(root) / "ramdocs/splits.json").read_text(encoding="utf-8"))[part]
    made = [reading for number in chosen for reading in RAMDOCS.read(rows[number], RAMDOCS.name)]
    return [reading for reading in made if reading is not None], sum(reading is None for reading in made)
