"""Significance: by hand, against scipy, and under the null."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from eval.metrics.significance import (
    _resampled_sums,
    bootstrap_interval,
    bootstrap_ratio,
    bootstrap_weights,
    compare_questions,
    difference_of,
    effect_size,
    holm,
    mcnemar_exact,
    mean_over_runs,
    paired_bootstrap,
    paired_permutation,
    permutation_p,
    sign_flips,
)

few = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=8)


def test_permutation_is_exact_for_few_questions():
    # Differences 1, 1, 1: of 8 sign patterns only the two unanimous ones reach |mean| = 1.
    assert paired_permutation(torch.ones(3), torch.zeros(3)) == pytest.approx(2 / 8)
    # Differences 3, 1, -1: |sum| >= 3 for +3+1-1, +3-1+1, +3+1+1 and their negatives: 6 of 8.
    assert paired_permutation(torch.tensor([3.0, 1.0, 0.0]), torch.tensor([0.0, 0.0, 1.0])) == pytest.approx(6 / 8)
    assert paired_permutation(torch.ones(20), torch.zeros(20)) == pytest.approx(2 / 2**20)


def test_permutation_of_many_questions_draws():
    assert paired_permutation(torch.ones(60), torch.zeros(60)) == pytest.approx(1 / 10_001)
    draw = torch.Generator().manual_seed(3)
    a, b = torch.rand(40, generator=draw), torch.rand(40, generator=draw) + 0.1
    expected = stats.permutation_test(
        (a.numpy(), b.numpy()),
        lambda x, y, axis: (x - y).mean(axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=20_000,
        rng=0,
    )
    assert paired_permutation(a, b) == pytest.approx(expected.pvalue, abs=0.02)


@settings(deadline=None)
@given(few, st.data())
def test_exact_permutation_agrees_with_enumeration(a, data):
    b = data.draw(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=len(a), max_size=len(a)))
    d = [x - y for x, y in zip(a, b, strict=True)]
    flips = list(itertools.product((1, -1), repeat=len(d)))
    share = sum(abs(sum(s * x for s, x in zip(flip, d, strict=True))) >= abs(sum(d)) for flip in flips) / len(flips)
    assert paired_permutation(torch.tensor(a), torch.tensor(b)) == pytest.approx(share)


def test_bootstrap_by_its_formula():
    a, b = torch.tensor([1.0, 0.0, 1.0, 1.0]), torch.tensor([0.0, 0.0, 1.0, 0.0])
    found = paired_bootstrap(a, b)
    assert found is not None
    samples = bootstrap_weights(4) @ (a - b).double() / 4
    at_most, at_least = int((samples <= 0).sum()), int((samples >= 0).sum())
    assert found.difference == pytest.approx(0.5)
    assert found.p == pytest.approx(2 * min((1 + at_most) / 10_001, (1 + at_least) / 10_001))
    # d* = 0 has probability (1/2)^4, so p is near 2/16.
    assert found.p == pytest.approx(0.125, abs=0.02)
    assert (found.low, found.high, found.n) == (0.0, 1.0, 4)


def test_bootstrap_interval_agrees_with_scipy():
    draw = torch.Generator().manual_seed(1)
    a, b = torch.rand(200, generator=draw).double(), torch.rand(200, generator=draw).double()
    found = paired_bootstrap(a, b)
    assert found is not None
    expected = stats.bootstrap(
        ((a - b).numpy(),), lambda x, axis: x.mean(axis), method="percentile", n_resamples=10_000, rng=0
    ).confidence_interval
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.004)


def test_equal_systems_differ_by_nothing():
    a = torch.linspace(0, 1, 50)
    found = paired_bootstrap(a, a)
    assert found is not None
    assert (found.difference, found.low, found.high, found.p) == (0, 0, 0, 1)
    assert paired_permutation(a, a) == 1


def test_weights_count_questions_and_keep_strata():
    weights = bootstrap_weights(5, 200, seed=1, strata=[0, 0, 1, 1, 1])
    assert set(weights[:, :2].sum(1).tolist()) == {2.0}
    assert set(weights[:, 2:].sum(1).tolist()) == {3.0}
    assert weights.equal(bootstrap_weights(5, 200, seed=1, strata=[0, 0, 1, 1, 1]))
    assert not weights.equal(bootstrap_weights(5, 200, seed=2, strata=[0, 0, 1, 1, 1]))


def test_strata_compare_the_macro_mean():
    a, b = torch.tensor([1.0, 1.0, 1.0, 0.0]), torch.zeros(4)
    found = paired_bootstrap(a, b, strata=[0, 0, 0, 1])
    assert found is not None
    # Stratum means 1 and 0. Every resample within strata gives the same.
    assert (found.difference, found.low, found.high) == pytest.approx((0.5, 0.5, 0.5))


def test_undefined_resamples_are_counted():
    found = difference_of(torch.tensor([0.1, math.nan, 0.3]), 0.2, 7)
    assert found is not None
    assert (found.undefined, found.n) == (1, 7)
    assert difference_of(torch.tensor([math.nan]), 0.2, 7) is None
    assert paired_bootstrap(torch.tensor([]), torch.tensor([])) is None
    assert paired_permutation(torch.tensor([]), torch.tensor([])) is None


def test_refuses_unpaired_values():
    with pytest.raises(ValueError, match="one length"):
        paired_bootstrap(torch.ones(2), torch.ones(3))
    with pytest.raises(ValueError, match="finite"):
        paired_permutation(torch.tensor([math.nan]), torch.ones(1))
    with pytest.raises(ValueError, match="strata"):
        paired_bootstrap(torch.ones(2), torch.ones(2), strata=[0])


def test_refuses_what_is_no_p_or_no_answer():
    with pytest.raises(ValueError, match="right and wrong"):
        mcnemar_exact(torch.tensor([0.5, 1.0]), torch.tensor([1.0, 0.0]))
    for p in (1.5, math.nan):
        with pytest.raises(ValueError, match=r"lie in \[0, 1\]"):
            holm([0.1, p])


def test_sign_flips_enumerate_or_draw():
    assert sorted(map(tuple, sign_flips(2).tolist())) == [(-1, -1), (-1, 1), (1, -1), (1, 1)]
    assert sign_flips(21).shape == (10_000, 21)
    assert permutation_p(torch.tensor([0.5, -0.5, 0.1]), 0.5, exact=False) == pytest.approx(3 / 4)


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=30))
def test_mcnemar_agrees_with_the_binomial_test(rows):
    a, b = torch.tensor([x for x, _ in rows], dtype=torch.bool), torch.tensor([y for _, y in rows], dtype=torch.bool)
    only_a, only_b = int((a & ~b).sum()), int((b & ~a).sum())
    expected = stats.binomtest(only_a, only_a + only_b).pvalue if only_a + only_b else 1.0
    assert mcnemar_exact(a, b) == pytest.approx(expected)


def test_holm_by_hand():
    # Sorted .01, .02, .04: times 3, 2, 1 gives .03, .04, .04.
    assert holm([0.04, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert holm([0.5, None, 0.9]) == [1.0, None, 1.0]
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []


def test_fishers_analysis_of_darwins_maize():
    # Fisher, The Design of Experiments (1935), section 21: 15 pairs, 1,726 of the 2^15 sign patterns are at least as extreme.
    d = torch.tensor([49.0, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48])
    assert paired_permutation(d, torch.zeros(15)) == pytest.approx(1726 / 2**15)
    assert effect_size(d, torch.zeros(15)) == pytest.approx(20.9333 / 37.7442, abs=1e-4)


def test_known_p_values():
    # 10 questions on which they disagree, 1 against 9: 2 (C(10, 0) + C(10, 1)) / 2^10.
    a, b = torch.tensor([1] * 9 + [0] * 6), torch.tensor([0] * 10 + [1] * 1 + [0] * 4)
    assert mcnemar_exact(a, b) == pytest.approx(22 / 1024)
    # `p.adjust(c(.01, .02, .03, .04, .05), "holm")` of R.
    assert holm([0.01, 0.02, 0.03, 0.04, 0.05]) == pytest.approx([0.05, 0.08, 0.09, 0.09, 0.09])


def test_permuting_within_strata_weights_the_questions():
    # Differences 1, 1 in one stratum and -1 in the other: macro means (+-1 +-1)/2 and +-1, halved. |macro| >= |1 - 1| always holds.
    a, b = torch.tensor([1.0, 1.0, 0.0]), torch.tensor([0.0, 0.0, 1.0])
    assert paired_permutation(a, b, strata=[0, 0, 1]) == 1
    # All three for the system: 1, reached by the two unanimous patterns only.
    assert paired_permutation(torch.ones(3), torch.zeros(3), strata=[0, 0, 1]) == pytest.approx(2 / 8)


def test_resampling_in_blocks_changes_nothing(monkeypatch):
    values = torch.rand(30, 2, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    for strata in (None, [0] * 12 + [1] * 18):
        expected = bootstrap_weights(30, 64, seed=2, strata=strata) @ values
        for block in (1 << 22, 100):
            monkeypatch.setattr("eval.metrics.significance._BLOCK", block)
            torch.testing.assert_close(_resampled_sums(values, 64, 2, strata), expected)
    a, b = values[:, 0], values[:, 1]
    monkeypatch.setattr("eval.metrics.significance._BLOCK", 1 << 22)
    whole = paired_permutation(a, b, draws=200)
    monkeypatch.setattr("eval.metrics.significance._BLOCK", 100)
    assert paired_permutation(a, b, draws=200) == whole


def test_the_interval_covers_the_true_mean_as_often_as_it_says():
    generator = torch.Generator().manual_seed(0)
    covered = 0
    for trial in range(400):
        # Skewed values with mean 1/3.
        values = torch.rand(60, generator=generator, dtype=torch.float64).square()
        found = bootstrap_interval(values, draws=400, seed=trial)
        assert found is not None
        covered += found.low <= 1 / 3 <= found.high
    # 95% with a standard error of 1.1 points; the percentile interval is a little short at n = 60.
    assert 0.91 <= covered / 400 <= 0.98


def test_p_values_are_uniform_without_a_difference():
    generator = torch.Generator().manual_seed(1)
    small = sum((paired_permutation(*torch.randn(2, 12, generator=generator)) or 0) <= 0.1 for _ in range(400))
    assert 0.06 <= small / 400 <= 0.14


def test_a_pooled_ratio_by_hand():
    found = bootstrap_ratio(torch.tensor([1.0, 3.0]), torch.tensor([2.0, 4.0]))
    assert found is not None
    # Resamples: 1/2 (twice the first), 4/6, 3/4 (twice the second).
    assert (found.value, found.low, found.high, found.n) == pytest.approx((4 / 6, 0.5, 0.75, 2))
    assert bootstrap_ratio(torch.zeros(3), torch.zeros(3)) is None
    half = bootstrap_ratio(torch.tensor([1.0, 0.0]), torch.tensor([1.0, 0.0]), draws=1000)
    assert half is not None
    # A quarter of the resamples draw the question without a denominator twice.
    assert half.undefined == pytest.approx(250, abs=60)
    assert (half.low, half.high) == (1, 1)
    with pytest.raises(ValueError, match="one length"):
        bootstrap_ratio(torch.ones(2), torch.ones(3))


def test_effect_size_is_undefined_without_spread():
    assert effect_size(torch.ones(3), torch.zeros(3)) is None
    assert effect_size(torch.ones(1), torch.zeros(1)) is None
    # Differences 1, 2, 3: mean 2, standard deviation 1.
    assert effect_size(torch.tensor([1.0, 2.0, 3.0]), torch.zeros(3)) == pytest.approx(2)


def test_questions_are_paired_by_id():
    system = {"q3": 1.0, "q1": 1.0, "q2": None, "q4": 0.0}
    reference = {"q1": 0.0, "q2": 1.0, "q3": 1.0, "q4": 0.0}
    found = compare_questions(system, reference)
    assert found is not None
    assert (found.difference.difference, found.difference.n, found.left_out) == (pytest.approx(1 / 3), 3, 1)
    assert found.p_mcnemar == 1
    assert found == compare_questions(dict(sorted(system.items())), reference)
    halves = compare_questions({"a": 0.5}, {"a": 0.0})
    assert halves is not None
    assert halves.p_mcnemar is None
    assert compare_questions({"a": None}, {"a": 1.0}) is None
    with pytest.raises(ValueError, match=r"2 questions .* 'q1'"):
        compare_questions({"q1": 1.0}, {"q2": 1.0})


def test_macro_mean_by_named_strata():
    system, reference = {"a": 1.0, "b": 1.0, "c": 1.0, "d": 0.0}, dict.fromkeys("abcd", 0.0)
    found = compare_questions(system, reference, strata={"a": "law", "b": "law", "c": "law", "d": "art"})
    assert found is not None
    assert found.difference.difference == pytest.approx(0.5)
    with pytest.raises(ValueError, match="1 questions have no stratum"):
        compare_questions(system, reference, strata=dict.fromkeys("abc", "law"))


def test_runs_are_averaged_per_question_first():
    runs = [{"a": 1.0, "b": None, "c": None}, {"a": 0.0, "b": 0.5, "c": None}]
    assert mean_over_runs(runs) == {"a": 0.5, "b": 0.5, "c": None}
    assert mean_over_runs([]) == {}
    with pytest.raises(ValueError, match="same questions"):
        mean_over_runs([{"a": 1.0}, {"b": 1.0}])
