"""Acronyms and aliases: expansions, nicknames, wrong expansions, another body of the same letters."""

from __future__ import annotations

from random import Random

from train.data.conflicts.engine import Scene
from train.data.conflicts.names import Names

FIRST = """African American Arctic Asian Atlantic Baltic Caribbean Central Coastal Danish Eastern European Federal Global Global Inland International Irish
Maritime Mediterranean National Nordic Northern Pacific Regional Royal Southern United Universal Western World""".split()
SECOND = """Aviation Banking Boxing Cattle Climate Cocoa Dairy Drug Energy Fisheries Football Forest Health History Housing Labour Library Mining Music
Oil Patent Postal Radio Railway Research Rice Seed Ski Space Steel Sugar Tennis Textile Tobacco Trade Transport Veterinary Water Wheat Wool""".split()
THIRD = "Academy Agency Alliance Association Authority Board Bureau Commission Conference Council Federation Foundation Fund Institute League Network Office Organisation Party Society Summit Treaty Union".split()
FACTS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("founded", ("{w} was [founded|established] in {y}", "{w} came into being in {y}", "it was in {y} that {w} was set up", "the founding of {w} took place in {y}", "{w} has existed since {y}"), ("y",)),
    ("seat", ("{w} has its headquarters in {t}", "{w} is [based|headquartered] in {t}", "the headquarters of {w} are in {t}", "{t} is the seat of {w}", "{w} is run from {t}"), ("t",)),
    ("head", ("{w} is headed by {p}", "the head of {w} is {p}", "{p} leads {w}", "{p} is at the head of {w}"), ("p",)),
    ("members", ("{w} has {n} member states", "there are {n} member states in {w}", "the member states of {w} number {n}", "{n} states belong to {w}"), ("n",)),
    ("meeting", ("{w} met in {t} in {y}", "in {y} {w} held its congress in {t}", "{t} hosted the {y} congress of {w}", "the {y} congress of {w} took place in {t}"), ("t",)),
    ("ban", ("{w} [banned|outlawed] {b} in {y}", "in {y} {w} put a ban on {b}", "a ban on {b} was issued by {w} in {y}", "{w} has forbidden {b} since {y}"), ("y",)),
)  # fmt: skip
BANS = ("lead paint", "night flights", "drift nets", "doping", "child labour", "cash payments", "the pesticide {x}", "trade in ivory")


def _values(names: Names, rng: Random) -> dict[str, str]:
    return {"y": str(rng.randint(1900, 2018)), "t": names.town(), "p": names.person(), "n": str(rng.randint(8, 90)), "b": rng.choice(BANS).format(x=names.stem())}


def bodies(names: Names, rng: Random) -> Scene:
    """Facts of a body under its letters and its full name; of another body with the same letters, told by its full name or its field."""
    words = rng.choice(FIRST), rng.choice(SECOND), rng.choice(THIRD)
    letters = "".join(word[0] for word in words)
    while True:
        rival = tuple(rng.choice([w for w in pool if w[0] == word[0]] or [word]) for pool, word in zip((FIRST, SECOND, THIRD), words, strict=True))
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
        "rival_": [full2, f"the {letters2}, the {gloss[False]} {noun[False]},", f"{full2} ({letters2})", f"the {gloss[False]} body {letters2}"],
    }
    if bare:
        forms[""] += [f"the {letters}"] * 3
        forms["rival_"] += [f"the {letters2}"] * 3
    for key, patterns, varied in rng.sample(FACTS, 2):
        base = _values(names, rng)
        wrong = dict(base)
        fresh = _values(names, rng)
        while any(fresh[v] == base[v] for v in varied):
            fresh = _values(names, rng)
        wrong.update({v: fresh[v] for v in varied})
        for prefix, w in forms.items():
            scene.add(f"{prefix}{key}", patterns, w=w, **base)
            scene.add(f"{prefix}{key}_wrong", patterns, w=w, **wrong)
            scene.contradict((f"{prefix}{key}", f"{prefix}{key}_wrong"))
    return scene


