"""Whether one system is better than another on the same questions: paired bootstrap, paired permutation, McNemar, Holm, effect size.

The unit is the question: the claims of one question depend on each other, so questions are resampled and never claims.
Undefined is None.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

DRAWS = 10_000
EXACT = 20  # questions up to which all sign flips are enumerated
_BLOCK = 1 << 22  # questions drawn at a time; bounds the memory of large benchmarks
_SLACK = 1e-12  # sums of the same numbers in another order differ by rounding; they are ties


@dataclass(frozen=True)
class Difference:
    """A paired comparison: difference (system minus reference), its percentile interval, two-sided p, n questions.

    `undefined` counts the resamples in which the difference did not exist; they are left out.
    """

    difference: float
    low: float
    high: float
    p: float
    n: int
    undefined: int = 0


@dataclass(frozen=True)
class Interval:
    """One system's value with its percentile interval over n questions; `undefined` resamples had no value and are left out."""

    value: float
    low: float
    high: float
    n: int
    undefined: int = 0


@dataclass(frozen=True)
class Comparison:
    """Everything about one metric of two systems: the bootstrap difference, p of the other two tests, effect size.

    `p_permutation` is the primary one, to be corrected over a table by `holm`; `p_mcnemar` is None unless all values are 0 or 1.
    `left_out` questions have no value for either or both systems.
    """

    difference: Difference
    p_permutation: float
    p_mcnemar: float | None
    effect_size: float | None
    left_out: int


def bootstrap_weights(n: int, draws: int = DRAWS, seed: int = 0, strata: Sequence[int] | None = None) -> Tensor:
    """How often each of n questions occurs in every resample, `[draws, n]` float64; rows sum to n.

    With `strata` (a group number per question) every stratum keeps its size.
    """
    generator = torch.Generator().manual_seed(seed)
    groups = torch.zeros(n, dtype=torch.long) if strata is None else torch.as_tensor(strata)
    weights = torch.zeros(draws, n, dtype=torch.float64)
    for group in torch.unique(groups).tolist():
        rows = (groups == group).nonzero().squeeze(-1)
        chosen = rows[torch.randint(len(rows), (draws, len(rows)), generator=generator)]
        weights.scatter_add_(1, chosen, torch.ones_like(chosen, dtype=torch.float64))
    return weights


