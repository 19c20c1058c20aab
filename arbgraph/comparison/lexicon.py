"""Words: the stemmer, function-word classes, and the lexicons shipped in `arbgraph/data`."""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from importlib.resources import files


def _read(name: str) -> str:
    return files("arbgraph").joinpath("data", name).read_text(encoding="utf-8")


_CLASSES = tomllib.loads(_read("words.toml"))


def _members(name: str) -> frozenset[str]:
    return frozenset(_CLASSES[name].split())


def _class_of(name: str) -> dict[str, str]:
    return {word: label for label, words in _CLASSES[name].items() for word in words.split()}


def numbered(group: str, name: str, start: int = 1) -> dict[str, int]:
    """The words of a list of `words.toml`, each with its place in the list, counted from `start`."""
    return {word: number for number, word in enumerate(_CLASSES[group][name].split(), start)}


STOP_WORDS = _members("stop")
NEGATORS = _members("negators")
HEDGES = _members("hedges")
TITLE_WORDS = _members("titles")
NAME_LINKS = _members("name_links")
WEEKDAYS = _members("weekdays")
DISTINGUISHING = _members("distinguishing")
PRIVATIVE = _members("privative")
FURNITURE = _members("furniture")
APPROXIMATE = frozenset(_CLASSES["numbers"]["approximate"].split())
PEOPLE = frozenset(_CLASSES["numbers"]["people"].split())
ORDINALS = numbered("numbers", "ordinals")
QUANTIFIERS = _class_of("quantifiers")
STATUS_WORDS = _class_of("status")
SUPERLATIVES = frozenset(_CLASSES["superlatives"]["words"].split())
NO_SUPERLATIVES = frozenset(_CLASSES["superlatives"]["except"].split())
_ENDS = [tuple(frozenset(end.split(",")) for end in pair.split("/")) for pair in _CLASSES["superlatives"]["opposites"].split()]
MONTHS = {word: number for number, words in enumerate(_CLASSES["months"].values(), 1) for word in words.split()}

# Endings of stems in British and American spelling (authoris-, colour, centr-).
_SPELLINGS = (("is", "iz"), ("our", "or"), ("tr", "ter"))
_VOWEL = re.compile(r"[aeiouy]")


def rows(name: str) -> list[list[str]]:
    """The tab-separated rows of a data file, without comments and empty lines."""
    return [line.split("\t") for line in _read(name).splitlines() if line and not line.startswith("#")]


