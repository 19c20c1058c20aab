"""Frozen lists of reference facts for long answers: `python -m eval.fact_lists --prompts FILE --documents FILE --out FILE`.

A benchmark of prompts, such as LongFact, has no reference facts. They are made once from documents, best from ones that no evaluated
system sees: claims are extracted and aligned, those that do not bear on the prompt are dropped, and so is every claim that another one
contradicts, because a fact that sources dispute is no reference. What more independent sources state comes first, then what is more
relevant; at most `max_facts` are kept. No claim is arbitrated: the lists must not favour the arbitration that they are to measure.

The first line of the file says how it was made, so that a list is known by its models, settings and documents.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonargparse import auto_cli

from arbgraph.chat.base import ChatError
from arbgraph.checkpoint import CheckpointError, file_sha256
from arbgraph.io import InputError, write_json_lines
from arbgraph.schema import CONTRADICT, Query
from arbgraph.settings import SettingsError
from eval.benchmarks.long_form import read_passages, read_prompts

if TYPE_CHECKING:
    from arbgraph.graph import EvidenceGraph
    from arbgraph.settings import Settings

MAX_FACTS = 40


def choose_facts(graph: EvidenceGraph, settings: Settings, max_facts: int) -> tuple[list[str], dict[str, int]]:
    """The facts of a graph, best first, and how many claims were irrelevant, disputed, or beyond the limit."""
    relevant = graph.relevance >= settings.tau_q
    disputed = graph.relevance.new_zeros(graph.num_nodes, dtype=relevant.dtype)
    strong = (graph.relation.argmax(-1) == CONTRADICT) & (graph.relation[:, CONTRADICT] >= settings.tau_conf)
    # An irrelevant claim disputes nothing: it may speak of another thing of the same name.
    strong &= relevant[graph.pair_index[0]] & relevant[graph.pair_index[1]]
    disputed[graph.pair_index[:, strong].flatten()] = True
    rows = [row for row in range(len(graph.claims)) if bool(relevant[row]) and not bool(disputed[row])]
    rows.sort(key=lambda row: (-int(graph.sources[row]), -float(graph.relevance[row]), graph.claims[row].id))
    counts = {
        "irrelevant": int((~relevant).sum()),
        "disputed": int((disputed & relevant).sum()),
        "beyond_limit": max(0, len(rows) - max_facts),
    }
    return [graph.claims[row].text for row in rows[:max_facts]], counts


def build(
    queries: Sequence[Query], settings: str, chat: Any, max_facts: int, batch_size: int = 8
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """One row of facts per query, and what made them."""
    from arbgraph.pipeline import ArbGraph

    pipeline = ArbGraph(settings, chat=chat)
    rows = []
    for start in range(0, len(queries), batch_size):
        part = queries[start : start + batch_size]
        for query, graph in zip(part, pipeline.construct(part)[0], strict=True):
            facts, counts = choose_facts(graph, pipeline.settings, max_facts)
            rows.append({"id": query.id, "facts": facts, "left_out": counts})
    about = {"settings": pipeline.settings.model_dump(mode="json"), "models": pipeline.models, "max_facts": max_facts}
    return rows, about


def main(
    prompts: str,
    documents: str,
    out: str,
    settings: str = "default",
    chat: str = "none",
    max_facts: int = MAX_FACTS,
    limit: int | None = None,
) -> None:
    """Makes a list of reference facts for every prompt that has documents.

    Args:
        prompts: `{"id", "question"}` per line, such as LongFact's `test.jsonl`.
        documents: `{"id", "documents": [{"text", "title"?, "source"?}]}` per line, by the id of the prompt.
        out: file of the lists; the benchmark reads it as `facts.jsonl`.
        settings: profile or YAML file: extraction, alignment, relevance and contradiction thresholds.
        chat: chat model that extracts the claims, or `none` for the syntactic extractor.
        max_facts: facts kept per prompt.
        limit: at most so many prompts.
    """
    from arbgraph.chat.load import open_chat

    passages = read_passages(documents)
    chosen = [prompt for prompt in read_prompts(prompts) if prompt.id in passages][:limit]
    queries = [Query(id=prompt.id, query=prompt.question, documents=passages[prompt.id]) for prompt in chosen]
    if not queries:
        raise InputError(f"{documents}: no id of a prompt in {prompts} occurs; documents are listed by the id of their prompt")
    rows, about = build(queries, settings, open_chat(chat), max_facts)
    sources = {"prompts": file_sha256(Path(prompts)), "documents": file_sha256(Path(documents))}
    write_json_lines(out, [{"made_by": {**about, "sha256": sources}}, *rows])
    _print(rows, out)


def _print(rows: Sequence[dict[str, Any]], out: str) -> None:
    from rich.console import Console

    facts = sum(len(row["facts"]) for row in rows)
    left_out = {name: sum(row["left_out"][name] for row in rows) for name in ("irrelevant", "disputed", "beyond_limit")}
    details = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in left_out.items())
    Console().print(f"{facts} facts for {len(rows)} prompts in {out}; claims left out: {details}", markup=False, soft_wrap=True)


if __name__ == "__main__":
    try:
        auto_cli(main, as_positional=False)
    except (InputError, SettingsError, CheckpointError, ChatError) as error:
        sys.exit(f"error: {error}")
