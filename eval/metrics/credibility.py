"""Credibility of claims as a whole: quality of scores and of the accepted set, and paired comparisons of two systems over questions.

Undefined is None.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from eval.metrics.calibration import (
    adaptive_calibration_error,
    brier_parts,
    brier_score,
    expected_calibration_error,
    log_loss,
    maximum_calibration_error,
)
from eval.metrics.ranking import auroc, average_precision, base_rate, mid_ranks
from eval.metrics.selective import area_under_risk_coverage, best_area_under_risk_coverage
from eval.metrics.significance import EXACT, Difference, difference_of, permutation_p

COMPARED = ("f1", "auroc", "brier")
_BLOCK = 1 << 22  # positive-negative pairs compared at a time


def accepted_set(accepted: Tensor, label: Tensor) -> dict[str, float | int | None]:
    """Precision, recall and F1 of the accepted claims `[N]` boolean against labels `[N]`, with the counts of both kinds of error.

    `false_rejections` are valid claims that were not accepted, `false_acceptances` invalid ones that were; `specificity` is the
    share of invalid claims that were not accepted, `balanced_accuracy` the mean of it and recall: F1 alone rewards accepting
    everything where most claims are valid.
    """
    accepted, valid = accepted.bool(), label.bool()
    hit, extra, miss = int((accepted & valid).sum()), int((accepted & ~valid).sum()), int((~accepted & valid).sum())
    right = len(label) - hit - extra - miss
    both = hit + miss > 0 and extra + right > 0
    return {
        "precision": hit / (hit + extra) if hit + extra else None,
        "recall": hit / (hit + miss) if hit + miss else None,
        "f1": 2 * hit / (2 * hit + extra + miss) if hit + extra + miss else None,
        "specificity": right / (extra + right) if extra + right else None,
        "balanced_accuracy": (hit / (hit + miss) + right / (extra + right)) / 2 if both else None,
        "false_rejections": miss,
        "false_acceptances": extra,
    }


def quality(score: Tensor, accepted: Tensor, label: Tensor) -> dict[str, Any]:
    """Every number about one system on N claims: `score [N]` in [0, 1], `accepted [N]` boolean, `label [N]` 0 or 1.

    `auprc_valid` and `auprc_invalid` take either class as the positive one; without skill they are `base_rate` and 1 - `base_rate`.
    The risk of `aurc` at a coverage is the share of invalid claims among the highest scores. `distinct_scores` are counted to
    nine decimals.
    """
    parts = brier_parts(score, label)
    return {
        "claims": len(label),
        "base_rate": base_rate(label),
        **accepted_set(accepted, label),
        "auroc": auroc(score, label),
        "auprc_valid": average_precision(score, label),
        "auprc_invalid": average_precision(score, label, positive=0),
        "brier": brier_score(score, label),
        "brier_parts": asdict(parts) if parts else None,
        "ece": expected_calibration_error(score, label),
        "adaptive_ece": adaptive_calibration_error(score, label),
        "maximum_ce": maximum_calibration_error(score, label),
        "log_loss": log_loss(score, label),
        "aurc": area_under_risk_coverage(score, 1 - label),
        "aurc_best": best_area_under_risk_coverage(1 - label),
        "distinct_scores": torch.unique(score.double().round(decimals=9)).numel(),
    }


@dataclass(frozen=True)
class Scored:
    """One system on N labelled claims of Q questions: `score`, `accepted`, `label` (float64) and `question` in 0..Q-1, all `[N]`."""

    score: Tensor
    accepted: Tensor
    label: Tensor
    question: Tensor

    @cached_property
    def questions(self) -> int:
        return int(self.question.max()) + 1 if self.question.numel() else 0

    def per_question(self, value: Tensor) -> Tensor:
        """Sums `[Q]` of `value [N]`."""
        return torch.zeros(self.questions, dtype=torch.float64).index_add(0, self.question, value.double())

    @cached_property
    def f1_sums(self) -> tuple[Tensor, Tensor]:
        """F1 as numerator and denominator per question, `[Q]` each."""
        accepted, valid = self.accepted.double(), self.label
        return self.per_question(2 * accepted * valid), self.per_question(accepted + valid)

    @cached_property
    def brier_sums(self) -> tuple[Tensor, Tensor]:
        """The Brier score likewise."""
        return self.per_question((self.score.double() - self.label).square()), self.per_question(torch.ones_like(self.label))

    @cached_property
    def wins(self) -> Tensor:
        """`[Q, Q]`: pairs of a positive of question q and a negative of question r that are in the right order, ties counting half."""
        positive, negative = (self.label == 1).nonzero().squeeze(-1), (self.label == 0).nonzero().squeeze(-1)
        table = torch.zeros(self.questions, self.questions, dtype=torch.float64)
        low = self.score[negative].double()
        for rows in positive.split(max(1, _BLOCK // max(1, len(negative)))):
            high = self.score[rows].double().unsqueeze(-1)
            won = (high > low).double() + 0.5 * (high == low).double()
            columns = torch.zeros(len(rows), self.questions, dtype=torch.float64).index_add(1, self.question[negative], won)
            table.index_add_(0, self.question[rows], columns)
        return table

    def resampled(self, metric: str, weights: Tensor) -> Tensor:
        """The pooled metric `[B]` where question q counts `weights [B, Q]` times; NaN where it is undefined."""
        if metric == "auroc":
            pairs = (weights @ self.per_question(self.label)) * (weights @ self.per_question(1 - self.label))
            return ((weights @ self.wins) * weights).sum(-1) / pairs
        above, below = self.f1_sums if metric == "f1" else self.brier_sums
        return (weights @ above) / (weights @ below)


def compare(system: Scored, reference: Scored, metric: str, weights: Tensor, flips: Tensor) -> tuple[Difference, float] | None:
    """System minus reference on the same claims: the bootstrap comparison, and the two-sided p of the permutation test.

    Both take questions as units: the bootstrap draws them (`weights [B, Q]`, from `bootstrap_weights`), the permutation test
    exchanges the two systems within random ones (`flips [R, Q]`, from `sign_flips`). For AUROC the exchanged scores are mid-ranks,
    since the scales of two systems differ. None where the metric is undefined for either.
    """
    if not (system.label.equal(reference.label) and system.question.equal(reference.question)):
        raise ValueError("the two systems were scored on different claims")
    everything = torch.ones(1, system.questions, dtype=torch.float64)
    observed = float(system.resampled(metric, everything) - reference.resampled(metric, everything)) if system.questions else torch.nan
    samples = system.resampled(metric, weights) - reference.resampled(metric, weights)
    difference = difference_of(samples, observed, system.questions)
    if difference is None:
        return None
    permuted = _permuted_auroc(system, reference, flips) if metric == "auroc" else _permuted_ratio(system, reference, metric, flips)
    return difference, permutation_p(permuted, observed, exact=system.questions <= EXACT)


def _permuted_ratio(system: Scored, reference: Scored, metric: str, flips: Tensor) -> Tensor:
    """Differences `[R]` of a pooled ratio after exchanging the systems where a flip is -1."""
    name = "f1_sums" if metric == "f1" else "brier_sums"
    (above_a, below_a), (above_b, below_b) = getattr(system, name), getattr(reference, name)
    centre, half = (above_a + above_b).sum() / 2, flips @ (above_a - above_b) / 2
    centre_below, half_below = (below_a + below_b).sum() / 2, flips @ (below_a - below_b) / 2
    return (centre + half) / (centre_below + half_below) - (centre - half) / (centre_below - half_below)


def _permuted_auroc(system: Scored, reference: Scored, flips: Tensor) -> Tensor:
    """Differences `[R]` of AUROC after exchanging mid-ranks.

    A positive and a negative are exchanged or kept on their own, which makes the AUROC of either mixture quadratic in the flips;
    the quadratic parts are equal and cancel, so the difference is a plain signed sum over questions.
    """
    a, b = mid_ranks(system.score), mid_ranks(reference.score)
    positive, negative = system.label == 1, system.label == 0
    # What a claim contributes with its own rank against the others' ranks of either system, system minus reference.
    up = _above(a[positive], a[negative]) - _above(b[positive], b[negative])
    up = up + _above(a[positive], b[negative]) - _above(b[positive], a[negative])
    down = _above(-a[negative], -a[positive]) - _above(-b[negative], -b[positive])
    down = down + _above(-a[negative], -b[positive]) - _above(-b[negative], -a[positive])
    share = torch.zeros_like(system.label)
    share[positive], share[negative] = up, down
    return flips @ system.per_question(share) / 2 / (int(positive.sum()) * int(negative.sum()))


def _above(value: Tensor, others: Tensor) -> Tensor:
    """How many of `others` lie below each value `[K]`, ties counting half."""
    ordered = others.sort().values
    return (torch.searchsorted(ordered, value) + torch.searchsorted(ordered, value, right=True)).double() / 2
