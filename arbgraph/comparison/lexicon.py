"""Words: the stemmer, function-word classes, and the lexicons shipped in `arbgraph/data`."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files

STOP_WORDS = frozenset(
    """a about above after again against all along already also although am among an and any are around as at away be became because
    become becomes been before being below between both but by can could did do does doing done down during each either else even ever
    every few for from further had has have having he hence her here hers him his how however i if in including inside into is it its
    itself just last later least less lot many may me might mine more most much must my near neither next no nobody none nor not
    nothing of off often on once one only onto or other our out over own per quite rather same several shall she should since so some
    still such than that the their them then there these they this those though through thus till to together too toward towards under
    until up upon us very via was we well were what when where whether which while who whom whose why will with within without would
    yet you your 's s t d ll re ve""".split()
)

NEGATORS = frozenset("not no never neither nor nobody none nothing nowhere without cannot hardly scarcely barely n't non lacks lacked".split())
# Verbs and nouns that deny what they govern; matched by stem.
_DENIALS = """fail refuse deny reject decline lack absent absence prevent forbid ban prohibit avoid miss skip omit dismiss exclude refute
disprove false untrue untruth myth unable unlikely cease abandon cancel veto block oppose contrary wrong incorrect"""

HEDGES = frozenset(
    """may might could possibly perhaps probably likely reportedly allegedly apparently supposedly presumably seemingly rumoured rumored
    suggests suggested suspected believed thought alleged claims claimed unclear uncertain unconfirmed disputed appears appeared seems
    seemed estimated""".split()
)

# Which part of a set a sentence speaks of; "some" is left out of comparisons of exact size.
QUANTIFIERS: dict[str, str] = {
    **dict.fromkeys("all every each both always whole entire entirely everyone everybody everything completely invariably".split(), "all"),
    **dict.fromkeys("most mostly majority usually generally mainly largely chiefly".split(), "most"),
    **dict.fromkeys("some several certain sometimes many numerous various occasionally".split(), "some"),
    **dict.fromkeys("few little rarely seldom minority handful hardly scarcely".split(), "few"),
    **dict.fromkeys("no none never nobody neither nothing nowhere".split(), "none"),
    **dict.fromkeys("only sole solely single exclusively alone unique".split(), "only"),
    **dict.fromkeys("half".split(), "half"),
}

# What a sentence says about the course of a state. A word may open a state, close it, or say when it holds.
STATUS_WORDS: dict[str, str] = {
    **dict.fromkeys(
        """join joined joins accede acceded admitted enter entered founded established began begin begins started became become opened
        launched appointed elected introduced adopted inaugurated created formed""".split(),
        "start",
    ),
    **dict.fromkeys(
        """left leave leaves quit withdrew withdraw withdrawn ended end ends closed ceased resigned abolished dissolved expelled disbanded
        retired expired terminated discontinued repealed stopped""".split(),
        "end",
    ),
    **dict.fromkeys("is are remains remain remained current currently now present still today incumbent presently".split(), "holds"),
    **dict.fromkeys("former formerly once previously ex used then-president erstwhile".split(), "past"),
    **dict.fromkeys("will plan plans planned scheduled proposed intends expected upcoming due candidate".split(), "planned"),
    **dict.fromkeys("member members membership participant belongs belonged state signatory".split(), "member"),
    **dict.fromkeys("attend attended attends visited visit skipped missed hosted met meeting visits toured attendance".split(), "event"),
}

TITLE_WORDS = frozenset(
    """mr mrs ms miss dr prof professor president sir lord lady king queen prince princess pope saint st captain colonel general
    senator mayor minister judge chancellor mount mt lake river city town village republic kingdom state company inc ltd co the""".split()
)

MONTHS: dict[str, int] = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sep sept",
            "october oct",
            "november nov",
            "december dec",
        ),
        start=1,
    )
    for name in names.split()
}
WEEKDAYS = frozenset("monday tuesday wednesday thursday friday saturday sunday".split())

# -est words that are no superlatives.
_NO_SUPERLATIVES = frozenset(
    """forest west east interest request test guest protest invest harvest arrest honest contest nest rest chest quest digest manifest
    midwest northwest southwest northeast southeast suggest modest conquest priest tempest crest vest pest zest jest attest detest infest
    molest bequest behest inquest divest ingest everest budapest disinterest rainforest retest""".split()
)
SUPERLATIVES = frozenset("best worst most least first last only oldest youngest furthest farthest foremost".split())

_VOWEL = re.compile(r"[aeiouy]")


def _lines(name: str) -> list[list[str]]:
    text = files("arbgraph").joinpath("data", name).read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines() if line]


@lru_cache(maxsize=1)
def _irregular() -> dict[str, str]:
    return {form: lemma for form, lemma, *_ in _lines("irregular.tsv")}


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The stem of a lower-case word: irregular forms are looked up, then inflections and a few derivations are cut.

    Light on purpose: a stem that joins unrelated words would hide a difference between two claims.
    """
    word = _irregular().get(word, word)
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
    return word[:-1] + "i" if word.endswith("y") and len(word) > 2 else word


def _pairs(*names: str) -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for name in names:
        for first, second, *_ in _lines(name):
            a, b = stem(first), stem(second)
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
def denials() -> frozenset[str]:
    """Stems of words that deny what they govern (fail, refuse, deny, lack ...)."""
    return frozenset(stem(word) for word in _DENIALS.split())


@lru_cache(maxsize=1)
def common_words() -> frozenset[str]:
    """Stems of the words of general language: a capital at the start of a sentence does not make them names."""
    return frozenset(stem(row[0]) for row in _lines("common_words.txt")) | STOP_WORDS


@lru_cache(maxsize=1)
def aliases() -> dict[str, str]:
    """Lower-case alternative name or demonym -> lower-case usual name (`u.s.`, `american` -> `united states`)."""
    rows = {alias.lower(): name.lower() for alias, name, *_ in _lines("aliases.tsv") + _lines("demonyms.tsv")}
    return {alias: rows.get(name, name) for alias, name in rows.items() if alias != name}


@lru_cache(maxsize=1)
def _containers() -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for place, container, *_ in _lines("places.tsv"):
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
    return word in SUPERLATIVES or (len(word) > 5 and word.endswith("est") and word not in _NO_SUPERLATIVES)
