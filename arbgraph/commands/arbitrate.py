"""`arbgraph arbitrate`: settles the conflicts in the documents of every query."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from arbgraph.commands import common
from arbgraph.commands.common import console
from arbgraph.commands.sink import Sink
from arbgraph.settings import ChatStage

if TYPE_CHECKING:
    from arbgraph.schema import Arbitration, Query


def options(parser: Any) -> None:
    common.query_options(parser)
    common.model_options(parser)


def run(
    input: str,
    json: str | None,
    quiet: bool,
    strict: bool,
    settings: str,
    propagation: str | None,
    arbitrator: str | None,
    chat: str,
    chat_options: dict[str, Any],
    chat_stages: list[ChatStage] | None,
    cache: str | None,
) -> int:
    """Arbitrates every query of a file. Results appear under their name when all are written; a killed run resumes."""
    chosen = common.settings_of(settings, chat_stages, chat)
    queries, refused = common.usable_queries(input, max_document_chars=chosen.max_document_chars, strict=strict)
    show = not quiet and json != "-"
    total = _Totals()
    model = common.chat_of(chat, chat_options, cache, chosen)
    from arbgraph.pipeline import ArbGraph

    system = ArbGraph(chosen, propagation=propagation, arbitrator=arbitrator, chat=model)
    made_by = {"settings": system.settings.model_dump(mode="json"), "models": system.models}

    def same(row: dict[str, Any], query: Query) -> bool:
        counts = row.get("diagnostics", {})
        return counts.get("input") == query.digest and {"settings": row.get("settings"), "models": counts.get("models")} == made_by

    with Sink(json, queries, same) as sink:
        todo = [query for query in queries if query.id not in sink.done]
        if sink.done and not quiet:
            console(stderr=True).print(f"resuming: {len(sink.done)} of {len(queries)} queries are done")
        with common.progress("arbitrating", len(todo), show=not quiet and (len(todo) > 1 or model is not None)) as advance:
            for chunk in common.chunks(todo):
                arbitrations = system.arbitrate(chunk)
                advance(len(chunk))
                for arbitration in arbitrations:
                    sink.write(arbitration.model_dump(mode="json"))
                    total.add(arbitration)
                    if show and (len(queries) == 1 or json is None):
                        common.print_view(arbitration)
    if not quiet and len(queries) > 1:
        console(stderr=True).print(total.text())
    if not quiet and model is not None:
        console(stderr=True).print(common.escape(common.chat_line(model, total.usage)), soft_wrap=True)
    return common.report_refused(refused, len(queries))


class _Totals:
    """What a batch amounted to, for the closing line."""

    def __init__(self) -> None:
        self.started, self.queries = time.monotonic(), 0
        self.usage: Counter[str] = Counter()
        self.counts = dict.fromkeys(("documents", "claims", "candidate_pairs", "contradiction_edges", "arbitrator_calls"), 0)

    def add(self, arbitration: Arbitration) -> None:
        self.queries += 1
        for spent in arbitration.diagnostics.get("usage", {}).values():
            self.usage.update(spent)
        for name in self.counts:
            self.counts[name] += arbitration.diagnostics.get(name, 0)

    def text(self) -> str:
        minutes = (time.monotonic() - self.started) / 60
        counted = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in self.counts.items())
        return f"{self.queries} queries in {minutes:.1f} min: {counted}{common.peak_memory()}"
