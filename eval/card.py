"""The card of a checkpoint: its sections are filled one at a time."""

from __future__ import annotations

import re
from collections.abc import Sequence

# What a new section of a card comes before.
LAST = "Limits"


def set_section(card: str, heading: str, lines: Sequence[str], *, before: str = LAST) -> str:
    """The card with the `## heading` section holding these lines: in its old place, else before the named section, else at the end."""
    section = f"## {heading}\n\n" + "\n".join(lines).strip("\n") + "\n\n"
    pattern = re.compile(rf"^## {re.escape(heading)}[ \t]*\n.*?(?=^## |\Z)", re.DOTALL | re.MULTILINE)
    if pattern.search(card):
        return pattern.sub(lambda _: section, card, count=1).rstrip("\n") + "\n"
    for place in dict.fromkeys((before, LAST)):
        start = re.search(rf"^## {re.escape(place)}\b", card, re.MULTILINE)
        if start:
            return card[: start.start()] + section + card[start.start() :]
    return card.rstrip("\n") + "\n\n" + section.rstrip("\n") + "\n"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table."""
    return [f"| {' | '.join(header)} |", "|---" * len(header) + "|", *(f"| {' | '.join(row)} |" for row in rows)]
