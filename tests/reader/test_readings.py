from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbgraph.reader.readings import SETS, QuestionFileError, find_spans, ramdocs, read_rows, readings
from arbgraph.splits import split_of
from tests.reader.sets import question_sets


@pytest.mark.parametrize(
    ("passage", "answers", "found"),
    [
        ("Paris, Texas is not Paris.", ["Paris"], ["Paris", "Paris"]),
        ("Parisian life", ["Paris"], []),
        ("It has 4,411 people and 411 cows.", ["411"], ["411"]),
        ("On April 6 , 1917 it began.", ["April 6, 1917"], ["April 6 , 1917"]),
        ("a CONVENTION of fans", ["A convention"], ["CONVENTION"]),
        ("New York City", ["New York", "New York City"], ["New York City"]),
        ("costs $34,753 now", ["$34,753"], ["$34,753"]),
        ("nothing", ["", "..."], []),
    ],
)
def test_spans_are_whole_words_whatever_the_spacing(passage: str, answers: list[str], found: list[str]) -> None:
    assert [passage[start:end] for start, end in find_spans(passage, answers)] == found


@given(st.text(max_size=60), st.lists(st.text(max_size=8), max_size=3))
def test_spans_never_overlap_and_lie_inside(passage: str, answers: list[str]) -> None:
    spans = find_spans(passage, answers)
    assert all(0 <= start < end <= len(passage) for start, end in spans)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return question_sets(tmp_path)


def test_parts_share_no_question_and_every_answer_stands_in_its_passage(root: Path) -> None:
    questions = {}
    for part in ("train", "dev", "test"):
        found, _ = readings(root, part)
        rows = [reading for some in found.values() for reading in some]
        assert rows
        assert all(split_of(one.question) == part for one in rows)
        for one in rows:
            assert set(one.answers) <= {"1889", "1901"}
            assert all(one.passage[start:end] in ("1889", "1901") for start, end in one.spans)
        questions[part] = {one.question for one in rows}
    assert not questions["train"] & questions["test"]
    assert not questions["dev"] & questions["test"]
    assert not questions["train"] & questions["dev"]


def test_a_false_document_teaches_what_it_says(root: Path) -> None:
    found, _ = readings(root, "train")
    false = [one for one in found["poisonedrag/nq"] if "they say" in one.passage]
    assert false
    assert all(one.answers == ["1901"] for one in false)


def test_a_whole_training_set_is_never_measured(root: Path) -> None:
    for one in SETS:
        if one.whole:
            assert not readings(root, "test", [one])[0][one.name]
            assert readings(root, "train", [one])[0][one.name]


def test_ramdocs_keeps_to_its_split_and_counts_what_it_loses(root: Path) -> None:
    dev, lost = ramdocs(root, "dev")
    assert [one.answers for one in dev] == [["1812"], []]
    assert lost == 1
    assert len(ramdocs(root, "test")[0]) == 6


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.jsonl.gz", "wt", encoding="utf-8") as stream:
        stream.write("{}\n{\n")
    with pytest.raises(QuestionFileError, match=r"a\.jsonl\.gz:2: not JSON"):
        read_rows(tmp_path / "a.jsonl.gz")
    with pytest.raises(QuestionFileError, match="no such file"):
        read_rows(tmp_path / "b.jsonl.gz")
