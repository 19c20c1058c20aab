"""Documents in a prompt: quoted, numbered, and cut to what the model can read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from arbgraph.chat.quoting import Block
from arbgraph.schema import Document

CUT_MARK = " [...]"


@dataclass(frozen=True)
class Shown:
    """Documents as blocks, in the order given; `cut` of them were shortened, `dropped` did not fit at all."""

    blocks: tuple[Block, ...]
    cut: int = 0
    dropped: int = 0

    @property
    def usage(self) -> dict[str, int]:
        """What was lost, for `Answer.usage`."""
        return {"documents_cut": self.cut, "documents_dropped": self.dropped}


def show_documents(
    documents: Sequence[Document], budget: int, count_tokens: Callable[[str], int], *, kind: str = "document", start: int = 1
) -> Shown:
    """Numbered blocks of the documents whose texts together take at most `budget` tokens.

    Every document may take an equal share; what short ones leave is shared among the longer ones, whose ends are cut at a word. A document
    that would keep less than one word is left out. Titles, sources and dates come beside the budget.
    """
    if budget < 1:
        raise ValueError(f"budget is {budget}; documents need at least one token")
    shares = _shares([count_tokens(document.text) for document in documents], budget)
    blocks, cut, dropped = [], 0, 0
    for number, (document, (needed, share)) in enumerate(zip(documents, shares, strict=True), start):
        text = document.text if needed <= share else _shortened(document.text, share, count_tokens)
        if not text:
            dropped += 1
            continue
        cut += needed > share
        blocks.append(Block(kind, text, about_document(document, number)))
    return Shown(tuple(blocks), cut, dropped)


def about_document(document: Document, number: int) -> dict[str, str]:
    """What a marker says of a document: its number, and title, source and date where they are known."""
    published = document.published.isoformat() if document.published else ""
    known = {"title": document.title, "source": document.source, "published": published}
    return {"number": str(number), **{name: value for name, value in known.items() if value}}


def _shares(needs: Sequence[int], budget: int) -> list[tuple[int, int]]:
    """(needed, allowed) tokens per document: max-min fair shares of the budget."""
    allowed = [0] * len(needs)
    left, open_rows = budget, sorted(range(len(needs)), key=lambda row: (needs[row], row))
    while open_rows:
        share = left // len(open_rows)
        row = open_rows.pop(0)
        allowed[row] = min(needs[row], share)
        left -= allowed[row]
    return list(zip(needs, allowed, strict=True))


def _shortened(text: str, budget: int, count_tokens: Callable[[str], int]) -> str:
    """The longest beginning of whole words that fits, with a mark; empty when not even one word does."""
    words = text.split(" ")
    low, high = 0, len(words) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count_tokens(" ".join(words[:middle]) + CUT_MARK) <= budget else (low, middle - 1)
    return " ".join(words[:low]) + CUT_MARK if low else ""
