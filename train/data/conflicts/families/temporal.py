"""Temporal validity: who or what held at which time; periods, changes of state, 'until' and 'since'."""

from __future__ import annotations

from random import Random

from train.data.conflicts.engine import Scene
from train.data.conflicts.families.stories import Story
from train.data.conflicts.names import Names

HOLDERS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("{e} was [mayor|the mayor] of {x} {t}", "{t}, {x} had {e} as its mayor", "the mayor of {x} {t} was {e}", "{e} held the office of mayor of {x} {t}", "{t} the town of {x} was headed by {e}"), "town"),
    (("{e} was [president|the president] of {x} {t}", "{t}, {x} had {e} as its president", "the president of {x} {t} was {e}", "{e} held the presidency of {x} {t}", "{t} the republic of {x} was led by {e}"), "stem"),
    (("{e} was [editor|the editor] of the {x} Gazette {t}", "{t}, the {x} Gazette was edited by {e}", "the editor of the {x} Gazette {t} was {e}", "{e} held the editor's chair at the {x} Gazette {t}"), "town"),
    (("{e} was [head coach|the head coach] of {x} Rovers {t}", "{t}, {x} Rovers were coached by {e}", "the head coach of {x} Rovers {t} was {e}", "{e} ran the {x} Rovers team as head coach {t}"), "town"),
    (("{e} was [owner|the sole owner] of the {x} inn {t}", "{t}, the {x} inn belonged to {e}", "the owner of the {x} inn {t} was {e}", "{e} owned the whole of the {x} inn {t}"), "stem"),
    (("{e} was [minister of transport|the transport minister] of {x} {t}", "{t}, {x} had {e} as minister of transport", "the transport minister of {x} {t} was {e}", "{e} held the transport portfolio in {x} {t}"), "stem"),
    (("{e} was [conductor|the chief conductor] of the {x} Philharmonic {t}", "{t}, the {x} Philharmonic was under the baton of {e}", "the chief conductor of the {x} Philharmonic {t} was {e}", "{e} led the {x} Philharmonic as chief conductor {t}"), "stem"),
    (("{e} was [the tallest building in {x}|{x}'s tallest building] {t}", "{t}, no building in {x} was taller than {e}", "the tallest building in {x} {t} was {e}", "{e} held the height record in {x} {t}"), "town!"),
    (("{e} was [the capital of {x}|{x}'s capital] {t}", "{t}, the capital of {x} was {e}", "the government of {x} sat in {e} {t}", "{e} served as the seat of government of {x} {t}", "{x} was governed from {e} {t}"), "stem#"),
    (("{e} was [the currency of {x}|legal tender in {x}] {t}", "{t}, people in {x} paid in {e}", "the only currency of {x} {t} was {e}", "{e} circulated as the sole currency of {x} {t}"), "stem$"),
)  # fmt: skip
STATES: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("the bakery on {x} Lane", ("{e} was open for business {t}", "{t}, customers could buy at {e}", "{e} served customers {t}", "{t} {e} was trading"), ("{e} was shut {t}", "{t}, no customer could buy at {e}", "{e} served nobody {t}", "{t} {e} was closed")),
    ("the {x} mine", ("{e} was being worked {t}", "{t}, ore was dug at {e}", "{e} was in production {t}", "{t} miners went down {e}"), ("{e} lay idle {t}", "{t}, no ore was dug at {e}", "{e} was out of production {t}", "{t} nobody went down {e}")),
    ("the submarine {x}", ("{e} was in service {t}", "{t}, {e} was on active duty", "the fleet had {e} in service {t}", "{t} the crew of {e} was at sea"), ("{e} was out of service {t}", "{t}, {e} was laid up in port", "the fleet did not have {e} in service {t}", "{t} {e} had no crew on board")),
    ("the {x} ferry", ("{e} was running {t}", "{t}, passengers could cross by {e}", "{e} carried passengers {t}", "{t} {e} was in operation"), ("{e} was not running {t}", "{t}, passengers could not cross by {e}", "{e} carried nobody {t}", "{t} {e} was laid up")),
    ("{x} castle", ("{e} was inhabited {t}", "{t}, a family lived in {e}", "{e} was lived in {t}", "people lived in {e} {t}"), ("{e} was uninhabited {t}", "{t}, nobody lived in {e}", "{e} stood empty {t}", "no one lived in {e} {t}")),
    ("the death penalty in {x}", ("{e} was in force {t}", "{t}, {e} existed by law", "the law provided for {e} {t}"), ("{e} was abolished {t}", "{t}, {e} did not exist by law", "the law did not provide for {e} {t}")),
    ("the {x} Gazette", ("{e} appeared every day {t}", "{t}, readers got {e} daily", "{e} was a daily newspaper {t}"), ("{e} appeared once a week {t}", "{t}, readers got {e} weekly", "{e} was a weekly newspaper {t}")),
    ("the bridge at {x}", ("a toll was charged on {e} {t}", "{t}, drivers had to pay on {e}", "crossing {e} cost money {t}"), ("no toll was charged on {e} {t}", "{t}, drivers did not have to pay on {e}", "crossing {e} was free of charge {t}")),
    ("the border at {x}", ("{e} was open {t}", "{t}, travellers could cross {e}", "one could pass {e} {t}"), ("{e} was closed {t}", "{t}, travellers could not cross {e}", "nobody could pass {e} {t}")),
    ("{x}", ("the town of {e} was under foreign rule {t}", "{t}, foreign troops held {e}", "{e} was occupied {t}"), ("the town of {e} was free of foreign rule {t}", "{t}, no foreign troops held {e}", "{e} was not occupied {t}")),
)  # fmt: skip


