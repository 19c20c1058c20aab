"""What a short-answer reader's answers are worth, passage by passage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from arbgraph.reader import Answers
from arbgraph.reader.readings import Reading
from eval.metrics.answers import exact_match, token_f1
from eval.metrics.calibration import expected_calibration_error
from eval.metrics.ranking import auroc


def reading_scores(rows: Sequence[Reading], answers: Sequence[Answers]) -> dict[str, Any]:
    """What a set of answers is worth.

    `auroc_right`: the best span's probability ranks exact matches above the others, over passages that state an answer; `auroc_answered`:
    the probability of an answer ranks passages that state one above those that do not; `ece`: of the best span's probability over all
    passages, where only an exact match counts. None where a passage of that kind is missing.
    """
    em, f1, answered, none, probability = [], [], [], [], []
    right: list[float] = []
    for row, answer in zip(rows, answers, strict=True):
        hit = 0.0
        if row.spans:
            text, gold = (answer[0].text if len(answer) else ""), [row.answers]
            hit = exact_match(text, gold) or 0.0
            overlap = token_f1(text, gold)
            em.append(hit)
            f1.append(overlap.f1 if overlap else 0.0)
            answered.append(float(answer.best is not None))
            right.append(hit * answered[-1])
        else:
            none.append(float(answer.best is None))
            right.append(none[-1])
        probability.append((answer[0].score if len(answer) else 0.0, hit, 1 - answer.no_answer, float(bool(row.spans))))
    best, hits, some, stated = torch.tensor(probability, dtype=torch.float64).reshape(-1, 4).T.contiguous()
    with_answer = stated == 1
    return {
        "readings": len(rows),
        "em": mean(em),
        "f1": mean(f1),
        "answered": mean(answered),
        "none": mean(none),
        "right": mean(right),
        "auroc_right": auroc(best[with_answer], hits[with_answer]),
        "auroc_answered": auroc(some, stated),
        "ece": expected_calibration_error(best, hits),
    }


def mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
