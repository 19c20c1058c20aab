"""Dates, numbers and units: one value, many wordings that all mean it (or contain it)."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"]
SEASONS = {
    12: "winter",
    1: "winter",
    2: "winter",
    3: "spring",
    4: "spring",
    5: "spring",
    6: "summer",
    7: "summer",
    8: "summer",
    9: "autumn",
    10: "autumn",
    11: "autumn",
}
ONES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
TENS = ["zero", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
ORDINALS = [
    "zeroth",
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
    "seventeenth",
    "eighteenth",
    "nineteenth",
    "twentieth",
]


def spell(n: int) -> str:
    """The English words of 0 <= n < 1000, British style ('three hundred and five')."""
    if not 0 <= n < 1000:
        raise ValueError(f"spell takes 0 to 999, got {n}")
    if n < 20:
        return ONES[n]
    if n < 100:
        return TENS[n // 10] + (f"-{ONES[n % 10]}" if n % 10 else "")
    rest = f" and {spell(n % 100)}" if n % 100 else ""
    return f"{ONES[n // 100]} hundred{rest}"


def ordinal(n: int) -> str:
    """'1st', '22nd', '13th'."""
    suffix = "th" if 10 <= n % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{suffix}"


def number(n: float, decimals: int = 0) -> str:
    """Digits with thousands separators, without trailing zeros."""
    text = f"{n:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text


def count(n: int, rng: Random) -> str:
    """A count as digits, or in words below 100."""
    return spell(n) if n < 100 and rng.random() < (0.8 if n <= 12 else 0.3) else number(n)


@dataclass(frozen=True, order=True)
class Day:
    """A calendar day (1 <= day <= 28, so that every month has it)."""

    year: int
    month: int
    day: int

    @classmethod
    def draw(cls, rng: Random, first: int, last: int) -> Day:
        """A day with first <= year <= last."""
        return cls(rng.randint(first, last), rng.randint(1, 12), rng.randint(1, 28))


def on_day(date: Day, rng: Random) -> str:
    """The full date, with preposition."""
    month = MONTHS[date.month - 1]
    return rng.choice(
        (
            f"on {date.day} {month} {date.year}",
            f"on {month} {date.day}, {date.year}",
            f"on the {ordinal(date.day)} of {month} {date.year}",
            f"on {date.day} {month} {date.year}",
            f"on {month} {ordinal(date.day)}, {date.year}",
        )
    )


def in_month(date: Day, rng: Random) -> str:
    """A period of at most a season that contains the date, with preposition."""
    month = MONTHS[date.month - 1]
    options = [f"in {month} {date.year}", f"in {month} {date.year}", f"in {month} of {date.year}"]
    part = "early" if date.day <= 9 else "late" if date.day >= 20 else "mid"
    options.append(f"in {part}{'-' if part == 'mid' else ' '}{month} {date.year}")
    if date.month not in (1, 2, 12) and rng.random() < 0.6:
        season = SEASONS[date.month]
        options.append(f"in the {season} of {date.year}")
        options.append(f"in {season} {date.year}")
    if date.month in (1, 12) and rng.random() < 0.7:
        options.append(f"{'at the start' if date.month == 1 else 'at the very end'} of {date.year}")
    return rng.choice(options)


def in_year(date: Day, rng: Random) -> str:
    """The year, sometimes the half or third of it that contains the date."""
    year = date.year
    half = "first" if date.month <= 6 else "second"
    end = "early" if date.month <= 3 else "late" if date.month >= 10 else ""
    part = f"in {end} {year}" if end else f"in the {half} half of {year}"
    return rng.choice((f"in {year}", f"in {year}", f"in {year}", f"in the year {year}", part, f"in the {half} half of {year}"))


def in_decade(date: Day, rng: Random) -> str:
    """A decade, a part of one, or a period of up to six years that contains the year."""
    year = date.year
    decade, within = year // 10 * 10, year % 10
    part = "early" if within <= 3 else "late" if within >= 7 else "mid"
    options = [f"between {year - rng.randint(1, 3)} and {year + rng.randint(1, 3)}"]
    if decade % 100:  # 'the 1900s' may mean the century
        options += [f"in the {decade}s", f"in the {decade}s", f"in the {part}{'-' if part == 'mid' else ' '}{decade}s"]
    return rng.choice(options)


def century_part(date: Day) -> str:
    """The third of the century that contains the year; 'the middle' is 1930 to 1969 and the like."""
    within = date.year % 100
    third = "early" if within < 30 else "late" if within >= 70 else "middle of the"
    return f"in the {third} {ordinal(date.year // 100 + 1)} century"


@dataclass(frozen=True)
class Unit:
    """A unit: singular-free name, its size in the base unit of the family."""

    name: str
    size: float


# base unit first; factors are the exact definitions
UNITS: dict[str, tuple[Unit, ...]] = {
    "length": (Unit("metres", 1.0), Unit("feet", 0.3048), Unit("m", 1.0), Unit("ft", 0.3048), Unit("yards", 0.9144), Unit("meters", 1.0)),
    "distance": (Unit("kilometres", 1.0), Unit("miles", 1.609344), Unit("km", 1.0), Unit("kilometers", 1.0), Unit("nautical miles", 1.852)),
    "mass": (Unit("kilograms", 1.0), Unit("kg", 1.0), Unit("pounds", 0.45359237), Unit("lb", 0.45359237), Unit("kilos", 1.0)),
    "load": (Unit("tonnes", 1.0), Unit("kilograms", 0.001), Unit("metric tons", 1.0), Unit("pounds", 0.00045359237)),
    "area": (Unit("hectares", 1.0), Unit("acres", 0.40468564224), Unit("square kilometres", 100.0), Unit("ha", 1.0)),
    "volume": (
        Unit("litres", 1.0),
        Unit("hectolitres", 100.0),
        Unit("cubic metres", 1000.0),
        Unit("liters", 1.0),
        Unit("gallons", 4.54609),
    ),
    "time": (Unit("minutes", 1.0), Unit("hours", 60.0), Unit("seconds", 1 / 60)),
    "duration": (Unit("days", 1.0), Unit("weeks", 7.0)),
    "speed": (Unit("km/h", 1.0), Unit("mph", 1.609344), Unit("kilometres per hour", 1.0), Unit("miles per hour", 1.609344)),
    "power": (Unit("megawatts", 1.0), Unit("kilowatts", 0.001), Unit("MW", 1.0), Unit("kW", 0.001)),
    "people": (Unit("", 1.0),),
    "money": (Unit("dollars", 1.0),),
}


def significant(value: float, digits: int) -> float:
    """Rounds to that many significant digits."""
    return float(f"{value:.{digits}g}")


def plain(value: float) -> str:
    """A number as people write it: separators from 1,000, at most two decimals below 10."""
    if value >= 100:
        return number(round(value))
    return number(value, 1 if value >= 10 else 2)


@dataclass(frozen=True)
class Quantity:
    """A value in the base unit of `family`, e.g. Quantity(340, 'length') for 340 metres."""

    value: float
    family: str

    def _unit(self, rng: Random) -> Unit:
        units = [unit for unit in UNITS[self.family] if 0.8 <= self.value / unit.size < 5e7]
        return rng.choice(units or list(UNITS[self.family][:1]))

    def say(self, value: float, unit: Unit, rng: Random) -> str:
        """The number in that unit, with 'million' or 'thousand' now and then."""
        amount = value / unit.size
        if amount >= 1e6 and rng.random() < 0.8:
            text = f"{number(amount / 1e6, 2)} million"
        elif amount >= 2000 and amount % 1000 == 0 and rng.random() < 0.25:
            text = f"{number(amount / 1000)} thousand"
        elif amount < 100 and amount == int(amount) and rng.random() < 0.3:
            text = spell(int(amount))
        else:
            text = plain(amount)
        return f"{text} {unit.name}".strip()

    def exact(self, rng: Random) -> str:
        """The value in its base unit or another that gives it in full."""
        units = [
            unit
            for unit in UNITS[self.family]
            if (amount := self.value / unit.size) >= 1 and abs(amount * 100 - round(amount * 100)) < 1e-6
        ]
        if self.family == "time" and self.value == int(self.value) and self.value % 60 and self.value > 60 and rng.random() < 0.4:
            hours, minutes = divmod(int(self.value), 60)
            return f"{count(hours, rng)} hour{'s' * (hours > 1)} and {count(minutes, rng)} minute{'s' * (minutes > 1)}"
        return self.say(self.value, rng.choice(units or list(UNITS[self.family][:1])), rng)

    def approx(self, rng: Random) -> str:
        """A rounded value in any unit, within 3 % of the true one."""
        unit = self._unit(rng)
        digits = 2 if abs(significant(self.value / unit.size, 2) * unit.size / self.value - 1) < 0.03 else 3
        amount = significant(self.value / unit.size, digits)
        if abs(amount * unit.size / self.value - 1) > 0.001 and rng.random() < 0.3:
            word = "just under" if amount * unit.size > self.value else "a little over"
        else:
            word = rng.choice(
                ("about", "roughly", "around", "some", "approximately", "nearly" if amount * unit.size > self.value else "about")
            )
        return f"{word} {self.say(amount * unit.size, unit, rng)}"

    def between(self, low: float, high: float, rng: Random) -> str:
        """The range from `low` to `high` (base unit), each rounded to two digits."""
        unit = self._unit(rng)
        a, b = (significant(bound / unit.size, 2) for bound in (low, high))
        name = f" {unit.name}" if unit.name else ""
        return f"between {plain(a)} and {plain(b)}{name}"

    def above(self, low: float, rng: Random) -> str:
        """More than `low`, rounded to two digits."""
        unit = self._unit(rng)
        words = rng.choice(("more than", "over", "at least", "no less than", "upwards of"))
        return f"{words} {self.say(significant(low / unit.size, 2) * unit.size, unit, rng)}"

    def below(self, high: float, rng: Random) -> str:
        """Less than `high`, rounded to two digits."""
        unit = self._unit(rng)
        words = rng.choice(("less than", "under", "at most", "no more than", "below"))
        return f"{words} {self.say(significant(high / unit.size, 2) * unit.size, unit, rng)}"
