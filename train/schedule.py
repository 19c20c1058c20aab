"""The learning-rate schedule of all trainings: linear warm-up, then linear decay."""

from __future__ import annotations

from typing import Any

import torch


def warm_then_linear(optimizer: torch.optim.Optimizer, total: int, warmup: float, floor: float = 0.0) -> dict[str, Any]:
    """What `configure_optimizers` returns: warm-up over the share `warmup` of `total` steps, then decay to `floor` times the peak."""
    warm = max(1, round(total * warmup))

    def factor(step: int) -> float:
        return min((step + 1) / warm, max(floor, (total - step) / max(1, total - warm)))

    return {
        "optimizer": optimizer,
        "lr_scheduler": {"scheduler": torch.optim.lr_scheduler.LambdaLR(optimizer, factor), "interval": "step"},
    }
