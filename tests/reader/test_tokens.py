from __future__ import annotations

from itertools import pairwise

import pytest

from arbgraph.reader.tokens import CASES, ReaderTokenizer


def codes_of(window, passage: str) -> dict[str, int]:
    return {passage[s:e]: code for (s, e), code, inside in zip(window.offsets, window.codes, window.passage, strict=True) if inside}


def test_codes_say_case_and_match(words) -> None:
    passage = "the NATO summit of 1999 took place in Washington, locating Dayton"
    window = ReaderTokenizer(words).windows("Where was the summit of washington located in the 1999?", passage)[0]
    codes = codes_of(window, passage)
    assert codes["NATO"] == 2
    assert codes["Washington"] == 1 + CASES
    assert codes["1999"] == 3 + CASES
    assert codes[","] == 4
    assert codes["the"] == 0, "a common word is no match"
    assert codes["locating"] == 2 * CASES, "the same stem"
    assert codes["Dayton"] == 1
    assert codes["took"] == 0


def test_spans_start_and_end_with_words(words) -> None:
    passage = "Anachronistically, unhappiness"
    window = ReaderTokenizer(words).windows("What?", passage)[0]
    assert [o[0] for o, mark in zip(window.offsets, window.starts, strict=True) if mark] == [0, 19]
    assert [o[1] for o, mark in zip(window.offsets, window.ends, strict=True) if mark] == [17, 30]


def test_no_span_cuts_a_number(words) -> None:
    passage = "In 1999, 3,171 people paid $34.50 (12%) - 5."
    window = ReaderTokenizer(words).windows("What?", passage)[0]
    starts = [passage[o[0] :].split()[0] for o, mark in zip(window.offsets, window.starts, strict=True) if mark]
    ends = [passage[: o[1]].split()[-1] for o, mark in zip(window.offsets, window.ends, strict=True) if mark]
    assert starts == ["In", "1999,", "3,171", "people", "paid", "$34.50", "34.50", "(12%)", "12%)", "5."]
    assert ends == ["In", "1999", "3,171", "people", "paid", "$34.50", "(12", "(12%", "(12%)", "5"]


def test_windows_cover_the_passage_and_overlap(words) -> None:
    passage = " ".join(f"w{number}" for number in range(120))
    tokenizer = ReaderTokenizer(words, max_tokens=60, max_question=8, overlap=16)
    windows = tokenizer.windows("What is where?", passage)
    covered = [{place for place, inside in zip(w.offsets, w.passage, strict=True) if inside} for w in windows]
    assert len(set().union(*covered)) == len(words(passage, add_special_tokens=False)["input_ids"])
    assert all(len(a & b) == 16 for a, b in pairwise(covered))
    assert all(len(w.ids) <= 60 for w in windows)


def test_a_long_question_is_cut(words) -> None:
    tokenizer = ReaderTokenizer(words, max_tokens=60, max_question=8, overlap=16)
    window = tokenizer.windows("what " * 200, "An answer.")[0]
    assert sum(window.question) == 8
    assert any(window.passage)


def test_a_window_must_hold_more_than_the_overlap(words) -> None:
    with pytest.raises(ValueError, match="max_tokens 64"):
        ReaderTokenizer(words, max_tokens=64, max_question=40, overlap=32)


def test_padding_to_a_multiple_adds_only_padding(words) -> None:
    tokenizer = ReaderTokenizer(words)
    windows = [tokenizer.windows("Who?", text)[0] for text in ("An answer.", "A somewhat longer answer than the other.")]
    plain, padded = tokenizer.batch(windows), tokenizer.batch(windows, multiple=16)
    length = plain["input_ids"].shape[1]
    assert padded["input_ids"].shape == (2, 16)
    assert all(bool((padded[name][:, :length] == plain[name]).all()) for name in plain)
    assert not padded["attention_mask"][:, length:].any()
    assert not padded["starts"][:, length:].any()
