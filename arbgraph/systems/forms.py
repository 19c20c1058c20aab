"""Forms of the replies between question and final answer: a field on a line, a label, a list; and when two answers are the same."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from arbgraph.chat.base import Completion
from arbgraph.schema import Failed
from arbgraph.systems.base import StepFailed
from arbgraph.systems.readings import normal_form, usable_text

_WORD = re.compile(r"\w+")
_LISTED = re.compile(r"^\s*(?:[-*•]|\(?\d{1,2}[.):])\s*(.+?)\s*$", re.MULTILINE)
_NEGATION = re.compile(r"\b(?:not|no|never|neither|cannot)\b|n['’]t\b")
RAW_KEPT = 2000


def needed_text(completion: Completion, counts: Counter[str]) -> str:
    """The text of a reply that the system cannot go on without, as `usable_text`. Raises StepFailed when there is none."""
    text = usable_text(completion, counts)
    if text is None:
        assert completion.failure is not None
        raise StepFailed(completion.failure)
    return text


def unreadable(stage: str, wanted: str, text: str) -> StepFailed:
    """The error of a reply that lacks its form: `wanted` says what was asked for."""
    return StepFailed(Failed(stage=stage, reason=f"the reply does not give {wanted}", raw=text[:RAW_KEPT]))


@dataclass(frozen=True)
class Field:
    """A field that was found: its name as asked for, and the rest of its line."""

    name: str
    value: str


def read_field(text: str, names: Sequence[str]) -> Field | None:
    """The first line `name: value` or `name[value]` of one of these names with a value; case, marks and a number before do not matter."""
    listed = "|".join(re.escape(name) for name in names)
    pattern = re.compile(
        rf"^[\s*_#>\-]*(?:\d+[.)]\s*)?(?:action\s*\d*\s*:\s*)?[*_]*({listed})\s*\d*[*_]*\s*(?::[*_]*(.*)|\[([^\]\n]*)\]?)", re.I | re.M
    )
    for match in pattern.finditer(text):
        value = (match[2] if match[2] is not None else match[3]).strip().strip('*_`"').strip()
        if value:
            name = next(name for name in names if name.casefold() == match[1].casefold())
            return Field(name, value)
    return None


def read_label(text: str, labels: Sequence[str]) -> str | None:
    """The label that a reply gives: its first word after marks, or else the only label that occurs, without a negation before it.

    None where there is none, where several occur and none begins the reply, or where the only one is negated.
    """
    said = [word.casefold() for word in _WORD.findall(text)]
    known = {label.casefold(): label for label in labels}
    if said and said[0] in known:
        return known[said[0]]
    found = {word for word in said if word in known}
    if len(found) != 1:
        return None
    (label,) = found
    before = re.split(rf"\b{re.escape(label)}\b", text.casefold(), maxsplit=1)[0]
    return None if _NEGATION.search(re.split(r"[.!?\n]", before)[-1]) else known[label]


def read_list(text: str, limit: int) -> list[str]:
    """The items of a numbered or bulleted list, each once, at most `limit`; lines that end in `?` where there is no list."""
    items = [match[1] for match in _LISTED.finditer(text)] or [line.strip() for line in text.splitlines() if line.strip().endswith("?")]
    return list(dict.fromkeys(item.strip("*_ ") for item in items))[:limit]


def same_set(answers: Iterable[str]) -> frozenset[str]:
    """The normal forms of a list of answers: two lists are one answer when these are equal."""
    return frozenset(normal_form(answer) for answer in answers)
