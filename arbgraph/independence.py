"""Which documents, and which statements of a claim, are copies of one source.

Copies of a text add no evidence. Documents that share much text are one source, whoever published them; and statements of a
claim in the same words are one source for that claim, even in documents that differ elsewhere.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import combinations

import numpy as np

from arbgraph.comparison.lexicon import FURNITURE, STOP_WORDS
from arbgraph.schema import Document, Mention, content_id

SHINGLE_WORDS = 5
# Eight shared shingles are twelve words in a row: two short documents that state one fact in plain words share less.
MIN_SHARED = 8
QUOTE_WORDS = 8
QUOTE_OVERLAP = 0.8

_WORD = re.compile(r"[^\W_]+")
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def source_groups(documents: Sequence[Document], copy_overlap: float, also: Sequence[tuple[int, int]] = ()) -> list[int]:
    """The independent source of each document, as a group number from 0; copies and partial copies share a number.

    Two documents are copies when they share at least `copy_overlap` of the word 5-grams of the shorter one (containment, so
    that a passage copied into a longer text counts), and no fewer than eight (or all of them, in a text that has fewer); or
    when their words are the same. Case, punctuation, and 5-grams that hold only function words and page furniture ("view history
    tools") do not count. Copying is transitive: a copy of a copy is the same source. A copy in which a figure was altered is
    still a copy. `also` names further pairs of rows that are one source, such as `paraphrases`.

    Numbers follow the smallest hash of a group's texts, so they do not depend on the order of the documents. A `copy_overlap`
    above 1 leaves only documents of equal words together. Time grows with the text, and with the square of the number
    of documents that share one 5-gram.
    """
    words = [_words(document.text) for document in documents]
    sets = [_shingles(document_words, SHINGLE_WORDS) for document_words in words]
    parent = list(range(len(documents)))
    for (first, second), shared in _shared_shingles(sets).items():
        shorter = min(len(sets[first]), len(sets[second]))
        if shared >= copy_overlap * shorter and shared >= min(MIN_SHARED, shorter):
            _join(parent, first, second)
    for first, second in also:
        _join(parent, first, second)
    same: dict[str, int] = {}
    for row, document_words in enumerate(words):
        if document_words:
            _join(parent, row, same.setdefault(" ".join(document_words), row))
    roots = [_root(parent, row) for row in range(len(documents))]
    smallest: dict[int, str] = {}
    for root, document in zip(roots, documents, strict=True):
        key = content_id("source", document.text)
        smallest[root] = min(smallest.get(root, key), key)
    number = {root: rank for rank, root in enumerate(sorted(smallest, key=lambda root: (smallest[root], root)))}
    return [number[root] for root in roots]


def paraphrases(documents: Sequence[Document], vectors: np.ndarray, cosine: float, shared_words: float) -> list[tuple[int, int]]:
    """Pairs of rows, smaller first, that retell one text in other words; they share too few word runs to be copies.

    Two documents retell each other when the cosine of their `vectors` `[N, D]` (of unit length) is at least `cosine` and the shorter one
    has at least `shared_words` of its distinct words, function words apart, in common with the other: a retelling keeps names and
    figures. Either condition alone joins independent texts on one subject. Raises ValueError when there is not one vector a document.
    """
    if len(vectors) != len(documents):
        raise ValueError(f"{len(vectors)} vectors for {len(documents)} documents")
    bags = [frozenset(_words(document.text)) - STOP_WORDS for document in documents]
    column = {word: place for place, word in enumerate(sorted({word for bag in bags for word in bag}))}
    held = np.zeros((len(bags), len(column)))
    for row, bag in enumerate(bags):
        held[row, [column[word] for word in bag]] = 1
    sizes = held.sum(axis=1)
    shorter = np.minimum(sizes[:, None], sizes)
    alike = (vectors @ vectors.T >= cosine) & (held @ held.T >= shared_words * shorter) & (shorter > 0)
    return [(first, second) for first, second in zip(*map(np.ndarray.tolist, np.nonzero(np.triu(alike, 1))), strict=True)]


def claim_sources(mentions: Sequence[Mention], group_of: Mapping[str, int]) -> list[int]:
    """The independent sources of one claim, as group numbers in ascending order.

    `group_of` gives the group of each document id. Groups whose mentions state the claim in almost the same words (eight or
    more) count as one, under the smallest number: a sentence passed on by two papers is one piece of evidence for what it
    says, while the papers stay independent in everything else. Shorter quotes may agree by chance and are left alone.
    Raises KeyError, naming the document, when a mention's document has no group.
    """
    groups = sorted({group_of[mention.document_id] for mention in mentions})
    place = {group: row for row, group in enumerate(groups)}
    parent = list(range(len(groups)))
    # Each distinct wording once per group: a claim repeated in a hundred copies costs no more than in one.
    quotes = sorted({(place[group_of[mention.document_id]], mention.quote) for mention in mentions})
    for (first, quote), (second, other) in combinations(quotes, 2):
        if first != second and is_copied_quote(quote, other):
            _join(parent, first, second)
    return [groups[row] for row in sorted({_root(parent, row) for row in range(len(groups))})]


def copy_agreement(mentions: Sequence[Mention], group_of: Mapping[str, int], copies: Mapping[int, int]) -> float:
    """How far the copies of a claim's sources agree on it: the share of a group's documents that state the claim, in (0, 1], mean over
    its groups.

    Where copies of one text differ, somebody altered it. `group_of` as in `claim_sources`; `copies` counts the documents of a group.
    """
    stating: dict[int, set[str]] = {}
    for mention in mentions:
        stating.setdefault(group_of[mention.document_id], set()).add(mention.document_id)
    return sum(len(documents) / copies[group] for group, documents in stating.items()) / len(stating) if stating else 1.0


@lru_cache(maxsize=1 << 14)
def _trigrams(quote: str) -> tuple[int, frozenset[tuple[str, ...]]]:
    words = _words(quote)
    return len(words), frozenset(zip(words, words[1:], words[2:], strict=False))


def is_copied_quote(a: str, b: str) -> bool:
    """Whether two quotes of at least eight words share four fifths of the word 3-grams of the longer one."""
    (length_a, set_a), (length_b, set_b) = _trigrams(a), _trigrams(b)
    if min(length_a, length_b) < QUOTE_WORDS:
        return False
    return len(set_a & set_b) >= QUOTE_OVERLAP * max(len(set_a), len(set_b))


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def _word_hash(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little")


def _shingles(words: list[str], size: int) -> np.ndarray:
    """The distinct 64-bit hashes of all runs of `size` words that hold a content word, sorted."""
    if len(words) < size:
        return np.empty(0, dtype=np.uint64)
    hashes = {word: _word_hash(word) for word in set(words)}
    values = np.fromiter((hashes[word] for word in words), dtype=np.uint64, count=len(words))
    empty = STOP_WORDS | FURNITURE
    content = np.fromiter((word not in empty for word in words), dtype=bool, count=len(words))
    count = len(words) - size + 1
    combined = np.zeros(count, dtype=np.uint64)
    holds_content = np.zeros(count, dtype=bool)
    for offset in range(size):
        # Multiplication modulo 2^64 by an odd number keeps the order of the words in the hash.
        combined = combined * _MULTIPLIER + values[offset : offset + count]
        holds_content |= content[offset : offset + count]
    return np.unique(combined[holds_content])


def _shared_shingles(sets: list[np.ndarray]) -> dict[tuple[int, int], int]:
    """How many shingles each pair of documents shares; pairs without any are absent. An inverted index, not all pairs."""
    if not sets:
        return {}
    shingles = np.concatenate(sets)
    owners = np.repeat(np.arange(len(sets)), [len(each) for each in sets])
    order = np.lexsort((owners, shingles))
    shingles, owners = shingles[order], owners[order]
    starts = np.flatnonzero(np.concatenate(([True], shingles[1:] != shingles[:-1]))) if len(shingles) else np.empty(0, dtype=np.int64)
    lengths = np.diff(np.append(starts, len(shingles)))
    totals: dict[tuple[int, int], int] = {}
    for length in np.unique(lengths[lengths > 1]):
        holders = owners[starts[lengths == length][:, None] + np.arange(length)]
        for i, j in combinations(range(int(length)), 2):
            keys, counts = np.unique(holders[:, i] * len(sets) + holders[:, j], return_counts=True)
            for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
                pair = divmod(key, len(sets))
                totals[pair] = totals.get(pair, 0) + count
    return totals


def _root(parent: list[int], node: int) -> int:
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


def _join(parent: list[int], a: int, b: int) -> None:
    """Joins two sets under the smaller root."""
    first, second = sorted((_root(parent, a), _root(parent, b)))
    parent[second] = first
