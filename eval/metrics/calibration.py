"""Whether scores mean what they say: Brier score and its decomposition, calibration errors, log loss. Undefined is None."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from eval.metrics.ranking import scored_labels

BINS = 15
_CLIP = 1e-6


@dataclass(frozen=True)
class Bins:
    """The bins that hold anything, lowest first: how many scores, their mean, and the share of positives, all `[K]` float64."""

    count: Tensor
    score: Tensor
    positive: Tensor

    @property
    def gap(self) -> Tensor:
        """|mean score - share of positives| of every bin."""
        return (self.score - self.positive).abs()


@dataclass(frozen=True)
class BrierParts:
    """brier = reliability - resolution + uncertainty + within_bin.

    The first three are Murphy's (1973), on bins; `within_bin` is what the bins blur, 0 where all scores of a bin are equal.
    """

    reliability: float
    resolution: float
    uncertainty: float
    within_bin: float


def _checked(score: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
    score, label = scored_labels(score, label)
    if score.numel() and not (float(score.min()) >= 0 and float(score.max()) <= 1):
        raise ValueError("scores must lie in [0, 1] to be read as probabilities")
    return score, label


def equal_width_bins(score: Tensor, label: Tensor, bins: int = BINS) -> Bins:
    """Bins (0, 1/bins], (1/bins, 2/bins], ..., closed on the right; a score of 0 belongs to the first; empty bins are left out."""
    score, label = _checked(score, label)
    edges = torch.arange(1, bins, dtype=torch.float64) / bins
    return _collect(score, label, torch.bucketize(score, edges))


def equal_mass_bins(score: Tensor, label: Tensor, bins: int = BINS) -> Bins:
    """Bins of about N/bins scores each. Tied scores are never parted: they go where the middle one of them falls."""
    score, label = _checked(score, label)
    _, inverse, count = torch.unique(score, return_inverse=True, return_counts=True)
    middle = torch.cumsum(count, 0) - count + (count - 1) / 2
    return _collect(score, label, (middle * bins / max(1, len(score))).long()[inverse])


def _collect(score: Tensor, label: Tensor, which: Tensor) -> Bins:
    _, inverse, count = torch.unique(which, return_inverse=True, return_counts=True)
    sums = torch.zeros(2, len(count), dtype=torch.float64).index_add_(1, inverse, torch.stack([score, label]))
    return Bins(count.double(), *(sums / count))


def expected_calibration_error(score: Tensor, label: Tensor, bins: int = BINS) -> float | None:
    """Sum over equal-width bins of (n_b / N) |mean score - share of positives|, in [0, 1]. None without scores.

    Source: Guo et al., ICML 2017, Eq. 3, for the probability of the positive class.
    """
    return _mean_gap(equal_width_bins(score, label, bins))


def adaptive_calibration_error(score: Tensor, label: Tensor, bins: int = BINS) -> float | None:
    """The same over bins of equal mass. None without scores."""
    return _mean_gap(equal_mass_bins(score, label, bins))


def maximum_calibration_error(score: Tensor, label: Tensor, bins: int = BINS) -> float | None:
    """The largest gap of an equal-width bin, in [0, 1]. None without scores."""
    gap = equal_width_bins(score, label, bins).gap
    return float(gap.max()) if gap.numel() else None


def _mean_gap(bins: Bins) -> float | None:
    return float((bins.count * bins.gap).sum() / bins.count.sum()) if bins.count.numel() else None


def brier_score(score: Tensor, label: Tensor) -> float | None:
    """Mean squared difference of score and label, in [0, 1]. None without scores."""
    score, label = _checked(score, label)
    return float((score - label).square().mean()) if score.numel() else None


def brier_parts(score: Tensor, label: Tensor, bins: int = BINS) -> BrierParts | None:
    """The Brier score taken apart on equal-width bins. None without scores."""
    table = equal_width_bins(score, label, bins)
    brier = brier_score(score, label)
    if brier is None:
        return None
    share = table.count / table.count.sum()
    rate = float((share * table.positive).sum())
    reliability = float((share * table.gap.square()).sum())
    resolution = float((share * (table.positive - rate).square()).sum())
    uncertainty = rate * (1 - rate)
    return BrierParts(reliability, resolution, uncertainty, brier - (reliability - resolution + uncertainty))


def log_loss(score: Tensor, label: Tensor) -> float | None:
    """Mean negative log-likelihood in nats, scores clipped to [1e-6, 1 - 1e-6]. None without scores."""
    score, label = _checked(score, label)
    score = score.clamp(_CLIP, 1 - _CLIP)
    return float(-(label * score.log() + (1 - label) * (1 - score).log()).mean()) if score.numel() else None
