"""The reader as a Lightning module: network, loss, dev scores, and what a training checkpoint keeps."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from arbgraph.checkpoint import Checkpoint, load_checkpoint
from arbgraph.models import resolve_model
from arbgraph.reader.model import ReaderModel, SpanHead
from arbgraph.reader.reader import KIND, Reader, ReaderCalibration, load_reader
from arbgraph.reader.readings import Reading
from arbgraph.reader.tokens import ReaderTokenizer
from arbgraph.verifier.backbone import load_backbone, load_config
from eval.metrics.reading import reading_scores
from train.console import show_rows
from train.lora import LoraSettings, adapt, parameter_rows
from train.network import unfreeze
from train.reading_module import ReadingModule
from train.schedule import warm_then_linear


class ReaderModule(ReadingModule):
    """Encoder with LoRA (or trained whole), span head, and the loss.

    Args:
        base: hub name, folder or packaged model; an encoder with token types.
        output: checkpoint folder that `fit` writes.
        init_from: published reader to continue from, folder or name of a shipped one.
        full: train the whole base, but for its word embeddings, in place of an adapter.
        offline: never touch the network.
        max_tokens: longest window of question and passage.
        lora: rank, alpha, dropout and targets.
        width: longest answer in tokens.
        rank: of the bilinear span term.
        dropout: in the head.
        encoder_dropout: inside the encoder while training; null keeps the base's own.
        lr: peak learning rate of the encoder.
        head_lr: peak learning rate of the head; null takes `lr`.
        weight_decay: of matrices.
        warmup: share of the steps that warm up; the rest decays linearly to a twentieth.
    """

    def __init__(
        self,
        base: str = "sentence-transformers/all-MiniLM-L6-v2",
        output: str = "outputs/reader",
        init_from: str | None = None,
        full: bool = False,
        offline: bool = True,
        max_tokens: int = 224,
        lora: LoraSettings | None = None,
        width: int = 30,
        rank: int = 64,
        dropout: float = 0.1,
        encoder_dropout: float | None = 0.0,
        lr: float = 1e-3,
        head_lr: float | None = None,
        weight_decay: float = 0.01,
        warmup: float = 0.05,
    ) -> None:
        super().__init__()
        self.output, self.full, self.max_tokens = output, full, max_tokens
        self.settings = {"lr": lr, "head_lr": lr if head_lr is None else head_lr, "weight_decay": weight_decay, "warmup": warmup}
        self.resolved = resolve_model(base, offline=offline)
        self.parent: Checkpoint | None = None
        if init_from is None:
            config = load_config(self.resolved, dropout=encoder_dropout)
            encoder = load_backbone(self.resolved, config)
            encoder = unfreeze(encoder) if full else adapt(encoder, lora or LoraSettings(r=32, alpha=64))
            if full:
                encoder.get_input_embeddings().weight.requires_grad_(False)  # pyright: ignore[reportCallIssue, reportAttributeAccessIssue]
            self.model = ReaderModel(encoder, SpanHead(config.hidden_size, width=width, rank=rank, dropout=dropout), config.hidden_size)
        else:
            self.parent = load_checkpoint(init_from, kind=KIND)
            self.model, _ = load_reader(self.parent, offline=offline, trainable=True)
        self.model.train()
        frozen = {name for name, parameter in self.named_parameters() if not parameter.requires_grad}
        buffers = {f"model.encoder.{name}" for name, _ in self.model.encoder.named_buffers()}
        self._kept = frozenset(self.state_dict().keys() - frozen - buffers)

    @property
    def tokenizer(self) -> ReaderTokenizer:
        """Windows as they are read in training."""
        return self._data.collator.tokenizer

    def on_fit_start(self) -> None:
        show_rows("parameters", parameter_rows(self.model, {name.removeprefix("model.") for name in self._kept}))
        show_rows("training data", [{key: row[key] for key in ("set", "answered", "none", "lost")} for row in self._data.counts])
        self.started = time.monotonic()

    def training_step(self, batch: dict[str, Tensor], batch_idx: int) -> Tensor:
        gold, known = batch.pop("gold"), batch.pop("known")
        spans, none = self.model(batch)
        losses = span_loss(spans, none, gold)
        loss = (losses * known).sum() / known.sum().clamp(min=1)
        self.note(loss, len(known), batch_idx, memory=0.98, every=50)
        return loss

    def on_validation_epoch_start(self) -> None:
        self.dev_reports = {}

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        """Reads a dev set as the finished reader does; a batch is the name of a set."""
        rows = self._data.dev_sets[batch]
        reader = Reader(self.model, self.tokenizer, ReaderCalibration(), batch_size=64, device=str(self.device))
        self.dev_reports[batch] = report(reader, rows)
        self.model.train()

    def on_validation_epoch_end(self) -> None:
        if not self.dev_reports:
            return
        others = [one["right"] for name, one in self.dev_reports.items() if name != "ramdocs/dev"]
        score = sum(others) / len(others)
        if "ramdocs/dev" in self.dev_reports:
            # RAMDocs asks as this reader will be asked: it counts as much as the other sets together.
            score = 0.5 * score + 0.5 * self.dev_reports["ramdocs/dev"]["right"]
        self.log("dev/score", score)
        columns = ("readings", "em", "f1", "answered", "none", "right")
        rows = [{"set": name, **{key: shown(one[key]) for key in columns}} for name, one in self.dev_reports.items()]
        show_rows(f"dev after {self.seen} readings: {score:.4f}", rows)

    def configure_optimizers(self) -> Any:
        groups: dict[tuple[bool, bool], list[torch.nn.Parameter]] = {}
        for name, parameter in self.named_parameters():
            if parameter.requires_grad:
                groups.setdefault((name.startswith("model.encoder."), parameter.ndim > 1), []).append(parameter)
        settings = self.settings
        optimizer = torch.optim.AdamW(
            {"params": some, "lr": settings["lr" if of_encoder else "head_lr"], "weight_decay": settings["weight_decay"] if matrix else 0.0}
            for (of_encoder, matrix), some in groups.items()
        )
        return warm_then_linear(optimizer, int(self.trainer.estimated_stepping_batches), settings["warmup"], floor=0.05)


def span_loss(spans: Tensor, none: Tensor, gold: Tensor) -> Tensor:
    """-log P(one of the answer's places) per row, or -log P(no answer) where a row has none, `[B]`.

    Args:
        spans: scores `[B, L, W]`, -inf where no span can be.
        none: scores `[B]`.
        gold: `[G, 3]`: row, first token and further tokens of every right span.
    """
    everything = torch.cat([spans.flatten(1), none.unsqueeze(1)], dim=1)
    right = torch.zeros_like(spans, dtype=torch.bool)
    right[gold[:, 0], gold[:, 1], gold[:, 2]] = True
    unanswered = ~right.flatten(1).any(1, keepdim=True)
    chosen = torch.cat([right.flatten(1), unanswered], dim=1)
    return everything.logsumexp(1) - everything.masked_fill(~chosen, float("-inf")).logsumexp(1)


def report(reader: Reader, rows: Sequence[Reading]) -> dict[str, Any]:
    """How a reader does on readings (`eval.metrics.reading`)."""
    return reading_scores(rows, reader.read([row.question for row in rows], [row.passage for row in rows], n_best=1))


def shown(value: float | None) -> str:
    """A number with three decimals, or nothing."""
    return "" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)
