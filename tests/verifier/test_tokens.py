from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from arbgraph.models import resolve_model
from arbgraph.verifier.tokens import PairTokenizer, cut_longest, token_batches
from tests.verifier.conftest import MINILM, PAIRS

SIDES = ("left", "right")
WORDS = ["tower", "uncharacteristically", "1,300", "metres,", "naïve", "東京", ".", "##", "[SEP]", "don't"]
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=30)


def minilm(side: str):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(resolve_model(MINILM).path, padding_side=side)


@pytest.fixture(scope="module")
def tokenizers() -> dict:
    return {side: minilm(side) for side in SIDES}


def check(tokenizer, pairs: list[tuple[str, str]], max_tokens: int) -> None:
    """What the tokenizer itself makes of the pairs, padded to the longest, is what the batch holds."""
    ours = PairTokenizer(tokenizer, max_tokens)
    encoded = ours.encode(pairs)
    batch = ours.batch(encoded, range(len(pairs)))
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    expected = tokenizer(first, second, truncation="longest_first", max_length=max_tokens, padding=True, return_tensors="pt")
    assert set(batch) == set(expected) | {"segments"}
    for name in expected:
        assert torch.equal(batch[name], expected[name]), name
    segments = [[-1 if part is None else part for part in expected.sequence_ids(row)] for row in range(len(pairs))]
    assert batch["segments"].tolist() == segments
    assert encoded.lengths == expected["attention_mask"].sum(1).tolist()
    assert encoded.truncated.tolist() == [bool(one.overflowing) for one in expected.encodings]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=6), st.integers(5, 70), st.sampled_from(SIDES))
def test_batches_are_what_the_tokenizer_makes(tokenizers: dict, words: list, max_tokens: int, side: str) -> None:
    check(tokenizers[side], [(" ".join(a), " ".join(b)) for a, b in words], max_tokens)


def test_layouts_without_token_types_and_with_two_separators() -> None:
    from tokenizers.processors import TemplateProcessing

    tokenizer = minilm("right")
    tokenizer.model_input_names = ["input_ids", "attention_mask"]
    ids = [(name, tokenizer.convert_tokens_to_ids(name)) for name in ("[CLS]", "[SEP]")]
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] [SEP] $B [SEP]", special_tokens=ids
    )
    check(tokenizer, PAIRS, 20)
    assert PairTokenizer(tokenizer, 20).special == 4


def test_rows_are_chosen_and_texts_shared(tokenizers: dict) -> None:
    ours = PairTokenizer(tokenizers["right"], 32)
    encoded = ours.encode([*PAIRS, *((b, a) for a, b in PAIRS)])
    some, alone = ours.batch(encoded, [3]), ours.batch(ours.encode([PAIRS[3]]), [0])
    assert all(torch.equal(some[name], alone[name]) for name in some)
    # Both orders, and "It rained." three times, read the tokens of eight texts.
    single = sum(
        len(ids) for ids in tokenizers["right"](sorted({text for pair in PAIRS for text in pair}), add_special_tokens=False)["input_ids"]
    )
    assert len(encoded.ids) == single + ours.special + 1


def test_interleaved_texts_are_refused() -> None:
    from tokenizers.processors import TemplateProcessing

    tokenizer = minilm("right")
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="$A", pair="$B [SEP] $A", special_tokens=[("[SEP]", tokenizer.sep_token_id)]
    )
    with pytest.raises(ValueError, match="does not lay out a pair"):
        PairTokenizer(tokenizer, 32)


def test_cutting_by_hand() -> None:
    lengths = np.array([[3, 4], [3, 9], [9, 3], [9, 9], [5, 5], [4, 6], [0, 12]])
    assert cut_longest(lengths, 9).tolist() == [[3, 4], [3, 6], [6, 3], [4, 5], [4, 5], [4, 5], [0, 9]]


@given(st.lists(st.integers(1, 90), min_size=1, max_size=50), st.integers(1, 300), st.integers(1, 9))
def test_batches_hold_every_row_within_the_budget(lengths: list[int], tokens: int, rows: int) -> None:
    batches = list(token_batches(lengths, tokens, rows))
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    for batch in batches:
        widths = [lengths[row] for row in batch]
        assert widths == sorted(widths, reverse=True)
        assert len(batch) <= rows
        assert len(batch) == 1 or len(batch) * widths[0] <= tokens
