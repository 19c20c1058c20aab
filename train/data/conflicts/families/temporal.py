"""Temporal validity: who or what held at which time; periods, changes of state, 'until' and 'since'."""

from __future__ import annotations

from random import Random

from train.data.conflicts.banks import bank
from train.data.conflicts.engine import Scene
from train.data.conflicts.families.stories import read_stories
from train.data.conflicts.names import Names

BANK = bank("temporal")

HOLDERS: tuple[tuple[tuple[str, ...], str], ...] = BANK["HOLDERS"]
STATES: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = BANK["STATES"]


def _at(year: int):
    """A time phrase that means that year, or a point in it."""
    return lambda r: r.choice(
        (
            f"in {year}",
            f"in {year}",
            f"in the year {year}",
            f"in [June|March|October] {year}",
            f"at the [end|beginning] of {year}",
            f"throughout {year}",
            f"during the {year} [elections|strike]",
        )
    )


def _period(first: int, last: int):
    return lambda r: r.choice(
        (f"from {first} to {last}", f"between {first} and {last}", f"from {first} until {last}", f"for {last - first} years from {first}")
    )


def holders(names: Names, rng: Random) -> Scene:
    """Two rivals for a place that only one can hold: at one time they exclude each other, at different times not."""
    patterns, spec = rng.choice(HOLDERS)
    x = names.town() if spec == "town" else names.stem()
    a, b = names.couple()
    start = rng.randint(1900, 1995)
    length = rng.randint(4, 18)
    inside = start + rng.randint(1, length - 1)
    after = start + length + rng.randint(2, 15)
    before = start - rng.randint(2, 15)
    scene = Scene("temporal_validity", "holders")
    times = {"period": _period(start, start + length), "inside": _at(inside), "before": _at(before), "after": _at(after)}
    for who, e in (("a", a), ("b", b)):
        for name, t in times.items():
            scene.add(f"{who}_{name}", patterns, e=e, x=x, t=t)
        scene.support((f"{who}_period", f"{who}_inside"))
    for p, q in (
        ("period", "period"),
        ("inside", "inside"),
        ("period", "inside"),
        ("inside", "period"),
        ("before", "before"),
        ("after", "after"),
    ):
        scene.contradict((f"a_{p}", f"b_{q}"))
    return scene


def states(names: Names, rng: Random) -> Scene:
    """A state that lasts until a year and its opposite since then; single years inside, outside and of a second thing."""
    what, on, off = rng.choice(STATES)
    e, other = what.format(x=names.town()), what.format(x=names.town())
    if rng.random() < 0.5:
        on, off = off, on
    turn = rng.randint(1900, 2005)
    early, late = turn - rng.randint(2, 20), turn + rng.randint(2, 15)
    scene = Scene("temporal_validity", "states")
    until = [f"until {turn}", f"right up to {turn}", f"from {early - 3} to {turn}", f"from {early - 3} until {turn}"]
    since = [f"from {turn} on", f"from {turn} to {late + 4}", f"for years from {turn} onwards", f"from {turn} until at least {late + 4}"]
    at_early, at_late = (
        [f"in {year}", f"in {year}", f"in the summer of {year}", f"when the census was taken in {year}"] for year in (early, late)
    )
    for prefix, thing in (("", e), ("other_", other)):
        for name, state in (("on", on), ("off", off)):
            scene.add(f"{prefix}{name}_early", state, e=thing, t=at_early)
            scene.add(f"{prefix}{name}_late", state, e=thing, t=at_late)
            scene.add(f"{prefix}{name}_until", state, e=thing, t=until)
            scene.add(f"{prefix}{name}_since", state, e=thing, t=since)
            scene.undecided((f"{prefix}{name}_until", f"{prefix}{name}_late"))  # 'until' suggests, and does not say, that it ended
            scene.undecided((f"{prefix}{name}_since", f"{prefix}{name}_early"))
            scene.undecided((f"{prefix}{name}_until", f"{prefix}{name}_since"))
        for name in ("on", "off"):
            # 'until' may mean since any time before: an early year lies inside only where the start is given, so it reads as inside
            scene.support((f"{prefix}{name}_early", f"{prefix}{name}_until"), (f"{prefix}{name}_late", f"{prefix}{name}_since"))
        for p, q in (("early", "early"), ("late", "late"), ("until", "early"), ("early", "until"), ("since", "late"), ("late", "since")):
            scene.contradict((f"{prefix}on_{p}", f"{prefix}off_{q}"))
        scene.contradict((f"{prefix}on_until", f"{prefix}off_until"), (f"{prefix}on_since", f"{prefix}off_since"))
    return scene


PRESENT = read_stories(BANK["PRESENT"])