def _blocks(draws: int, size: int) -> Iterator[slice]:
    """Draws 0..draws in consecutive slices of at most about `_BLOCK` / size."""
    step = max(1, _BLOCK // max(1, size))
    return (slice(start, min(start + step, draws)) for start in range(0, draws, step))


def _resampled_sums(values: Tensor, draws: int, seed: int, strata: Sequence[int] | None) -> Tensor:
    """`bootstrap_weights @ values` for values `[n, C]`, `[draws, C]`, without holding the weights."""
    generator = torch.Generator().manual_seed(seed)
    groups = torch.zeros(len(values), dtype=torch.long) if strata is None else torch.as_tensor(strata)
    sums = torch.zeros(draws, values.shape[1], dtype=torch.float64)
    for group in torch.unique(groups).tolist():
        members = values[groups == group]
        for block in _blocks(draws, len(members) * values.shape[1]):
            chosen = torch.randint(len(members), (block.stop - block.start, len(members)), generator=generator)
            sums[block] += members[chosen].sum(1)
    return sums


def difference_of(samples: Tensor, observed: float, n: int, level: float = 0.95) -> Difference | None:
    """A comparison from bootstrap differences `[B]` (NaN where undefined).

    p = 2 min((1 + #{d* <= 0}) / (B + 1), (1 + #{d* >= 0}) / (B + 1)), at most 1. None where no resample is defined.
    """
    defined = samples[~samples.isnan()]
    if defined.numel() == 0 or math.isnan(observed):
        return None
    low, high = _percentiles(defined, level)
    below, above = int((defined <= 0).sum()), int((defined >= 0).sum())
    p = min(1.0, 2 * (1 + min(below, above)) / (defined.numel() + 1))
    return Difference(observed, low, high, p, n, samples.numel() - defined.numel())


def _percentiles(samples: Tensor, level: float) -> tuple[float, float]:
    tail = torch.tensor([(1 - level) / 2, (1 + level) / 2], dtype=torch.float64)
    low, high = torch.quantile(samples.double(), tail).tolist()
    return low, high


def bootstrap_interval(values: Tensor, *, draws: int = DRAWS, seed: int = 0, strata: Sequence[int] | None = None) -> Interval | None:
    """Mean of per-question values `[n]` and its 95% percentile interval; with `strata` the macro mean. None without questions.

    Raises ValueError on values that are not finite.
    """
    found = paired_bootstrap(values, torch.zeros(len(values)), draws=draws, seed=seed, strata=strata)
    return Interval(found.difference, found.low, found.high, found.n) if found else None


def bootstrap_ratio(above: Tensor, below: Tensor, *, draws: int = DRAWS, seed: int = 0, level: float = 0.95) -> Interval | None:
    """A pooled ratio, sum of `above [n]` over sum of `below [n]`, with its percentile interval over questions.

    None where the ratio of all questions is undefined. Raises ValueError on unequal lengths or values that are not finite.
    """
    a, b = torch.as_tensor(above, dtype=torch.float64), torch.as_tensor(below, dtype=torch.float64)
    if a.ndim != 1 or a.shape != b.shape or not torch.isfinite(a + b).all():
        raise ValueError(f"numerators and denominators must be finite vectors of one length, got {list(a.shape)} and {list(b.shape)}")
    if float(b.sum()) == 0:
        return None
    sums = _resampled_sums(torch.stack([a, b], dim=1), draws, seed, None)
    samples = sums[:, 0] / sums[:, 1]
    defined = samples[torch.isfinite(samples)]
    low, high = _percentiles(defined, level)
    return Interval(float(a.sum() / b.sum()), low, high, len(a), draws - defined.numel())


def _differences(system: Tensor, reference: Tensor, strata: Sequence[int] | None) -> Tensor:
    """Per-question differences whose plain mean is the mean, or with strata the macro mean over them."""
    a, b = torch.as_tensor(system, dtype=torch.float64), torch.as_tensor(reference, dtype=torch.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"paired values must be vectors of one length, got {list(a.shape)} and {list(b.shape)}")
    if not torch.isfinite(a - b).all():
        raise ValueError("paired values must be finite; leave out questions on which either system has no value, and say how many")
    if strata is None:
        return a - b
    _, inverse, count = torch.unique(torch.as_tensor(strata), return_inverse=True, return_counts=True)
    if inverse.shape != a.shape:
        raise ValueError(f"{len(inverse)} strata for {len(a)} questions")
    return (a - b) * len(a) / (len(count) * count.double()[inverse])


def paired_bootstrap(
    system: Tensor, reference: Tensor, *, draws: int = DRAWS, seed: int = 0, strata: Sequence[int] | None = None
) -> Difference | None:
    """Mean difference of per-question values `[n]` with its 95% percentile interval and p, over resamples of questions.

    With `strata` the macro mean over strata is compared, and resampling stays within them. None without questions.
    Raises ValueError on unequal lengths or values that are not finite.
    """
    d = _differences(system, reference, strata)
    if d.numel() == 0:
        return None
    samples = _resampled_sums(d.unsqueeze(-1), draws, seed, strata).squeeze(-1) / len(d)
    return difference_of(samples, float(d.mean()), len(d))


def sign_flips(n: int, draws: int = DRAWS, seed: int = 0) -> Tensor:
    """Rows of -1 and 1, `[R, n]` float64: all 2^n where n <= 20, else `draws` random ones."""
    if n <= EXACT:
        codes = torch.arange(2**n).unsqueeze(-1)
        return 1.0 - 2.0 * ((codes >> torch.arange(n)) & 1).double()
    return 1.0 - 2.0 * torch.randint(2, (draws, n), generator=torch.Generator().manual_seed(seed)).double()


def permutation_p(samples: Tensor, observed: float, *, exact: bool) -> float:
    """Two-sided p from permuted differences `[R]`: (1 + #{|d*| >= |d|}) / (R + 1); the plain share where all flips were taken."""
    extreme = int((samples.abs() >= abs(observed) - _SLACK * max(1.0, abs(observed))).sum())
    return extreme / samples.numel() if exact else (1 + extreme) / (samples.numel() + 1)


def paired_permutation(
    system: Tensor, reference: Tensor, *, draws: int = DRAWS, seed: int = 0, strata: Sequence[int] | None = None
) -> float | None:
    """Two-sided p of the mean difference of per-question values `[n]` under sign flips; exact for n <= 20, None without questions."""
    d = _differences(system, reference, strata)
    if d.numel() == 0:
        return None
    if len(d) <= EXACT:
        return permutation_p(sign_flips(len(d)) @ d / len(d), float(d.mean()), exact=True)
    generator = torch.Generator().manual_seed(seed)
    samples = torch.empty(draws, dtype=torch.float64)
    for block in _blocks(draws, len(d)):
        flips = torch.randint(2, (block.stop - block.start, len(d)), generator=generator)
        samples[block] = (d.sum() - 2 * flips.double() @ d) / len(d)
    return permutation_p(samples, float(d.mean()), exact=False)


def mcnemar_exact(system: Tensor, reference: Tensor) -> float:
    """Two-sided exact p for right/wrong values of two systems on the same questions: binomial over the questions that they
    disagree on, p = min(1, 2 P(X <= smaller side)); 1 where they never disagree.

    Raises ValueError on unequal lengths or values other than 0 and 1.
    """
    a, b = torch.as_tensor(system), torch.as_tensor(reference)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"paired values must be vectors of one length, got {list(a.shape)} and {list(b.shape)}")
    if not all(bool(((values == 0) | (values == 1)).all()) for values in (a, b)):
        raise ValueError("McNemar's test takes right and wrong, 1 and 0; use paired_permutation for other values")
    a, b = a.bool(), b.bool()
    only_a, only_b = int((a & ~b).sum()), int((b & ~a).sum())
    n = only_a + only_b
    return min(1.0, 2 * sum(math.comb(n, k) for k in range(min(only_a, only_b) + 1)) / 2**n)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's adjusted p of a family of comparisons, in the given order; None stays None and is no member of the family.

    Raises ValueError on a p outside [0, 1].
    """
    if any(p is not None and not 0 <= p <= 1 for p in p_values):
        raise ValueError(f"p values must lie in [0, 1], got {list(p_values)}")
    order = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    worst = 0.0
    for rank, (p, place) in enumerate(order):
        worst = max(worst, min(1.0, (len(order) - rank) * p))
        adjusted[place] = worst
    return adjusted


def effect_size(system: Tensor, reference: Tensor) -> float | None:
    """Cohen's d of paired values: mean difference over its standard deviation (n - 1). None for fewer than two or equal differences."""
    d = _differences(system, reference, None)
    spread = float(d.std()) if len(d) > 1 else 0.0
    return float(d.mean()) / spread if spread > _SLACK else None


