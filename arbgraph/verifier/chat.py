"""A relation verifier through a chat model, with the interface of `RelationVerifier`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor

from arbgraph.chat.base import ChatModel, cost_of
from arbgraph.chat.prompts import RELATION, RELATION_REPLY
from arbgraph.chat.quoting import Block
from arbgraph.schema import RELATION_LABELS, Failed
from arbgraph.verifier.calibration import VerifierCalibration

# What stands for a pair on which the model failed: no edge at any tau_conf above 0.34, and visibly no opinion.
NO_OPINION = (0.33, 0.33, 0.34)
_SMALLEST = 1e-6


class WrittenRelation(BaseModel):
    """The reply to the relation prompt."""

    model_config = ConfigDict(extra="forbid")

    reason: str
    relation: Literal["support", "contradict", "neutral"]
    confidence: float = Field(ge=0, le=1)


class ChatVerifier:
    """Labels pairs of texts with a chat model, in both reading orders.

    Args:
        chat: the model.
        scoring: `options` reads the probabilities of the three words in one forward pass; `reply` has the model write a relation with
            its confidence c, which leaves (1 - c) / 2 to either other relation: the paper's way, for servers without option scores.
        calibration: of one reading order and of the undirected verdict. max_tokens: tokens of a reply.

    `failures` lists what failed so far, `usage` counts the calls and tokens so far. A failed pair gets near-equal probabilities,
    which no threshold takes for an edge.
    """

    def __init__(
        self,
        chat: ChatModel,
        *,
        scoring: Literal["options", "reply"] = "options",
        calibration: VerifierCalibration | None = None,
        max_tokens: int = 200,
    ) -> None:
        if scoring not in ("options", "reply"):
            raise ValueError(f"scoring {scoring!r}; choose options or reply")
        self.chat, self.scoring, self.max_tokens = chat, scoring, max_tokens
        self.calibration = calibration or VerifierCalibration()
        self.failures: list[Failed] = []
        self.usage: Counter[str] = Counter()

    def describe(self) -> dict[str, Any]:
        """Model, prompt, labels in column order and calibration."""
        prompt = RELATION if self.scoring == "options" else RELATION_REPLY
        return {
            "name": f"chat:{self.chat.name}",
            **self.chat.identity(),
            "prompt": prompt.name,
            "labels": list(RELATION_LABELS),
            "calibration": self.calibration.to_dict(),
        }

    def relate(self, pairs: Sequence[tuple[str, str]]) -> Tensor:
        """The undirected relation of each pair: probabilities `[P, 3]` float32 (support, contradict, neutral).

        Swapping the two texts of a pair gives bit-identical rows; equal pairs are asked once. Raises ValueError on an empty text.
        """
        if not pairs:
            return torch.zeros(0, 3)
        for row, pair in enumerate(pairs):
            if not all(text.strip() for text in pair):
                raise ValueError(f"pair {row}: a text is empty; leave the pair out")
        canonical = [(min(pair), max(pair)) for pair in pairs]
        distinct = list(dict.fromkeys(canonical))
        scores = self.calibration.directed.log_probabilities(self._scores([*distinct, *((b, a) for a, b in distinct)]))
        forward, backward = scores[: len(distinct)], scores[len(distinct) :]
        combined = self.calibration.verdict(forward, backward).exp()
        failed = combined.isnan().any(-1, keepdim=True)
        combined = torch.where(failed, torch.tensor(NO_OPINION, dtype=torch.float64), combined).float()
        position = {pair: row for row, pair in enumerate(distinct)}
        return combined[[position[pair] for pair in canonical]]

    def _scores(self, pairs: Sequence[tuple[str, str]]) -> Tensor:
        """Log-probabilities `[P, 3]` of one reading order; NaN where the model failed."""
        prompt = RELATION if self.scoring == "options" else RELATION_REPLY
        prompts = [prompt.messages([Block("first", a), Block("second", b)]) for a, b in pairs]
        if self.scoring == "options":
            self.usage += self.chat.scoring_cost(prompts)
            scores = self.chat.option_logprobs(prompts, RELATION_LABELS).log_softmax(-1)
            self.failures += [Failed(stage=prompt.id, reason="the model gave no scores") for row in scores if row.isnan().any()]
            return scores
        rows = torch.full((len(prompts), 3), torch.nan, dtype=torch.float64)
        replies = self.chat.complete(prompts, WrittenRelation, self.max_tokens)
        self.usage += cost_of(*replies)
        for row, reply in enumerate(replies):
            if reply.failure is not None:
                self.failures.append(reply.failure)
                continue
            assert reply.value is not None
            rows[row] = (1 - reply.value.confidence) / 2
            rows[row, RELATION_LABELS.index(reply.value.relation)] = reply.value.confidence
        # A model that is sure of itself leaves a little to doubt: combining the orders multiplies probabilities.
        return rows.clamp(_SMALLEST, 1).log().log_softmax(-1)
