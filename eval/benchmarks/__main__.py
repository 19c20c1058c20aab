"""The table of benchmarks: `python -m eval.benchmarks [--root DATA] [--json OUT]`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from jsonargparse import auto_cli

from arbgraph.io import InputError, write_json_lines
from eval.benchmarks import Benchmark, benchmarks

COLUMNS = ("title", "licence", "wanted", "behaviour", "paper")


def rows(root: str | None) -> list[dict[str, Any]]:
    """Every benchmark as plain values; with a data folder, the number of questions by split, None where the data is not there."""
    result = []
    for row in benchmarks().values():
        about = {"name": row.name, "splits": list(row.splits), "main_metric": row.metrics[0], **{c: getattr(row, c) for c in COLUMNS}}
        result.append(about | ({} if root is None else {"questions": _questions(row, root)}))
    return result


def _questions(row: Benchmark, root: str) -> dict[str, int] | None:
    if not (Path(root) / row.folder).is_dir():
        return None
    return {split: len(row.load(root, split)) for split in row.splits}


def main(root: str | None = None, json: str | None = None) -> None:
    """Prints every benchmark with its splits, terms, main metric and right behaviour.

    Args:
        root: folder of the data; with it, the questions of every split are counted.
        json: write the table here.
    """
    from rich.console import Console
    from rich.table import Table

    found = rows(root)
    if json is not None:
        write_json_lines(json, found)
    table = Table("benchmark", "questions" if root else "splits", "main metric", "licence", "a right answer", show_lines=True)
    for row in found:
        counts = row.get("questions")
        splits = ", ".join(row["splits"])
        if root is not None:
            splits = "no data" if counts is None else ", ".join(f"{split} {count}" for split, count in counts.items())
        table.add_row(f"{row['name']}\n[dim]{row['title']}[/dim]", splits, row["main_metric"], row["licence"], row["behaviour"])
    Console().print(table)


if __name__ == "__main__":
    try:
        auto_cli(main, as_positional=False)
    except InputError as error:
        sys.exit(f"error: {error}")
