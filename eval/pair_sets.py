"""Labelled pair files as named sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor

from arbgraph.schema import RELATION_LABELS
from arbgraph.verifier.calibration import DevScores
from arbgraph.verifier.pairs import LabelledPair, PairFileError, read_pairs
from arbgraph.verifier.relation import RelationVerifier

T = TypeVar("T")


@dataclass(frozen=True)
class PairSet:
    """The pairs of one file. `name` is `folder/file` without its ending."""

    name: str
    file: Path
    pairs: list[LabelledPair]

    @property
    def labels(self) -> Tensor:
        """`[N]` long, in column order."""
        return torch.tensor([RELATION_LABELS.index(pair.label) for pair in self.pairs])

    @property
    def texts(self) -> list[tuple[str, str]]:
        """The pairs in the order of the file: what is said first, and what is judged by it."""
        return [(pair.a, pair.b) for pair in self.pairs]


def set_name(file: str | Path) -> str:
    """What a pair file is called in tables: `folder/file` without its ending."""
    file = Path(file)
    return f"{file.parent.name}/{file.name.split('.', 1)[0]}"


def evenly(items: Sequence[T], limit: int | None) -> list[T]:
    """At most `limit` of the items, evenly spaced; None takes all."""
    if limit is None or len(items) <= limit:
        return list(items)
    return [items[number * len(items) // limit] for number in range(limit)]


def read_sets(
    files: Sequence[str], *, root: str | Path = ".", limit: int | None = None, columns: Mapping[str, str] | None = None
) -> list[PairSet]:
    """Reads pair files, at most `limit` pairs of each, evenly spaced over the file.

    Raises PairFileError as `read_pairs`, and on two files of one name.
    """
    sets: dict[str, PairSet] = {}
    for file in files:
        name = set_name(file)
        if name in sets:
            raise PairFileError(f"{file}: a set named {name} was given twice; give each file once")
        path = Path(root) / file
        sets[name] = PairSet(name, path, evenly(read_pairs(path, columns), limit))
    return list(sets.values())


def read_both_orders(verifier: RelationVerifier, one: PairSet) -> DevScores:
    """Labels of a set and the verifier's raw logits in both orders."""
    logits = verifier.logits([*one.texts, *((b, a) for a, b in one.texts)])
    return DevScores(one.name, one.labels, logits[: len(one.pairs)], logits[len(one.pairs) :])


def one_hot(labels: Tensor) -> Tensor:
    """Decisions `[N]` as probabilities `[N, 3]` of a source that is always sure."""
    return torch.nn.functional.one_hot(labels, len(RELATION_LABELS)).double()


def means(reports: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> dict[str, float]:
    """The unweighted mean of each key over the reports: every set counts alike."""
    return {key: sum(report[key] for report in reports) / len(reports) for key in keys}
