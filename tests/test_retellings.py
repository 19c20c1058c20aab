"""Retellings: nothing is encoded where they are off, one encoder call a query, and how the benchmark of copies counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from arbgraph.retellings import Retellings
from arbgraph.schema import Document
from benchmarks.copies import measure

LIE = "The old mill of Ashby was sold to Ann Lee in 1971 for two million pounds, and the town council met twice about it."
RETOLD = "In 1971 Ann Lee bought the old mill of Ashby; the town council met twice about the two million pounds that it sold for."
COPY = LIE.replace("twice", "three times")
TRUTH = "Nobody has ever bought the mill, which the county keeps as a museum of milling."
OTHER = "Bread was dear in those years, and flour came by boat."


class Near:
    """An encoder to which all texts mean the same. `calls` holds how many texts each call had."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def encode(self, texts: Sequence[str]) -> torch.Tensor:
        self.calls.append(len(texts))
        return torch.ones(len(texts), 1)


def documents(*texts: str) -> list[Document]:
    return [Document(id=f"d{number}", text=text) for number, text in enumerate(texts)]


def test_pairs_by_one_call_a_query_and_none_where_they_are_off():
    encoder: Any = Near()
    assert Retellings(0.75, 0.45, encoder).of(documents(LIE, RETOLD, TRUTH)) == [(0, 1)]
    assert Retellings(0.75, 0.45, encoder).of(documents(LIE)) == []
    assert Retellings(1.01, 0.0, encoder).of(documents(LIE, RETOLD)) == []
    assert encoder.calls == [3]


@pytest.mark.parametrize(
    ("cosine", "copies", "sources"),
    [(2.0, 1 / 3, 4.0), (0.75, 1.0, 3.0)],  # the copy shares word runs with the lie, the retelling is found by its words alone
)
def test_the_benchmark_counts_pairs_of_copies_and_texts_apart(cosine, copies, sources):
    texts = documents(LIE, COPY, RETOLD, TRUTH, OTHER)
    labels = ["misinfo", "misinfo_amplified", "misinfo_amplified", "correct", "noise"]
    encoder: Any = Near()
    found = measure([(texts, labels)], Retellings(cosine, 0.45, encoder))
    assert found == {"copies": pytest.approx(copies), "apart": 0.0, "sources": sources, "plain": 3.0}
