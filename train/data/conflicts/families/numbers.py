"""Numbers and units: the same value converted, rounded or bounded; another value; another attribute, year or thing."""

from __future__ import annotations

from random import Random

from train.data.conflicts.engine import Field, Scene
from train.data.conflicts.names import Names
from train.data.conflicts.values import Quantity, number, spell

# attribute -> quantity family, typical low and high value in the base unit, wordings
Attribute = tuple[str, float, float, tuple[str, ...]]
THINGS: dict[str, tuple[tuple[str, ...], dict[str, Attribute]]] = {
    "span": (("bridge", "viaduct", "pier", "aqueduct", "footbridge"), {
        "length": ("length", 60, 2400, ("{e} is {v} long", "{e} [measures|has a length of] {v}", "the length of {e} is {v}", "{e} stretches for {v}",
                                       "from end to end {e} measures {v}", "end to end, {v} is what {e} measures")),
        "height": ("length", 8, 190, ("{e} [rises|stands] {v} above the water", "the deck of {e} is {v} above the water",
                                     "{e} has a clearance of {v}", "ships up to {v} tall fit beneath {e}")),
        "width": ("length", 4, 40, ("{e} is {v} wide", "the width of {e} is {v}", "{e} has a deck {v} across", "across its deck {e} measures {v}")),
        "weight": ("load", 90, 40000, ("the steel in {e} weighs {v}", "{v} of steel went into {e}", "{e} contains {v} of steel")),
        "traffic": ("people", 900, 90000, ("{v} vehicles use {e} every day", "{e} carries {v} vehicles a day", "daily traffic on {e} comes to {v} vehicles")),
    }),
    "water": (("lake", "reservoir", "lagoon"), {
        "area": ("area", 40, 90000, ("{e} covers {v}", "the surface of {e} is {v}", "{e} has an area of {v}", "the area of {e} comes to {v}",
                                    "{e} spreads over {v}")),
        "depth": ("length", 4, 400, ("{e} is {v} deep at its deepest point", "the greatest depth of {e} is {v}", "{e} reaches a depth of {v}",
                                    "at its deepest {e} goes down {v}")),
        "elevation": ("length", 30, 3000, ("{e} lies {v} above sea level", "the altitude of {e} is {v}", "{e} is found at an altitude of {v}",
                                          "{e} sits {v} above the sea")),
        "shore": ("distance", 3, 400, ("the shore of {e} is {v} long", "walking around {e} means covering {v}", "{e} has a shoreline of {v}")),
    }),
    "route": (("railway", "canal", "footpath", "tram line", "ferry route", "cycle race", "marathon course"), {
        "length": ("distance", 6, 900, ("{e} is {v} long", "{e} runs for {v}", "the length of {e} is {v}", "{e} covers a distance of {v}",
                                       "from start to finish {e} measures {v}")),
        "summit": ("length", 60, 2700, ("{e} climbs to {v} above sea level", "the highest point of {e} lies at {v}", "at its highest {e} reaches {v} above the sea",
                                       "the summit of {e} is {v} above sea level")),
        "time": ("time", 20, 600, ("the trip along {e} takes {v}", "travelling the whole of {e} takes {v}", "{v} is the time needed to cover {e}")),
        "users": ("people", 1000, 900000, ("{e} is used by {v} people a year", "{v} people a year use {e}", "each year {e} attracts {v} users")),
    }),
    "animal": (("seal", "heron", "bull", "tortoise", "wolf", "crane", "pike"), {
        "mass": ("mass", 3, 700, ("the average weight of {e} is {v}", "{e} weighs {v} on average", "on average {e} has a mass of {v}",
                                 "an average adult of {e} tips the scales at {v}")),
        "record": ("mass", 800, 1500, ("the heaviest known {k} of the kind called {e} weighed {v}", "the record weight for {e} is {v}",
                                      "no heavier specimen of {e} is known than one of {v}")),
        "speed": ("speed", 8, 70, ("{e} can reach {v}", "the top speed of {e} is {v}", "{e} moves at up to {v}", "at full speed {e} manages {v}")),
        "range": ("distance", 10, 3000, ("{e} roams over {v} in a season", "in one season {e} covers {v}", "a season takes {e} across {v}")),
    }),
    "plant": (("power station", "wind farm", "solar park", "dam"), {
        "power": ("power", 2, 2400, ("{e} has an output of {v}", "the capacity of {e} is {v}", "{e} generates {v}", "{e} can deliver {v}", "{e} is rated at {v}")),
        "area": ("area", 5, 4000, ("{e} occupies {v}", "the site of {e} covers {v}", "{e} takes up {v} of land")),
        "staff": ("people", 20, 900, ("{e} employs {v} people", "{v} people work at {e}", "the staff of {e} numbers {v}", "{e} has a workforce of {v}")),
        "homes": ("people", 2000, 400000, ("{e} supplies {v} homes", "{v} homes get their electricity from {e}", "{e} provides power for {v} households")),
        "cost": ("money", 3000000, 900000000, ("{e} cost {v}", "the price of {e} was {v}", "{v} was spent on building {e}", "building {e} took {v}")),
    }),
    "venue": (("stadium", "theatre", "concert hall", "arena", "school", "hospital", "hotel", "museum", "library"), {
        "seats": ("people", 120, 60000, ("{e} has room for {v} people", "{e} can hold {v} people", "the capacity of {e} is {v} people", "{v} people fit into {e}")),
        "visitors": ("people", 3000, 900000, ("{v} people visited {e} [last year|in the past year]", "{e} had {v} visitors last year",
                                             "last year's visitor total at {e} was {v}", "last year {e} drew {v} visitors")),
        "staff": ("people", 12, 900, ("{e} has {v} employees", "{v} people are employed at {e}", "{e} employs {v} people", "the payroll of {e} lists {v} people")),
        "cost": ("money", 900000, 700000000, ("{e} was built for {v}", "the construction of {e} cost {v}", "building {e} cost {v}")),
        "height": ("length", 8, 120, ("{e} is {v} high", "the roof of {e} is {v} above the street", "{e} rises to a height of {v}")),
    }),
    "town": (("town", "village", "parish", "district", "island"), {
        "population": ("people", 400, 900000, ("{e} has {v} inhabitants", "{v} people live in {e}", "the population of {e} is {v}", "{e} is home to {v} people",
                                              "{e} counts {v} residents")),
        "area": ("area", 300, 60000, ("{e} covers {v}", "{e} has an area of {v}", "the area of {e} is {v}", "{e} extends over {v}")),
        "rain": ("length", 0.4, 3, ("{e} gets {v} of rain a year", "annual rainfall in {e} is {v}", "{v} of rain falls on {e} in a year")),
        "distance": ("distance", 6, 400, ("{e} is {v} from the capital", "the distance from {e} to the capital is {v}", "{v} separate {e} from the capital",
                                         "the capital lies {v} from {e}")),
        "cars": ("people", 100, 300000, ("{v} cars are registered in {e}", "{e} has {v} registered cars", "the number of cars registered in {e} is {v}")),
    }),
    "maker": (("brewery", "dairy", "cider mill", "bottling plant", "winery"), {
        "output": ("volume", 20000, 90000000, ("{e} [produces|turns out|makes] {v} a year", "the annual output of {e} is {v}", "in a year {e} produces {v}",
                                              "{e} has a yearly production of {v}", "{v} leave {e} every year")),
        "water": ("volume", 90000, 900000000, ("{e} uses {v} of water a year", "{v} of water are consumed by {e} every year", "the yearly water use of {e} is {v}")),
        "staff": ("people", 9, 900, ("{e} employs {v} people", "{v} people work at {e}", "the workforce of {e} is {v} strong")),
        "tank": ("volume", 1000, 90000, ("the largest tank at {e} holds {v}", "{e} owns a tank of {v}", "{v} fit into the biggest tank of {e}")),
    }),
    "vehicle": (("aircraft", "locomotive", "truck", "submarine", "lorry", "ferry"), {
        "range": ("distance", 200, 15000, ("{e} has a range of {v}", "{e} can travel {v} without refuelling", "the range of {e} is {v}", "without a stop {e} goes {v}",
                                          "on full tanks {e} covers {v}")),
        "speed": ("speed", 30, 900, ("{e} has a top speed of {v}", "the top speed of {e} is {v}", "{e} can travel at {v}", "{e} reaches {v} at most")),
        "length": ("length", 8, 240, ("{e} is {v} long", "the length of {e} is {v}", "{e} measures {v} from end to end")),
        "mass": ("load", 4, 900, ("{e} weighs {v} empty", "the empty weight of {e} is {v}", "without a load {e} weighs {v}")),
        "crew": ("people", 2, 90, ("{e} has a crew of {v}", "{v} crew members work on {e}", "it takes {v} people to crew {e}")),
    }),
    "journey": (("expedition", "strike", "siege", "trial", "festival", "blockade"), {
        "duration": ("duration", 7, 420, ("{e} lasted {v}", "{e} went on for {v}", "the duration of {e} was {v}", "it took {v} for {e} to end", "{v} passed before {e} was over")),
        "people": ("people", 30, 90000, ("{v} people took part in {e}", "{e} involved {v} people", "the number of people in {e} was {v}")),
        "cost": ("money", 20000, 90000000, ("{e} cost {v}", "the cost of {e} came to {v}", "{v} was the bill for {e}")),
        "arrests": ("people", 3, 900, ("{v} arrests were made during {e}", "police made {v} arrests during {e}", "the arrests during {e} numbered {v}")),
    }),
}  # fmt: skip
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
    return f"the {names.town() if rng.random() < 0.5 else names.stem()} {kind}", kind


