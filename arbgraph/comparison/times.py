"""Years and dates in a text, as intervals that can be compared."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import date

from arbgraph.comparison.lexicon import MONTHS, ORDINALS, numbered

_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_WORD_ORDINAL = "|".join(ORDINALS)
_DECADES = {word: 1900 + 10 * tens for word, tens in numbered("numbers", "decades", start=2).items()}
# First and last month of each part of a year; wide, as writers use the words loosely.
_PARTS = {"early": (1, 5), "mid": (4, 9), "late": (8, 12), "spring": (2, 6), "summer": (5, 9), "autumn": (8, 12), "fall": (8, 12)}
_YEAR = r"1[0-9]{3}|20[0-9]{2}"

_PATTERN = re.compile(
    rf"""
      (?P<iso>\b(?P<iso_y>{_YEAR})-(?P<iso_m>0[1-9]|1[0-2])-(?P<iso_d>[0-3]\d)\b)
    | (?P<dmy>\b(?:(?P<dmy_d>[0-3]?\d)(?:st|nd|rd|th)?|(?P<dmy_w>{_WORD_ORDINAL}))\s+(?:day\s+)?(?:of\s+)?
              (?P<dmy_m>{_MONTH})\b\.?(?:,?\s+(?:of\s+)?(?P<dmy_y>{_YEAR})\b)?)
    | (?P<mdy>\b(?P<mdy_m>{_MONTH})\b\.?\s+(?:the\s+)?(?P<mdy_d>[0-3]?\d)(?:st|nd|rd|th)?\b(?!,\d{{3}})(?:,?\s+(?P<mdy_y>{_YEAR})\b)?)
    | (?P<my>\b(?P<my_m>{_MONTH})\b\.?,?\s+(?:of\s+)?(?P<my_y>{_YEAR})\b)
    | (?P<decade>\b(?:the\s+)?(?:(?:early|mid|late)[\s-]+)?(?:(?P<dec_y>(?:1\d|20)\d0)s|(?<=the\ )(?P<dec_w>{"|".join(_DECADES)}))\b)
    | (?P<century>\b(?:(?P<cen_n>\d{{1,2}})(?:st|nd|rd|th)|(?P<cen_t>twenty-)?(?P<cen_w>{_WORD_ORDINAL}))[\s-]century\b)
    | (?P<range>\b(?P<ran_a>{_YEAR})\s*(?:-|\bto\b|\buntil\b|\band\b)\s*(?P<ran_b>{_YEAR}|\d\d)\b(?!-))
    | (?P<part>\b(?P<par_w>early|mid|late|spring|summer|autumn|fall)[\s-]+(?:of\s+|in\s+)?(?P<par_y>{_YEAR})\b)
    | (?P<year>(?<![\d.,$€£-])\b(?P<yea_y>{_YEAR})\b(?![\d%°]|[.,]\d))
    | (?P<month>\b(?P<mon_m>{_MONTH})\b)
    """,
    re.VERBOSE | re.IGNORECASE,
)
# Characters that the patterns below look back from a time; searching from the start of a long text would take quadratic time.
_BACK = 48
# Words after which a four-digit number is a year whatever follows.
_BEFORE_YEAR = re.compile(
    r"\b(?:in|since|until|till|during|circa|c\.|year|summer|winter|autumn|spring|early|mid|late|by|from|before|after)\s+$", re.IGNORECASE
)
# One or two words, the last a plural by its form, or a plural or unit that shows no -s.
_AFTER_COUNT = re.compile(
    r"\s+(?:[a-z]+\s+(?:and\s+)?)?(?!(?:was|is|has|its|his|as|us|this|does|always|perhaps|thus|less|plus|across)\b)[a-z]+s\b"
    r"|\s+(?:people|men|women|children|sheep|cattle|staff|km|kg|m|ft|percent|per)\b"
)
_OPEN = re.compile(
    r"\b(since|after|from|as of|as from|before|until|till|by|up to|prior to|no later than)"
    r"\s+(?:the\s+)?(?:end\s+of\s+|start\s+of\s+)?$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class TimeSpan:
    """A time named in a text. `start` and `end` are days (proleptic ordinals); infinite when open, NaN without a year.

    `point` is the same interval without "since", "until" and the like. Year, month and day are None where not stated.
    """

    text: str
    start: float
    end: float
    point: tuple[float, float]
    year: int | None = None
    month: int | None = None
    day: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether the time is a bound: since, after, before, until."""
        return math.isinf(self.start) or math.isinf(self.end)

    def compatible(self, other: TimeSpan, *, open_ended: bool = False) -> bool:
        """Whether both can name one time: intervals overlap or, without a year, what both state of month and day is equal."""
        if math.isnan(self.start) or math.isnan(other.start):
            months = self.month is None or other.month is None or self.month == other.month
            return months and (self.day is None or other.day is None or self.day == other.day)
        if open_ended:
            return self.start <= other.end and other.start <= self.end
        return self.point[0] <= other.point[1] and other.point[0] <= self.point[1]


