"""Invented entities written up as pages are: sentences, an info box, a table of properties, page furniture.

Each page holds some attributes of one entity; the questions ask for one of them, or for one that the page does not hold. Many figures of
one kind stand side by side, so that only the attribute's own words tell the right one. What a page may say is in `records.yaml`.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from arbgraph.reader.readings import Reading
from train.data.attributes import MONTHS
from train.data.conflicts.banks import bank
from train.data.conflicts.names import Names

# An attribute that a sentence states beside its own, and the filler that is its value: {born=d}.
BY_THE_WAY = re.compile(r"\{([\w ]+)=(\w+)\}")
# Share of the questions that ask for what the page does not say.
ABSENT = 0.3


@cache
def record_bank() -> dict[str, Any]:
    """The contents of `records.yaml`."""
    return yaml.safe_load(Path(__file__).with_name("records.yaml").read_text(encoding="utf-8"))


@dataclass
class Page:
    """Text under construction, and where the values stand in it, by attribute."""

    text: str = ""
    places: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    def add(self, template: str, values: dict[str, str] | None = None) -> None:
        """Appends a text; where it has `{name}` of an attribute in `values`, its value, and remembers the place."""
        self.text += " " if self.text else ""
        for piece in re.split(r"(\{[\w ]+\})", template):
            name = piece[1:-1] if piece.startswith("{") else ""
            if values and name in values:
                self.places.setdefault(name, []).append((len(self.text), len(self.text) + len(values[name])))
                self.text += values[name]
            else:
                self.text += piece


def record_readings(count: int, seed: int) -> list[Reading]:
    """So many readings of invented pages; about every third asks for what the page does not say."""
    rng = random.Random(seed)
    names = Names(rng, "train")
    made: list[Reading] = []
    while len(made) < count:
        names.reset()
        made += _page_readings(rng.choice(sorted(record_bank()["kinds"])), rng, names)
    return made[:count]


def _page_readings(kind: str, rng: random.Random, names: Names) -> list[Reading]:
    about = record_bank()["kinds"][kind]
    table = {name: one for name, one in record_bank()["attributes"][about["table"]].items() if name not in about["without"]}
    name = _name(kind, about["table"], rng, names)
    held = rng.sample(sorted(table), rng.randint(0, min(8, len(table) - 1)))
    page = _written(kind, about["table"], {one: table[one] for one in held}, name, rng, names)
    held = [one for one in sorted(table) if one in page.places]
    absent = [one for one in sorted(table) if one not in page.places]
    readings = []
    for _ in range(rng.randint(1, 3)):
        wanted = rng.choice(absent) if not held or (absent and rng.random() < ABSENT) else rng.choice(held)
        question = _filled(rng.choice(table[wanted]["asked"]), {"x": _asked_for(kind, about["table"], name, rng), "k": kind})
        readings.append(Reading(question, page.text, tuple(page.places.get(wanted, ())), "made by rule: record"))
    return readings


def _written(kind: str, family: str, held: dict[str, dict[str, Any]], name: str, rng: random.Random, names: Names) -> Page:
    """A page in one of three styles, with or without furniture before and after, and with the name in front or not."""
    page, style = Page(), rng.random()
    if rng.random() < 0.3:
        page.add(furniture(rng))
    if rng.random() < 0.5:
        page.add(name)
    for place, (one, about) in enumerate(held.items()):
        again = rng.choice(["He", "She", name.split()[-1]]) if family == "person" else rng.choice(["It", f"The {kind}"])
        filled = _fillers(rng, names) | {"x": name if place == 0 or rng.random() < 0.4 else again, "k": kind, "v": "{" + one + "}"}
        value = {one: _drawn(about["draw"], rng, names)}
        # What a sentence states by the way must not contradict what the page holds.
        said = [text for text in about["said"] if not {name for name, _ in BY_THE_WAY.findall(text)} & (held.keys() | page.places.keys())]
        if style < 0.6 and said:
            text = rng.choice(said)
            value |= {other: filled[key] for other, key in BY_THE_WAY.findall(text)}
            page.add(_filled(BY_THE_WAY.sub(r"{\1}", text), filled), value)
            if rng.random() < 0.15:
                page.add(rng.choice(["[ {} ]", "[{}]"]).format(rng.randint(1, 40)))
        elif style < 0.88:
            page.add(_filled(about["key"], filled) + " {" + one + "}", value)
        else:
            page.add(f"{_filled(about['key'], filled).lower()} {{{one}}} {rng.randint(0, 3)} references", value)
    if rng.random() < 0.35 or not page.text:
        page.add(furniture(rng))
    return page


def _fillers(rng: random.Random, names: Names) -> dict[str, str]:
    return {
        "y": str(rng.randint(1900, 2022)),
        "n": f"{rng.randint(12, 9000):,}",
        "a": rng.choice(record_bank()["nations"]),
        "p": names.person(),
        "t": names.town(),
        "d": _drawn(["date", 1850, 1990], rng, names),
        "d2": _drawn(["date", 1900, 2020], rng, names),
        "j": _drawn(record_bank()["attributes"]["person"]["job"]["draw"], rng, names),
        "g": _drawn(record_bank()["attributes"]["work"]["genre"]["draw"], rng, names),
        "m": _drawn(["money", 18000, 95000], rng, names),
    }


def _filled(template: str, filled: dict[str, str]) -> str:
    for key, value in filled.items():
        template = template.replace("{" + key + "}", value)
    return template


def _drawn(spec: list[Any], rng: random.Random, names: Names) -> str:
    """A value as `records.yaml` describes it. Raises ValueError on an unknown description."""
    how, *rest = spec
    if how == "choice":
        return rng.choice(rest)
    if how == "number":
        return f"{round(rest[0] * (rest[1] / rest[0]) ** rng.random()):,}"
    if how == "money":
        return f"${rng.randint(*rest):,}"
    if how == "year":
        return str(rng.randint(*rest))
    if how == "date":
        year, month, day, form = rng.randint(*rest), rng.choice(MONTHS.split("|")), rng.randint(1, 28), rng.random()
        return (
            f"{month} {day}, {year}"
            if form < 0.4
            else f"{day} {month} {year}"
            if form < 0.75
            else f"{month} {year}"
            if form < 0.85
            else f"{year}"
        )
    if how == "amount":
        return f"{rng.uniform(rest[0], rest[1]):.{rng.choice([0, 1, 2])}f} {rng.choice(rest[2:])}"
    if how == "place":
        return _place(rng, names)
    if how == "template":
        made = {"person": names.person, "town": names.town, "stem": names.stem, "company": names.company}
        template = rng.choice(rest).replace("{state}", rng.choice(record_bank()["states"]))
        return _filled(template, {key: make() for key, make in made.items() if "{" + key + "}" in template})
    raise ValueError(f"records.yaml: draw {how!r} is unknown")


def _place(rng: random.Random, names: Names) -> str:
    countries = bank("geo")["COUNTRIES"]
    country = rng.choice(sorted(countries))
    region = rng.choice(sorted(countries[country]))
    town = rng.choice([names.town(), rng.choice(countries[country][region])])
    return rng.choice([f"{town}, {region}", f"{town}, {country}", f"{town}, {rng.choice(record_bank()['states'])}", town])


def furniture(rng: random.Random) -> str:
    """Menus and footers, or a table of figures by year."""
    if rng.random() < 0.6:
        words = rng.choice(record_bank()["furniture"]).split()
        return " ".join(words[rng.randrange(max(1, len(words) - 8)) :])
    return " ".join(f"{1900 + 10 * i} {rng.randint(100, 60000):,} {rng.uniform(-30, 60):+.1f} %" for i in range(rng.randint(2, 7)))


def _name(kind: str, family: str, rng: random.Random, names: Names) -> str:
    if family == "person":
        return names.person()
    if family == "work":
        return names.title().strip("'")
    town = names.town()
    if family == "place":
        return f"{town}{' Township' if kind == 'township' else ''}" + (
            f", {rng.choice(record_bank()['states'])}" if rng.random() < 0.5 else ""
        )
    if family == "event":
        return f"Battle of {town}" if kind == "battle" else f"{town} {rng.choice(['200', 'Grand Prix', 'Classic', 'Cup'])}"
    tail = {"school": "High School", "organization": rng.choice(["Society", "Institute", "Union", "Association"])}.get(
        kind, kind.capitalize()
    )
    return f"{town} {tail}"


def _asked_for(kind: str, family: str, name: str, rng: random.Random) -> str:
    """The entity as a question calls it: with its kind, in quotes, by title and last name, without the state."""
    draw = rng.random()
    if family == "work":
        return f'"{name}"' if draw < 0.4 else f'the {kind} "{name}"' if draw < 0.7 else name
    if family == "person" and draw < 0.2:
        return f"{rng.choice(['Judge', 'Admiral', 'Dr.', 'Justice', 'Attorney General', 'Captain', 'Senator'])} {name.split()[-1]}"
    if family == "place" and draw < 0.5:
        return name.split(",")[0]
    return f"the {name}" if family in ("body", "event") and draw < 0.6 else name
