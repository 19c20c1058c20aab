"""Finding a quotation in the text it was copied from, although the copy may differ in spacing, typography or a word."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from difflib import SequenceMatcher

from arbgraph.chat.quoting import hidden, unescape

_WORD = re.compile(r"\w+(?:[.,]\d+)*")
_TYPOGRAPHY = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "‐": "-", "‑": "-", "–": "-", "—": "-", "−": "-", "…": "..."}
)
MIN_WORDS = 4  # shorter quotations must agree character by character
AGREEMENT = 0.8  # share of words, in order, that a longer one must share with the text


def locate(quote: str, text: str, start: int, end: int) -> tuple[int, int] | None:
    """The span of `text[start:end]`, as offsets into `text`, that a quotation was copied from; None when there is none.

    Tried in turn: the same characters; the same characters up to case, spacing, invisible characters, typographic quotes and
    dashes; four or more words of which four fifths agree in order and every figure agrees. The first match is taken.
    """
    quote = quote.strip()
    for wanted in dict.fromkeys((quote, unescape(quote))):
        if not wanted:
            continue
        found = text.find(wanted, start, end)
        if found >= 0:
            return found, found + len(wanted)
        span = _normalised_match(wanted, text, start, end)
        if span is not None:
            return span
    return _word_match(unescape(quote), text, start, end)


def _normalised(text: str) -> tuple[str, list[int]]:
    """The text in one case and typography with single spaces, and where each of its characters came from."""
    characters: list[str] = []
    origin: list[int] = []
    for position, character in enumerate(text):
        if hidden(character):
            continue
        for folded in unicodedata.normalize("NFKC", character.translate(_TYPOGRAPHY)).casefold():
            folded = " " if folded.isspace() else folded
            if folded == " " and (not characters or characters[-1] == " "):
                continue
            characters.append(folded)
            origin.append(position)
    return "".join(characters), origin


def _normalised_match(quote: str, text: str, start: int, end: int) -> tuple[int, int] | None:
    wanted = _normalised(quote)[0].strip(' "')
    if not wanted:
        return None
    searched, origin = _normalised(text[start:end])
    found = searched.find(wanted)
    if found < 0:
        return None
    return start + origin[found], start + origin[found + len(wanted) - 1] + 1


def _words(text: str) -> list[tuple[str, int, int]]:
    return [(unicodedata.normalize("NFKC", m.group()).casefold(), m.start(), m.end()) for m in _WORD.finditer(text)]


def _word_match(quote: str, text: str, start: int, end: int) -> tuple[int, int] | None:
    wanted = [word for word, _, _ in _words(quote)]
    if len(wanted) < MIN_WORDS:
        return None
    passage = _words(text[start:end])
    words = [word for word, _, _ in passage]
    size = min(len(wanted), len(words))
    needed = Counter(wanted)
    best: tuple[float, int, int] | None = None
    for begin in range(len(words) - size + 1):
        window = words[begin : begin + size]
        if sum((Counter(window) & needed).values()) < AGREEMENT * len(wanted):
            continue
        matcher = SequenceMatcher(None, wanted, window, autojunk=False)
        ratio = sum(block.size for block in matcher.get_matching_blocks()) / len(wanted)
        if ratio >= AGREEMENT and (best is None or ratio > best[0]):
            best = ratio, begin, size
    if best is None:
        return None
    _, begin, size = best
    inside = words[begin : begin + size]
    if not {word for word in wanted if word[0].isdigit()} <= set(inside):
        return None  # a figure that the text does not have makes it another statement
    shared = [position for position, word in enumerate(inside) if word in needed]
    return start + passage[begin + shared[0]][1], start + passage[begin + shared[-1]][2]
