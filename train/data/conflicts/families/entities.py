"""Same names: descriptions tell namesakes apart; the same full name without a description is the same entity; professions and origins."""

from __future__ import annotations

from random import Random

from train.data.conflicts.engine import Scene
from train.data.conflicts.families.geo import COUNTRIES, DEMONYMS, cities
from train.data.conflicts.names import Names

JOBS = """painter composer chemist sculptor novelist architect goalkeeper admiral botanist violinist surgeon cartographer bishop jockey pianist
physicist photographer dancer economist geologist poet conductor cyclist judge mathematician actor watchmaker aviator zoologist baker""".split()
SYNONYMS = {
    "painter": "artist", "novelist": "writer", "poet": "writer", "admiral": "naval officer", "goalkeeper": "footballer", "surgeon": "doctor", "violinist": "musician", "pianist": "musician", "botanist": "scientist", "chemist": "scientist",
    "physicist": "scientist", "geologist": "scientist", "zoologist": "scientist", "aviator": "pilot", "bishop": "clergyman", "cartographer": "mapmaker", "actor": "performer", "judge": "jurist", "cyclist": "sportsperson", "jockey": "sportsperson",
}  # fmt: skip
CLOSE = {frozenset(pair) for pair in (("painter", "sculptor"), ("novelist", "poet"), ("composer", "conductor"), ("composer", "violinist"), ("composer", "pianist"), ("violinist", "pianist"), ("chemist", "physicist"), ("physicist", "mathematician"), ("actor", "dancer"))}
# attribute: patterns with {w} (who) and {v}
LIFE: dict[str, tuple[tuple[str, ...], bool]] = {
    "birthplace": (("{w} was born in {v}", "the birthplace of {w} is {v}", "{v} is where {w} was born", "born in {v}, {w} [left early|never forgot it]"), True),
    "birthyear": (("{w} was born in {v}", "the birth year of {w} is {v}", "{v} is the year in which {w} was born", "it was in {v} that {w} was born"), True),
    "deathyear": (("{w} died in {v}", "{v} is the year of the death of {w}", "{w} passed away in {v}", "the death of {w} came in {v}"), True),
    "grave": (("{w} is buried in {v}", "the grave of {w} is in {v}", "{v} is where {w} lies buried"), True),
    "stay": (("{w} spent a summer in {v}", "one summer {w} stayed in {v}", "{v} had {w} as a guest for a summer"), False),
}  # fmt: skip


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

    attributes = rng.sample(sorted(LIFE), 2)
    for attribute in attributes:
        patterns, functional = LIFE[attribute]
        if attribute in ("birthyear", "deathyear"):
            start = rng.randint(1780, 1950) + (70 if attribute == "deathyear" else 0)
            values = [str(start), str(start + rng.choice((-30, -9, -2, 2, 10, 25)))]
        else:
            values = [names.town(), names.town()]
        for prefix, j in (("", job), ("namesake_", job2)):
            for i, value in enumerate(values):
                scene.add(f"{prefix}{attribute}_{i}", patterns, w=described(j), v=value)
            if functional:
                scene.contradict((f"{prefix}{attribute}_0", f"{prefix}{attribute}_1"))
            else:
                scene.propositions.pop(f"{prefix}{attribute}_1")
                scene.anchors = [a for a in scene.anchors if a != f"{prefix}{attribute}_1"]
                scene.add(f"{prefix}{attribute}_not", ("{w} never stayed in {v}", "{w} did not spend any summer in {v}", "{v} never had {w} as a guest"), w=described(j), v=values[0])
                scene.contradict((f"{prefix}{attribute}_0", f"{prefix}{attribute}_not"))
    return scene


def plain_names(names: Names, rng: Random) -> Scene:
    """One full name without description is one person; a different name is another; profession and nationality."""
    a, b = names.couple()
    country, country2 = rng.sample(sorted(DEMONYMS), 2)
    job = rng.choice(JOBS)
    town, town2 = names.town(), names.town()
    scene = Scene("entity_ambiguity", "plain")
    native = ("{w} is a native of {c}", "{c} is the native country of {w}", "{w} was born in {c}", "{w} comes from {c} by birth", "the country of birth of {w} is {c}", "{w} is {adj} by birth")
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


