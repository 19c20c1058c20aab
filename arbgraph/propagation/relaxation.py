"""Differentiable stand-ins for the hard choices of Algorithm 1: top-k selection, threshold gates, and temperature schedules.

Each is exact in a stated limit, so that a layer trained soft and evaluated hard is the same layer. Selections work on
many graphs at once: `group [E]` names the graph of every score and `k [B]` is its budget, whole or fractional.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

BISECTIONS = 64  # halves the bracket of theta down to the last bits of a float64

Selection = Literal["capped_simplex", "fermi"]
Gate = Literal["hard_sigmoid", "sigmoid"]


def hard_sigmoid(z: Tensor) -> Tensor:
    """clip(z + 1/2, 0, 1): exactly 0 or 1 as soon as |z| >= 1/2; slope 1 in between."""
    return (z + 0.5).clamp(0, 1)


GATES: dict[str, Callable[[Tensor], Tensor]] = {"hard_sigmoid": hard_sigmoid, "sigmoid": torch.sigmoid}


def capped_simplex_topk(scores: Tensor, group: Tensor, k: Tensor, tau: float | Tensor) -> Tensor:
    r"""Euclidean projection of `scores / tau` onto {0 <= m <= 1, sum m = k} in every group.

    .. math::
        m_i = \mathrm{clip}(x_i / \tau - \theta, 0, 1), \qquad \theta \text{ such that } \sum_i m_i = \min(k, n)

    Exactly the hard top-k as soon as the k-th and the next score differ by `tau` or more. The gradient is that of the
    projection: it reaches the scores with 0 < m < 1 only.

    Args:
        scores: `[E]` float. group: `[E]` long in [0, B). k: `[B]`, >= 0; gradients reach it when it is a float. tau: > 0.

    Returns the mask `[E]` in [0, 1]. Source: SparseMAP over k-subsets (Niculae et al. 2018).
    """
    return _budgeted(scores / tau, group, k, lambda z: z.clamp(0, 1), width=1.0)


def fermi_topk(scores: Tensor, group: Tensor, k: Tensor, tau: float | Tensor) -> Tensor:
    r"""Sigmoids with the common threshold that makes them sum to k in every group (the entropic relaxation of top-k).

    .. math::
        m_i = \sigma((x_i - \theta) / \tau), \qquad \theta \text{ such that } \sum_i m_i = \min(k, n)

    Dense and smooth; it approaches the hard top-k as exp(-gap / 2 tau) and reaches it only in the limit. For two anchors the
    entropic optimal transport of SOFT top-k (Xie et al. 2020) is this form. Arguments and result as `capped_simplex_topk`.
    """
    return _budgeted(scores / tau, group, k, torch.sigmoid, width=40.0)


SELECTIONS: dict[str, Callable[[Tensor, Tensor, Tensor, float | Tensor], Tensor]] = {
    "capped_simplex": capped_simplex_topk,
    "fermi": fermi_topk,
}


def _budgeted(z: Tensor, group: Tensor, k: Tensor, squash: Callable[[Tensor], Tensor], width: float) -> Tensor:
    """squash(z - theta) with sum k per group. `squash` rises from 0 to 1 over (-width, width).

    theta is found without gradient; one Newton step at the solution, with gradient, then makes autograd differentiate the
    implicit function (its value moves by rounding only).
    """
    if z.numel() == 0:
        return z
    size = torch.bincount(group, minlength=k.numel())
    target = torch.minimum(k, size).to(z.dtype)
    theta = _threshold(z.detach(), group, target.detach(), squash, width)
    inner = z - theta[group]
    mask = squash(inner)
    with torch.no_grad():
        step = 1e-6
        slope = (
            (squash(inner + step) - squash(inner - step)) / (2 * step)
            if squash is torch.sigmoid
            else ((inner > 0) & (inner < 1)).to(z.dtype)
        )
        total_slope = torch.zeros_like(target).index_add(0, group, slope)
    excess = torch.zeros_like(target).index_add(0, group, mask) - target
    correction = torch.where(total_slope > 0, excess / total_slope.clamp(min=torch.finfo(z.dtype).tiny), torch.zeros_like(excess))
    mask = squash(inner - correction[group])
    # A group whose budget covers everything, or nothing, has no threshold.
    everything, nothing = (target >= size)[group], (target <= 0)[group]
    return torch.where(everything, torch.ones_like(mask), torch.where(nothing, torch.zeros_like(mask), mask))


def _threshold(z: Tensor, group: Tensor, target: Tensor, squash: Callable[[Tensor], Tensor], width: float) -> Tensor:
    """theta `[B]` with sum squash(z - theta) = target, by bisection; the middle of the gap where a whole interval solves it."""
    infinite = torch.full_like(target, torch.inf)
    low = infinite.scatter_reduce(0, group, z, "amin") - width - 1
    high = (-infinite).scatter_reduce(0, group, z, "amax") + width + 1
    low, high = torch.nan_to_num(low, posinf=0.0), torch.nan_to_num(high, neginf=0.0)
    left, right = _bisect(z, group, target, squash, low, high, strict=False), _bisect(z, group, target, squash, low, high, strict=True)
    return (left + right) / 2


def _bisect(
    z: Tensor, group: Tensor, target: Tensor, squash: Callable[[Tensor], Tensor], low: Tensor, high: Tensor, *, strict: bool
) -> Tensor:
    """The largest theta whose sum still is >= target (or > target when strict), up to rounding."""
    slack = torch.finfo(z.dtype).eps * 8 * (1 + target)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        total = torch.zeros_like(target).index_add(0, group, squash(z - middle[group]))
        above = total > target + slack if strict else total >= target - slack
        low, high = torch.where(above, middle, low), torch.where(above, high, middle)
    return (low + high) / 2


def geometric_schedule(step: int, steps: int, start: float = 1.0, end: float = 0.05) -> float:
    """Temperature at `step` of `steps`, falling geometrically from start to end; end is kept afterwards.

    Raises ValueError unless start and end are positive.
    """
    if start <= 0 or end <= 0:
        raise ValueError(f"temperatures must be positive; got start={start}, end={end}")
    share = 1.0 if steps <= 1 else min(max(step, 0) / (steps - 1), 1.0)
    return start * (end / start) ** share
