"""Quantities in a text: value as an interval, unit in SI base units, and what is counted."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache

from arbgraph.comparison.lexicon import APPROXIMATE, ORDINALS, PEOPLE, STOP_WORDS, numbered, rows, stem
from arbgraph.comparison.tokens import Token, inside

_ONES = numbered("numbers", "units", start=0)
_ONES |= {word: 10 * tens for word, tens in numbered("numbers", "tens", start=2).items()}
_SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "bn": 1e9, "mn": 1e6, "dozen": 12.0}
_SCALES |= {f"{word}s": value for word, value in _SCALES.items() if len(word) > 2}
_FRACTIONS = {"half": 1 / 2, "third": 1 / 3, "quarter": 1 / 4, "fifth": 1 / 5, "tenth": 1 / 10}
_FRACTIONS |= {"halves" if word == "half" else f"{word}s": value for word, value in _FRACTIONS.items()}
_CURRENCIES = {word: (currency, float(units)) for word, currency, units in rows("currencies.tsv")}
# Words before a number that change what it says, longest first; "more" and "fewer" exclude the number itself.
_PHRASES: tuple[tuple[tuple[str, ...], str], ...] = tuple(
    (tuple(phrase.split()), kind)
    for kind, phrases in (
        ("at least", ("no fewer than", "no less than", "not less than", "not fewer than")),
        ("at most", ("no more than", "not more than", "not exceeding")),
        ("below", ("just under", "just below", "a little under", "slightly under")),
        ("above", ("just over", "just above", "a little over", "slightly over", "slightly more than")),
        ("at least", ("at least", "a minimum of", "upwards of", "minimum")),
        ("at most", ("at most", "up to", "a maximum of", "maximum")),
        ("more", ("more than", "greater than", "larger than", "higher than", "well over", "in excess of", "over", "above", "exceeding")),
        ("fewer", ("fewer than", "less than", "lower than", "smaller than", "farther than", "under", "below")),
        ("below", ("nearly", "almost")),
        ("approx", ("close to",)),
    )
    for phrase in phrases
)

_NO_GROUPS = str.maketrans("", "", ", ")

# Factor and offset to SI base units, and the dimension.
Unit = tuple[float, float, str]


@dataclass(frozen=True)
class Quantity:
    """A value interval in base units. `dimension` is `count`, `ordinal`, `percent`, a currency, or a physical dimension.

    `low` and `high` include rounding and words such as "about" or "more than"; either may be infinite, and `strict` says that
    the finite end is excluded then. `noun` holds the stems that name what is counted, nearest first; `value` is the stated
    number in base units, or the middle of a range; `vague` marks ranges and approximations.
    """

    text: str
    value: float
    low: float
    high: float
    dimension: str
    noun: tuple[str, ...] = ()
    strict: bool = False
    vague: bool = False

    def agrees(self, other: Quantity) -> bool:
        """Whether both can hold of one thing: the intervals overlap by more than a touching end.

        A bound ("more than 74") is held against the number as stated, since writers bound the figure that they read.
        """
        if self.is_bound and not other.is_bound:
            low, high = (other.low, other.high) if other.vague else (other.value, other.value)
            return (self.low < high and low < self.high) or (not self.strict and (low == self.high or high == self.low))
        if other.is_bound and not self.is_bound:
            return other.agrees(self)
        if self.low == self.high or other.low == other.high:
            return self.low <= other.high and other.low <= self.high
        return self.low < other.high and other.low < self.high

    @property
    def is_bound(self) -> bool:
        """Whether the quantity is open on one side."""
        return math.isinf(self.low) or math.isinf(self.high)


@lru_cache(maxsize=1)
def _units() -> tuple[dict[tuple[str, ...], Unit], dict[tuple[str, ...], Unit]]:
    """Unit words (lower case) and unit symbols (as written) -> factor, offset and dimension in SI base units, computed by pint."""
    import pint

    registry = pint.UnitRegistry(autoconvert_offset_to_baseunit=True, cache_folder=None)

    def convert(expression: str) -> Unit:
        zero = registry.Quantity(0.0, expression).to_base_units()
        one = registry.Quantity(1.0, expression).to_base_units()
        return float(one.magnitude - zero.magnitude), float(zero.magnitude), str(one.dimensionality)

    words: dict[tuple[str, ...], Unit] = {}
    symbols: dict[tuple[str, ...], Unit] = {}
    for name, plural, expression, kind in rows("units.tsv"):
        unit = convert(expression)
        if kind == "symbol":
            symbols[tuple(name.split())] = unit
            continue
        for form in (name, plural or f"{name}s"):
            words[tuple(form.split())] = words[tuple(form.replace("metre", "meter").replace("litre", "liter").split())] = unit
    return words, symbols


def _find_unit(tokens: list[Token], i: int) -> tuple[Unit, int] | None:
    """The unit that starts at token i (longest first), as factor, offset, dimension, with the position after it."""
    if i >= len(tokens):
        return None
    words, symbols = _units()
    for length in (3, 2, 1):
        part = tokens[i : i + length]
        if len(part) < length:
            continue
        found = words.get(tuple(t.lower for t in part)) or symbols.get(tuple(t.raw for t in part))
        if found is not None:
            return found, i + length
    head, dash, tail = tokens[i].lower.partition("-")
    if dash and tail and (found := words.get((head,))):  # 12-metre-long
        return found, i + 1
    return None


def _place(digits: str) -> float:
    """Half a unit of the last significant digit of a number in digits."""
    if "." in digits:
        return 0.5 * 10.0 ** -len(digits.partition(".")[2])
    whole = digits.translate(_NO_GROUPS)
    return 0.5 * 10.0 ** (len(whole) - len(whole.rstrip("0"))) if whole.strip("0") else 0.5


def _read_number(tokens: list[Token], i: int) -> tuple[float, float, int] | None:
    """Value, half a unit of its last significant digit, and the position after the number that starts at token i, in digits or words."""
    token = tokens[i]
    if token.kind == "number":
        value = float(token.lower.translate(_NO_GROUPS))
        half = _place(token.lower)
        i += 1
    else:
        word = token.lower
        if word in ("a", "an") and i + 1 < len(tokens) and tokens[i + 1].lower in _SCALES:
            value, half, i = 1.0, 0.5, i + 1
        elif word == "half" and i + 2 < len(tokens) and tokens[i + 1].lower in ("a", "an") and tokens[i + 2].lower in _SCALES:
            value, half, i = 0.5, 0.05, i + 2
        elif _is_small(word):
            value, half, i = _read_small(tokens, i)
        else:
            return None
    return _apply_scales(tokens, i, value, half)


def _is_small(word: str) -> bool:
    """Whether a word is a number below a hundred: seven, twenty, twenty-seven (but not five-hundred)."""
    head, hyphen, tail = word.partition("-")
    return head in _ONES and (not hyphen or tail in _ONES)


def _read_small(tokens: list[Token], i: int) -> tuple[float, float, int]:
    head, _, tail = tokens[i].lower.partition("-")
    value = float(_ONES[head] + (_ONES[tail] if tail else 0))
    i += 1
    if not tail and value >= 20 and i < len(tokens) and 0 < _ONES.get(tokens[i].lower, 0) < 10:
        value, i = value + _ONES[tokens[i].lower], i + 1
    return value, 0.5, i


def _apply_scales(tokens: list[Token], i: int, value: float, half: float) -> tuple[float, float, int]:
    total = 0.0
    while i < len(tokens) and tokens[i].lower in _SCALES:
        scale = _SCALES[tokens[i].lower]
        value, half, i = value * scale, half * scale, i + 1
        j = i + 1 if i < len(tokens) and tokens[i].lower == "and" else i
        if scale in (1e2, 1e3) and j < len(tokens) and _is_small(tokens[j].lower):
            small, _, after = _read_small(tokens, j)
            if scale == 1e2 or (after < len(tokens) and tokens[after].lower in ("hundred", "hundreds")):
                if scale == 1e2:
                    value, half, i = value + small, 0.5, after
                else:
                    total, value, half, i = total + value, small, 0.5, after
    return total + value, half, i


def _modifier(tokens: list[Token], i: int) -> str | None:
    """What the words just before token i say of the number there: approx, below, above, min, max, exact, or None."""
    before = [t.lower for t in tokens[max(0, i - 4) : i]]
    if before and before[-1] == "a":
        before = before[:-1]
    for words, kind in _PHRASES:
        if tuple(before[-len(words) :]) == words:
            return kind
    if before and (before[-1] in APPROXIMATE):
        return "approx"
    return None


def _widen(kind: str | None, value: float, half: float, *, exact: bool) -> tuple[float, float]:
    """The interval that a number with its modifier leaves open.

    A plain number is rounded to its last significant digit, but to no more than 2.5 percent; a plain count of things is exact
    where it has no trailing zeros. "About" doubles the rounding, to at most 10 percent: "about 320" is vaguer than "320" and
    far less vague than "about 300".
    """
    size = abs(value)
    plain = 0.0 if exact and (half <= 0.5 or size < 100) else min(half, 0.025 * size if half > 0.5 else 0.05 * size)
    vague = max(plain, min(2 * half, 0.1 * size))
    return {
        "approx": (value - vague, value + vague),
        "below": (value - vague, value + plain),
        "above": (value - plain, value + vague),
        "more": (value, math.inf),
        "at least": (value, math.inf),
        "fewer": (-math.inf, value),
        "at most": (-math.inf, value),
    }.get(kind or "", (value - plain, value + plain))


def _counted(token: Token) -> str:
    word = token.lower.removesuffix("'s")
    return "people" if word in PEOPLE else stem(word)


def _noun(tokens: list[Token], i: int) -> tuple[str, ...]:
    """Stems of up to three content words from token i on, up to a function word, a number or a mark."""
    stems: list[str] = []
    for token in tokens[i : i + 4]:
        if token.kind == "word" and token.lower == "of" and not stems:
            continue
        if token.kind != "word" or token.lower in STOP_WORDS or len(stems) == 3:
            break
        stems.append(_counted(token))
    return tuple(stems)


def _noun_before(tokens: list[Token], i: int) -> tuple[str, ...]:
    """Stems of up to two content words before token i, for "a population of 300" and "the score was 12"."""
    stems: list[str] = []
    for token in reversed(tokens[max(0, i - 6) : i]):
        if token.kind != "word":
            break
        if token.lower not in STOP_WORDS:
            stems.append(_counted(token))
            if len(stems) == 2:
                break
    return tuple(stems)


def read_quantities(text: str, tokens: list[Token], taken: list[tuple[int, int]]) -> list[Quantity]:
    """The quantities among the tokens that no date has taken (character spans)."""
    taken_tokens = inside(tokens, taken)
    found: list[Quantity] = []
    i = 0
    while i < len(tokens):
        if taken_tokens[i]:
            i += 1
            continue
        step = _read_quantity(text, tokens, i, found)
        if step is None:
            i += 1
        else:
            i = step
    return found


def _read_quantity(text: str, tokens: list[Token], i: int, found: list[Quantity]) -> int | None:
    token = tokens[i]
    fraction = _read_fraction(text, tokens, i)
    if fraction is not None:
        found.append(fraction[0])
        return fraction[1]
    if token.lower in ORDINALS or _is_ordinal(tokens, i):
        value = float(ORDINALS.get(token.lower) or token.lower)
        after = i + 1 if token.lower in ORDINALS else i + 2
        found.append(Quantity(token.raw, value, value, value, "ordinal", _noun(tokens, after)))
        return after
    if token.lower == "one" and not _noun(tokens, i + 1) and _find_unit(tokens, i + 1) is None:
        return None  # "one of them", "this one"
    clock = _read_clock(text, tokens, i)
    if clock is not None:
        found.append(clock[0])
        return clock[1]
    number = _read_number(tokens, i)
    if number is None:
        return None
    value, half, after = number
    if _is_score(tokens, i):
        value += float(tokens[i + 2].lower) / 1000
        found.append(Quantity(text[token.start : tokens[i + 2].end], value, value, value, "score"))
        return i + 3
    upper = _read_upper(tokens, i, after)
    if upper is None:
        return _finish(text, tokens, i, after, (value, half, None), found)
    top, top_half, after = upper
    if tokens[after - 1].lower in _SCALES and tokens[after - 3].lower not in _SCALES and top > 100 * value:
        scale = _SCALES[tokens[after - 1].lower]  # "4 to 6 million": the scale belongs to both ends
        value, half = value * scale, half * scale
    return _finish(text, tokens, i, after, (value, max(half, top_half), top), found)


def _read_clock(text: str, tokens: list[Token], i: int) -> tuple[Quantity, int] | None:
    """A time of day (9:30, 9:30 p.m., 6 am) in minutes after midnight."""
    part = tokens[i : i + 4]
    if part[0].kind != "number" or not part[0].lower.isdigit() or int(part[0].lower) > 24:
        return None
    minutes, after = 60 * int(part[0].lower), i + 1
    if len(part) > 2 and part[1].lower == ":" and len(part[2].lower) == 2 and part[2].lower.isdigit() and int(part[2].lower) < 60:
        minutes, after = minutes + int(part[2].lower), i + 3
    half_day = re.match(r"\s*([ap])\.?m\b\.?", text[tokens[after - 1].end :], re.IGNORECASE)
    if half_day is None and after == i + 1:
        return None
    end = tokens[after - 1].end
    if half_day is not None:
        minutes = minutes % 720 + (720 if half_day[1].lower() == "p" else 0)
        end += half_day.end()
        while after < len(tokens) and tokens[after].start < end:
            after += 1
    return Quantity(text[tokens[i].start : end], minutes, minutes, minutes, "time of day"), after


def _is_score(tokens: list[Token], i: int) -> bool:
    """Whether a number, a hyphen and a smaller number stand without spaces: a score (3-1) or a model (747-8), no range."""
    part = tokens[i : i + 3]
    if [t.kind for t in part] != ["number", "symbol", "number"] or part[1].lower != "-" or part[0].end != part[2].start - 1:
        return False
    return float(part[2].lower.translate(_NO_GROUPS)) <= float(part[0].lower.translate(_NO_GROUPS))


def _is_ordinal(tokens: list[Token], i: int) -> bool:
    if tokens[i].kind != "number" or i + 1 >= len(tokens) or not tokens[i].lower.isdigit():
        return False
    return tokens[i + 1].lower in ("st", "nd", "rd", "th") and tokens[i + 1].start == tokens[i].end


def _read_upper(tokens: list[Token], i: int, after: int) -> tuple[float, float, int] | None:
    """The upper end of "4 to 6", "4-6" and "between 4 and 6", when it is the larger one."""
    if after + 1 >= len(tokens) or tokens[after].lower not in ("to", "-", "and"):
        return None
    if tokens[after].lower == "and" and (i == 0 or tokens[i - 1].lower != "between"):
        return None
    upper = _read_number(tokens, after + 1)
    lower = _read_number(tokens, i)
    return upper if upper is not None and lower is not None and upper[0] > lower[0] else None


def _read_fraction(text: str, tokens: list[Token], i: int) -> tuple[Quantity, int] | None:
    """Shares: half, a third, two thirds, three-quarters, every second, one in five, nine out of ten; ratings: 7.5/10."""
    word = tokens[i].lower
    following = tokens[i + 1].lower if i + 1 < len(tokens) else ""
    share, after, half, dimension = None, i + 1, 2.0, "percent"
    head, _, tail = word.partition("-")
    if word == "half" and following not in ("a", "an"):
        share = 0.5
    elif tail in _FRACTIONS and head in _ONES:
        share = _ONES[head] * _FRACTIONS[tail]
    elif (word in ("a", "an", "one") or word in _ONES) and following in _FRACTIONS:
        closing = tokens[i + 2].lower if i + 2 < len(tokens) else ""
        if closing == "of" or following.endswith("s"):
            share, after = _ONES.get(word, 1) * _FRACTIONS[following], i + 2
    elif word == "every" and following in ("second", "third", "fourth", "fifth", "tenth"):
        share, after = 1 / ORDINALS[following], i + 2
    elif word in _ONES or tokens[i].kind == "number":
        ratio = _read_ratio(tokens, i)
        if ratio is not None:
            share, after, half = ratio
            if not _noun(tokens, after) and tokens[i].kind == "number" and following != "in":
                dimension = "rating"
    if share is None or share > 1:
        return None
    kind = _modifier(tokens, i)
    low, high = _widen(kind, 100 * share, half, exact=False)
    phrase = text[tokens[i].start : tokens[after - 1].end]
    noun = _noun(tokens, after) if dimension == "percent" else ()
    strict, vague = kind in ("more", "fewer"), half == 2.0
    return Quantity(phrase, 100 * share, low, high, dimension, noun, strict=strict, vague=vague), after


def _read_ratio(tokens: list[Token], i: int) -> tuple[float, int, float] | None:
    """The share in "one in five", "nine out of ten" and "7.5/10", the position after it, and its rounding in percent."""
    following = [t.lower for t in tokens[i + 1 : i + 3]]
    j = i + 3 if following == ["out", "of"] else i + 2 if following[:1] in (["in"], ["/"]) else None
    if j is None or j >= len(tokens):
        return None
    part, whole = _read_number(tokens, i), _read_number(tokens, j)
    limit = 20 if following[0] == "in" else 1000
    if part is None or whole is None or part[2] != i + 1 or not 0 < part[0] <= whole[0] <= limit or whole[0] == 1:
        return None
    digits = tokens[i].kind == "number" and tokens[j].kind == "number"
    return part[0] / whole[0], whole[2], 100 * part[1] / whole[0] if digits and part[1] <= 0.5 else 2.0


def _finish(text: str, tokens: list[Token], i: int, after: int, number: tuple[float, float, float | None], found: list[Quantity]) -> int:
    """Attaches the unit or the counted noun to a number, appends the quantity, and returns the position after it.

    `number` is the value, half a unit of its last digit, and the upper end of a range or None.
    """
    value, half, top = number
    start, start_after = i, after
    if after + 1 < len(tokens) and tokens[after].lower == "-" and _find_unit(tokens, after + 1):  # 12-metre
        after += 1
    following = [t.lower for t in tokens[after : after + 2]] + ["", ""]
    before = tokens[i - 1].lower if i else ""
    unit = _unit_or_inherited(tokens, after)
    dimension, noun, factor, offset = "count", (), 1.0, 0.0
    if following[0] in ("%", "percent", "percentage", "pc") or following[:2] == ["per", "cent"]:
        after += 2 if following[0] == "per" else 1
        if after < len(tokens) and tokens[after].lower in ("point", "points"):
            dimension, after = "percentage points", after + 1
        else:
            dimension, noun = "percent", _noun(tokens, after)
    elif before in _CURRENCIES and not before.isalpha():
        (dimension, factor), start = _CURRENCIES[before], i - 1
    elif following[0] in _CURRENCIES:
        (dimension, factor), after = _CURRENCIES[following[0]], after + 1
    elif unit is not None:
        (factor, offset, dimension), after = unit
        if before == "minus" or (offset and before == "-"):
            value, start = -value, i - 1
    else:
        after = start_after
        noun = _noun(tokens, after) or _noun_before(tokens, i)
    kind = _modifier(tokens, start)
    low, high = _widen(kind, value, half, exact=dimension == "count")
    if top is not None:
        slack = high - value if math.isfinite(high) else 0.0
        value, low, high = (value + top) / 2, value - slack, top + slack
    rate = _find_rate(tokens, after) if dimension not in ("count", "percent") else None
    if rate is not None:
        (divisor, _, per), after = rate
        factor, dimension = factor / divisor, f"{dimension} / {per}"
    quantity = Quantity(
        text[tokens[start].start : tokens[after - 1].end],
        value * factor + offset,
        low * factor + offset,
        high * factor + offset,
        dimension,
        noun,
        strict=kind in ("more", "fewer"),
        vague=top is not None or kind in ("approx", "below", "above"),
    )
    if found and _continues(found[-1], quantity, text, tokens[i].start):
        previous = found.pop()
        total = previous.value + quantity.value
        spread = (quantity.high - quantity.low) / 2
        quantity = Quantity(f"{previous.text} {quantity.text}", total, total - spread, total + spread, quantity.dimension, noun)
    found.append(quantity)
    return after


def _unit_or_inherited(tokens: list[Token], i: int) -> tuple[Unit, int] | None:
    """The unit at token i, or that of the next number in "from 9.1 to 7.4 percent"; then nothing more is consumed."""
    unit = _find_unit(tokens, i)
    if unit is not None or i + 2 >= len(tokens) or tokens[i].lower not in ("to", "and", "or"):
        return unit
    other = _read_number(tokens, i + 1)
    if other is None or other[2] >= len(tokens):
        return None
    if tokens[other[2]].lower in ("%", "percent", "pc"):
        return (1.0, 0.0, "percent"), i
    inherited = _find_unit(tokens, other[2])
    return None if inherited is None else (inherited[0], i)


def _find_rate(tokens: list[Token], i: int) -> tuple[Unit, int] | None:
    if i + 1 >= len(tokens) or tokens[i].lower not in ("per", "/", "a", "an"):
        return None
    return _find_unit(tokens, i + 1)


def _continues(previous: Quantity, quantity: Quantity, text: str, start: int) -> bool:
    """Whether a quantity goes on with a smaller unit: eight minutes and twenty seconds, 5 feet 10 inches."""
    if previous.dimension != quantity.dimension or not previous.dimension.startswith("[") or not quantity.value < previous.value:
        return False
    place = text.rfind(previous.text, 0, start)
    between = text[place + len(previous.text) : start].strip().lower()
    return place >= 0 and between in ("", "and", ",")
