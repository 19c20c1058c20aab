"""Raw document text -> clean blocks of prose whose every character knows where it came from.

HTML is stripped, characters are normalised, reference marks and wrapped lines are undone. A block holds no hard line break,
and blocks are cut from windows of bounded size, so a document of any length is cleaned in bounded memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from html import unescape
from html.parser import HTMLParser

from arbgraph.extraction import lexicon as lex

# Elements whose content is never prose; page furniture is told apart so that it can be counted as such.
CODE_ELEMENTS = frozenset({"script", "style", "noscript", "template", "svg", "math", "object", "iframe"})
FURNITURE_ELEMENTS = frozenset({"nav", "footer", "button", "select", "textarea", "dialog", "menu"})
BLOCK_ELEMENTS = lex.words(
    """
    address article aside blockquote body br caption center dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4
    h5 h6 head header hr html li main nav ol option p pre section summary table tbody tfoot thead title tr ul
    """
)
CELL_ELEMENTS = frozenset({"td", "th"})
INLINE_ELEMENTS = lex.words(
    """
    a abbr b cite code del em font i img input ins label link mark meta q s small span strong sub sup u
    """
)

_ELEMENTS = "|".join(sorted(CODE_ELEMENTS | FURNITURE_ELEMENTS | BLOCK_ELEMENTS | CELL_ELEMENTS | INLINE_ELEMENTS))
_TAG = re.compile(rf"</?(?:{_ELEMENTS})(?:\s[^<>]*)?/?>|<!--|<!doctype\b", re.IGNORECASE)

# Line separators other than "\n" that Unicode and old software use.
_LINE_BREAK = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_BLANK = re.compile("[\x00-\x08\x0e-\x1f\x7f\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_UNUSABLE = re.compile("[\ud800-\udfff]")
_REFERENCE = re.compile(r"\s?\[\s?(?:\d{1,3}|[a-z]|note \d+|citation needed|who\?|when\?|clarification needed)\s?\]", re.IGNORECASE)
_HEADING_MARK = re.compile(r"\s?\[\s?edit\s?\]")
_MARKDOWN = re.compile(r"\*\*|__|'{2,}|``|(?m:^#{1,6} +)")
_LINK = re.compile(r"!?\[([^\[\]\n]{1,200})\]\((?:https?:|/|#)[^()\s]{0,500}\)")
_URL = re.compile(r"\(?\b(?:https?://|www\.)[^\s<>()]+\)?")
_SPACES = re.compile(" {2,}")
_SPACE_BEFORE = re.compile(r" +(?=[,;:!?)\]%](?:\s|$)|\.(?:\s|$)|['’](?:s|re|ve|ll|d|m)\b|n['’]t\b)")
_SPACE_AFTER = re.compile(r"(?<=[(\[]) +")
_LIST_ITEM = re.compile(r"\s*(?:[-*+•·‣▪◦–|>]|\d{1,3}[.)]|[a-z]\))\s+")
_BULLET = re.compile(r"\s*(?:[-*+•·‣▪◦–>]+|\d{1,2}[.)])\s+")
_TERMINAL = re.compile(r"[.!?:;][\"'”’)\]]*\s*$")

# A line at least this long without closing punctuation is taken as wrapped, not as a heading or a list item.
_WRAPPED_LINE = 50


class MappedText:
    """Text whose character `i` stands for `original[starts[i]:ends[i]]`."""

    __slots__ = ("ends", "starts", "text")

    def __init__(self, text: str, starts: list[int], ends: list[int]) -> None:
        self.text, self.starts, self.ends = text, starts, ends

    @classmethod
    def of(cls, text: str, offset: int = 0) -> MappedText:
        """Text that stands for itself, at `offset` of the original."""
        return cls(text, list(range(offset, offset + len(text))), list(range(offset + 1, offset + len(text) + 1)))

    def __len__(self) -> int:
        return len(self.text)

    def slice(self, start: int, end: int) -> MappedText:
        """The part from `start` to `end`."""
        return MappedText(self.text[start:end], self.starts[start:end], self.ends[start:end])

    def strip(self) -> MappedText:
        """Without white space at both ends."""
        start = len(self.text) - len(self.text.lstrip())
        return self.slice(start, len(self.text.rstrip())) if start < len(self.text) else self.slice(0, 0)

    def sub(self, pattern: re.Pattern[str], replacement: str | Callable[[re.Match[str]], str]) -> MappedText:
        """`re.sub` that keeps the map: a replacement stands for the whole match."""
        pieces: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        last = 0
        for match in pattern.finditer(self.text):
            start, end = match.span()
            if start == end:
                continue
            new = replacement if isinstance(replacement, str) else replacement(match)
            pieces += [self.text[last:start], new]
            starts += self.starts[last:start] + [self.starts[start]] * len(new)
            ends += self.ends[last:start] + [self.ends[end - 1]] * len(new)
            last = end
        if last == 0:
            return self
        pieces.append(self.text[last:])
        return MappedText("".join(pieces), starts + self.starts[last:], ends + self.ends[last:])


def _joined(parts: Iterable[MappedText]) -> MappedText:
    texts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for part in parts:
        texts.append(part.text)
        starts += part.starts
        ends += part.ends
    return MappedText("".join(texts), starts, ends)


@dataclass(frozen=True)
class Piece:
    """Text that stands for `original[start:end]`: verbatim when the lengths agree, a separator or a character entity otherwise."""

    text: str
    start: int
    end: int

    def mapped(self) -> MappedText:
        if len(self.text) == self.end - self.start:
            return MappedText.of(self.text, self.start)
        return MappedText(self.text, [self.start] * len(self.text), [self.end] * len(self.text))


class _Stripper(HTMLParser):
    """Collects the text pieces of HTML with their offsets. Elements never closed hide nothing: only a closing tag removes content."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=False)
        self.pieces: list[Piece] = []
        self.dropped = {"markup": 0, "boilerplate": 0}
        self._line_starts = [0] + [match.end() for match in re.finditer("\n", text)]
        self._open: list[tuple[str, int]] = []
        self.feed(text)
        self.close()

    def _here(self) -> int:
        line, column = self.getpos()
        return self._line_starts[line - 1] + column

    def _separate(self, separator: str) -> None:
        at = self._here()
        self.pieces.append(Piece(separator, at, at + 1))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in BLOCK_ELEMENTS:
            self._separate("\n")
        elif tag in CELL_ELEMENTS:
            self._separate("\t")
        if tag in CODE_ELEMENTS or tag in FURNITURE_ELEMENTS:
            self._open.append((tag, len(self.pieces)))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in BLOCK_ELEMENTS:
            self._separate("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in CODE_ELEMENTS or tag in FURNITURE_ELEMENTS:
            for level in range(len(self._open) - 1, -1, -1):
                name, length = self._open[level]
                if name == tag:
                    if any(piece.text.strip() for piece in self.pieces[length:]):
                        self.dropped["markup" if tag in CODE_ELEMENTS else "boilerplate"] += 1
                    del self.pieces[length:]
                    del self._open[level:]
                    break
        if tag in BLOCK_ELEMENTS:
            self._separate("\n")

    def handle_data(self, data: str) -> None:
        start = self._here()
        # Inside HTML a line break is a space; block elements separate.
        self.pieces.append(Piece(data.replace("\n", " "), start, start + len(data)))

    def _entity(self, source: str) -> None:
        start = self._here()
        text = unescape(source + ";")
        self.pieces.append(Piece(text if len(text) <= 2 else source, start, start + len(source)))

    def handle_entityref(self, name: str) -> None:
        self._entity(f"&{name}")

    def handle_charref(self, name: str) -> None:
        self._entity(f"&#{name}")


def _defused(text: str) -> str:
    """The same text with openers that nothing closes blanked out: the HTML parser takes quadratic time over many of them."""
    for opener, closer in (("<!--", "-->"), ("<![", "]>"), ("<", ">")):
        at = text.rfind(closer) + 1
        text = text[:at] + text[at:].replace(opener, " " * len(opener))
    return text


def pieces_of(text: str) -> tuple[list[Piece], dict[str, int]]:
    """The text pieces of a document, stripped of HTML where it is HTML, and how many elements were dropped by reason."""
    if _TAG.search(text) is None:
        return [Piece(text, 0, len(text))], {}
    stripper = _Stripper(_defused(text))
    return stripper.pieces, stripper.dropped


def _windows(pieces: Iterable[Piece], limit: int) -> Iterator[MappedText]:
    """Mapped text of at most `limit` characters each, cut at the best border near the limit."""
    buffer: list[MappedText] = []
    size = 0
    for piece in pieces:
        for start in range(0, max(len(piece.text), 1), limit):
            if len(piece.text) == piece.end - piece.start:
                part = MappedText.of(piece.text[start : start + limit], piece.start + start)
            else:
                part = piece.mapped()
            buffer.append(part)
            size += len(part)
            while size > limit:
                whole = _joined(buffer)
                cut = _border(whole.text, limit)
                yield whole.slice(0, cut)
                rest = whole.slice(cut, len(whole))
                buffer, size = [rest], len(rest)
    if size:
        yield _joined(buffer)


def _border(text: str, limit: int) -> int:
    """Where to cut: after the last paragraph, line, sentence or word that ends in the second half of the limit."""
    for separator in ("\n\n", "\n", ". ", " "):
        at = text.rfind(separator, limit // 2, limit)
        if at >= 0:
            return at + len(separator)
    return limit


def _normalised(text: MappedText) -> MappedText:
    text = text.sub(_LINE_BREAK, "\n").sub(_INVISIBLE, "").sub(_BLANK, " ").sub(_UNUSABLE, "\ufffd")
    # Before any pattern that begins with spaces: those take quadratic time over a long run of them.
    text = text.sub(_SPACES, " ")
    text = text.sub(_LINK, lambda match: match.group(1)).sub(_URL, "").sub(_HEADING_MARK, "\t").sub(_REFERENCE, "").sub(_MARKDOWN, "")
    return text.sub(_SPACE_BEFORE, "").sub(_SPACE_AFTER, "")


def _continues(line: str, following: str) -> bool:
    """Whether a line break is only a wrap: the sentence goes on in the next line."""
    if not line.strip() or not following.strip() or _LIST_ITEM.match(following) or "\t" in line or "\t" in following:
        return False
    if _TERMINAL.search(line):
        # A wrapped paragraph breaks after a full stop as well; joining is harmless, the sentence splitter separates them again.
        return len(line) >= _WRAPPED_LINE
    return following.lstrip()[0].islower() or len(line) >= _WRAPPED_LINE


def blocks(pieces: Iterable[Piece], limit: int) -> Iterator[MappedText]:
    """Clean blocks without hard line breaks, in document order, each at most `limit` characters of the original's text."""
    for window in _windows(pieces, limit):
        text = _normalised(window)
        start = 0
        group: list[MappedText] = []
        lines = text.text.split("\n")
        for number, line in enumerate(lines):
            end = start + len(line)
            part = text.slice(start, min(end + 1, len(text)))
            group.append(part.sub(re.compile("\n"), " "))
            start = end + 1
            if number + 1 == len(lines) or not _continues(line, lines[number + 1]):
                block = _joined(group).sub(_SPACES, " ").strip()
                group = []
                bullet = _BULLET.match(block.text)
                block = block.slice(bullet.end(), len(block)) if bullet else block
                if block.text:
                    yield block