def mean_over_runs(runs: Sequence[Mapping[str, float | None]]) -> dict[str, float | None]:
    """Per-question values of several runs (seeds) -> their mean per question, over the runs in which it is defined.

    Raises ValueError when the runs do not hold the same questions.
    """
    for run in runs[1:]:
        _same_questions(runs[0], run)
    means: dict[str, float | None] = {}
    for question in runs[0] if runs else ():
        values = [value for run in runs if (value := run[question]) is not None]
        means[question] = math.fsum(values) / len(values) if values else None
    return means


def _same_questions(system: Mapping[str, float | None], reference: Mapping[str, float | None]) -> None:
    only = sorted(system.keys() ^ reference.keys())
    if only:
        raise ValueError(f"{len(only)} questions were scored in one run only, the first is {only[0]!r}; compare runs on the same questions")


def compare_questions(
    system: Mapping[str, float | None],
    reference: Mapping[str, float | None],
    *,
    strata: Mapping[str, str] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> Comparison | None:
    """System minus reference from per-question values by id, None where undefined. The result does not depend on the order of questions.

    Args:
        system, reference: question id -> value; both must hold the same questions.
        strata: question id -> domain; the macro mean over domains is then compared.

    None where no question has a value for both. Raises ValueError when the questions differ, or one has no stratum.
    """
    _same_questions(system, reference)
    shared = [q for q in sorted(system) if system[q] is not None and reference[q] is not None]
    a, b = (torch.tensor([values[q] for q in shared], dtype=torch.float64) for values in (system, reference))
    groups = None
    if strata is not None:
        without = [q for q in shared if q not in strata]
        if without:
            raise ValueError(f"{len(without)} questions have no stratum, the first is {without[0]!r}")
        numbers = {name: number for number, name in enumerate(sorted({strata[q] for q in shared}))}
        groups = [numbers[strata[q]] for q in shared]
    difference = paired_bootstrap(a, b, draws=draws, seed=seed, strata=groups)
    p = paired_permutation(a, b, draws=draws, seed=seed, strata=groups)
    if difference is None or p is None:
        return None
    binary = all(bool(((values == 0) | (values == 1)).all()) for values in (a, b))
    return Comparison(difference, p, mcnemar_exact(a, b) if binary else None, effect_size(a, b), len(system) - len(shared))
