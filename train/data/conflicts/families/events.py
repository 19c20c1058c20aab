"""Life cycles: for each kind of thing, its events in order, each with many wordings. `{e}` is the thing, `{when}` a date phrase.

Shared by the families that ask about dates, periods and completed or denied events.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from train.data.conflicts.banks import bank
from train.data.conflicts.names import Names

BANK = bank("events")

Cycle = list[tuple[str, tuple[str, ...]]]

BUILDING: Cycle = BANK["BUILDING"]
PERSON: Cycle = BANK["PERSON"]
TREATY: Cycle = BANK["TREATY"]
WORK: Cycle = BANK["WORK"]
COMPANY: Cycle = BANK["COMPANY"]
PRODUCT: Cycle = BANK["PRODUCT"]
CLUB: Cycle = BANK["CLUB"]
DISCOVERY: Cycle = BANK["DISCOVERY"]

BUILDING_KINDS = """bridge museum library tunnel theatre lighthouse dam hospital stadium brewery observatory canal school aqueduct
funicular swimming-pool cinema station pier monastery concert-hall power-station""".replace("-", "_").split()
PRODUCT_KINDS = ["camera", "tractor", "scooter", "tablet", "sedan", "synthesiser", "watch", "printer", "console", "radio"]
SPECIES_KINDS = ["comet", "asteroid", "orchid", "beetle", "frog", "cave", "fungus", "moss", "gecko", "shipwreck", "fossil"]


def _building(names: Names, rng: Random) -> tuple[str, str]:
    kind = rng.choice(BUILDING_KINDS).replace("_", " ")
    return names.place(kind), kind


def _product(names: Names, rng: Random) -> tuple[str, str]:
    kind = rng.choice(PRODUCT_KINDS)
    return f"the {names.stem()} {rng.choice(('', '', '200 ', '4 ', 'Mark II '))}{kind}", kind


def _treaty(names: Names, rng: Random) -> tuple[str, str]:
    return rng.choice((f"the {names.town()} pact", f"the {names.town()} accord", f"the {names.town()} convention")), "treaty"


def _club(names: Names, rng: Random) -> tuple[str, str]:
    tail = rng.choice(["Rovers", "United", "Athletic", "Town", "Wanderers", "rowing club", "hockey club", "cricket club"])
    return f"{'the ' if tail[0].islower() else ''}{names.town()} {tail}", "club"


CYCLES: dict[str, tuple[Cycle, Callable[[Names, Random], tuple[str, str]], int]] = {
    # kind: events, maker of (name, noun), typical years between events
    "building": (BUILDING, _building, 4),
    "person": (PERSON, lambda names, rng: (names.person(), "person"), 9),
    "treaty": (TREATY, _treaty, 3),
    "work": (WORK, lambda names, rng: (names.title(), "book"), 4),
    "company": (COMPANY, lambda names, rng: (names.company(), "firm"), 9),
    "product": (PRODUCT, _product, 2),
    "club": (CLUB, _club, 8),
    "discovery": (DISCOVERY, lambda names, rng: (f"the {names.stem()} {(kind := rng.choice(SPECIES_KINDS))}", kind), 5),
}
