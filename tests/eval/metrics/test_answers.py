"""Answer metrics: normalisation, symmetries, and bounds; `test_table.py` holds the cases worked by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.metrics.answers import (
    collides,
    contained,
    contains_all,
    contains_any,
    contains_wrong,
    exact_match,
    list_exact_match,
    list_substring_match,
    normalise_answer,
    set_f1,
    states_wrong,
    token_f1,
)
from eval.metrics.claims import LONGFACT_K, fact_recall, information_density, longfact_f1, pooled_information_density
from eval.metrics.cost import quality_per_1000_tokens

answer = st.text(alphabet="ab 1.,'", min_size=1, max_size=6).filter(str.strip)
gold = st.lists(st.lists(answer, min_size=1, max_size=3), min_size=1, max_size=3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The  U.S.A.", "usa"),
        ("3,559 people", "3559 people"),
        ("All-girls", "allgirls"),
        ("another  thing", "another thing"),
        ("A.", "a"),
        ("The A", "the a"),
        ("?", "?"),
        ("", ""),
        # Composed and decomposed characters are one.
        ("Cafe\u0301", "caf\u00e9"),
        ("\u4f60\u597d", "\u4f60\u597d"),
    ],
)
def test_normalisation(text, expected):
    assert normalise_answer(text) == expected


@given(answer)
def test_normalisation_is_idempotent_where_words_are_left(text):
    once = normalise_answer(text)
    assert normalise_answer(once) == once


@given(gold, st.data())
def test_a_right_answer_is_right_by_every_metric(groups, data):
    given_answers = [data.draw(st.sampled_from(group)) for group in groups]
    assert list_exact_match(given_answers, groups, []) == 1
    assert list_substring_match(given_answers, groups, []) == 1
    found = set_f1(given_answers, groups)
    assert found == (1, 1, 1)
    assert exact_match(given_answers[0], groups) == 1
    best = token_f1(given_answers[0], groups)
    assert best is not None
    assert best.f1 == 1
    assert contains_all(". ".join(given_answers) if len(groups) == 1 else given_answers[0], groups[:1]) == 1


@given(st.lists(answer, max_size=4), gold, st.lists(answer, max_size=3))
def test_order_and_repetition_do_not_matter(predicted, groups, wrong):
    turned = [list(reversed(group)) for group in reversed(groups)]
    again = [*reversed(predicted), *predicted]
    assert list_exact_match(again, turned, wrong[::-1]) == list_exact_match(predicted, groups, wrong)
    assert list_substring_match(again, turned, wrong[::-1]) == list_substring_match(predicted, groups, wrong)
    assert set_f1(again, turned) == set_f1(predicted, groups)
    assert token_f1((predicted or [""])[0], turned) == token_f1((predicted or [""])[0], groups)


@given(st.lists(answer, max_size=4), gold, st.lists(answer, max_size=3))
def test_strict_needs_full_recall_and_no_wrong_answer(predicted, groups, wrong):
    found = set_f1(predicted, groups)
    assert found is not None
    expected = found.recall == 1 and states_wrong(predicted, wrong) != 1
    assert list_exact_match(predicted, groups, wrong) == expected
    if collides(groups, wrong):
        assert list_exact_match([alias for group in groups for alias in group], groups, wrong) == 0


def test_undefined_without_answers_to_compare_with():
    assert exact_match("x", []) is token_f1("x", []) is list_exact_match(["x"], [], []) is None
    assert list_substring_match(["x"], [], []) is set_f1(["x"], []) is states_wrong(["x"], []) is None
    assert contains_any("x", []) is contains_all("x", []) is contains_wrong("x", []) is None


def test_containment_is_of_whole_words():
    assert contained("He was born in 1945, they say", ["1945"])
    assert not contained("In 19450", ["1945"])
    assert not contained("", [""])


def test_long_answers():
    assert fact_recall(["partial", "partial", "missing"], partial=0.5) == pytest.approx(1 / 3)
    assert fact_recall([]) is None
    assert information_density(5, 0) == 0
    assert pooled_information_density([1, 2], [10, 20]) == pytest.approx(100)
    with pytest.raises(ValueError, match="K is 0"):
        longfact_f1(["supported"], 0)


@given(st.integers(0, 200), st.integers(0, 200), st.sampled_from(LONGFACT_K))
def test_longfact_is_the_harmonic_mean(supported, unsupported, k):
    found = longfact_f1(["supported"] * supported + ["unsupported"] * unsupported, k)
    if not supported:
        assert found == 0
        return
    assert 2 / found == pytest.approx((supported + unsupported) / supported + max(1, k / supported))


def test_quality_per_token():
    assert quality_per_1000_tokens([1, 0.5], [1000, 2000]) == pytest.approx(0.5)
    assert quality_per_1000_tokens([1], [0]) is None
    assert quality_per_1000_tokens([], []) is None
