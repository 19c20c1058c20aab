"""The oracles: by hand, and the published figures of RAMDocs where its data is at hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from arbgraph.io import InputError
from arbgraph.schema import Document, Query
from eval.benchmarks.base import Item
from eval.benchmarks.registry import open_benchmark
from eval.oracles import evaluate, oracle_answers

REPOSITORY = Path(__file__).resolve().parents[2]


def item(name, documents, gold, wrong=()):
    texts = tuple(Document(id=f"d{place}", text=f"text {place}") for place in range(len(documents)))
    labels = {f"d{place}": label for place, (label, _) in enumerate(documents)}
    answers = {f"d{place}": answer for place, (_, answer) in enumerate(documents) if answer}
    return Item(Query(id=name, query="q", documents=texts), gold=gold, wrong=wrong, labels=labels, answers=answers)


ONE = item(
    "one",
    [("correct", "Paris"), ("misinfo", "Rome"), ("noise", "unknown"), ("misinfo", "rome."), ("correct", "Lyon")],
    gold=(("Paris",), ("Lyon",)),
    wrong=("Rome",),
)


def test_answers_by_hand():
    assert oracle_answers(ONE) == {
        "correct documents": ("Paris", "Lyon"),
        "all but noise": ("Paris", "Rome", "rome.", "Lyon"),
        "majority": ("rome",),
        "sole majority": ("rome",),
    }
    tie = oracle_answers(item("tie", [("misinfo", "b"), ("correct", "a")], gold=(("a",),)))
    assert (tie["majority"], tie["sole majority"]) == (("a",), ())
    # A majority against the gold answer stays one.
    against = oracle_answers(item("lost", [("misinfo", "b"), ("correct", "a"), ("misinfo", "B")], gold=(("a",),)))
    assert (against["majority"], against["sole majority"]) == (("b",), ("b",))


def test_scores_by_hand():
    # Without misinformation all documents but noise are right; one gold answer has no document.
    two = item("two", [("correct", "x"), ("noise", None)], gold=(("x",),))
    three = item("three", [("correct", "x")], gold=(("x",), ("y",)))
    found = evaluate([ONE, two, three])
    values = {name: found[name]["em_strict"]["value"] for name in ("correct documents", "all but noise", "majority")}
    assert values == pytest.approx({"correct documents": 2 / 3, "all but noise": 1 / 3, "majority": 1 / 3})
    assert found["questions"] == 3


def test_refuses_a_benchmark_without_labels():
    with pytest.raises(InputError, match="no oracle"):
        evaluate([item("bare", [], gold=(("x",),))])


def test_published_figures_of_ramdocs():
    folder = Path(os.environ.get("ARBGRAPH_DATA", REPOSITORY / "../shared/data")) / "ramdocs"
    if not folder.is_dir():
        pytest.skip(f"no RAMDocs at {folder}; set ARBGRAPH_DATA to the folder that holds ramdocs")
    benchmark = open_benchmark("ramdocs")
    items = [item for split in benchmark.splits for item in benchmark.read(folder, split)]
    found = evaluate(items)
    values = {name: found[name]["em_strict"]["value"] * 100 for name in ("correct documents", "all but noise", "majority")}
    assert values == pytest.approx({"correct documents": 82.8, "all but noise": 41.0, "majority": 19.0})
    # Eleven questions list an answer as right and as wrong.
    assert (found["questions"], found["correct documents"]["em_clean"]["n"]) == (500, 489)
