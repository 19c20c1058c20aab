"""Numbers and units: the same value converted, rounded or bounded; another value; another attribute, year or thing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from random import Random

from train.data.conflicts.banks import bank
from train.data.conflicts.engine import Field, Scene
from train.data.conflicts.names import Names
from train.data.conflicts.values import Quantity, number, spell

BANK = bank("numbers")

# attribute -> quantity family, typical low and high value in the base unit, wordings
Attribute = tuple[str, float, float, tuple[str, ...]]
THINGS: dict[str, tuple[tuple[str, ...], dict[str, Attribute]]] = BANK["THINGS"]
DATED = ("in {y}, {s}", "{s}, according to the {y} [survey|figures|yearbook]", "{s} as of {y}", "[figures|records] for {y} show that {s}")


def _round_value(rng: Random, low: float, high: float, family: str) -> float:
    value = low * (high / low) ** rng.random()
    if family in ("people", "money"):
        digits = rng.choice((2, 3, 3, 4))
        return float(max(2, round(float(f"{value:.{digits}g}"))))
    if value < 10:
        return round(value, 1)
    return float(f"{value:.{rng.choice((2, 2, 3))}g}")


def _article_thing(names: Names, rng: Random, kinds: tuple[str, ...]) -> tuple[str, str]:
    kind = rng.choice(kinds)
    return _called(names.town() if rng.random() < 0.5 else names.stem(), kind), kind


def _called(name: str, kind: str) -> str:
    return f"the {kind} of {name}" if kind in ("town", "village", "parish", "district", "island") else f"the {name} {kind}"


def _two_values(scene: Scene, prefix: str, patterns: Sequence[str], fields: dict[str, str], a: Quantity, b: Quantity) -> None:
    """Two values of one attribute, in full or rounded, and, where they lie far enough apart, bounds that fit one of them only."""
    lower, upper = (a, b) if a.value < b.value else (b, a)
    third = (lower.value * upper.value) ** 0.5
    ratio = upper.value / lower.value
    low_end, high_end = (lower.value * 1.12, upper.value / 1.12) if ratio > 1.5 else (third, third)

    def said(q: Quantity) -> Field:
        return lambda r: q.exact(r) if r.random() < 0.6 else q.approx(r)

    def bounded(q: Quantity) -> Field:
        if q is lower:
            return lambda r: q.below(low_end, r) if r.random() < 0.6 else q.between(q.value * 0.8, low_end, r)
        return lambda r: q.above(high_end, r) if r.random() < 0.6 else q.between(high_end, q.value * 1.25, r)

    for name, q in (("true", a), ("false", b)):
        scene.add(f"{prefix}{name}", patterns, v=said(q), **fields)
    scene.contradict((f"{prefix}true", f"{prefix}false"))
    if ratio < 1.3 or (a.family == "people" and lower.value < 40):
        return  # a bound between the two would be lost in rounding
    for name, q in (("true", a), ("false", b)):
        scene.add(f"{prefix}{name}_bound", patterns, v=bounded(q), **fields)
        scene.support((f"{prefix}{name}", f"{prefix}{name}_bound"))
    scene.contradict((f"{prefix}true", f"{prefix}false_bound"), (f"{prefix}false", f"{prefix}true_bound"))
    both = (f"{prefix}true_bound", f"{prefix}false_bound")
    if ratio > 1.5:
        scene.contradict(both)
    else:
        scene.undecided(both)  # both sit on one rounded threshold


def quantities(names: Names, rng: Random) -> Scene:
    """One attribute with its value in many wordings, a second value, and decoys: another attribute, another thing, both values each."""
    group = rng.choice(sorted(THINGS))
    kinds, attributes = THINGS[group]
    entity, kind = _article_thing(names, rng, kinds)
    other = _called(names.town(), kind)
    key, decoy = rng.sample(sorted(attributes), 2)
    family, low, high, patterns = attributes[key]
    scene = Scene("numbers_units", f"quantities.{group}")
    true = _round_value(rng, low, high, family)
    ratio = rng.choice((0.1, 0.4, 0.5, 0.62, 0.7, 0.8, 1.25, 1.4, 1.6, 2, 2.5, 10))
    false = max(float(f"{true * ratio:.3g}"), 1.0)
    if family in ("people", "money"):
        false = float(round(false))
    if abs(false / true - 1) < 0.15:
        false = float(round(true * 2))
    a, b = Quantity(true, family), Quantity(false, family)
    for prefix, thing in (("", entity), ("elsewhere_", other)):
        _two_values(scene, prefix, patterns, {"e": thing, "k": kind}, a, b)
    _decoys(scene, rng, attributes[decoy], entity, kind, (family, a, b))
    return scene


def _decoys(scene: Scene, rng: Random, attribute: Attribute, entity: str, kind: str, asked: tuple[str, Quantity, Quantity]) -> None:
    """Another attribute of the same thing; where the units agree it takes one of the two values in question."""
    family, low, high, patterns = attribute
    value = _round_value(rng, low, high, family)
    if family == asked[0] and low <= asked[1].value <= high and rng.random() < 0.7:
        value = rng.choice(asked[1:]).value
    wrong = float(f"{value * rng.choice((0.5, 0.7, 1.4, 2)):.3g}")
    wrong = float(max(1, round(wrong))) if family in ("people", "money") else wrong
    if abs(wrong / value - 1) < 0.2:
        wrong = value * 3
    for name, number_ in (("decoy", value), ("decoy_wrong", wrong)):
        quantity = Quantity(number_, family)
        scene.add(name, patterns, e=entity, v=lambda r, q=quantity: q.exact(r) if r.random() < 0.6 else q.approx(r), k=kind)
    scene.contradict(("decoy", "decoy_wrong"))


def yearly(names: Names, rng: Random) -> Scene:
    """A figure of one year: the same year contradicts, another year is neutral."""
    group = rng.choice(("venue", "town", "maker", "plant"))
    kinds, attributes = THINGS[group]
    entity, kind = _article_thing(names, rng, kinds)
    key = rng.choice([k for k in sorted(attributes) if attributes[k][0] in ("people", "volume") and k not in ("visitors", "tank", "seats")])
    family, low, high, patterns = attributes[key]
    year = rng.randint(1890, 2018)
    later = year + rng.choice((-10, -5, -2, -1, 1, 2, 5, 10))
    value = _round_value(rng, low, high, family)
    wrong = float(round(value * rng.choice((0.5, 0.7, 1.35, 1.8))))
    if abs(wrong / value - 1) < 0.2:
        wrong = value + max(3, round(value * 0.5))
    scene = Scene("numbers_units", f"yearly.{group}")
    patterns = tuple(dated.replace("{s}", p) for p in patterns if not p.endswith("{v}") for dated in DATED) + tuple(
        f"in {{y}}, {p}" for p in patterns if p.endswith("{v}")
    )
    for y_name, y in (("now", year), ("then", later)):
        for v_name, v in (("true", value), ("false", wrong)):
            quantity = Quantity(v, family)
            scene.add(
                f"{y_name}_{v_name}",
                patterns,
                e=entity,
                y=str(y),
                k=kind,
                v=lambda r, q=quantity: q.exact(r) if r.random() < 0.55 else q.approx(r),
            )
        scene.contradict((f"{y_name}_true", f"{y_name}_false"))
    return scene


FRACTIONS = ((1, 2), (1, 3), (2, 3), (1, 4), (3, 4), (1, 5), (2, 5), (3, 5), (4, 5), (1, 10), (9, 10))
GROUPS = BANK["GROUPS"]
SHARES = BANK["SHARES"]
QUALITIES = BANK["QUALITIES"]


def _share(p: int, q: int):
    percent = 100 * p / q
    words = {2: "half", 3: "third", 4: "quarter", 5: "fifth", 10: "tenth"}[q]
    options = [
        f"{number(percent)} per cent" if percent == int(percent) else f"about {percent:.0f} per cent",
        f"{number(percent, 0 if percent == int(percent) else 1)} percent",
        f"{spell(p)} in {spell(q)}",
        f"{spell(p)} out of {spell(q)}",
        f"{number(percent, 1)}%",
    ]
    options.append({(1, 2): "half"}.get((p, q), f"{'a' if p == 1 else spell(p)} {words}{'' if p == 1 else 's'}"))
    if q == 2:
        options.append("50 per cent")
    return lambda r: r.choice(options)


def fractions(names: Names, rng: Random) -> Scene:
    """Per cent against fraction; complement; the same share of another quality or group."""
    place, place2 = names.town(), names.town()
    group = rng.choice(GROUPS)
    quality, quality2 = rng.sample(QUALITIES, 2)
    (p, q), (p2, q2) = rng.sample(FRACTIONS, 2)
    if abs(p / q - p2 / q2) < 0.09:
        (p, q), (p2, q2) = (1, 4), (3, 5)
    scene = Scene("numbers_units", "fractions")
    noun = " ".join(group.split()[:1])
    patterns = (*SHARES[0], "the {q} made up {s} of the {g}".replace("the {q}", "those that [are|were] {q}"))
    rest = (
        "{c} of the {g} [are|were] not {q}",
        "of the {g}, {c} [are|were] not {q}",
        "not {q}: that goes for {c} of the {g}",
        "all but {s} of the {g} [are|were] not {q}",
    )
    for where, x in (("", place), ("elsewhere_", place2)):
        for what, quality_ in (("", quality), ("other_", quality2)):
            for name, (a, b) in (("true", (p, q)), ("false", (p2, q2))):
                key = f"{where}{what}{name}"
                fields = {"g": group.format(x=x), "q": quality_, "s": _share(a, b), "n": noun}
                scene.add(key, patterns, **fields)
                if not where:
                    scene.add(f"{key}_rest", rest[:3], c=_share(b - a, b), **fields)
                    scene.support((key, f"{key}_rest"))
            scene.contradict((f"{where}{what}true", f"{where}{what}false"))
            if not where:
                scene.contradict(
                    (f"{what}true", f"{what}false_rest"), (f"{what}false", f"{what}true_rest"), (f"{what}true_rest", f"{what}false_rest")
                )
    return scene


PARTS = BANK["PARTS"]


def sums(names: Names, rng: Random) -> Scene:
    """Parts that add up to a total, a wrong total, and counts of other collections."""
    whole, left, right, holder = rng.choice(PARTS)
    holder1, holder2 = holder.format(x=names.town()), holder.format(x=names.town())
    m, n = rng.randint(2, 40), rng.randint(2, 40)
    d = rng.choice((-2, -1, 1, 2, 5, 10))
    total, wrong = m + n, max(m + n + d, max(m, n) + 1) if d < 0 else m + n + d
    if wrong == total:
        wrong = total + 3
    scene = Scene("numbers_units", "sums")
    parts = (
        "{h} has {m} {l} and {n} {r}[| and no other {w}]",
        "in {h} there are {m} {l} and {n} {r}, making up all its {w}",
        "{m} {l} and {n} {r} are all the {w} {h} has",
        "all {w} of {h} are either {l}, of which there are {m}, or {r}, of which there are {n}",
    )
    parts = (parts[0].replace("[| and no other {w}]", " and no other {w}"), *parts[1:])
    totals = (
        "{h} has {t} {w}[| in all| altogether]",
        "there are {t} {w} in {h}",
        "the {w} of {h} number {t}",
        "in all, {h} has {t} {w}",
        "the total number of {w} in {h} is {t}",
    )
    say = lambda v: [str(v), spell(v)]  # noqa: E731
    change = total - wrong
    for prefix, h in (("", holder1), ("elsewhere_", holder2)):
        fields = {"h": h, "l": left, "r": right, "w": whole}
        m2 = m - change if m - change > 0 else m
        n2 = wrong - m2
        scene.add(f"{prefix}parts", parts, m=say(m), n=say(n), **fields)
        scene.add(f"{prefix}parts_wrong", parts, m=say(m2), n=say(n2), **fields)
        scene.add(f"{prefix}total", totals, t=say(total), **fields)
        scene.add(f"{prefix}total_wrong", totals, t=say(wrong), **fields)
        scene.support((f"{prefix}parts", f"{prefix}total"), (f"{prefix}parts_wrong", f"{prefix}total_wrong"))
        scene.contradict(
            (f"{prefix}parts", f"{prefix}total_wrong"),
            (f"{prefix}parts_wrong", f"{prefix}total"),
            (f"{prefix}total", f"{prefix}total_wrong"),
            (f"{prefix}parts", f"{prefix}parts_wrong"),
        )
    return scene


RATES = BANK["RATES"]
FROM_TO = BANK["FROM_TO"]
BY = BANK["BY"]
TENDENCY = BANK["TENDENCY"]


def changes(names: Names, rng: Random) -> Scene:
    """A rate that moves from one level to another: the levels, the difference in points, the direction; another rate or period."""
    x = names.town()
    rate, rate2 = rng.sample(RATES, 2)
    start = rng.randint(1950, 2012)
    years, years2 = (start, start + rng.randint(2, 6)), (start - rng.randint(7, 12), start - rng.randint(1, 3))
    level, step = rng.randint(60, 400) / 10, rng.randint(8, 60) / 10
    scene = Scene("numbers_units", "changes")
    for prefix, what, (first, last) in (("", rate, years), ("rate_", rate2, years), ("period_", rate, years2)):
        fields = {"r": f"{what} in {x}", "y1": str(first), "y2": str(last)}
        for name, delta in (("up", step), ("down", -step)):
            end = round(level + delta, 1)
            way = "up" if delta > 0 else "down"
            scene.add(f"{prefix}{name}_levels", FROM_TO[way], a=f"{level:g}", b=f"{end:g}", **fields)
            scene.add(f"{prefix}{name}_points", BY[way], d=f"{step:g}", **fields)
            scene.add(f"{prefix}{name}", TENDENCY[way], **fields)
            keys = [f"{prefix}{name}_levels", f"{prefix}{name}_points", f"{prefix}{name}"]
            scene.support(*combinations(keys, 2))
        ends = ("_levels", "_points", "")
        scene.contradict(*((f"{prefix}up{p}", f"{prefix}down{q}") for p in ends for q in ends))
    return scene


WARMTH = BANK["WARMTH"]


def _degrees(celsius: int) -> list[str]:
    fahrenheit = round(celsius * 9 / 5 + 32)
    return [
        f"{celsius} °C",
        f"{celsius} degrees Celsius",
        f"{fahrenheit} °F",
        f"about {fahrenheit} degrees Fahrenheit",
        f"roughly {celsius} °C",
        f"around {fahrenheit} °F",
    ]


def temperatures(names: Names, rng: Random) -> Scene:
    """A temperature on either scale, another temperature, another occasion of it."""
    patterns, low, high = rng.choice(WARMTH)
    x, z = names.stem(), names.stem()
    true = rng.randint(low, high)
    false = true + rng.choice((-1, 1)) * rng.randint(6, 25)
    year, year2 = rng.sample(range(1900, 2020), 2)
    scene = Scene("numbers_units", "temperatures")
    for prefix, what, when in (("", x, year), ("place_", z, year), ("year_", x, year2)):
        if prefix == "year_" and "{y}" not in "".join(patterns):
            continue
        for name, value in (("true", true), ("false", false)):
            scene.add(f"{prefix}{name}", patterns, x=what, v=_degrees(value), y=str(when))
        scene.contradict((f"{prefix}true", f"{prefix}false"))
    return scene
