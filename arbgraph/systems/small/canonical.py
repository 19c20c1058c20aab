"""Canonical answers: one key for the spellings of a value, and when two answers say the same."""

from __future__ import annotations

import re

from arbgraph.systems.readings import contains, normal_form
from arbgraph.values import day, normalise, number

_DAY = re.compile(r"\b\d{1,2}(?:st|nd|rd|th)?\b.*\b\d{4}\b|\b\d{4}-\d{2}-\d{2}\b")


def canonical(answer: str) -> str:
    """One key for the spellings of a value: numbers without separators, full dates as ISO dates, all else in normal form.

    "4,411" and "4411" share a key, so do "5 January 1884" and "January 5, 1884". A month or year alone is no full date.
    """
    text = re.sub(r"\s+([,.])", r"\1", answer.strip())
    if number(text) is not None:
        return normalise(text, "number") or normal_form(text)
    if _DAY.search(text):
        when = day(re.sub(r"(?<=\d)(?:st|nd|rd|th)\b", "", text))
        if when is not None:
            return when.isoformat()
    return normal_form(text)


def same_answer(a: str, b: str) -> bool:
    """Whether two answers say the same: equal keys, or one holds the other as whole words ("Girls" and "All-girls", "887 people").

    The longer one is then the more specific spelling.
    """
    first, second = canonical(a), canonical(b)
    if first == second:
        return True
    plain_first, plain_second = _spread(a), _spread(b)
    return contains(plain_first, plain_second) or contains(plain_second, plain_first)


def _spread(answer: str) -> str:
    """The normal form in which hyphens separate words."""
    return normal_form(re.sub(r"[-–/]", " ", answer))
