"""An arbitrator that reads its verdict from a language model's logits: one forward pass, no generated text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from arbgraph.arbitrator.calibration import VerdictCalibration
from arbgraph.arbitrator.cases import ArbitrationCase, cases_of
from arbgraph.chat.base import ChatModel, Messages
from arbgraph.chat.prompts import DECISION
from arbgraph.checkpoint import CheckpointError, load_checkpoint
from arbgraph.graph import EvidenceGraph
from arbgraph.propagation.trace import Verdicts
from arbgraph.schema import Failed, content_id

KIND = "CausalArbitrator"
OPTIONS: tuple[str, ...] = ("A", "B", "unknown")
NO_SCORES = "the model gave no scores"


class CausalArbitrator:
    """Scores the options A, B and unknown behind a prompt that holds both claims and their support context.

    Both orders of the claims are scored and their log-probabilities averaged, so the verdict does not depend on the order; then
    the calibration makes the probabilities comparable with a gate. Without a fitted calibration they are the model's own.

    Args:
        chat: a model that offers option scores. context_tokens: tokens of the evidence of both sides together.
        calibration: of the averaged scores. description: what `describe` returns beside the model.

    `left_out` counts the statements that found no room.
    """

    def __init__(
        self,
        chat: ChatModel,
        *,
        context_tokens: int = 600,
        calibration: VerdictCalibration | None = None,
        description: dict[str, Any] | None = None,
    ) -> None:
        self.chat, self.context_tokens = chat, context_tokens
        self.calibration = calibration or VerdictCalibration()
        self.description = description or {}
        self.left_out = 0

    @classmethod
    def load(cls, path: str | Path, *, offline: bool = True, base: str | None = None, **options: Any) -> CausalArbitrator:
        """Loads a checkpoint folder or a shipped checkpoint by name; `options` go to `TransformersChat`.

        Raises CheckpointError when the folder is damaged, when its base is missing or another one, or when it was trained on
        another version of the prompt.
        """
        from arbgraph.chat.transformers_chat import TransformersChat

        checkpoint = load_checkpoint(path, kind=KIND)
        config, settings = checkpoint.config, checkpoint.config.settings
        if settings.get("prompt") != DECISION.name:
            raise CheckpointError(
                f"{checkpoint.path}: was trained on the prompt {settings.get('prompt')!r}, but this version asks {DECISION.name!r}; "
                "use the version that wrote it, or train again"
            )
        if tuple(settings.get("options", ())) != OPTIONS or "context_tokens" not in settings:
            raise CheckpointError(f"{checkpoint.path}: config.json must state the options {list(OPTIONS)} and context_tokens")
        resolved = checkpoint.resolve_base(offline=offline, name=base)
        adapter = checkpoint.path if "adapter_model.safetensors" in config.files else None
        chat = TransformersChat(base or resolved.name, adapter=adapter, offline=offline, **options)
        calibration = VerdictCalibration.from_dict(config.calibration) if config.calibration else None
        about = {"name": checkpoint.path.name, "base": resolved.name, "base_sha256": resolved.sha256, "sha256": config.files}
        return cls(chat, context_tokens=int(settings["context_tokens"]), calibration=calibration, description=about)

    @staticmethod
    def checkpoint_settings(context_tokens: int) -> dict[str, Any]:
        """What a checkpoint's `settings` must hold, for whoever trains one."""
        return {"prompt": DECISION.name, "options": list(OPTIONS), "context_tokens": context_tokens}

    def describe(self) -> dict[str, Any]:
        """Model, prompt, budget and calibration."""
        return {
            **self.description,
            **self.chat.identity(),
            "prompt": DECISION.name,
            "context_tokens": self.context_tokens,
            "calibration": self.calibration.to_dict(),
        }

    @property
    def fingerprint(self) -> str:
        """A hash of everything that decides a verdict."""
        return content_id(json.dumps(self.describe(), sort_keys=True, default=str))

    def arbitrate(self, graph: EvidenceGraph, pairs: Tensor, support: Tensor, contradiction: Tensor) -> Verdicts:
        """Verdicts for all pairs at once, `[C, 3]` float64; NaN where the model failed."""
        return self.decide(cases_of(graph, pairs, support))

    def decide(self, cases: Sequence[ArbitrationCase]) -> Verdicts:
        """Verdicts on cases. Swapping the sides of a case swaps the first two probabilities, bit for bit."""
        cases = self._fitted(cases)
        orders = self._scores(cases)
        return Verdicts(
            self.calibration.log_probabilities(orders.mean(1)).exp(),
            rationales=[_reason(both.exp()) for both in orders],
            usage=[{**self.chat.scoring_cost(_both_orders(case)), "statements_left_out": case.left_out} for case in cases],
            failures=[[Failed(stage=DECISION.id, reason=NO_SCORES)] if both.isnan().any() else [] for both in orders],
        )

    def prompts(self, cases: Sequence[ArbitrationCase]) -> list[Messages]:
        """The prompts of the cases as they stand, evidence cut to the budget."""
        return [case.within(self.context_tokens, self.chat.count_tokens).messages(DECISION) for case in cases]

    def _fitted(self, cases: Sequence[ArbitrationCase]) -> list[ArbitrationCase]:
        """The cases with the evidence that has room; counts what has not."""
        fitted = [case.within(self.context_tokens, self.chat.count_tokens) for case in cases]
        self.left_out += sum(case.left_out for case in fitted)
        return fitted

    def order_scores(self, cases: Sequence[ArbitrationCase]) -> Tensor:
        """Log-probabilities of a wins, b wins, unknown in either order of the claims, `[C, 2, 3]`, renormalised, before calibration.

        The difference of the two orders in the first column is the position bias.
        """
        return self._scores(self._fitted(cases))

    def _scores(self, fitted: Sequence[ArbitrationCase]) -> Tensor:
        prompts = [messages for case in fitted for messages in _both_orders(case)]
        scores = self.chat.option_logprobs(prompts, OPTIONS).log_softmax(-1).view(-1, 2, 3)
        return torch.stack([scores[:, 0], scores[:, 1][:, [1, 0, 2]]], dim=1)


def _both_orders(case: ArbitrationCase) -> list[Messages]:
    return [each.messages(DECISION) for each in (case, case.swapped())]


def _reason(orders: Tensor) -> str:
    """The model's probabilities in either order, which is all that it gives."""
    if orders.isnan().any():
        return NO_SCORES
    first, second = (f"A {p[0]:.2f}, B {p[1]:.2f}, unknown {p[2]:.2f}" for p in orders.tolist())
    return f"scores with A first: {first}; with B first: {second}"
