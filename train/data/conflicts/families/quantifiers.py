"""Quantifiers, superlatives, ordinals and comparatives: who entails whom, who excludes whom, and what is left open."""

from __future__ import annotations

from random import Random

from train.data.conflicts.engine import Scene
from train.data.conflicts.families.stories import Story
from train.data.conflicts.names import Names
from train.data.conflicts.values import ORDINALS, spell

GROUPS: tuple[tuple[str, str], ...] = (
    ("houses in {x}", "house in {x}"), ("islands of the {x} group", "island of the {x} group"), ("recruits at camp {x}", "recruit at camp {x}"), ("bells of {x} church", "bell of {x} church"),
    ("pupils at the {x} school", "pupil at the {x} school"), ("ministers of {x}", "minister of {x}"), ("farms near {x}", "farm near {x}"), ("streets of {x}", "street of {x}"), ("shops on {x} Lane", "shop on {x} Lane"),
    ("members of the {x} club", "member of the {x} club"), ("songs on the album {x}", "song on the album {x}"), ("rooms of the {x} hotel", "room of the {x} hotel"), ("teachers in {x}", "teacher in {x}"),
    ("patients in the {x} trial", "patient in the {x} trial"), ("lakes around {x}", "lake around {x}"), ("buses in {x}", "bus in {x}"), ("villages in the {x} valley", "village in the {x} valley"), ("letters in the {x} archive", "letter in the {x} archive"),
    ("ships of the {x} line", "ship of the {x} line"), ("trees in {x} park", "tree in {x} park"),
)  # fmt: skip
PREDICATES: tuple[tuple[str, str], ...] = (
    ("have been inspected", "has been inspected"), ("are older than fifty years", "is older than fifty years"), ("have been given a number", "has been given a number"), ("were mentioned in the report", "was mentioned in the report"),
    ("have been photographed", "has been photographed"), ("are listed in the register", "is listed in the register"), ("were affected by the flood", "was affected by the flood"), ("are named after saints", "is named after a saint"),
    ("were paid for by the state", "was paid for by the state"), ("have changed since the war", "has changed since the war"), ("appear on the map", "appears on the map"), ("are known to the police", "is known to the police"),
    ("were counted in June", "was counted in June"), ("come from abroad", "comes from abroad"), ("have a Welsh name", "has a Welsh name"), ("have been insured", "has been insured"), ("made the newspapers", "made the newspapers"),
)  # fmt: skip
QUANTITIES: dict[str, tuple[str, ...]] = {
    "all": ("all [of the|the] {g} {p}", "every {one} {p1}", "each {one} {p1}", "there is no {one} of which it cannot be said: it {p1}", "without exception the {g} {p}", "not a single {one} is left out: all {p}", "100 per cent of the {g} {p}"),
    "most": ("most of the {g} {p}", "[the majority|more than half] of the {g} {p}", "{big} of the {g} {p}", "the greater part of the {g} {p}", "a large majority of the {g} {p}"),
    "few": ("few of the {g} {p}", "[hardly any|only a few] of the {g} {p}", "only a small minority of the {g} {p}", "just {tiny} of the {g} {p}", "scarcely any of the {g} {p}"),
    "none": ("none of the {g} {p}", "no {one} {p1}", "not a single {one} {p1}", "not one {one} {p1}", "there is no {one} that {p1}", "0 per cent of the {g} {p}"),
    "some": ("some of the {g} {p}", "at least one {one} {p1}", "there are {g} that {p}", "a number of the {g} {p}", "several of the {g} {p}"),
    "notall": ("not all of the {g} {p}", "not every {one} {p1}", "it is not true that all the {g} {p}", "at least one {one} is an exception to the rule that all {p}"),
}  # fmt: skip
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
    big, tiny = rng.choice(("nine in ten", "eight in ten", "three quarters", "four fifths", "90 per cent")), rng.choice(("one in ten", "a tenth", "5 per cent", "one in twenty"))
    for prefix, place, (p, p1) in (("", x, first), ("pred_", x, second), ("place_", z, first)):
        for key in keys:
            scene.add(prefix + key, QUANTITIES[key], g=g.format(x=place), one=one.format(x=place), p=p, p1=p1, big=big, tiny=tiny)
        for label, table in (("support", SUPPORTS), ("contradict", CONTRADICTS), (None, OPEN)):
            for a, b in table:
                if a in keys and b in keys:
                    scene.relate(label, (prefix + a, prefix + b))
    return scene


