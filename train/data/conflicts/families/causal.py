"""Causal and scientific statements: directions of effect, null results, mechanisms, conditions, comparisons."""

from __future__ import annotations

from random import Random

from train.data.conflicts.banks import bank
from train.data.conflicts.engine import Scene
from train.data.conflicts.families.stories import read_stories
from train.data.conflicts.names import Names

BANK = bank("causal")

CAUSES = BANK["CAUSES"]
OUTCOMES = BANK["OUTCOMES"]
RAISES = BANK["RAISES"]
LOWERS = BANK["LOWERS"]
NULL = BANK["NULL"]
SOME = BANK["SOME"]
GROUPS = BANK["GROUPS"]


def _noun(options: tuple[str, ...], names: Names, rng: Random, avoid: str = "") -> str:
    while True:
        pick = rng.choice(options).format(x=names.stem(), v=rng.choice("ABCDEK"))
        if pick != avoid:
            return pick


def effects(names: Names, rng: Random) -> Scene:
    """Raises, lowers, no effect, some effect; other cause, other outcome, other group."""
    c, o, g = _noun(CAUSES, names, rng), _noun(OUTCOMES, names, rng), _noun(GROUPS, names, rng)
    c2, o2, g2 = _noun(CAUSES, names, rng, c), _noun(OUTCOMES, names, rng, o), _noun(GROUPS, names, rng, g)
    scene = Scene("causal_scientific", "effects")
    decoy = rng.sample(("cause", "outcome", "group"), 2)
    settings = {"": (c, o, g)} | {f"{d}_": {"cause": (c2, o, g), "outcome": (c, o2, g), "group": (c, o, g2)}[d] for d in decoy}
    for prefix, (cause, outcome, group) in settings.items():
        for key, patterns in (("raises", RAISES), ("lowers", LOWERS), ("null", NULL), ("some", SOME)):
            scene.add(prefix + key, patterns, c=cause, o=outcome, g=group)
        scene.exclusive(f"{prefix}raises", f"{prefix}lowers", f"{prefix}null")
        scene.contradict((f"{prefix}null", f"{prefix}some"))
        scene.support((f"{prefix}raises", f"{prefix}some"), (f"{prefix}lowers", f"{prefix}some"))
    return scene


DISEASES = ("{x} fever", "{x} disease", "{x} rot", "{x} syndrome", "{x} blight", "the {x} cough", "{x} palsy")
AGENTS = BANK["AGENTS"]
CAUSED = BANK["CAUSED"]
UNCAUSED = BANK["UNCAUSED"]
CURES = BANK["CURES"]
FAILS = BANK["FAILS"]
TREATMENTS = BANK["TREATMENTS"]


def causes(names: Names, rng: Random) -> Scene:
    """One disease, its cause and its cure against rivals and denials; another disease."""
    d, d2 = _noun(DISEASES, names, rng), _noun(DISEASES, names, rng)
    a, a2 = rng.sample(AGENTS, 2)
    t = _noun(TREATMENTS, names, rng)
    scene = Scene("causal_scientific", "causes")
    for prefix, disease in (("", d), ("other_", d2)):
        for name, agent in (("true", a), ("false", a2)):
            scene.add(f"{prefix}{name}", CAUSED, d=disease, a=agent)
            scene.add(f"{prefix}not_{name}", UNCAUSED, d=disease, a=agent)
            scene.contradict((f"{prefix}{name}", f"{prefix}not_{name}"))
        scene.contradict((f"{prefix}true", f"{prefix}false"))
        scene.support((f"{prefix}true", f"{prefix}not_false"), (f"{prefix}false", f"{prefix}not_true"))
        scene.add(f"{prefix}cures", CURES, d=disease, t=t)
        scene.add(f"{prefix}fails", FAILS, d=disease, t=t)
        scene.contradict((f"{prefix}cures", f"{prefix}fails"))
    return scene


SCIENCE = read_stories(BANK["SCIENCE"])
