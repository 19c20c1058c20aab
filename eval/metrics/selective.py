"""What is gained by leaving the doubtful cases out: risk against coverage. Undefined is None."""

from __future__ import annotations

import torch
from torch import Tensor

from eval.metrics.ranking import scored_labels


def risk_coverage_curve(confidence: Tensor, error: Tensor) -> tuple[Tensor, Tensor]:
    """Coverage `[N]` = 1/N, 2/N, ..., 1 and the risk `[N]` there: the share of errors among the most confident.

    Inside a tie the expected risk over all orders is given, so that the curve does not depend on the order of the input.

    Args:
        confidence: `[N]`, higher is taken first.
        error: `[N]`, 1 where the case is wrong, else 0.
    """
    confidence, error = scored_labels(confidence, error)
    _, inverse, count = torch.unique(-confidence, return_inverse=True, return_counts=True)
    wrong = torch.zeros(len(count), dtype=torch.float64).index_add_(0, inverse, error)
    taken = torch.arange(1, len(error) + 1, dtype=torch.float64)
    errors = torch.cumsum(torch.repeat_interleave(wrong / count, count), 0)
    return taken / len(error), errors / taken


def area_under_risk_coverage(confidence: Tensor, error: Tensor) -> float | None:
    """AURC: mean risk over all coverages, in [0, 1], lower is better. None without cases.

    Source: Geifman et al., ICLR 2019.
    """
    _, risk = risk_coverage_curve(confidence, error)
    return float(risk.mean()) if risk.numel() else None


def best_area_under_risk_coverage(error: Tensor) -> float | None:
    """The smallest AURC that these errors allow: every right case before every wrong one. None without cases."""
    error = torch.as_tensor(error, dtype=torch.float64)
    return area_under_risk_coverage(-error, error)
