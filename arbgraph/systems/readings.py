"""Replies on the way to an answer: each is read or counted as lost, and answers are compared in one normal form."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence

from arbgraph.chat.base import Completion
from arbgraph.chat.quoting import Block
from arbgraph.schema import Answer, Citation, Document
from arbgraph.systems.documents import show_documents
from arbgraph.systems.replies import UNKNOWN, read_answers

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def show_each(
    documents: Sequence[Document], budget: int, count_tokens: Callable[[str], int]
) -> tuple[list[tuple[Document, Block]], Counter[str]]:
    """Every document as a block of its own with at most `budget` tokens, for systems that read them one by one, and what was lost."""
    counts: Counter[str] = Counter(documents_cut=0, documents_dropped=0)
    shown = []
    for number, document in enumerate(documents, 1):
        alone = show_documents([document], budget, count_tokens, start=number)
        counts.update(alone.usage)
        shown += [(document, block) for block in alone.blocks]
    return shown, counts


def usable_text(completion: Completion, counts: Counter[str]) -> str | None:
    """The text of a reply that is not the final answer; None when there is none.

    A reply that was cut at its limit of tokens still says what it says. `replies_cut` and `replies_failed` are counted.
    """
    text = completion.text.strip()
    if completion.failure is None:
        return text
    if completion.finish == "length" and text:
        counts["replies_cut"] += 1
        return text
    counts["replies_failed"] += 1
    return None


def usable_answers(text: str | None, counts: Counter[str]) -> tuple[str, ...] | None:
    """The answers of a usable text, as `read_answers`; `replies_unreadable` and `replies_unknown` are counted."""
    answers = None if text is None else read_answers(text)
    if text is not None and answers is None:
        counts["replies_unreadable"] += 1
    counts["replies_unknown"] += answers == ()
    return answers


def normal_form(text: str) -> str:
    """Lower case, without punctuation, a, an and the, single spaces; two answers with one normal form are one answer.

    A text of which nothing is left, such as the answer "A", is only lower-cased and stripped. Source: Rajpurkar et al., EMNLP 2016,
    extended from ASCII punctuation to that of all scripts.
    """
    lowered = unicodedata.normalize("NFKC", text).lower()
    plain = "".join(character for character in lowered if unicodedata.category(character)[0] != "P")
    return " ".join(_ARTICLES.sub(" ", plain).split()) or lowered.strip()


def contains(longer: str, shorter: str) -> bool:
    """Whether one normal form holds another from word end to word end. An empty text is held by none."""
    return bool(shorter) and f" {shorter} " in f" {longer} "


def same_answers(before: Sequence[str] | None, after: Sequence[str] | None) -> bool:
    """Whether two replies give the same answers: every answer of one of them contains, or is contained in, an answer of the other.

    Two replies that know nothing agree; one that cannot be read (None) agrees with nothing.
    """
    if before is None or after is None:
        return False
    if not before or not after:
        return not before and not after
    first, second = [normal_form(answer) for answer in before], [normal_form(answer) for answer in after]

    def covered(some: list[str], others: list[str]) -> bool:
        return all(any(contains(a, b) or contains(b, a) for b in others) for a in some)

    return covered(first, second) or covered(second, first)


def listed(answers: Sequence[str], document_ids: Sequence[Sequence[str]], **more: object) -> Answer:
    """An answer that lists short answers, each cited to its documents; without any, an abstention. `more` are fields of `Answer`."""
    citations, start = [], 0
    for answer, ids in zip(answers, document_ids, strict=True):
        citations.append(Citation(start=start, end=start + len(answer), claim_ids=(), document_ids=tuple(ids)))
        start += len(answer) + len("; ")
    fields = {"text": "; ".join(answers) or UNKNOWN, "short_answers": tuple(answers), "citations": tuple(citations)}
    return Answer.model_validate({**fields, "abstained": not answers, **more})
