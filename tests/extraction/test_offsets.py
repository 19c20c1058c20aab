"""Offsets, order and batches: properties that hold for any document."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arbgraph.extraction.cleaning import MappedText, blocks, pieces_of
from arbgraph.extraction.syntactic import Extraction, SyntacticExtractor
from arbgraph.schema import Document

PIECES = [
    "The act, which was passed in 1977, banned smoking.",
    "Anna Berg (born 14 May 1902 in Aarhus) was a painter.",
    "It was closed in 1950 and opened in 1960.",
    "<p>The bridge &amp; the mill were built in 1902.</p>",
    "<script>var a = 1;</script>",
    "<b>The canal</b> was\nopened&nbsp;in <a href='x'>June</a>.",
    "Lake Auvra: surface 41 km, depth 88 m.",
    "The tow\u200ber was\u00a0built in\r\n1902 .",
    "| a | b | c |",
    "“The mill is shut. It stays shut,” he said.",
    "- The river floods in May ;\n- the lake freezes in winter",
    "The town [ 12 ] has two schools , and it has a library .",
    "�� \ufeff",
    "Is it open?",
    "(see below)",
    "a < b and c > d",
    "😀 The market opens on Friday.",
]
GAPS = [" ", "\n", "\n\n", "\r\n", "\u2028", " \t ", "\u00a0", ""]

documents = st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(GAPS)), min_size=1, max_size=6).map(
    lambda parts: "".join(piece + gap for piece, gap in parts)
)


def assert_exact(extraction: Extraction, texts: dict[str, str]) -> None:
    for claim in extraction.claims:
        assert claim.mentions
        for mention in claim.mentions:
            assert 0 <= mention.start < mention.end
            assert texts[mention.document_id][mention.start : mention.end] == mention.quote
        assert claim.text == " ".join(claim.text.split())
        assert claim.text[-1] in ".”\"'"
        assert not claim.text[0].islower() or claim.text[1:2].isupper()


@given(st.lists(documents.filter(str.strip), min_size=1, max_size=3))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_offsets_and_order(extractor: SyntacticExtractor, texts: list[str]) -> None:
    query = [Document(id=f"d{number}", text=text, title="Larne") for number, text in enumerate(texts)]
    [forward] = extractor.extract([query])
    [backward] = extractor.extract([query[::-1]])
    assert_exact(forward, {document.id: document.text for document in query})
    assert forward == backward
    places = [(c.mentions[0].document_id, c.mentions[0].start, c.mentions[0].end, c.text) for c in forward.claims]
    assert places == sorted(places)
    assert forward.counts["documents"] == len(texts)


@given(st.text(max_size=300).filter(lambda text: text.strip() and not any("\ud800" <= c <= "\udfff" for c in text)))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_read(extractor: SyntacticExtractor, text: str) -> None:
    [extraction] = extractor.extract([[Document(id="d", text=text)]])
    assert_exact(extraction, {"d": text})


def test_batch_equals_single(extractor: SyntacticExtractor) -> None:
    queries = [[Document(id=f"q{q}-{n}", text=" ".join(PIECES[q + n :])) for n in range(3)] for q in range(4)]
    assert extractor.extract(queries) == [extractor.extract([query])[0] for query in queries]


def test_repeated_statement_is_one_claim(extractor: SyntacticExtractor) -> None:
    text = "The bridge was built in 1902. The mayor spoke. The bridge was built in 1902."
    [extraction] = extractor.extract([[Document(id="d", text=text)]])
    [twice] = [claim for claim in extraction.claims if claim.text == "The bridge was built in 1902."]
    assert [(m.start, m.end) for m in twice.mentions] == [(0, 28), (47, 75)]
    assert extraction.counts["dropped_duplicate"] == 1


def test_html(extractor: SyntacticExtractor) -> None:
    text = (
        "<html><head><style>p {color: red}</style></head><body><nav><a>Home</a> The menu is open.</nav>"
        "<p>The caf&eacute; was <b>built</b>\nin 1902.</p><script>The script was run in 1902.</script>"
        "<table><tr><td>Year</td><td>1902</td></tr></table><li>The roof leaks in winter.</li></body></html>"
    )
    [extraction] = extractor.extract([[Document(id="d", text=text)]])
    assert [(claim.text, claim.mentions[0].quote) for claim in extraction.claims] == [
        ("The café was built in 1902.", "The caf&eacute; was <b>built</b>\nin 1902"),
        ("The roof leaks in winter.", "The roof leaks in winter"),
    ]
    assert extraction.counts["dropped_markup"] == 2
    assert extraction.counts["dropped_boilerplate"] >= 1


def test_unclosed_navigation_hides_nothing(extractor: SyntacticExtractor) -> None:
    [extraction] = extractor.extract([[Document(id="d", text="<nav><p>The bridge was built in 1902.</p>")]])
    assert [claim.text for claim in extraction.claims] == ["The bridge was built in 1902."]


@pytest.mark.parametrize("opener", ["<!--", "<![", "<p ", "</p ", "<"])
def test_unclosed_markup_hides_nothing_and_ends(extractor: SyntacticExtractor, opener: str) -> None:
    text = "<p>The bridge was built in 1902.</p>" + opener * 20_000 + "\n\nThe canal was opened in 1950."
    [extraction] = extractor.extract([[Document(id="d", text=text)]])
    assert_exact(extraction, {"d": text})
    assert extraction.claims[0].text == "The bridge was built in 1902."


def test_mapped_text_substitution() -> None:
    import re

    mapped = MappedText.of("a  b", 10).sub(re.compile(" +"), "-")
    assert (mapped.text, mapped.starts, mapped.ends) == ("a-b", [10, 11, 13], [11, 13, 14])


@given(st.text(alphabet="ab .\n", max_size=400), st.integers(min_value=20, max_value=60))
def test_windows_lose_no_letter(text: str, limit: int) -> None:
    pieces, _ = pieces_of(text)
    found = [(start, character) for block in blocks(pieces, limit) for start, character in zip(block.starts, block.text, strict=True)]
    assert [pair for pair in found if pair[1] in "ab"] == [(at, c) for at, c in enumerate(text) if c in "ab"]


@pytest.mark.slow
def test_large_document(extractor: SyntacticExtractor) -> None:
    sentence = "The bridge number {} was built in 1902 and repaired by the town in 1950. "
    text = "".join(sentence.format(number) for number in range(3_000)) + "<" * 10_000 + " " + "x" * 3_000_000
    [extraction] = extractor.extract([[Document(id="d", text=text)]])
    assert extraction.counts["claims"] == 6_000
    assert_exact(extraction, {"d": text})
