"""What a question asks for, by its words: the kind of answer, the names in it, and the words of its attribute."""

from __future__ import annotations

import re
from typing import Literal

from arbgraph.comparison.lexicon import MONTHS, STOP_WORDS

Asked = Literal["date", "number", "place", "person", "kind", "other"]
ASKED: tuple[Asked, ...] = ("date", "number", "place", "person", "kind", "other")

_PATTERNS: tuple[tuple[Asked, re.Pattern[str]], ...] = (
    ("date", re.compile(r"^\s*when\b", re.IGNORECASE)),
    ("place", re.compile(r"^\s*where\b", re.IGNORECASE)),
    (
        "kind",
        re.compile(
            r"\b(?:profession|occupation|job|sport|genre|type|kind|sort|nationality|language|party|medium|industry|gender|religion|ideology"
            r"|position|instrument|subject|purpose|function|activity|product)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "number",
        re.compile(
            r"\bhow (?:many|much|long|old|tall|far|big|large|high|deep|wide)\b"
            r"|\b(?:population|number|age|income|length|height|elevation|area|size)\b",
            re.IGNORECASE,
        ),
    ),
    ("person", re.compile(r"\b(?:who|whom|whose)\b", re.IGNORECASE)),
    ("place", re.compile(r"\b(?:located|location|place|city|town|state|country|county|province|region|birthplace)\b", re.IGNORECASE)),
    ("date", re.compile(r"\b(?:date|year|born|founded|day|month|century)\b", re.IGNORECASE)),
)
YEAR = re.compile(r"(?:1\d|20)\d\d")
MONTH = re.compile(rf"\b(?:{'|'.join(sorted(MONTHS, key=lambda word: (-len(word), word)))})\b", re.IGNORECASE)
_WORD = re.compile(r"\w+")


def asked_for(question: str) -> Asked:
    """The kind of answer that a question wants; "other" where its words do not tell."""
    for asked, pattern in _PATTERNS:
        if pattern.search(question):
            return asked
    return "other"


def names_in(question: str) -> frozenset[str]:
    """The words of the names in a question, lower-cased: capitalised words but the first, numbers, and quoted words."""
    quoted = [word for part in re.findall(r'"([^"]+)"', question) for word in _WORD.findall(part)]
    capitals = [word for word in _WORD.findall(question)[1:] if word[0].isupper() or word[0].isdigit()]
    return frozenset(word.lower() for word in (*quoted, *capitals)) - STOP_WORDS


def words_in(question: str) -> frozenset[str]:
    """The content words of a question, lower-cased."""
    return frozenset(word.lower() for word in _WORD.findall(question)) - STOP_WORDS


def stems_in(question: str) -> frozenset[str]:
    """The first five letters of its content words."""
    return frozenset(word[:5] for word in words_in(question))
