"""Statements from headless "key: value" text: "Auvra: surface 41 square kilometres" -> "The surface of Auvra is 41 square kilometres."
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from arbgraph.extraction import lexicon as lex

_HEAD = re.compile(r"^(?P<head>[^\s:][^:.!?]{0,60}?)\s?:\s+(?P<body>\S.*)$", re.DOTALL)
_ITEM_BORDER = re.compile(r",\s+(?!\d{3}\b)")
_ITEM = re.compile(r"^(?P<key>[a-z][a-z' -]{2,40}?)\s+(?P<value>(?:about |around |some |over |nearly |c\. )?[-+$€£]?\d.*)$")
_MOVE = re.compile(r"^(?P<key>[a-z][a-z ]{2,30}?)\s+(?P<value>(?:up|down)\s+\d.*)$")
_VALUE = re.compile(r"^(?:about |around |some |over |nearly )?[-+$€£]?\d")
_NAME = re.compile(r"^(?:the )?[A-Z0-9][\w'’&.-]*(?: (?:[A-Z0-9&][\w'’&.-]*|of|the|de|and))*$")


@dataclass(frozen=True)
class KeyValue:
    """A statement and the span `[start, end)` of the sentence it was read from."""

    text: str
    start: int
    end: int


def _verb(key: str) -> str:
    last = key.split()[-1]
    return "are" if last.endswith("s") and not last.endswith(("ss", "us", "is")) and last not in lex.ATTRIBUTE_NOUNS or last == "sales" else "is"


def key_values(sentence: str, entity: str | None) -> list[KeyValue]:
    """The statements of one headless line; empty when the pattern is not clear.

    `entity` is what the document is about: a line "Weight: 3.1 kg" is a statement about it.
    """
    match = _HEAD.match(sentence)
    if match is None:
        return []
    head, body, base = match["head"], match["body"].rstrip(". "), match.start("body")
    if head.lower().split()[-1] in lex.ATTRIBUTE_NOUNS and entity and _VALUE.match(body) and not re.search(r"[;:]", body):
        return [KeyValue(f"The {head[0].lower()}{head[1:]} of {entity} {_verb(head.lower())} {body}.", 0, base + len(body))]
    if not _NAME.match(head):
        return []
    found: list[KeyValue] = []
    start = 0
    for end, following in [*((m.start(), m.end()) for m in _ITEM_BORDER.finditer(body)), (len(body), len(body))]:
        item = body[start:end].strip()
        pair = _ITEM.match(item) or _MOVE.match(item)
        if pair is not None and len(pair["key"].split()) <= 3:
            found.append(KeyValue(f"The {pair['key']} of {head} {_verb(pair['key'])} {pair['value']}.", 0, base + end))
        start = following
    return found
