"""`arbgraph systems`: lists what can answer a query from documents."""

from __future__ import annotations

from typing import Any

from arbgraph.commands.common import console, write_lines


def options(parser: Any) -> None:
    parser.add_argument("--json", type=str | None, default=None, help="write one JSON line per system to this file; - for standard output")


def run(json: str | None) -> int:
    """Prints the table of systems: what each needs, where it comes from, and where ours departs from it."""
    from dataclasses import asdict

    from rich.table import Table

    from arbgraph.systems.registry import systems

    rows = list(systems().values())
    if json is not None:
        write_lines(json, [asdict(row) for row in rows])
    if json == "-":
        return 0
    table = Table("system", "what", "paper", "year", "needs", "differs from the paper", box=None, padding=(0, 2, 0, 0))
    for row in rows:
        table.add_row(row.name, row.title, row.paper, str(row.year), ", ".join(row.needs), row.deviations)
    console().print(table)
    return 0
