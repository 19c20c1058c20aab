"""Rescoring: which phrase a document gives as its answer, once all documents have been read.

The reader sees one passage at a time. Here every phrase is seen beside the other documents: whether independent ones give it too, whether
it is the value that near copies dispute, and whether it is of the kind that the question asks for. One log-linear model with learned
weights scores the phrases of a document and "no answer" in one softmax.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from arbgraph.comparison.lexicon import rows
from arbgraph.systems.readings import contains
from arbgraph.systems.small.asked import ASKED, MONTH, YEAR, Asked, asked_for, names_in, words_in
from arbgraph.systems.small.copies import within
from arbgraph.systems.small.evidence import Phrase, Testimony, disputed
from arbgraph.systems.small.kinds import HEAD, kind_asked, of_kind

SHAPES = ("full_date", "year", "number", "amount", "capitals", "lower")

# Mass of a phrase that the reader did not name; of one that no other document supports.
LEAST_SCORE, LEAST_SUPPORT = 1e-4, 0.05
# A language model is never surer than this that a phrase is no answer.
LEAST_LANGUAGE = 1e-5
# Scores below this support nothing.
LEAST_MASS = 5e-3

PHRASE_FEATURES = (
    *(
        "reader",
        "best",
        "grammar",
        "best_grammar",
        "inner",
        "outer",
        "support",
        "grammar_support",
        "language",
        "best_language",
        "language_support",
        "related",
        "spread",
        "varies",
        "covers",
        "in_question",
        "in_heading",
        "words",
        "demonym",
        "article",
    ),
    *("cuts_name", "counts", "region"),
    *("of_kind", "not_of_kind"),
    *(f"{asked}:{shape}" for asked in ASKED for shape in SHAPES),
)
NONE_FEATURES = ("none", "no_answer", "grammar_no_answer", "language_no_answer", "names_missing", "headed_by_name", "none_has_kind")
FEATURES = (*PHRASE_FEATURES, *NONE_FEATURES)

_PLAIN_NUMBER = re.compile(r"[\d.,]+")


_REGION = re.compile(r"\b(?:state|country|nation|province|county)\b", re.IGNORECASE)
_BEFORE, _AFTER, _COUNTS = re.compile(r"[A-Z][\w.'’-]*\s$"), re.compile(r"\s[A-Z]"), re.compile(r"\s[a-z]{3,}")


@lru_cache(maxsize=1)
def _regions() -> frozenset[str]:
    """Places in which other places lie."""
    return frozenset(row[1].lower() for row in rows("places.tsv"))


@lru_cache(maxsize=1)
def _demonyms() -> frozenset[str]:
    return frozenset(row[0].lower() for row in rows("demonyms.tsv"))


def shape_of(text: str) -> str:
    """What a phrase looks like: a full date, a year, a number, an amount of something, capitals or lower case."""
    if any(letter.isdigit() for letter in text):
        if MONTH.search(text):
            return "full_date"
        if YEAR.fullmatch(text):
            return "year"
        return "number" if _PLAIN_NUMBER.fullmatch(text) else "amount"
    return "capitals" if text[:1].isupper() else "lower"


def features(question: str, testimonies: Sequence[Testimony]) -> list[np.ndarray]:
    """Per document `[1 + P, F]` float64: the row of "no answer", then one per phrase, in the order of `FEATURES`."""
    asked, names = asked_for(question), names_in(question)
    words = words_in(question)
    region, kind = bool(_REGION.search(question)), kind_asked(question)
    mass = tuple(
        _mass(testimonies, score)
        for score in (lambda phrase: phrase.score, lambda phrase: phrase.grammar, lambda phrase: phrase.language or 0.0)
    )
    found = []
    for testimony in testimonies:
        own = [_phrase(phrase, testimony, testimonies, mass, words, asked, region, kind) for phrase in testimony.phrases]
        found.append(np.array([_none(testimony, names, kind), *own]))
    return found


def _mass(testimonies: Sequence[Testimony], score: Callable[[Phrase], float]) -> dict[str, dict[int, float]]:
    """By key, by independent source: the best score that a document of the source gives an answer of that key."""
    mass: dict[str, dict[int, float]] = defaultdict(dict)
    for testimony in testimonies:
        for phrase in testimony.phrases:
            if score(phrase) >= LEAST_MASS:
                by_group = mass[phrase.key]
                by_group[testimony.group] = max(by_group.get(testimony.group, 0.0), score(phrase))
    return mass


def _elsewhere(by_group: Mapping[int, float], group: int) -> float:
    return sum(score for other, score in by_group.items() if other != group)


def _none(testimony: Testimony, names: frozenset[str], kind: str | None) -> list[float]:
    present = set(testimony.plain.split())
    missing = len(names - present) / len(names) if names else 0.0
    headed = float(testimony.subject is not None and bool(names & set(testimony.subject.name.split())))
    values = {
        "none": 1.0,
        "no_answer": float(np.log(testimony.no_answer + LEAST_SCORE)),
        "grammar_no_answer": float(np.log(testimony.grammar_no_answer + LEAST_SCORE)),
        "language_no_answer": _language(testimony.language_no_answer),
        "names_missing": missing,
        "headed_by_name": headed,
        "none_has_kind": float(kind is not None and all(of_kind(phrase.plain, kind) < HEAD for phrase in testimony.phrases)),
    }
    return [values.get(name, 0.0) for name in FEATURES]


def _language(probability: float | None) -> float:
    """Its logarithm; 0, which weighs nothing, where there is no generative reader."""
    return 0.0 if probability is None else float(np.log(probability + LEAST_LANGUAGE))


def _phrase(
    phrase: Phrase,
    testimony: Testimony,
    testimonies: Sequence[Testimony],
    masses: Sequence[Mapping[str, Mapping[int, float]]],
    words: frozenset[str],
    asked: Asked,
    region: bool,
    kind: str | None,
) -> list[float]:
    mass = masses[0]
    support, grammar_support, language_support = (_elsewhere(one.get(phrase.key, {}), testimony.group) for one in masses)
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
    top_language = max((other.language or 0.0 for other in testimony.phrases), default=0.0)
    top_grammar = max((other.grammar for other in testimony.phrases), default=0.0)
    inner = max((o.score for o in testimony.phrases if o is not phrase and within(o.place, phrase.place)), default=0.0)
    outer = max((o.score for o in testimony.phrases if o is not phrase and within(phrase.place, o.place)), default=0.0)
    text, (start, end) = testimony.document.text, phrase.place
    named = of_kind(phrase.plain, kind) if kind else 0.0
    values = {
        "reader": float(np.log(phrase.score + LEAST_SCORE)),
        "best": float(phrase.score > 0 and phrase.score == top),
        "grammar": float(np.log(phrase.grammar + LEAST_SCORE)),
        "best_grammar": float(phrase.grammar > 0 and phrase.grammar == top_grammar),
        "inner": float(np.log(inner + LEAST_SCORE)),
        "outer": float(np.log(outer + LEAST_SCORE)),
        "grammar_support": float(np.log(grammar_support + LEAST_SUPPORT)),
        "language": _language(phrase.language),
        "best_language": float(phrase.language is not None and phrase.language == top_language),
        "language_support": 0.0 if phrase.language is None else float(np.log(language_support + LEAST_SUPPORT)),
        "cuts_name": float(phrase.text[:1].isupper() and start >= 0 and bool(_BEFORE.search(text[:start]) or _AFTER.match(text, end))),
        "counts": float(phrase.text[-1:].isdigit() and bool(_COUNTS.match(text, max(0, end)))),
        "of_kind": named,
        "not_of_kind": float(kind is not None and named == 0),
        "region": float(region and phrase.plain in _regions()),
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
