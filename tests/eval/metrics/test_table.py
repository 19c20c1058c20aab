"""The table of metrics: hand-worked cases for every metric, independence of order and company, missing fields, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.metrics.__main__ import page
from eval.metrics.ragchecker import Entailment
from eval.metrics.table import METRICS, Metric, Scored, UnknownMetricError, score

CASES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("cases.json").read_text(encoding="utf-8"))


def item(name: str, document: dict[str, Any], response: dict[str, Any]) -> Scored:
    fields = {**document, **response}
    if "entailment" in fields:
        fields["entailment"] = Entailment(**fields["entailment"])
    if isinstance(fields.get("claims"), dict):
        fields["claims"] = [label for label, count in fields["claims"].items() for _ in range(count)]
    return Scored(name, **fields)


def items(case: dict[str, Any]) -> list[Scored]:
    return [item(f"q{place}", one["document"], one["response"]) for place, one in enumerate(case["items"])]


@pytest.mark.parametrize("case", CASES, ids=[case["why"][:40] for case in CASES])
def test_by_hand(case):
    found = score(items(case), case["expected"])
    values = {name: mean.value for name, mean in found.means.items()}
    defined = {name: value for name, value in case["expected"].items() if value is not None}
    assert {name for name, value in values.items() if value is None} == set(case["expected"]) - set(defined), case["why"]
    assert {name: values[name] for name in defined} == pytest.approx(defined), case["why"]
    assert all(METRICS[name].low <= value <= METRICS[name].high for name, value in values.items() if value is not None)


def test_every_metric_has_a_case_with_a_value():
    worked = {name for case in CASES for name, value in case["expected"].items() if value is not None}
    assert set(METRICS) - worked == set()


def test_every_metric_that_can_be_undefined_has_such_a_case():
    undefined = {name for case in CASES for name, value in case["expected"].items() if value is None}
    assert undefined == {name for name, metric in METRICS.items() if metric.undefined}


def test_rows_say_what_they_are():
    for name, metric in METRICS.items():
        assert metric.name == name
        assert metric.definition
        assert metric.source
        assert metric.low < metric.high


def everything() -> list[Scored]:
    """The items of all cases under distinct ids."""
    return [
        item(f"{number}-{place}", one["document"], one["response"])
        for number, case in enumerate(CASES)
        for place, one in enumerate(case["items"])
    ]


@settings(deadline=None, max_examples=20)
@given(st.permutations(everything()), st.sets(st.sampled_from(sorted(METRICS)), min_size=1))
def test_neither_order_nor_company_changes_a_value(shuffled, names):
    whole = score(everything(), METRICS)
    some = score(shuffled, sorted(names))
    for name in names:
        assert some.means[name] == whole.means[name]
        assert some.values.get(name) == whole.values.get(name)


def test_values_of_one_item_do_not_depend_on_the_others():
    whole = score(everything(), METRICS)
    for one in everything():
        alone = score([one], METRICS)
        assert alone.of(one.id) == whole.of(one.id)


def test_missing_fields_are_named_and_the_others_computed():
    rows = [Scored("a", gold=[["x"]], predicted=["x"], usage={"calls": 2}), Scored("b", gold=[["x"]], text="x")]
    found = score(rows, ["em_strict", "containment", "calls", "seconds", "total_tokens"])
    assert found.means["em_strict"].value == 1
    assert (found.means["em_strict"].n, dict(found.means["em_strict"].missing)) == (1, {"predicted": 1})
    assert found.means["containment"].value == 1
    assert found.means["calls"].value == 2
    assert found.means["seconds"].value is None
    assert dict(found.means["seconds"].missing) == {"usage.seconds": 2}
    assert dict(found.means["total_tokens"].missing) == {"usage.prompt_tokens": 2, "usage.completion_tokens": 2}
    assert found.values["em_strict"] == {"a": 1.0}


def test_without_names_what_nothing_can_be_said_about_is_left_out():
    found = score([Scored("a", gold=[["x"]], predicted=["x"])])
    assert "em_strict" in found.means
    assert not {"containment", "auroc", "calls", "ragchecker_f1"} & set(found.means)
    assert found.answered_share == 1


def test_undefined_items_are_counted():
    rows = [Scored("a", gold=[["x"]], predicted=["x"]), Scored("b", predicted=["x"])]
    found = score(rows, ["em_strict"])
    assert (found.means["em_strict"].value, found.means["em_strict"].n, found.means["em_strict"].undefined) == (1, 1, 1)
    assert found.values["em_strict"] == {"a": 1.0, "b": None}
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["means"]["em_strict"]["n"] == 1


def test_nothing_to_score():
    found = score([], METRICS)
    assert found.answered_share is None
    assert all(mean.value is None and mean.n == 0 for mean in found.means.values())


def test_refusals():
    with pytest.raises(UnknownMetricError, match="did you mean em_strict"):
        score([], ["em_strct"])
    with pytest.raises(UnknownMetricError, match="METRICS lists them"):
        score([], ["zzzz"])
    with pytest.raises(ValueError, match="1 ids occur more than once, the first is 'a'"):
        score([Scored("a"), Scored("a")])
    with pytest.raises(ValueError, match=r"needs .*'colour'"):
        Metric("m", "d", ("colour",), "", "s", lambda i: 0.0)
    with pytest.raises(ValueError, match="of_item or of_items"):
        Metric("m", "d", (), "", "s")


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"gold": "Paris"}, "gold is one text"),
        ({"gold": ["Paris"]}, r"gold 0 is one text; .* \[\['Paris'\]\]"),
        ({"gold": [["Paris"], [" "]]}, "gold 1 has no answer or an empty one"),
        ({"gold": [[]]}, "gold 0 has no answer"),
        ({"wrong": [""]}, "wrong is empty"),
        ({"predicted": "Paris"}, "predicted is one text"),
        ({"facts": ["true"]}, r"facts has the label \['true'\]"),
        ({"claims": ["maybe"]}, "claims has the label"),
        ({"tokens": -1}, "tokens is -1"),
        ({"usage": {"calls": float("nan")}}, "usage.calls is nan"),
        ({"credibility": [1.5]}, r"credibility must lie in \[0, 1\]"),
        ({"credibility": [0.5], "valid": [True, False]}, "one length"),
    ],
)
def test_items_that_cannot_be_scored(fields, match):
    with pytest.raises(ValueError, match=f"item 'q1': .*{match}"):
        Scored("q1", **fields)


def test_the_page_is_up_to_date():
    # `python -m eval.metrics --markdown docs/metrics.md` writes it.
    written = (Path(__file__).resolve().parents[3] / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert written == page()
