"""Values of a table: one normal form for spellings of one value, how close two values are, and how specific a value is."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Literal

Kind = Literal["plain", "number", "date", "time", "names", "category"]
KINDS: tuple[Kind, ...] = ("plain", "number", "date", "time", "names", "category")

# An attribute is a category when it has at most this many values, and each is asserted of this many items on average.
MOST_CATEGORIES = 12
ITEMS_PER_CATEGORY = 5
# Share of the values that must read as a kind before the kind is inferred.
INFER = 0.95

_NUMBER = re.compile(r"[$€£¥]?\s*([+-]?(?:\d{1,3}(?:[, \u00a0]\d{3})+(?!\d)|\d+)?(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*[%°$€£¥]?$")
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::\d{2})?\s*(am|pm|a\.m\.|p\.m\.)?$", re.IGNORECASE)
_DATES = ("%Y-%m-%d", "%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y", "%B %d %Y", "%Y/%m/%d", "%d.%m.%Y", "%B %Y", "%Y-%m", "%Y")
_BETWEEN_NAMES = re.compile(r"\s*(?:;|\||&|/|\band\b)\s*", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
_NAME_SUFFIXES = frozenset({"jr", "sr", "ii", "iii", "iv", "phd", "md", "dr", "prof"})


def plain(text: str) -> str:
    """Lower case, composed characters, single spaces, no punctuation at the ends."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).strip(" \t.,;:\"'")


def number(text: str) -> float | None:
    """The number that the whole text is, with a currency, per cent or degree sign at most; thousands may be separated.

    None otherwise: a number with a unit is compared as plain text, because equal numbers of different units are not equal.
    """
    match = _NUMBER.match(text.strip())
    try:
        value = float(re.sub(r"[, \u00a0]", "", match[1])) if match else math.inf
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def clock(text: str) -> int | None:
    """Minutes after midnight of `9:10`, `21:10` or `9:10 PM`; None where the text is no time of day."""
    match = _CLOCK.match(text.strip())
    if match is None:
        return None
    hour, minute, half = int(match[1]), int(match[2]), (match[3] or "").lower()[:1]
    if half:
        hour = hour % 12 + 12 * (half == "p")
    return 60 * hour + minute if hour < 24 and minute < 60 else None


def day(text: str) -> date | None:
    """The date of a day, or the first day of a month or year, in the usual written forms; None otherwise."""
    stripped = " ".join(text.replace("\u00a0", " ").split())
    for form in _DATES:
        try:
            return datetime.strptime(stripped, form).date()
        except ValueError:
            continue
    return None


def surnames(text: str) -> tuple[str, ...]:
    """The sorted surnames of a list of people: names end at `;`, `|`, `&`, `/` or `and`; `Last, First` and `First Last` are read.

    Commas separate names where a part holds more than one of them, or where the text before the only comma has several words.
    """
    found: set[str] = set()
    for part in _BETWEEN_NAMES.split(unicodedata.normalize("NFKC", text).casefold()):
        pieces = [words for piece in part.split(",") if (words := _name_words(piece))]
        if len(pieces) == 2 and len(pieces[0]) == 1:
            pieces = pieces[:1]
        found.update(words[-1] for words in pieces)
    return tuple(sorted(found))


def _name_words(name: str) -> list[str]:
    words = ["".join(_WORD.findall(word)) for word in name.split()]
    return [word for word in words if word and word not in _NAME_SUFFIXES]


def normalise(text: str, kind: Kind) -> str | None:
    """The normal form of a value; None where the text is empty. Text that does not read as its kind is taken as plain."""
    if not text.strip():
        return None
    if kind == "number" and (value := number(text)) is not None:
        return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
    if kind == "time" and (minutes := clock(text)) is not None:
        return f"{minutes // 60:02d}:{minutes % 60:02d}"
    if kind == "date" and (when := day(text)) is not None:
        return when.isoformat()
    if kind == "names":
        return " | ".join(surnames(text)) or None
    return plain(text) or None


def infer_kind(values: Sequence[str], items: int) -> Kind:
    """The kind of an attribute from all its values and the number of its items: `names` is never inferred."""
    spellings = Counter(plain(value) for value in values if value.strip())
    if not spellings:
        return "plain"
    if len(spellings) <= MOST_CATEGORIES and items >= ITEMS_PER_CATEGORY * len(spellings):
        return "category"
    total = sum(spellings.values())
    readers: tuple[tuple[Kind, Callable[[str], object]], ...] = (("time", clock), ("number", number), ("date", day))
    for kind, read in readers:
        if sum(count for value, count in spellings.items() if read(value) is not None) >= INFER * total:
            return kind
    return "plain"


def position(value: str, kind: Kind) -> float | None:
    """Where a normalised value lies on its scale (numbers; dates in days; times in minutes); None for other kinds."""
    if kind == "number":
        return number(value)
    if kind == "time":
        minutes = clock(value)
        return None if minutes is None else float(minutes)
    if kind == "date":
        when = day(value)
        return None if when is None else float(when.toordinal())
    return None


def overlap(a: str, b: str, kind: Kind) -> float:
    """Similarity in [0, 1] of two values without a scale: Jaccard index of their names or words; 0 for categories."""
    if kind == "category":
        return 0.0
    first, second = (set(v.split(" | ")) if kind == "names" else set(_WORD.findall(v)) for v in (a, b))
    union = len(first | second)
    return len(first & second) / union if union else 0.0


def specificity(value: str, kind: Kind) -> int:
    """Checkable details in a normalised value: names, digits that are not trailing zeros, or words; 0 for categories."""
    if kind == "category":
        return 0
    if kind == "names":
        return len(value.split(" | "))
    if kind == "number":
        digits = re.sub(r"\D", "", value.split("e")[0])
        return len(digits if "." in value else digits.rstrip("0")) or 1
    return len(_WORD.findall(value))
