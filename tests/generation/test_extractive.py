"""The extractive writer on arbitrations made by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbgraph.generation import ExtractiveWriter
from arbgraph.generation.extractive import NOTHING_LEFT
from arbgraph.schema import ArbitratedClaim, Arbitration, Decision, Mention, Relation, RelationLabel


def claim(i, text, status="validated", relevance=0.8, credibility=0.5, documents=("d1",), sources=1):
    mentions = tuple(Mention(document_id=d, start=0, end=1) for d in documents)
    return ArbitratedClaim(id=i, text=text, mentions=mentions, status=status, credibility=credibility, relevance=relevance, sources=sources)


def relation(a, b, label, similarity=0.7):
    rest = {name: 0.1 for name in RelationLabel if name != label}
    return Relation(a=a, b=b, label=RelationLabel(label), probabilities={RelationLabel(label): 0.8, **rest}, similarity=similarity)


def write(claims, relations=(), decisions=(), **options):
    arbitration = Arbitration(id="q", query="Q?", claims=tuple(claims), relations=tuple(relations), decisions=tuple(decisions))
    return ExtractiveWriter(**options).write([arbitration])[0]


def sentences(answer):
    return [answer.text[c.start : c.end] for c in answer.citations]


def test_quotes_the_most_relevant_claims_first_with_their_documents():
    answer = write([claim("a", "Second.", relevance=0.7, documents=("d2",)), claim("b", "First.", relevance=0.9, documents=("d1", "d3"))])
    assert answer.text == "First. Second."
    assert sentences(answer) == ["First.", "Second."]
    assert [(c.claim_ids, c.document_ids) for c in answer.citations] == [(("b",), ("d1", "d3")), (("a",), ("d2",))]


def test_a_supporting_claim_joins_the_citation_instead_of_being_repeated():
    claims = [claim("a", "It opened in 1932.", relevance=0.9), claim("b", "1932 saw it open.", relevance=0.8, documents=("d2",))]
    answer = write(claims, [relation("a", "b", "support")])
    assert answer.text == "It opened in 1932."
    assert answer.citations[0].claim_ids == ("a", "b")
    assert answer.citations[0].document_ids == ("d1", "d2")


def test_near_repetitions_join_but_contradictions_never_do():
    claims = [claim("a", "A.", relevance=0.9), claim("b", "B.", relevance=0.9)]
    assert len(write(claims, [relation("a", "b", "neutral", 0.9)]).citations) == 1
    assert len(write(claims, [relation("a", "b", "contradict", 0.99)]).citations) == 2


def test_claims_far_below_the_best_are_left_out_and_the_number_is_bounded():
    claims = [claim(str(i), f"{i}.", relevance=0.9 - 0.01 * i) for i in range(8)] + [claim("z", "Far.", relevance=0.4)]
    assert write(claims, sentences=3).text == "0. 1. 2."
    assert "Far." not in write(claims, sentences=20).text


def test_only_validated_claims_are_quoted_and_a_rejected_rival_is_named():
    claims = [
        claim("a", "It opened in 1932.", credibility=0.8),
        claim("b", "It opened in 1923.", "suppressed", credibility=0.1, documents=("d9",)),
    ]
    claims.append(claim("c", "Bread is cheap.", "filtered", relevance=0.1))
    answer = write(claims, [relation("a", "b", "contradict")])
    assert sentences(answer) == ["It opened in 1932.", "Rejected: “It opened in 1923”."]
    assert answer.citations[1].document_ids == ("d9",)
    assert "Bread" not in answer.text


def test_an_undecided_dispute_is_stated_and_a_decided_one_is_not():
    claims = [claim("a", "It has 4 wheels."), claim("b", "It has 5 wheels.", relevance=0.7)]
    undecided = Decision(a="a", b="b", winner=None, confidence=0.6, gate=0.0, round=1)
    answer = write(claims, [relation("a", "b", "contradict")], [undecided])
    assert sentences(answer)[-1] == "Disputed and not decided: “It has 4 wheels” against “It has 5 wheels”."
    assert "Disputed" not in write(claims, [relation("a", "b", "contradict")]).text


@pytest.mark.parametrize("claims", [[], [claim("a", "X.", "suppressed")], [claim("a", "X.", "filtered")]])
def test_abstains_when_nothing_is_left(claims):
    answer = write(claims)
    assert answer.abstained
    assert answer.text == NOTHING_LEFT
    assert answer.citations == ()


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0.3, 1), st.sampled_from(["validated", "suppressed", "filtered"])), max_size=9))
def test_every_sentence_has_a_citation_and_the_spans_cover_the_text(rows):
    claims = [claim(f"c{i}", f"Claim {i}.", status, relevance, credibility) for i, (relevance, credibility, status) in enumerate(rows)]
    answer = write(claims)
    if not answer.abstained:
        assert " ".join(sentences(answer)) == answer.text
        validated = {c.id for c in claims if c.status == "validated"}
        assert all(set(c.claim_ids) <= validated and c.document_ids for c in answer.citations)
