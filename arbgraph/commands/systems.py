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
    from rich.text import Text

    from arbgraph.systems.registry import systems

    rows = list(systems().values())
    if json is not None:
        write_lines(json, [asdict(row) for row in rows])
    if json == "-":
        return 0
    table = Table("system", "what it is, and where it departs from the paper", "needs", box=None, padding=(0, 2, 0, 0))
    for row in rows:
        source = f"{row.paper}, {row.year}"
        about = Text.assemble(
            row.title, (f" ({source})", "bright_black"), (f"\n{row.deviations}" if row.deviations else "", "bright_black")
        )
        table.add_row(Text(row.name, style="bold"), about, ", ".join(row.needs))
    console().print(table)
    return 0
