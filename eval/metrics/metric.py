"""What the table says of a metric."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from eval.metrics.item import FIELDS, Scored

Better: TypeAlias = Literal["higher", "lower", "neither"]


class UnknownMetricError(LookupError):
    """A metric name that the table does not hold; the message lists near ones."""


@dataclass(frozen=True)
class Metric:
    """One row of the table.

    Attributes:
        name: unique. definition: what it is, in a phrase.
        needs: fields of `Scored` that it reads and that may be missing; `usage.NAME` is one cost.
        undefined: when it is None although nothing is missing; empty where it never is.
        source: where the definition is from.
        of_item: the value of one item; the metric is the mean. of_items: one number of all items. One of the two is given.
        low, high: its range. better: which end is good.
    """

    name: str
    definition: str
    needs: tuple[str, ...]
    undefined: str
    source: str
    of_item: Callable[[Scored], float | None] | None = None
    of_items: Callable[[Sequence[Scored]], float | None] | None = None
    low: float = 0.0
    high: float = 1.0
    better: Better = "higher"

    def __post_init__(self) -> None:
        if (self.of_item is None) == (self.of_items is None):
            raise ValueError(f"metric {self.name!r}: give of_item or of_items")
        unknown = [name for name in self.needs if name.partition(".")[0] not in FIELDS]
        if unknown or math.isnan(self.low) or math.isnan(self.high):
            raise ValueError(f"metric {self.name!r}: needs {unknown}, which no item has, or has no range")
