"""Claims "entity, attribute, answer": what the documents answer, merged by canonical form, and which of them contradict each other."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date

import numpy as np

from arbgraph.comparison.lexicon import STOP_WORDS
from arbgraph.systems.readings import contains
from arbgraph.systems.small.asked import names_in
from arbgraph.systems.small.canonical import same_answer
from arbgraph.systems.small.copies import Place, overlap
from arbgraph.systems.small.evidence import Phrase, Testimony
from arbgraph.systems.small.subjects import Subject, same_subject

LEAST = 1e-3

CLAIM_FEATURES = (
    *(
        "bias",
        "strength",
        "mass",
        "documents",
        "sources",
        "spread",
        "headed",
        "in_heading",
        "share",
        "rivals",
        "disputed",
        "round",
        "words",
    ),
)
PAIR_FEATURES = ("bias", "dispute", "copies", "same_heading", "other_heading", "closeness", "one_subject", "named_subjects")
SIDE_FEATURES = ("strength", "mass", "documents", "sources", "spread", "headed", "in_heading", "round", "words", "recency")

_WORD = re.compile(r"\w+")


@dataclass
class AnswerClaim:
    """An answer and who gives it.

    Attributes:
        text: the spelling with most mass. keys: canonical forms that were merged.
        givers: documents (by number) whose likeliest answer it is, each with the place. posterior: by document, its best probability.
        mass: sum over independent sources of the best posterior.
    """

    text: str
    keys: frozenset[str]
    givers: dict[int, Place]
    posterior: dict[int, float]
    mass: float
    plain: str = ""
    subjects: frozenset[Subject] = field(default_factory=frozenset)


def claims_of(testimonies: Sequence[Testimony], posteriors: Sequence[np.ndarray], least_mass: float) -> list[AnswerClaim]:
    """The claims of one question, most mass first. They do not depend on the order of the documents.

    A phrase makes a claim where it is its document's likeliest answer, or where its mass over independent sources reaches `least_mass`.
    """
    by_key: dict[str, list[tuple[int, Phrase, float]]] = defaultdict(list)
    top: dict[int, tuple[Phrase, float]] = {}
    for number, (testimony, posterior) in enumerate(zip(testimonies, posteriors, strict=True)):
        for phrase, probability in zip(testimony.phrases, posterior[1:].tolist(), strict=True):
            by_key[phrase.key].append((number, phrase, probability))
            if number not in top or (-probability, phrase.place) < (-top[number][1], top[number][0].place):
                top[number] = phrase, probability
    chosen = {phrase.key for phrase, _ in top.values()}
    chosen |= {key for key, rows in by_key.items() if _mass(testimonies, rows) >= least_mass}
    parts = _merged({key: by_key[key] for key in sorted(chosen)}, testimonies)
    claims = [_claim(keys, [row for key in keys for row in by_key[key]], top, testimonies) for keys in parts]
    return sorted(claims, key=lambda claim: (-claim.mass, claim.text))


def _mass(testimonies: Sequence[Testimony], rows: Sequence[tuple[int, Phrase, float]]) -> float:
    best: dict[int, float] = {}
    for number, _, probability in rows:
        group = testimonies[number].group
        best[group] = max(best.get(group, 0.0), probability)
    return sum(best.values())


def _merged(by_key: dict[str, list[tuple[int, Phrase, float]]], testimonies: Sequence[Testimony]) -> list[list[str]]:
    """Keys that say the same, most mass first in each part; keys that near copies dispute stay apart."""
    order = sorted(by_key, key=lambda key: (-_mass(testimonies, by_key[key]), key))
    parts: list[list[str]] = []
    for key in order:
        text = by_key[key][0][1].text
        for part in parts:
            first = by_key[part[0]]
            if same_answer(text, first[0][1].text) and not _dispute(by_key[key], first, testimonies):
                part.append(key)
                break
        else:
            parts.append([key])
    return parts


def _dispute(a: Sequence[tuple[int, Phrase, float]], b: Sequence[tuple[int, Phrase, float]], testimonies: Sequence[Testimony]) -> bool:
    """Whether a near copy says one thing where the other document says the other."""
    places = {(number, phrase.place) for number, phrase, _ in b}
    for number, phrase, _ in a:
        for dispute in testimonies[number].disputes:
            if overlap(phrase.place, dispute.place) and any(n == dispute.other and overlap(p, dispute.other_place) for n, p in places):
                return True
    return False


def _claim(
    keys: list[str], rows: list[tuple[int, Phrase, float]], top: dict[int, tuple[Phrase, float]], testimonies: Sequence[Testimony]
) -> AnswerClaim:
    spellings: dict[str, float] = defaultdict(float)
    written: dict[str, str] = {}
    posterior: dict[int, float] = defaultdict(float)
    for number, phrase, probability in sorted(rows, key=lambda row: (-row[2], row[1].text)):
        spellings[phrase.plain] += probability
        written.setdefault(phrase.plain, phrase.text)
        posterior[number] = min(1.0, posterior[number] + probability)
    plain = max(sorted(spellings), key=lambda one: spellings[one])
    givers = {number: phrase.place for number, (phrase, _) in top.items() if phrase.key in keys}
    best: dict[int, float] = {}
    for number, probability in posterior.items():
        group = testimonies[number].group
        best[group] = max(best.get(group, 0.0), probability)
    subjects = frozenset(subject for number in givers if (subject := testimonies[number].subject) is not None)
    return AnswerClaim(written[plain], frozenset(keys), givers, dict(posterior), sum(best.values()), plain, subjects)


def roundness(text: str) -> float:
    """Share of the digits of a number that are trailing zeros, in [0, 1); a made-up value is often a round one. First of January counts.

    0 without a number of three digits or more.
    """
    if re.search(r"\bJan(?:uary)?\.? 1\b|\b1(?:st)? Jan(?:uary)?\b", text):
        return 0.5
    match = re.search(r"\d[\d.,]*", text)
    digits = re.sub(r"\D", "", match[0]) if match else ""
    return (len(digits) - len(digits.rstrip("0"))) / len(digits) if len(digits) > 2 else 0.0


def claim_features(question: str, testimonies: Sequence[Testimony], claims: Sequence[AnswerClaim]) -> np.ndarray:
    """`[C, F]` float64 in the order of `CLAIM_FEATURES`."""
    names = names_in(question)
    total = sum(claim.mass for claim in claims) or 1.0
    rows = []
    for claim in claims:
        values = _own(claim, testimonies, names)
        disputing = [other for other in claims if other is not claim and disputes(claim, other, testimonies)]
        values |= {
            "bias": 1.0,
            "share": claim.mass / total,
            "rivals": float(np.log(max((other.mass for other in disputing), default=0.0) + 0.1)) if disputing else 0.0,
            "disputed": float(bool(disputing)),
        }
        rows.append([values[name] for name in CLAIM_FEATURES])
    return np.array(rows).reshape(-1, len(CLAIM_FEATURES))


def _own(claim: AnswerClaim, testimonies: Sequence[Testimony], names: frozenset[str]) -> dict[str, float]:
    best = max(claim.posterior.values())
    holding = {testimony.group for testimony in testimonies if contains(testimony.plain, claim.plain)}
    givers = [testimonies[number] for number in claim.givers]
    headed = any(testimony.subject is not None and names & set(testimony.subject.name.split()) for testimony in givers)
    return {
        "strength": float(np.log((best + LEAST) / (1 - best + LEAST))),
        "mass": float(np.log(claim.mass + LEAST)),
        "documents": float(np.log1p(len(givers))),
        "sources": float(np.log1p(len({testimony.group for testimony in givers}))),
        "spread": float(np.log1p(len(holding))),
        "headed": float(headed),
        "in_heading": float(any(contains(testimony.heading.lower(), claim.plain) for testimony in givers)),
        "round": roundness(claim.text),
        "words": float(np.log(max(1, len(claim.plain.split())))),
    }


def disputes(a: AnswerClaim, b: AnswerClaim, testimonies: Sequence[Testimony]) -> bool:
    """Whether near copies dispute exactly these answers: one gives a where the other gives b."""
    return any(
        dispute.other in b.givers and overlap(place, dispute.place) and overlap(b.givers[dispute.other], dispute.other_place)
        for number, place in a.givers.items()
        for dispute in testimonies[number].disputes
    )


def pair_features(question: str, testimonies: Sequence[Testimony], claims: Sequence[AnswerClaim]) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of claims `[2, E]` (smaller number first) and `[E, F]` in the order of `PAIR_FEATURES`: what tells whether both can be true."""
    names = names_in(question)
    bags = [frozenset(_WORD.findall(testimony.plain)) - STOP_WORDS for testimony in testimonies]
    subjects = {t.subject for t in testimonies if t.subject is not None and names & set(t.subject.name.split())}
    pairs, rows = [], []
    for i, a in enumerate(claims):
        for j in range(i + 1, len(claims)):
            b = claims[j]
            met = [(testimonies[m], testimonies[n], bags[m], bags[n]) for m in a.givers for n in b.givers]
            known = [same for first, second, _, _ in met if (same := same_subject(first.subject, second.subject)) is not None]
            values = {
                "bias": 1.0,
                "dispute": float(disputes(a, b, testimonies)),
                "copies": float(any(first.group == second.group for first, second, _, _ in met)),
                "same_heading": float(any(known)),
                "other_heading": float(bool(known) and not any(known)),
                "closeness": max((_closeness(first, second) for _, _, first, second in met), default=0.0),
                "one_subject": float(len(subjects) == 1),
                "named_subjects": float(np.log1p(len(subjects))),
            }
            pairs.append((i, j))
            rows.append([values[name] for name in PAIR_FEATURES])
    return np.array(pairs, dtype=np.int64).reshape(-1, 2).T, np.array(rows).reshape(-1, len(PAIR_FEATURES))


def _closeness(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / min(len(a), len(b)) if a and b else 0.0


def side_features(question: str, testimonies: Sequence[Testimony], claims: Sequence[AnswerClaim]) -> np.ndarray:
    """`[C, F]` in the order of `SIDE_FEATURES`: what speaks for a claim in a contradiction; a verdict weighs the difference."""
    names = names_in(question)
    known = [d for t in testimonies if (d := t.document.published) is not None]
    rows = []
    for claim in claims:
        values = _own(claim, testimonies, names) | {"recency": _recency(claim, testimonies, max(known) if known else None)}
        rows.append([values[name] for name in SIDE_FEATURES])
    return np.array(rows).reshape(-1, len(SIDE_FEATURES))


def _recency(claim: AnswerClaim, testimonies: Sequence[Testimony], latest: date | None) -> float:
    """tanh of the years by which the claim's latest dated document is older than the latest of all, negative; 0 where dates are unknown."""
    dates = [d for number in claim.givers if (d := testimonies[number].document.published) is not None]
    return -float(np.tanh((latest - max(dates)).days / 730)) if latest is not None and dates else 0.0
