"""Extraction through a scripted chat model: chunks, offsets, overlap, failures, halving, order."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbgraph.chat import Reply
from arbgraph.extraction.generative import GenerativeExtractor
from arbgraph.schema import Document, Failed
from tests.chat.support import ScriptedChat, block

SENTENCES = [f"Lake number {n} is {n * 7 + 3} metres deep." for n in range(12)]
LONG = Document(id="lakes", text=" ".join(SENTENCES), title="Lakes", source="Atlas", published="2011-05")


def sentences_of(text):
    return [s for s in re.findall(r"[^.]+\.", text) if s.strip()]


def quoting(request):
    """A model that copies every sentence of the passage."""
    return {"claims": [{"claim": s.strip(), "evidence": s.strip()} for s in sentences_of(block(request.messages, "passage"))]}


def extractor(script, **options):
    return GenerativeExtractor(ScriptedChat(script), **options)


def test_every_fact_is_extracted_once_with_exact_offsets():
    reader = extractor(quoting, chunk_tokens=40, before_tokens=20)
    (found,) = reader.extract([[LONG]])
    assert [claim.text for claim in found.claims] == SENTENCES
    assert found.counts["chunks"] > 3
    assert found.failures == ()
    for claim in found.claims:
        (mention,) = claim.mentions
        assert LONG.text[mention.start : mention.end] == mention.quote == claim.text


def test_passages_cover_the_document_without_overlap_and_stay_within_the_budget():
    reader = extractor(quoting, chunk_tokens=40, before_tokens=20)
    chunks = reader.chunks(LONG)
    assert "".join(LONG.text[slice(*chunk.span)] for chunk in chunks).replace(" ", "") == LONG.text.replace(" ", "")
    for chunk in chunks:
        assert reader.chat.count_tokens(LONG.text[slice(*chunk.span)]) <= 40
        assert reader.chat.count_tokens(LONG.text[slice(*chunk.before)]) <= 20
        assert chunk.before[1] <= chunk.span[0]
    assert chunks[0].before[0] == chunks[0].before[1]
    assert all(chunk.before[0] < chunk.before[1] for chunk in chunks[1:])


@settings(max_examples=60)
@given(st.text(min_size=1, max_size=400).filter(lambda text: text.strip()), st.integers(1, 30), st.integers(0, 20))
def test_any_text_is_covered_within_any_budget(text, chunk_tokens, before_tokens):
    reader = extractor(quoting, chunk_tokens=chunk_tokens, before_tokens=before_tokens)
    chunks = reader.chunks(Document(id="d", text=text))
    end = 0
    for chunk in chunks:
        start, stop = chunk.span
        assert end <= start < stop
        # One character may cost more than the smallest budget; nothing can be cut below it.
        assert reader.chat.count_tokens(text[start:stop]) <= max(chunk_tokens, 2)
        end = stop


def test_titles_sources_and_dates_are_shown():
    reader = extractor(quoting)
    reader.extract([[LONG]])
    (request,) = reader.chat.asked
    assert re.search(r'<passage-[0-9a-f]+ title="Lakes" source="Atlas" date="2011-05-01">', request.messages.turns[1].content)


def test_claims_read_from_the_text_before_are_kept_only_when_they_are_news():
    document = Document(id="d", text="Alba lake is deep. Its water is cold. Its shore is steep.")

    def script(request):
        claims = quoting(request)["claims"]
        if "Alba" in block(request.messages, "passage"):
            return {"claims": []}  # the first chunk misses its facts
        before = sentences_of(block(request.messages, "before"))
        return {"claims": [*claims, *({"claim": f"Seen again: {s.strip()}", "evidence": s.strip()} for s in before)]}

    (found,) = extractor(script, chunk_tokens=8, before_tokens=8).extract([[document]])
    assert [claim.text for claim in found.claims] == ["Seen again: Alba lake is deep.", "Its water is cold.", "Its shore is steep."]
    assert found.counts["overlap_repeats"] == 1


def test_quotes_that_are_not_in_the_document_are_counted_and_dropped():
    def script(request):
        return {
            "claims": [
                {"claim": "Lake 0 is deep.", "evidence": "as everybody knows, the lake has no bottom at all"},
                {"claim": "Lake number 1 is 10 metres deep.", "evidence": "lake number 1 is 10 metres  deep"},
                {"claim": " . ", "evidence": SENTENCES[0]},
                {"claim": "so " * 81, "evidence": SENTENCES[0]},
                {"claim": "Lake number 1 is 10 metres deep.", "evidence": SENTENCES[1][:-1]},
            ]
        }

    (found,) = extractor(script).extract([[LONG]])
    assert [claim.text for claim in found.claims] == ["Lake number 1 is 10 metres deep."]
    assert found.claims[0].mentions[0].quote == "Lake number 1 is 10 metres deep"
    counts = {name: found.counts[name] for name in ("unlocated_quotes", "dropped_empty", "dropped_too_long", "dropped_duplicate")}
    assert counts == {"unlocated_quotes": 1, "dropped_empty": 1, "dropped_too_long": 1, "dropped_duplicate": 1}


def test_one_statement_in_several_places_is_one_claim_with_several_mentions():
    document = Document(id="d", text="Alba is deep. It rained. Alba is deep, they say.")

    def script(request):
        return {"claims": [{"claim": "Alba is deep.", "evidence": e} for e in ("Alba is deep.", "Alba is deep, they say")]}

    (found,) = extractor(script).extract([[document]])
    (claim,) = found.claims
    assert [(m.start, m.end) for m in claim.mentions] == [(0, 13), (25, 47)]


def test_a_chunk_that_fails_is_named_and_the_others_are_kept():
    def script(request):
        return "no json" if "Lake number 0" in block(request.messages, "passage") else quoting(request)

    other = Document(id="other", text="Mount Alba is high.")
    found, alone = extractor(script, chunk_tokens=40).extract([[LONG, other], [other]])
    assert found.counts["chunks_failed"] == 1
    assert {claim.mentions[0].document_id for claim in found.claims} == {"lakes", "other"}
    (failure,) = found.failures
    assert failure.stage == "extraction"
    assert re.match(r"document 'lakes', characters 0 to \d+: malformed", failure.reason)
    assert alone.failures == ()


def test_a_document_that_yields_nothing_is_listed():
    (found,) = extractor(lambda request: {"claims": []}).extract([[LONG]])
    assert found.claims == ()
    assert found.counts["documents_without_claims"] == 1
    assert found.failures == (Failed(stage="extraction", reason="document 'lakes' yields no claim", raw=LONG.text[:200]),)


@pytest.mark.parametrize("text", ["\u200b", "...", "--- *** ---\n\u2028"])
def test_a_document_without_words_costs_no_call_and_is_listed(text):
    reader = extractor(lambda request: pytest.fail("nothing to read"))
    (found,) = reader.extract([[Document(id="d", text=text)]])
    assert found.claims == ()
    assert found.counts["documents_without_claims"] == 1


def test_a_chunk_whose_reply_is_too_long_is_halved_until_it_fits():
    def script(request):
        passage = sentences_of(block(request.messages, "passage"))
        return quoting(request) if len(passage) <= 3 else Reply('{"claims": [{"cl', "length", 10, request.max_tokens)

    reader = extractor(script, max_tokens=64)
    (found,) = reader.extract([[LONG]])
    assert [claim.text for claim in found.claims] == SENTENCES
    assert found.counts["chunks_halved"] == 3
    assert found.failures == ()
    (found,) = extractor(lambda request: Reply("{", "length"), max_tokens=64).extract([[Document(id="d", text="Alba is deep.")]])
    assert "truncated" in found.failures[0].reason


def test_a_reply_may_be_a_few_times_as_long_as_its_passage():
    reader = extractor(quoting)
    short = Document(id="a", text="Alba is deep.")  # 5 tokens of 3 bytes: 128 + 4 * 5, up to the next 256
    long = Document(id="b", text="Alba is deep. " * 80)  # 374 tokens: more than the most that is allowed
    reader.extract([[short, long]])
    assert [request.max_tokens for request in reader.chat.asked] == [256, 1024]


def test_the_result_does_not_depend_on_order_or_batch():
    documents = [LONG, Document(id="a", text="Alba is deep."), Document(id="b", text="Alba is deep.")]
    together = extractor(quoting, chunk_tokens=40).extract([documents, documents[::-1], []])
    alone = extractor(quoting, chunk_tokens=40).extract([documents])
    assert together[0] == together[1] == alone[0]
    assert together[2].claims == ()


def test_equal_documents_cost_one_call():
    reader = extractor(quoting)
    reader.extract([[Document(id="a", text="Alba is deep."), Document(id="b", text="Alba is deep.")]])
    assert len(reader.chat.asked) == 1


@pytest.mark.parametrize(
    "text", ["‏البحيرة عميقة. المياه باردة.", "湖很深。水很冷。", "Озеро глубокое. 🦆 Вода холодная.", "a\u200bb\ud800 c. x"]
)
def test_other_scripts_and_broken_text_keep_exact_offsets(text):
    document = Document(id="d", text=text)

    def script(request):
        passage = block(request.messages, "passage")
        return {"claims": [{"claim": "It is stated.", "evidence": passage}]}

    (found,) = extractor(script).extract([[document]])
    for claim in found.claims:
        for mention in claim.mentions:
            assert text[mention.start : mention.end] == mention.quote
    assert len(found.claims) == 1
