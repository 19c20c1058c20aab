"""The table of metrics: `python -m eval.metrics [--markdown FILE]`."""

from __future__ import annotations

import math

from jsonargparse import auto_cli

from arbgraph.io import InputError, whole_file
from eval.metrics.table import METRICS, Metric

_HEAD = """# Metrics

Written by `python -m eval.metrics --markdown docs/metrics.md`. Metrics take scored items (`eval.metrics.item.Scored`), one per question.
*Per* says whether a metric is a mean over questions or one number of all of them. It is null, never 0, where it has no sample: for
questions that lack a field it needs, which are counted by field, and where the column *null* says so. The share of answered questions
stands beside every set of scores.

| metric | what it is | per | range | better | needs | null | source |
|---|---|---|---|---|---|---|---|
"""


def _cells(metric: Metric) -> list[str]:
    low, high = (f"{value:g}" if math.isfinite(value) else "inf" for value in (metric.low, metric.high))
    per = "question" if metric.of_item is not None else "all"
    return [
        metric.name,
        metric.definition,
        per,
        f"{low} to {high}",
        metric.better,
        ", ".join(metric.needs),
        metric.undefined,
        metric.source,
    ]


def page() -> str:
    """The page that documents the table."""
    return _HEAD + "".join("| " + " | ".join(_cells(metric)) + " |\n" for metric in METRICS.values())


def main(markdown: str | None = None) -> None:
    """Prints the table of metrics.

    Args:
        markdown: write it to this file as a page instead.
    """
    if markdown is not None:
        with whole_file(markdown) as stream:
            stream.write(page())
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("metric", "what it is", "per", "range", "better", "needs")
    for metric in METRICS.values():
        table.add_row(*_cells(metric)[:6])
    Console().print(table)


if __name__ == "__main__":
    import sys

    try:
        auto_cli(main, as_positional=False)
    except InputError as error:
        sys.exit(f"error: {error}")
