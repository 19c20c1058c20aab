"""Material from data at hand: pair files with contrastive evidence, and questions with documents for several answers."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

from arbgraph.io import BadRecord, InputError, read_records
from arbgraph.schema import content_id
from arbgraph.splits import split_of
from train.data.arbitration.material import BANK, Material
from train.data.conflicts.engine import Split

MIN_WORDS, MAX_WORDS = 4, 40
PAIRS_PER_PAGE = 2
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"'(])")
_LOOSE_MARKS = re.compile(r"\s+([,.;:!?%)\]]|'s\b|n't\b)|([(\[])\s+")
_RESTATED = ("The answer is {a}.", "It is {a}.", 'To the question "{q}" the answer is {a}.', "{a}: that is the answer to the question {q}")


@dataclass
class TextSource:
    """A data file to make records from.

    Args:
        path: relative to the data root; pairs (`premise`, `hypothesis`, `label`) or questions (`question`, `documents`).
        licence: of the data, for the report and the card.
        name: shown in reports; by default the folder's name.
        rows: a JSON file with lists of row numbers, and `use`, which list may be read.
        divided: the file is a training part already, so that nothing of it is left out as a test part.
        settled: the documents' labels say which answer is right. Where they do not, a pair of answers is `unknown`.
        changes: statements may come from different times.
        cap: at most this many pairs of claims in a part, chosen by a hash of the claims.
    """

    path: str
    licence: str = "not stated"
    name: str = ""
    rows: str = ""
    use: str = "dev"
    divided: bool = False
    settled: bool = True
    changes: bool = False
    cap: int | None = None

    def __post_init__(self) -> None:
        self.name = self.name or Path(self.path).parent.name or Path(self.path).stem


@dataclass(frozen=True)
class Contrast:
    """Two claims with the texts that state either, before anything is drawn. Side 0 is right where one is."""

    query: str
    claims: tuple[str, str]
    texts: tuple[tuple[str, ...], tuple[str, ...]]
    source: TextSource
    subject: str = ""
    compatible: bool = False

    def material(self, rng: Random) -> Material:
        """Material that says each of the texts once, in random order."""

        def say(side: int, used: Sequence[str]) -> str | None:
            left = [text for text in self.texts[side] if text not in used]
            return rng.choice(left) if left else None

        return Material(
            query=self.query or rng.choice(BANK["QUERIES"]).replace("{e}", self.subject),
            claims=self.claims,
            say=say,
            changes=self.source.changes,
            subject=self.subject,
            origin=self.source.name,
            compatible=self.compatible,
        )


@dataclass
class Stock:
    """What one source gives, by part, and why the rest gave nothing."""

    parts: dict[Split, list[Contrast]] = field(default_factory=lambda: {"train": [], "dev": []})
    dropped: Counter[str] = field(default_factory=Counter)


def read_stock(source: TextSource, root: str | Path) -> Stock:
    """Everything that a file gives. All of one question or page is in one part; test parts are left out, and counted.

    Raises InputError on a file that is missing or of another format.
    """
    stock = Stock()
    rows = list(_rows(source, Path(root)))
    made = _from_pairs(source, rows, stock) if "premise" in rows[0] else _from_questions(source, rows, stock)
    for key, contrast in made:
        part = split_of(key)
        if part == "test" and not source.divided:
            stock.dropped["test part"] += 1
        else:
            stock.parts["dev" if part == "dev" else "train"].append(contrast)
    for part, contrasts in stock.parts.items():
        chosen = sorted(contrasts, key=lambda contrast: content_id("cap", *contrast.claims))[: source.cap]
        stock.dropped["beyond the cap"] += len(contrasts) - len(chosen)
        stock.parts[part] = chosen
    return stock


def _rows(source: TextSource, root: Path) -> Iterator[dict[str, Any]]:
    wanted: set[int] | None = None
    if source.rows:
        try:
            wanted = set(json.loads((root / source.rows).read_text(encoding="utf-8"))[source.use])
        except (OSError, ValueError, KeyError) as error:
            raise InputError(f"{root / source.rows}: gives no row numbers under {source.use!r}: {error!r}") from None
    for number, (where, row) in enumerate(read_records(root / source.path)):
        if isinstance(row, BadRecord):
            raise InputError(str(row))
        if not isinstance(row, dict) or not ({"premise", "hypothesis", "label"} <= row.keys() or {"question", "documents"} <= row.keys()):
            raise InputError(f"{where}: neither a pair (premise, hypothesis, label) nor a question with documents")
        if wanted is None or number in wanted:
            yield row


def _from_pairs(source: TextSource, rows: Sequence[dict[str, Any]], stock: Stock) -> Iterator[tuple[str, Contrast]]:
    """Per page: claims C and D with evidence E for C and against D, and F for D and against C."""
    pages: dict[str, dict[str, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        pages[row.get("meta", {}).get("page", "")][_plain(row["hypothesis"])][_plain(row["premise"])] = row["label"]
    for page, claims in sorted(pages.items()):
        found = 0
        for one, other in combinations(sorted(claims), 2):
            forth, back = _contrast(claims[one], claims[other]), _contrast(claims[other], claims[one])
            if forth and back and found < PAIRS_PER_PAGE and all(map(_fits, (one, other))):
                found += 1
                texts = (one, *forth), (other, *back)
                yield page, Contrast("" if page else one, (one, other), texts, source, page)
        if not found:
            stock.dropped["page without contrasting claims"] += 1


def _contrast(claim: dict[str, str], rival: dict[str, str]) -> list[str]:
    """The evidence that supports a claim and contradicts its rival."""
    return sorted(e for e, label in claim.items() if label == "support" and rival.get(e) == "contradict" and _fits(e))


def _from_questions(source: TextSource, rows: Sequence[dict[str, Any]], stock: Stock) -> Iterator[tuple[str, Contrast]]:
    """Per question: a right answer against a wrong one, and two right (or disputed) ones against each other."""
    for row in rows:
        question = _plain(row["question"])
        answers: dict[tuple[str, bool], list[str]] = defaultdict(list)
        for document in row["documents"]:
            if document["label"] not in ("correct", "misinfo", "disputed") or not document.get("answer"):
                continue
            answer = _plain(document["answer"])
            sentence = _sentence_with(answer, document["text"])
            if sentence is None:
                stock.dropped["document without its answer in a sentence"] += 1
            else:
                answers[answer, document["label"] == "misinfo"].append(sentence)
        right = sorted(answer for answer, wrong in answers if not wrong)
        wrong = sorted(answer for answer, wrong in answers if wrong and (answer, False) not in answers)
        pairs = [(a, b, False) for a in right[:1] for b in wrong[:1]] if source.settled else []
        pairs += [(a, b, True) for a, b in list(combinations(right, 2))[:1]]
        stock.dropped["question without two answers"] += not pairs
        for a, b, compatible in pairs:
            texts = [(*dict.fromkeys(answers[answer, flag]),) for answer, flag in ((a, False), (b, not compatible))]
            claims = _claims(question, (a, b), texts)
            if claims[0] == claims[1]:
                stock.dropped["two answers in one sentence"] += 1
                continue
            sides = [(claim, *said) for claim, said in zip(claims, texts, strict=True)]
            yield question, Contrast(question, (claims[0], claims[1]), (sides[0], sides[1]), source, compatible=compatible)


def _claims(question: str, answers: Sequence[str], sentences: Sequence[Sequence[str]]) -> list[str]:
    """The shortest sentence for either answer; where one of them is long, both answers as sentences of one form."""
    shortest = [min(said, key=lambda text: (len(text), text)) for said in sentences]
    if all(len(text.split()) <= MAX_WORDS // 2 for text in shortest):
        return shortest
    form = _RESTATED[len(question) % len(_RESTATED)]
    return [form.replace("{q}", question).replace("{a}", answer) for answer in answers]


def _sentence_with(answer: str, text: str) -> str | None:
    """The first sentence of the text that holds the answer and is of fitting length."""
    sentences = (_plain(part) for part in _SENTENCE.split(" ".join(text.split())))
    return next((sentence for sentence in sentences if answer.lower() in sentence.lower() and _fits(sentence)), None)


def _fits(text: str) -> bool:
    return MIN_WORDS <= len(text.split()) <= MAX_WORDS


def _plain(text: str) -> str:
    """The text without line breaks and without the spaces that tokenisers put around punctuation."""
    return _LOOSE_MARKS.sub(lambda match: match.group(1) or match.group(2), " ".join(text.split())).replace("`` ", '"').replace(" ''", '"')
