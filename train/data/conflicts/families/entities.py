"""Same names: descriptions tell namesakes apart; the same full name without a description is the same entity; professions and origins."""

from __future__ import annotations

from random import Random

from train.data.conflicts.banks import bank
from train.data.conflicts.engine import Scene
from train.data.conflicts.families.geo import COUNTRIES, DEMONYMS, cities
from train.data.conflicts.names import Names

BANK = bank("entities")

JOBS = BANK["JOBS"]
SYNONYMS = BANK["SYNONYMS"]
CLOSE = {frozenset(pair) for pair in BANK["CLOSE"]}
# attribute: patterns with {w} (who) and {v}
LIFE: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = BANK["LIFE"]


def namesakes(names: Names, rng: Random) -> Scene:
    """Two people of one name with different callings: across them everything is neutral, within one of them it is not."""
    name = names.person()
    job, job2 = rng.sample(JOBS, 2)
    while frozenset((job, job2)) in CLOSE or SYNONYMS.get(job) == SYNONYMS.get(job2, "-"):
        job, job2 = rng.sample(JOBS, 2)
    scene = Scene("entity_ambiguity", "namesakes")

    def described(j: str) -> list[str]:
        forms = [f"{name} the {j}", f"the {j} {name}", f"the {j} {name}", f"{name}, the {j},"]
        return forms + ([f"the {SYNONYMS[j]} {name}"] if j in SYNONYMS else [])

    born = rng.randint(1780, 1940)
    values = {
        "birthyear": [str(born), str(born + rng.choice((-30, -9, -2, 2, 10, 20)))],
        "deathyear": [str(born + (age := rng.randint(62, 80))), str(born + age + rng.choice((-8, -3, -1, 1, 4, 9)))],
    }
    for attribute in rng.sample(sorted(LIFE), 2):
        patterns, denial = LIFE[attribute]
        first, second = values.get(attribute) or (names.town(), names.town())
        for prefix, j in (("", job), ("namesake_", job2)):
            scene.add(f"{prefix}{attribute}", patterns, w=described(j), v=first)
            if denial:  # many values may hold, so only a denial contradicts
                scene.add(f"{prefix}{attribute}_2", denial, w=described(j), v=first)
            else:
                scene.add(f"{prefix}{attribute}_2", patterns, w=described(j), v=second)
            scene.contradict((f"{prefix}{attribute}", f"{prefix}{attribute}_2"))
    return scene


def plain_names(names: Names, rng: Random) -> Scene:
    """One full name without description is one person; a different name is another; profession and nationality."""
    a, b = names.couple()
    country, country2 = rng.sample(sorted(DEMONYMS), 2)
    job = rng.choice(JOBS)
    town, town2 = names.town(), names.town()
    scene = Scene("entity_ambiguity", "plain")
    native = (
        "{w} is a native of {c}",
        "{c} is the native country of {w}",
        "{w} was born in {c}",
        "{w} comes from {c} by birth",
        "the country of birth of {w} is {c}",
        "{w} is {adj} by birth",
    )
    born = ("{w} was born in {t}", "the birthplace of {w} is {t}", "{t} is where {w} was born", "the birth of {w} took place in {t}")
    work = ("{w} worked as a {j} in {t}", "in {t} {w} earned a living as a {j}", "{t} employed {w} as a {j}", "the {j} of {t} was {w}")
    nowork = ("{w} never worked as a {j} in {t}", "in {t} {w} did not earn a living as a {j}", "{t} did not employ {w} as a {j}")
    for prefix, w in (("", a), ("other_", b)):
        for i, (c, t) in enumerate(((country, town), (country2, town2))):
            scene.add(f"{prefix}native_{i}", native, w=w, c=c, adj=DEMONYMS[c])
            scene.add(f"{prefix}born_{i}", born, w=w, t=t)
        scene.contradict((f"{prefix}native_0", f"{prefix}native_1"), (f"{prefix}born_0", f"{prefix}born_1"))
        scene.add(f"{prefix}work", work, w=w, j=job, t=town)
        scene.add(f"{prefix}nowork", nowork, w=w, j=job, t=town)
        scene.contradict((f"{prefix}work", f"{prefix}nowork"))
        scene.undecided((f"{prefix}born_0", f"{prefix}native_1"), (f"{prefix}born_1", f"{prefix}native_0"))
    return scene


TOWN_FACTS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = BANK["TOWN_FACTS"]


