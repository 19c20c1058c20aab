"""Content ids, dates, validation at the door and JSON round trips."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from arbgraph.schema import (
    RELATION_LABELS,
    Answer,
    ArbitratedClaim,
    Arbitration,
    Citation,
    Claim,
    Decision,
    Document,
    Failed,
    Mention,
    Query,
    Relation,
    RelationLabel,
    SourceDocument,
    content_id,
)


def test_ids_are_content_hashes_and_do_not_change():
    """Frozen values: a change here makes stored results unreadable."""
    assert content_id("claim", "a") == "87cf9b022516d272"
    assert content_id("a", "b") != content_id("ab")
    assert Document(text="The bridge opened in 1932.").id == Document(text="The bridge opened in 1932.").id
    assert Document(text="x y").id != Document(text="x y", title="t").id


def test_claim_ids_do_not_depend_on_the_order_of_mentions():
    first, second = Mention(document_id="d", start=3, end=5, quote="xy"), Mention(document_id="c", start=0, end=2, quote="xy")
    assert Claim.of("Xy.", (first, second)) == Claim.of("Xy.", (second, first))
    assert Claim.of("Xy.", (first,)).id != Claim.of("Xy.", (second,)).id
    assert Claim.of("Xy.", (first, second)).document_ids == ("c", "d")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2011", date(2011, 1, 1)),
        ("2011-11", date(2011, 11, 1)),
        ("2011-11-19", date(2011, 11, 19)),
        ("2011-11-19T08:30:00Z", date(2011, 11, 19)),
    ],
)
def test_dates(written, read):
    assert Document(text="x", published=written).published == read


@pytest.mark.parametrize("written", ["last spring", "19.11.2011", "2011-13", "11", "2011-11-40"])
def test_a_date_that_does_not_parse_says_how_to_write_it(written):
    with pytest.raises(ValidationError, match="write YYYY, YYYY-MM or YYYY-MM-DD"):
        Document(text="x", published=written)


@pytest.mark.parametrize("credibility", [float("nan"), float("inf"), -0.1, 1.1, "high"])
def test_credibility_outside_the_unit_interval_is_refused(credibility):
    with pytest.raises(ValidationError, match="credibility"):
        Document(text="x", credibility=credibility)


@pytest.mark.parametrize("text", ["", "  \n\t "])
def test_empty_text_is_refused(text):
    with pytest.raises(ValidationError, match="text is empty"):
        Document(text=text)


def test_unknown_fields_and_changes_are_refused():
    with pytest.raises(ValidationError, match="extra"):
        Document(text="x", colour="red")
    with pytest.raises(ValidationError, match="frozen"):
        Document(text="x").text = "y"


TEXT = st.text(min_size=1, max_size=30).filter(str.strip)
UNIT = st.floats(0, 1)


@st.composite
def arbitrations(draw):
    ids = draw(st.lists(TEXT, min_size=2, max_size=4, unique=True))
    claims = tuple(
        ArbitratedClaim(
            id=i,
            text=draw(TEXT),
            mentions=(Mention(document_id="d", start=0, end=3, quote=draw(TEXT)),),
            status=draw(st.sampled_from(["validated", "suppressed", "filtered"])),
            credibility=draw(UNIT),
            relevance=draw(st.floats(-1, 1)),
            sources=draw(st.integers(0, 5)),
        )
        for i in ids
    )
    probabilities = {RelationLabel(name): draw(UNIT) for name in RELATION_LABELS}
    return Arbitration(
        id=draw(TEXT),
        query=draw(TEXT),
        claims=claims,
        relations=(Relation(a=ids[0], b=ids[1], label=RelationLabel.NEUTRAL, probabilities=probabilities, similarity=draw(UNIT)),),
        decisions=(Decision(a=ids[0], b=ids[1], winner=draw(st.sampled_from([ids[0], None])), confidence=draw(UNIT), gate=1.0, round=1),),
        answer=Answer(text="x", citations=(Citation(start=0, end=1, claim_ids=(ids[0],), document_ids=("d",)),)),
        documents=(SourceDocument(id="d", published="2011"),),
        failures=(Failed(stage="extract", reason="none"),),
        diagnostics={"rounds": 2, "extraction": {"claims": 3}},
    )


@given(arbitration=arbitrations())
def test_json_round_trips_exactly(arbitration):
    assert Arbitration.model_validate_json(arbitration.model_dump_json()) == arbitration


def test_statuses_are_sorted_by_credibility_then_relevance():
    def claim(i, credibility, relevance):
        return ArbitratedClaim(id=i, text=i, status="validated", credibility=credibility, relevance=relevance)

    arbitration = Arbitration(id="q", query="q", claims=(claim("a", 0.5, 0.1), claim("b", 0.5, 0.9), claim("c", 0.7, 0.0)))
    assert [c.id for c in arbitration.validated] == ["c", "b", "a"]
    assert arbitration.suppressed == arbitration.filtered == ()


def test_the_digest_of_a_query_ignores_order_and_sees_content():
    one, two = Document(id="1", text="one"), Document(id="2", text="two")
    digest = Query(id="q", query="?", documents=(one, two)).digest
    assert digest == Query(id="other", query="?", documents=(two, one)).digest
    assert digest != Query(id="q", query="?", documents=(one,)).digest
    assert digest != Query(id="q", query="?", documents=(one, two), claims=()).digest
