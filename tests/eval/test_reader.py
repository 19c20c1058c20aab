from __future__ import annotations

import json

import pytest

from arbgraph.checkpoint import CARD, METRICS
from arbgraph.reader import Answers, Span
from arbgraph.reader.readings import Reading
from eval.metrics.reading import reading_scores
from eval.reader import evaluate_reader, sampled
from tests.reader.conftest import saved, words  # noqa: F401
from tests.reader.sets import question_sets


def answers(text: str, score: float, none: float) -> Answers:
    return Answers((Span(text, 0, len(text), score),), none)


def test_scores_by_hand() -> None:
    """Right and kept, right and dropped, half right and kept, rightly none, wrongly answered."""
    passage = "built 1889 in Paris"
    stated = Reading("When?", passage, ((6, 10),), "t")
    silent = Reading("Who?", passage, (), "t")
    rows = [stated, stated, stated, silent, silent]
    given = [
        answers("1889", 0.9, 0.1),
        answers("1889", 0.4, 0.6),
        answers("1889 in Paris", 0.7, 0.2),
        answers("Paris", 0.2, 0.8),
        answers("Paris", 0.6, 0.3),
    ]
    found = reading_scores(rows, given)
    assert found["readings"] == 5
    assert found["em"] == pytest.approx(2 / 3)
    assert found["f1"] == pytest.approx((1 + 1 + 0.5) / 3)
    assert found["answered"] == pytest.approx(2 / 3)
    assert found["none"] == pytest.approx(1 / 2)
    assert found["right"] == pytest.approx((1 + 0 + 0 + 1 + 0) / 5)
    # Right ones 0.9 and 0.4 against the wrong one 0.7.
    assert found["auroc_right"] == pytest.approx(1 / 2)
    # Answered 0.9, 0.4, 0.8 against 0.2 and 0.7: five of six pairs in order.
    assert found["auroc_answered"] == pytest.approx(5 / 6)


def test_a_set_of_one_kind_has_no_auroc() -> None:
    found = reading_scores([Reading("Who?", "x", (), "t")], [Answers((), 1.0)])
    assert found["em"] is None
    assert found["auroc_answered"] is None
    assert found["none"] == 1.0


def test_a_smaller_sample_is_part_of_a_larger() -> None:
    rows = [Reading(f"Who is {number}?", "x", (), "t") for number in range(50)]
    assert sampled(rows, 10) == sampled(rows, 30)[:10]
    assert len(sampled(rows, None)) == 50


def test_the_numbers_reach_file_and_card(saved, tmp_path, capsys) -> None:  # noqa: F811
    data = question_sets(tmp_path / "sets")
    evaluate_reader(str(data), str(saved), limit=3, json=str(tmp_path / "out.json"), record=True, device="cpu")
    report = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert report["sets"]["poisonedrag/nq"]["readings"] == 3
    assert report["sets"]["ramdocs/dev"]["lost"] == 1
    assert "multihop_train/musique" not in report["sets"], "training questions are not measured"
    assert json.loads((saved / METRICS).read_text(encoding="utf-8"))["evaluation"]["part"] == "test"
    assert "| poisonedrag/nq | 3 |" in (saved / CARD).read_text(encoding="utf-8")
    assert "test parts" in capsys.readouterr().out
