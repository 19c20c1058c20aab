"""Reading replies on the way to an answer: lenient about form, strict about what counts as agreement."""

from __future__ import annotations

from collections import Counter

import pytest

from arbgraph.chat.base import Completion
from arbgraph.schema import Document, Failed
from arbgraph.systems.readings import contains, listed, normal_form, same_answers, show_each, usable_answers, usable_text

FAILED = Failed(stage="s", reason="r")


def completion(text: str, failure: Failed | None = None, finish: str | None = "stop") -> Completion:
    return Completion(text, None, failure, finish, 1, 1, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("got", "text", "counted"),
    [
        (completion(" fine "), "fine", {}),
        (completion("half a", FAILED, "length"), "half a", {"replies_cut": 1}),
        (completion("", FAILED, "length"), None, {"replies_failed": 1}),
        (completion("no", FAILED, "refusal"), None, {"replies_failed": 1}),
        (completion("", FAILED, None), None, {"replies_failed": 1}),
    ],
)
def test_a_cut_reply_is_usable_and_a_failed_one_is_not(got, text, counted):
    counts: Counter[str] = Counter()
    assert usable_text(got, counts) == text
    assert dict(counts) == counted


def test_answers_are_counted_by_how_they_could_be_read():
    counts: Counter[str] = Counter()
    assert usable_answers("Answer: 1975", counts) == ("1975",)
    assert usable_answers("Answer: unknown", counts) == ()
    assert usable_answers("First line.\nSecond line.", counts) is None
    assert usable_answers(None, counts) is None
    assert counts == {"replies_unreadable": 1, "replies_unknown": 1}


def test_normal_forms():
    assert normal_form("The  Rolling-Stones!") == "rollingstones"
    assert normal_form("«Ein» Haus。") == "ein haus"
    assert normal_form("A") == "a"
    assert normal_form("１９７５") == "1975"


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        (("1975",), ("1975",), True),
        (("Paris",), ("Paris, France",), True),
        (("1",), ("1975",), False),  # words, not characters
        (("1975",), ("1976",), False),
        ((), (), True),
        ((), ("1975",), False),
        (("1975",), (), False),
        (None, None, False),  # two failures are no agreement
        (None, ("1975",), False),
        (("1975",), None, False),
        (("1975", "1980"), ("1980", "1975"), True),
        (("1975",), ("1975", "1980"), True),  # the one answer was kept, another joined it
        (("1975", "1990"), ("1975", "1980"), False),
    ],
)
def test_when_two_replies_give_the_same_answers(before, after, same):
    assert same_answers(before, after) is same


def test_nothing_is_contained_in_anything():
    assert not contains("1975", "")
    assert not contains("", "")


def test_listed_answers_are_cited():
    answer = listed(["1975", "1980"], [["a", "b"], ["c"]])
    assert answer.text == "1975; 1980"
    assert [answer.text[c.start : c.end] for c in answer.citations] == ["1975", "1980"]
    assert [c.document_ids for c in answer.citations] == [("a", "b"), ("c",)]
    assert listed([], []).abstained


def test_documents_shown_one_by_one_have_a_budget_each():
    documents = [Document(text="one two three"), Document(text="a b c d e f")]
    shown, counts = show_each(documents, 4, lambda text: len(text.split()))
    assert [block.about["number"] for _, block in shown] == ["1", "2"]
    assert [block.text for _, block in shown] == ["one two three", "a b c [...]"]
    assert counts == {"documents_cut": 1, "documents_dropped": 0}