def quantities(names: Names, rng: Random) -> Scene:
    """One attribute with its value in many wordings, a second value, and decoys: another attribute, another thing, both values each."""
    group = rng.choice(sorted(THINGS))
    kinds, attributes = THINGS[group]
    entity, kind = _article_thing(names, rng, kinds)
    other = f"the {names.town()} {kind}"
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
    lower, upper = (a, b) if true < false else (b, a)
    third = (lower.value * upper.value) ** 0.5  # between the two values, far enough from both for two-digit rounding
    apart = upper.value / lower.value > 1.3

    def value(q: Quantity, style: str) -> Field:
        if style == "exact":
            return lambda r: q.exact(r) if r.random() < 0.6 else q.approx(r)
        if style == "bound":
            if q is lower:
                return lambda r: q.below(third, r) if r.random() < 0.6 else q.between(q.value * 0.8, third, r)
            return lambda r: q.above(third, r) if r.random() < 0.6 else q.between(third, q.value * 1.25, r)
        return lambda r: lower.above(lower.value * 0.5, r) if q is lower else upper.below(upper.value * 1.8, r)

    for prefix, thing in (("", entity), ("elsewhere_", other)):
        for name, q in (("true", a), ("false", b)):
            scene.add(f"{prefix}{name}", patterns, e=thing, v=value(q, "exact"), k=kind)
            if (apart and family != "people") or (apart and lower.value > 40):
                scene.add(f"{prefix}{name}_bound", patterns, e=thing, v=value(q, "bound"), k=kind)
                scene.support((f"{prefix}{name}", f"{prefix}{name}_bound"))
        scene.contradict((f"{prefix}true", f"{prefix}false"))
        if f"{prefix}true_bound" in scene.propositions:
            scene.contradict((f"{prefix}true", f"{prefix}false_bound"), (f"{prefix}false", f"{prefix}true_bound"))
            scene.undecided((f"{prefix}true_bound", f"{prefix}false_bound"))  # both bounds sit on the same rounded threshold
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
            scene.add(f"{y_name}_{v_name}", patterns, e=entity, y=str(y), k=kind,
                      v=lambda r, q=quantity: q.exact(r) if r.random() < 0.55 else q.approx(r))  # fmt: skip
        scene.contradict((f"{y_name}_true", f"{y_name}_false"))
    return scene


