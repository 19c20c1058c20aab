"""What the command lines of all trainings share."""

from __future__ import annotations

from typing import Any

import torch
from lightning.pytorch.cli import LightningCLI

from train.console import say


class TrainingCLI(LightningCLI):
    """Chooses the precision where none is given, hands the seed to the data, and knows the configuration of a `fit`."""

    def add_arguments_to_parser(self, parser: Any) -> None:
        parser.link_arguments("seed_everything", "data.seed", compute_fn=int)

    def before_instantiate_classes(self) -> None:
        trainer = self.config[self.subcommand].trainer if self.subcommand else self.config.trainer
        if trainer.precision is None:
            trainer.precision = fast_precision(str(trainer.accelerator))
            say(f"precision {trainer.precision}, the faster one here; set trainer.precision to choose")

    @property
    def fitted_config(self) -> dict[str, Any]:
        """The whole configuration of the run, as plain data."""
        return self.config.fit.as_dict() if "fit" in self.config else self.config.as_dict()


def fast_precision(accelerator: str) -> str:
    """`bf16-mixed` where the hardware multiplies in bfloat16, else `32-true`."""
    if accelerator in ("auto", "gpu", "cuda") and torch.cuda.is_available():
        return "bf16-mixed" if torch.cuda.is_bf16_supported(including_emulation=False) else "32-true"
    able = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    return "bf16-mixed" if able.get("avx512_bf16") or able.get("amx_bf16") else "32-true"
