"""Situations: what evidence stands on either side, and which verdict follows from it. Side 0 wins wherever one side does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from arbgraph.arbitrator.cases import Statement
from arbgraph.arbitrator.records import ArbitrationRecord
from train.data.arbitration.material import BANK, Material, Stage, copies, fresh, independent, ordered, spoken
from train.data.conflicts.names import Names

Sides = tuple[list[Statement], list[Statement]]
Build = Callable[[Material, Stage, Random], Sides | None]


def _both(first: list[Statement] | None, second: list[Statement] | None) -> Sides | None:
    return None if first is None or second is None else (first, second)


def majority(material: Material, stage: Stage, rng: Random) -> Sides | None:
    """More independent sources for one side."""
    few = rng.choice((1, 1, 1, 2))
    many = independent(material, stage, 0, few + rng.choice((1, 1, 2)))
    return _both(many, independent(material, stage, 1, few, kind=rng.choice(("PLAIN", "PLAIN", "WEAK")), taken=many or ()))


def copied(material: Material, stage: Stage, rng: Random) -> Sides | None:
    """Two or three independent sources against one that others pass on, so that it is printed at least as often."""
    right, voice = independent(material, stage, 0, rng.choice((2, 2, 3))), stage.voice()
    wrong = spoken(material, stage, 1, voice, right or ())
    if right is None or wrong is None:
        return None
    return right, [wrong, *copies(stage, wrong, voice, rng.randint(len(right) - 1, len(right) + 1), noticed=rng.random() < 0.7)]


def outdated(material: Material, stage: Stage, rng: Random) -> Sides | None:
    """What held before against what holds now; the old statements may be more."""
    if not material.changes:
        return None
    turn = stage.start
    if stage.dates == "none" and (material.news is None or rng.random() < 0.7):
        stage.dates = rng.choice(("field", "field", "source", "text"))
    told = stage.dates == "none" or rng.random() < 0.6
    now = independent(material, stage, 0, rng.choice((1, 1, 2)), years=(turn, turn + 2))
    before = independent(material, stage, 1, rng.choice((1, 1, 2, 3)), years=(turn - 12, turn - 2), taken=now or ())
    if now is None or before is None:
        return None
    if told and material.news is not None:
        now[0] = now[0].model_copy(update={"text": material.news(0, str(turn))})
    return now, before


def reliable(material: Material, stage: Stage, rng: Random) -> Sides | None:
    """As many sources on either side, on one side those who keep the records, on the other hearsay."""
    count = rng.choice((1, 1, 2))
    stage.sourced = True
    strong = independent(material, stage, 0, count, kind="STRONG")
    return _both(strong, independent(material, stage, 1, count, kind="WEAK", taken=strong or ()))


def self_refuting(material: Material, stage: Stage, rng: Random) -> Sides | None:
    """A source that says both things, and those who pass on its wrong half, against independent ones."""
    stage.titled = stage.sourced = True
    right, voice = independent(material, stage, 0, rng.choice((1, 2))), stage.voice()
    wrong = spoken(material, stage, 1, voice, right or ())
    if right is None or wrong is None:
        return None
    # The same publication on the other side: its title, source and date show it.
    texts = [statement.text for statement in (*right, wrong)]
    text = fresh(lambda: material.say(0, texts), texts)
    if text is None:
        return None
    spread = copies(stage, wrong, voice, rng.choice((0, 1, 2)), noticed=rng.random() < 0.7)
    return [*right, wrong.model_copy(update={"text": text})], [wrong, *spread]


def _about_neither(material: Material) -> Material:
    """The material with nothing but statements that bear on neither claim."""
    aside = material.aside
    return replace(material, say=lambda _, texts: aside(texts) if aside is not None else None)


def beside_the_point(material: Material, stage: Stage, rng: Random) -> Sides | None:
    """Statements that state one side against statements that bear on neither."""
    right = independent(material, stage, 0, rng.choice((1, 1, 2)))
    if material.aside is None or right is None:
        return None
    return _both(right, independent(_about_neither(material), stage, 1, rng.choice((1, 2, 2)), taken=right))


def namesakes(material: Material, stage: Stage, rng: Random) -> Sides | None:
    """Every side has its sources, but they speak of different things of one name."""
    if not material.subject:
        return None
    first, second = rng.sample(BANK["QUALIFIERS"], 2)
    one = independent(material, stage, 0, rng.choice((1, 1, 2)), qualifier=first)
    return _both(one, independent(material, stage, 1, rng.choice((1, 1, 2)), qualifier=second, taken=one or ()))


def undecided(material: Material, stage: Stage, rng: Random) -> Sides | None:
    """As many independent sources of one kind on either side, at one time, however often one side is passed on; or nothing to the point."""
    years = (stage.start, stage.start)
    kind = rng.choice(("PLAIN", "PLAIN", "STRONG", "WEAK"))
    shape = rng.random()
    if shape < 0.12:
        return [], []
    if shape < 0.24 and material.aside is not None:
        one = independent(_about_neither(material), stage, 0, 1, years=years)
        return _both(one, independent(_about_neither(material), stage, 1, 1, years=years, taken=one or ()))
    count = rng.choice((1, 1, 1, 2))
    one = independent(material, stage, 0, count, kind=kind, years=years)
    other = independent(material, stage, 1, count, kind=kind, years=years, taken=one or ())
    if one is None or other is None or shape > 0.5:
        return _both(one, other)
    return one, other + copies(stage, other[0], stage.voice(years=years), rng.choice((1, 2, 3)), noticed=True)


def compatible(material: Material, stage: Stage, rng: Random) -> Sides | None:
    """Both claims can be true, and both are stated."""
    if not material.compatible:
        return None
    one = independent(material, stage, 0, rng.choice((1, 1, 2)))
    return _both(one, independent(material, stage, 1, rng.choice((1, 1, 2)), taken=one or ()))


@dataclass(frozen=True)
class Situation:
    """A way to set up evidence, whether one side wins in it, and its share of the records."""

    build: Build
    decided: bool
    share: float


SITUATIONS: dict[str, Situation] = {
    "majority": Situation(majority, True, 0.28),
    "copied": Situation(copied, True, 0.2),
    "outdated": Situation(outdated, True, 0.16),
    "reliable": Situation(reliable, True, 0.05),
    "self_refuting": Situation(self_refuting, True, 0.08),
    "beside_the_point": Situation(beside_the_point, True, 0.03),
    "namesakes": Situation(namesakes, False, 0.04),
    "undecided": Situation(undecided, False, 0.12),
    "compatible": Situation(compatible, False, 0.04),
}


def make_record(name: str, material: Material, rng: Random, names: Names) -> ArbitrationRecord | None:
    """A record of the situation, its sides in random order; None when the material does not allow it."""
    situation = SITUATIONS[name]
    if material.compatible != (name == "compatible"):
        return None
    sides = situation.build(material, Stage.of(material, rng, names), rng)
    if sides is None:
        return None
    record = ArbitrationRecord(
        query=material.query,
        claim_a=material.claims[0],
        claim_b=material.claims[1],
        context_a=ordered(sides[0], material.claims[0], sides[1]),
        context_b=ordered(sides[1], material.claims[1], sides[0]),
        winner="a" if situation.decided else "unknown",
        type=name,
        origin=material.origin,
    )
    return record.swapped() if rng.random() < 0.5 else record
