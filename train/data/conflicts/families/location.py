"""Location and containment: a town lies in its region and country; two places that do not overlap; births, homes, offices, views."""

from __future__ import annotations

from random import Random

from train.data.conflicts.engine import Scene
from train.data.conflicts.families.geo import COUNTRIES, LANDMARKS, cities, continent
from train.data.conflicts.families.stories import Story
from train.data.conflicts.names import Names

# kind: statement patterns with {e} and {p}; the last group says what does not fix the location
FIXED: dict[str, tuple[str, ...]] = {
    "institute": ("{e} is [located|based|situated] in {p}", "{e} has its only site in {p}", "{p} is where {e} is located", "you will find {e} in {p}", "the home of {e} is {p}", "{e} stands in {p}",
                  "whoever wants to see {e} has to go to {p}", "{p} is home to {e}"),
    "birth": ("{e} was born in {p}", "{e}'s birthplace [is|lies in] {p}", "{p} is the birthplace of {e}", "born in {p}, {e} was [the youngest of six|a baker's child]", "{e} came into the world in {p}", "the birth of {e} took place in {p}"),
    "meeting": ("the {y} {e} [was held|took place] in {p}", "{p} hosted the {y} {e}", "the venue of the {y} {e} was in {p}", "delegates met in {p} for the {y} {e}", "in {y} the {e} was held in {p}"),
    "wreck": ("the wreck of the {e} lies [near|just outside] {p}", "the {e} sank [near|just outside] {p}", "divers found the {e} [near|just outside] {p}", "the remains of the {e} rest [near|just outside] {p}"),
    "battle": ("the battle of {e} was fought [in|near] {p}", "{p} was the scene of the battle of {e}", "the armies clashed in {p} in the battle of {e}", "the battlefield of {e} is in {p}"),
    "grave": ("{e} is buried in {p}", "the grave of {e} is in {p}", "{p} is the burial place of {e}", "{e} was laid to rest in {p}", "{e}'s tomb can be seen in {p}"),
    "factory": ("{e} has its headquarters in {p}", "{e} is headquartered in {p}", "the head office of {e} is in {p}", "{p} is the seat of {e}", "{e} is run from {p}", "the company {e} keeps its head office in {p}"),
    "source": ("{e} rises in {p}", "the source of {e} is in {p}", "{e} has its spring in {p}", "{p} is where {e} begins", "the headwaters of {e} are in {p}"),
    "archive": ("{e} is kept in {p}", "{p} is where {e} is kept", "{e} is stored in a vault in {p}", "the whole of {e} is housed in {p}", "anyone who wants to study {e} must go to {p}"),
}  # fmt: skip
# what leaves the location open, and its denial
LOOSE: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "institute": (("{e} bought its instruments from a firm in {p}", "a firm in {p} sold {e} its instruments", "the instruments of {e} come from a firm in {p}"), ("{e} bought no instruments in {p}", "no firm in {p} sold {e} its instruments", "the instruments of {e} do not come from {p}")),
    "birth": (("{e} worked in {p} as an adult", "as an adult {e} had a job in {p}", "{p} is where {e} went to work later on", "{e} later found work in {p}"), ("{e} never worked in {p} as an adult", "as an adult {e} had no job in {p}", "{p} is a place where {e} never went to work", "{e} never found work in {p} later on")),
    "meeting": (("a follow-up to the {y} {e} was held in {p}", "{p} hosted a follow-up to the {y} {e}", "after the {y} {e} delegates met again in {p} a year later"), ("no follow-up to the {y} {e} was held in {p}", "{p} did not host any follow-up to the {y} {e}", "after the {y} {e} delegates never met again in {p}")),
    "wreck": (("the {e} was built in {p}", "a shipyard in {p} built the {e}", "{p} is where the {e} was built"), ("the {e} was not built in {p}", "no shipyard in {p} built the {e}", "{p} is not where the {e} was built")),
    "battle": (("soldiers from {p} fought in the battle of {e}", "{p} sent soldiers to the battle of {e}", "among those who fought in the battle of {e} were soldiers from {p}"), ("no soldiers from {p} fought in the battle of {e}", "{p} sent no soldiers to the battle of {e}", "among those who fought in the battle of {e} were no soldiers from {p}")),
    "grave": (("{e} once owned a house in {p}", "a house in {p} once belonged to {e}", "{e} was once the owner of a house in {p}"), ("{e} never owned a house in {p}", "no house in {p} ever belonged to {e}", "{e} was never the owner of a house in {p}")),
    "factory": (("{e} sells its goods in {p}", "the goods of {e} are on sale in {p}", "shops in {p} stock the goods of {e}"), ("{e} does not sell its goods in {p}", "the goods of {e} are not on sale in {p}", "no shop in {p} stocks the goods of {e}")),
    "source": (("{e} was painted by artists from {p}", "artists from {p} painted {e}", "{e} is shown on pictures by artists from {p}"), ("{e} was never painted by artists from {p}", "no artist from {p} painted {e}", "{e} is not shown on any picture by artists from {p}")),
    "archive": (("{e} was catalogued by experts from {p}", "experts from {p} catalogued {e}", "it was experts from {p} who catalogued {e}"), ("{e} was not catalogued by experts from {p}", "no expert from {p} catalogued {e}", "it was not experts from {p} who catalogued {e}")),
}  # fmt: skip


