"""Readers: every accepted shape of input, and a clear refusal of everything else."""

from __future__ import annotations

import gzip
import io
import json
import sys

import pytest

from arbgraph.io import BadRecord, InputError, open_text, parse_query, read_pairs, read_queries, whole_file, write_json_lines
from arbgraph.schema import Query

GOOD = {"id": "q1", "query": "When did it open?", "documents": [{"id": "d1", "text": "It opened in 1932.", "title": "The bridge"}]}


def write(path, data):
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def only(path):
    (item,) = read_queries(path)
    return item


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.json", json.dumps(GOOD)),
        ("a.json", json.dumps([GOOD], indent=2)),
        ("a.json", "\ufeff" + json.dumps(GOOD)),
        ("a.jsonl", json.dumps(GOOD) + "\n\n"),
        ("a.jsonl", json.dumps(GOOD) + "\r\n"),
        ("a.jsonl.gz", gzip.compress(json.dumps(GOOD).encode())),
        ("a.json.gz", gzip.compress(json.dumps([GOOD]).encode())),
        ("noextension", json.dumps(GOOD, indent=1)),
    ],
)
def test_every_accepted_shape(tmp_path, name, data):
    query = only(write(tmp_path / name, data))
    assert isinstance(query, Query)
    assert (query.id, query.query, query.documents[0].title, query.claims) == ("q1", "When did it open?", "The bridge", None)


def test_standard_input_takes_json_lines_and_json(monkeypatch):
    for data in (json.dumps(GOOD), json.dumps(GOOD) + "\n" + json.dumps({**GOOD, "id": "q2"}), json.dumps([GOOD], indent=1)):
        monkeypatch.setattr(sys, "stdin", type("In", (), {"buffer": io.BytesIO(data.encode())})())
        assert next(iter(read_queries("-"))).id == "q1"


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.json", "", "is empty"),
        ("a.jsonl", "  \n ", "is empty"),
        ("a.json", '{"query": "x",\n "documents": [}', "line 2, column 16: broken JSON"),
        ("a.json", b'{"query": "x",\n "documents": "\xff"}', "line 2: not UTF-8"),
        ("a.json.gz", gzip.compress(b"{}" * 500)[:-10], "damaged gzip"),
        ("a.json.gz", b"{}", "holds no gzip data"),
        ("a.json", "[" * 200_000, "nested too deeply"),
    ],
)
def test_a_file_that_cannot_be_used_at_all(tmp_path, name, data, message):
    path = write(tmp_path / name, data)
    with pytest.raises(InputError) as caught:
        list(read_queries(path))
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_missing_file_and_a_folder(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        list(read_queries(tmp_path / "nope.json"))
    with pytest.raises(InputError, match="cannot be read"):
        list(read_queries(tmp_path))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"query": None}, '"query" (or "question") is missing'),
        ({"query": "  "}, '"query" (or "question") is missing'),
        ({"documents": None}, '"documents" is missing'),
        ({"documents": {"text": "x"}}, '"documents" is missing or not a list'),
        ({"documents": ["x"]}, "documents[0]: expected an object"),
        ({"documents": [{"id": "d"}]}, "documents[0].text: Field required"),
        ({"documents": [{"id": "d", "text": "  "}]}, "documents[0]: text is empty"),
        ({"documents": [{"id": "d", "text": 5}]}, "documents[0].text"),
        ({"documents": [{"id": "d", "text": "x"}, {"id": "d", "text": "y"}]}, "the id 'd' is used 2 times"),
        ({"documents": [{"text": "x", "credibility": float("nan")}]}, "documents[0].credibility"),
        ({"documents": [{"text": "x", "credibility": 3}]}, "documents[0].credibility"),
        ({"documents": [{"text": "x", "published": "soon"}]}, "documents[0].published: 'soon' is not a date"),
        ({"claims": "x"}, "claims: expected a list"),
        ({"claims": [{"id": "c"}]}, "claims[0]: expected an object"),
        ({"claims": [{"id": "c", "text": "x", "document_ids": "d1"}]}, "claims[0].document_ids: expected a list"),
        ({"claims": [{"id": "c", "text": "x", "document_ids": ["d9"]}]}, "no document has the id 'd9'"),
        ({"claims": [{"id": "c", "text": "x"}, {"id": "c", "text": "y"}]}, "claims: the id 'c' is used 2 times"),
    ],
)
def test_bad_records_name_the_field(change, message):
    item = parse_query({**GOOD, **change}, "f.jsonl: line 3")
    assert isinstance(item, BadRecord)
    assert message in str(item)
    assert str(item).startswith("f.jsonl: line 3: ")


