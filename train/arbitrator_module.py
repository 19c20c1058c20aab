"""The arbitrator as a Lightning module: a causal language model with LoRA, the loss at the option position, dev scores in both orders."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, Literal

import lightning as L
import torch
from torch import Tensor, nn

from arbgraph.arbitrator.calibration import VerdictCalibration
from arbgraph.arbitrator.causal_lm import KIND
from arbgraph.arbitrator.records import WINNERS, ArbitrationRecord, outcomes
from arbgraph.chat.transformers_chat import DEFAULT_MODEL, TransformersChat
from arbgraph.checkpoint import Checkpoint, CheckpointError, load_checkpoint
from eval.metrics.classification import classification_report
from train.console import say, show_rows
from train.data.pairs import BucketSampler
from train.data.verdicts import PromptEncoder, VerdictData
from train.lora import LoraSettings, adapt, parameter_rows, resolve_targets, round_to_half
from train.schedule import warm_then_linear
from train.verifier_module import TrainingStopped


class ArbitratorModule(L.LightningModule):
    """A causal language model that learns to answer the decision prompt, with an adapter or from a published one.

    The loss is the cross-entropy over the options at the one position where the reply begins; nothing else of the vocabulary's logits is
    computed. The beginning that all prompts of a batch share (rules, template) is read once per batch, with its gradient.

    Args:
        base: hub name, folder or packaged model; safetensors or GGUF, with a chat template.
        output: checkpoint folder that `fit` writes.
        init_from: published arbitrator to continue from (folder or name of a shipped one), with its adapter and calibration.
        offline: never touch the network.
        context_tokens: tokens of the evidence of both sides together, in training and in use.
        lora: rank, alpha, dropout and targets; `auto` takes every linear layer but the output embedding.
        first_layer: adapt the layers from this one on; the layers below need no backward pass.
        orders: `both` puts the loss on the average of both orders, which is what is used, so that a preference for a position costs nothing
            and teaches nothing; `random` reads each record in one order, drawn anew every epoch, at half the price.
        share_beginning: read the common beginning of a batch once.
        lr: peak learning rate. weight_decay: of all adapter matrices. warmup: share of the steps that warm up, then linear decay to 0.
        label_smoothing: mass spread over the three options.
        half: publish the adapter in float16.
    """

    def __init__(
        self,
        base: str = DEFAULT_MODEL,
        output: str = "outputs/arbitrator",
        init_from: str | None = None,
        offline: bool = True,
        context_tokens: int = 300,
        lora: LoraSettings | None = None,
        first_layer: int = 0,
        orders: Literal["both", "random"] = "both",
        share_beginning: bool = True,
        lr: float = 1e-3,
        weight_decay: float = 0.0,
        warmup: float = 0.06,
        label_smoothing: float = 0.02,
        half: bool = True,
    ) -> None:
        super().__init__()
        self.strict_loading = False  # the base's frozen weights are not in a training checkpoint; `on_load_checkpoint` checks the rest
        self.settings = {"lr": lr, "weight_decay": weight_decay, "warmup": warmup, "label_smoothing": label_smoothing}
        self.output, self.context_tokens, self.share_beginning, self.in_half = output, context_tokens, share_beginning, half
        self.orders = orders
        self.parent: Checkpoint | None = None
        self.calibration = VerdictCalibration()
        if init_from is not None:
            self.parent = load_checkpoint(init_from, kind=KIND)
            self.calibration = VerdictCalibration.from_dict(self.parent.config.calibration or VerdictCalibration().to_dict())
        # Full precision: the trainer's autocast makes the products fast, and the adapter's updates stay exact.
        self.chat = TransformersChat(base, precision="fp32", device="cpu", constrain="never", offline=offline)
        self.model: nn.Module = self._wrapped(lora or LoraSettings(r=8, alpha=16), first_layer)
        _exact_logits(self.model)
        self.encoder = PromptEncoder(self.chat, context_tokens)
        self.pairs_seen, self.smoothed = 0, 0.0
        self.options: list[int] = []
        self.dev_scores, self.dev_report = torch.zeros(0, 2, 3), {}
        self._scores = torch.zeros(0, 4)
        self._resumed: dict[str, Any] | None = None
        self._kept = frozenset(name for name, parameter in self.named_parameters() if parameter.requires_grad)

    def _wrapped(self, lora: LoraSettings, first_layer: int) -> nn.Module:
        base: nn.Module = self.chat.model
        if self.parent is not None:
            recorded = self.parent.config.base
            if recorded is None or recorded.sha256 != self.chat.resolved.sha256:
                raise CheckpointError(
                    f"{self.parent.path}: was trained on {recorded and recorded.name}, not on {self.chat.name}; give its base"
                )
            return self.parent.adapt(base, trainable=True)
        names = [name for name in resolve_targets(base, lora.targets) if layer_number(name) is not None or lora.targets != "auto"]
        chosen = [name for name in names if (layer_number(name) or 0) >= first_layer]
        if not chosen:
            raise ValueError(f"no LoRA target is in layer {first_layer} or above; the last is {max(map(str, names), default='none')}")
        return adapt(base, LoraSettings(lora.r, lora.alpha, lora.dropout, chosen))

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        """Log-probabilities of the options given that the reply is one of them, `[B, 3]` float32."""
        ids, mask, shared = batch["ids"], batch["mask"], batch["shared"]
        if self.share_beginning and len(shared):
            beginning: dict[str, Any] = {}
            mask = torch.cat([mask.new_ones(len(ids), len(shared)), mask], dim=1)
            beginning[self._cache_name] = self._read_beginning(shared, len(ids))
            positions = (mask.cumsum(-1) - 1)[:, len(shared) :]
        else:
            beginning = {"use_cache": False}
            ids = torch.cat([shared.expand(len(ids), -1), ids], dim=1)
            # The padding stands between the two then, and is not counted.
            mask = torch.cat([mask.new_ones(len(mask), len(shared)), mask], dim=1)
            positions = (mask.cumsum(-1) - 1).clamp(min=0)
        logits = self.model(input_ids=ids, attention_mask=mask, position_ids=positions, logits_to_keep=1, **beginning).logits
        return logits[:, -1, self.options].float().log_softmax(-1)

    def _read_beginning(self, shared: Tensor, rows: int) -> Any:
        """The keys and values of the shared tokens, repeated for every row; gradients of all rows flow into the one pass."""
        from transformers import DynamicCache

        cache = DynamicCache()
        self.model(input_ids=shared[None], use_cache=True, logits_to_keep=1, **{self._cache_name: cache})
        cache.batch_repeat_interleave(rows)
        return cache

    @property
    def _cache_name(self) -> str:
        # Renamed between versions of transformers.
        base: Any = self.model.get_base_model()  # pyright: ignore[reportCallIssue]
        return "past_key_values" if "past_key_values" in inspect.signature(base.forward).parameters else "cache"

    @property
    def _data(self) -> VerdictData:
        return self.trainer.datamodule  # pyright: ignore[reportAttributeAccessIssue]

    def setup(self, stage: str) -> None:
        records = [*self._data.mix.records[:1], *self._data.dev_records[:1], *self._data.test_records[:1]]
        self.options = self.encoder.options(records[0])

    def on_fit_start(self) -> None:
        self.calibration = VerdictCalibration()
        if self.pairs_seen == 0:
            show_rows("parameters", parameter_rows(self.model, {name.removeprefix("model.") for name in self._kept}))

    def on_train_start(self) -> None:
        if self._resumed is not None:
            torch.set_rng_state(self._resumed["rng"])
            self._sampler.position = self._resumed["position"]
            self._resumed = None

    def on_train_epoch_start(self) -> None:
        self._sampler.set_epoch(self.current_epoch)

    @property
    def _sampler(self) -> BucketSampler:
        return self.trainer.train_dataloader.batch_sampler  # pyright: ignore[reportOptionalMemberAccess]

    def training_step(self, batch: dict[str, Tensor], batch_idx: int) -> Tensor:
        log_p, read = self(batch), batch["read"]
        if self.orders == "both":
            first, second = log_p.chunk(2)
            log_p = ((first + second[:, [1, 0, 2]]) / 2).log_softmax(-1)
        losses = nn.functional.nll_loss(log_p, batch["outcome"], reduction="none")
        smoothing = self.settings["label_smoothing"]
        losses = (1 - smoothing) * losses - smoothing * log_p.mean(-1)
        own = torch.stack([losses[read].sum(), read.sum().to(losses.dtype)])
        whole = self.trainer.strategy.reduce(own.detach().clone(), reduce_op="sum")
        value, count = float(whole[0] / whole[1]), int(whole[1])
        if not torch.isfinite(whole).all():
            rows = [row % len(self._data.mix.records) for row in batch["row"].tolist()]
            claims = "; ".join(repr(self._data.mix.records[row].claim_a[:60]) for row in rows[:3])
            raise TrainingStopped(f"loss is {value} in batch {batch_idx} of epoch {self.current_epoch} ({claims}); lower model.lr")
        self.pairs_seen += count
        self.smoothed = value if self.pairs_seen == count else 0.96 * self.smoothed + 0.04 * value
        self.log("train/loss", self.smoothed, on_step=True, batch_size=count)
        # Gradients are averaged over processes; the shares of a batch weigh what their rows weigh.
        return own[0] * self.trainer.world_size / whole[1]

    def on_validation_epoch_start(self) -> None:
        self._scores = torch.zeros(2 * len(self._data.dev_records), 4, device=self.device)

    def on_test_epoch_start(self) -> None:
        self._scores = torch.zeros(2 * len(self._data.test_records), 4, device=self.device)

    def validation_step(self, batch: dict[str, Tensor], batch_idx: int) -> None:
        read = batch["read"]
        self._scores[batch["row"][read]] = nn.functional.pad(self(batch)[read], (0, 1), value=1.0)

    def test_step(self, batch: dict[str, Tensor], batch_idx: int) -> None:
        self.validation_step(batch, batch_idx)

    def _collect(self) -> Tensor:
        """The scores of every record, `[N, 2, 3]` float64, the second order turned back. Raises ValueError when a prompt was not read."""
        whole = self.trainer.strategy.reduce(self._scores, reduce_op="sum").cpu().double()
        if not bool((whole[:, 3] == 1).all()):
            raise ValueError("a set was read in part; scores need whole sets: leave out trainer.limit_val_batches and "
                             "limit_test_batches, and set trainer.num_sanity_val_steps: 0")  # fmt: skip
        first, second = whole[:, :3].chunk(2)
        return torch.stack([first, second[:, [1, 0, 2]]], dim=1)

    def on_validation_epoch_end(self) -> None:
        if not self.trainer.sanity_checking:
            self.dev_scores = self._collect()
            self.dev_report = verdict_report(self._data.dev_records, self.dev_scores, self.calibration)
            self._tell("dev", self.dev_report)

    def on_test_epoch_end(self) -> None:
        self._tell("test", verdict_report(self._data.test_records, self._collect(), self.calibration))

    def _tell(self, kind: str, report: dict[str, Any]) -> None:
        for name in ("accuracy", "nll", "position_bias"):
            self.log(f"{kind}/{name}", report[name], sync_dist=True)
        if self.trainer.state.fn == "fit":
            say(f"{kind} after {self.pairs_seen} records: accuracy {report['accuracy']:.3f}, negative log-likelihood {report['nll']:.3f}")
        else:
            show_rows(f"{kind} records", report_rows(report))

    def configure_optimizers(self) -> dict[str, Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        trained = [parameter for parameter in self.parameters() if parameter.requires_grad]
        # The first steps only shift the options' balance, with large gradients; a short memory forgets them soon.
        options: dict[str, Any] = {"lr": self.settings["lr"], "weight_decay": self.settings["weight_decay"], "betas": (0.9, 0.95)}
        optimizer = torch.optim.AdamW(trained, **options)
        return warm_then_linear(optimizer, int(self.trainer.estimated_stepping_batches), self.settings["warmup"])

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["state_dict"] = {name: tensor for name, tensor in checkpoint["state_dict"].items() if name in self._kept}
        progress = {"pairs_seen": self.pairs_seen, "smoothed": self.smoothed, "position": self._sampler.position}
        checkpoint["arbitrator"] = {**progress, "rng": torch.get_rng_state()}

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        missing = sorted(self._kept - set(checkpoint["state_dict"]))
        if missing:
            raise RuntimeError(f"training checkpoint lacks {len(missing)} tensors ({missing[0]}, ...); it is of another configuration")
        self.pairs_seen, self.smoothed = checkpoint["arbitrator"]["pairs_seen"], checkpoint["arbitrator"]["smoothed"]
        self._resumed = checkpoint["arbitrator"]
        self.calibration = VerdictCalibration()

    def load_best(self, path: str | Path) -> None:
        """Takes the trained tensors of a training checkpoint."""
        checkpoint = torch.load(path, weights_only=True, map_location="cpu")
        self.on_load_checkpoint(checkpoint)
        self.load_state_dict(checkpoint["state_dict"], strict=False)

    def round_adapter(self) -> None:
        """Rounds the adapter to what is published, so that the scores that follow are those of the published weights."""
        if self.in_half:
            round_to_half(self)


def _exact_logits(model: nn.Module) -> None:
    """Lets the output layer multiply in float32 inside autocast: bfloat16 rounds logits to sixteenths, as much as evidence moves them."""
    head: nn.Module = model.get_output_embeddings()  # pyright: ignore[reportCallIssue]
    multiply = head.forward

    def forward(states: Tensor) -> Tensor:
        with torch.autocast(states.device.type, enabled=False):
            return multiply(states.float())

    head.forward = forward


def layer_number(name: str) -> int | None:
    """The number of the block that a module belongs to: the first number in its name."""
    return next((int(part) for part in name.split(".") if part.isdigit()), None)


def verdict_report(records: list[ArbitrationRecord], scores: Tensor, calibration: VerdictCalibration) -> dict[str, Any]:
    """Accuracy, calibration and bias of verdicts.

    Args:
        records: N records. scores: `[N, 2, 3]` log-probabilities in either order, before calibration.
        calibration: of the averaged scores.

    Returns what `classification_report` does and `nll`; `position_bias`, the mean difference of P(a wins) between a first and b first
    without averaging; `gated`, the share of records with P(a wins) or P(b wins) of at least one half, and `gated_accuracy`, how many
    of these are right; and `by_type`, accuracy and count.
    """
    gold = outcomes(records)
    log_p = calibration.log_probabilities(scores.mean(1))
    report = classification_report(log_p.exp(), gold, WINNERS)
    right = log_p.argmax(-1) == gold
    gated = log_p[:, :2].exp().amax(-1) >= 0.5
    each = scores.exp()
    types = sorted({record.type for record in records})
    rows = {name: torch.tensor([record.type == name for record in records]) for name in types}
    return report | {
        "nll": float(-log_p[torch.arange(len(gold)), gold].mean()),
        "position_bias": float((each[:, 0, 0] - each[:, 1, 0]).mean()),
        "gated": float(gated.double().mean()),
        "gated_accuracy": float(right[gated].double().mean()) if gated.any() else None,
        "by_type": {name: {"n": int(chosen.sum()), "accuracy": float(right[chosen].double().mean())} for name, chosen in rows.items()},
    }


def report_rows(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The report as a table: a row per type, and one for all."""
    rows = [{"type": name, "records": row["n"], "accuracy": f"{row['accuracy']:.3f}"} for name, row in report["by_type"].items()]
    return [*rows, {"type": f"all (ECE {report['ece']:.3f})", "records": report["n"], "accuracy": f"{report['accuracy']:.3f}"}]
