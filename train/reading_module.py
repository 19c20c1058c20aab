"""What the modules of both readers share: what a training checkpoint keeps, and going on where a run was stopped."""

from __future__ import annotations

import math
import time
from typing import Any

import lightning as L
from torch import Tensor

from train.console import say


class ReadingModule(L.LightningModule):
    """A module that is trained on `train.data.reading.ReaderData`.

    A training checkpoint holds the trained tensors, not the base's frozen ones, and how far the plan of batches has been read, so that a
    resumed run reads what an uninterrupted one would have read.
    """

    def __init__(self) -> None:
        super().__init__()
        self.strict_loading = False
        self.seen, self.smoothed, self.started, self.batches = 0, 0.0, time.monotonic(), 0
        self.dev_reports: dict[str, dict[str, Any]] = {}
        self._kept: frozenset[str] = frozenset()

    @property
    def _data(self) -> Any:
        return self.trainer.datamodule  # pyright: ignore[reportAttributeAccessIssue]

    def on_train_start(self) -> None:
        """Skips the batches of this epoch that a resumed run has read before it was stopped."""
        self.trainer.train_dataloader.batch_sampler.skip = self.batches  # pyright: ignore[reportOptionalMemberAccess]

    def on_train_epoch_end(self) -> None:
        self.batches = 0

    def note(self, loss: Tensor, readings: int, batch_idx: int, *, memory: float, every: int) -> None:
        """Counts a step, logs its loss smoothed with the given `memory`, and tells of it `every` so many steps.

        Raises ValueError on a loss that is not finite.
        """
        value = float(loss.detach())
        if not math.isfinite(value):
            raise ValueError(f"loss is {value} in batch {batch_idx}; lower the learning rate, or train with trainer.precision 32-true")
        self.seen += readings
        self.batches += 1
        self.smoothed = value if self.smoothed == 0 else memory * self.smoothed + (1 - memory) * value
        self.log("train/loss", self.smoothed, batch_size=readings)
        if self.global_step % every == 0:
            rate = self.seen / max(1e-9, time.monotonic() - self.started)
            say(f"step {self.global_step} of {self.trainer.estimated_stepping_batches}, loss {self.smoothed:.4f}, {rate:.2f} readings/s")

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["state_dict"] = {name: tensor for name, tensor in checkpoint["state_dict"].items() if name in self._kept}
        checkpoint["reading"] = {"seen": self.seen, "smoothed": self.smoothed, "batches": self.batches}

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        missing = sorted(self._kept - checkpoint["state_dict"].keys())
        if missing:
            raise ValueError(
                f"the training checkpoint lacks {len(missing)} trained tensors, {missing[0]} first; it is of another configuration"
            )
        progress = checkpoint["reading"]
        self.seen, self.smoothed, self.batches = progress["seen"], progress["smoothed"], progress["batches"]
