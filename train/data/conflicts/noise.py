"""Surface noise that says nothing about the label: footnote marks, odd spacing, a missing full stop, a lower-case start, spelling."""

from __future__ import annotations

import re
from random import Random

from train.data.conflicts.banks import bank

BANK = bank("noise")

AMERICAN = BANK["AMERICAN"]
_WORDS = re.compile(r"\b(" + "|".join(sorted(AMERICAN, key=len, reverse=True)) + r")\b")


def americanise(text: str) -> str:
    """British spellings of lower-case words turned American."""
    return _WORDS.sub(lambda match: AMERICAN[match.group(1)], text)


def _footnote(text: str, rng: Random) -> str:
    mark = f"[{rng.randint(1, 40)}]" + (f"[{rng.randint(1, 40)}]" if rng.random() < 0.3 else "")
    return rng.choice((f"{text}{mark}", f"{text[:-1]} {mark}{text[-1]}"))


def _spacing(text: str, rng: Random) -> str:
    if rng.random() < 0.5:
        return re.sub(r"([,.;])", r" \1", text)
    words = text.split(" ")
    at = rng.randrange(1, len(words))
    return " ".join(words[:at]) + "  " + " ".join(words[at:])


def disturb(text: str, rng: Random, share: float) -> str:
    """The text with one kind of noise in `share` of all cases, and American spelling in a third of all cases, independent of the label."""
    if rng.random() < 1 / 3:
        text = americanise(text)
    if rng.random() >= share:
        return text
    kind = rng.randrange(5)
    if kind == 0:
        return _footnote(text, rng)
    if kind == 1:
        return _spacing(text, rng)
    if kind == 2:
        return text.rstrip(".")
    if kind == 3:
        return text.lower().replace("'s", "s").rstrip(".") if rng.random() < 0.5 else text.lower()
    return text[0].lower() + (text[1:].rstrip(".") if rng.random() < 0.5 else text[1:])
