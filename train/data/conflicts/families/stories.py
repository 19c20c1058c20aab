"""Stories: small casts with statements about them and a written relation table, and a twin of each story with part of the cast replaced.

A story is data, so a family is a list of stories. The twin's statements are neutral to the original's, and contradict and support
each other just as theirs do; so every wording occurs under every label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from train.data.conflicts.engine import Scene
from train.data.conflicts.names import Names

Cast = dict[str, str | Sequence[str] | Sequence[Sequence[str]]]
ORGS = [
    "Council",
    "Union",
    "League",
    "Federation",
    "Alliance",
    "Assembly",
    "Board",
    "Commission",
    "Society",
    "Association",
    "Academy",
    "Fund",
    "Trust",
    "Forum",
]
FIELDS_OF_ORGS = [
    "Trade",
    "Postal",
    "River",
    "Energy",
    "Grain",
    "Forestry",
    "Coastal",
    "Mining",
    "Transport",
    "Dairy",
    "Archive",
    "Weather",
    "Port",
    "Library",
]


@dataclass(frozen=True)
class Story:
    """`cast`: field -> maker name, a list to pick from, or (under 'a,b') a list of tuples; `claims`: key -> patterns;
    `table`: 'a ~ b' for support, 'a ! b' for contradiction, 'a ? b' for undecided; `twin`: fields drawn anew in the twin."""

    name: str
    cast: Cast
    claims: dict[str, Sequence[str]]
    table: Sequence[str]
    twin: Sequence[str] = field(default=())


def read_stories(rows: Sequence[dict]) -> list[Story]:
    """Stories from their YAML mappings."""
    return [Story(**row) for row in rows]


def _year(rng: Random, drawn: dict[str, str], low: int, high: int) -> str:
    taken = {value for value in drawn.values() if value.isdigit()}
    return str(rng.choice([year for year in range(low, high) if str(year) not in taken]))


def draw(maker: str | Sequence[str] | Sequence[Sequence[str]], names: Names, rng: Random, drawn: dict[str, str]):
    """One value for a cast entry. Raises KeyError for an unknown maker."""
    if not isinstance(maker, str):
        taken = set(drawn.values())
        free = [option for option in maker if not (isinstance(option, str) and option in taken)]
        return rng.choice(free or list(maker))
    makers = {
        "person": names.person,
        "surname": names.surname,
        "town": names.town,
        "stem": names.stem,
        "company": names.company,
        "street": names.street,
        "river": names.river,
        "title": names.title,
        "year": lambda: _year(rng, drawn, 1870, 2019),
        "early": lambda: _year(rng, drawn, 1880, 1930),
        "middle": lambda: _year(rng, drawn, 1935, 1975),
        "late": lambda: _year(rng, drawn, 1980, 2020),
        "org": lambda: f"the {rng.choice((names.stem, names.town))()} {rng.choice(FIELDS_OF_ORGS)} {rng.choice(ORGS)}",
        "small": lambda: str(rng.randint(3, 12)),
    }
    return makers[maker]()


def cast_of(story: Story, names: Names, rng: Random, base: dict[str, str] | None = None) -> dict[str, str]:
    """Draws the cast; with `base`, only the fields in `story.twin` are drawn anew and differ from the base."""
    drawn: dict[str, str] = dict(base or {})
    for key, maker in story.cast.items():
        if base is not None and key not in story.twin:
            continue
        fields = key.split(",")
        before = [drawn.get(name) for name in fields]
        for _ in range(20):
            value = draw(maker, names, rng, drawn)
            values = [value] if isinstance(value, str) else list(value)
            if len(values) != len(fields):
                raise ValueError(f"story {story.name}: cast entry {key!r} has {len(fields)} fields, got {values}")
            if values != before:
                break
        drawn.update(zip(fields, values, strict=True))
    return drawn


def play(category: str, story: Story, names: Names, rng: Random) -> Scene:
    """The scene of a story and, if it has one, its twin."""
    scene = Scene(category, f"story.{story.name}")
    base = cast_of(story, names, rng)
    copies = {"": base}
    if story.twin:
        copies["twin_"] = cast_of(story, names, rng, base)
    for prefix, drawn in copies.items():
        for key, patterns in story.claims.items():
            scene.add(prefix + key, patterns, **drawn)
        for row in story.table:
            left, sign, right = row.split()
            label = {"~": "support", "!": "contradict", "?": None}[sign]
            for a in left.split("/"):
                for b in right.split("/"):
                    scene.relate(label, (prefix + a, prefix + b))
    return scene
