"""Location and containment: a town lies in its region and country; two places that do not overlap; births, homes, offices, views."""

from __future__ import annotations

from random import Random

from train.data.conflicts.banks import bank
from train.data.conflicts.engine import Scene
from train.data.conflicts.families.geo import COUNTRIES, LANDMARKS, cities, continent
from train.data.conflicts.families.stories import read_stories
from train.data.conflicts.names import Names

BANK = bank("location")

# kind: statement patterns with {e} and {p}; the last group says what does not fix the location
FIXED: dict[str, tuple[str, ...]] = BANK["FIXED"]
# what leaves the location open, and its denial
LOOSE: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = BANK["LOOSE"]


def _entity(kind: str, names: Names, rng: Random) -> str:
    makers = {
        "institute": lambda: (
            f"the {names.stem()} {rng.choice(('Institute', 'Observatory', 'Museum', 'Academy', 'Clinic', 'Laboratory', 'Library'))}"
        ),
        "birth": names.person,
        "grave": names.person,
        "factory": names.company,
        "source": names.river,
        "meeting": lambda: f"{names.town()} {rng.choice(('synod', 'congress', 'conference', 'games', 'trade fair'))}",
        "wreck": names.stem,
        "battle": names.town,
        "archive": lambda: f"the {names.stem()} {rng.choice(('archive', 'papers', 'codex', 'herbarium'))}",
    }
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
    wrong = {
        "city": [other_city, other_city, f"{other_city}, {other_region}", f"{other_city} in {other_region}"],
        "region": other_region,
        "country": country2,
    }
    if (where := continent(country)) and not near and rng.random() < 0.4 and continent(country2) not in (None, where):
        places["continent"], wrong["continent"] = where, continent(country2) or ""
    if kind == "wreck":
        places, wrong = {"city": places["city"]}, {"city": wrong["city"]}
    if near:
        places.pop("country", None)
        wrong.pop("country", None)
        scene.add_partner("nation", patterns, e=one, p=country, y=year)
    for prefix, e in (("", one), ("other_", two)):
        for name, group in (("true", places), ("false", wrong)):
            for level, place in group.items():
                scene.add(f"{prefix}{name}_{level}", patterns, e=e, p=place, y=year)
                scene.support(
                    *(
                        (f"{prefix}{name}_{level}", f"{prefix}{name}_{upper}")
                        for upper in group
                        if f"{prefix}{name}_{upper}" in scene.propositions and upper != level
                    )
                )
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
    indoors = kind in ("institute", "archive", "meeting", "grave", "birth")
    part, opposite, whole = rng.choice(PARTS["indoors"] + PARTS["town"] if indoors else PARTS["town"])
    x, z = names.town(), names.town()
    scene = Scene("location_containment", f"invented.{kind}")
    for prefix, e in (("", one), ("other_", two)):
        for name, place in (
            ("part", part.format(x=x)),
            ("whole", whole.format(x=x)),
            ("elsewhere_part", part.format(x=z)),
            ("elsewhere", whole.format(x=z)),
        ):
            scene.add(f"{prefix}{name}", FIXED[kind], e=e, p=place, y=year)
        scene.support((f"{prefix}part", f"{prefix}whole"), (f"{prefix}elsewhere_part", f"{prefix}elsewhere"))
        scene.contradict(*((f"{prefix}{a}", f"{prefix}{b}") for a in ("part", "whole") for b in ("elsewhere", "elsewhere_part")))
        if opposite:
            scene.add(f"{prefix}opposite", FIXED[kind], e=e, p=opposite.format(x=x), y=year)
            scene.contradict(*((f"{prefix}opposite", f"{prefix}{b}") for b in ("part", "elsewhere", "elsewhere_part")))
            scene.support((f"{prefix}opposite", f"{prefix}whole"))
    loose, denial = LOOSE[kind]
    for name, place in (("here", whole.format(x=x)), ("there", whole.format(x=z))):
        scene.add(f"loose_{name}", loose, e=one, p=place, y=year)
        scene.add(f"denial_{name}", denial, e=one, p=place, y=year)
        scene.contradict((f"loose_{name}", f"denial_{name}"))
    return scene


PARTS = BANK["PARTS"]  # a part of a place, a disjoint part ("" for none), the whole
LIES = BANK["LIES"]
SHOWN = BANK["SHOWN"]
UNSHOWN = BANK["UNSHOWN"]


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


PLACES = read_stories(BANK["PLACES"])
