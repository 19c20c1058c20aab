"""Kinds of things: which kind a question asks for ("What sport ...", "the genre of ..."), and whether a phrase names one of that kind.

The words of each kind are in `data/kinds.tsv`: hyponyms in WordNet 3.0, and words written for this project.
"""

from __future__ import annotations

import re
from functools import lru_cache

from arbgraph.comparison.lexicon import rows

# How surely a phrase is of a kind: all of it is listed, or its head is ("former footballer"), or another part is ("football club").
WHOLE, HEAD, PART = 1.0, 0.8, 0.4

# The nouns that ask for each kind by its name. The first kind that fits holds, so the special ones come before the general.
_NAMED = (
    ("ideology", r"ideolog(?:y|ies)|political (?:position|stance|alignment|orientation|leaning|philosophy|view)s?"),
    ("party", r"(?:political )?part(?:y|ies)|(?:political|party) affiliations?"),
    ("religion", r"religions?|religious (?:affiliation|denomination|belief)s?|denominations?|faith"),
    ("gender", r"(?:gender|sex)(?: (?:composition|make-?up|mix|policy|type|structure))?"),
    ("genre", r"genres?|(?:musical|music|literary|film|movie|writing) (?:style|form|type|category)"),
    ("sport", r"sports?|sporting discipline"),
    ("occupation", r"professions?|occupations?|jobs?|careers?|vocation|trade|livelihood"),
    ("nationality", r"nationalit(?:y|ies)|citizenship|ethnicity|ethnic (?:group|origin|background)"),
    ("language", r"languages?|mother tongue"),
    ("instrument", r"instruments?"),
    ("medium", r"medium|media|format"),
    ("service", r"(?:military|armed|service) (?:branch|service)|branch"),
    ("rank", r"(?:military |army |naval )?rank"),
    ("position", r"positions?|office|post"),
    ("state", r"states?|provinces?"),
    ("country", r"countr(?:y|ies)|nations?"),
    ("continent", r"continents?"),
    ("county", r"count(?:y|ies)"),
    ("color", r"colou?rs?"),
    ("style", r"styles?|architecture"),
    ("discipline", r"(?:academic |scientific )?(?:discipline|field|speciality|specialty)s?"),
    ("aircraft", r"aircraft|airplane|aeroplane|plane"),
    ("animal", r"animals?|breed"),
)
# Nouns that ask for a name where they stand alone ("which school"), and for a kind after "type of".
_TYPED = (
    ("genre", r"music|films?|movies?|books?|novels?|albums?|songs?|literature|fiction|(?:video )?games?"),
    ("medium", r"works?|production|publication|artwork"),
    ("vehicle", r"vehicles?|cars?|ships?|vessels?|boats?|trains?|locomotives?"),
    ("animal", r"dogs?|fish|birds?|insects?|snakes?|moths?|mammals?|reptiles?"),
    ("plant", r"plants?|trees?|flowers?|shrubs?"),
    ("building", r"buildings?|structures?"),
    ("institution", r"institutions?|organi[sz]ations?|schools?|compan(?:y|ies)|business"),
)
_NAMED_ENDS = tuple((kind, re.compile(rf"(?:^|[ -])(?:{nouns})$")) for kind, nouns in _NAMED)
_TYPED_ENDS = tuple((kind, re.compile(rf"(?:^|[ -])(?:{nouns})$")) for kind, nouns in _TYPED)

_QUOTED = re.compile(r'"[^"]*"|“[^”]*”')
_WORK = re.compile(r"\s*what (?:is|was) _\s*\??\s*", re.IGNORECASE)
_LIVING = re.compile(r"\bfor a living\b|\bwhat (?:did|does|do)\b.*\bworks? as\b", re.IGNORECASE)
_COMMON_NAME = re.compile(r"\b(?:common|vernacular|popular) names?\b", re.IGNORECASE)
_PLANTS = re.compile(r"\b(?:plants?|trees?|flowers?|shrubs?|bush|herbs?|grass|vine|weed|orchids?|cactus)\b", re.IGNORECASE)
_ANIMALS = re.compile(r"\b(?:animals?|birds?|fish|insects?|moths?|butterfl(?:y|ies)|beetles?|snakes?|lizards?|frogs?)\b", re.IGNORECASE)
_BRANCH = re.compile(r"\bbranch of (?:the )?(?:\w+ )?(?:military|armed forces|service)\b")
_TYPE_OF = re.compile(r"\b(?:types?|kinds?|sorts?|forms?|variet(?:y|ies)|categor(?:y|ies)|class|breeds?|species) of (?:an? |the )?")
# "Which" before an article or pronoun begins a relative clause.
_ASKS = re.compile(
    r"\b(?:what|which(?! (?:the|an?|he|she|it|they|his|her|its|their)\b))(?:['’]s)?\b(?: (?:is|was|are|were)\b)?", re.IGNORECASE
)
# Where the asked noun phrase ends: at a preposition, conjunction or verb.
_ENDS = re.compile(
    r"[?;,:()]|\s+(?:of|for|in|on|at|by|to|with|within|from|about|as|that|which|who|whom|whose|where|when|and|or|is|was|are|were|be|been|do|does"
    r"|did|has|have|had|can|could|will|would|may|must|spoken|taught|sung|written|worn|held|born|\w+ed)(?!\w)"
)
_OWNED = re.compile(r"['’]s? ((?:[a-z]+ ){0,2}[a-z]+)\s*\??\s*$")