ANIMALS = "Lion Fox Eagle Wolf Bear Owl Hawk Bull Nightingale Swan Raven Badger".split()
EPITHETS = "Silent Tall Younger Bold Lame Red Grey Wise Iron Swift".split()
DEEDS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("{w} was born in {v}", "the birthplace of {w} is {v}", "{v} is where {w} was born"), "town"), (("{w} died in {v}", "the year of the death of {w} is {v}", "{v} saw the death of {w}"), "year"),
    (("{w} won the {x} race of {y} in a time of {v} minutes", "it took {w} {v} minutes to win the {x} race of {y}", "{v} minutes was the time of {w} when winning the {x} race of {y}"), "number"),
    (("{w} was married to {v} for life", "{v} was the only spouse of {w}", "the one marriage of {w} was to {v}"), "person"), (("{w} made a first film in {v}", "the first film of {w} dates from {v}", "{v} was the year of the first film of {w}"), "film"),
    (("{w} is buried in {v}", "the grave of {w} is in {v}", "{v} is where {w} lies buried"), "town"), (("{w} took the throne in {v}", "the reign of {w} began in {v}", "{v} was the year when {w} took the throne"), "year"),
)  # fmt: skip


def aliases(names: Names, rng: Random) -> Scene:
    """A person under a full name and under a pen name or nickname that the claim itself explains; another person with the same nickname."""
    a, b = names.couple()
    nick = rng.choice((f"the {rng.choice(ANIMALS)} of {names.town()}", f"{names.stem()} the {rng.choice(EPITHETS)}", names.person(), f"the {names.town()} {rng.choice(ANIMALS)}"))
    scene = Scene("acronyms_aliases", "aliases")
    forms = {
        "": [a, f"{a}, [known as|called|alias|nicknamed] {nick},", f"{nick}, [whose real name is|in private life|born] {a},", f"{a} ({nick})", f"{a.split()[0][0]}. {a.split()[1]}"],
        "other_": [b, f"{b}, [known as|called|alias|nicknamed] {nick},", f"{nick}, [whose real name is|in private life|born] {b},", f"{b} ({nick})", f"{b.split()[0][0]}. {b.split()[1]}"],
    }
    chosen = rng.sample(DEEDS, 2)
    for i, (patterns, kind) in enumerate(chosen):
        make = {"town": names.town, "year": lambda: str(rng.randint(1500, 1990)), "film": lambda: str(rng.randint(1912, 2008)), "number": lambda: str(rng.randint(12, 90)), "person": names.person}[kind]
        values = [make(), make()]
        while values[0] == values[1]:
            values[1] = make()
        x, y = names.town(), str(rng.randint(1900, 2015))
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
KNOWN: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...], str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("NASA", "the National Aeronautics and Space Administration", ("{w} [is|remains] an American agency", "{w} is run by the United States government", "the United States government runs {w}"), ("{w} is a private company", "{w} is in private hands", "private shareholders own {w}"),
     "the Nigerian body NASA", ("{w} organises athletics", "athletics is organised by {w}", "{w} looks after athletics"), ("{w} has nothing to do with athletics", "athletics is no business of {w}", "{w} keeps out of athletics")),
    ("the IMF", "the International Monetary Fund", ("{w} lends money to states", "states borrow money from {w}", "loans to states are made by {w}"), ("{w} lends no money to states", "states cannot borrow from {w}", "loans to states are never made by {w}"),
     "the fictional spy team IMF", ("{w} sends out agents in disguise", "agents in disguise are sent out by {w}"), ("{w} never uses disguises", "disguises are never used by {w}")),
    ("DNA", "deoxyribonucleic acid", ("{w} carries genetic information", "genetic information is carried by {w}", "genes are made of {w}"), ("{w} carries no genetic information", "genetic information is not carried by {w}", "genes are not made of {w}"),
     "the news agency DNA", ("{w} is published in Mumbai", "readers in Mumbai get {w}"), ("{w} is not published in Mumbai", "readers in Mumbai cannot get {w}")),
    ("the UN", "the United Nations", ("{w} has its main seat in New York", "New York is the main seat of {w}", "{w} is based mainly in New York"), ("{w} has its main seat in Oslo", "Oslo is the main seat of {w}", "{w} is based mainly in Oslo"),
     "the student club UN", ("{w} meets on Tuesdays", "Tuesday is the day when {w} meets"), ("{w} never meets on Tuesdays", "Tuesday is not a day when {w} meets")),
    ("the EU", "the European Union", ("{w} has its own parliament", "a parliament belongs to {w}", "{w} elects a parliament"), ("{w} has no parliament", "no parliament belongs to {w}", "{w} does not elect a parliament"),
     "the rock group EU", ("{w} plays go-go music", "go-go is the music of {w}"), ("{w} never plays go-go music", "go-go is not the music of {w}")),
    ("AI", "artificial intelligence", ("{w} is used to read X-rays", "X-rays are read with {w}", "hospitals read X-rays with {w}"), ("{w} is never used to read X-rays", "X-rays are never read with {w}", "no hospital reads X-rays with {w}"),
     "the charity AI", ("{w} campaigns for prisoners", "prisoners are the concern of {w}"), ("{w} does not campaign for prisoners", "prisoners are no concern of {w}")),
    ("the PM", "the prime minister", ("{w} lives in the official residence", "the official residence is home to {w}", "the official residence houses {w}"), ("{w} refuses to live in the official residence", "the official residence is not home to {w}", "the official residence does not house {w}"),
     "the project manager, or PM,", ("{w} checks the schedule", "the schedule is checked by {w}"), ("{w} never checks the schedule", "the schedule is not checked by {w}")),
    ("CO2", "carbon dioxide", ("{w} warms the atmosphere", "the atmosphere is warmed by {w}", "the warming of the atmosphere is due to {w}"), ("{w} does not warm the atmosphere", "the atmosphere is not warmed by {w}", "the warming of the atmosphere is not due to {w}"),
     "the nightclub CO2", ("{w} opens at midnight", "midnight is when {w} opens"), ("{w} is closed at midnight", "at midnight {w} shuts its doors")),
    ("the UK", "the United Kingdom", ("{w} has a king or queen", "a king or queen reigns in {w}", "{w} is a monarchy"), ("{w} has no king or queen", "no king or queen reigns in {w}", "{w} is a republic"),
     "the university UK in Kentucky", ("{w} has a basketball team", "a basketball team plays for {w}"), ("{w} has no basketball team", "no basketball team plays for {w}")),
    ("the WTO", "the World Trade Organization", ("{w} settles trade disputes", "trade disputes are settled by {w}", "{w} rules on quarrels over trade"), ("{w} does not settle trade disputes", "trade disputes are not settled by {w}", "{w} never rules on quarrels over trade"),
     "the tourism body WTO", ("{w} counts tourists", "tourists are counted by {w}"), ("{w} does not count tourists", "tourists are not counted by {w}")),
    ("ECG", "an electrocardiogram", ("{w} records the beat of the heart", "the beat of the heart is recorded by {w}", "doctors record the heart with {w}"), ("{w} tells nothing about the heart", "the beat of the heart is not recorded by {w}", "doctors cannot record the heart with {w}"),
     "the power company ECG", ("{w} raised its prices", "prices were raised by {w}"), ("{w} did not raise its prices", "prices were not raised by {w}")),
    ("the FBI", "the Federal Bureau of Investigation", ("{w} looks into kidnappings", "kidnappings are looked into by {w}", "{w} investigates kidnappings"), ("{w} does not look into kidnappings", "kidnappings are not looked into by {w}", "{w} never investigates kidnappings"),
     "the brewers' league FBI", ("{w} awards a prize for beer", "a prize for beer is awarded by {w}"), ("{w} awards no prize for beer", "no prize for beer is awarded by {w}")),
)  # fmt: skip
SOURCES = ("according to the {x} handbook", "as the {x} Gazette puts it", "a book by {p} says", "in the words of {p}", "{p} explains", "the {x} encyclopedia says")


def known(names: Names, rng: Random) -> Scene:
    """Real abbreviations against their expansions, and against another bearer of the letters."""
    letters, full, yes, no, rival, ryes, rno = rng.choice(KNOWN)
    scene = Scene("acronyms_aliases", "known")
    source = rng.choice(SOURCES).format(x=names.town(), p=names.person())
    for key, patterns, w in (("yes", yes, [letters, full]), ("no", no, [letters, full]), ("rival_yes", ryes, rival), ("rival_no", rno, rival)):
        scene.add(key, [f"{source}, {p}" for p in patterns] + [f"{p}, {source}" for p in patterns], w=w)
    scene.contradict(("yes", "no"), ("rival_yes", "rival_no"))
    return scene