@lru_cache(maxsize=1)
def _irregular() -> dict[str, str]:
    return {form: lemma for form, lemma, *_ in rows("irregular.tsv")}


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The stem of a lower-case word: irregular forms are looked up, then inflections and a few derivations are cut.

    Light on purpose: a stem that joins unrelated words would hide a difference between two claims.
    """
    return lemma_stem(_irregular().get(word, word))


def lemma_stem(word: str) -> str:
    """The stem of a lower-case base form, which may look like an irregular form of another word (to found, to saw)."""
    if len(word) > 3 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes", "zes")):
        word = word[:-2]
    elif len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        root = word[: -len(ending)]
        if word.endswith(ending) and len(root) > 2 and _VOWEL.search(root):
            word = root[:-1] if root[-1] == root[-2] and root[-1] not in "lsz" else root
            word = word[:-1] + "y" if word.endswith("i") else word
            break
    if word.endswith("ly") and len(word) > 6:
        word = word[:-2]
    if word.endswith(("tion", "sion")) and len(word) > 7:
        word = word[:-3]
    elif word.endswith("tor") and len(word) > 6:
        word = word[:-2]
    elif word.endswith("ment") and len(word) > 8:
        word = word[:-4]
    if word.endswith("e") and len(word) > 3:
        word = word[:-1]
    if word.endswith("y") and len(word) > 2:
        word = word[:-1] + "i"
    for british, american in _SPELLINGS:
        if word.endswith(british) and len(word) > 4:
            return word[: -len(british)] + american
    return word


def _pairs(*names: str) -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for name in names:
        for first, second, *_ in rows(name):
            for cut in (stem, lemma_stem):  # "left" is the opposite of "right" and may be read as "leave" in a text
                a, b = cut(first), cut(second)
                if a != b:
                    table.setdefault(a, set()).add(b)
                    table.setdefault(b, set()).add(a)
    return {word: frozenset(others) for word, others in table.items()}


@lru_cache(maxsize=1)
def antonyms() -> dict[str, frozenset[str]]:
    """Stem -> stems of its opposites (WordNet's antonyms and `opposites.tsv`), without the converses."""
    table = _pairs("antonyms.tsv", "opposites.tsv")
    return {word: rest for word, others in table.items() if (rest := others - converses().get(word, frozenset()))}


@lru_cache(maxsize=1)
def converses() -> dict[str, frozenset[str]]:
    """Stem -> stems that name the same relation seen from the other participant (buy and sell, parent and child)."""
    return _pairs("converses.tsv")


@lru_cache(maxsize=1)
def _senses() -> dict[str, frozenset[int]]:
    table: dict[str, set[int]] = {}
    for number, words in enumerate(rows("synonyms.tsv")):
        for word in words:
            table.setdefault(lemma_stem(word), set()).add(number)
    return {word: frozenset(numbers) for word, numbers in table.items()}


@lru_cache(maxsize=1 << 18)
def are_synonyms(a: str, b: str) -> bool:
    """Whether two stems share a sense in WordNet, or are one word by derivation (a common start of five letters)."""
    return (len(a) > 4 and a[:5] == b[:5]) or not _senses().get(a, frozenset()).isdisjoint(_senses().get(b, frozenset()))


@lru_cache(maxsize=1)
def denials() -> frozenset[str]:
    """Stems of words that deny what they govern (fail, refuse, deny, lack ...)."""
    return frozenset(stem(word) for word in _CLASSES["denials"].split())


@lru_cache(maxsize=1)
def common_words() -> frozenset[str]:
    """Stems of the words of general language: a capital at the start of a sentence does not make them names."""
    return frozenset(stem(row[0]) for row in rows("common_words.txt")) | STOP_WORDS


@lru_cache(maxsize=1)
def aliases() -> dict[str, str]:
    """Lower-case alternative name or demonym -> lower-case usual name (`u.s.`, `american` -> `united states`)."""
    table = {alias.lower(): name.lower() for alias, name, *_ in rows("aliases.tsv") + rows("demonyms.tsv")}
    return {alias: table.get(name, name) for alias, name in table.items() if alias != name}


@lru_cache(maxsize=1)
def _containers() -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for place, container, *_ in rows("places.tsv"):
        name, outer = place.lower(), container.lower()
        table.setdefault(aliases().get(name, name), set()).add(aliases().get(outer, outer))
    return {place: frozenset(outer) for place, outer in table.items()}


@lru_cache(maxsize=1 << 14)
def enclosing_places(name: str) -> frozenset[str]:
    """Every place that holds the place of that lower-case name, at any depth; empty for what is no known place."""
    seen: set[str] = set()
    queue = [name]
    while queue:
        for outer in _containers().get(queue.pop(), ()):
            if outer not in seen:
                seen.add(outer)
                queue.append(outer)
    return frozenset(seen)


def is_superlative(word: str) -> bool:
    """Whether a lower-case word is a superlative by its form."""
    return word in SUPERLATIVES or (len(word) > 5 and word.endswith("est") and word not in NO_SUPERLATIVES)


def superlatives_oppose(a: frozenset[str], b: frozenset[str]) -> bool:
    """Whether a superlative of one set names the opposite end of one in the other (first and last, largest and smallest)."""
    return any((a & low and b & high) or (a & high and b & low) for low, high in _ENDS)


def same_superlative(a: frozenset[str], b: frozenset[str]) -> bool:
    """Whether the sets share a superlative or a synonym of one."""
    return bool(a & b) or any(a & end and b & end for pair in _ENDS for end in pair)