FRACTIONS = ((1, 2), (1, 3), (2, 3), (1, 4), (3, 4), (1, 5), (2, 5), (3, 5), (4, 5), (1, 10), (9, 10))
GROUPS = ("pupils at {x} school", "houses in {x}", "workers at the {x} plant", "voters in {x}", "trees in the {x} forest", "members of the {x} club",
          "shops in {x}", "patients in the {x} study", "cars sold in {x}", "farms around {x}", "seats in the {x} assembly", "rooms of the {x} hotel")  # fmt: skip
SHARES = (("{s} of the {g} [are|were] {q}", "of the {g}, {s} [are|were] {q}", "{q} describes {s} of the {g}", "{s} of all {g} [are|were] {q}"),)
QUALITIES = ("insured", "damaged", "empty", "registered", "counted in the survey", "privately owned", "listed by the council", "older than a decade", "affected by the change",
             "paid for by the state", "new", "inspected in spring")  # fmt: skip


def _share(p: int, q: int):
    percent = 100 * p / q
    words = {2: "half", 3: "third", 4: "quarter", 5: "fifth", 10: "tenth"}[q]
    options = [f"{number(percent)} per cent" if percent == int(percent) else f"about {percent:.0f} per cent",
               f"{number(percent, 0 if percent == int(percent) else 1)} percent", f"{spell(p)} in {spell(q)}", f"{spell(p)} out of {spell(q)}",
               f"{number(percent, 1)}%"]  # fmt: skip
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
    rest = ("{c} of the {g} [are|were] not {q}", "of the {g}, {c} [are|were] not {q}", "not {q}: that goes for {c} of the {g}", "all but {s} of the {g} [are|were] not {q}")
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
                scene.contradict((f"{what}true", f"{what}false_rest"), (f"{what}false", f"{what}true_rest"), (f"{what}true_rest", f"{what}false_rest"))
    return scene