def towns(names: Names, rng: Random) -> Scene:
    """Two towns of one name, told apart by region or description; a shared full description is one town."""
    name = names.town()
    country, country2 = rng.sample(sorted(COUNTRIES), 2)
    region, region2 = rng.choice(sorted(COUNTRIES[country])), rng.choice(sorted(COUNTRIES[country2]))
    kind, kind2 = rng.sample(
        (
            "port",
            "spa town",
            "mining town",
            "ski resort",
            "cathedral city",
            "market town",
            "fishing village",
            "garden suburb",
            "steel town",
        ),
        2,
    )

    def described(r: str, c: str, k: str) -> list[str]:
        return [f"{name}, {r},", f"{name} in {c}", f"the {k} of {name} in {r}", f"{name}, a {k} in {c},", f"{name} in {r}"]

    places = {"": described(region, country, kind), "namesake_": described(region2, country2, kind2)}
    scene = Scene("entity_ambiguity", "towns")
    for key, patterns, denial in rng.sample(TOWN_FACTS, 2):
        values = {
            "river": lambda: names.stem(),
            "founded": lambda: str(rng.randint(1100, 1890)),
            "mayor": names.person,
            "observatory": names.stem,
            "flood": lambda: str(rng.randint(1895, 2015)),
        }
        first, second = values[key](), values[key]()
        for prefix, w in places.items():
            scene.add(f"{prefix}{key}", patterns, w=w, v=first)
            if denial:
                scene.add(f"{prefix}{key}_not", denial, w=w, v=first)
                scene.contradict((f"{prefix}{key}", f"{prefix}{key}_not"))
            else:
                scene.add(f"{prefix}{key}_2", patterns, w=w, v=second)
                scene.contradict((f"{prefix}{key}", f"{prefix}{key}_2"))
    return scene


WORKS = ("film", "novel", "opera", "song", "board game", "poem", "play", "video game", "painting", "ballet")
MADE = BANK["MADE"]
BYWHOM = BANK["BYWHOM"]


def works(names: Names, rng: Random) -> Scene:
    """Two works of one title and of different kinds."""
    title = names.title()
    kind, kind2 = rng.sample(WORKS, 2)
    years = rng.sample(range(1900, 2020), 2)
    people = names.person(), names.person()
    scene = Scene("entity_ambiguity", "works")
    for prefix, k in (("", kind), ("namesake_", kind2)):
        for i in (0, 1):
            scene.add(
                f"{prefix}year_{i}", MADE, k=k, w=title, y=str(years[i]), came=["came out", "appeared", "was first shown to the public"]
            )
            scene.add(f"{prefix}maker_{i}", BYWHOM, k=k, w=title, p=people[i])
        scene.contradict((f"{prefix}year_0", f"{prefix}year_1"), (f"{prefix}maker_0", f"{prefix}maker_1"))
    return scene


def real_towns(names: Names, rng: Random) -> Scene:
    """A real town and an invented institution in it: a namesake elsewhere is another town."""
    country, country2 = rng.sample(sorted(COUNTRIES), 2)
    city, region = rng.choice(cities(country))
    region2 = rng.choice(sorted(COUNTRIES[country2]))
    person, person2 = names.person(), names.person()
    scene = Scene("entity_ambiguity", "real_towns")
    forms = {
        "": [f"{city}, {region},", f"the city of {city} in {country}", f"{city} in {country}"],
        "namesake_": [f"{city}, a hamlet in {region2},", f"the hamlet of {city} in {country2}", f"the hamlet called {city} in {region2}"],
    }
    patterns = (
        "{p} is the head teacher of the only school in {w}",
        "the head teacher of the only school in {w} is {p}",
        "{w} has one school, led by {p}",
        "the one school of {w} is led by {p}",
    )
    mill = (
        "the mill in {w} was built in {v}",
        "{w} has a mill that dates from {v}",
        "{v} is the year in which the mill in {w} was built",
        "builders finished the mill in {w} in {v}",
    )
    year = rng.randint(1700, 1900)
    for prefix, w in forms.items():
        for i, p in enumerate((person, person2)):
            scene.add(f"{prefix}head_{i}", patterns, w=w, p=p)
            scene.add(f"{prefix}mill_{i}", mill, w=w, v=str(year + i * rng.randint(2, 90)))
        scene.contradict((f"{prefix}head_0", f"{prefix}head_1"))
        if scene.propositions[f"{prefix}mill_0"].fields["v"] != scene.propositions[f"{prefix}mill_1"].fields["v"]:
            scene.contradict((f"{prefix}mill_0", f"{prefix}mill_1"))
    return scene
