"""The rows of the table of systems."""

from __future__ import annotations

from arbgraph.systems.registry import SystemInfo

ROWS: tuple[SystemInfo, ...] = (
    SystemInfo(
        name="standard",
        title="Standard RAG",
        paper="concatenated prompt",
        year=2020,
        target="arbgraph.systems.standard:StandardRAG",
    ),
)
