"""A user's own file: column map, shapes of gold answers, errors that name line and column."""

from __future__ import annotations

import json
from typing import Any

import pytest

from arbgraph.io import InputError
from eval.benchmarks.base import Item
from eval.benchmarks.custom import Columns, custom
from tests.eval.answering import DATA

COLUMNS = Columns(
    question="q", documents="context.passages", gold="truth", wrong="false", document_text="body", document_label="kind"
)  # fmt: skip


def items(tmp_path, *rows: Any, columns: Columns | None = None, wanted: Any = "all") -> list[Item]:
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return custom(path, columns, wanted).load("unused")


def test_columns_are_found_by_name_and_inside_objects():
    first, second = custom(DATA / "custom/questions.jsonl", COLUMNS).load("unused")
    assert first.query.query == "When did Ostrava Hill open?"
    assert (first.gold, first.wrong) == ((("1931",),), ("1913",))
    assert sorted(first.labels.values()) == ["correct", "misinfo"]
    assert first.query.id != second.query.id


@pytest.mark.parametrize(
    ("gold", "wanted", "groups"),
    [
        ("1931", "all", (("1931",),)),
        (["1931", "1954"], "all", (("1931",), ("1954",))),
        (["1931", "MCMXXXI"], "one", (("1931", "MCMXXXI"),)),
        ([["1931", "MCMXXXI"], ["1954"]], "all", (("1931", "MCMXXXI"), ("1954",))),
        (None, "all", ()),
        ([], "one", ()),
    ],
)
def test_shapes_of_gold_answers(tmp_path, gold, wanted, groups):
    [item] = items(tmp_path, {"question": "When?", "documents": ["In 1931."], "gold": gold}, wanted=wanted)
    assert item.gold == groups


def test_documents_are_texts_or_objects_and_facts_and_reference_are_read(tmp_path):
    document = {"text": "In 1931.", "source": "County", "date": "2020-05", "label": "correct", "answer": "1931", "credibility": 0.9}
    row = {"id": 7, "question": "When?", "documents": ["In 1913.", document], "facts": ["It opened in 1931."], "reference": "In 1931."}
    [item] = items(tmp_path, row)
    assert item.query.id == "7"
    [known] = [d for d in item.query.documents if d.source == "County"]
    assert (str(known.published), item.labels[known.id], item.answers[known.id]) == ("2020-05-01", "correct", "1931")
    assert known.credibility == 0.9
    assert (item.facts, item.reference) == (("It opened in 1931.",), "In 1931.")


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"text": "q", "documents": []}, r"line 2: no column 'question' for the question; the record has text, documents"),
        ({"question": "q", "documents": "one text"}, "line 2: documents: expected a list"),
        ({"question": "q", "documents": [3]}, r"line 2: documents\.0\.text"),
        ({"question": "q", "documents": [{"text": "t", "date": "yesterday"}]}, r"line 2: documents\[0\].*not a date"),
        (
            {"question": "q", "documents": [{"text": "t", "credibility": 9}]},
            r"line 2: documents\[0\]\.credibility: .*less than",
        ),
        ({"question": 5, "documents": []}, "line 2: question"),
        ([], "line 2: expected an object"),
        ({"id": "a", "question": "q", "documents": []}, "the id 'a' is used 2 times"),
        ({"id": "b", "question": "When?", "documents": ["In 1931."]}, "'a' and 'b' are the same question with the same documents"),
    ],
)
def test_bad_records_are_refused(tmp_path, row, reason):
    with pytest.raises(InputError, match=reason):
        items(tmp_path, {"id": "a", "question": "When?", "documents": ["In 1931."]}, row)
