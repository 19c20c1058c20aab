"""Where near copies of one text differ. An altered copy keeps the passage and changes a value: the difference is the disputed answer."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

Place = tuple[int, int]

# Longer differences are other passages and not other values.
LONGEST = 10
# Tokens of a text that are aligned; alignment takes time with their square.
MOST_TOKENS = 1500
_TOKEN = re.compile(r"\d[\d.,]*\d|\w+|[^\w\s]")


@dataclass(frozen=True)
class Variation:
    """One difference: `first` and `second` are the character places in the two texts where different words stand."""

    first: Place
    second: Place


def variations(a: str, b: str) -> list[Variation]:
    """The values in which two near copies differ, in order; insertions and deletions are none.

    Texts are aligned word by word, without case. Differences with nothing but punctuation between them are one value ("October 12, 1666"
    against "January 1, 1700").
    """
    first, second = list(_TOKEN.finditer(a))[:MOST_TOKENS], list(_TOKEN.finditer(b))[:MOST_TOKENS]
    matcher = difflib.SequenceMatcher(None, [t.group().lower() for t in first], [t.group().lower() for t in second], autojunk=False)
    merged: list[list[int]] = []
    for kind, i1, i2, j1, j2 in matcher.get_opcodes():
        if kind != "replace":
            continue
        gap = first[merged[-1][1] : i1] if merged else None
        same_gap = gap is not None and len(gap) == j1 - merged[-1][3]
        if gap and same_gap and all(not token.group()[0].isalnum() for token in gap):
            merged[-1][1], merged[-1][3] = i2, j2
        else:
            merged.append([i1, i2, j1, j2])
    return [
        Variation((first[i1].start(), first[i2 - 1].end()), (second[j1].start(), second[j2 - 1].end()))
        for i1, i2, j1, j2 in merged
        if i2 - i1 <= LONGEST and j2 - j1 <= LONGEST
    ]


def overlap(a: Place, b: Place) -> bool:
    """Whether two places share a character."""
    return a[0] < b[1] and b[0] < a[1]


def within(inner: Place, outer: Place) -> bool:
    """Whether the first place lies inside the second, or is it."""
    return outer[0] <= inner[0] and inner[1] <= outer[1]
