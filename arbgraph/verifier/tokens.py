"""Pairs of texts -> token ids: every distinct text is tokenised once, and pairs are laid out from its ids in bulk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor

# Parts of the layout of a pair: special tokens, first text, special tokens, second text, special tokens, padding.
SEGMENTS = np.array([-1, 0, -1, 1, -1, -1])
PADDING = 5


@dataclass(frozen=True)
class EncodedPairs:
    """Token ids of P pairs. `ids` holds the `special` tokens that the layout adds, the padding token, and the tokens of all
    distinct texts in a row; a pair reads `kept [P, 2]` of them from `starts [P, 2]` on. `truncated [P]` says which pairs were cut.
    """

    ids: np.ndarray
    starts: np.ndarray
    kept: np.ndarray
    truncated: np.ndarray
    special: int

    @property
    def lengths(self) -> list[int]:
        """Tokens per pair, special tokens included."""
        return (self.kept.sum(axis=1) + self.special).tolist()


class PairTokenizer:
    """Pairs of texts -> token ids with the segment of every token.

    The layout (special tokens before, between and after the texts, token types) is read off the tokenizer with a pair of
    probes, so any fast tokenizer works, with token types or without (RoBERTa and its kind). A pair longer than `max_tokens`
    loses tokens from the end of its longer text.

    Raises ValueError on a slow tokenizer, or one whose pairs are more than two texts among special tokens.
    """

    def __init__(self, tokenizer: Any, max_tokens: int) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise ValueError(f"{type(tokenizer).__name__} of {tokenizer.name_or_path} gives no sequence ids; use a fast tokenizer")
        self.tokenizer, self.max_tokens = tokenizer, max_tokens
        self.left = tokenizer.padding_side == "left"
        self._read_layout("one two three", "four")

    def _read_layout(self, first: str, second: str) -> None:
        encoding = self.tokenizer(first, second)
        self.inputs = tuple(encoding)
        ids, parts = encoding["input_ids"], encoding.sequence_ids(0)
        places = [[at for at, part in enumerate(parts) if part == side] for side in (0, 1)]
        texts = self._token_ids([first, second])
        if any([ids[at] for at in found] != text for found, text in zip(places, texts, strict=True)) or places[0][-1] > places[1][0]:
            raise ValueError(f"{self.tokenizer.name_or_path}: its tokenizer does not lay out a pair as two texts among special tokens")
        (a, b), (c, d) = ((found[0], found[-1] + 1) for found in places)
        types = encoding.get("token_type_ids", [0] * len(ids))
        self._around = (ids[:a], ids[b:c], ids[d:])
        spans = ((0, a), (a, b), (b, c), (c, d), (d, len(ids)))
        self._types = np.array([types[start] if start < end else 0 for start, end in spans] + [self.tokenizer.pad_token_type_id])
        self._special = np.array([*chain.from_iterable(self._around), self.tokenizer.pad_token_id], dtype=np.int64)
        self.special = len(self._special) - 1

    def _token_ids(self, texts: list[str]) -> list[list[int]]:
        return self.tokenizer(texts, add_special_tokens=False, return_attention_mask=False, return_token_type_ids=False, verbose=False)[
            "input_ids"
        ]

    def encode(self, pairs: Sequence[tuple[str, str]]) -> EncodedPairs:
        """Tokenises pairs, each cut to `max_tokens`."""
        number = {text: row for row, text in enumerate(dict.fromkeys(chain.from_iterable(pairs)))}
        tokens = self._token_ids(list(number)) if number else []
        sizes = np.array([len(ids) for ids in tokens], dtype=np.int64)
        ends = np.cumsum(sizes)
        ids = np.fromiter(chain.from_iterable(tokens), dtype=np.int64, count=int(sizes.sum()))
        texts = np.array([(number[a], number[b]) for a, b in pairs], dtype=np.int64).reshape(-1, 2)
        lengths = sizes[texts]
        kept = cut_longest(lengths, self.max_tokens - self.special)
        starts = (ends - sizes)[texts] + len(self._special)
        return EncodedPairs(np.concatenate([self._special, ids]), starts, kept, np.asarray((kept < lengths).any(axis=1)), self.special)

    def batch(self, encoded: EncodedPairs, rows: Sequence[int]) -> dict[str, Tensor]:
        """The rows as padded tensors `[B, L]`: the model's inputs and `segments` (0 first text, 1 second, -1 special or padding)."""
        kept, starts = encoded.kept[rows], encoded.starts[rows]
        before, between, after = ([len(ids)] * len(kept) for ids in self._around)
        # By part of the layout, [5, B]: how many tokens it has, and from where in `ids` it reads them.
        sizes = np.stack([before, kept[:, 0], between, kept[:, 1], after])
        sources = np.stack([np.zeros_like(before), starts[:, 0], before, starts[:, 1], np.add(before, between)])
        ends = np.cumsum(sizes, axis=0)
        width = int(ends[-1].max())
        at = np.arange(width)[None, :] - ((width - ends[-1])[:, None] if self.left else 0)
        part = np.where(at < 0, PADDING, (at >= ends[:, :, None]).sum(axis=0))
        shift = np.take_along_axis((sources - ends + sizes).T, np.minimum(part, PADDING - 1), axis=1)
        columns = {
            "input_ids": encoded.ids[np.where(part < PADDING, shift + at, encoded.special)],
            "attention_mask": (part < PADDING).astype(np.int64),
            "token_type_ids": self._types[part],
        }
        return {name: torch.from_numpy(columns[name]) for name in self.inputs} | {"segments": torch.from_numpy(SEGMENTS[part])}


def cut_longest(lengths: np.ndarray, room: int) -> np.ndarray:
    """How many tokens of either text stay, `[P, 2]`: the longer text is cut until both fit into `room`, then both alike."""
    shorter = np.minimum(lengths.min(axis=1), room // 2)
    first_is_shorter = lengths[:, 0] <= lengths[:, 1]
    longer = np.minimum(lengths.max(axis=1), room - shorter)
    return np.stack([np.where(first_is_shorter, shorter, longer), np.where(first_is_shorter, longer, shorter)], axis=1)


def token_batches(lengths: Sequence[int], tokens: int, rows: int) -> Iterator[list[int]]:
    """Row numbers in batches of similar length, longest first: at most `rows` rows, and `tokens` tokens with padding or one row."""
    order = np.argsort(-np.asarray(lengths), kind="stable").tolist()
    start = 0
    while start < len(order):
        size = max(1, min(rows, tokens // lengths[order[start]]))
        yield order[start : start + size]
        start += size
