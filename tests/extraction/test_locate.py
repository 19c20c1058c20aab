"""Quotations are found where they were copied from, and altered ones are not found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbgraph.chat.quoting import escape, visible
from arbgraph.extraction.locate import locate

TEXT = (
    "The Harcastle lamp was invented in 1893. “It burned for 40 hours”, wrote the Daily – a record.\n"
    "Sales of the lamp, which cost 1,200 crowns at first, reached ninety a week within the year.\n"
    "It was not sold abroad. If x < y & y > z, the flame dies."
)


def found(quote, start=0, end=None):
    span = locate(quote, TEXT, start, len(TEXT) if end is None else end)
    return None if span is None else TEXT[slice(*span)]


@pytest.mark.parametrize(
    ("quote", "expected"),
    [
        ("The Harcastle lamp was invented in 1893.", "The Harcastle lamp was invented in 1893."),
        ("the harcastle  lamp\nwas invented in 1893", "The Harcastle lamp was invented in 1893"),
        ('"It burned for 40 hours", wrote the Daily - a record', "It burned for 40 hours”, wrote the Daily – a record"),
        ("If x &lt; y & y &gt; z", "If x < y & y > z"),
        ("the lamp, which cost 1,200 crowns at first, was bought by ninety people within days", None),
        ("Sales of that lamp, which cost 1,200 crowns at first, reached ninety a week", TEXT[95:169]),
        ("the lamp, which cost 1,300 crowns at first, reached ninety a week", None),
        ("The lamp was sold abroad in large numbers.", None),
        ("lamp invented", None),
        ("", None),
        ("   ", None),
        ("It", "It"),
    ],
)  # fmt: skip
def test_copies_with_small_differences_are_found_and_others_are_not(quote, expected):
    assert found(quote) == expected


def test_only_the_given_part_is_searched():
    assert found("The Harcastle lamp", start=5) is None
    assert found("It was not sold abroad", end=60) is None


@given(st.text(min_size=1, max_size=60), st.text(max_size=30), st.text(max_size=30))
def test_whatever_was_copied_is_found_with_the_same_characters(quote, before, after):
    text = before + quote + after
    span = locate(quote, text, 0, len(text))
    if quote.strip():
        assert span is not None
        assert text[slice(*span)] == quote.strip()


@given(st.text(alphabet="ab<>&;ltgamp #91[INST]/", min_size=1, max_size=40).filter(lambda text: text.strip()))
def test_an_escaped_quotation_is_found_too(text):
    span = locate(escape(text), text, 0, len(text))
    assert span is not None
    assert visible(text[slice(*span)]).split() != [] or not text.strip()


@given(st.text(max_size=80), st.text(max_size=120))
def test_a_span_lies_inside_the_text(quote, text):
    span = locate(quote, text, 0, len(text))
    assert span is None or 0 <= span[0] < span[1] <= len(text)
