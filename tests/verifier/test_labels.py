from __future__ import annotations

import itertools

import pytest

from arbgraph.schema import RELATION_LABELS
from arbgraph.verifier.labels import ALIASES, LabelError, label_columns, parse_label


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("entailment", "support"),
        ("ENTAILMENT", "support"),
        ("SUPPORTS", "support"),
        ("contradiction", "contradict"),
        ("REFUTES", "contradict"),
        ("NOT ENOUGH INFO", "neutral"),
        ("not_enough_info", "neutral"),
        ("Not-Enough-Info", "neutral"),
        ("neutral", "neutral"),
    ],
)
def test_aliases(text: str, label: str) -> None:
    assert parse_label(text) == label


def test_every_relation_has_its_own_name_as_alias() -> None:
    assert all(ALIASES[name] == name for name in RELATION_LABELS)


@pytest.mark.parametrize("text", ["LABEL_0", "not_entailment", "", "maybe"])
def test_unknown_label(text: str) -> None:
    with pytest.raises(LabelError, match="unknown"):
        parse_label(text)


@pytest.mark.parametrize("order", list(itertools.permutations(["entailment", "contradiction", "neutral"])))
def test_columns_undo_any_order(order: tuple[str, ...]) -> None:
    columns = label_columns(dict(enumerate(order)), "here")
    assert [order[column] for column in columns] == ["entailment", "contradiction", "neutral"]


@pytest.mark.parametrize(
    ("id2label", "reason"),
    [
        ({}, "no label for support, contradict, neutral"),
        ({0: "entailment", 1: "not_entailment"}, "'not_entailment' is unknown"),
        ({0: "entailment", 1: "neutral"}, "no label for contradict"),
        ({0: "entailment", 1: "supports", 2: "neutral"}, "support is named twice"),
        ({0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}, "'LABEL_0' is unknown"),
        ({1: "support", 2: "contradict", 3: "neutral"}, "positions must be 0, 1 and 2"),
    ],
)
def test_bad_maps_name_place_labels_and_reason(id2label: dict[int, str], reason: str) -> None:
    with pytest.raises(LabelError, match="somewhere") as caught:
        label_columns(id2label, "somewhere")
    assert reason in str(caught.value)
    assert all(name in str(caught.value) for name in id2label.values())
