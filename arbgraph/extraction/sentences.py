"""Clean blocks -> sentences: a splitter that knows abbreviations, quotations, brackets and debris, and names what it throws away.

Sentences are found by rule rather than by the parser, whose boundaries suffer most on the text that retrieval brings: tables,
headings without full stops, lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from arbgraph.extraction import lexicon as lex
from arbgraph.extraction.cleaning import MappedText

ABBREVIATIONS = lex.words(
    """
    ss mr mrs ms dr prof st mt ft gen col sgt capt lt cmdr adm maj rev hon gov sen rep pres sr jr messrs vs cf ca c b d r approx est fl
    no nos vol vols pp p ed eds fig figs ch sec art dept univ inst assn bros co corp inc ltd plc e.g i.e eg ie etc al viz jan feb
    mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun a.m p.m u.s u.k u.n e.u d.c b.c a.d ph.d m.d b.a m.a
    """
)
# After these a sentence may well end: it does when the next word usually begins one.
CLOSING_ABBREVIATIONS = lex.words("etc inc ltd plc co corp jr sr bros a.m p.m u.s u.k u.n e.u d.c b.c a.d ph.d m.d b.a m.a al")
OPENERS = lex.words(
    """
    the a an this that these those it he she they we i you his her its their our in on at by for from after before since during when
    while as although though however but and there if both some many most one two other another according
    """
)
FUNCTION_WORDS = lex.words(
    """
    the of and in is was to a an by for on with as at that it from his her its he she they which who were are be been has had have
    not or but this these there will would can may after before when than into also one their we you i no so all more most such if
    about
    """
)

_CANDIDATE = re.compile(r"[.!?]+[\"'”’)\]]*(?=\s|$)|\s[•·►▶◀▪■□◦→↑^§★☆½✓✔✕✖]+\s|[★☆]+½?\s|\t+")
_CAPITAL_START = re.compile(r"[.!?]\s+[A-Z]|^[A-Z].*[.!?]\s*$", re.DOTALL)
_WORD_BEFORE = re.compile(r"([^\s(\[\"“]+)$")
_INITIAL = re.compile(r"^[A-Z](?:\.[A-Z])*$")
_QUOTES = re.compile('“[^“”]{1,600}”|"[^"]{1,600}"')
_BRACKETS = re.compile(r"\([^()]{0,300}(?:\([^()]{0,100}\)[^()]{0,300})?\)")
_WORD = re.compile(r"[A-Za-z]+(?:['’][a-z]+)?")

# Wording of page furniture; each is specific enough not to occur in a statement about something else.
_FURNITURE = (
    r"all rights reserved",
    r"copyright (?:\d{4}|notice)",
    r"(?:privacy|cookie|refund) (?:policy|settings|notice|statement|preferences|consent)",
    r"terms (?:of (?:use|service)|and conditions|& conditions)",
    r"(?:accept|uses?|using|enable|disable|our) (?:all |of )?cookies",
    r"subscribe (?:to|now|today|for|here)",
    r"sign (?:in|up) (?:to|for|now|here|with)",
    r"log ?in\b.{0,20}\b(?:sign|register|account)",
    r"create (?:an )?account",
    r"click (?:here|on the|the link)",
    r"(?:jump|skip) to (?:main )?(?:content|navigation|search)",
    r"share (?:this|on (?:facebook|twitter|x|whatsapp|linkedin)|via)",
    r"follow us|our newsletter|enable javascript|add to cart",
    r"text is available under|registered trademark of the wikimedia|learn how and when to remove",
    r"this article (?:is a stub|needs|has multiple issues|may (?:be|need|require|contain))",
    r"disambiguation page|list may not reflect|hidden categories|archived from the original|toggle the table|move to sidebar",
    r"retrieved (?:on )?(?:\d|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w*",
    r"ISBN|S2CID|JSTOR",
    r"powered by (?:wordpress|blogger|shopify)",
)
_BOILERPLATE = re.compile(rf"\b(?:{'|'.join(_FURNITURE)})\b|©|℗|\bcategor(?:y|ies)\s?:|\bdoi:", re.IGNORECASE)
# Wording that is page furniture only where it opens a short line.
_FURNITURE_LINE = re.compile(
    r"^\s*(?:read (?:more|also|next|the full)|see also|advertisement|sponsored|related (?:articles|posts|stories)|leave a (?:comment|reply)"
    r"|photo:|image:|posted (?:by|on)|tags?:|filed under|loading|share|print|back to top|view (?:all|more)|show (?:more|less)"
    r"|next|previous|home)\b(?:[^a-z]*$|\s*[:»>]|.{0,40}[^.!?\s]\s*$)",
    re.IGNORECASE,
)
_SHORT_VALUE = re.compile(r"^[A-Z][a-z]+: [-+$€£]?\d")
_CODE = re.compile(r"[{}]|\w_\w+_\w|=>|\bfunction\s*\(|\bvar \w+ =|</|/>|\$\(|;\s*\}|\\[a-z]+\{")


@dataclass(frozen=True)
class Aside:
    """A bracket taken out of a sentence: it followed character `at` (exclusive) of what is left."""

    at: int
    content: MappedText


@dataclass(frozen=True)
class Run:
    """A sentence, or a part of a run too long for one: `cut_before` and `cut_after` say where it was cut between words."""

    text: MappedText
    cut_before: bool = False
    cut_after: bool = False

    @property
    def cut(self) -> bool:
        return self.cut_before or self.cut_after


@dataclass(frozen=True)
class Sentence:
    """One sentence without its brackets."""

    source: MappedText
    asides: tuple[Aside, ...] = ()

    @property
    def text(self) -> str:
        return self.source.text


def _protected(text: str) -> list[tuple[int, int]]:
    """Quotations and brackets: a full stop inside does not end the sentence, so that no statement leaves its quotation."""
    spans = [match.span() for pattern in (_QUOTES, _BRACKETS) for match in pattern.finditer(text)]
    return sorted(spans)


def _ends_sentence(text: str, match: re.Match[str], *, lower: bool) -> bool:
    mark = match.group().strip()
    if not mark or mark[0] not in ".!?":
        return True
    following = text[match.end() :].lstrip()
    if not following:
        return True
    first = following.lstrip("\"'“‘([")[:1]
    if first.islower() and not lower:
        return False
    if mark[0] != "." or mark.startswith(".."):
        return True
    before = _WORD_BEFORE.search(text[max(0, match.start() - 40) : match.start()])
    word = before.group(1) if before else ""
    opener = following.split(None, 1)[0].strip("\"'“‘(,").lower() in OPENERS
    if word.lower() in CLOSING_ABBREVIATIONS:
        return opener
    if word.lower() in ABBREVIATIONS:
        return False
    if _INITIAL.match(word):
        return opener and word != "I"
    return True


def split(block: MappedText, limit: int) -> Iterator[Run]:
    """The sentences of a block, in order, each at most `limit` characters: longer ones are cut between words."""
    text = block.text
    protected = _protected(text)
    # Text typed without capitals ("it is shut. ask her") ends sentences before small letters.
    lower = _CAPITAL_START.search(text) is None
    cuts: list[tuple[int, int]] = []
    inside = 0
    for match in _CANDIDATE.finditer(text):
        while inside < len(protected) and protected[inside][1] <= match.start():
            inside += 1
        # A closing quotation mark after the full stop belongs to the match, so a span that ends inside the match has ended.
        within = any(start < match.start() and match.end() < end for start, end in protected[inside : inside + 3])
        if not within and _ends_sentence(text, match, lower=lower):
            cuts.append((match.end(), match.end()) if match.group().strip()[:1] in tuple(".!?") else match.span())
    begin = 0
    for end, after in [*cuts, (len(text), len(text))]:
        part = block.slice(begin, end).strip()
        begin = after
        cut = False
        while len(part) > limit:
            at = part.text.rfind(" ", limit // 2, limit)
            at = at if at > 0 else limit
            yield Run(part.slice(0, at).strip(), cut, True)
            part, cut = part.slice(at, len(part)).strip(), True
        if part.text:
            yield Run(part, cut, False)


def without_brackets(text: MappedText) -> Sentence:
    """Takes the brackets out of a sentence: parsers stumble over them, and their content is handled on its own."""
    asides: list[Aside] = []
    kept: list[tuple[int, int]] = []
    last = length = 0
    for match in _BRACKETS.finditer(text.text):
        start = match.start()
        while start > last and text.text[start - 1] == " ":
            start -= 1
        kept.append((last, start))
        length += start - last
        asides.append(Aside(length, text.slice(match.start() + 1, match.end() - 1).strip()))
        last = match.end()
    if not asides:
        return Sentence(text)
    kept.append((last, len(text)))
    parts = [text.slice(start, end) for start, end in kept]
    rest = MappedText("".join(p.text for p in parts), [s for p in parts for s in p.starts], [e for p in parts for e in p.ends])
    return Sentence(rest, tuple(asides))


def noise(text: str) -> str | None:
    """Why a sentence is not worth parsing: boilerplate, markup, table_row, debris, fragment; None when it may be prose."""
    words = _WORD.findall(text)
    if _BOILERPLATE.search(text) or _FURNITURE_LINE.match(text) or text.startswith(("^", "↑")):
        return "boilerplate"
    if _CODE.search(text):
        return "markup"
    if "\ufffd" in text or any(len(word) > 60 for word in text.split()):
        return "debris"
    tokens = text.split()
    numbers = sum(any(character.isdigit() for character in token) for token in tokens)
    if "\t" in text or text.count(" | ") >= 2 or (len(tokens) >= 6 and numbers > 0.5 * len(tokens)):
        return "table_row"
    if len(words) < 2 and not _SHORT_VALUE.match(text):
        return "fragment"
    if sum(map(len, words)) < 0.5 * len(text.replace(" ", "")):
        return "debris"
    function = sum(word.lower() in FUNCTION_WORDS for word in words)
    if len(words) >= 12 and function < 0.12 * len(words):
        return "boilerplate"
    return None


# Section headings that lost their line.
_SECTION = re.compile(r"^(?:Biography|Plot|Career|Overview|Synopsis|Background|Early life|Personal life) (?=[A-Z])")
SMALL_WORDS = lex.words("of the and de la le von van der den du da del di for in on at a an")
_QUALIFIED_TITLE = re.compile(r"^([^.()]{2,70}? \(([^()]{2,60})\)) (?=[A-Z\"“])")


def _is_name(words: list[tuple[str, int, int]]) -> bool:
    """Whether words can be a name: each begins with a capital or a digit, or is a small word."""
    return all(not word[:1].islower() or word.lower() in SMALL_WORDS for word, _, _ in words)


def leading_title(text: str) -> tuple[str, int]:
    """A title that runs into the first sentence ("Alan Reed Alan Reed was ..."), and where the sentence begins; ("", 0) without one.
    A section heading before the sentence is skipped.

    It is recognised by its repetition, or by a qualifier in brackets between two capitalised words.
    """
    section = _SECTION.match(text)
    if section:
        return "", section.end()
    qualified = _QUALIFIED_TITLE.match(text)
    if qualified and not re.match(r"born\b|[\d\s–-]+$", qualified.group(2)):
        return qualified.group(1), qualified.end()
    words = [(m.group(), m.start(), m.end()) for m in re.finditer(r"\S+", text[:400])]
    plain = [word.strip(",;:.\"“”'").casefold() for word, _, _ in words]
    for start in range(1, min(16, len(words))):
        if words[start - 1][0].endswith((".", "!", "?")) and len(plain[start - 1]) > 2 and "." not in plain[start - 1]:
            break
        if plain[start] in ("the", "a") and start + 1 < len(words) and plain[start + 1] == plain[0] and words[start][0][0].isupper():
            # "Ognissanti, Mantua The Ognissanti is ..."
            return text[: words[start - 1][2]].strip(" ,"), words[start][1]
        length = 0
        while start + length < len(words) and length < start and plain[length] and plain[length] == plain[start + length]:
            length += 1
        if not length or not words[start][0].lstrip('"“(')[:1].isupper():
            continue
        comma = next((number + 1 for number in range(start) if words[number][0].endswith(",")), 0)
        repeated = length == start and (start > 1 or plain[0] not in OPENERS)
        if repeated or (_is_name(words[:start]) and (length >= 2 or 0 < comma <= length)):
            return text[: words[start - 1][2]].strip(" ,"), words[start][1]
        if start > 1 and _is_name(words[:start]):
            # "Ada Reed General Ada Jane Reed was ...": the name comes back with more of it.
            for end in range(start, 1, -1):
                if plain[end - 1] in plain[start + length : start + 5]:
                    return text[: words[end - 1][2]].strip(" ,"), words[end][1]
    return "", 0


_PART_BORDER = re.compile(r"(?<=[\w)\"”%])[;:]\s+(?=\S)")


def parts(sentence: MappedText) -> list[MappedText]:
    """A sentence cut at its semicolons and colons outside quotations, to be parsed part by part."""
    protected = _protected(sentence.text)
    found: list[MappedText] = []
    begin = 0
    for match in _PART_BORDER.finditer(sentence.text):
        if not any(start < match.start() < end for start, end in protected):
            found.append(sentence.slice(begin, match.start() + 1).strip())
            begin = match.end()
    found.append(sentence.slice(begin, len(sentence)).strip())
    return found
