"""Fields, labels and lists in replies."""

from __future__ import annotations

import pytest

from arbgraph.systems.forms import Field, read_field, read_label, read_list, same_set

NAMES = ("Search", "Finish")


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("Search: the old bridge", Field("Search", "the old bridge")),
        ("Thought: hm\nAction: Search[old bridge]\nObservation: made up\nAction: Finish[Paris]", Field("Search", "old bridge")),
        ("Action 2: finish[Paris; Lyon]", Field("Finish", "Paris; Lyon")),
        ("**Finish:** **Paris**", Field("Finish", "Paris")),
        ("1. search[x", Field("Search", "x")),
        ("Search:\nFinish: Paris", Field("Finish", "Paris")),
        ("I would search: Paris", None),
        ("Searching: Paris", None),
        ("Search Paris", None),
        ("Search[]", None),
        ("", None),
    ],
)
def test_fields(text, field):
    assert read_field(text, NAMES) == field


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("consistent", "consistent"),
        ("**Inconsistent**, because", "inconsistent"),
        ("It is consistent.", "consistent"),
        ("It is not consistent.", None),
        ("It isn't consistent", None),
        ("This is no surprise. It is consistent.", "consistent"),
        ("Either consistent or inconsistent", None),
        ("consistent, not inconsistent", "consistent"),
        ("inconsistently", None),
        ("yes", None),
        ("", None),
    ],
)
def test_labels(text, label):
    assert read_label(text, ("consistent", "inconsistent")) == label


def test_lists():
    assert read_list("Here:\n1. When?\n2) *Where?*\n- When?\n10: Who?", 3) == ["When?", "Where?", "Who?"]
    assert read_list("1. a\n2. b", 1) == ["a"]
    assert read_list("When was it?\nSome text.\nWhere was it? ", 5) == ["When was it?", "Where was it?"]
    assert read_list("Some text. Nothing to ask.", 5) == []


def test_two_lists_are_one_answer_whatever_their_spelling_and_order():
    assert same_set(["The Rhône", "U.S."]) == same_set(["us", "rhône"])
    assert same_set([]) != same_set(["none"])
