"""The verifier as a Lightning module: network, loss, dev scores, calibration, and what a training checkpoint keeps."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import lightning as L
import torch
from rich.progress import BarColumn, Progress, TextColumn
from torch import Tensor

from arbgraph.checkpoint import Checkpoint
from arbgraph.models import ResolvedModel, resolve_model
from arbgraph.verifier.calibration import DevScores, VerifierCalibration, calibrate_verifier
from arbgraph.verifier.model import RelationModel
from arbgraph.verifier.pairs import LabelledPair
from arbgraph.verifier.relation import read_calibration
from eval.metrics.classification import classification_report
from train.console import console, say, show_rows
from train.data.pairs import BucketSampler, VerifierData, label_tensor
from train.data.sources import PairSource
from train.lora import LoraSettings, parameter_rows
from train.network import continued_network, new_network
from train.schedule import warm_then_linear


class TrainingStopped(RuntimeError):
    """Training that must not go on; the message says where it stood and what to do."""


class VerifierModule(L.LightningModule):
    """Encoder or decoder with LoRA (or trained whole), segment head, and the loss.

    Args:
        base: hub name, folder or packaged model; an encoder or a decoder.
        output: checkpoint folder that `fit` writes.
        init_from: published verifier to continue from (folder or name of a shipped one), with its adapter, head and feature scale.
        full: train the whole base in place of an adapter.
        offline: never touch the network, for the base and for hub datasets alike.
        max_tokens: longest pair; the longer text is cut.
        lora: rank, alpha, dropout and targets; `targets: auto` takes every linear layer of the encoder.
        comparison: give the head typed comparison features beside the text.
        dropout: before the head's last layer.
        encoder_dropout: inside the encoder while training; null keeps the base's own.
        lr: peak learning rate.
        head_lr: peak learning rate of the head; null takes `lr`.
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
        init_from: str | None = None,
        full: bool = False,
        offline: bool = True,
        max_tokens: int = 96,
        lora: LoraSettings | None = None,
        comparison: bool = False,
        dropout: float = 0.1,
        encoder_dropout: float | None = 0.0,
        lr: float = 1e-3,
        head_lr: float | None = None,
        weight_decay: float = 0.01,
        warmup: float = 0.06,
        label_smoothing: float = 0.05,
        class_weights: str | list[float] = "none",
        guard_pairs: int = 8000,
        guard_loss: float = 1.05,
    ) -> None:
        super().__init__()
        self.arguments = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        # The base's frozen weights are not in a training checkpoint; `on_load_checkpoint` checks that nothing else is missing.
        self.strict_loading = False
        self.settings = {"lr": lr, "weight_decay": weight_decay, "warmup": warmup, "label_smoothing": label_smoothing}
        self.head_lr = lr if head_lr is None else head_lr
        self.class_weights, self.guard_pairs, self.guard_loss = class_weights, guard_pairs, guard_loss
        self.output, self.max_tokens, self.comparison, self.full = output, max_tokens, comparison, full
        self.resolved: ResolvedModel = resolve_model(base, offline=offline)
        self.parent: Checkpoint | None = None
        shape: dict[str, Any] = {"max_tokens": max_tokens, "comparison": comparison, "dropout": dropout, "encoder_dropout": encoder_dropout}
        self.model: RelationModel
        if init_from is None:
            self.model = new_network(self.resolved, lora=None if full else lora or LoraSettings(), **shape)
        else:
            self.model, self.parent = continued_network(init_from, base, lora=lora, full=full, offline=offline, **shape)
        self.calibration = read_calibration(self.parent) if self.parent else VerifierCalibration()
        self.register_buffer("label_weights", torch.ones(3))
        self.pairs_seen, self.smoothed = 0, 0.0
        self._resumed: dict[str, Any] | None = None
        self._scores: list[Tensor] = []
        self.dev_logits: list[Tensor] = []
        self.dev_reports: dict[str, dict[str, Any]] = {}
        # Asked now: a strategy that shards the model renames and flattens parameters.
        frozen = {name for name, parameter in self.named_parameters() if not parameter.requires_grad}
        base_buffers = {f"model.encoder.{name}" for name, _ in self.model.encoder.named_buffers()}
        self._kept = frozenset(self.state_dict().keys() - frozen - base_buffers)
        self._matrices = {name for name, parameter in self.named_parameters() if parameter.ndim > 1}

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        """Logits `[B, 3]`."""
        return self.model({key: value for key, value in batch.items() if key not in ("allowed", "row")})

    @property
    def _data(self) -> VerifierData:
        return self.trainer.datamodule  # pyright: ignore[reportAttributeAccessIssue]

    def on_fit_start(self) -> None:
        counts = self._data.label_counts()
        if self.class_weights == "balanced":
            self.label_weights.copy_(counts.sum() / (3 * counts.clamp(min=1)))
        elif self.class_weights != "none":
            self.label_weights.copy_(torch.tensor([float(weight) for weight in self.class_weights]))
        # A continued verifier keeps the scale that its head was trained on.
        if self.comparison and self.parent is None and self.pairs_seen == 0:
            self._standardise()
        self.calibration = VerifierCalibration()
        if self.pairs_seen == 0:
            show_rows("parameters", parameter_rows(self.model, {name.removeprefix("model.") for name in self._kept}))

    def _standardise(self, sample: int = 8000) -> None:
        from arbgraph.comparison import comparison_features

        pairs = self._data.mix.pairs
        step = max(1, len(pairs) // sample)
        self.model.head.standardise(comparison_features([(pair.a, pair.b) for pair in pairs[::step]]))

    def on_train_epoch_start(self) -> None:
        # The trainer tells the epoch to samplers, not to batch samplers.
        self._sampler.set_epoch(self.current_epoch)

    @property
    def _sampler(self) -> BucketSampler:
        return self.trainer.train_dataloader.batch_sampler  # pyright: ignore[reportOptionalMemberAccess]

    def training_step(self, batch: dict[str, Tensor], batch_idx: int) -> Tensor:
        losses, weights = row_losses(self(batch).float(), batch["allowed"], self.label_weights, self.settings["label_smoothing"])
        own = torch.stack([(weights * losses).sum(), weights.sum(), batch["allowed"].any(-1).sum().to(losses.dtype)])
        whole = self.trainer.strategy.reduce(own.detach().clone(), reduce_op="sum")
        value, count = float(whole[0] / whole[1]), int(whole[2])
        self._step, self._rows = batch_idx, batch["row"]
        if not torch.isfinite(whole).all():
            self._stop(f"loss is {value}", [row for row, one in zip(batch["row"].tolist(), losses.tolist(), strict=True) if not one < 1e30])
        self.pairs_seen += count
        self.smoothed = value if self.pairs_seen == count else 0.98 * self.smoothed + 0.02 * value
        self.log("train/loss", self.smoothed, on_step=True, batch_size=count)
        if self.pairs_seen >= self.guard_pairs and self.smoothed > self.guard_loss:
            raise TrainingStopped(
                f"collapsed: smoothed loss {self.smoothed:.3f} is above {self.guard_loss} after {self.pairs_seen} pairs "
                "(guessing has 1.099); lower the learning rate, check the labels, or raise model.guard_pairs"
            )
        # Gradients are averaged over processes; the shares of a batch weigh what their rows weigh, not one half each.
        return own[0] * self.trainer.world_size / whole[1]

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        if self.trainer.precision == "16-mixed":  # its scaler meets infinite gradients and skips them
            return
        norm = torch.nn.utils.get_total_norm([p.grad for p in self.parameters() if p.grad is not None])
        if not torch.isfinite(norm):
            self._stop(f"gradient norm is {float(norm)}", self._rows.tolist())

    def _stop(self, what: str, rows: Sequence[int]) -> NoReturn:
        """Ends training before the step that would spoil the weights; keeps them, and names the batch."""
        pairs, mix = [self._data.mix.pairs[row] for row in rows[:3]], self._data.mix
        names = sorted({self._data.train[mix.source[row]].name for row in rows})
        shown = "; ".join(f"{pair.a[:60]!r} / {pair.b[:60]!r} ({pair.label})" for pair in pairs) or "on another process"
        if self.trainer.world_size == 1:
            kept = Path(self.trainer.default_root_dir) / "last_good.ckpt"
            self.trainer.save_checkpoint(kept)
            where = f"the weights before it are in {kept}"
        else:
            where = "the last training checkpoint holds the last good weights"
        raise TrainingStopped(
            f"{what} in batch {self._step} of epoch {self.current_epoch}, {len(rows)} pairs of {', '.join(names)}: {shown}; {where}. "
            "Check these pairs, lower the learning rate, or train with trainer.precision 32-true"
        )

    def on_validation_epoch_start(self) -> None:
        self._begin(self._data.dev_pairs, [source.undirected for source in self._data.dev])

    def on_test_epoch_start(self) -> None:
        self._begin(self._data.test_pairs, [source.undirected for source in self._data.test])

    def _begin(self, sets: Sequence[Sequence[Any]], undirected: Sequence[bool]) -> None:
        # Columns: the logits, and how often the row was read.
        self._scores = [
            torch.zeros(len(pairs) * (2 if both else 1), 4, device=self.device) for pairs, both in zip(sets, undirected, strict=True)
        ]

    def validation_step(self, batch: dict[str, Tensor], batch_idx: int, dataloader_idx: int = 0) -> None:
        read, logits = batch["allowed"].any(-1), self(batch).float()
        self._scores[dataloader_idx][batch["row"][read]] = torch.nn.functional.pad(logits[read], (0, 1), value=1.0)

    def test_step(self, batch: dict[str, Tensor], batch_idx: int, dataloader_idx: int = 0) -> None:
        self.validation_step(batch, batch_idx, dataloader_idx)

    def _collect(self) -> list[Tensor]:
        """The logits of every set, `[N, 3]`, whichever process read them. Raises ValueError when a row was not read."""
        whole = [self.trainer.strategy.reduce(scores, reduce_op="sum").cpu() for scores in self._scores]
        if not all(bool((scores[:, 3] == 1).all()) for scores in whole):
            raise ValueError("a set was read in part; scores need whole sets: leave out trainer.limit_val_batches and limit_test_batches, "
                             "set trainer.num_sanity_val_steps: 0, and cap a set with `cap`")  # fmt: skip
        return [scores[:, :3] for scores in whole]

    def on_validation_epoch_end(self) -> None:
        if self.trainer.sanity_checking:
            return
        self.dev_logits = self._collect()
        self.dev_reports = score_dev(self._data, self.dev_logits, self.calibration)
        self._log_reports("dev", self.dev_reports)

    def on_test_epoch_end(self) -> None:
        self._log_reports("test", score_sets(labelled_scores(self._data.test, self._data.test_pairs, self._collect()), self.calibration))

    def _log_reports(self, kind: str, reports: dict[str, dict[str, Any]]) -> None:
        for name, report in reports.items():
            for metric in ("macro_f1", "accuracy"):
                self.log(f"{kind}/{name}/{metric}", report[metric], sync_dist=True)
        mean = sum(report["macro_f1"] for report in reports.values()) / len(reports)
        self.log(f"{kind}/macro_f1", mean, sync_dist=True)
        if self.trainer.state.fn == "fit":
            shown = ", ".join(f"{name} {report['macro_f1']:.3f}" for name, report in reports.items())
            say(f"{kind} macro-F1 after {self.pairs_seen} pairs: mean {mean:.4f} ({shown})")
        else:
            metrics = ("accuracy", "macro_f1", "ece")
            rows = [
                {"set": name, "pairs": report["n"], **{key: f"{report[key]:.3f}" for key in metrics}} for name, report in reports.items()
            ]
            show_rows(f"{kind} sets", rows)

    def configure_optimizers(self) -> dict[str, Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        groups: dict[tuple[bool, bool], list[torch.nn.Parameter]] = {}
        for name, parameter in self.named_parameters():
            name = name.replace("_fsdp_wrapped_module.", "")
            if parameter.requires_grad:
                groups.setdefault((name.startswith("model.head."), name in self._matrices), []).append(parameter)
        optimizer = torch.optim.AdamW(
            {
                "params": parameters,
                "lr": self.head_lr if of_head else self.settings["lr"],
                "weight_decay": self.settings["weight_decay"] if matrices else 0.0,
            }
            for (of_head, matrices), parameters in groups.items()
        )
        return warm_then_linear(optimizer, int(self.trainer.estimated_stepping_batches), self.settings["warmup"])

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["state_dict"] = {name: tensor for name, tensor in checkpoint["state_dict"].items() if name in self._kept}
        progress = {"pairs_seen": self.pairs_seen, "smoothed": self.smoothed, "position": self._sampler.position}
        checkpoint["verifier"] = {**progress, "rng": torch.get_rng_state()}

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        missing = sorted(self._kept - set(checkpoint["state_dict"]))
        if missing:
            raise RuntimeError(f"training checkpoint lacks {len(missing)} tensors ({missing[0]}, ...); it is of another configuration")
        self.pairs_seen, self.smoothed = checkpoint["verifier"]["pairs_seen"], checkpoint["verifier"]["smoothed"]
        self._resumed = checkpoint["verifier"]
        self.calibration = VerifierCalibration()  # a training state was not calibrated, whatever its parent was

    def on_train_start(self) -> None:
        if self._resumed is not None:
            torch.set_rng_state(self._resumed["rng"])
            self._sampler.position = self._resumed["position"]
            self._resumed = None
        if self.global_rank:  # processes draw different dropout
            torch.manual_seed(torch.initial_seed() + 1_000_003 * self.global_rank + self.pairs_seen)


def row_losses(logits: Tensor, allowed: Tensor, weights: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Per row, -log P(an allowed label), with label smoothing on rows of one label; and what the row weighs.

    Args:
        logits: `[B, 3]`.
        allowed: `[B, 3]` bool; a row that allows nothing is a filler, with loss and weight 0.
        weights: `[3]`; a row weighs the mean of its allowed labels' weights.
        smoothing: in [0, 1), the mass spread evenly over the three labels.

    Returns losses `[B]` and weights `[B]`.
    """
    log_p, filler = logits.log_softmax(-1), ~allowed.any(-1)
    certain = -log_p.masked_fill(~(allowed | filler[:, None]), float("-inf")).logsumexp(-1)
    smooth = torch.where(allowed.sum(-1) == 1, (1 - smoothing) * certain - smoothing * log_p.mean(-1), certain)
    return smooth, (allowed * weights).sum(-1) / allowed.sum(-1).clamp(min=1)


def relation_loss(logits: Tensor, allowed: Tensor, weights: Tensor, smoothing: float) -> Tensor:
    """Weighted mean of `row_losses`."""
    losses, row_weights = row_losses(logits, allowed, weights, smoothing)
    return (row_weights * losses).sum() / row_weights.sum()


def score_dev(data: VerifierData, logits: Sequence[Tensor], calibration: VerifierCalibration) -> dict[str, dict[str, Any]]:
    """A classification report per dev set, undirected sets after combining both orders.

    Args:
        data: the dev sets.
        logits: of each set, `[N, 3]`, or `[2N, 3]` with the reversed pairs second where the set is undirected.
        calibration: of one reading order and of the verdict.
    """
    return score_sets(dev_scores(data, logits), calibration)


def score_sets(sets: Sequence[DevScores], calibration: VerifierCalibration) -> dict[str, dict[str, Any]]:
    """A classification report per set, by name; sets read in both orders after combining them."""
    reports = {}
    for one in sets:
        scores = calibration.directed.log_probabilities(one.forward)
        if one.backward is not None:
            scores = calibration.verdict(scores, calibration.directed.log_probabilities(one.backward))
        reports[one.name] = classification_report(scores.exp(), one.labels)
    return reports


def dev_scores(data: VerifierData, logits: Sequence[Tensor]) -> list[DevScores]:
    """The dev sets with their labels and the logits of `validation_step`, undirected sets in both reading orders."""
    return labelled_scores(data.dev, data.dev_pairs, logits)


def labelled_scores(sources: Sequence[PairSource], sets: Sequence[list[LabelledPair]], logits: Sequence[Tensor]) -> list[DevScores]:
    """Sets with their labels and their logits (see `score_dev`)."""
    return [
        DevScores(source.name, label_tensor(pairs), rows[: len(pairs)], rows[len(pairs) :] if source.undirected else None)
        for source, pairs, rows in zip(sources, sets, logits, strict=True)
    ]


def calibrate(data: VerifierData, logits: Sequence[Tensor]) -> VerifierCalibration:
    """One reading order fitted on every dev set, the verdict on the undirected sets; every set counts alike.

    Sets with `calibrate: false` are left out. `train.calibrate` offers more, on any dev files.
    """
    chosen = [one for source, one in zip(data.dev, dev_scores(data, logits), strict=True) if source.calibrate]
    return calibrate_verifier(chosen) if chosen else VerifierCalibration()


class Throughput(L.Callback):
    """Step, smoothed loss, pairs per second and time left: a bar where people watch, elsewhere a line every `every` steps.

    For any module that counts `pairs_seen` and keeps a `smoothed` loss. The rate is that of all processes together, since the last
    validation.
    """

    def __init__(self, every: int = 50) -> None:
        self.every = every
        self.bar: Progress | None = None

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self._mark(trainer, pl_module)
        if console.is_terminal and trainer.is_global_zero:
            self.bar = Progress(TextColumn("{task.completed}/{task.total}"), BarColumn(), TextColumn("{task.description}"), console=console)
            self.task = self.bar.add_task("", total=int(trainer.estimated_stepping_batches), completed=trainer.global_step)
            self.bar.start()

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self._mark(trainer, pl_module)

    def on_train_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self._close()

    def on_exception(self, trainer: L.Trainer, pl_module: L.LightningModule, exception: BaseException) -> None:
        self._close()

    def _close(self) -> None:
        if self.bar is not None:
            self.bar.stop()
            self.bar = None

    def _mark(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        module: Any = pl_module
        self.since, self.pairs, self.step = time.perf_counter(), module.pairs_seen, trainer.global_step
        self.told = trainer.global_step

    def on_train_batch_end(self, trainer: L.Trainer, pl_module: L.LightningModule, *args: Any) -> None:
        module: Any = pl_module
        # With accumulated gradients several batches end on one step.
        if trainer.global_step == self.told or (self.bar is None and trainer.global_step % self.every):
            return
        self.told = trainer.global_step
        spent, total = time.perf_counter() - self.since, int(trainer.estimated_stepping_batches)
        left = (total - trainer.global_step) * spent / (trainer.global_step - self.step)
        rate = (module.pairs_seen - self.pairs) / spent
        text = f"loss {module.smoothed:.4f}  {rate:.{int(rate < 10)}f} pairs/s  {left / 60:.1f} min left"
        if self.bar is not None:
            self.bar.update(self.task, completed=trainer.global_step, description=text)
        else:
            say(f"step {trainer.global_step}/{total}  {text}")
