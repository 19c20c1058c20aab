"""Rescoring: which phrase a document gives as its answer, once all documents have been read.

The reader sees one passage at a time. Here every phrase is seen beside the other documents: whether independent ones give it too, whether
it is the value that near copies dispute, and whether it is of the kind that the question asks for. One log-linear model with learned
weights scores the phrases of a document and "no answer" in one softmax.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal

import numpy as np

from arbgraph.comparison.lexicon import MONTHS, STOP_WORDS, rows
from arbgraph.systems.readings import contains
from arbgraph.systems.small.copies import within
from arbgraph.systems.small.evidence import Phrase, Testimony, disputed

Asked = Literal["date", "number", "place", "person", "other"]
ASKED: tuple[Asked, ...] = ("date", "number", "place", "person", "other")
SHAPES = ("full_date", "year", "number", "amount", "capitals", "lower")

# Mass of a phrase that the reader did not name; of one that no other document supports.
LEAST_SCORE, LEAST_SUPPORT = 1e-4, 0.05

PHRASE_FEATURES = (
    *("reader", "best", "support", "related", "spread", "varies", "covers", "in_question", "in_heading", "words", "demonym", "article"),
    *(f"{asked}:{shape}" for asked in ASKED for shape in SHAPES),
)
NONE_FEATURES = ("none", "no_answer", "names_missing", "headed_by_name")
FEATURES = (*PHRASE_FEATURES, *NONE_FEATURES)

_DATE = re.compile(r"\b(?:when|date|year|born|founded|day|month|century)\b", re.IGNORECASE)
_NUMBER = re.compile(
    r"\bhow (?:many|much|long|old|tall|far|big|large|high|deep|wide)\b"
    r"|\b(?:population|number|age|income|length|height|elevation|area|size)\b",
    re.IGNORECASE,
)
_PLACE = re.compile(r"\bwhere\b|\b(?:located|location|place|city|town|state|country|county|province|region|birthplace)\b", re.IGNORECASE)
_PERSON = re.compile(r"\b(?:who|whom|whose)\b", re.IGNORECASE)
_YEAR = re.compile(r"(?:1\d|20)\d\d")
_PLAIN_NUMBER = re.compile(r"[\d.,]+")
_WORD = re.compile(r"\w+")
_MONTH = re.compile(rf"\b(?:{'|'.join(sorted(MONTHS))})\b", re.IGNORECASE)


@lru_cache(maxsize=1)
def _demonyms() -> frozenset[str]:
    return frozenset(row[0].lower() for row in rows("demonyms.tsv"))


def asked_for(question: str) -> Asked:
    """The kind of answer that a question wants, by its words."""
    if re.match(r"\s*when\b", question, re.IGNORECASE):
        return "date"
    if re.match(r"\s*where\b", question, re.IGNORECASE):
        return "place"
    for asked, pattern in (("number", _NUMBER), ("person", _PERSON), ("place", _PLACE), ("date", _DATE)):
        if pattern.search(question):
            return asked  # type: ignore[return-value]
    return "other"


def shape_of(text: str) -> str:
    """What a phrase looks like: a full date, a year, a number, an amount of something, capitals or lower case."""
    if any(letter.isdigit() for letter in text):
        if _MONTH.search(text):
            return "full_date"
        if _YEAR.fullmatch(text):
            return "year"
        return "number" if _PLAIN_NUMBER.fullmatch(text) else "amount"
    return "capitals" if text[:1].isupper() else "lower"


def names_in(question: str) -> frozenset[str]:
    """The words of the names in a question, lower-cased: capitalised words but the first, and quoted ones."""
    quoted = [word for part in re.findall(r'"([^"]+)"', question) for word in _WORD.findall(part)]
    capitals = [word for word in _WORD.findall(question)[1:] if word[0].isupper() or word[0].isdigit()]
    return frozenset(word.lower() for word in (*quoted, *capitals)) - STOP_WORDS


def features(question: str, testimonies: Sequence[Testimony]) -> list[np.ndarray]:
    """Per document `[1 + P, F]` float64: the row of "no answer", then one per phrase, in the order of `FEATURES`."""
    asked, names = asked_for(question), names_in(question)
    words = frozenset(word.lower() for word in _WORD.findall(question)) - STOP_WORDS
    mass = _mass(testimonies)
    return [
        np.array([_none(testimony, names), *(_phrase(p, testimony, testimonies, mass, words, asked) for p in testimony.phrases)])
        for testimony in testimonies
    ]


def _mass(testimonies: Sequence[Testimony]) -> dict[str, dict[int, float]]:
    """By key, by independent source: the best score that a document of the source gives an answer of that key."""
    mass: dict[str, dict[int, float]] = defaultdict(dict)
    for testimony in testimonies:
        for phrase in testimony.phrases:
            by_group = mass[phrase.key]
            by_group[testimony.group] = max(by_group.get(testimony.group, 0.0), phrase.score)
    return mass


def _none(testimony: Testimony, names: frozenset[str]) -> list[float]:
    present = set(testimony.plain.split())
    missing = len(names - present) / len(names) if names else 0.0
    headed = float(testimony.subject is not None and bool(names & set(testimony.subject.name.split())))
    values = {
        "none": 1.0,
        "no_answer": float(np.log(testimony.no_answer + LEAST_SCORE)),
        "names_missing": missing,
        "headed_by_name": headed,
    }
    return [values.get(name, 0.0) for name in FEATURES]


def _phrase(
    phrase: Phrase,
    testimony: Testimony,
    testimonies: Sequence[Testimony],
    mass: Mapping[str, Mapping[int, float]],
    words: frozenset[str],
    asked: Asked,
) -> list[float]:
    support = sum(score for group, score in mass[phrase.key].items() if group != testimony.group)
    related: dict[int, float] = {}
    for key, by_group in mass.items():
        if key != phrase.key and (contains(key, phrase.key) or contains(phrase.key, key)):
            for group, score in by_group.items():
                if group != testimony.group:
                    related[group] = max(related.get(group, 0.0), score)
    holding = {other.group for other in testimonies if other.group != testimony.group and contains(other.plain, phrase.plain)}
    own = phrase.plain.split() or [phrase.plain]
    at = [dispute.place for dispute in disputed(testimony, phrase)]
    top = max((other.score for other in testimony.phrases), default=0.0)
    values = {
        "reader": float(np.log(phrase.score + LEAST_SCORE)),
        "best": float(phrase.score > 0 and phrase.score == top),
        "support": float(np.log(support + LEAST_SUPPORT)),
        "related": float(np.log(sum(related.values()) + LEAST_SUPPORT)),
        "spread": float(np.log1p(len(holding))),
        "varies": float(any(within(phrase.place, place) for place in at)),
        "covers": float(any(within(place, phrase.place) for place in at)),
        "in_question": sum(word in words for word in own) / len(own),
        "in_heading": float(contains(testimony.heading.lower(), phrase.plain)),
        "words": float(np.log(len(own))),
        "demonym": float(len(own) > 1 and own[0] in _demonyms()),
        "article": float(phrase.text.lower().startswith(("the ", "a ", "an "))),
        f"{asked}:{shape_of(phrase.text)}": 1.0,
    }
    return [values.get(name, 0.0) for name in FEATURES]


def posteriors(weights: Mapping[str, float], rows_of: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Per document `[1 + P]`: the probabilities of no answer and of every phrase, which sum to 1."""
    vector = np.array([weights.get(name, 0.0) for name in FEATURES])
    found = []
    for matrix in rows_of:
        scores = matrix @ vector
        odds = np.exp(scores - scores.max())
        found.append(odds / odds.sum())
    return found
