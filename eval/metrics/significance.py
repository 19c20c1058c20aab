"""Whether one system is better than another on the same questions: paired bootstrap, paired permutation, McNemar, Holm.

The unit is the question: the claims of one question depend on each other, so questions are resampled and never claims.
Undefined is None.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

DRAWS = 10_000
EXACT = 20  # questions up to which all sign flips are enumerated
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


def difference_of(samples: Tensor, observed: float, n: int, level: float = 0.95) -> Difference | None:
    """A comparison from bootstrap differences `[B]` (NaN where undefined).

    p = 2 min((1 + #{d* <= 0}) / (B + 1), (1 + #{d* >= 0}) / (B + 1)), at most 1. None where no resample is defined.
    """
    defined = samples[~samples.isnan()]
    if defined.numel() == 0 or math.isnan(observed):
        return None
    tail = torch.tensor([(1 - level) / 2, (1 + level) / 2], dtype=torch.float64)
    low, high = torch.quantile(defined.double(), tail).tolist()
    below, above = int((defined <= 0).sum()), int((defined >= 0).sum())
    p = min(1.0, 2 * (1 + min(below, above)) / (defined.numel() + 1))
    return Difference(observed, low, high, p, n, samples.numel() - defined.numel())


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
    samples = bootstrap_weights(len(d), draws, seed, strata) @ d / len(d)
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
    return permutation_p(sign_flips(len(d), draws, seed) @ d / len(d), float(d.mean()), exact=len(d) <= EXACT)


def mcnemar_exact(system: Tensor, reference: Tensor) -> float:
    """Two-sided exact p for right/wrong values of two systems on the same questions: binomial over the questions that they
    disagree on, p = min(1, 2 P(X <= smaller side)); 1 where they never disagree.
    """
    a, b = torch.as_tensor(system).bool(), torch.as_tensor(reference).bool()
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"paired values must be vectors of one length, got {list(a.shape)} and {list(b.shape)}")
    only_a, only_b = int((a & ~b).sum()), int((b & ~a).sum())
    n = only_a + only_b
    return min(1.0, 2 * sum(math.comb(n, k) for k in range(min(only_a, only_b) + 1)) / 2**n)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's adjusted p of a family of comparisons, in the given order; None stays None and is no member of the family."""
    order = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    worst = 0.0
    for rank, (p, place) in enumerate(order):
        worst = max(worst, min(1.0, (len(order) - rank) * p))
        adjusted[place] = worst
    return adjusted