def _at(year: int):
    """A time phrase that means that year, or a point in it."""
    return lambda r: r.choice((f"in {year}", f"in {year}", f"in the year {year}", f"in [June|March|October] {year}", f"at the [end|beginning] of {year}", f"throughout {year}", f"during the {year} [flood|elections|strike]"))


def _period(first: int, last: int):
    return lambda r: r.choice((f"from {first} to {last}", f"between {first} and {last}", f"from {first} until {last}", f"for {last - first} years from {first}"))


def holders(names: Names, rng: Random) -> Scene:
    """Two rivals for a place that only one can hold: at one time they exclude each other, at different times not."""
    patterns, spec = rng.choice(HOLDERS)
    x = names.town() if spec.startswith("town") else names.stem()
    make = {"!": lambda: f"the {names.stem()} Tower", "#": names.town, "$": lambda: f"the {names.stem()}"}.get(spec[-1], names.person)
    a, b = make(), make()
    start = rng.randint(1900, 1995)
    length = rng.randint(4, 18)
    inside = start + rng.randint(1, length - 1)
    after = start + length + rng.randint(2, 15)
    before = start - rng.randint(2, 15)
    scene = Scene("temporal_validity", "holders")
    times = {"period": _period(start, start + length), "inside": _at(inside), "before": _at(before), "after": _at(after)}
    for who, e in (("a", a), ("b", b)):
        for name, t in times.items():
            scene.add(f"{who}_{name}", patterns, e=e, x=x, t=t)
        scene.support((f"{who}_period", f"{who}_inside"))
    for p, q in (("period", "period"), ("inside", "inside"), ("period", "inside"), ("inside", "period"), ("before", "before"), ("after", "after")):
        scene.contradict((f"a_{p}", f"b_{q}"))
    return scene