SORTS: tuple[tuple[str, str, str, str, str], ...] = (  # noun, superlative, comparative, opposite superlative, opposite comparative
    ("peak", "highest", "higher", "lowest", "lower"), ("lake", "deepest", "deeper", "shallowest", "shallower"), ("river", "longest", "longer", "shortest", "shorter"), ("town", "most populous", "more populous", "least populous", "less populous"),
    ("inn", "oldest", "older", "newest", "newer"), ("bridge", "longest", "longer", "shortest", "shorter"), ("mine", "richest", "richer", "poorest", "poorer"), ("library", "largest", "larger", "smallest", "smaller"),
    ("tower", "tallest", "taller", "lowest", "lower"), ("school", "biggest", "bigger", "smallest", "smaller"), ("street", "widest", "wider", "narrowest", "narrower"), ("harbour", "busiest", "busier", "quietest", "quieter"),
    ("market", "cheapest", "cheaper", "dearest", "dearer"), ("newspaper", "most widely read", "more widely read", "least read", "less widely read"), ("train", "fastest", "faster", "slowest", "slower"), ("bell", "heaviest", "heavier", "lightest", "lighter"),
)  # fmt: skip
TOP = ("{e} is the {sup} {n} in {r}", "no {n} in {r} is {cmp} than {e}", "the {sup} {n} in {r} is {e}", "{e} is {cmp} than any other {n} in {r}", "in {r} no other {n} is {cmp} than {e}", "of all {n}s in {r} {e} is the {sup}", "{e} ranks first among the {sup} {n}s in {r}")
SECOND = ("{e} is the {ord} {sup} {n} in {r}", "the {ord} {sup} {n} in {r} is {e}", "exactly {k} {n}s in {r} are {cmp} than {e}", "{e} ranks {ord} among the {sup} {n}s in {r}", "in {r} {e} is only the {ord} {sup} {n}")
ONEOF = ("{e} is one of the {sup} {n}s in {r}", "{e} is among the {sup} {n}s in {r}", "one of the {sup} {n}s in {r} is {e}")
NOTOF = ("{e} is not one of the {sup} {n}s in {r}", "{e} is not among the {sup} {n}s in {r}", "a great many {n}s in {r} are {cmp} than {e}", "most {n}s in {r} are {cmp} than {e}")
BEATS = ("{e} is {cmp} than {f}", "{f} is {low} than {e}", "compared with {f}, {e} is the {cmp} {n}", "of the two, {e} and {f}, the former is the {cmp} {n}", "of {f} and {e} the {low} {n} is {f}")


def superlatives(names: Names, rng: Random) -> Scene:
    """First, second, one of the first, last; two rivals; the same rank in another region."""
    n, sup, cmp, low_sup, low = rng.choice(SORTS)
    if n in ("library",):
        n = "school"
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
        scene.contradict(*((f"{prefix}{a}", f"{prefix}{b}") for a, b in (("top", "rival"), ("top", "second"), ("top", "notof"), ("oneof", "notof"), ("rival", "rival_notof"), ("rival_oneof", "rival_notof"))))
        scene.undecided((f"{prefix}second", f"{prefix}oneof"), (f"{prefix}second", f"{prefix}notof"))
    scene.add("beats", BEATS, e=e, f=f, **fields)
    scene.add("beaten", BEATS, e=f, f=e, **fields)
    scene.contradict(("beats", "beaten"))
    for prefix in ("", "region_"):
        scene.contradict((f"{prefix}top", "beaten"), (f"{prefix}rival", "beats"))
        scene.undecided((f"{prefix}notof", "beats"), (f"{prefix}rival_notof", "beaten"), (f"{prefix}second", "beats"), (f"{prefix}second", "beaten"))
        # being first in a region entails being ahead of the other only where the other lies in it
        scene.undecided((f"{prefix}top", "beats"), (f"{prefix}rival", "beaten"))
        scene.undecided((f"{prefix}top", "beaten"), (f"{prefix}rival", "beats"))
    return scene


