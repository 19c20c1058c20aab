"""What the documents of one question say: the phrases that may answer it, document by document, with where each stands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from arbgraph.independence import source_groups
from arbgraph.reader import Answers
from arbgraph.schema import Document
from arbgraph.systems.readings import contains, normal_form
from arbgraph.systems.small.canonical import canonical
from arbgraph.systems.small.copies import Place, overlap, variations
from arbgraph.systems.small.subjects import Subject, heading, subject_of

# Phrases of other documents that are looked for in a document: the likeliest of each.
SHARED = 3
# A score below this says nothing about a phrase.
LEAST_SHARED = 0.02
# Phrases by grammar that are kept of each document.
BY_GRAMMAR = 10
# The likeliest phrases, which are tried in their longer forms too.
EXTENDED = 6
# A longer span joins two places and is no answer.
MOST_WORDS = 9
_NAME_BEFORE = re.compile(r"(?:[A-Z][\w.'’-]*\s)+$")
_NAME_AFTER = re.compile(r"(?:\s[A-Z][\w.'’-]*)+(?<![.'’-])")
_NOUN_AFTER = re.compile(r"[ -][a-z]{3,}(?: [a-z]{3,})?")


@dataclass(frozen=True)
class Phrase:
    """A phrase that may be its document's answer: probabilities by the reader (`score`) and by grammar, 0 where it was not named.

    `language` is the probability by a generative reader among all phrases of the document and no answer; None where it was not asked.
    """

    text: str
    place: Place
    score: float
    grammar: float = 0.0
    language: float | None = None

    @cached_property
    def key(self) -> str:
        return canonical(self.text)

    @cached_property
    def plain(self) -> str:
        return normal_form(self.text)


@dataclass(frozen=True)
class Dispute:
    """A value in which this document differs from a near copy: its place here, and the text and number of the other."""

    place: Place
    other: int
    other_place: Place


@dataclass
class Testimony:
    """One document as read for one question.

    Attributes:
        document: the document. group: its independent source, retellings included. copy: the same for near copies alone.
        subject: the entity it is headed by, if it has a heading.
        phrases: candidates, in the order of their places. no_answer, grammar_no_answer, language_no_answer: probabilities that the
            document answers nothing, by the reader, by grammar and by a generative reader (None where it was not asked).
        disputes: where near copies of it say something else.
    """

    document: Document
    group: int
    subject: Subject | None
    phrases: list[Phrase]
    no_answer: float
    grammar_no_answer: float = 0.5
    language_no_answer: float | None = None
    copy: int = 0
    disputes: list[Dispute] = field(default_factory=list)

    @cached_property
    def plain(self) -> str:
        """The whole text in normal form."""
        return normal_form(f"{self.document.title} {self.document.text}")

    @cached_property
    def heading(self) -> str:
        return heading(self.document.text)


def passage_of(document: Document) -> str:
    """What the reader reads: the text, under its title unless it begins with it."""
    title = document.title.strip()
    return document.text if not title or document.text.startswith(title) else f"{title} {document.text}"


def testimonies(
    documents: Sequence[Document],
    answers: Sequence[Answers],
    by_grammar: Sequence[Answers],
    copy_overlap: float,
    retold: Sequence[tuple[int, int]],
) -> list[Testimony]:
    """The documents with their candidate phrases: what the two readers named and its longer forms, what near copies change, and what other
    documents answer. `answers` and `by_grammar` are readings of `passage_of` each document; `retold` are pairs that are one source in
    other words. What retellings change is no dispute: they differ everywhere."""
    groups = source_groups(documents, copy_overlap, retold)
    copied = source_groups(documents, copy_overlap) if retold else groups
    found = []
    for document, group, copy, read, parsed in zip(documents, groups, copied, answers, by_grammar, strict=True):
        shift = len(passage_of(document)) - len(document.text)
        # An answer in the title alone is kept, at a place before the text.
        short = [span for span in read if len(span.text.split()) <= MOST_WORDS]
        phrases = [Phrase(span.text, (span.start - shift, span.end - shift), span.score) for span in short]
        phrases = _with_grammar(phrases, parsed, shift)
        found.append(Testimony(document, group, subject_of(document), phrases, read.no_answer, parsed.no_answer, copy=copy))
    for testimony in found:
        _add_extended(testimony)
    _add_disputes(found)
    _add_shared(found)
    for testimony in found:
        testimony.phrases.sort(key=lambda phrase: (phrase.place, -phrase.score))
    return found


def with_language(testimony: Testimony, logprobs: Sequence[float]) -> None:
    """Notes what a generative reader says of a document: log-probabilities of no answer and of each phrase, in their order."""
    odds = np.exp(np.asarray(logprobs) - max(logprobs))
    none, *each = (odds / odds.sum()).tolist()
    testimony.language_no_answer = none
    testimony.phrases = [replace(phrase, language=one) for phrase, one in zip(testimony.phrases, each, strict=True)]


def _with_grammar(phrases: list[Phrase], parsed: Answers, shift: int) -> list[Phrase]:
    spans = {normal_form(span.text): span for span in reversed(parsed[:BY_GRAMMAR])}
    joined = [replace(phrase, grammar=spans[phrase.plain].score) if phrase.plain in spans else phrase for phrase in phrases]
    known = {phrase.plain for phrase in phrases}
    new = [span for plain, span in spans.items() if plain not in known]
    return joined + [Phrase(span.text, (span.start - shift, span.end - shift), 0.0, span.score) for span in new]


def _add_extended(testimony: Testimony) -> None:
    """Adds the whole name of which a phrase is a part, and the number with the noun that it counts."""
    text = testimony.document.text
    best = sorted(testimony.phrases, key=lambda phrase: (-phrase.score - phrase.grammar, phrase.place))[:EXTENDED]
    for phrase in best:
        start, end = phrase.place
        if start < 0:
            continue
        if phrase.text[:1].isupper():
            before, after = _NAME_BEFORE.search(text[:start]), _NAME_AFTER.match(text, end)
            _add(testimony, (before.start() if before else start, after.end() if after else end))
        elif phrase.text[-1:].isdigit() and (noun := _NOUN_AFTER.match(text, end)):
            _add(testimony, (start, end + len(noun.group().split(" ")[1]) + 1 if noun.group()[0] == " " else noun.end()))


def _add_disputes(found: list[Testimony]) -> None:
    for i, first in enumerate(found):
        for j in range(i + 1, len(found)):
            second = found[j]
            if first.copy != second.copy:
                continue
            for variation in variations(first.document.text, second.document.text):
                first.disputes.append(Dispute(variation.first, j, variation.second))
                second.disputes.append(Dispute(variation.second, i, variation.first))
    for testimony in found:
        for place in sorted({dispute.place for dispute in testimony.disputes}):
            _add(testimony, place)


def _add_shared(found: list[Testimony]) -> None:
    """Looks for the likeliest answers of every document in the texts of the others."""
    named: dict[str, str] = {}
    for testimony in found:
        best = sorted(testimony.phrases, key=lambda phrase: (-phrase.score, -phrase.grammar, phrase.place))[:SHARED]
        named |= {phrase.plain: phrase.text for phrase in best if phrase.score >= LEAST_SHARED and phrase.plain}
    for testimony in found:
        known = {phrase.plain for phrase in testimony.phrases}
        for plain, text in sorted(named.items()):
            if plain not in known and contains(testimony.plain, plain):
                match = _pattern(text).search(testimony.document.text)
                if match is not None:
                    _add(testimony, match.span())


def _add(testimony: Testimony, place: Place) -> None:
    """Adds the phrase at a place unless one with its words or its place is there."""
    text = testimony.document.text[place[0] : place[1]]
    phrase = Phrase(text, place, 0.0)
    if phrase.plain and all(other.place != place and other.plain != phrase.plain for other in testimony.phrases):
        testimony.phrases.append(phrase)


def _pattern(text: str) -> re.Pattern[str]:
    pieces = re.findall(r"\w+|[^\w\s]", text)
    return re.compile(r"(?<!\w)" + r"\s*".join(map(re.escape, pieces)) + r"(?!\w)", re.IGNORECASE)


def disputed(testimony: Testimony, phrase: Phrase) -> list[Dispute]:
    """The disputes that a phrase takes part in."""
    return [dispute for dispute in testimony.disputes if overlap(phrase.place, dispute.place)]