def _month_end(year: int, month: int) -> int:
    return (date(year + 1, 1, 1) if month == 12 else date(year, month + 1, 1)).toordinal() - 1


def _bounds(year: int, month: int, day: int | None) -> tuple[float, float] | None:
    try:
        first = date(year, month, day or 1).toordinal()
    except ValueError:  # 31 February
        return None
    return first, first if day else _month_end(year, month)


def _opened(word: str, start: float, end: float) -> tuple[float, float]:
    """The interval after the word before a time: "before" and "after" leave the time itself out."""
    if word in ("before", "prior to"):
        return -math.inf, start - 1
    if word == "after":
        return end + 1, math.inf
    return (start, math.inf) if word in ("since", "from", "as of", "as from") else (-math.inf, end)


def _year_is_count(text: str, match: re.Match[str]) -> bool:
    if _BEFORE_YEAR.search(text, max(0, match.start() - _BACK), match.start()):
        return False
    return _AFTER_COUNT.match(text, match.end()) is not None


Reading = tuple[int | None, int | None, int | None, tuple[float, float] | None]


def _years(first: int, last: int) -> tuple[float, float]:
    return date(max(1, first), 1, 1).toordinal(), date(last, 12, 31).toordinal()


def _day_reading(group: dict[str, str | None], kind: str) -> Reading | None:
    word, digits, year, month = (group.get(f"{kind}_{part}") for part in "wdym")
    day = int(digits) if digits else ORDINALS[word.lower()] if word else None
    if month is None or (day is not None and not 1 <= day <= 31):
        return None
    number = int(month) if month.isdigit() else MONTHS[month.lower()]
    if year is None:
        return None, number, day, None
    bounds = _bounds(int(year), number, day)
    return bounds and (int(year), number, day, bounds)


def _period_reading(group: dict[str, str | None], kind: str) -> Reading | None:
    if kind == "decade":
        first = int(group["dec_y"] or _DECADES[str(group["dec_w"]).lower()])
        return None, None, None, _years(first, first + 9)
    if kind == "century":
        number = int(group["cen_n"] or ORDINALS[str(group["cen_w"]).lower()] + (20 if group["cen_t"] else 0))
        return (None, None, None, _years(100 * number - 99, 100 * number)) if 1 <= number <= 30 else None
    if kind == "range":
        first, last = str(group["ran_a"]), str(group["ran_b"])
        end = int(first[:2] + last if len(last) == 2 else last)
        return (None, None, None, _years(int(first), end)) if end >= int(first) else None
    year, (first_month, last_month) = int(str(group["par_y"])), _PARTS[str(group["par_w"]).lower()]
    return year, None, None, (date(year, first_month, 1).toordinal(), _month_end(year, last_month))


def _reading(text: str, match: re.Match[str]) -> Reading | None:
    """Year, month, day and bounds (None without a year) of one match, or None when the match is no time."""
    kind = next(name for name in _KINDS if match[name])
    group = match.groupdict()
    if kind in ("iso", "dmy", "mdy", "my"):
        return _day_reading(group, kind)
    if kind in ("decade", "century", "range", "part"):
        return _period_reading(group, kind)
    if kind == "year":
        year = int(group["yea_y"])
        return None if _year_is_count(text, match) else (year, None, None, _years(year, year))
    word = group["mon_m"]
    ambiguous = word.lower() in ("may", "march", "mar", "jan", "dec", "sep", "sept")
    if not word[0].isupper() or (ambiguous and not _BEFORE_MONTH.search(text, max(0, match.start() - _BACK), match.start())):
        return None
    return None, MONTHS[word.lower()], None, None


_KINDS = ("iso", "dmy", "mdy", "my", "decade", "century", "range", "part", "year", "month")
_BEFORE_MONTH = re.compile(r"\b(?:in|since|until|by|from|of|during|last|next|early|late|mid|every|each)\s+$", re.IGNORECASE)


def read_times(text: str) -> tuple[list[TimeSpan], frozenset[int], list[tuple[int, int]]]:
    """The times named in a text, the years written out as numbers, and the character spans used."""
    spans: list[TimeSpan] = []
    used: list[tuple[int, int]] = []
    years: set[int] = set()
    for match in _PATTERN.finditer(text):
        read = _reading(text, match)
        if read is None:
            continue
        year, month, day, bounds = read
        used.append(match.span())
        years.update(int(number) for number in re.findall(rf"\b(?:{_YEAR})\b", match[0]))
        if bounds is None:
            spans.append(TimeSpan(match[0], math.nan, math.nan, (math.nan, math.nan), None, month, day))
            continue
        start, end = bounds
        relation = _OPEN.search(text, max(0, match.start() - _BACK), match.start())
        if relation is not None and not match["range"]:
            start, end = _opened(relation[1].lower(), start, end)
        spans.append(TimeSpan(match[0], start, end, bounds, year, month, day))
    return spans, frozenset(years), used
