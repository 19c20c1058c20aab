"""Every metric by name, and `score`, which computes them for a list of items.

A metric is either the mean of a value per item, or one number of all items together. Its value depends on the items alone: not on their
order, nor on which other metrics are computed. Whatever has no sample is None, never 0 or NaN.
"""

from __future__ import annotations

import difflib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from eval.metrics.item import Scored
from eval.metrics.metric import Metric, UnknownMetricError
from eval.metrics.rows import ROWS

__all__ = ["METRICS", "Mean", "Metric", "Scored", "Scores", "UnknownMetricError", "score"]

METRICS: dict[str, Metric] = {row.name: row for row in ROWS}
if len(METRICS) != len(ROWS):
    raise RuntimeError(f"two metrics share a name: {[name for name, count in Counter(row.name for row in ROWS).items() if count > 1]}")


@dataclass(frozen=True)
class Mean:
    """The value of a metric over items: None where no item has a sample.

    `n` items had a value (for a number of all items: had what it needs), `undefined` had no sample, and `missing` counts the items that
    lacked a field.
    """

    value: float | None
    n: int
    undefined: int = 0
    missing: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Scores:
    """What `score` found: `values[metric][item id]` for metrics with a value per item, and `means[metric]` for all of them."""

    items: int
    answered_share: float | None
    values: Mapping[str, Mapping[str, float | None]]
    means: Mapping[str, Mean]

    def of(self, item: str) -> dict[str, float | None]:
        """All values of one item."""
        return {name: values[item] for name, values in self.values.items() if item in values}

    def to_dict(self) -> dict[str, Any]:
        """Items, answered share and means as plain JSON values."""
        return {"items": self.items, "answered_share": self.answered_share, "means": {n: asdict(mean) for n, mean in self.means.items()}}


def score(items: Sequence[Scored], names: Iterable[str] | None = None) -> Scores:
    """The metrics of the table, or the named ones, over the items.

    An item that lacks a field which a metric needs is left out of that metric and counted under `missing`; without names, metrics for which
    all items lack a field are left out altogether. Raises UnknownMetricError on a name that the table does not hold, ValueError on two
    items of one id.
    """
    repeated = [name for name, count in Counter(item.id for item in items).items() if count > 1]
    if repeated:
        raise ValueError(f"{len(repeated)} ids occur more than once, the first is {repeated[0]!r}; score every question once")
    ordered = sorted(items, key=lambda item: item.id)
    chosen = [METRICS[name] for name in _known(names)] if names is not None else _computable(ordered)
    values, means = {}, {}
    for metric in chosen:
        values_of, means[metric.name] = _one(metric, ordered)
        if values_of is not None:
            values[metric.name] = values_of
    answered = math.fsum(item.answered for item in ordered) / len(ordered) if ordered else None
    return Scores(len(ordered), answered, values, means)


def _known(names: Iterable[str]) -> list[str]:
    names = [names] if isinstance(names, str) else list(dict.fromkeys(names))
    for name in names:
        if name not in METRICS:
            close = difflib.get_close_matches(name, METRICS, n=3, cutoff=0.5)
            hint = f"did you mean {', '.join(close)}?" if close else "eval.metrics.table.METRICS lists them"
            raise UnknownMetricError(f"metric {name!r} is not known; {hint}")
    return names


def _computable(items: Sequence[Scored]) -> list[Metric]:
    return [metric for metric in METRICS.values() if any(not item.missing(metric.needs) for item in items)]


def _one(metric: Metric, items: Sequence[Scored]) -> tuple[dict[str, float | None] | None, Mean]:
    missing: Counter[str] = Counter()
    usable = []
    for item in items:
        lacking = item.missing(metric.needs)
        missing.update(lacking)
        if not lacking:
            usable.append(item)
    lacks = dict(sorted(missing.items()))
    if metric.of_items is not None:
        value = metric.of_items(usable) if usable else None
        return None, Mean(value, len(usable), missing=lacks)
    assert metric.of_item is not None
    values = {item.id: metric.of_item(item) for item in usable}
    defined = [value for value in values.values() if value is not None]
    # fsum is exact, so that the mean does not depend on the order of the items.
    mean = math.fsum(defined) / len(defined) if defined else None
    return values, Mean(mean, len(defined), len(values) - len(defined), lacks)
