"""Negation and antonyms: denials, double denials, 'failed to', 'refused', gradable opposites, and denials of something else."""

from __future__ import annotations

from random import Random

from train.data.conflicts.banks import bank
from train.data.conflicts.engine import Scene
from train.data.conflicts.families.stories import read_stories
from train.data.conflicts.names import Names

BANK = bank("negation")

# base form, past, noun phrase of the object, verb and object of a different act by the same agent
ACTS = BANK["ACTS"]
DID = BANK["DID"]
DIDNT = BANK["DIDNT"]


FITTING = BANK["FITTING"]  # further objects that a verb takes


def acts(names: Names, rng: Random) -> Scene:
    """One agent, two acts, each done or not: affirmation and denial in equal shares under each label."""
    (base, past, obj), (base2, past2, obj2) = rng.sample(ACTS, 2)
    agent = rng.choice((names.person(), names.company(), f"the {names.town()} {rng.choice(('council', 'committee', 'cooperative'))}"))
    other = names.person()
    tail = rng.choice(
        (
            "",
            f" of the {names.stem()} estate",
            f" in {names.town()}",
            f" at {names.street()}",
            f" in {rng.randint(1950, 2019)}",
            *(" before the deadline", " in time"),
        )
    )
    scene = Scene("negation_antonyms", "acts")
    for prefix, e, b, p, o in (
        ("", agent, base, past, obj),
        ("other_act_", agent, base2, past2, obj2),
        ("other_agent_", other, base, past, obj),
        ("same_verb_", agent, base, past, obj2),
    ):
        if prefix == "same_verb_" and [b, o] not in FITTING:
            continue
        be = "were" if o.endswith("s") else "was"
        scene.add(f"{prefix}did", DID, e=e, base=b, past=p, o=o + tail, be=be)
        scene.add(f"{prefix}didnt", DIDNT, e=e, base=b, past=p, o=o + tail, be=be)
        scene.contradict((f"{prefix}did", f"{prefix}didnt"))
    return scene


# attribute, one side (plain and negated opposite), other side; each a predicate that follows "{e} is"
OPPOSITES = BANK["OPPOSITES"]
IS = BANK["IS"]
ISNT = BANK["ISNT"]


def opposites(names: Names, rng: Random) -> Scene:
    """Two opposite predicates, each affirmed and denied, of a thing and of a second thing."""
    subjects, good, bad = rng.choice(OPPOSITES)
    subject = rng.choice(subjects)
    first, second = (subject.format(x=f"{names.stem()}") for _ in range(2))
    source = rng.choice(("annual report", "guidebook", "inspector", "encyclopedia", "court file", "survey", "local paper", "handbook"))
    scene = Scene("negation_antonyms", "opposites")
    plain = {side: [p for p in predicates if not p.startswith("not ")] for side, predicates in (("good", good), ("bad", bad))}
    for prefix, e in (("", first), ("other_", second)):
        for side, opposite, predicates in (("good", "bad", good), ("bad", "good", bad)):
            scene.add(f"{prefix}{side}", IS, e=e, p=predicates, k=source)
            scene.add(f"{prefix}not_{opposite}", ISNT, e=e, p=plain[opposite], k=source)
            scene.support((f"{prefix}{side}", f"{prefix}not_{opposite}"))
        scene.contradict(
            (f"{prefix}good", f"{prefix}bad"),
            (f"{prefix}good", f"{prefix}not_good"),
            (f"{prefix}bad", f"{prefix}not_bad"),
            (f"{prefix}not_good", f"{prefix}not_bad"),
        )
    return scene


DECISIONS = read_stories(BANK["DECISIONS"])
