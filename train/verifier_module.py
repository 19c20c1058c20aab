"""The verifier as a Lightning module: network, loss, dev scores, calibration, and what a training checkpoint keeps."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import lightning as L
import torch
from torch import Tensor

from arbgraph.models import ResolvedModel, resolve_model
from arbgraph.verifier.calibration import Calibration, combine_orders, fit_calibration
from arbgraph.verifier.model import RelationModel, SegmentHead
from eval.metrics.classification import classification_report
from train.console import console, show_rows
from train.data.pairs import BucketSampler, VerifierData
from train.lora import LoraSettings, adapt, parameter_rows


class VerifierModule(L.LightningModule):
    """Encoder with LoRA, segment head, and the loss.

    Args:
        base: hub name, folder or packaged model.
        output: checkpoint folder that `fit` writes.
        max_tokens: longest pair; the longer text is cut.
        lora: rank, alpha, dropout and targets; `targets: auto` takes every linear layer of the encoder.
        comparison: give the head typed comparison features beside the text.
        dropout: before the head's last layer.
        encoder_dropout: inside the encoder while training; null keeps the base's own.
        lr: peak learning rate of adapter and head.
        weight_decay: of matrices; vectors have none.
        warmup: share of the steps that warm up; the rest decays linearly to 0.
        label_smoothing: mass spread over the three labels.
        class_weights: `none`, `balanced`, or three weights (support, contradict, neutral).
        guard_pairs: training stops with an error when the smoothed loss is still above `guard_loss` after this many pairs.
        guard_loss: see guard_pairs; guessing has log 3 = 1.099.
    """

    label_weights: Tensor

    def __init__(
        self,
        base: str = "sentence-transformers/all-MiniLM-L6-v2",
        output: str = "outputs/verifier",
        max_tokens: int = 96,
        lora: LoraSettings | None = None,
        comparison: bool = False,
        dropout: float = 0.1,
        encoder_dropout: float | None = 0.0,
        lr: float = 1e-3,
        weight_decay: float = 0.01,
        warmup: float = 0.06,
        label_smoothing: float = 0.05,
        class_weights: str | list[float] = "none",
        guard_pairs: int = 8000,
        guard_loss: float = 1.05,
    ) -> None:
        super().__init__()
        # The base's frozen weights are not in a training checkpoint; `on_load_checkpoint` checks that nothing else is missing.
        self.strict_loading = False
        self.settings = {"lr": lr, "weight_decay": weight_decay, "warmup": warmup, "label_smoothing": label_smoothing}
        self.class_weights, self.guard_pairs, self.guard_loss = class_weights, guard_pairs, guard_loss
        self.output, self.max_tokens, self.comparison = output, max_tokens, comparison
        self.resolved: ResolvedModel = resolve_model(base)
        self.model = self._build(lora or LoraSettings(), dropout, encoder_dropout)
        self.register_buffer("label_weights", torch.ones(3))
        self.pairs_seen, self.smoothed = 0, 0.0
        self._resumed: dict[str, Any] | None = None
        self.dev_logits: list[dict[int, Tensor]] = []
        self.dev_reports: dict[str, dict[str, Any]] = {}

    def _build(self, lora: LoraSettings, dropout: float, encoder_dropout: float | None) -> RelationModel:
        from transformers import AutoConfig, AutoModel

        config = AutoConfig.from_pretrained(self.resolved.path, local_files_only=True)
        longest = getattr(config, "max_position_embeddings", self.max_tokens)
        if self.max_tokens > longest:
            raise ValueError(f"max_tokens {self.max_tokens}: {self.resolved.name} reads at most {longest}")
        if encoder_dropout is not None:
            for name in [name for name in config.to_dict() if name.endswith(("dropout_prob", "dropout"))]:
                setattr(config, name, encoder_dropout)
        encoder = AutoModel.from_pretrained(self.resolved.path, config=config, local_files_only=True, use_safetensors=True)
        features = 0
        if self.comparison:
            from arbgraph.comparison import COMPARISON_FEATURES

            features = len(COMPARISON_FEATURES)
        head = SegmentHead(encoder.config.hidden_size, features=features, dropout=dropout)
        # `from_pretrained` hands out eval mode, and the trainer keeps the mode that it finds.
        return RelationModel(adapt(encoder, lora), head).train()

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        """Logits `[B, 3]`."""
        return self.model({key: value for key, value in batch.items() if key not in ("allowed", "row")})

    def on_fit_start(self) -> None:
        data: VerifierData = self.trainer.datamodule  # pyright: ignore[reportAttributeAccessIssue]
        counts = data.label_counts()
        if self.class_weights == "balanced":
            self.label_weights.copy_(counts.sum() / (3 * counts.clamp(min=1)))
        elif self.class_weights != "none":
            self.label_weights.copy_(torch.tensor([float(weight) for weight in self.class_weights]))
        if self.comparison and self.pairs_seen == 0:
            self._standardise(data)
        saved = set(self._kept(self.state_dict()))
        show_rows("parameters", parameter_rows(self.model, {name.removeprefix("model.") for name in saved}))

    def _standardise(self, data: VerifierData, sample: int = 8000) -> None:
        from arbgraph.comparison import comparison_features

        step = max(1, len(data.mix.pairs) // sample)
        self.model.head.standardise(comparison_features([(pair.a, pair.b) for pair in data.mix.pairs[::step]]))

    def on_train_epoch_start(self) -> None:
        # The trainer tells the epoch to samplers, not to batch samplers.
        self._sampler.set_epoch(self.current_epoch)

    @property
    def _sampler(self) -> BucketSampler:
        return self.trainer.train_dataloader.batch_sampler  # pyright: ignore[reportOptionalMemberAccess]

    def training_step(self, batch: dict[str, Tensor], batch_idx: int) -> Tensor:
        loss = relation_loss(self(batch).float(), batch["allowed"], self.label_weights, self.settings["label_smoothing"])
        self.pairs_seen += len(batch["row"])
        value = float(loss.detach())
        if value != value:
            where = f"batch {batch_idx} of epoch {self.current_epoch}"
            raise RuntimeError(f"loss is NaN in {where}; the last training checkpoint holds the last good state")
        self.smoothed = value if self.pairs_seen == len(batch["row"]) else 0.98 * self.smoothed + 0.02 * value
        self.log("train/loss", self.smoothed, on_step=True, batch_size=len(batch["row"]))
        if self.pairs_seen >= self.guard_pairs and self.smoothed > self.guard_loss:
            raise RuntimeError(
                f"collapsed: smoothed loss {self.smoothed:.3f} is above {self.guard_loss} after {self.pairs_seen} pairs "
                "(guessing has 1.099); lower the learning rate, check the labels, or raise model.guard_pairs"
            )
        return loss

    def on_validation_epoch_start(self) -> None:
        data: VerifierData = self.trainer.datamodule  # pyright: ignore[reportAttributeAccessIssue]
        self.dev_logits = [{} for _ in data.dev]

    def validation_step(self, batch: dict[str, Tensor], batch_idx: int, dataloader_idx: int = 0) -> None:
        logits = self(batch).float().cpu()
        self.dev_logits[dataloader_idx].update(zip(batch["row"].tolist(), logits, strict=True))

    def on_validation_epoch_end(self) -> None:
        data: VerifierData = self.trainer.datamodule  # pyright: ignore[reportAttributeAccessIssue]
        logits = [torch.stack([rows[row] for row in range(len(rows))]) for rows in self.dev_logits]
        self.dev_reports = score_dev(data, logits, Calibration(), Calibration())
        for name, report in self.dev_reports.items():
            self.log(f"dev/{name}/macro_f1", report["macro_f1"])
            self.log(f"dev/{name}/accuracy", report["accuracy"])
        mean = sum(report["macro_f1"] for report in self.dev_reports.values()) / len(self.dev_reports)
        self.log("dev/macro_f1", mean)
        shown = ", ".join(f"{name} {report['macro_f1']:.3f}" for name, report in self.dev_reports.items())
        console.print(f"dev macro-F1 after {self.pairs_seen} pairs: mean {mean:.4f} ({shown})")

    def test_step(self, batch: dict[str, Tensor], batch_idx: int, dataloader_idx: int = 0) -> None:
        self.validation_step(batch, batch_idx, dataloader_idx)

    def on_test_epoch_start(self) -> None:
        self.on_validation_epoch_start()

    def on_test_epoch_end(self) -> None:
        self.on_validation_epoch_end()

    def configure_optimizers(self) -> dict[str, Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        trained = [parameter for parameter in self.parameters() if parameter.requires_grad]
        groups = [
            {"params": [p for p in trained if p.ndim > 1], "weight_decay": self.settings["weight_decay"]},
            {"params": [p for p in trained if p.ndim <= 1], "weight_decay": 0.0},
        ]
        optimizer = torch.optim.AdamW(groups, lr=self.settings["lr"])
        total = int(self.trainer.estimated_stepping_batches)
        warm = max(1, round(total * self.settings["warmup"]))

        def factor(step: int) -> float:
            return min((step + 1) / warm, max(0.0, (total - step) / max(1, total - warm)))

        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def _kept(self, state: dict[str, Tensor]) -> dict[str, Tensor]:
        frozen = {name for name, parameter in self.named_parameters() if not parameter.requires_grad}
        base_buffers = {f"model.encoder.{name}" for name, _ in self.model.encoder.named_buffers()}
        return {name: tensor for name, tensor in state.items() if name not in frozen and name not in base_buffers}

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["state_dict"] = self._kept(checkpoint["state_dict"])
        progress = {"pairs_seen": self.pairs_seen, "smoothed": self.smoothed, "position": self._sampler.position}
        checkpoint["verifier"] = {**progress, "rng": torch.get_rng_state()}

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        missing = sorted(set(self._kept(self.state_dict())) - set(checkpoint["state_dict"]))
        if missing:
            raise RuntimeError(f"training checkpoint lacks {len(missing)} tensors ({missing[0]}, ...); it is of another configuration")
        self.pairs_seen, self.smoothed = checkpoint["verifier"]["pairs_seen"], checkpoint["verifier"]["smoothed"]
        self._resumed = checkpoint["verifier"]

    def on_train_start(self) -> None:
        if self._resumed is not None:
            torch.set_rng_state(self._resumed["rng"])
            self._sampler.position = self._resumed["position"]
            self._resumed = None


def relation_loss(logits: Tensor, allowed: Tensor, weights: Tensor, smoothing: float) -> Tensor:
    """Weighted mean of -log P(an allowed label), with label smoothing on rows of one label.

    Args:
        logits: `[B, 3]`.
        allowed: `[B, 3]` bool, at least one per row.
        weights: `[3]`; a row weighs the mean of its allowed labels' weights.
        smoothing: in [0, 1), the mass spread evenly over the three labels.
    """
    log_p = logits.log_softmax(-1)
    certain = -log_p.masked_fill(~allowed, float("-inf")).logsumexp(-1)
    smooth = torch.where(allowed.sum(-1) == 1, (1 - smoothing) * certain - smoothing * log_p.mean(-1), certain)
    weight = (allowed * weights).sum(-1) / allowed.sum(-1)
    return (weight * smooth).sum() / weight.sum()


def score_dev(data: VerifierData, logits: Sequence[Tensor], directed: Calibration, combined: Calibration) -> dict[str, dict[str, Any]]:
    """A classification report per dev set, undirected sets after combining both orders.

    Args:
        data: the dev sets.
        logits: of each set, `[N, 3]`, or `[2N, 3]` with the reversed pairs second where the set is undirected.
        directed, combined: calibration of one reading order, and of the undirected verdict.
    """
    reports = {}
    for source, gold, rows in zip(data.dev, data.dev_labels, logits, strict=True):
        scores = directed.log_probabilities(rows)
        if source.undirected:
            scores = combined.log_probabilities(combine_orders(scores[: len(gold)], scores[len(gold) :]))
        reports[source.name] = classification_report(scores.exp(), gold)
    return reports


def calibrate(data: VerifierData, logits: Sequence[Tensor]) -> dict[str, Calibration]:
    """`directed`: fitted on the given order of every dev set; then `combined`: fitted on the verdicts of the undirected sets.

    Every set counts alike, and sets with `calibrate: false` are left out. Without an undirected set, `combined` changes nothing.
    """
    chosen = [(source, gold, rows) for source, gold, rows in zip(data.dev, data.dev_labels, logits, strict=True) if source.calibrate]
    directed = _fit([(gold, rows[: len(gold)]) for _, gold, rows in chosen])
    verdicts = []
    for source, gold, rows in chosen:
        if source.undirected:
            scores = directed.log_probabilities(rows)
            verdicts.append((gold, combine_orders(scores[: len(gold)], scores[len(gold) :])))
    return {"directed": directed, "combined": _fit(verdicts)}


def _fit(sets: Sequence[tuple[Tensor, Tensor]]) -> Calibration:
    if not sets:
        return Calibration()
    weights = torch.cat([torch.full((len(gold),), 1 / len(gold)) for gold, _ in sets])
    return fit_calibration(torch.cat([scores for _, scores in sets]), torch.cat([gold for gold, _ in sets]), weights)


class Throughput(L.Callback):
    """One line every `every` batches: step, smoothed loss, pairs per second, time left."""

    def __init__(self, every: int = 50) -> None:
        self.every = every

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self._mark(trainer, pl_module)

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self._mark(trainer, pl_module)

    def _mark(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        assert isinstance(pl_module, VerifierModule)
        self.since, self.pairs, self.step = time.perf_counter(), pl_module.pairs_seen, trainer.global_step

    def on_train_batch_end(self, trainer: L.Trainer, pl_module: L.LightningModule, *args: Any) -> None:
        assert isinstance(pl_module, VerifierModule)
        if trainer.global_step % self.every or trainer.global_step == self.step:
            return
        spent = time.perf_counter() - self.since
        left = (int(trainer.estimated_stepping_batches) - trainer.global_step) * spent / (trainer.global_step - self.step)
        rate = (pl_module.pairs_seen - self.pairs) / spent
        total = int(trainer.estimated_stepping_batches)
        console.print(f"step {trainer.global_step}/{total}  loss {pl_module.smoothed:.4f}  {rate:.0f} pairs/s  {left / 60:.1f} min left")
