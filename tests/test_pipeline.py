"""The whole system on real models: the shipped examples, order independence, batch = single, given claims."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch

from arbgraph.construction import publication_year, specificity
from arbgraph.io import read_queries
from arbgraph.pipeline import ArbGraph
from arbgraph.schema import Arbitration, Claim, Document, Mention, Query
from arbgraph.settings import load_settings

EXAMPLES = Path(__file__).parent.parent / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.json"))


def query(name: str) -> Query:
    (item,) = read_queries(EXAMPLES / f"{name}.json")
    assert isinstance(item, Query)
    return item


@pytest.fixture(scope="module")
def arbitrated(system) -> dict[str, Arbitration]:
    """Every example, arbitrated in one batch."""
    return dict(zip(NAMES, system.arbitrate([query(name) for name in NAMES]), strict=True))


def texts(claims) -> str:
    return " ".join(claim.text for claim in claims)


def claim_with(arbitration: Arbitration, *words: str):
    return next(c for c in arbitration.claims if all(word in c.text for word in words))


def label_between(arbitration: Arbitration, first, second) -> str | None:
    ids = {first.id, second.id}
    return next((r.label.value for r in arbitration.relations if {r.a, r.b} == ids), None)


def test_east_asia_summit_membership_survives_and_the_homonym_is_filtered(arbitrated):
    arbitration = arbitrated["east_asia_summit"]
    assert all(c.status == "validated" for c in arbitration.claims if "joined" in c.text and "2011" in c.text)
    assert claim_with(arbitration, "joined", "2011").status == "validated"
    for claim in arbitration.claims:
        if "alert-system" in claim.document_ids:
            assert claim.status == "filtered", claim.text
    first = arbitration.answer.citations[0]
    assert "joined the East Asia Summit in 2011" in arbitration.answer.text[first.start : first.end]


def test_east_asia_summit_a_skipped_meeting_does_not_contradict_membership(arbitrated):
    arbitration = arbitrated["east_asia_summit"]
    skipped = claim_with(arbitration, "skipped")
    membership = [c for c in arbitration.claims if ("joined" in c.text and "2011" in c.text) or "full member" in c.text]
    assert len(membership) >= 2
    for claim in membership:
        assert label_between(arbitration, claim, skipped) in ("neutral", "support", None)
    assert skipped.status == "validated"


def test_copies_of_a_lie_count_once(arbitrated):
    arbitration = arbitrated["copied_misinformation"]
    groups = {d.id: d.source_group for d in arbitration.documents}
    assert groups["quiz-site"] == groups["content-farm"] == groups["forum"]
    assert len({groups[d] for d in ("patent-office", "museum", "quiz-site")}) == 3
    lie = [c for c in arbitration.claims if "Harcastle" in c.text and "invented" in c.text]
    assert all(c.sources == 1 for c in lie)
    assert "Ingrid Solheim" in texts(arbitration.validated)


def test_retellings_count_once_where_the_settings_say_so(system):
    """Three tellings of one text and an independent one: four sources by word runs, two with retellings; copies keep their agreement."""
    told = [
        "Pier Hall in Ashby was opened in 1971 by Ann Lee, holds 900 seats and cost two million pounds, says the county guide.",
        "Opened by Ann Lee, the Pier Hall of Ashby dates from 1971; it cost two million pounds and has 900 seats, the county guide says.",
        "The county guide says that the 900 seats of Ashby's Pier Hall, which Ann Lee opened in 1971, cost two million pounds.",
        "The Pier Hall opened in 1968. A ticket for the first concert hangs in the museum.",
    ]
    asked = Query(id="hall", query="When did Pier Hall open?", documents=tuple(Document(id=f"d{n}", text=t) for n, t in enumerate(told)))
    retelling = ArbGraph(load_settings(system.settings, retold_cosine=0.75), encoder=system.encoder, verifier=system.verifier)
    (apart,), _, _ = system.construct([asked])
    (joined,), _, _ = retelling.construct([asked])
    assert apart.document_group.unique().numel() == 4
    groups = joined.document_group.tolist()
    assert groups[0] == groups[1] == groups[2] != groups[3]
    assert joined.num_sources == 2
    assert torch.equal(apart.agreement, joined.agreement)
    shuffled = asked.model_copy(update={"documents": asked.documents[::-1]})
    (first,), (again,) = retelling.arbitrate([asked]), retelling.arbitrate([shuffled])
    assert first.model_dump_json() == again.model_dump_json()


def test_both_towns_of_one_name_are_answered(arbitrated):
    answer = arbitrated["two_right_answers"].answer.text
    assert "Canada" in answer
    assert "New Zealand" in answer


@pytest.mark.parametrize("name", NAMES)
def test_the_result_does_not_depend_on_the_order_of_documents(system, arbitrated, name):
    original = query(name)
    for seed in range(2):
        documents = list(original.documents)
        random.Random(seed).shuffle(documents)
        shuffled = original.model_copy(update={"documents": tuple(documents)})
        assert system.arbitrate([shuffled])[0].model_dump_json() == arbitrated[name].model_dump_json()


@pytest.mark.parametrize("name", NAMES)
def test_a_query_alone_equals_itself_inside_a_batch(system, arbitrated, name):
    assert system.arbitrate([query(name)])[0].model_dump_json() == arbitrated[name].model_dump_json()


@pytest.mark.parametrize("name", NAMES)
def test_offsets_are_exact_and_references_resolve(arbitrated, name):
    arbitration, documents = arbitrated[name], {d.id: d.text for d in query(name).documents}
    ids = [claim.id for claim in arbitration.claims]
    assert ids == sorted(set(ids))
    for claim in arbitration.claims:
        for mention in claim.mentions:
            assert documents[mention.document_id][mention.start : mention.end] == mention.quote != ""
    for relation in arbitration.relations:
        assert relation.a < relation.b
        assert {relation.a, relation.b} <= set(ids)
    for decision in arbitration.decisions:
        assert decision.winner in (decision.a, decision.b, None)
    assert Arbitration.model_validate_json(arbitration.model_dump_json()) == arbitration


def test_diagnostics_add_up(arbitrated):
    for name, arbitration in arbitrated.items():
        counts = arbitration.diagnostics
        assert counts["documents"] == len(query(name).documents)
        assert counts["claims"] == len(arbitration.claims) == counts["extraction"]["claims"] - counts["merged"]
        assert counts["claims_filtered"] == len(arbitration.filtered)
        assert counts["candidate_pairs"] == len(arbitration.relations)
        asked = {(d.a, d.b) for d in arbitration.decisions}
        assert counts["arbitrator_calls"] == len(asked)


class FixedVerifier:
    """Says contradict when exactly one text holds 'not', support otherwise."""

    def describe(self):
        return {"name": "fixed"}

    def relate(self, pairs):
        rows = [[0.1, 0.8, 0.1] if (" not " in a) != (" not " in b) else [0.8, 0.1, 0.1] for a, b in pairs]
        return torch.tensor(rows, dtype=torch.float32).view(-1, 3)


def test_given_claims_stand_as_they_are_and_two_sources_beat_one(encoder):
    documents = tuple(Document(id=f"d{i}", text=f"Document {i} about lake {i}.") for i in range(3))

    def claim(i, text, *ids):
        return Claim(id=i, text=text, mentions=tuple(Mention(document_id=d, start=0, end=0) for d in ids))

    claims = (claim("yes", "The lake is deep.", "d0", "d1"), claim("no", "The lake is not deep.", "d2"))
    made = Query(id="q", query="Is the lake deep?", documents=documents, claims=claims)
    arbitration = ArbGraph("default", encoder=encoder, verifier=FixedVerifier()).arbitrate([made])[0]
    assert {c.id: c.status for c in arbitration.claims} == {"yes": "validated", "no": "suppressed"}
    assert arbitration.decisions[0].winner == "yes"
    assert arbitration.answer.text.startswith("The lake is deep.")
    assert "Rejected" in arbitration.answer.text


def test_nothing_at_all(system):
    assert system.arbitrate([]) == []
    arbitration = system.arbitrate([Query(id="q", query="Who?", documents=())])[0]
    assert arbitration.claims == ()
    assert arbitration.answer.abstained


@pytest.mark.parametrize(
    ("fields", "year"),
    [
        ({"published": "2011-07-02"}, 2011 + 182 / 366),
        ({"source": "Road atlas index, 2001"}, 2001.0),
        ({"title": "Census 2021: winners and losers"}, 2021.0),
        ({"source": "Daily, 1999", "title": "Census 2021"}, 1999.0),
        ({"title": "Between 1990 and 2000"}, None),
        ({"title": "Table of 2,001 stars and 1999.5 moons, no. 19876"}, None),
        ({}, None),
    ],
)
def test_publication_year(fields, year):
    assert publication_year(Document(text="x", **fields)) == (pytest.approx(year) if year else None)


def test_specificity_counts_checkable_details():
    assert specificity("It was a good year.") == 0
    assert specificity("Ingrid Solheim sold 40 lamps in 1893.") >= 3
