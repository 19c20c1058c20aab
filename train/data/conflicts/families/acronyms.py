"""Acronyms and aliases: expansions, nicknames, wrong expansions, another body of the same letters."""

from __future__ import annotations

from random import Random

from train.data.conflicts.banks import bank
from train.data.conflicts.engine import Scene
from train.data.conflicts.names import Names

BANK = bank("acronyms")

FIRST = BANK["FIRST"]
SECOND = BANK["SECOND"]
THIRD = BANK["THIRD"]
FACTS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = BANK["FACTS"]
BANS = ("lead paint", "night flights", "drift nets", "doping", "child labour", "cash payments", "the pesticide {x}", "trade in ivory")


def _values(names: Names, rng: Random, key: str) -> dict[str, str]:
    """Values for one fact; every founding precedes every other dated fact."""
    return {
        "y": str(rng.randint(1890, 1945) if key == "founded" else rng.randint(1950, 2018)),
        "t": names.town(),
        "p": names.person(),
        "n": str(rng.randint(8, 90)),
        "b": rng.choice(BANS).format(x=names.stem()),
    }


def bodies(names: Names, rng: Random) -> Scene:
    """Facts of a body under its letters and its full name; of another body with the same letters, told by its full name or its field."""
    words = rng.choice(FIRST), rng.choice(SECOND), rng.choice(THIRD)
    letters = "".join(word[0] for word in words)
    while True:
        rival = tuple(
            rng.choice([w for w in pool if w[0] == word[0]] or [word]) for pool, word in zip((FIRST, SECOND, THIRD), words, strict=True)
        )
        if rival[1] != words[1]:
            break
        words = rng.choice(FIRST), rng.choice(SECOND), rng.choice(THIRD)
        letters = "".join(word[0] for word in words)
    if bare := rng.random() < 0.5:  # no second bearer of the letters, so that they alone name the body
        while "".join(word[0] for word in rival) == letters:
            rival = rng.choice(FIRST), rng.choice(SECOND), rng.choice(THIRD)
    letters2 = "".join(word[0] for word in rival)
    scene = Scene("acronyms_aliases", "bodies")
    full, full2 = f"the {' '.join(words)}", f"the {' '.join(rival)}"
    gloss = {True: words[1].lower(), False: rival[1].lower()}
    noun = {True: words[2].lower(), False: rival[2].lower()}
    forms = {
        "": [full, f"the {letters}, the {gloss[True]} {noun[True]},", f"{full} ({letters})", f"the {gloss[True]} body {letters}"],
        "rival_": [
            full2,
            f"the {letters2}, the {gloss[False]} {noun[False]},",
            f"{full2} ({letters2})",
            f"the {gloss[False]} body {letters2}",
        ],
    }
    if bare:
        forms[""] += [f"the {letters}"] * 3
        forms["rival_"] += [f"the {letters2}"] * 3
    for key, patterns, varied in rng.sample(FACTS, 2):
        base = _values(names, rng, key)
        wrong = dict(base)
        fresh = _values(names, rng, key)
        while any(fresh[v] == base[v] for v in varied):
            fresh = _values(names, rng, key)
        wrong.update({v: fresh[v] for v in varied})
        for prefix, w in forms.items():
            scene.add(f"{prefix}{key}", patterns, w=w, **base)
            scene.add(f"{prefix}{key}_wrong", patterns, w=w, **wrong)
            scene.contradict((f"{prefix}{key}", f"{prefix}{key}_wrong"))
    return scene


ANIMALS = ["Lion", "Fox", "Eagle", "Wolf", "Bear", "Owl", "Hawk", "Bull", "Nightingale", "Swan", "Raven", "Badger"]
EPITHETS = ["Silent", "Tall", "Younger", "Bold", "Lame", "Red", "Grey", "Wise", "Iron", "Swift"]
DEEDS: tuple[tuple[tuple[str, ...], str], ...] = BANK["DEEDS"]


def aliases(names: Names, rng: Random) -> Scene:
    """A person under a full name and under a pen name or nickname that the claim itself explains; another person with the same nickname."""
    a, b = names.couple()
    nick = rng.choice(
        (
            f"the {rng.choice(ANIMALS)} of {names.town()}",
            f"{names.stem()} the {rng.choice(EPITHETS)}",
            names.person(),
            f"the {names.town()} {rng.choice(ANIMALS)}",
        )
    )
    scene = Scene("acronyms_aliases", "aliases")
    forms = {
        "": [
            a,
            f"{a}, [known as|called|alias|nicknamed] {nick},",
            f"{nick}, [whose real name is|in private life|born] {a},",
            f"{a} ({nick})",
            f"{a.split()[0][0]}. {a.split()[1]}",
        ],
        "other_": [
            b,
            f"{b}, [known as|called|alias|nicknamed] {nick},",
            f"{nick}, [whose real name is|in private life|born] {b},",
            f"{b} ({nick})",
            f"{b.split()[0][0]}. {b.split()[1]}",
        ],
    }
    born = rng.randint(1885, 1935)
    for i, (patterns, kind) in enumerate(rng.sample(DEEDS, 2)):
        make = {
            "town": names.town,
            "reign": lambda: str(born + rng.randint(18, 40)),
            "film": lambda: str(born + rng.randint(18, 45)),
            "death": lambda: str(born + rng.randint(55, 85)),
            "number": lambda: str(rng.randint(12, 90)),
            "person": names.person,
        }[kind]
        values = [make(), make()]
        while values[0] == values[1]:
            values[1] = make()
        x, y = names.town(), str(born + rng.randint(18, 45))
        for prefix, w in forms.items():
            for j, v in enumerate(values):
                scene.add(f"{prefix}{i}_{j}", patterns, w=w, v=v, x=x, y=y)
            scene.contradict((f"{prefix}{i}_0", f"{prefix}{i}_1"))
        if kind == "person":
            scene.undecided((f"{i}_0", f"other_{i}_0"), (f"{i}_1", f"other_{i}_1"))
        if kind == "number":
            scene.contradict(*((f"{i}_{j}", f"other_{i}_{k}") for j in (0, 1) for k in (0, 1)))
    return scene


# well-known expansions: letters, full name, statement with {w}, its opposite or rival, and another reading of the letters with a statement
KNOWN: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...], str, tuple[str, ...], tuple[str, ...]], ...] = BANK["KNOWN"]
SOURCES = BANK["SOURCES"]


def known(names: Names, rng: Random) -> Scene:
    """Real abbreviations against their expansions, and against another bearer of the letters."""
    letters, full, yes, no, rival, ryes, rno = rng.choice(KNOWN)
    scene = Scene("acronyms_aliases", "known")
    source = rng.choice(SOURCES).format(x=names.town(), p=names.person())
    for key, patterns, w in (
        ("yes", yes, [letters, full]),
        ("no", no, [letters, full]),
        ("rival_yes", ryes, rival),
        ("rival_no", rno, rival),
    ):
        scene.add(key, [f"{source}, {p}" for p in patterns] + [f"{p}, {source}" for p in patterns], w=w)
    scene.contradict(("yes", "no"), ("rival_yes", "rival_no"))
    return scene
