"""Words, numbers, codes and marks of a text, with their places."""

from __future__ import annotations

import re
from typing import NamedTuple

_TOKEN = re.compile(
    r"(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?<!\d)\d{1,3}(?: \d{3})+(?!\d)|\d+(?:\.\d+)?)"
    r"|(?P<code>[A-Za-z]{1,6}-?\d[\w]*)"
    r"|(?P<word>(?:[A-Z]\.){2,}|[A-Z]\.(?= [A-Z])|(?:Mr|Mrs|Ms|Dr|St|Prof|Jr|Sr|No)\.|[^\W\d_]+(?:['&.-][^\W\d_]+)*)"
    r"|(?P<symbol>[$€£¥%°~]|[^\w\s]|_)"
)


class Token(NamedTuple):
    """A word, number, code (letters with digits) or symbol: its lower case, its form in the text and its place."""

    kind: str
    lower: str
    raw: str
    start: int
    end: int


def tokenize(text: str) -> list[Token]:
    """The tokens of a text, in order."""
    return [Token(m.lastgroup or "symbol", m[0].lower(), m[0], m.start(), m.end()) for m in _TOKEN.finditer(text)]


def inside(tokens: list[Token], spans: list[tuple[int, int]]) -> list[bool]:
    """For each token, whether it starts inside one of the character spans, which do not overlap."""
    remaining = sorted(spans, reverse=True)
    flags = []
    for token in tokens:
        while remaining and remaining[-1][1] <= token.start:
            remaining.pop()
        flags.append(bool(remaining) and remaining[-1][0] <= token.start)
    return flags
