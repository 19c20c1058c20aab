"""BM25 against the formula worked by hand and against bm25s; excerpts."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbgraph.retrieval import DocumentIndex, excerpt, words
from arbgraph.schema import Document

TEXTS = ("a b b", "a c", "d b e f")


def index(*texts: str, **options: float) -> DocumentIndex:
    return DocumentIndex([Document(text=text) for text in texts], **options)


def test_scores_by_hand():
    # N = 3, mean length 3; "b" is in 2 documents, "a" in 2, both with ln(1 + 1.5 / 2.5).
    rarity = math.log(1 + 1.5 / 2.5)
    first, third = rarity * 2 / (2 + 1.5), rarity * 1 / (1 + 1.5 * (0.25 + 0.75 * 4 / 3))
    hits = index(*TEXTS).search("b")
    assert [(hit.row, hit.score) for hit in hits] == [(0, pytest.approx(first)), (2, pytest.approx(third))]
    assert hits[0].document.text == TEXTS[0]


def test_equals_bm25s():
    bm25s = pytest.importorskip("bm25s")
    peer = bm25s.BM25(k1=1.2, b=0.6, method="lucene")
    peer.index([text.split() for text in TEXTS], show_progress=False)
    for query in ("b", "a b b", "f c a"):
        expected = peer.get_scores(query.split())
        found = {hit.row: hit.score for hit in index(*TEXTS, k1=1.2, b=0.6).search(query)}
        assert [found.get(row, 0.0) for row in range(3)] == pytest.approx(expected.tolist(), abs=1e-6)


def test_titles_are_searched_case_and_width_are_not_seen_and_ties_keep_their_order():
    documents = [Document(text="x one"), Document(text="two", title="ＬＹＯＮ"), Document(text="x two")]
    found = DocumentIndex(documents)
    assert [hit.row for hit in found.search("Lyon")] == [1]
    assert [hit.row for hit in found.search("x")] == [0, 2]
    assert [hit.row for hit in found.search("x", limit=1)] == [0]


def test_nothing_to_find():
    assert index().search("a") == []
    assert index("a").search("") == index("a").search("?!") == index("a").search("b") == []
    assert index("...").search("a") == []  # a document without words
    with pytest.raises(ValueError, match="k1"):
        index("a", k1=0.0)
    with pytest.raises(ValueError, match="b is 2"):
        index("a", b=2.0)


def test_excerpts_hold_the_sentences_that_bear_on_the_query():
    text = "Lyon lies on the Rhone. It has many bridges. The mayor was born in Nantes in 1950. He likes tea."
    assert excerpt(text, "Where was the mayor born?", 60) == "It has many bridges. The mayor was born in Nantes in 1950."
    assert excerpt(text, "Where was the mayor born?", 40) == "The mayor was born in Nantes in 1950."
    assert excerpt(text, "zebra", 25) == "Lyon lies on the Rhone."
    assert excerpt("short", "zebra", 25) == "short"
    assert excerpt("one endless sentence without a stop", "stop", 12) == "one endless"
    assert excerpt("abcdefghij", "x", 4) == "abcd"


@given(st.text(min_size=1), st.text(), st.integers(1, 50))
def test_an_excerpt_is_never_longer_than_asked(text, query, characters):
    assert len(excerpt(text, query, characters)) <= characters


@given(st.lists(st.text("ab ", min_size=1).filter(str.strip), min_size=1, max_size=6), st.text("ab "))
def test_what_is_found_shares_a_word_and_scores_fall(texts, query):
    hits = index(*texts).search(query, limit=9)
    assert {hit.row for hit in hits} == {row for row, text in enumerate(texts) if set(words(text)) & set(words(query))}
    assert all(hit.score > 0 for hit in hits)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
