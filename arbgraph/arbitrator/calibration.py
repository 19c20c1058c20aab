"""Calibration of verdicts: log-probabilities of A, B and abstention -> probabilities that mean what they say, both sides alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from arbgraph.minimise import minimise


@dataclass(frozen=True)
class VerdictCalibration:
    """`softmax(scores / temperature + (0, 0, abstain))`: one temperature, and how readily to abstain.

    The sides share everything, so swapping them still swaps the result. Source: temperature scaling, Guo et al., On Calibration of
    Modern Neural Networks, ICML 2017, with a bias for one class.
    """

    temperature: float = 1.0
    abstain: float = 0.0

    def log_probabilities(self, scores: Tensor) -> Tensor:
        """Calibrated log-probabilities `[.., 3]` of a wins, b wins, abstain, from scores `[.., 3]`; NaN rows stay NaN."""
        shift = torch.tensor([0.0, 0.0, self.abstain], dtype=torch.float64)
        return (scores.double() / self.temperature + shift).log_softmax(-1)

    def to_dict(self) -> dict[str, float]:
        """Plain data."""
        return {"temperature": self.temperature, "abstain": self.abstain}

    @classmethod
    def from_dict(cls, values: Mapping[str, float]) -> VerdictCalibration:
        """The inverse of `to_dict`. Raises KeyError on a missing entry."""
        return cls(float(values["temperature"]), float(values["abstain"]))


def fit_verdict_calibration(scores: Tensor, outcomes: Tensor) -> VerdictCalibration:
    """Temperature and abstention bias that minimise the negative log-likelihood of `outcomes [C]` (0 = a, 1 = b, 2 = unknown).

    Never worse than no calibration. Raises ValueError on scores that are not finite, or without any case.
    """
    if scores.shape[0] == 0 or not torch.isfinite(scores).all():
        raise ValueError("calibration needs at least one case, and finite scores; leave failed cases out")
    scores = scores.double().log_softmax(-1)
    values = torch.zeros(2, dtype=torch.float64, requires_grad=True)  # log-temperature, abstention bias

    def loss() -> Tensor:
        shift = torch.stack([values.new_zeros(()), values.new_zeros(()), values[1]])
        fitted = (scores / values[0].clamp(-5, 5).exp() + shift).log_softmax(-1)
        # A weak pull to no calibration keeps the fit finite on data without an error or without an unknown case.
        return -fitted[torch.arange(len(outcomes)), outcomes].mean() + 1e-3 * values.square().sum()

    if not minimise(values, loss):
        return VerdictCalibration()
    with torch.no_grad():
        return VerdictCalibration(float(values[0].clamp(-5, 5).exp()), float(values[1]))
