"""Calibration and the undirected verdict: from logits of two reading orders to probabilities of one relation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from arbgraph.schema import RELATION_LABELS, SUPPORT


@dataclass(frozen=True)
class Calibration:
    """Vector scaling with one temperature: `softmax(logits / temperature + bias)`, bias in column order.

    Source: Guo et al., On Calibration of Modern Neural Networks, ICML 2017 (temperature; the bias is their vector scaling's).
    """

    temperature: float = 1.0
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def log_probabilities(self, logits: Tensor) -> Tensor:
        """Log-probabilities `[.., 3]` of logits `[.., 3]` in the project's column order."""
        return (logits.double() / self.temperature + torch.tensor(self.bias, dtype=torch.float64)).log_softmax(-1)

    def to_dict(self) -> dict:
        """Plain data, with the bias by label name."""
        return {"temperature": self.temperature, "bias": dict(zip(RELATION_LABELS, self.bias, strict=True))}

    @classmethod
    def from_dict(cls, values: Mapping) -> Calibration:
        """The inverse of `to_dict`. Raises KeyError on a missing entry."""
        support, contradict, neutral = (float(values["bias"][name]) for name in RELATION_LABELS)
        return cls(float(values["temperature"]), (support, contradict, neutral))


def fit_calibration(logits: Tensor, labels: Tensor, weights: Tensor | None = None) -> Calibration:
    """Temperature and bias that minimise the (weighted) negative log-likelihood; never worse than no calibration.

    Args:
        logits: `[N, 3]` in the project's column order.
        labels: `[N]` long.
        weights: `[N]`, for example to count every data set alike; None counts every row alike.
    """
    logits = logits.double()
    weights = torch.ones(len(labels), dtype=torch.float64) if weights is None else weights.double()
    weights = weights / weights.sum()
    log_temperature = torch.zeros((), dtype=torch.float64, requires_grad=True)
    bias = torch.zeros(2, dtype=torch.float64, requires_grad=True)

    def loss() -> Tensor:
        # Softmax is blind to a common shift, so the neutral bias stays 0 and the fit has one solution.
        full = torch.cat([bias, bias.new_zeros(1)])
        scaled = (logits / log_temperature.exp() + full).log_softmax(-1)
        return -(weights * scaled[torch.arange(len(labels)), labels]).sum()

    with torch.no_grad():
        before = float(loss())
    optimizer = torch.optim.LBFGS([log_temperature, bias], lr=0.5, max_iter=200, line_search_fn="strong_wolfe")

    def closure() -> float:
        optimizer.zero_grad()
        value = loss()
        value.backward()
        return float(value.detach())

    optimizer.step(closure)
    with torch.no_grad():
        if not float(loss()) <= before:
            return Calibration()
        temperature, first, second = float(log_temperature.exp()), float(bias[0]), float(bias[1])
    return Calibration(temperature, (first, second, 0.0))


def combine_orders(forward: Tensor, backward: Tensor) -> Tensor:
    """One undirected verdict from the log-probabilities of both reading orders, `[P, 3]` each; returns log-probabilities `[P, 3]`.

    Contradiction and neutrality hold for both orders or for neither, so their probability is the geometric mean of both. A pair
    supports when either text entails the other, so support is the larger of both. The three are renormalised. Swapping
    the arguments gives bit-identical results, and two orders that agree are returned as they are.
    """
    combined = (forward + backward) / 2
    combined[:, SUPPORT] = torch.maximum(forward[:, SUPPORT], backward[:, SUPPORT])
    return combined.log_softmax(-1)