TOWN_FACTS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("river", ("{w} stands on the river {v}", "the river {v} flows through {w}", "{w} was built on the banks of the {v}", "the {v} is the river of {w}"), ()),
    ("founded", ("{w} was founded in {v}", "the founding of {w} dates from {v}", "{v} is the year in which {w} was founded", "it was in {v} that settlers founded {w}"), ()),
    ("mayor", ("the mayor of {w} is {v}", "{v} is the mayor of {w}", "{w} is run by mayor {v}", "{w} has {v} as its mayor"), ()),
    ("university", ("{w} is home to the {v} university", "the {v} university has its only campus in {w}", "the {v} university is in {w}"), ("{w} is not home to the {v} university", "the {v} university has no campus in {w}", "the {v} university is not in {w}")),
    ("flood", ("{w} was flooded in {v}", "a flood struck {w} in {v}", "in {v} the streets of {w} were under water"), ("{w} escaped flooding in {v}", "no flood struck {w} in {v}", "in {v} the streets of {w} stayed dry")),
    ("sport", ("the game of {v} was invented in {w}", "{w} is where the game of {v} was invented", "people in {w} invented the game of {v}"), ("the game of {v} was not invented in {w}", "{w} is not where the game of {v} was invented", "nobody in {w} invented the game of {v}")),
)  # fmt: skip


def towns(names: Names, rng: Random) -> Scene:
    """Two towns of one name, told apart by region or description; a shared full description is one town."""
    name = names.town()
    country, country2 = rng.sample(sorted(COUNTRIES), 2)
    region, region2 = rng.choice(sorted(COUNTRIES[country])), rng.choice(sorted(COUNTRIES[country2]))
    kind, kind2 = rng.sample(("port", "spa town", "mining town", "ski resort", "cathedral city", "market town", "fishing village", "garden suburb", "steel town"), 2)

    def described(r: str, c: str, k: str) -> list[str]:
        return [f"{name}, {r},", f"{name} in {c}", f"the {k} of {name} in {r}", f"{name}, a {k} in {c},", f"{name} in {r}"]

    places = {"": described(region, country, kind), "namesake_": described(region2, country2, kind2)}
    scene = Scene("entity_ambiguity", "towns")
    for key, patterns, denial in rng.sample(TOWN_FACTS, 2):
        values = {"river": lambda: names.stem(), "founded": lambda: str(rng.randint(1100, 1890)), "mayor": names.person, "university": names.stem, "flood": lambda: str(rng.randint(1800, 2015)), "sport": lambda: names.stem().lower()}
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
MADE = ("the {k} {w} {came} in {y}", "{w}, [the|a] {k}, {came} in {y}", "it was in {y} that the {k} {w} {came}", "the {k} called {w} {came} in {y}", "{y} is the year when the {k} {w} {came}")
BYWHOM = ("the {k} {w} is the work of {p}", "{w}, [the|a] {k}, is the work of {p}", "{p} is the creator of the {k} {w}", "it was {p} who created the {k} {w}", "the {k} called {w} was created by {p}")


def works(names: Names, rng: Random) -> Scene:
    """Two works of one title and of different kinds."""
    title = names.title()
    kind, kind2 = rng.sample(WORKS, 2)
    years = rng.sample(range(1900, 2020), 2)
    people = names.person(), names.person()
    scene = Scene("entity_ambiguity", "works")
    for prefix, k in (("", kind), ("namesake_", kind2)):
        for i in (0, 1):
            scene.add(f"{prefix}year_{i}", MADE, k=k, w=title, y=str(years[i]), came=["came out", "appeared", "was first shown to the public"])
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
    forms = {"": [f"{city}, {region},", f"the city of {city} in {country}", f"{city} in {country}"], "namesake_": [f"{city}, a hamlet in {region2},", f"the hamlet of {city} in {country2}", f"the hamlet called {city} in {region2}"]}
    patterns = ("{p} is the head teacher of the only school in {w}", "the head teacher of the only school in {w} is {p}", "{w} has one school, led by {p}", "the one school of {w} is led by {p}")
    mill = ("the mill in {w} was built in {v}", "{w} has a mill that dates from {v}", "{v} is the year in which the mill in {w} was built", "builders finished the mill in {w} in {v}")
    year = rng.randint(1700, 1900)
    for prefix, w in forms.items():
        for i, p in enumerate((person, person2)):
            scene.add(f"{prefix}head_{i}", patterns, w=w, p=p)
            scene.add(f"{prefix}mill_{i}", mill, w=w, v=str(year + i * rng.randint(2, 90)))
        scene.contradict((f"{prefix}head_0", f"{prefix}head_1"))
        if scene.propositions[f"{prefix}mill_0"].fields["v"] != scene.propositions[f"{prefix}mill_1"].fields["v"]:
            scene.contradict((f"{prefix}mill_0", f"{prefix}mill_1"))
    return scene