def _entity(kind: str, names: Names, rng: Random) -> str:
    makers = {
        "institute": lambda: f"the {names.stem()} {rng.choice(('Institute', 'Observatory', 'Museum', 'Academy', 'Clinic', 'Laboratory', 'Library'))}",
        "birth": names.person, "grave": names.person, "factory": names.company, "source": names.river,
        "meeting": lambda: f"{names.town()} {rng.choice(('summit', 'congress', 'conference', 'games', 'trade fair'))}",
        "wreck": names.stem, "battle": names.town,
        "archive": lambda: f"the {names.stem()} {rng.choice(('collection', 'archive', 'seed bank', 'papers', 'codex', 'herbarium'))}",
    }  # fmt: skip
    return makers[kind]()


def real_places(names: Names, rng: Random) -> Scene:
    """An invented thing in a real town, its region and its country; a disjoint town, region and country."""
    kind = rng.choice(sorted(FIXED))
    one, two = _entity(kind, names, rng), _entity(kind, names, rng)
    year = str(rng.randint(1920, 2019))
    country, country2 = rng.sample(sorted(COUNTRIES), 2)
    near = rng.random() < 0.4  # a wrong place in the same country
    city, region = rng.choice(cities(country))
    other_city, other_region = rng.choice([c for c in cities(country if near else country2) if c[1] != region])
    scene = Scene("location_containment", f"real.{kind}")
    patterns = FIXED[kind]
    places = {"city": [city, city, f"{city}, {region}", f"{city} in {region}"], "region": region, "country": country}
    wrong = {"city": [other_city, other_city, f"{other_city}, {other_region}", f"{other_city} in {other_region}"], "region": other_region, "country": country2}
    if (where := continent(country)) and not near and rng.random() < 0.4 and continent(country2) not in (None, where):
        places["continent"], wrong["continent"] = where, continent(country2) or ""
    if kind == "wreck":
        places, wrong = {"city": places["city"]}, {"city": wrong["city"]}
    if near:
        places.pop("country", None)
        wrong.pop("country", None)
        scene.add("nation", patterns, anchor=False, e=one, p=country, y=year)
    for prefix, e in (("", one), ("other_", two)):
        for name, group in (("true", places), ("false", wrong)):
            for level, place in group.items():
                scene.add(f"{prefix}{name}_{level}", patterns, e=e, p=place, y=year)
                scene.support(*((f"{prefix}{name}_{level}", f"{prefix}{name}_{upper}") for upper in group if f"{prefix}{name}_{upper}" in scene.propositions and upper != level))
        scene.contradict(*((f"{prefix}true_{a}", f"{prefix}false_{b}") for a in places for b in wrong))
    if near:
        scene.support(*(("nation", f"{name}_{level}") for name, group in (("true", places), ("false", wrong)) for level in group))
    loose, denial = LOOSE[kind]
    for p_name, group in (("true", places), ("false", wrong)):
        place = rng.choice([p for p in group.values() if isinstance(p, str)] or [city if p_name == "true" else other_city])
        scene.add(f"loose_{p_name}", loose, e=one, p=place, y=year)
        scene.add(f"denial_{p_name}", denial, e=one, p=place, y=year)
        scene.contradict((f"loose_{p_name}", f"denial_{p_name}"))
    return scene


