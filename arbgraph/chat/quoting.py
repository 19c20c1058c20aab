"""Foreign text inside a prompt: quoted as data between markers that the text cannot forge.

Three things hold whatever the text says: it contains no `<`, so it cannot open or close a marker; the marker carries a code
that occurs nowhere in the quoted material; and control tokens of chat templates lose their form. `unescape` gives back what was
escaped, so that a quotation from the prompt can be found in the document again.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from arbgraph.schema import content_id

CODE_LENGTH = 8
_ENTITIES = {"&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"', "&#91;": "["}
_ENTITY = re.compile("|".join(_ENTITIES))
_AMBIGUOUS = re.compile(r"&(?=(?:lt|gt|amp|quot|#91);)")
# "[INST]", "[/INST]", "[TOOL_CALLS]": the control tokens of templates that do not use angle brackets.
_CONTROL = re.compile(r"\[(?=/?[A-Z][A-Z_]{2,}\])")
# Joiners that scripts and emoji need; every other invisible character can hide or reorder text.
_NEEDED = frozenset("\u200c\u200d")


@dataclass(frozen=True)
class Block:
    """One piece of quoted material: the kind of its marker, its text, and what is known about it (title, source, date)."""

    kind: str
    text: str
    about: Mapping[str, str] = field(default_factory=dict)


def hidden(character: str) -> bool:
    """Whether a character shows nothing: control and format characters, and halves of broken surrogate pairs."""
    return character not in _NEEDED and not character.isspace() and unicodedata.category(character) in ("Cc", "Cf", "Cs")


def visible(text: str) -> str:
    """The text without characters that can hide or reorder what is read; unusual line breaks and spaces become plain spaces."""
    return "".join(c if c in "\n\t" or not c.isspace() else " " for c in text if not hidden(c))


def escape(text: str) -> str:
    """Visible text in which nothing looks like a marker or a control token; `unescape` is its inverse on visible text."""
    text = _AMBIGUOUS.sub("&amp;", visible(text)).replace("<", "&lt;").replace(">", "&gt;")
    return _CONTROL.sub("&#91;", text)


def unescape(text: str) -> str:
    """Undoes `escape`."""
    return _ENTITY.sub(lambda match: _ENTITIES[match.group()], text)


def one_line(text: str) -> str:
    """Escaped text on one line, for lists and attributes."""
    return " ".join(escape(text).replace('"', "&quot;").split())


def code_for(blocks: Sequence[Block]) -> str:
    """Eight hexadecimal digits that depend on all quoted material and occur nowhere in it."""
    # As it will be shown: a code that invisible characters split would be whole again without them.
    parts = [visible(part) for block in blocks for part in (block.text, *block.about.values())]
    material = "\x1f".join(parts).lower()
    attempt = 0
    while True:
        code = content_id("marker", attempt, *parts)[:CODE_LENGTH]
        if code not in material:
            return code
        attempt += 1


def quote(blocks: Sequence[Block], code: str) -> str:
    """The blocks between markers, one after the other."""
    return "\n".join(_quoted(block, code) for block in blocks)


def _quoted(block: Block, code: str) -> str:
    about = "".join(f' {name}="{one_line(value)}"' for name, value in block.about.items() if value.strip())
    return f"<{block.kind}-{code}{about}>\n{escape(block.text).strip()}\n</{block.kind}-{code}>"
