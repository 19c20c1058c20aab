"""Dates and years: one event at every granularity, the same event at another time, other events of the same thing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from train.data.conflicts.banks import bank
from train.data.conflicts.engine import Scene
from train.data.conflicts.families.events import CYCLES
from train.data.conflicts.names import Names
from train.data.conflicts.values import Day, century_part, in_decade, in_month, in_year, on_day, ordinal, spell

BANK = bank("dates")

ANNIVERSARY = (
    "{e} marked the [{nth}|{words}] anniversary of {event} in {year}",
    "in {year}, [celebrations|a ceremony] marked [{n}|{words_n}] years since {event}",
    "{year} was the year in which people [celebrated|remembered] {event} of {e_of} exactly [{n}|{words_n}] years before",
)
SPAN = (
    "[{n}|{words_n}] years lie between {first} and {second}",
    "{second} came [{n}|{words_n}] years after {first}",
    "{first} preceded {second} by [{n}|{words_n}] years",
    "from {first} to {second} it took [{n}|{words_n}] years",
)
NOUNS = BANK["NOUNS"]
GRAINS: dict[str, Callable[[Day, Random], str]] = {"day": on_day, "month": in_month, "year": in_year}
THIS_YEAR = 2023
COARSE: dict[str, Callable[[Day, Random], str]] = {"decade": in_decade, "century": lambda date, _: century_part(date)}


def _alternative(rng: Random, true: Day, low: int, high: int) -> tuple[Day, list[str]]:
    """Another date in [low, high] and the granularities at which the two are surely apart."""
    choice = rng.random()
    if choice < 0.25:  # same year, other month
        month = rng.choice([m for m in range(1, 13) if abs(m - true.month) >= 4])
        return Day(true.year, month, true.day if rng.random() < 0.5 else rng.randint(1, 28)), ["day", "month"]
    if choice < 0.6:
        year = min(max(true.year + rng.choice((-3, -2, -1, 1, 2, 3)), low), high)
        if year != true.year:
            return Day(year, true.month if rng.random() < 0.5 else rng.randint(1, 12), true.day), ["day", "month", "year"]
    gap = rng.choice((-1, 1)) * rng.randint(11, 34)
    year = true.year + gap
    if not low <= year <= high:
        year = true.year - gap
    false = Day(year, rng.randint(1, 12), rng.randint(1, 28))
    grains = ["day", "month", "year", "decade"]
    return false, [*grains, "century"] if century_part(true) != century_part(false) else grains


def _when(date: Day, allowed: Sequence[str]) -> Callable[[Random], str]:
    return lambda r: (GRAINS | COARSE)[r.choice(allowed)](date, r)


def _other_events(
    scene: Scene, rng: Random, kind: str, i: int, entity: str, noun: str, earliest: Day, latest: Day
) -> dict[str, tuple[int, Day]]:
    """Up to three other events of the thing, before or after both dates in question, each with a wrong date; gives their places."""
    cycle, _, gap = CYCLES[kind]
    placed: dict[str, tuple[int, Day]] = {}
    for j in sorted(rng.sample([j for j in range(len(cycle)) if j != i], min(3, len(cycle) - 1))):
        sign = -1 if j < i else 1
        bound = earliest if j < i else latest
        shift = rng.randint(1, gap + 1) * abs(j - i) + (18 if kind == "person" and 0 in (i, j) else 0)
        date = Day(min(bound.year + sign * shift, THIS_YEAR), rng.randint(1, 12), rng.randint(1, 28))
        grains = ["day", "month", "year"]
        # in the very year in question now and then, where the order of the two events allows it
        same_year = rng.random() < 0.3 and abs(j - i) == 1 and kind not in ("person", "club")
        if same_year:
            date, grains = bound, ["year"]
        key, patterns = cycle[j]
        scene.add(f"other_{key}", patterns, e=entity, when=_when(date, grains), thing=noun)
        placed[f"other_{key}"] = (j, date)
        if not same_year:  # a wrong date gives the other event contradictions too
            wrong = Day(date.year + sign * rng.randint(1, 3), date.month, date.day)
            scene.add(f"wrong_{key}", patterns, e=entity, when=_when(wrong, grains), thing=noun)
            scene.contradict((f"other_{key}", f"wrong_{key}"))
            placed[f"wrong_{key}"] = (j, wrong)
    return placed


def dates(names: Names, rng: Random) -> Scene:
    """An event of a thing at four granularities against another date of it, other events of the thing, and a second thing."""
    kind = rng.choice(sorted(CYCLES))
    cycle, maker, _ = CYCLES[kind]
    entity, noun = maker(names, rng)
    other, _ = maker(names, rng)
    scene = Scene("dates_years", f"dates.{kind}")
    start = rng.randint(1700, 1960)
    i = rng.randrange(len(cycle))
    true = Day.draw(rng, start, start + 20)
    false, grains = _alternative(rng, true, start - 40, start + 50)
    fine = [grain for grain in grains if grain in GRAINS]
    coarse = [grain for grain in grains if grain in COARSE]

    key, patterns = cycle[i]
    placed = {"true": (i, true), "false": (i, false)}
    for name, date in (("true", true), ("false", false)):
        scene.add(name, patterns, e=entity, when=_when(date, fine), thing=noun)
    scene.exclusive("true", "false")
    if coarse:  # two coarse periods need not contain each other, so they are never compared
        for name, other_name, date in (("true", "false", true), ("false", "true", false)):
            scene.add_partner(f"{name}_coarse", patterns, e=entity, when=_when(date, coarse), thing=noun)
            scene.support((name, f"{name}_coarse"))
            scene.contradict((other_name, f"{name}_coarse"))
    placed |= _other_events(scene, rng, kind, i, entity, noun, min(true, false), max(true, false))
    scene.add("namesake_false", patterns, e=other, when=_when(false, fine), thing=noun)
    scene.add("namesake_true", patterns, e=other, when=_when(true, fine), thing=noun)
    scene.contradict(("namesake_false", "namesake_true"))
    for a, (j, first) in placed.items():
        for b, (k, second) in placed.items():
            if j < k and first.year > second.year:  # out of order: whether that is a contradiction would be disputable
                scene.undecided((a, b))
    _anniversary(scene, rng, kind, key, entity, true, false, grains)
    return scene


def _anniversary(scene: Scene, rng: Random, kind: str, key: str, entity: str, true: Day, false: Day, grains: list[str]) -> None:
    noun = NOUNS[kind].get(key)
    if noun is None or "year" not in grains:
        return
    n = rng.choice((10, 20, 25, 40, 50, 75, 100))
    for name, date in (("true", true), ("false", false)):
        patterns = ("the [{nth}|{words}] anniversary of {event} [was marked|was celebrated|fell] in {year}", ANNIVERSARY[1])
        scene.add(
            f"jubilee_{name}",
            patterns,
            e=entity,
            event=noun.format(e=entity),
            year=str(date.year + n),
            nth=ordinal(n),
            words=f"{n}th",
            n=str(n),
            words_n=spell(n),
        )
    # a jubilee fixes the year; wordings of the event that are finer or coarser than the year stay compatible with it
    scene.support(("jubilee_true", "true"), ("jubilee_false", "false"))
    scene.exclusive("jubilee_true", "jubilee_false")
    scene.contradict(("jubilee_true", "false"), ("jubilee_false", "true"))
    if "true_coarse" in scene.propositions:
        scene.support(("jubilee_true", "true_coarse"), ("jubilee_false", "false_coarse"))
        scene.contradict(("jubilee_true", "false_coarse"), ("jubilee_false", "true_coarse"))


def spans(names: Names, rng: Random) -> Scene:
    """Two dated events of one thing and the years between them; ages."""
    kind = rng.choice(sorted(CYCLES))
    cycle, maker, _ = CYCLES[kind]
    entity, _ = maker(names, rng)
    order = [key for key, _ in cycle if key in NOUNS[kind]]
    first, second = sorted(rng.sample(range(len(order)), 2))
    first_key, second_key = order[first], order[second]
    year = rng.randint(1760, 1975)
    n = rng.randint(2, 30)
    wrong = n + rng.choice((-1, 1, 2, 3, 5, 8)) if n > 3 else n + rng.choice((1, 2, 4, 7))
    a, b = (NOUNS[kind][key].format(e=entity) for key in (first_key, second_key))
    scene = Scene("dates_years", f"spans.{kind}")
    dated = (
        "{first} was in {y1}, {second} in {y2}",
        "{first} dates from {y1} and {second} from {y2}",
        "in {y1} came {first}; {second} followed in {y2}",
        "{second} followed in {y2}, {first} having been in {y1}",
        "records give {y1} for {first} and {y2} for {second}",
        "{first} (in {y1}) was followed by {second} (in {y2})",
    )
    offset = rng.choice((0, 0, rng.randint(1, 4)))
    fields = {"first": a, "second": b}
    scene.add("dates_n", dated, y1=str(year), y2=str(year + n), **fields)
    scene.add("dates_wrong", dated, y1=str(year + offset), y2=str(year + offset + wrong), **fields)
    scene.add("span_n", SPAN, n=str(n), words_n=spell(n), **fields)
    scene.add("span_wrong", SPAN, n=str(wrong), words_n=spell(wrong), **fields)
    scene.support(("dates_n", "span_n"), ("dates_wrong", "span_wrong"))
    scene.exclusive(
        "dates_n",
        "dates_wrong",
    )
    scene.contradict(("dates_n", "span_wrong"), ("dates_wrong", "span_n"), ("span_n", "span_wrong"))
    other, _ = maker(names, rng)
    c, d = (NOUNS[kind][key].format(e=other) for key in (first_key, second_key))
    scene.add("elsewhere_n", SPAN, n=str(n), words_n=spell(n), first=c, second=d)
    scene.add("elsewhere_wrong", SPAN, n=str(wrong), words_n=spell(wrong), first=c, second=d)
    scene.add("elsewhere_dates", dated, y1=str(year), y2=str(year + n), first=c, second=d)
    scene.contradict(("elsewhere_n", "elsewhere_wrong"), ("elsewhere_dates", "elsewhere_wrong"))
    scene.support(("elsewhere_n", "elsewhere_dates"))
    return scene


DEEDS = BANK["DEEDS"]
BY_AGE = ("{deed} at the age of {n}", "at {n}, {deed}", "aged {n}, {deed}", "{deed}, being {n} years old at the time")
BY_YEAR = (
    "{e}, born in {b}, {verb} in {y}",
    "born in {b}, {deed} in {y}",
    "{deed} in {y}; the birth year of {e} is {b}",
    "{e} ({b}-born) {verb} in {y}",
)
REPEATABLE = ("won", "crossed", "was elected", "climbed")  # deeds that one person may do in two places


def ages(names: Names, rng: Random) -> Scene:
    """Birth year and age at an event, which together fix the year of the event."""
    person, other = names.couple()
    born = rng.randint(1780, 1940)
    age = rng.randint(17, 78)
    wrong = age + rng.choice((-6, -4, -3, 3, 4, 5, 9))
    deed = rng.choice(DEEDS)
    place, place2 = names.town(), names.town()
    scene = Scene("dates_years", "ages")

    def put(key: str, who: str, where: str, years: int, patterns: Sequence[str]) -> None:
        verb = deed.replace("{x}", where)
        scene.add(key, patterns, deed=f"{who} {verb}", verb=verb, e=who, n=[str(years), spell(years)], b=str(born), y=str(born + years))

    for prefix, who in (("", person), ("other_", other)):
        for suffix, patterns in (("age", BY_AGE), ("year", BY_YEAR)):
            put(f"{prefix}{suffix}", who, place, age, patterns)
            put(f"{prefix}wrong_{suffix}", who, place, wrong, patterns)
        scene.support((f"{prefix}age", f"{prefix}year"), (f"{prefix}wrong_age", f"{prefix}wrong_year"))
        scene.contradict(*((f"{prefix}{a}", f"{prefix}wrong_{b}") for a in ("age", "year") for b in ("age", "year")))
    if any(word in deed for word in REPEATABLE):
        put("elsewhere", person, place2, wrong, BY_AGE)
        put("elsewhere_true", person, place2, age, BY_AGE)
        scene.contradict(("elsewhere", "elsewhere_true"))
    return scene
