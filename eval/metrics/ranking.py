"""How well scores order claims: AUROC, average precision and correlations, exact under ties. Undefined is None, never a number."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def scored_labels(score: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
    """Both as float64 vectors of one length. Raises ValueError on other shapes, NaN scores, or labels other than 0 and 1."""
    score = torch.as_tensor(score, dtype=torch.float64)
    label = torch.as_tensor(label, dtype=torch.float64)
    if score.ndim != 1 or score.shape != label.shape:
        raise ValueError(f"scores {list(score.shape)} and labels {list(label.shape)} must be vectors of one length")
    if not torch.isfinite(score).all():
        raise ValueError(f"score {int((~torch.isfinite(score)).nonzero()[0])} is not finite")
    if not ((label == 0) | (label == 1)).all():
        raise ValueError("labels must be 0 or 1; leave out what has no label")
    return score, label


def mid_ranks(score: Tensor) -> Tensor:
    """Ranks `[N]` float64 from 1, smallest first; tied scores share the mean of their ranks."""
    _, inverse, count = torch.unique(torch.as_tensor(score), return_inverse=True, return_counts=True)
    last = torch.cumsum(count, 0)
    return (last - (count - 1) / 2).double()[inverse]


def auroc(score: Tensor, label: Tensor) -> float | None:
    """Probability that a positive outranks a negative, ties counting half: (R1 - n1 (n1 + 1) / 2) / (n1 n0), R1 the sum of the
    positives' mid-ranks. None where either class is missing.
    """
    score, label = scored_labels(score, label)
    positives = float(label.sum())
    negatives = len(label) - positives
    if positives == 0 or negatives == 0:
        return None
    ranks = float((mid_ranks(score) * label).sum())
    return (ranks - positives * (positives + 1) / 2) / (positives * negatives)


def average_precision(score: Tensor, label: Tensor, *, positive: int = 1) -> float | None:
    """Area under the precision-recall curve as the step sum over thresholds of (R_k - R_(k-1)) P_k; tied scores are one threshold.

    With `positive=0` the class of interest is label 0 and low scores are ranked first. Its value without any skill is the base
    rate of the positive class. None where either class is missing.
    """
    score, label = scored_labels(score, label)
    if positive == 0:
        score, label = -score, 1 - label
    total = float(label.sum())
    if total == 0 or total == len(label):
        return None
    _, inverse, count = torch.unique(-score, return_inverse=True, return_counts=True)
    hits = torch.zeros(len(count), dtype=torch.float64).index_add_(0, inverse, label)
    precision = torch.cumsum(hits, 0) / torch.cumsum(count, 0)
    return float((hits / total * precision).sum())


def base_rate(label: Tensor) -> float | None:
    """Share of positives, in [0, 1]; None without labels."""
    label = torch.as_tensor(label, dtype=torch.float64)
    return float(label.mean()) if label.numel() else None


def resampled_pearson(x: Tensor, y: Tensor, weights: Tensor) -> Tensor:
    """Pearson's correlation `[B]` of two vectors `[N]` where case i counts `weights[b, i]` times; NaN where either is constant."""
    x, y = x.double(), y.double()
    total = weights.sum(-1, keepdim=True)
    dx, dy = x - weights @ x.unsqueeze(-1) / total, y - weights @ y.unsqueeze(-1) / total
    spread = ((weights * dx.square()).sum(-1) * (weights * dy.square()).sum(-1)).sqrt()
    return torch.where(spread > 0, (weights * dx * dy).sum(-1) / spread, torch.nan)


def pearson(x: Tensor, y: Tensor) -> float | None:
    """Pearson's correlation of two vectors, in [-1, 1]; None where either is constant."""
    found = float(resampled_pearson(x, y, torch.ones(1, len(x), dtype=torch.float64)))
    return None if math.isnan(found) else found


def spearman(x: Tensor, y: Tensor) -> float | None:
    """Spearman's correlation: Pearson's of the mid-ranks. None where either is constant."""
    return pearson(mid_ranks(x), mid_ranks(y))
