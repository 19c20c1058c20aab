from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.metrics.classification import classification_report, confusion_matrix


def one_hot(labels: list[int]) -> torch.Tensor:
    return torch.nn.functional.one_hot(torch.tensor(labels), 3).double()


def test_report_by_hand() -> None:
    report = classification_report(one_hot([0, 0, 1, 1, 2]), torch.tensor([0, 1, 1, 1, 0]))
    assert report["confusion"] == [[1, 0, 1], [1, 2, 0], [0, 0, 0]]
    assert report["accuracy"] == pytest.approx(3 / 5)
    # support: precision 1/2, recall 1/2; contradict: precision 1, recall 2/3, F1 4/5; neutral never occurs, so it is not averaged.
    assert report["per_class"]["support"] == pytest.approx({"precision": 0.5, "recall": 0.5, "f1": 0.5, "support": 2})
    assert report["per_class"]["contradict"]["f1"] == pytest.approx(0.8)
    assert report["per_class"]["neutral"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0, "support": 0}
    assert report["macro_f1"] == pytest.approx(0.65)
    assert report["n"] == 5


def test_calibration_error_by_hand() -> None:
    probabilities = torch.tensor([[0.9, 0.1, 0.0], [0.9, 0.05, 0.05], [0.4, 0.6, 0.0], [0.6, 0.4, 0.0]])
    gold = torch.tensor([0, 1, 1, 0])
    # Bin of 0.9: accuracy 1/2, gap 0.4, half of the rows. Bin of 0.6: accuracy 1, gap 0.4, the other half.
    assert classification_report(probabilities, gold)["ece"] == pytest.approx(0.4)
    assert classification_report(one_hot([0, 1, 2]), torch.tensor([0, 1, 2]))["ece"] == 0.0


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=40))
def test_agrees_with_sklearn(rows: list[tuple[int, int]]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    predicted, gold = [p for p, _ in rows], [g for _, g in rows]
    report = classification_report(one_hot(predicted), torch.tensor(gold))
    assert report["confusion"] == metrics.confusion_matrix(gold, predicted, labels=[0, 1, 2]).tolist()
    assert report["accuracy"] == pytest.approx(metrics.accuracy_score(gold, predicted))
    expected = metrics.f1_score(gold, predicted, labels=sorted(set(gold)), average="macro", zero_division=0)
    assert report["macro_f1"] == pytest.approx(expected)
    assert torch.tensor(report["confusion"]).equal(confusion_matrix(torch.tensor(predicted), torch.tensor(gold), 3))


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="N > 0"):
        classification_report(torch.zeros(0, 3), torch.zeros(0, dtype=torch.long))
    with pytest.raises(ValueError, match="expected probabilities"):
        classification_report(torch.zeros(2, 2), torch.tensor([0, 1]))
