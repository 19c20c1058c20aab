"""Statements from headless "key: value" text: "Auvra: surface 41 square kilometres" -> "The surface of Auvra is 41 square kilometres." """

from __future__ import annotations

import re
from dataclasses import dataclass

from arbgraph.extraction import lexicon as lex
from arbgraph.extraction.sentences import FUNCTION_WORDS

_HEAD = re.compile(r"^(?P<head>[^\s:][^:.!?]{0,60}?)\s?:\s+(?P<body>\S.*)$", re.DOTALL)
_ITEM_BORDER = re.compile(r",\s+(?!\d{3}\b)")
_ITEM = re.compile(r"^(?P<key>[a-z][a-z' -]{2,40}?)\s+(?P<value>(?:about |around |some |over |nearly |c\. )?[-+$€£]?\d.*)$")
_MOVE = re.compile(r"^(?P<key>[a-z][a-z ]{2,30}?)\s+(?P<value>(?:up|down)\s+\d.*)$")
_VALUE = re.compile(r"^(?:about |around |some |over |nearly )?[-+$€£]?\d")
# A longer line without a verb is a table or a list, not a value.
_LONGEST = 200
# "Highest reading 34.1 °C, lowest minus 19.0 °C."
_MEASURED = re.compile(r"^[A-Z][a-z]+(?: [a-z]+){0,3} (?:minus |about )?[-+$€£]?\d.*\.$")
_NAME = re.compile(r"^(?:the )?[A-Z0-9][\w'’&.-]*(?: (?:[A-Z0-9&][\w'’&.-]*|of|the|de|and))*$")


@dataclass(frozen=True)
class KeyValue:
    """A statement and the span `[start, end)` of the sentence it was read from."""

    text: str
    start: int
    end: int


def _is_key(key: str) -> bool:
    words = key.split()
    return len(words) <= 3 and words[0] not in FUNCTION_WORDS and words[-1] not in FUNCTION_WORDS | {"up", "down", "over", "under", "to"}


def _verb(key: str) -> str:
    last = key.split()[-1]
    return (
        "are"
        if (last.endswith("s") and not last.endswith(("ss", "us", "is")) and last not in lex.ATTRIBUTE_NOUNS) or last == "sales"
        else "is"
    )


def key_values(sentence: str, entity: str | None, title: str) -> list[KeyValue]:
    """The statements of one headless line; empty when it holds no key with a value.

    `entity` is what the document is about: a line "Weight: 3.1 kg" is a statement about it. A line whose pattern is not clear is kept
    whole, after the title that gives it context.
    """
    match = _HEAD.match(sentence)
    if match is None:
        measured = title and _MEASURED.match(sentence) and len(sentence.split()) <= 15
        return [KeyValue(f"{title.rstrip('.:')}: {sentence.rstrip(' .,;')}.", 0, len(sentence))] if measured else []
    head, body, base = match["head"], match["body"].rstrip(". "), match.start("body")
    if head.lower().split()[-1] in lex.ATTRIBUTE_NOUNS and entity and _VALUE.match(body) and not re.search(r"[;:]", body):
        return [KeyValue(f"The {head[0].lower()}{head[1:]} of {entity} {_verb(head.lower())} {body}.", 0, base + len(body))]
    found: list[KeyValue] = []
    start = 0
    for end, following in [*((m.start(), m.end()) for m in _ITEM_BORDER.finditer(body)), (len(body), len(body))]:
        item = body[start:end].strip()
        pair = _MOVE.match(item) or _ITEM.match(item)
        if pair is not None and _NAME.match(head) and _is_key(pair["key"]):
            found.append(KeyValue(f"The {pair['key']} of {head} {_verb(pair['key'])} {pair['value']}.", 0, base + end))
        start = following
    role = head.lower().split()[-1]
    if role in lex.PERSON_NOUNS and entity and _NAME.match(body) and len(head.split()) == 1:
        return [KeyValue(f"The {role} of {entity} is {body}.", 0, base + len(body))]
    if not found and title and (any(c.isdigit() for c in body) or _NAME.match(body)) and len(sentence) <= _LONGEST:
        found.append(KeyValue(f"{title.rstrip('.:')}: {sentence.rstrip(' .,;')}.", 0, len(sentence)))
    return found
