"""The generative reader as a Lightning module: a causal language model with LoRA, the loss of the reply, dev readings by generation."""

from __future__ import annotations

import time
from typing import Any

import torch
from torch import Tensor

from arbgraph.chat.transformers_chat import DEFAULT_MODEL, TransformersChat
from arbgraph.checkpoint import Checkpoint, CheckpointError, load_checkpoint
from arbgraph.reader.generative import KIND, GenerativeReader, Packed, ReadingPrompt, reply_logprobs
from eval.metrics.reading import reading_scores
from train.arbitrator_module import layer_number
from train.console import show_rows
from train.lora import LoraSettings, adapt, parameter_rows, resolve_targets, round_to_half
from train.reader_module import shown
from train.reading_module import ReadingModule
from train.schedule import warm_then_linear


class GenerativeReaderModule(ReadingModule):
    """A causal language model that learns to reply with a phrase of the passage.

    Args:
        base: hub name, folder or packaged model; safetensors or GGUF.
        output: checkpoint folder that `fit` writes.
        init_from: published generative reader to continue from, folder or name of a shipped one.
        offline: never touch the network.
        max_tokens: of a prompt; longer passages are cut.
        lora: rank, alpha, dropout and targets. first_layer: adapt the layers from this one on.
        lr: peak learning rate. weight_decay: of the adapter. warmup: share of the steps that warm up, then linear decay to 0.
        half: publish the adapter in float16.
    """

    def __init__(
        self,
        base: str = DEFAULT_MODEL,
        output: str = "outputs/generative-reader",
        init_from: str | None = None,
        offline: bool = True,
        max_tokens: int = 384,
        lora: LoraSettings | None = None,
        first_layer: int = 0,
        lr: float = 5e-4,
        weight_decay: float = 0.0,
        warmup: float = 0.05,
        half: bool = True,
    ) -> None:
        super().__init__()
        self.output, self.in_half = output, half
        self.settings = {"lr": lr, "weight_decay": weight_decay, "warmup": warmup}
        self.parent: Checkpoint | None = load_checkpoint(init_from, kind=KIND) if init_from is not None else None
        chat = TransformersChat(base, precision="fp32", device="cpu", constrain="never", offline=offline)
        self.resolved, self.prompt = chat.resolved, ReadingPrompt(chat.tokenizer, max_tokens)
        self.model: Any = self._wrapped(chat.model, lora or LoraSettings(), first_layer)
        self._kept = frozenset(name for name, parameter in self.named_parameters() if parameter.requires_grad)

    def _wrapped(self, base: Any, lora: LoraSettings, first_layer: int) -> Any:
        if self.parent is not None:
            recorded = self.parent.config.base
            if recorded is None or recorded.sha256 != self.resolved.sha256:
                raise CheckpointError(
                    f"{self.parent.path}: was trained on {recorded and recorded.name}, not on {self.resolved.name}; give its base"
                )
            return self.parent.adapt(base, trainable=True)
        names = [name for name in resolve_targets(base, lora.targets) if layer_number(name) is not None]
        chosen: list[str] = [name for name in names if (layer_number(name) or 0) >= first_layer]
        if not chosen:
            raise ValueError(f"no LoRA target is in layer {first_layer} or above")
        return adapt(base, LoraSettings(lora.r, lora.alpha, lora.dropout, chosen))

    def on_fit_start(self) -> None:
        show_rows("parameters", parameter_rows(self.model, {name.removeprefix("model.") for name in self._kept}))
        show_rows("training data", [{key: row[key] for key in ("set", "answered", "none", "lost")} for row in self._data.counts])
        self.started = time.monotonic()

    def training_step(self, batch: dict[str, Any], batch_idx: int) -> Tensor:
        packed = Packed(**batch)
        loss = -reply_logprobs(self.model, packed).mean()
        self.note(loss, packed.replies, batch_idx, memory=0.97, every=20)
        return loss

    def on_validation_epoch_start(self) -> None:
        self.dev_reports = {}

    def validation_step(self, batch: str, batch_idx: int) -> None:
        """Reads a dev set as the finished reader does; a batch is the name of a set."""
        rows = self._data.dev_sets[batch]
        reader = GenerativeReader(self.model, self.prompt)
        self.dev_reports[batch] = reading_scores(rows, reader.read([row.question for row in rows], [row.passage for row in rows]))
        self.model.train()

    def on_validation_epoch_end(self) -> None:
        if self.dev_reports:
            scores = [one["right"] for one in self.dev_reports.values()]
            self.log("dev/score", sum(scores) / len(scores))
            columns = ("readings", "em", "f1", "answered", "none", "right")
            rows = [{"set": name, **{key: shown(one[key]) for key in columns}} for name, one in self.dev_reports.items()]
            show_rows(f"dev after {self.seen} readings", rows)

    def configure_optimizers(self) -> Any:
        trained = [parameter for parameter in self.parameters() if parameter.requires_grad]
        options: dict[str, Any] = {"lr": self.settings["lr"], "weight_decay": self.settings["weight_decay"], "betas": (0.9, 0.98)}
        optimizer = torch.optim.AdamW(trained, **options)
        return warm_then_linear(optimizer, int(self.trainer.estimated_stepping_batches), self.settings["warmup"])

    def round_adapter(self) -> None:
        """Rounds the adapter to what is published, so that the scores that follow are those of the published weights."""
        if self.in_half:
            round_to_half(self)