def counts(names: Names, rng: Random) -> Scene:
    """'At least', 'exactly', 'only', 'no more than' over counts of a small set."""
    n = rng.randint(3, 14)
    high, low = n + rng.randint(2, 6), max(1, n - rng.randint(2, 6))
    x, z = names.town(), names.town()
    noun, other = rng.sample(("hotels", "churches", "bakeries", "wells", "windmills", "bridges", "cinemas", "doctors", "fountains", "schools", "vineyards", "dentists", "ferries", "lighthouses", "stables"), 2)
    scene = Scene("superlatives_quantifiers", "counts")
    exact = ("{x} has [exactly |]{v} {n}", "there are {v} {n} in {x}", "the number of {n} in {x} is {v}", "{n} in {x} number {v}", "one can count {v} {n} in {x}")
    least = ("{x} has at least {v} {n}", "there are no fewer than {v} {n} in {x}", "{x} has {v} or more {n}", "there are {v} {n} in {x}, if not more")
    most = ("{x} has at most {v} {n}", "there are no more than {v} {n} in {x}", "{x} has {v} {n} or fewer", "there are not more than {v} {n} in {x}")
    for prefix, place, what in (("", x, noun), ("noun_", x, other), ("place_", z, noun)):
        say = lambda v: [str(v), spell(v)]  # noqa: E731
        scene.add(f"{prefix}exact", exact, x=place, n=what, v=say(n))
        scene.add(f"{prefix}more", exact, x=place, n=what, v=say(high))
        scene.add(f"{prefix}least", least, x=place, n=what, v=say(n + 1))
        scene.add(f"{prefix}most", most, x=place, n=what, v=say(high - 1))
        scene.add(f"{prefix}least_low", least, x=place, n=what, v=say(low))
        scene.add(f"{prefix}most_high", most, x=place, n=what, v=say(high + 1))
        scene.support(*((f"{prefix}{a}", f"{prefix}{b}") for a, b in (("more", "least"), ("exact", "most"), ("exact", "least_low"), ("more", "least_low"), ("exact", "most_high"), ("more", "most_high"), ("least", "least_low"), ("most", "most_high"))))
        scene.contradict(*((f"{prefix}{a}", f"{prefix}{b}") for a, b in (("exact", "more"), ("exact", "least"), ("more", "most"))))
    return scene


