"""Differentiable stand-ins for the hard choices of Algorithm 1: top-k selection, threshold gates, and temperature schedules.

Each is exact in a stated limit, so that a layer trained soft and evaluated hard is the same layer. Selections work on
many graphs at once: `group [E]` names the graph of every score and `k [B]` is its budget, whole or fractional.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from arbgraph.propagation.edges import count_within

# Halvings that bring the bracket of theta down to the last bits of a number.
BISECTIONS = {torch.float64: 64, torch.float32: 36}

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
    return _budgeted(scores / tau, group, k, lambda z: z.clamp(0, 1), lambda z: ((z > 0) & (z < 1)).to(z), width=1.0)


def fermi_topk(scores: Tensor, group: Tensor, k: Tensor, tau: float | Tensor) -> Tensor:
    r"""Sigmoids with the common threshold that makes them sum to k in every group (the entropic relaxation of top-k).

    .. math::
        m_i = \sigma((x_i - \theta) / \tau), \qquad \theta \text{ such that } \sum_i m_i = \min(k, n)

    Dense and smooth; it approaches the hard top-k as exp(-gap / 2 tau) and reaches it only in the limit. For two anchors the
    entropic optimal transport of SOFT top-k (Xie et al. 2020) is this form. Arguments and result as `capped_simplex_topk`.
    """
    return _budgeted(scores / tau, group, k, torch.sigmoid, lambda z: torch.sigmoid(z) * torch.sigmoid(-z), width=40.0)


SELECTIONS: dict[str, Callable[[Tensor, Tensor, Tensor, float | Tensor], Tensor]] = {
    "capped_simplex": capped_simplex_topk,
    "fermi": fermi_topk,
}


Squash = Callable[[Tensor], Tensor]


def _budgeted(z: Tensor, group: Tensor, k: Tensor, squash: Squash, slope: Squash, width: float) -> Tensor:
    """squash(z - theta) with sum k per group. `squash` rises from 0 to 1 over (-width, width) with derivative `slope`.

    theta is found without gradient; one Newton step at the solution, with gradient, then makes autograd differentiate the
    implicit function (its value moves by rounding only). Half precision cannot hold such sums, so they run in float32.
    """
    dtype = z.dtype
    if dtype not in BISECTIONS:
        return _budgeted(z.float(), group, k, squash, slope, width).to(dtype)
    size = count_within(group, k.numel())
    target = torch.minimum(k, size).to(dtype)
    with torch.no_grad():
        theta = _threshold(z, group, target, squash, width)
        total_slope = torch.zeros_like(target).index_add(0, group, slope(z - theta[group]))
    inner = z - theta[group]
    excess = torch.zeros_like(target).index_add(0, group, squash(inner)) - target
    correction = torch.where(total_slope > 0, excess / total_slope.clamp(min=torch.finfo(dtype).tiny), 0)
    mask = squash(inner - correction[group])
    # A group whose budget covers everything, or nothing, has no threshold.
    everything, nothing = (target >= size)[group], (target <= 0)[group]
    return torch.where(everything, 1, torch.where(nothing, 0, mask))


def _threshold(z: Tensor, group: Tensor, target: Tensor, squash: Squash, width: float) -> Tensor:
    """theta `[B]` with sum squash(z - theta) = target, by bisection; the middle of the gap where a whole interval solves it."""
    infinite = torch.full_like(target, torch.inf)
    low = infinite.scatter_reduce(0, group, z, "amin") - width - 1
    high = (-infinite).scatter_reduce(0, group, z, "amax") + width + 1
    low, high = torch.nan_to_num(low, posinf=0.0).repeat(2, 1), torch.nan_to_num(high, neginf=0.0).repeat(2, 1)
    # Both ends of the interval at once: the largest theta whose sum is > target, and the largest whose sum is >= target, up to rounding.
    slack = torch.finfo(z.dtype).eps * 8 * (1 + target)
    bound = torch.stack([target + slack, target - slack])
    for _ in range(BISECTIONS[z.dtype]):
        middle = (low + high) / 2
        above = torch.zeros_like(bound).index_add(1, group, squash(z - middle[:, group])) > bound
        low, high = torch.where(above, middle, low), torch.where(above, high, middle)
    return (low + high).mean(dim=0) / 2


def geometric_schedule(step: int, steps: int, start: float = 1.0, end: float = 0.05) -> float:
    """Temperature at `step` of `steps`, falling geometrically from start to end; end is kept afterwards.

    Raises ValueError unless start and end are positive.
    """
    if start <= 0 or end <= 0:
        raise ValueError(f"temperatures must be positive; got start={start}, end={end}")
    share = 1.0 if steps <= 1 else min(max(step, 0) / (steps - 1), 1.0)
    return start * (end / start) ** share
