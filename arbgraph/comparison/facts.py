"""What one claim says, read off by rules: times, quantities, names, negation, quantifiers, status, content."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from arbgraph.comparison.lexicon import (
    HEDGES,
    MONTHS,
    NAME_LINKS,
    NEGATORS,
    QUANTIFIERS,
    STATUS_WORDS,
    STOP_WORDS,
    TITLE_WORDS,
    WEEKDAYS,
    aliases,
    common_words,
    denials,
    is_superlative,
    stem,
)
from arbgraph.comparison.numbers import Quantity, read_quantities
from arbgraph.comparison.times import TimeSpan, read_times
from arbgraph.comparison.tokens import Token, inside, tokenize

_PLAIN = str.maketrans(
    {
        "’": "'",
        "´": "'",
        "`": "'",
        "‘": "'",
        "“": '"',
        "”": '"',
        "–": "-",
        "—": " - ",
        "−": "-",
        "\u00a0": " ",
        "\u2009": " ",
        "\u202f": " ",
    }
)
_FOOTNOTE = re.compile(r"\[\s*(?:\d{1,3}|citation needed|note \d+)\s*\]")
_SPACE = re.compile(r"\s+")
# Tokenised text sets marks and endings apart ("1989 , Korn 's", "did n't").
_SPACE_BEFORE = re.compile(r"\s+(?=[,.;:!?)%]|'s\b|n't\b)|(?<=[($£€#]) +")
# Turns of phrase with a negator that deny nothing, or say when something began.
_NO_NEGATION = re.compile(
    r"\b(?:not only|not just|not least|no doubt|nothing but|none other than|not (?:less|more) than"
    r"|no (?:fewer|less|more|later|earlier) than|(?:not|n't)(?: [a-z'-]+){0,5} (?:until|before))\b"
)
# A form of "be", at most three words, a participle, and its agent.
_PASSIVE = re.compile(
    r"\b(?:is|are|was|were|be|been|being|got|gets)\b(?: [a-z'-]+){0,3}?"
    r" [a-z]+(?:ed|en|wn|nt|lt|ught|de|ung|ost|ld|et|ut|un|ound)\b.{0,40}?\bby\b"
)
_COMPARATIVE = re.compile(r"\b(?:more|less|fewer|greater|larger|smaller|[a-z]{2,}(?:er|ier))\b(?: [a-z'-]+){0,3} than\b")
# "He used to be mayor", not "it is used to break stone".
_NO_MORE = re.compile(r"\bno longer\b|(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bwere )(?<!\bbe )(?<!\bbeen )\bused to\b")
_SENTENCE_END = frozenset('.?!:"(')


@dataclass(frozen=True)
class Name:
    """A named entity: its text, its lower-case words without titles, their stems, its usual name where a list knows one, its place."""

    text: str
    words: tuple[str, ...]
    stems: frozenset[str]
    usual: str
    position: int

    @property
    def initials(self) -> frozenset[str]:
        """The abbreviations that the words may form: of all words, and of the words that are no links."""
        full = "".join(word[0] for word in self.words)
        short = "".join(word[0] for word in self.words if word not in NAME_LINKS and word not in STOP_WORDS)
        return frozenset({full, short})


@dataclass(frozen=True)
class ClaimFacts:
    """Everything that comparison reads from one text.

    `forms` are the content words in order, names included and numbers left out, and `stems` their stems; `negations` counts negators and
    `denials` words such as "refused"; `negated` holds the content stems in the scope of a negator (up to four words on).
    """

    text: str
    times: tuple[TimeSpan, ...]
    years: frozenset[int]
    quantities: tuple[Quantity, ...]
    names: tuple[Name, ...]
    forms: tuple[str, ...]
    stems: tuple[str, ...]
    content: frozenset[str]
    words: frozenset[str]
    negations: int
    denials: int
    negated: frozenset[str]
    quantifiers: frozenset[str]
    superlatives: frozenset[str]
    comparative: bool
    status: frozenset[str]
    hedged: bool
    passive: bool

    @property
    def negative(self) -> bool:
        """Whether the claim as a whole denies: an odd number of negators and denials."""
        return (self.negations + self.denials) % 2 == 1


def clean(text: str) -> str:
    """The text with plain quotes, dashes and spaces and without footnote marks."""
    return _SPACE_BEFORE.sub("", _SPACE.sub(" ", _FOOTNOTE.sub("", text.translate(_PLAIN)))).strip()


def _is_capitalised(token: Token) -> bool:
    if token.kind == "code":
        return token.raw[0].isupper()
    return token.kind == "word" and token.raw[0].isupper() and token.lower not in MONTHS and token.lower.removesuffix("'s") not in WEEKDAYS


def _is_acronym(token: Token) -> bool:
    letters = token.raw.replace(".", "")
    return token.kind == "word" and 2 <= len(letters) <= 6 and letters.isupper()


def _starts_name(tokens: list[Token], i: int, shouting: bool) -> bool:
    token = tokens[i]
    if not _is_capitalised(token) or (i and tokens[i - 1].lower == "°"):
        return False
    if token.kind == "code" or (_is_acronym(token) and not shouting):
        return True
    word = token.lower.removesuffix("'s")
    if i and not (tokens[i - 1].kind == "symbol" and tokens[i - 1].lower in _SENTENCE_END):
        return word not in STOP_WORDS
    if word in STOP_WORDS:
        return False
    return stem(word) not in common_words() or (i + 1 < len(tokens) and _is_capitalised(tokens[i + 1]))


def _name(tokens: list[Token], text: str) -> Name:
    words = tuple(_bare(token) if "." in token.raw[:-1] else token.lower.removesuffix("'s").removesuffix(".") for token in tokens)
    if words[0] == "the" and len(words) > 1:
        words = words[1:]
    core = tuple(word for word in words if word not in TITLE_WORDS) or words
    joined = " ".join(words)
    usual = aliases().get(joined) or aliases().get(" ".join(core)) or " ".join(core)
    return Name(text[tokens[0].start : tokens[-1].end].removesuffix("'s"), core, frozenset(map(stem, core)), usual, tokens[0].start)


def read_names(text: str, tokens: list[Token], dates: list[tuple[int, int]]) -> tuple[list[Name], list[tuple[int, int]]]:
    """The named entities, and the character spans of numbers that belong to a name (Apollo 11)."""
    letters = [token for token in tokens if token.kind == "word"]
    shouting = len(letters) > 3 and sum(token.raw.isupper() for token in letters) > 0.6 * len(letters)
    in_date = inside(tokens, dates)
    names: list[Name] = []
    numbers: list[tuple[int, int]] = []
    i = 0
    while i < len(tokens):
        if in_date[i] or not _starts_name(tokens, i, shouting):
            i += 1
            continue
        end = i + 1
        while end < len(tokens) and not in_date[end] and not tokens[end - 1].lower.endswith("'s"):
            if _is_capitalised(tokens[end]):
                end += 1
            elif tokens[end].kind == "number" and end + 1 < len(tokens) and not in_date[end + 1] and _is_capitalised(tokens[end + 1]):
                numbers.append((tokens[end].start, tokens[end].end))  # Boeing 787 Dreamliner
                end += 2
            elif tokens[end].lower in NAME_LINKS and (k := _after_links(tokens, end)) is not None and not in_date[k]:
                end = k + 1
            else:
                break
        names.append(_name(tokens[i:end], text))
        if end < len(tokens) and _numbers_name(tokens, end, in_date):
            numbers.append((tokens[end].start, tokens[end].end))
            last = names.pop()
            number = tokens[end].lower
            names.append(
                Name(f"{last.text} {number}", (*last.words, number), last.stems | {number}, f"{last.usual} {number}", last.position)
            )
            end += 1
        i = end
    return names, numbers


def _after_links(tokens: list[Token], i: int) -> int | None:
    """The position of the capitalised word that follows up to two link words from i, if any."""
    for k in (i + 1, i + 2):
        if k < len(tokens) and _is_capitalised(tokens[k]):
            return k
        if k >= len(tokens) or tokens[k].lower not in NAME_LINKS:
            return None
    return None


def _numbers_name(tokens: list[Token], i: int, in_date: list[bool]) -> bool:
    """Whether the number at i ends a name: a small bare number that no noun follows (a form in -ed is taken for a verb)."""
    token = tokens[i]
    if token.kind != "number" or in_date[i] or not token.raw.isdecimal() or len(token.raw) > 4:
        return False
    if i + 1 == len(tokens) or tokens[i + 1].kind == "symbol":
        return tokens[i + 1].lower not in "%$€£-°" if i + 1 < len(tokens) else True
    following = tokens[i + 1].lower
    return following in STOP_WORDS or following.endswith("ed")


def _negation(lowered: str, tokens: list[Token]) -> tuple[int, int, frozenset[str]]:
    """Negators, denials, and the stems in their scope."""
    exempt = [match.span() for match in _NO_NEGATION.finditer(lowered)]
    negations = denied = 0
    negated: set[str] = set()
    for i, token in enumerate(tokens):
        if token.kind != "word":
            continue
        negator = token.lower in NEGATORS or token.lower.endswith("n't")
        if negator and any(start <= token.start < end for start, end in exempt):
            continue
        if negator:
            negations += 1
        elif not token.lower.endswith("ly") and stem(token.lower) in denials():
            denied += 1
        else:
            continue
        scope = 0
        for later in tokens[i + 1 :]:
            if (later.kind == "symbol" and later.lower in ",;.:") or later.lower == "but" or scope == 4:
                break
            if later.kind == "word" and later.lower not in STOP_WORDS:
                negated.add(stem(later.lower.removesuffix("'s")))
                scope += 1
    return negations, denied, frozenset(negated)


def _bare(token: Token) -> str:
    return token.lower.removesuffix("'s").replace(".", "")


def _is_content(token: Token) -> bool:
    if token.kind == "word":
        return token.lower.removesuffix("'s") not in STOP_WORDS or _is_acronym(token)
    return token.kind == "code"


@lru_cache(maxsize=1 << 16)
def describe(text: str) -> ClaimFacts:
    """The facts of one text. Any text is accepted; an empty one has none."""
    plain = clean(text)
    lowered = plain.lower()
    tokens = tokenize(plain)
    times, years, taken = read_times(plain)
    names, name_numbers = read_names(plain, tokens, taken)
    quantities = read_quantities(plain, tokens, taken + name_numbers)
    negations, denied, negated = _negation(lowered, tokens)
    in_date = inside(tokens, taken)
    words = [t.lower.removesuffix("'s") for t in tokens if t.kind in ("word", "code")]
    content = [token for token, dated in zip(tokens, in_date, strict=True) if not dated and _is_content(token)]
    forms = tuple(_bare(token) for token in content)
    stems = tuple(stem(form) for form in forms)
    status = {STATUS_WORDS[word] for word in words if word in STATUS_WORDS}
    if _NO_MORE.search(lowered):
        status.add("past")
    return ClaimFacts(
        text=plain,
        times=tuple(times),
        years=years,
        quantities=tuple(quantities),
        names=tuple(names),
        forms=forms,
        stems=stems,
        content=frozenset(stems),
        words=frozenset(words),
        negations=negations,
        denials=denied,
        negated=negated,
        quantifiers=frozenset(QUANTIFIERS[word] for word in words if word in QUANTIFIERS),
        superlatives=frozenset(word for word in words if is_superlative(word)),
        comparative=_COMPARATIVE.search(lowered) is not None,
        status=frozenset(status),
        hedged=any(t.lower in HEDGES for t, dated in zip(tokens, in_date, strict=True) if not dated) or "according to" in lowered,
        passive=_PASSIVE.search(lowered) is not None,
    )
