"""Roles and agents: who did it to whom; converse verbs, passives, swapped roles, symmetric relations, other events."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from train.data.conflicts.banks import bank
from train.data.conflicts.engine import Scene
from train.data.conflicts.families.geo import DEMONYMS
from train.data.conflicts.families.stories import read_stories
from train.data.conflicts.names import Names

BANK = bank("roles")

# kind of participants, setting, wordings in which A acts on B (converses included), a second relation between the two; `mutual`: may
# hold both ways in one setting; `once`: cannot happen again in another
CONVERSE: list[dict] = BANK["CONVERSE"]


def _participants(kind: str, names: Names, rng: Random) -> list[str]:
    if kind == "nation":
        return rng.sample(sorted(DEMONYMS), 2)
    makers = {
        "company": names.company,
        "person": names.person,
        "team": lambda: f"{names.town()} {rng.choice(('Rovers', 'United', 'Athletic', 'Town'))}",
        "land": lambda: rng.choice(
            (f"the kingdom of {names.stem()}", f"the duchy of {names.stem()}", f"the republic of {names.stem()}", names.stem())
        ),
        "species": lambda: f"the {names.stem()} {rng.choice(('owl', 'shark', 'spider', 'weasel', 'eel', 'wasp', 'beetle', 'crab'))}",
        "river": lambda: f"the {names.stem()}",
    }
    drawn = []
    while len(drawn) < 2:
        name = makers[kind]()
        if name.split()[0] not in {d.split()[0] for d in drawn} or name.startswith("the "):
            drawn.append(name)
    return drawn


DENIALS = ("it is untrue that {s}", "it is false that {s}", "it is not the case that {s}", "the report that {s} is wrong")


def _forms(name: str) -> str | list[str]:
    """A country may also be named by its people's side."""
    return [name, name, f"the {DEMONYMS[name]} side"] if name in DEMONYMS else name


def _directed(scene: Scene, prefix: str, patterns: Sequence[str], mutual: bool, pair: tuple[str, str], fields: dict[str, str]) -> None:
    """Adds the relation, its reversal and their denials, with their table. A mutual relation may hold both ways at once."""
    denials = [denial.format(s=pattern) for denial in DENIALS for pattern in patterns[:3]]
    for name, (a, b) in (("ab", pair), ("ba", pair[::-1])):
        scene.add(f"{prefix}{name}", patterns, a=_forms(a), b=_forms(b), **fields)
        scene.add(f"{prefix}not_{name}", denials, a=_forms(a), b=_forms(b), **fields)
        scene.contradict((f"{prefix}{name}", f"{prefix}not_{name}"))
    if mutual:
        scene.undecided((f"{prefix}ab", f"{prefix}not_ba"), (f"{prefix}ba", f"{prefix}not_ab"))
    else:
        scene.contradict((f"{prefix}ab", f"{prefix}ba"))
        scene.support((f"{prefix}ab", f"{prefix}not_ba"), (f"{prefix}ba", f"{prefix}not_ab"))


def converses(names: Names, rng: Random) -> Scene:
    """A directed relation between two participants, its reversal, the same on another occasion, and a second relation."""
    verb = rng.choice(CONVERSE)
    a, b = _participants(verb["kind"], names, rng)
    x, z = names.town(), names.town()
    year = rng.randint(1880, 2018)
    later = year + rng.choice((-8, -4, -3, -2, -1, 1, 2, 3, 4, 8))
    scene = Scene("roles_agents", "converses")
    _directed(scene, "", verb["relation"], verb["mutual"], (a, b), {"x": x, "c": verb["setting"].format(x=x, y=year)})
    _directed(scene, "second_", verb["second"], verb["second_mutual"], (a, b), {})
    if not verb["once"]:
        _directed(scene, "other_", verb["relation"], verb["mutual"], (a, b), {"x": z, "c": verb["setting"].format(x=z, y=later)})
    return scene


# attribute of a work or event that one person fills; patterns with {e} person and {w}; a different role in the same work
AUTHORS: tuple[tuple[str, tuple[tuple[str, tuple[str, ...]], ...]], ...] = BANK["AUTHORS"]


def makers(names: Names, rng: Random) -> Scene:
    """Works and events with several roles, each filled by one person: another person in the role, the person in another role."""
    kind, roles = rng.choice(AUTHORS)
    work = {
        "film": lambda: f"the film {names.title()}",
        "book": names.title,
        "bridge": lambda: names.place("bridge"),
        "comet": lambda: f"the {rng.choice(('comet', 'asteroid', 'nebula'))} {names.stem()}",
        "trial": lambda: f"the {names.town()} trial",
        "expedition": lambda: f"the {names.stem()} expedition",
    }[kind]
    first, second = work(), work()
    people = [names.person() for _ in range(3)]
    scene = Scene("roles_agents", f"makers.{kind}")
    (role, patterns), (role2, patterns2) = rng.sample(roles, 2)
    for w, name in ((first, "w1"), (second, "w2")):
        for r, p in ((role, patterns), (role2, patterns2)):
            for i, person in enumerate(people[:2]):
                scene.add(f"{name}_{r}_{i}", p, e=person, w=w)
            scene.contradict((f"{name}_{r}_0", f"{name}_{r}_1"))
    return scene


TIES = read_stories(BANK["TIES"])
