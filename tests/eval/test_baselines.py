from __future__ import annotations

import json
from itertools import combinations_with_replacement, permutations
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from arbgraph.schema import CONTRADICT, NEUTRAL, SUPPORT
from arbgraph.verifier.pairs import PairFileError
from eval.baselines import (
    Baselines,
    HypothesisOnly,
    Similar,
    mismatch,
    predict_bands,
    predict_gates,
    tune_bands,
    tune_gates,
)
from eval.pair_sets import PairSet, evenly, read_sets


def similar(cosine: list[float], labels: list[int], flags: list[bool] | None = None) -> Similar:
    return Similar(np.array(cosine), np.array(flags or [False] * len(cosine)), np.array(labels))


def write(path: Path, rows: list[tuple[str, str, str]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"premise": a, "hypothesis": b, "label": label}) + "\n" for a, b, label in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("He left.", "He did not leave.", True),
        ("He never left.", "He didn't leave.", False),
        ("It can't be denied.", "It is so.", False),  # two negations cancel
        ("Built in 1990.", "Built in 1991.", True),
        ("Built in 1990.", "Built long ago.", False),
        ("It cost 1,200 in 1990.", "It cost 1200.", False),
        ("Nothing happened.", "Notably, it happened.", True),
        ("A knot.", "A rope.", False),
    ],
)
def test_mismatch(a: str, b: str, expected: bool) -> None:
    assert mismatch(a, b) is expected
    assert mismatch(b, a) is expected


def test_bands_separate_what_the_cosine_separates() -> None:
    # From below: contradiction, neutral, support - an unusual order, and found.
    dev = similar([0.1, 0.2, 0.4, 0.5, 0.8, 0.9], [CONTRADICT, CONTRADICT, NEUTRAL, NEUTRAL, SUPPORT, SUPPORT])
    low, high, labels = tune_bands(dev)
    assert labels == (CONTRADICT, NEUTRAL, SUPPORT)
    assert 0.2 < low <= 0.4
    assert 0.5 < high <= 0.8
    test = similar([0.0, 0.45, 0.95], [0, 0, 0])
    assert predict_bands(test, low, high, labels).tolist() == [CONTRADICT, NEUTRAL, SUPPORT]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2)), min_size=1, max_size=12))
def test_bands_are_the_best_on_dev(rows: list[tuple[int, int]]) -> None:
    dev = similar([cosine / 10 for cosine, _ in rows], [label for _, label in rows])
    gold = torch.tensor(dev.labels)
    found = int((predict_bands(dev, *tune_bands(dev)) == gold).sum())
    steps = [-1.01, *np.quantile(dev.cosine, np.linspace(0, 1, 50)), 1.01]
    best = max(
        int((predict_bands(dev, low, high, labels) == gold).sum())
        for low, high in combinations_with_replacement(sorted(set(steps)), 2)
        for labels in permutations(range(3))
    )
    assert found == best


def test_gates_by_hand() -> None:
    dev = similar([0.2, 0.7, 0.9, 0.3, 0.5, 0.6], [NEUTRAL, SUPPORT, SUPPORT, NEUTRAL, CONTRADICT, CONTRADICT], [False] * 3 + [True] * 3)
    support, contradict = tune_gates(dev)
    assert 0.2 < support <= 0.7
    assert 0.3 < contradict <= 0.5
    test = similar([0.8, 0.1, 0.55, 0.0], [0] * 4, [False, False, True, True])
    assert predict_gates(test, support, contradict).tolist() == [SUPPORT, NEUTRAL, CONTRADICT, NEUTRAL]


def test_gates_may_leave_a_label_out() -> None:
    support, _ = tune_gates(similar([0.5, 0.9], [NEUTRAL, NEUTRAL]))
    assert predict_gates(similar([1.0], [0]), support, 0.0).tolist() == [NEUTRAL]


def test_hypothesis_only_sees_the_second_text_alone(tmp_path: Path) -> None:
    rows = [(f"a{n}", "it was never so" if n % 2 else "it was surely so", "contradict" if n % 2 else "support") for n in range(20)]
    rows += [(f"a{n}", "a dog maybe", "neutral") for n in range(10)]
    train = read_sets([str(write(tmp_path / "t" / "train.jsonl", rows))])
    model = HypothesisOnly(train)
    test = read_sets([str(write(tmp_path / "t" / "x.jsonl", [("it was surely so", "it was never so", "neutral")]))])[0]
    assert model.predict(test).tolist() == [CONTRADICT]


@pytest.fixture
def sets(tmp_path: Path) -> list[PairSet]:
    near = ("The cat sat on the mat.", "The cat sat on a mat.", "support")
    far = ("The cat sat on the mat.", "Lima is the capital of Peru.", "neutral")
    negated = ("The cat sat on the mat.", "The cat did not sit on the mat.", "contradict")
    write(tmp_path / "one" / "dev.jsonl", [near, far, negated] * 3)
    files = [write(tmp_path / "one" / "test.jsonl", [negated, near, far, near]), write(tmp_path / "two" / "test.jsonl", [far, near])]
    return read_sets([str(file) for file in files])


def test_rules_are_tuned_on_the_own_dev_split_else_on_the_pool(sets: list[PairSet]) -> None:
    baselines = Baselines(["cosine_negation", "majority", "cosine_negation_pooled"], sets)
    first, second = (baselines.predict(one) for one in sets)
    assert list(first) == ["majority", "cosine_negation", "cosine_negation_pooled"]
    assert [first[name]["tuned_on"] for name in ("cosine_negation", "cosine_negation_pooled")] == ["own dev", "pooled dev"]
    assert second["cosine_negation"]["tuned_on"] == "pooled dev"
    assert first["cosine_negation"]["labels"].tolist() == [CONTRADICT, SUPPORT, NEUTRAL, SUPPORT]
    assert first["majority"]["settings"] == {"label": "support"}


def test_a_dev_file_that_is_evaluated_tunes_nothing(sets: list[PairSet]) -> None:
    dev = read_sets([str(sets[0].file.parent / "dev.jsonl")])
    with pytest.raises(PairFileError, match="need dev pairs to tune on"):
        Baselines(["cosine"], dev)
    assert Baselines(["majority"], dev).predict(dev[0])["majority"]["labels"].tolist() == [SUPPORT] * 9


def test_hypothesis_only_needs_training_files(sets: list[PairSet]) -> None:
    with pytest.raises(PairFileError, match="--train"):
        Baselines(["hypothesis_only"], sets)


def test_evenly_and_names(tmp_path: Path) -> None:
    assert evenly(range(10), 4) == [0, 2, 5, 7]
    assert evenly(range(3), 4) == evenly(range(3), None) == [0, 1, 2]
    file = str(write(tmp_path / "s" / "a.b.jsonl", [("x", "y", "neutral")]))
    assert read_sets([file])[0].name == "s/a"
    with pytest.raises(PairFileError, match="given twice"):
        read_sets([file, file])