def invented_places(names: Names, rng: Random) -> Scene:
    """The same with an invented town whose region is told, so that containment cannot be known by heart."""
    kind = rng.choice([k for k in sorted(FIXED) if k != "wreck"])
    one, two = _entity(kind, names, rng), _entity(kind, names, rng)
    year = str(rng.randint(1920, 2019))
    indoors = ("the north wing of {x} house", "the east tower of {x} castle") if kind in ("institute", "archive", "meeting", "grave", "birth") else ()
    part = rng.choice((*indoors, "the old quarter of {x}", "the harbour district of {x}", "the west part of {x}", "the market square of {x}"))
    x, z = names.town(), names.town()
    opposite = part.replace("north", "§").replace("east", "%").replace("west part", "east part").replace("§", "south").replace("%", "west").replace("old quarter", "new quarter")
    whole = "{x} house" if "house" in part else "{x} castle" if "castle" in part else "{x}"
    scene = Scene("location_containment", f"invented.{kind}")
    for prefix, e in (("", one), ("other_", two)):
        for name, place in (("part", part.format(x=x)), ("whole", whole.format(x=x)), ("elsewhere_part", part.format(x=z)), ("elsewhere", whole.format(x=z))):
            scene.add(f"{prefix}{name}", FIXED[kind], e=e, p=place, y=year)
        scene.support((f"{prefix}part", f"{prefix}whole"), (f"{prefix}elsewhere_part", f"{prefix}elsewhere"))
        scene.contradict(*((f"{prefix}{a}", f"{prefix}{b}") for a in ("part", "whole") for b in ("elsewhere", "elsewhere_part")))
        if opposite != part:
            scene.add(f"{prefix}opposite", FIXED[kind], e=e, p=opposite.format(x=x), y=year)
            scene.contradict(*((f"{prefix}opposite", f"{prefix}{b}") for b in ("part", "elsewhere", "elsewhere_part")))
            scene.support((f"{prefix}opposite", f"{prefix}whole"))
    loose, denial = LOOSE[kind]
    for name, place in (("here", whole.format(x=x)), ("there", whole.format(x=z))):
        scene.add(f"loose_{name}", loose, e=one, p=place, y=year)
        scene.add(f"denial_{name}", denial, e=one, p=place, y=year)
        scene.contradict((f"loose_{name}", f"denial_{name}"))
    return scene


LIES = ("{e} {v} in {p}", "{p} is where {e} is found", "{e} is [located|situated] in {p}", "to see {e} one has to travel to {p}", "travellers find {e} in {p}", "{e} belongs to the sights of {p}", "you will find {e} in {p}")
SHOWN = ("an exhibition about {e} was held in {p} in {y}", "in {y} {p} showed an exhibition about {e}", "the {y} exhibition about {e} took place in {p}")
UNSHOWN = ("no exhibition about {e} was held in {p} in {y}", "in {y} {p} did not show any exhibition about {e}", "there was no {y} exhibition about {e} in {p}")


def landmarks(names: Names, rng: Random) -> Scene:
    """A real sight in what contains it and in what does not; things said about it elsewhere; a second sight."""
    (e, verb, inside, outside), (f, verb2, inside2, outside2) = rng.sample(LANDMARKS, 2)
    scene = Scene("location_containment", "landmarks")
    for prefix, sight, v, right, wrong in (("", e, verb, inside, outside), ("other_", f, verb2, inside2, outside2)):
        for i, place in enumerate(right):
            scene.add(f"{prefix}in_{i}", LIES, e=sight, v=v, p=place)
        false = rng.choice(wrong)
        scene.add(f"{prefix}out", LIES, e=sight, v=v, p=false)
        scene.support(*((f"{prefix}in_{i}", f"{prefix}in_{k}") for i in range(len(right)) for k in range(i)))
        scene.contradict(*((f"{prefix}out", f"{prefix}in_{i}") for i in range(len(right))))
        place, year = rng.choice((false, *right)), str(rng.randint(1950, 2019))
        scene.add(f"{prefix}shown", SHOWN, e=sight, p=place, y=year)
        scene.add(f"{prefix}unshown", UNSHOWN, e=sight, p=place, y=year)
        scene.contradict((f"{prefix}shown", f"{prefix}unshown"))
    return scene