PARTS = (
    ("players", "goalkeepers", "forwards", "the {x} squad"), ("bells", "bronze bells", "iron bells", "the church of {x}"), ("ships", "frigates", "gunboats", "the {x} fleet"),
    ("members", "women", "men", "the {x} committee"), ("rooms", "bedrooms", "bathrooms", "{x} house"), ("animals", "goats", "sheep", "the {x} farm"),
    ("paintings", "portraits", "landscapes", "the {x} gallery"), ("seats", "red seats", "blue seats", "the {x} hall"), ("judges", "appointed judges", "elected judges", "the {x} court"),
    ("houses", "brick houses", "timber houses", "{x} village"), ("crew", "officers", "sailors", "the ship {x}"), ("instruments", "violins", "cellos", "the {x} collection"),
)  # fmt: skip


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
    parts = ("{h} has {m} {l} and {n} {r}[| and no other {w}]", "in {h} there are {m} {l} and {n} {r}, making up all its {w}", "{m} {l} and {n} {r} are all the {w} {h} has",
             "all {w} of {h} are either {l}, of which there are {m}, or {r}, of which there are {n}")  # fmt: skip
    parts = (parts[0].replace("[| and no other {w}]", " and no other {w}"), *parts[1:])
    totals = ("{h} has {t} {w}[| in all| altogether]", "there are {t} {w} in {h}", "the {w} of {h} number {t}", "in all, {h} has {t} {w}", "the total number of {w} in {h} is {t}")
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
        scene.contradict((f"{prefix}parts", f"{prefix}total_wrong"), (f"{prefix}parts_wrong", f"{prefix}total"), (f"{prefix}total", f"{prefix}total_wrong"),
                         (f"{prefix}parts", f"{prefix}parts_wrong"))  # fmt: skip
    return scene
