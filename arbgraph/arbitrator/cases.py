"""What an arbitrator that reads text is shown: both claims, and for each the statements that speak for it, within a budget."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict
from torch import Tensor

from arbgraph.chat.base import Messages
from arbgraph.chat.prompts import Prompt
from arbgraph.chat.quoting import Block
from arbgraph.graph import EvidenceGraph
from arbgraph.independence import is_copied_quote
from arbgraph.propagation.edges import num_graphs
from arbgraph.schema import Claim, Document, Mention

_DATE = re.compile(r"[0-9]{4}(?:-[0-9]{2}){0,2}")


class Statement(BaseModel):
    """One statement that speaks for a claim, with where and when it was made. Statements of one `group` are one source."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    title: str = ""
    source: str = ""
    date: str = ""
    group: int | None = None

    def line(self) -> str:
        """The statement on one line."""
        origin = ", ".join(" ".join(part.split()) for part in (self.title, self.source, self.date) if part.strip())
        return f"[{origin or 'unnamed source'}] {' '.join(self.text.split())}"

    def place(self) -> tuple[str, ...]:
        """What orders statements of equal similarity, whatever the order of the documents."""
        return self.text, self.title, self.source, self.date


class ArbitrationCase(BaseModel):
    """A contradiction to settle. The statements are in the order in which they deserve room; `left_out` had none."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    query: str
    claim_a: str
    claim_b: str
    context_a: tuple[Statement, ...] = ()
    context_b: tuple[Statement, ...] = ()
    left_out_a: int = 0
    left_out_b: int = 0

    @property
    def left_out(self) -> int:
        """Statements of either side that found no room."""
        return self.left_out_a + self.left_out_b

    def swapped(self) -> ArbitrationCase:
        """The same case with the sides exchanged."""
        return ArbitrationCase(
            query=self.query,
            claim_a=self.claim_b,
            claim_b=self.claim_a,
            context_a=self.context_b,
            context_b=self.context_a,
            left_out_a=self.left_out_b,
            left_out_b=self.left_out_a,
        )

    def within(self, budget: int, count_tokens: Callable[[str], int]) -> ArbitrationCase:
        """The case with the statements that fit into `budget` tokens. Each side has half of it, and what the other does not need.

        A statement that does not fit is left out and counted, and shorter ones after it may still fit.
        """
        half = budget // 2
        needs = [sum(count_tokens(s.line()) for s in side) for side in (self.context_a, self.context_b)]
        rooms = [max(half, budget - needs[1]), max(half, budget - needs[0])]
        kept_a, out_a = _fitting(self.context_a, rooms[0], count_tokens)
        kept_b, out_b = _fitting(self.context_b, rooms[1], count_tokens)
        changed = {
            "context_a": kept_a,
            "context_b": kept_b,
            "left_out_a": self.left_out_a + out_a,
            "left_out_b": self.left_out_b + out_b,
        }
        return self.model_copy(update=changed)

    def messages(self, prompt: Prompt) -> Messages:
        """The conversation that puts the case to a chat model."""
        return prompt.messages(
            [
                Block("question", self.query),
                Block("claim-A", self.claim_a),
                _evidence("A", self.context_a, self.left_out_a),
                Block("claim-B", self.claim_b),
                _evidence("B", self.context_b, self.left_out_b),
            ],
            figures_a=_figures(self.context_a),
            figures_b=_figures(self.context_b),
        )


def _fitting(side: Sequence[Statement], room: int, count_tokens: Callable[[str], int]) -> tuple[tuple[Statement, ...], int]:
    kept = []
    for statement in side:
        cost = count_tokens(statement.line())
        if cost <= room:
            kept.append(statement)
            room -= cost
    return tuple(kept), len(side) - len(kept)


def _evidence(side: str, context: Sequence[Statement], left_out: int) -> Block:
    lines = [f"{number}. {statement.line()}" for number, statement in enumerate(context, 1)]
    about = {"independent-sources": str(_independent(context)), "not-shown": str(left_out) if left_out else ""}
    return Block(f"evidence-{side}", "\n".join(lines) or "(none)", about)


def _independent(context: Sequence[Statement]) -> int:
    return len({statement.group if statement.group is not None else -1 - row for row, statement in enumerate(context)})


def _figures(context: Sequence[Statement]) -> str:
    """How many sources and the latest date, in our own words: what is no plain date is foreign text and stays in its quotes."""
    count = _independent(context)
    dates = [statement.date for statement in context if _DATE.fullmatch(statement.date)]
    latest = f", the latest of {max(dates)}" if dates else ""
    return f"{count or 'no'} independent source{'' if count == 1 else 's'}{latest}"


def cases_of(graph: EvidenceGraph, pairs: Tensor, support: Tensor) -> list[ArbitrationCase]:
    """The cases of the contradictions `pairs [C]`; `support [E]` marks the support edges in force.

    The statements for a side are those of the documents that state it and those of the claims that support it. First comes one of
    every independent source, most similar to the claim first, then further ones of the same sources; sources that also state the
    rival claim come last. Swapping a pair swaps its case. Raises ValueError when a batch does not carry its graphs.
    """
    view = _GraphText(graph, support)
    return [view.case(*graph.pair_index[:, pair].tolist()) for pair in pairs.tolist()]


class _GraphText:
    """The texts of a graph, or of a batch of graphs that carries them, by node number."""

    def __init__(self, graph: EvidenceGraph, support: Tensor) -> None:
        graphs: Any = graph.graphs if "graphs" in graph else [graph]
        if len(graphs) != num_graphs(graph):
            raise ValueError("a batch of graphs must carry them as `graphs`, because their texts are needed")
        self.claims: list[Claim] = [claim for each in graphs for claim in each.claims]
        self.home: list[int] = [number for number, each in enumerate(graphs) for _ in each.claims]
        self.queries: list[str] = [each.query for each in graphs]
        self.documents: list[dict[str, Document]] = [{d.id: d for d in each.documents} for each in graphs]
        self.groups = [_groups(each) for each in graphs]
        self.neighbours: dict[int, list[tuple[float, int]]] = defaultdict(list)
        for pair in support.nonzero().squeeze(-1).tolist():
            a, b = graph.pair_index[:, pair].tolist()
            similarity = float(graph.similarity[pair])
            self.neighbours[a].append((similarity, b))
            self.neighbours[b].append((similarity, a))

    def case(self, a: int, b: int) -> ArbitrationCase:
        return ArbitrationCase(
            query=self.queries[self.home[a]],
            claim_a=self.claims[a].text,
            claim_b=self.claims[b].text,
            context_a=self._context(a, b),
            context_b=self._context(b, a),
        )

    def _context(self, node: int, rival: int) -> tuple[Statement, ...]:
        groups = self.groups[self.home[node]]
        rivals = {groups[mention.document_id] for mention in self.claims[rival].mentions}
        speakers = [(1.0, node), *(found for found in self.neighbours[node] if found[1] != rival)]
        statements = [(similarity, self._statement(n, mention)) for similarity, n in speakers for mention in self.claims[n].mentions]
        ranked = sorted(statements, key=lambda item: (-item[0], *item[1].place()))
        seen: dict[int, int] = defaultdict(int)
        listed: list[tuple[bool, int, int, Statement]] = []
        for rank, (_, statement) in enumerate(ranked):
            # A sentence passed on word for word is no second source, whoever printed it.
            copy = next((other for *_, other in listed if is_copied_quote(other.text, statement.text)), None)
            group = statement.group if copy is None else copy.group
            assert group is not None
            listed.append((group in rivals, seen[group], rank, statement.model_copy(update={"group": group})))
            seen[group] += 1
        return tuple(statement for *_, statement in sorted(listed, key=lambda item: item[:3]))

    def _statement(self, node: int, mention: Mention) -> Statement:
        home = self.home[node]
        document = self.documents[home][mention.document_id]
        return Statement(
            # A quotation shows what was really said; claims that came without one are shown in their own words.
            text=mention.quote or self.claims[node].text,
            title=document.title,
            source=document.source,
            date=document.published.isoformat() if document.published else "",
            group=self.groups[home][document.id],
        )


def _groups(graph: EvidenceGraph) -> dict[str, int]:
    """Independent source of every document; each its own where the graph does not say."""
    numbers = graph["document_group"].tolist() if "document_group" in graph else range(len(graph.documents))
    return dict(zip((document.id for document in graph.documents), numbers, strict=True))
