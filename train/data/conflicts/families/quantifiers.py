"""Quantifiers, superlatives, ordinals and comparatives: who entails whom, who excludes whom, and what is left open."""

from __future__ import annotations

from random import Random

from train.data.conflicts.banks import bank
from train.data.conflicts.engine import Scene
from train.data.conflicts.families.stories import read_stories
from train.data.conflicts.names import Names
from train.data.conflicts.values import ORDINALS, spell

BANK = bank("quantifiers")

GROUPS: tuple[tuple[str, str], ...] = BANK["GROUPS"]
PREDICATES: tuple[tuple[str, str], ...] = BANK["PREDICATES"]
QUANTITIES: dict[str, tuple[str, ...]] = BANK["QUANTITIES"]
SUPPORTS = (("all", "most"), ("all", "some"), ("most", "some"), ("none", "notall"), ("few", "notall"))
CONTRADICTS = (("all", "few"), ("all", "none"), ("all", "notall"), ("most", "few"), ("most", "none"), ("some", "none"), ("few", "none"))
OPEN = (("most", "notall"), ("some", "notall"), ("some", "few"))  # compatible, and near neutral; 'few' suggests some


def quantified(names: Names, rng: Random) -> Scene:
    """Six quantifiers over one group and predicate, over another predicate, and over another group."""
    (g, one) = rng.choice(GROUPS)
    first, second = rng.sample(PREDICATES, 2)
    x, z = names.town(), names.town()
    scene = Scene("superlatives_quantifiers", "quantified")
    keys = rng.sample(sorted(QUANTITIES), 4)
    big, tiny = (
        rng.choice(("nine in ten", "eight in ten", "three quarters", "four fifths", "90 per cent")),
        rng.choice(("one in ten", "a tenth", "5 per cent", "one in twenty")),
    )
    for prefix, place, (p, p1) in (("", x, first), ("pred_", x, second), ("place_", z, first)):
        for key in keys:
            scene.add(prefix + key, QUANTITIES[key], g=g.format(x=place), one=one.format(x=place), p=p, p1=p1, big=big, tiny=tiny)
        for relate, table in ((scene.support, SUPPORTS), (scene.contradict, CONTRADICTS), (scene.undecided, OPEN)):
            relate(*((prefix + a, prefix + b) for a, b in table if a in keys and b in keys))
    return scene


SORTS: tuple[tuple[str, str, str, str], ...] = BANK["SORTS"]
TOP = BANK["TOP"]
SECOND = BANK["SECOND"]
ONEOF = ("{e} is one of the {sup} {n}s in {r}", "{e} is among the {sup} {n}s in {r}", "one of the {sup} {n}s in {r} is {e}")
NOTOF = BANK["NOTOF"]
BEATS = BANK["BEATS"]


def superlatives(names: Names, rng: Random) -> Scene:
    """First, second, one of the first, last; two rivals; the same rank in another region."""
    n, sup, cmp, low = rng.choice(SORTS)
    e, f = (f"the {names.stem()} {n}" for _ in range(2))
    r, r2 = (rng.choice(("the province of {x}", "the district of {x}", "{x}", "the {x} valley")).format(x=names.town()) for _ in range(2))
    k = rng.randint(1, 4)
    scene = Scene("superlatives_quantifiers", "superlatives")
    fields = {"n": n, "sup": sup, "cmp": cmp, "low": low, "ord": ORDINALS[k + 1], "k": spell(k)}
    if k == 1:
        fields["k"] = "one"
    second = [p for p in SECOND if "{k}" not in p] if k == 1 else SECOND
    for prefix, region, who, rival in (("", r, e, f), ("region_", r2, e, f)):
        scene.add(f"{prefix}top", TOP, e=who, r=region, **fields)
        scene.add(f"{prefix}rival", TOP, e=rival, r=region, **fields)
        scene.add(f"{prefix}second", second, e=who, r=region, **fields)
        scene.add(f"{prefix}oneof", ONEOF, e=who, r=region, **fields)
        scene.add(f"{prefix}notof", NOTOF, e=who, r=region, **fields)
        scene.add(f"{prefix}rival_oneof", ONEOF, e=rival, r=region, **fields)
        scene.add(f"{prefix}rival_notof", NOTOF, e=rival, r=region, **fields)
        scene.support((f"{prefix}top", f"{prefix}oneof"), (f"{prefix}rival", f"{prefix}rival_oneof"))
        scene.contradict(
            *(
                (f"{prefix}{a}", f"{prefix}{b}")
                for a, b in (
                    ("top", "rival"),
                    ("top", "second"),
                    ("top", "notof"),
                    ("oneof", "notof"),
                    ("rival", "rival_notof"),
                    ("rival_oneof", "rival_notof"),
                )
            )
        )
        scene.undecided((f"{prefix}second", f"{prefix}oneof"), (f"{prefix}second", f"{prefix}notof"))
    scene.add("beats", BEATS, e=e, f=f, **fields)
    scene.add("beaten", BEATS, e=f, f=e, **fields)
    scene.contradict(("beats", "beaten"))
    for prefix in ("", "region_"):
        scene.contradict((f"{prefix}top", "beaten"), (f"{prefix}rival", "beats"))
        scene.undecided(
            (f"{prefix}notof", "beats"), (f"{prefix}rival_notof", "beaten"), (f"{prefix}second", "beats"), (f"{prefix}second", "beaten")
        )
        # being first in a region entails being ahead of the other only where the other lies in it
        scene.undecided((f"{prefix}top", "beats"), (f"{prefix}rival", "beaten"))
        scene.undecided((f"{prefix}top", "beaten"), (f"{prefix}rival", "beats"))
    return scene


COUNTED = BANK["COUNTED"]
COUNTS = BANK["COUNTS"]
COUNT_SUPPORTS = BANK["COUNT_SUPPORTS"]  # n, high > n, at least n + 1, at most high - 1, and the same with room to spare


def counts(names: Names, rng: Random) -> Scene:
    """'At least', 'exactly', 'only', 'no more than' over counts of a small set."""
    n = rng.randint(3, 14)
    high, low = n + rng.randint(2, 6), max(1, n - rng.randint(2, 6))
    x, z = names.town(), names.town()
    noun, other = rng.sample(COUNTED, 2)
    scene = Scene("superlatives_quantifiers", "counts")
    for prefix, place, what in (("", x, noun), ("noun_", x, other), ("place_", z, noun)):
        for key, wording, value in (
            ("exact", "exact", n),
            ("more", "exact", high),
            ("least", "least", n + 1),
            ("most", "most", high - 1),
            ("least_low", "least", low),
            ("most_high", "most", high + 1),
        ):
            scene.add(f"{prefix}{key}", COUNTS[wording], x=place, n=what, v=[str(value), spell(value)])
        scene.support(*((f"{prefix}{a}", f"{prefix}{b}") for a, b in COUNT_SUPPORTS))
        scene.contradict(*((f"{prefix}{a}", f"{prefix}{b}") for a, b in (("exact", "more"), ("exact", "least"), ("more", "most"))))
    return scene


ONLY = read_stories(BANK["ONLY"])