PLACES = [
    Story("borders", {"a": "town", "b": "town", "c": "town", "r": "river", "d,o": [("north", "south"), ("south", "north"), ("east", "west"), ("west", "east")]}, {
        "side": ("{a} lies [{d}|to the {d}] of {b}", "{b} lies [{o}|to the {o}] of {a}", "{a} is found {d} of {b}", "to get from {b} to {a} one travels {d}", "{b} is {o} of {a} on the map"),
        "wrong": ("{a} lies [{o}|to the {o}] of {b}", "{b} lies [{d}|to the {d}] of {a}", "{a} is found {o} of {b}", "to get from {b} to {a} one travels {o}", "{b} is {d} of {a} on the map"),
        "bank": ("{a} stands on the {d} bank of {r}", "the {d} bank of {r} is where {a} stands", "{a} is on the {d} side of {r}"),
        "wrongbank": ("{a} stands on the {o} bank of {r}", "the {o} bank of {r} is where {a} stands", "{a} is on the {o} side of {r}"),
        "third": ("{c} lies [{o}|to the {o}] of {b}", "{b} lies [{d}|to the {d}] of {c}", "{c} is found {o} of {b}", "to get from {b} to {c} one travels {o}"),
        "wrongthird": ("{c} lies [{d}|to the {d}] of {b}", "{b} lies [{o}|to the {o}] of {c}", "{c} is found {d} of {b}", "to get from {b} to {c} one travels {d}"),
    }, "side ! wrong, bank ! wrongbank, third ! wrongthird", ()),
    Story("sovereign", {"i": "town", "a": "town", "b": "town", "k": ["island", "valley", "peninsula", "port", "enclave"]}, {
        "belongs": ("the {k} of {i} belongs to {a}", "{a} has sovereignty over the {k} of {i}", "the {k} of {i} is part of {a}", "the {k} of {i} is {a}'s territory", "{a} rules the {k} of {i}"),
        "wrong": ("the {k} of {i} belongs to {b}", "{b} has sovereignty over the {k} of {i}", "the {k} of {i} is part of {b}", "the {k} of {i} is {b}'s territory", "{b} rules the {k} of {i}"),
        "free": ("the {k} of {i} is a state of its own", "the {k} of {i} belongs to no other state", "no outside power rules the {k} of {i}"),
        "claims": ("{b} buys its salt from the {k} of {i}", "the {k} of {i} sells salt to {b}", "salt from the {k} of {i} goes to {b}"),
        "noclaims": ("{b} buys no salt from the {k} of {i}", "the {k} of {i} sells no salt to {b}", "no salt from the {k} of {i} goes to {b}"),
    }, "belongs ! wrong, belongs/wrong ! free, claims ! noclaims", ("i",)),
    Story("route", {"r": "river", "a": "town", "b": "town", "c": "town", "s": ["the northern gulf", "the inner sea", "the great lake", "the western ocean"], "t": ["the eastern gulf", "the outer sea", "the salt lake", "the southern ocean"]}, {
        "through": ("{r} flows through {a}", "{a} lies on {r}", "the town of {a} is crossed by {r}", "{r} passes through {a}", "in {a} one can stand on a bridge over {r}"),
        "not": ("{r} does not flow through {a}", "{a} does not lie on {r}", "the town of {a} is nowhere near {r}", "{r} passes far from {a}"),
        "mouth": ("{r} flows into {s}", "the mouth of {r} is on {s}", "{r} ends in {s}", "the waters of {r} reach {s}"),
        "wrongmouth": ("{r} flows into {t}", "the mouth of {r} is on {t}", "{r} ends in {t}", "the waters of {r} reach {t}"),
        "alsothrough": ("{r} flows through {b}", "{b} lies on {r}", "the town of {b} is crossed by {r}", "{r} passes through {b}"),
        "alsonot": ("{r} does not flow through {b}", "{b} does not lie on {r}", "the town of {b} is nowhere near {r}", "{r} passes far from {b}"),
    }, "through ! not, mouth ! wrongmouth, alsothrough ! alsonot", ("r",)),
]  # fmt: skip
