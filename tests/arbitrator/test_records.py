"""Arbitration records: reading, writing, what an arbitrator may see."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbgraph.arbitrator.cases import Statement
from arbgraph.arbitrator.records import WINNERS, ArbitrationRecord, outcomes, read_arbitration_records, write_arbitration_records
from arbgraph.chat.prompts import DECISION
from arbgraph.io import InputError

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
statements = st.builds(Statement, text=texts, source=texts, date=texts, group=st.none() | st.integers(0, 5))
contexts = st.lists(statements, max_size=3).map(tuple)
records = st.builds(
    ArbitrationRecord,
    query=texts,
    claim_a=texts,
    claim_b=texts,
    context_a=contexts,
    context_b=contexts,
    winner=st.sampled_from(WINNERS),
    type=texts,
)

RECORD = {"query": "How long is it?", "claim_a": "It is 5 m.", "claim_b": "It is 7 m.", "context_a": ["Five metres."], "winner": "a"}


@given(st.lists(records, min_size=1, max_size=4))
def test_what_is_written_is_read_back(tmp_path_factory, made):
    path = tmp_path_factory.mktemp("records") / "records.jsonl.gz"
    write_arbitration_records(path, made)
    assert read_arbitration_records(path) == made


@given(records)
def test_swapping_twice_changes_nothing_and_once_mirrors_the_verdict(record):
    swapped = record.swapped()
    assert swapped.swapped() == record
    assert swapped.case == record.case.swapped()
    assert swapped.key == record.key
    assert outcomes([record, swapped]).tolist() in ([0, 1], [1, 0], [2, 2])


def test_a_statement_may_be_a_string(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps(RECORD) + "\n", encoding="utf-8")
    (record,) = read_arbitration_records(path)
    assert record.context_a == (Statement(text="Five metres."),)
    assert record.context_b == ()


def test_verdict_type_and_origin_are_not_in_the_prompt():
    a = ArbitrationRecord(query="q", claim_a="x", claim_b="y", winner="a", type="numeric", origin="this set")
    b = ArbitrationRecord(query="q", claim_a="x", claim_b="y", winner="unknown", type="temporal")
    assert a.case.messages(DECISION) == b.case.messages(DECISION)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"winner": "A"}, "winner"),
        ({"winner": None}, "winner"),
        ({"claim_b": ""}, "claim_b"),
        ({"context_b": "one text"}, "context_b"),
        ({"context_b": [{"title": "no text"}]}, "context_b.0.text"),
        ({"verdict": "a"}, "verdict"),
    ],
)
def test_a_faulty_record_is_named_with_its_line_and_field(tmp_path, changed, named):
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps(RECORD) + "\n" + json.dumps(RECORD | changed) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=rf"line 2: {named}: .*winner is a, b or unknown"):
        read_arbitration_records(path)


def test_a_broken_line_is_an_error_not_a_gap(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps(RECORD) + "\n{\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 2: broken JSON"):
        read_arbitration_records(path)