def states(names: Names, rng: Random) -> Scene:
    """A state that lasts until a year and its opposite since then; single years inside, outside and of a second thing."""
    what, on, off = rng.choice(STATES)
    e, other = what.format(x=names.town()), what.format(x=names.town())
    if rng.random() < 0.5:
        on, off = off, on
    turn = rng.randint(1900, 2005)
    early, late = turn - rng.randint(2, 20), turn + rng.randint(2, 15)
    scene = Scene("temporal_validity", "states")
    until = lambda r: r.choice((f"until {turn}", f"right up to {turn}", f"from {early - 3} to {turn}", f"from {early - 3} until {turn}"))  # noqa: E731
    since = lambda r: r.choice((f"from {turn} on", f"from {turn} to {late + 4}", f"for years from {turn} onwards", f"from {turn} until at least {late + 4}"))  # noqa: E731
    at_early = lambda r: r.choice((f"in {early}", f"in {early}", f"in the summer of {early}", f"when the census was taken in {early}"))  # noqa: E731
    at_late = lambda r: r.choice((f"in {late}", f"in {late}", f"in the summer of {late}", f"when the census was taken in {late}"))  # noqa: E731
    for prefix, thing in (("", e), ("other_", other)):
        for name, state in (("on", on), ("off", off)):
            scene.add(f"{prefix}{name}_early", state, e=thing, t=at_early)
            scene.add(f"{prefix}{name}_late", state, e=thing, t=at_late)
            scene.add(f"{prefix}{name}_until", state, e=thing, t=until)
            scene.add(f"{prefix}{name}_since", state, e=thing, t=since)
            scene.undecided((f"{prefix}{name}_until", f"{prefix}{name}_late"))  # 'until' suggests, and does not say, that it ended
            scene.undecided((f"{prefix}{name}_since", f"{prefix}{name}_early"))
            scene.undecided((f"{prefix}{name}_until", f"{prefix}{name}_since"))
        for name in ("on", "off"):
            # 'until' may mean since any time before: an early year lies inside only where the start is given, so it reads as inside
            scene.support((f"{prefix}{name}_early", f"{prefix}{name}_until"), (f"{prefix}{name}_late", f"{prefix}{name}_since"))
        for p, q in (("early", "early"), ("late", "late"), ("until", "early"), ("early", "until"), ("since", "late"), ("late", "since")):
            scene.contradict((f"{prefix}on_{p}", f"{prefix}off_{q}"))
        scene.contradict((f"{prefix}on_until", f"{prefix}off_until"), (f"{prefix}on_since", f"{prefix}off_since"))
    return scene


