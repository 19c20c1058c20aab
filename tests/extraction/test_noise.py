"""What is thrown away, and that it is counted by reason."""

from __future__ import annotations

import pytest

DROPPED = [
    ("boilerplate", "We use cookies to improve your experience. Read our Privacy Policy for more."),
    ("boilerplate", "Copyright 2020 Larne Times. All rights reserved."),
    ("boilerplate", "Jump to content Main menu Navigation Main page Contents Current events Random article About Contact"),
    ("boilerplate", "Subscribe to our newsletter and follow us today."),
    ("fragment", "The old stage machinery of the theatre."),
    ("question", "Was the bridge built in 1902?"),
    ("imperative", "Take a spare paddle and a tide table."),
    ("first_person", "I think the bridge is beautiful."),
    ("table_row", "1890 1,647 1900 1,375 1910 2,260 1920 2,567 1930 2,715"),
    ("table_row", "Year | Population | Change | Note"),
    ("markup", "function (a) { return a + 1; }"),
    ("debris", "��F����d� �����6� ���o� j Kf 7e w h V�K 8 n C1 E m"),
    ("damaged", "The city has a total area of , all of it land."),
]


@pytest.mark.parametrize(("reason", "text"), DROPPED, ids=[f"{reason}-{number}" for number, (reason, _) in enumerate(DROPPED)])
def test_dropped_and_counted(claims_of, counts_of, reason: str, text: str) -> None:
    assert claims_of(text) == []
    counts = counts_of(text)
    assert counts[f"dropped_{reason}"] >= 1
    assert counts["documents_without_claims"] == 1


def test_statement_about_cookies_is_kept(claims_of) -> None:
    text = "The bakery sells cookies and bread."
    assert claims_of(text) == [text]


def test_document_without_claims_is_a_failure(extractor) -> None:
    from arbgraph.schema import Document

    [extraction] = extractor.extract([[Document(id="empty-7", text="Menu. Home. 12.")]])
    assert extraction.claims == ()
    assert [failure.stage for failure in extraction.failures] == ["extraction"]
    assert "empty-7" in extraction.failures[0].reason


def test_no_documents(extractor) -> None:
    [extraction] = extractor.extract([[]])
    assert extraction.claims == ()
    assert extraction.failures == ()
    assert set(extraction.counts.values()) == {0}
    assert extractor.extract([]) == []


def test_unfinished_last_sentence_is_cut(claims_of, counts_of) -> None:
    text = "Anna Berg was born in Oslo. In 1920 she was also a member of the"
    assert claims_of(text) == ["Anna Berg was born in Oslo."]
    assert counts_of(text)["dropped_truncated"] == 1


def test_table_around_prose(claims_of) -> None:
    text = "Year\tPopulation\n1890\t1,647\n1900\t1,375\n\nThe town was founded in 1868.\n\n1910\t2,260\n"
    assert claims_of(text) == ["The town was founded in 1868."]


def test_long_run_without_full_stops(extractor) -> None:
    from arbgraph.schema import Document

    text = "alpha beta gamma delta " * 2_000 + "\n\nThe bridge was built in 1902."
    [extraction] = extractor.extract([[Document(id="d", text=text)]])
    assert [claim.text for claim in extraction.claims] == ["The bridge was built in 1902."]
    assert sum(value for name, value in extraction.counts.items() if name.startswith("dropped_")) > 10


def test_limits_must_fit() -> None:
    from arbgraph.extraction.syntactic import SyntacticExtractor

    with pytest.raises(ValueError, match="max_chars_per_chunk"):
        SyntacticExtractor(max_chars_per_chunk=500)
