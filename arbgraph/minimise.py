"""Fitting a few numbers, as calibration does, without ending worse than it began."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def minimise(values: Tensor, loss: Callable[[], Tensor]) -> bool:
    """Moves `values`, a leaf that requires gradients, to the least `loss()` by L-BFGS; False when that did not improve on the start."""
    with torch.no_grad():
        before = float(loss())
    optimizer = torch.optim.LBFGS([values], lr=0.5, max_iter=200, line_search_fn="strong_wolfe")

    def closure() -> float:
        optimizer.zero_grad()
        value = loss()
        value.backward()
        return float(value.detach())

    optimizer.step(closure)
    with torch.no_grad():
        return float(loss()) <= before
