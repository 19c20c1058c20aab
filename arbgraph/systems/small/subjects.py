"""Of which entity a document speaks: namesakes are told apart by the headings under which texts are written."""

from __future__ import annotations

import re
from dataclasses import dataclass

from arbgraph.comparison.lexicon import STOP_WORDS
from arbgraph.schema import Document
from arbgraph.systems.readings import normal_form

# Words of a heading at most, and words of a text in which it is looked for.
LONGEST, WINDOW = 12, 40
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_QUALIFIER = re.compile(r"\s*\(([^)]*)\)\s*$|\s*,\s*(.*)$")


@dataclass(frozen=True)
class Subject:
    """A name and what tells it from its namesakes: "Manic (2001 film)" is Manic, 2001 film; both in normal form."""

    name: str
    qualifier: str = ""

    @classmethod
    def of(cls, heading: str) -> Subject:
        match = _QUALIFIER.search(heading)
        if match is None or match.start() == 0:
            return cls(normal_form(heading))
        return cls(normal_form(heading[: match.start()]), normal_form(match[1] or match[2] or ""))


def heading(text: str) -> str:
    """The heading at the beginning of a text: words after which the text begins anew with its first word ("Manic (2001 film) Manic is").

    Empty where there is none. A heading begins with a capital or a digit and not with a function word.
    """
    words = list(_WORD.finditer(text, 0, 12 * WINDOW))[:WINDOW]
    if not words or words[0].group().lower() in STOP_WORDS or words[0].group()[0].islower():
        return ""
    first = words[0].group().lower()
    for size in range(1, min(LONGEST, len(words) - 1) + 1):
        at = size + (words[size].group().lower() in ("the", "a", "an") and size + 1 < len(words))
        if words[at].group().lower() == first:
            end = words[size].start()
            return text[words[0].start() : end].strip(' "“\n').rstrip()
    return ""


def subject_of(document: Document) -> Subject | None:
    """The subject by the document's heading, or else by its title; None where it has neither."""
    found = heading(document.text) or document.title.strip()
    return Subject.of(found) if found else None


def same_subject(a: Subject | None, b: Subject | None) -> bool | None:
    """Whether two documents speak of one entity, as far as their headings tell; None where one of them has none."""
    if a is None or b is None:
        return None
    return a == b
