"""Material from generated worlds: the scenes of `train.data.conflicts`, and facts that change."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from train.data.arbitration.material import BANK, Material, filled
from train.data.conflicts.engine import Proposition, Scene, Split, render
from train.data.conflicts.families import FAMILIES, draw_scene
from train.data.conflicts.names import Names

COMPATIBLE = 0.15  # scenes from which two claims that can both be true are drawn
MONTHS = BANK["MONTHS"]


def scene_material(rng: Random, names: Names, split: Split) -> Material | None:
    """Two claims of one scene with everything that the scene can say for them; None when it has no fitting pair."""
    scene = draw_scene(rng.choice(sorted(FAMILIES)), names, rng)
    agree = rng.random() < COMPATIBLE
    for key in rng.sample(scene.anchors, len(scene.anchors)):
        partners = [other for other in scene.partners(key, "neutral" if agree else "contradict") if other != key]
        if partners:
            return _material(scene, key, rng.choice(partners), rng, split, agree)
    return None


def _material(scene: Scene, key: str, rival: str, rng: Random, split: Split, agree: bool) -> Material | None:
    rendered = [render(scene.propositions[one], rng, split) for one in (key, rival)]
    claims = [claim.text for claim in rendered if claim is not None]
    if len(set(claims)) < 2:
        return None
    sayings = [_sayings(scene, one, other, agree) for one, other in ((key, rival), (rival, key))]
    asides = [p for p in scene.propositions if all(scene.label(p, one) == "neutral" for one in (key, rival))]

    def say(side: int, texts: Sequence[str]) -> str | None:
        # What the claim itself says is quoted first, as documents that state a claim do.
        if not texts and rng.random() < 0.3:
            return claims[side]
        return _said(scene, rng.choice(sayings[side]), rng, split)

    def aside(texts: Sequence[str]) -> str | None:
        return _said(scene, rng.choice(asides), rng, split)

    subject = _subject(claims, scene.propositions[key], scene.propositions[rival])
    query = rng.choice(BANK["QUERIES"]).replace("{e}", subject) if subject else rng.choice(BANK["LOOSE_QUERIES"])
    return Material(query, (claims[0], claims[1]), say, aside if asides else None, subject=subject, compatible=agree)


def _said(scene: Scene, key: str, rng: Random, split: Split) -> str | None:
    claim = render(scene.propositions[key], rng, split)
    return claim.text if claim is not None else None


def _sayings(scene: Scene, key: str, rival: str, agree: bool) -> list[str]:
    """What speaks for a claim and not for its rival."""
    wanted = ("neutral", "contradict") if agree else ("contradict",)
    supporters = [p for p in scene.partners(key, "support") if scene.label(p, rival) in wanted]
    return supporters or [key]


def _subject(claims: Sequence[str], *propositions: Proposition) -> str:
    """What both propositions are about, where they have a field of its own for it and both claims name it."""
    for name in ("e", "w", "x"):
        values = {value if isinstance(value := p.fields.get(name), str) else "" for p in propositions}
        if len(values) == 1 and (value := values.pop()) and all(value.lower() in claim.lower() for claim in claims):
            return value
    return ""


def change_material(rng: Random, names: Names, split: Split) -> Material:
    """A fact that changes: the value of side 1 held before that of side 0."""
    names.reset()
    fact = rng.choice(BANK["CHANGES"])
    subject = _thing(fact["subject"], rng, names)
    values = _two_values(fact["value"], rng, names)
    # Development records keep one wording in the hand that training never sees.
    says = fact["says"] if split == "dev" else fact["says"][:-1]
    claims = tuple(filled(says, {"e": subject, "v": value}, rng) for value in values)

    def say(side: int, texts: Sequence[str]) -> str | None:
        if not texts and rng.random() < 0.3:
            return claims[side]
        return filled(says, {"e": subject, "v": values[side]}, rng)

    def news(side: int, year: str) -> str:
        return filled(fact["news"], {"e": subject, "v": values[side], "w": values[1 - side], "t": year}, rng)

    query = rng.choice(fact["queries"]).replace("{e}", subject)
    return Material(query, (claims[0], claims[1]), say, news=news, changes=True, subject=subject)


def _thing(kind: str, rng: Random, names: Names) -> str:
    makers = {"person": names.person, "town": names.town, "company": names.company}
    return makers[kind]() if kind in makers else kind.replace("{n}", names.stem())


def _two_values(kind: str, rng: Random, names: Names) -> tuple[str, str]:
    if kind.startswith("number"):
        low, high = map(int, kind.split()[1:])
        first = round(low * (high / low) ** rng.random())
        second = next(v for v in iter(lambda: round(first * rng.choice((0.5, 0.7, 0.85, 1.15, 1.3, 1.6, 2))), None) if v != first)
        return f"{first:,}", f"{second:,}"
    if kind == "clock":
        first, second = rng.sample(("8:00", "8:30", "9:00", "9:30", "10:00", "10:30", "11:00"), 2)
        return first, second
    if kind == "month":
        first, second = rng.sample(MONTHS, 2)
        return first, second
    return _thing(kind, rng, names), _thing(kind, rng, names)