ONLY = [
    Story("only", {"x": "town", "e": "stem", "f": "stem", "n,m": [("hotel", "guesthouse"), ("bank", "post office"), ("school", "nursery"), ("doctor", "dentist"), ("bakery", "butcher's shop"), ("theatre", "cinema"), ("mosque", "temple"), ("brewery", "distillery")]}, {
        "only": ("the {e} is the only {n} in {x}", "{x} has no {n} apart from the {e}", "the {e} is the one {n} that {x} has", "in {x} there is a single {n}, the {e}", "no {n} but the {e} exists in {x}"),
        "two": ("the {f} is a {n} in {x}, like the {e}", "{x} has several {n}s, the {e} and the {f} among them", "besides the {e}, {x} has another {n}, the {f}", "in {x} both the {e} and the {f} are {n}s"),
        "three": ("in {x} one can choose between two {m}s", "{x} has two {m}s", "there are two {m}s in {x}", "the number of {m}s in {x} is two"),
        "none": ("in {x} one looks in vain for a {m}", "{x} has no {m}", "there is not one {m} in {x}", "the number of {m}s in {x} is zero"),
    }, "only ! two, three ! none", ("x",)),
    Story("members", {"o": "org", "m,n": [("Members", "vote"), ("Residents", "fish"), ("Doctors", "sell the drug"), ("Veterans", "apply"), ("Citizens", "stand for election"), ("Owners", "park"), ("Adults", "sign up")], "x": "town", "p": ["speak", "eat", "borrow books", "use the hall"]}, {
        "onlythey": ("only {m} of {o} may {n} in {x}", "nobody but {m} of {o} may {n} in {x}", "in {x} the right to {n} is reserved for {m} of {o}", "people who are not {m} of {o} may not {n} in {x}"),
        "anyone": ("anyone may {n} in {x}, not just {m} of {o}", "in {x} the right to {n} is open to all", "people who are not {m} of {o} may {n} in {x} as well", "in {x} nobody is barred from the right to {n}"),
        "speak": ("guests may {p} in the rooms of {o} in {x}", "in {x} the rooms of {o} are open to guests who want to {p}", "{o} lets guests {p} in its rooms in {x}"),
        "nospeak": ("guests may not {p} in the rooms of {o} in {x}", "in {x} the rooms of {o} are closed to guests who want to {p}", "{o} does not let guests {p} in its rooms in {x}"),
    }, "onlythey ! anyone, speak ! nospeak", ("x",)),
    Story("firsts", {"e": "person", "f": "person", "x": "stem", "d,dd": [("climb mount {x}", "climbed mount {x}"), ("win the {x} medal", "won the {x} medal"), ("cross the {x} desert", "crossed the {x} desert"), ("fly over the {x} gulf", "flew over the {x} gulf"),
                     ("enter the {x} cave", "entered the {x} cave"), ("swim across lake {x}", "swam across lake {x}"), ("edit the {x} Review", "edited the {x} Review")]}, {
        "first": ("{e} was the first [person|human being] to {d}", "nobody {dd} before {e}", "{e} {dd} before anyone else", "no one had done it when {e} {dd}", "the first to {d} was {e}"),
        "rival": ("{f} was the first [person|human being] to {d}", "nobody {dd} before {f}", "{f} {dd} before anyone else", "no one had done it when {f} {dd}", "the first to {d} was {f}"),
        "fact": ("{e} wrote a book about those who {dd}", "a book about those who {dd} was written by {e}", "the people who {dd} are the subject of a book by {e}"),
        "nofact": ("{e} wrote no book about those who {dd}", "no book about those who {dd} was written by {e}", "the people who {dd} are not the subject of any book by {e}"),
    }, "first ! rival, fact ! nofact", ("x",)),
    Story("both", {"a": "stem", "b": "stem", "x": "town", "p,pn": [("became pilots", "become a pilot"), ("finished the race", "finish the race"), ("moved to the coast", "move to the coast"), ("learned Greek", "learn Greek"), ("joined the navy", "join the navy"), ("passed the test", "pass the test")],
                   "q,qn": [("played the cello", "play the cello"), ("collected stamps", "collect stamps"), ("kept bees", "keep bees"), ("owned a boat", "own a boat")]}, {
        "both": ("both {a} and {b} from {x} {p}", "{a} and {b} from {x} both {p}", "neither {a} nor {b} from {x} failed to {pn}", "{a} from {x} did {pn}, and so did {b}"),
        "neither": ("neither {a} nor {b} from {x} did {pn}", "{a} and {b} from {x} both failed to {pn}", "{a} from {x} did not {pn}, and nor did {b}"),
        "one": ("{a} from {x} did {pn}, but {b} did not", "of {a} and {b} from {x}, only {a} did {pn}", "{b} from {x} failed to {pn}, unlike {a}"),
        "qboth": ("both {a} and {b} from {x} {q}", "{a} and {b} from {x} both {q}", "neither {a} nor {b} from {x} failed to {qn}", "{a} from {x} did {qn}, and so did {b}"),
        "qneither": ("neither {a} nor {b} from {x} did {qn}", "{a} and {b} from {x} both failed to {qn}", "{a} from {x} did not {qn}, and nor did {b}"),
    }, "both ! neither, both ! one, neither ! one, qboth ! qneither", ("x",)),
    Story("frequency", {"e": "person", "x": "town", "d,ding": [("speak to the press", "speaking to the press"), ("come to church", "coming to church"), ("visit the market", "visiting the market"), ("ride a bicycle", "riding a bicycle"), ("write to the mayor", "writing to the mayor")],
                        "q": ["eat fish", "wear a hat", "lose at cards", "drink wine", "play the organ"]}, {
        "often": ("{e} from {x} is [often|frequently] seen {ding}", "hardly a day passes in {x} without {e} {ding}", "almost every day {e} from {x} will {d}", "it is a habit of {e} from {x} to {d}"),
        "rarely": ("{e} from {x} is [rarely|seldom] seen {ding}", "years pass in {x} without {e} {ding}", "hardly ever will {e} from {x} {d}", "it is a rare thing for {e} from {x} to {d}"),
        "qoften": ("{e} from {x} will {q} almost every day", "hardly a day passes in {x} on which {e} does not {q}", "it is a habit of {e} from {x} to {q}"),
        "qrarely": ("{e} from {x} will {q} hardly ever", "hardly a day passes in {x} on which {e} does {q}, so rare is it", "it is a rare thing for {e} from {x} to {q}"),
    }, "often ! rarely, qoften ! qrarely", ("e",)),
]  # fmt: skip
