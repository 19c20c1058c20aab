"""Question and passage as token windows, with exact character offsets and what an uncased vocabulary hides."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

# Case class (5) x match with the other text (3); 0 also stands for special tokens and padding.
CASES, MATCHES = 5, 3
CODES = CASES * MATCHES
# Punctuation that an answer may begin or end with.
OPENING, CLOSING = "$£€¥#\"'“‘(<", "%°²³+\"'”’)>"
# Words that stand in every text, so that meeting them says nothing.
COMMON = frozenset(
    [
        "the",
        "a",
        "an",
        "of",
        "in",
        "on",
        "at",
        "to",
        "for",
        "from",
        "by",
        "with",
        "and",
        "or",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "being",
        "it",
        "its",
        "this",
        "that",
        "these",
        "those",
        "as",
        "who",
        "what",
        "when",
        "where",
        "which",
        "whose",
        "whom",
        "how",
        "why",
        "did",
        "do",
        "does",
        "has",
        "have",
        "had",
        "not",
        "no",
        "he",
        "she",
        "they",
        "his",
        "her",
        "their",
    ]
)


@dataclass(frozen=True)
class Window:
    """One stretch of a passage beside its question. All lists have one entry a token.

    `offsets` are characters of the passage (0, 0 elsewhere); `starts` and `ends` mark where a span may start and end: at words of the
    passage, whole numbers, and no stray punctuation.
    """

    ids: list[int]
    types: list[int]
    codes: list[int]
    question: list[bool]
    passage: list[bool]
    starts: list[bool]
    ends: list[bool]
    offsets: list[tuple[int, int]]


class ReaderTokenizer:
    """Turns questions and passages into windows, and windows into padded batches.

    Args:
        tokenizer: a fast Hugging Face tokenizer.
        max_tokens: longest window, question and special tokens included.
        max_question: longer questions are cut to this many tokens.
        overlap: tokens that two neighbouring windows of a long passage share.
    """

    def __init__(self, tokenizer: Any, *, max_tokens: int = 224, max_question: int = 56, overlap: int = 64) -> None:
        # The rest of a window must hold more than the overlap, or windows would not move on.
        if max_tokens < max_question + overlap + 8:
            raise ValueError(f"max_tokens {max_tokens}: must be at least max_question {max_question} + overlap {overlap} + 8")
        self.tokenizer, self.max_tokens, self.max_question, self.overlap = tokenizer, max_tokens, max_question, overlap

    def windows(self, question: str, passage: str) -> list[Window]:
        """The windows of a passage beside its question, in reading order; one, without passage tokens, for an empty passage."""
        cut = self.tokenizer(question, add_special_tokens=False, truncation=True, max_length=self.max_question, return_offsets_mapping=True)
        kept = question[: cut["offset_mapping"][-1][1]] if cut["offset_mapping"] else ""
        encoded = self.tokenizer(
            kept,
            passage,
            truncation="only_second",
            max_length=self.max_tokens,
            stride=self.overlap,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        asked, stated = _words(kept), _words(passage)
        return [self._window(encoded, row, kept, passage, asked, stated) for row in range(len(encoded["input_ids"]))]

    def _window(self, encoded: Any, row: int, question: str, passage: str, asked: tuple, stated: tuple) -> Window:
        part, word = encoded.sequence_ids(row), encoded.word_ids(row)
        places = encoded["offset_mapping"][row]
        in_question, in_passage = [p == 0 for p in part], [p == 1 for p in part]
        codes, starts, ends = [], [], []
        memo: dict[tuple[int, int], int] = {}
        for place, (p, w) in enumerate(zip(part, word, strict=True)):
            if p is None or w is None:
                codes.append(0)
                starts.append(False)
                ends.append(False)
                continue
            if (p, w) not in memo:
                start, end = encoded.word_to_chars(row, w, p)
                memo[p, w] = _code((question, passage)[p][start:end], stated if p == 0 else asked)
            codes.append(memo[p, w])
            before = (part[place - 1], word[place - 1]) if place else (None, None)
            after = (part[place + 1], word[place + 1]) if place + 1 < len(part) else (None, None)
            start, end = places[place]
            starts.append(p == 1 and before != (p, w) and may_start(passage, start))
            ends.append(p == 1 and after != (p, w) and may_end(passage, end))
        offsets = [(int(s), int(e)) if inside else (0, 0) for (s, e), inside in zip(places, in_passage, strict=True)]
        types = encoded["token_type_ids"][row] if "token_type_ids" in encoded else [int(p == 1) for p in part]
        return Window(encoded["input_ids"][row], types, codes, in_question, in_passage, starts, ends, offsets)

    def batch(self, windows: Sequence[Window], *, multiple: int = 1) -> dict[str, Tensor]:
        """Right-padded tensors `[B, L]`, L a multiple of `multiple`: ids, mask, types and codes as numbers, the four marks as bool."""
        longest = -(-max(len(window.ids) for window in windows) // multiple) * multiple

        def padded(rows: list[list[Any]], fill: Any, dtype: torch.dtype) -> Tensor:
            return torch.tensor([row + [fill] * (longest - len(row)) for row in rows], dtype=dtype)

        return {
            "input_ids": padded([w.ids for w in windows], self.tokenizer.pad_token_id, torch.long),
            "attention_mask": padded([[1] * len(w.ids) for w in windows], 0, torch.long),
            "token_type_ids": padded([w.types for w in windows], 0, torch.long),
            "codes": padded([w.codes for w in windows], 0, torch.long),
            **{name: padded([getattr(w, name) for w in windows], False, torch.bool) for name in ("question", "passage", "starts", "ends")},
        }


def may_start(text: str, place: int) -> bool:
    """Whether an answer may start at a character: a letter, a digit that is not inside a number, or what goes before a word."""
    if text[place].isdigit():
        return not (place > 1 and text[place - 1] in ",." and text[place - 2].isdigit())
    return text[place].isalnum() or text[place] in OPENING


def may_end(text: str, place: int) -> bool:
    """Whether an answer may end before a character: after a letter, a digit that is not inside a number, or what goes behind a word."""
    if text[place - 1].isdigit():
        return not (place + 1 < len(text) and text[place] in ",." and text[place + 1].isdigit())
    return text[place - 1].isalnum() or text[place - 1] in CLOSING


def _words(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The telling words of a text, and the first five letters of the longer ones."""
    words = frozenset(re.findall(r"\w+", text.lower())) - COMMON
    return words, frozenset(word[:5] for word in words if len(word) > 5)


def _code(word: str, other: tuple[frozenset[str], frozenset[str]]) -> int:
    """Case class of a word (lower, capitalised, capitals, with a digit, punctuation), and whether the other text holds it or its stem."""
    if any(letter.isdigit() for letter in word):
        case = 3
    elif not word[:1].isalnum():
        case = 4
    elif len(word) > 1 and word.isupper():
        case = 2
    else:
        case = 1 if word[0].isupper() else 0
    low = word.lower()
    match = 1 if low in other[0] else 2 if len(low) > 5 and low[:5] in other[1] else 0
    return case + CASES * match
