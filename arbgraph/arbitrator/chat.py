"""The paper's arbitrator: a chat model reads both claims with their support context and writes a verdict."""

from __future__ import annotations

from typing import Any, Literal

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor

from arbgraph.arbitrator.cases import ArbitrationCase, cases_of
from arbgraph.chat.base import ChatModel, Completion, cost_of
from arbgraph.chat.prompts import ARBITRATION
from arbgraph.graph import EvidenceGraph
from arbgraph.propagation.trace import Verdicts


class WrittenVerdict(BaseModel):
    """The reply to the arbitration prompt."""

    model_config = ConfigDict(extra="forbid")

    reason: str
    winner: Literal["A", "B", "unknown"]
    confidence: float = Field(ge=0, le=1)


class ChatArbitrator:
    """Asks about every contradiction in both orders and averages, so that the position of a claim does not count.

    A verdict with confidence c puts c on its winner and the rest on abstention (on both sides alike, when the winner is unknown). The
    confidence is what the model says of itself and is not calibrated; `CausalArbitrator` measures it. When either order fails, the
    pair's verdict is NaN: it moves nothing, and the propagation counts it.

    Args:
        chat: the model. context_tokens: tokens of the evidence of both sides together. max_tokens: tokens of a reply.

    `left_out` counts the statements that found no room.
    """

    def __init__(self, chat: ChatModel, *, context_tokens: int = 1200, max_tokens: int = 256) -> None:
        self.chat, self.context_tokens, self.max_tokens = chat, context_tokens, max_tokens
        self.left_out = 0

    def describe(self) -> dict[str, Any]:
        """Model, prompt and budgets."""
        budgets = {"context_tokens": self.context_tokens, "max_tokens": self.max_tokens}
        return {"name": f"chat:{self.chat.name}", **self.chat.identity(), "prompt": ARBITRATION.name, **budgets}

    def arbitrate(self, graph: EvidenceGraph, pairs: Tensor, support: Tensor, contradiction: Tensor) -> Verdicts:
        """Verdicts for all pairs at once, `[C, 3]` float64, each with the model's reason, what it cost, and what failed."""
        return self.decide(cases_of(graph, pairs, support))

    def decide(self, cases: list[ArbitrationCase]) -> Verdicts:
        """Verdicts on cases. Swapping the sides of a case swaps the first two probabilities."""
        cases = [case.within(self.context_tokens, self.chat.count_tokens) for case in cases]
        self.left_out += sum(case.left_out for case in cases)
        prompts = [case.messages(ARBITRATION) for each in cases for case in (each, each.swapped())]
        replies = self.chat.complete(prompts, WrittenVerdict, self.max_tokens)
        orders = list(zip(replies[::2], replies[1::2], strict=True))
        forward, backward = _probabilities(replies[::2]), _probabilities(replies[1::2])
        return Verdicts(
            (forward + backward[:, [1, 0, 2]]) / 2,
            rationales=[_reason(*both) for both in orders],
            usage=[{**cost_of(*both), "statements_left_out": case.left_out} for case, both in zip(cases, orders, strict=True)],
            failures=[[reply.failure for reply in both if reply.failure is not None] for both in orders],
        )


def _probabilities(replies: list[Completion[WrittenVerdict]]) -> Tensor:
    rows = torch.full((len(replies), 3), torch.nan, dtype=torch.float64)
    for row, reply in enumerate(replies):
        if reply.value is not None:
            doubt = 1 - reply.value.confidence
            winner = ("A", "B", "unknown").index(reply.value.winner)
            values = [doubt / 2, doubt / 2, 0.0] if winner == 2 else [0.0, 0.0, doubt]
            values[winner] += reply.value.confidence
            rows[row] = torch.tensor(values, dtype=torch.float64)
    return rows


def _reason(first: Completion[WrittenVerdict], second: Completion[WrittenVerdict]) -> str:
    for reply in (first, second):
        if reply.failure is not None:
            return reply.failure.reason
    assert first.value is not None
    assert second.value is not None
    reason = " ".join(first.value.reason.split())
    mirrored = {"A": "B", "B": "A", "unknown": "unknown"}[second.value.winner]
    return (
        reason if mirrored == first.value.winner else f"{reason} (but the verdict changed when the claims were listed in the other order)"
    )
