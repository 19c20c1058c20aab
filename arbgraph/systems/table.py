"""The rows of the table of systems."""

from __future__ import annotations

from arbgraph.systems.registry import SystemInfo

ROWS: tuple[SystemInfo, ...] = (
    SystemInfo(
        name="arbgraph",
        title="ArbGraph",
        paper="ArbGraph",
        year=2026,
        target="arbgraph.systems.arbgraph:ArbGraphSystem",
        needs=("encoder", "verifier"),
        deviations="A chat model is optional: without one, syntax, a trained verifier and counted evidence take its place.",
    ),
    SystemInfo(
        name="standard",
        title="Standard RAG",
        paper="concatenated prompt",
        year=2020,
        target="arbgraph.systems.standard:StandardRAG",
    ),
)