def test_a_record_that_is_no_object():
    item = parse_query([1], "f: line 1")
    assert isinstance(item, BadRecord)
    assert "expected an object, found list" in item.reason


def test_a_bad_line_does_not_hide_the_others(tmp_path):
    lines = [json.dumps(GOOD).encode(), b'{"query": ', b"\xff\xfe", json.dumps({**GOOD, "id": "q2"}).encode(), json.dumps(GOOD).encode()]
    items = list(read_queries(write(tmp_path / "a.jsonl", b"\n".join(lines))))
    assert [isinstance(item, Query) for item in items] == [True, False, False, True, False]
    assert "line 2: broken JSON at column" in str(items[1])
    assert "line 3: not UTF-8" in str(items[2])
    assert "'q1' was already used in" in str(items[4])


def test_question_is_an_alias_and_unknown_keys_are_ignored():
    record = {"question": "Q?", "documents": [{"text": "x", "label": "misinfo", "answer": "y", "source": None}], "gold_answers": ["y"]}
    item = parse_query(record, "f")
    assert isinstance(item, Query)
    assert item.query == "Q?"
    assert item.documents[0].metadata == {}


def test_ids_are_made_from_content_and_equal_documents_are_kept_apart():
    record = {"query": "Q?", "documents": [{"text": "same"}, {"text": "same"}, {"text": "other"}]}
    first, second = parse_query(record, "f"), parse_query({**record, "documents": record["documents"][::-1]}, "f")
    assert isinstance(first, Query)
    assert isinstance(second, Query)
    assert first.id == second.id
    assert len({document.id for document in first.documents}) == 3
    assert {document.id for document in first.documents} == {document.id for document in second.documents}


def test_given_claims():
    item = parse_query({**GOOD, "claims": [{"id": 7, "text": " It  opened.", "document_ids": ["d1"]}, {"text": "No source."}]}, "f")
    assert isinstance(item, Query)
    assert item.claims is not None
    assert next((c.id, c.text, c.document_ids) for c in item.claims) == ("7", "It opened.", ("d1",))
    assert item.claims[1].document_ids == ()


def test_pairs_in_both_spellings(tmp_path):
    rows = [
        {"claim_a": "a", "claim_b": "b"},
        {"premise": "p", "hypothesis": "h", "x": 1},
        {"claim_a": "a"},
        {"premise": "", "hypothesis": "h"},
        4,
    ]
    items = list(read_pairs(write(tmp_path / "p.jsonl", "\n".join(map(json.dumps, rows)))))
    assert items[0] == (rows[0], ("a", "b"))
    assert items[1] == (rows[1], ("p", "h"))
    assert all(isinstance(item, BadRecord) for item in items[2:])


def test_nothing_half_written(tmp_path):
    target = tmp_path / "out" / "x.jsonl"

    def rows():
        yield {"a": 1}
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        write_json_lines(target, rows())
    assert list(target.parent.iterdir()) == []
    write_json_lines(target, [{"ä": 1}])
    assert target.read_text(encoding="utf-8") == '{"ä": 1}\n'


def test_gzip_output_has_no_time_stamp(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        with whole_file(tmp_path / name / "x.jsonl.gz") as stream:
            stream.write("x\n")
    assert (tmp_path / "a" / "x.jsonl.gz").read_bytes() == (tmp_path / "b" / "x.jsonl.gz").read_bytes()
    with open_text(tmp_path / "a" / "x.jsonl.gz", "r", compressed=True) as stream:
        assert stream.read() == "x\n"


def test_an_unwritable_place_is_named(tmp_path):
    write(tmp_path / "file", "x")
    with pytest.raises(InputError, match="cannot be written"):
        write_json_lines(tmp_path / "file" / "x.jsonl", [])
