"""Scenes: small sets of statements about one invented world whose mutual relations are known by construction.

A scene holds propositions (each with several paraphrase patterns) and a table of which propositions contradict or support each
other; whatever is not in the table is neutral. From one anchor claim the engine draws one partner of every label, so the anchor
says nothing about the label; statements are arranged so that a partner says little either.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from random import Random
from typing import Literal

from train.data.conflicts.banks import bank

BANK = bank("engine")

Label = Literal["support", "contradict", "neutral"]
Split = Literal["train", "dev"]
LABELS: tuple[Label, ...] = ("support", "contradict", "neutral")
Field = str | Sequence[str] | Callable[[Random], str]
Decorator = Callable[[str, Random], str]

MIN_WORDS, MAX_WORDS = 5, 25
HELD_OUT = 5  # one pattern in this many is seen in dev only
RENDER_TRIES = 12
FRAME_SHARE = 0.09  # claims that carry an attribution or aside, whatever their label
FRAMES = BANK["FRAMES"]

_CHOICE = re.compile(r"\[([^\[\]]*\|[^\[\]]*)\]")
_FIELD = re.compile(r"\{(\w+)\}")
_WORD = re.compile(r"\w+")
_NAME = re.compile(r"\b[A-Z]\w+")
_A_AN = re.compile(r"\b([Aa]) (?=[aeioAEIO]|[Hh]our\b|[Hh]onou?r|un[^i])")


class PatternError(ValueError):
    """A paraphrase pattern names a field that its scene does not give, or leaves nothing to say."""


def stable_hash(*parts: str) -> int:
    """A 64-bit integer from the SHA-256 of the parts; the same on every machine."""
    return int.from_bytes(hashlib.sha256("\x1f".join(parts).encode("utf-8")).digest()[:8], "big")


def is_held_out(pattern: str) -> bool:
    """True for the fixed fifth of the patterns that the train split never uses."""
    return stable_hash("pattern", pattern) % HELD_OUT == 0


@dataclass(frozen=True)
class Proposition:
    """One thing that may be said, in any of its patterns; `fields` fill the braces."""

    key: str
    patterns: tuple[str, ...]
    fields: dict[str, Field]


@dataclass(frozen=True)
class Claim:
    """A rendered proposition: the text, and which proposition and pattern it came from."""

    text: str
    key: str
    pattern: str
    body: str


@dataclass(frozen=True)
class Pair:
    """Two claims and their undirected relation."""

    first: str
    second: str
    label: Label
    category: str
    anchor: str
    method: str


@dataclass(frozen=True)
class Plan:
    """How triples are drawn: anchors per scene, candidates per partner, share of contradicting and neutral candidates that repeat the
    anchor's pattern, share of partners joined with a second statement, share of neutral partners that keep the anchor's names (so that a
    strange name is no sign of neutral), and what may be added to a claim without changing what it says."""

    anchors: int = 2
    candidates: int = 5
    same_pattern: float = 0.3
    joined: float = 0.15
    near: float = 0.8
    decorate: Decorator | None = None


def expand(pattern: str, rng: Random) -> str:
    """Replaces every innermost `[x|y|z]` by one of its options until none is left."""
    while _CHOICE.search(pattern):
        pattern = _CHOICE.sub(lambda match: rng.choice(match.group(1).split("|")), pattern, count=1)
    return pattern


def fill(pattern: str, fields: dict[str, Field], rng: Random) -> str:
    """Fills `{name}` from strings, lists (one is drawn) or functions of the generator. Raises PatternError for an unknown name."""

    def value(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in fields:
            raise PatternError(f"pattern {pattern!r} needs field {name!r}; the scene gives {sorted(fields)}")
        given = fields[name]
        if callable(given):
            return given(rng)
        return given if isinstance(given, str) else rng.choice(list(given))

    for _ in range(3):  # a field may itself hold choices or fields
        pattern = _FIELD.sub(value, expand(pattern, rng))
    return expand(pattern, rng)


def sentence(text: str) -> str:
    """Capitalises, fixes a/an and spacing, ends with a full stop."""
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r" ([,.;:?!])", r"\1", text)
    text = re.sub(r",(?=[,.;])", "", text)
    text = _A_AN.sub(r"\1n ", text)
    text = re.sub(r"s's\b", "s'", text)
    text = re.sub(r"\b([Tt]he) [Tt]he\b", r"\1", text)
    if not text:
        raise PatternError("a pattern rendered to nothing")
    text = text[0].upper() + text[1:]
    return text if text[-1] in ".!?" else text.rstrip(",;: ") + "."


@dataclass
class Scene:
    """Propositions about one world, and their relation table. `category` and `family` go into the metadata of every pair."""

    category: str
    family: str
    propositions: dict[str, Proposition] = field(default_factory=dict)
    relations: dict[frozenset[str], Label | None] = field(default_factory=dict)
    anchors: list[str] = field(default_factory=list)

    def add(self, key: str, patterns: Iterable[str], **fields: Field) -> None:
        """Adds a proposition that may be an anchor or a partner."""
        self.add_partner(key, patterns, **fields)
        self.anchors.append(key)

    def add_partner(self, key: str, patterns: Iterable[str], **fields: Field) -> None:
        """Adds a proposition that only serves as a partner."""
        self.propositions[key] = Proposition(key, tuple(patterns), fields)

    def relate(self, label: Label | None, *pairs: tuple[str, str]) -> None:
        """Sets the relation of each pair; None means undecided, so that the pair is never used. Raises KeyError for an unknown key."""
        for a, b in pairs:
            for key in (a, b):
                if key not in self.propositions:
                    raise KeyError(f"scene {self.family}: no proposition {key!r}; there are {sorted(self.propositions)}")
            self.relations[frozenset((a, b))] = label

    def support(self, *pairs: tuple[str, str]) -> None:
        """Each pair supports: paraphrase, or entailment in at least one direction."""
        self.relate("support", *pairs)

    def contradict(self, *pairs: tuple[str, str]) -> None:
        """Each pair cannot hold together."""
        self.relate("contradict", *pairs)

    def exclusive(self, *keys: str) -> None:
        """Any two of these contradict."""
        self.contradict(*combinations(keys, 2))

    def undecided(self, *pairs: tuple[str, str]) -> None:
        """Pairs that are left out because their label would be disputable."""
        self.relate(None, *pairs)

    def label(self, a: str, b: str) -> Label | None:
        """The relation of two propositions; a proposition supports itself."""
        if a == b:
            return "support"
        return self.relations.get(frozenset((a, b)), "neutral")

    def partners(self, key: str, label: Label) -> list[str]:
        """Keys that stand in `label` to `key`, in the order they were added."""
        return [other for other in self.propositions if self.label(key, other) == label]


def _allowed(patterns: Sequence[str], split: Split) -> list[str]:
    if split == "dev":
        return list(patterns)
    kept = [pattern for pattern in patterns if not is_held_out(pattern)]
    return kept or [patterns[0]]


def render(
    proposition: Proposition,
    rng: Random,
    split: Split,
    *,
    avoid: str = "",
    avoid_text: str = "",
    prefer: str = "",
    decorate: Decorator | None = None,
) -> Claim | None:
    """One wording of 5 to 25 words, or None.

    `avoid` is a pattern and `avoid_text` a text not to repeat; `prefer` is a pattern to take where the proposition has it.
    """
    patterns = _allowed(proposition.patterns, split)
    if len(patterns) > 1 and avoid in patterns:
        patterns.remove(avoid)
    for attempt in range(RENDER_TRIES):
        pattern = prefer if prefer in patterns and attempt < 3 else rng.choice(patterns)
        text = fill(pattern, proposition.fields, rng)
        if decorate is not None:
            text = decorate(text, rng)
        if rng.random() < FRAME_SHARE:
            text = expand(rng.choice(FRAMES), rng).replace("{s}", text)
        body, text = text, sentence(text)
        if MIN_WORDS <= len(text.split()) <= MAX_WORDS and text.lower() != avoid_text.lower():
            return Claim(text, proposition.key, pattern, body)
    return None


def overlap(a: str, b: str) -> float:
    """Jaccard similarity of the two sets of lower-case words."""
    first, second = (set(_WORD.findall(text.lower())) for text in (a, b))
    return len(first & second) / len(first | second)


def _same_names(a: str, b: str) -> bool:
    """Whether most capitalised words of the two bodies are the same."""
    first, second = (set(_NAME.findall(text)) for text in (a, b))
    return 2 * len(first & second) >= len(first | second)


def _joined(scene: Scene, anchor: Claim, claim: Claim, rng: Random, split: Split) -> Claim:
    """The claim with a further statement, neutral to it and to the anchor, so that the label stays; the claim itself if none fits."""
    free = [key for key in scene.propositions if scene.label(key, anchor.key) == "neutral" == scene.label(key, claim.key)]
    extra = render(scene.propositions[rng.choice(free)], rng, split) if free else None
    if extra is None:
        return claim
    first, second = (claim, extra) if rng.random() < 0.6 else (extra, claim)
    text = sentence(first.body.rstrip(" ,") + rng.choice((", and ", "; ", "; ", ", while ")) + second.body)
    return Claim(text, claim.key, claim.pattern, text) if len(text.split()) <= MAX_WORDS else claim


def _partner(scene: Scene, anchor: Claim, label: Label, rng: Random, split: Split, plan: Plan, target: float) -> Claim | None:
    """Of a few candidates in `label` to the anchor, the one whose word overlap with it is nearest to `target`."""
    keys = scene.partners(anchor.key, label)
    candidates = []
    for _ in range(plan.candidates * (2 if label == "neutral" else 1)):
        key = rng.choice(keys)
        if label == "support" and key == anchor.key and len(keys) > 1 and rng.random() < 0.5:
            key = rng.choice([other for other in keys if other != anchor.key])
        prefer = anchor.pattern if label != "support" and rng.random() < plan.same_pattern else ""
        avoid = anchor.pattern if label == "support" and rng.random() < 0.9 else ""
        claim = render(scene.propositions[key], rng, split, avoid=avoid, avoid_text=anchor.text, prefer=prefer, decorate=plan.decorate)
        if claim is not None and rng.random() < plan.joined:
            claim = _joined(scene, anchor, claim, rng, split)
        if claim is not None:
            candidates.append(claim)
    if label == "neutral" and rng.random() < plan.near:
        candidates = [claim for claim in candidates if _same_names(anchor.body, claim.body)] or candidates
    return min(candidates, key=lambda claim: abs(overlap(anchor.text, claim.text) - target), default=None)


def draw_triples(scene: Scene, rng: Random, split: Split, plan: Plan) -> list[tuple[Claim, dict[Label, Claim]]]:
    """Up to `plan.anchors` anchor claims of the scene, each with one partner of every label.

    The three partners aim at one overlap with the anchor, so that overlap is little sign of a label.
    """
    usable = [key for key in scene.anchors if all(scene.partners(key, label) for label in LABELS)]
    triples = []
    for key in rng.sample(usable, min(plan.anchors, len(usable))):
        anchor = render(scene.propositions[key], rng, split, decorate=plan.decorate)
        if anchor is None:
            continue
        target = rng.betavariate(2, 4)
        partners = {label: _partner(scene, anchor, label, rng, split, plan, target) for label in LABELS}
        if all(partners.values()):
            triples.append((anchor, {label: claim for label, claim in partners.items() if claim is not None}))
    return triples