# Nouns that may follow a word of the kind and leave it one ("documentary film", "boys' school").
_CARRIERS: dict[str, frozenset[str]] = {
    "genre": frozenset(["film", "movie", "series", "show", "video", "game", "story", "novel", "book", "album", "song", "music", "band"]),
    "gender": frozenset(["school", "schools", "college", "students", "pupils", "education", "institution"]),
    "language": frozenset(["language", "dialect"]),
    "nationality": frozenset(["citizen", "national", "descent", "origin", "people"]),
    "religion": frozenset(["church", "faith", "denomination"]),
    "state": frozenset(["state", "province"]),
    "style": frozenset(["style", "architecture"]),
}


def kind_asked(question: str) -> str | None:
    """The kind of thing that a question wants named, one of those of `data/kinds.tsv`; None where its words do not tell.

    Looks at the noun phrase after "what" or "which", and at its end: "What sport is ...", "What is the genre of ...", "What is Ann Lee's
    profession?". Only lower-case words ask, so the Labour Party is no party that is asked for.
    """
    text = _QUOTED.sub("_", question)
    if _WORK.fullmatch(text):
        return "medium"
    if _LIVING.search(text):
        return "occupation"
    if _COMMON_NAME.search(text):
        return "plant" if _PLANTS.search(text) else "animal" if _ANIMALS.search(text) else None
    text = _BRANCH.sub("military branch", text)
    for asks in _ASKS.finditer(text):
        rest = text[asks.end() :]
        typed = _TYPE_OF.search(rest)
        if typed and not _ENDS.search(rest[: typed.start()]):
            rest = " " + rest[typed.end() :]
        else:
            typed = None
        found = _kind_of(_ENDS.split(rest, maxsplit=1)[0].strip(), typed is not None)
        if found:
            return found
    owned = _OWNED.search(text)
    return _kind_of(owned.group(1), False) if owned and _ASKS.search(text) else None


def _kind_of(noun_phrase: str, typed: bool) -> str | None:
    """The kind that the end of a noun phrase asks for; `typed` after "type of"."""
    for kind, end in (*_TYPED_ENDS, *_NAMED_ENDS) if typed else _NAMED_ENDS:
        if end.search(noun_phrase):
            return kind
    return None


@lru_cache(maxsize=1)
def lists() -> dict[str, frozenset[str]]:
    """Kind -> its words and short phrases in normal form."""
    table: dict[str, set[str]] = {}
    for kind, word in rows("kinds.tsv"):
        table.setdefault(kind, set()).add(word)
    return {kind: frozenset(words) for kind, words in table.items()}


@lru_cache(maxsize=1 << 16)
def of_kind(phrase: str, kind: str) -> float:
    """How surely a phrase in normal form names something of a kind: `WHOLE`, `HEAD`, `PART`, or 0.

    A phrase that joins two ("politician and lawyer") is as sure as the less sure of them.
    """
    words, listed = phrase.split(), lists()[kind]
    if _holds(words, listed):
        return WHOLE
    if "and" in words[1:-1]:
        first, _, second = phrase.partition(" and ")
        joined = min(of_kind(first, kind), of_kind(second, kind))
        if joined >= HEAD:
            return joined
    carriers = _CARRIERS.get(kind, frozenset())
    bare = list(words)
    while bare and bare[-1] in carriers:
        del bare[-1]
    if _holds(bare, listed):
        return WHOLE
    if any(_holds(bare[start:], listed) or _holds(words[start:], listed) for start in range(1, len(words))):
        return HEAD
    runs = (words[start:end] for start in range(len(words)) for end in range(start + 1, len(words)))
    return PART if any(_holds(run, listed) for run in runs) else 0.0


def _holds(words: list[str], listed: frozenset[str]) -> bool:
    """Whether a list has these words, the last of them in the singular too."""
    return bool(words) and any(" ".join([*words[:-1], last]) in listed for last in _singulars(words[-1]))


def _singulars(word: str) -> list[str]:
    """A word and what it may be the plural of."""
    found = [word]
    if word.endswith("s") and not word.endswith("ss") and len(word) > 3:
        found.append(word[:-1])
        if word.endswith("ies"):
            found.append(word[:-3] + "y")
        elif word.endswith("es"):
            found.append(word[:-2])
    if word.endswith("men"):
        found.append(word[:-2] + "an")
    return found
