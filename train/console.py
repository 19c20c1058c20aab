"""What training prints: one console, one way to show a table."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from lightning.pytorch.utilities import rank_zero_only
from rich.console import Console
from rich.table import Table

# A log file has no width; rich would fold it to 80 columns.
console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)


@rank_zero_only
def say(text: str) -> None:
    """Prints a line, from the first process only."""
    console.print(text)


@rank_zero_only
def show_rows(title: str, rows: Sequence[dict[str, Any]]) -> None:
    """Prints rows that share their keys as a table, from the first process only."""
    table = Table(title=title)
    for name in rows[0]:
        table.add_column(name, justify="left" if isinstance(rows[0][name], str) else "right")
    for row in rows:
        table.add_row(*(f"{value:,}" if isinstance(value, int) else str(value) for value in row.values()))
    console.print(table)