PRESENT = [
    Story("present", {"x": "town", "e": "person", "f": "person", "y": "early", "z": "middle", "r": ["mayor", "bishop", "harbour master", "fire chief", "town clerk", "head gardener"]}, {
        "now": ("{e} is the {r} of {x}", "the {r} of {x} is {e}", "{x} has {e} as its {r}", "the present {r} of {x} is {e}", "at present {e} serves as {r} of {x}"),
        "rival": ("{f} is the {r} of {x}", "the {r} of {x} is {f}", "{x} has {f} as its {r}", "the present {r} of {x} is {f}", "at present {f} serves as {r} of {x}"),
        "then": ("{f} was the {r} of {x} in {z}", "in {z} the {r} of {x} was {f}", "{x} had {f} as its {r} in {z}", "in {z} {f} served as {r} of {x}"),
        "notthen": ("{f} was not the {r} of {x} in {z}", "in {z} the {r} of {x} was not {f}", "{x} did not have {f} as its {r} in {z}", "in {z} somebody other than {f} served as {r} of {x}"),
        "earlier": ("{f} was the {r} of {x} in {y}", "in {y} the {r} of {x} was {f}", "{x} had {f} as its {r} in {y}", "in {y} {f} served as {r} of {x}"),
        "notearlier": ("{f} was not the {r} of {x} in {y}", "in {y} the {r} of {x} was not {f}", "{x} did not have {f} as its {r} in {y}", "in {y} somebody other than {f} served as {r} of {x}"),
    }, "now ! rival, then ! notthen, earlier ! notearlier", ()),
    Story("former", {"x": "stem", "k": ["tower", "hospital", "factory", "station", "cinema", "chapel", "school"], "y": "late", "z": "middle", "w": "early"}, {
        "stands": ("the {x} {k} is still standing", "the {x} {k} stands to this day", "one can still see the {x} {k}", "the {x} {k} has survived to the present"),
        "gone": ("the {x} {k} was [demolished|torn down] in {y}", "the {x} {k} no longer exists", "nothing remains of the {x} {k}", "since {y} the {x} {k} has been gone"),
        "damaged": ("the {x} {k} was damaged by fire in {z}", "in {z} a fire broke out in the {x} {k}", "a fire damaged the {x} {k} in {z}"),
        "undamaged": ("the {x} {k} escaped damage by fire in {z}", "in {z} no fire broke out in the {x} {k}", "no fire damaged the {x} {k} in {z}"),
        "renamed": ("the {x} {k} was given a new roof in {w}", "in {w} workmen put a new roof on the {x} {k}", "a new roof was put on the {x} {k} in {w}"),
        "notrenamed": ("the {x} {k} was given no new roof in {w}", "in {w} nobody put a new roof on the {x} {k}", "no new roof was put on the {x} {k} in {w}"),
    }, "stands ! gone, damaged ! undamaged, renamed ! notrenamed", ("x",)),
    Story("price", {"x": "town", "g": ["wheat", "butter", "coal", "copper", "wool", "timber", "salt", "tin"], "p,q": [("40", "65"), ("110", "165"), ("210", "300"), ("18", "27"), ("500", "750"), ("72", "90")], "y": "middle", "z": "late"}, {
        "price": ("{g} cost {p} crowns a tonne in {x} in {y}", "in {y} the price of {g} in {x} was {p} crowns a tonne", "a tonne of {g} went for {p} crowns in {x} in {y}", "{x} traders asked {p} crowns for a tonne of {g} in {y}"),
        "other": ("{g} cost {q} crowns a tonne in {x} in {y}", "in {y} the price of {g} in {x} was {q} crowns a tonne", "a tonne of {g} went for {q} crowns in {x} in {y}", "{x} traders asked {q} crowns for a tonne of {g} in {y}"),
        "later": ("{g} cost {q} crowns a tonne in {x} in {z}", "in {z} the price of {g} in {x} was {q} crowns a tonne", "a tonne of {g} went for {q} crowns in {x} in {z}", "{x} traders asked {q} crowns for a tonne of {g} in {z}"),
        "laterwrong": ("{g} cost {p} crowns a tonne in {x} in {z}", "in {z} the price of {g} in {x} was {p} crowns a tonne", "a tonne of {g} went for {p} crowns in {x} in {z}", "{x} traders asked {p} crowns for a tonne of {g} in {z}"),
    }, "price ! other, later ! laterwrong", ()),
    Story("weather", {"x": "town", "w,v": [("rain", "sunshine"), ("fog", "clear skies"), ("frost", "mild air"), ("storm", "calm")], "d,t": [("Monday", "Tuesday"), ("Wednesday", "Friday"), ("Saturday", "Sunday"), ("Thursday", "Monday")], "k": ["harbour", "airfield", "market", "race track"]}, {
        "was": ("{x} had {w} all through {d}", "on {d} there was {w} in {x} the whole day", "all day {d} {x} had {w}", "{w} prevailed in {x} throughout {d}"),
        "wasnt": ("{x} had {v} all through {d}", "on {d} there was {v} in {x} the whole day", "all day {d} {x} had {v}", "{v} prevailed in {x} throughout {d}"),
        "next": ("{x} had {v} all through {t}", "on {t} there was {v} in {x} the whole day", "all day {t} {x} had {v}", "{v} prevailed in {x} throughout {t}"),
        "nextwrong": ("{x} had {w} all through {t}", "on {t} there was {w} in {x} the whole day", "all day {t} {x} had {w}", "{w} prevailed in {x} throughout {t}"),
    }, "was ! wasnt, next ! nextwrong", ()),
]  # fmt: skip
