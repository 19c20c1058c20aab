"""LoRA: wrapping a model in one place, and saying which parameters train, stay frozen and are saved."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from torch import nn


@dataclass
class LoraSettings:
    """Low-rank adaptation of linear layers (Hu et al., 2022).

    Args:
        r: rank.
        alpha: scale; the update is multiplied by alpha / r.
        dropout: on the adapter's input.
        targets: `auto` for every linear layer that the token states depend on, or module names (a name matches by its last parts).
    """

    r: int = 16
    alpha: int = 32
    dropout: float = 0.0
    targets: str | list[str] = field(default="auto")


def resolve_targets(model: nn.Module, targets: str | list[str]) -> list[str]:
    """Full names of the linear layers to adapt, sorted.

    Raises ValueError, listing candidates, when a name matches no linear layer.
    """
    linear = sorted(name for name, module in model.named_modules() if isinstance(module, nn.Linear))
    if targets == "auto":
        # A pooler reads the first token for a use that we do not make; its adapter would never get a gradient.
        return [name for name in linear if "pooler" not in name.split(".")]
    chosen: set[str] = set()
    for target in [targets] if isinstance(targets, str) else targets:
        matches = [name for name in linear if name == target or name.endswith("." + target)]
        if not matches:
            candidates = sorted({name.rsplit(".", 1)[-1] for name in linear})
            raise ValueError(f"LoRA target {target!r} matches no linear layer; candidates end in {', '.join(candidates)}")
        chosen.update(matches)
    return sorted(chosen)


def adapt(model: nn.Module, settings: LoraSettings) -> nn.Module:
    """Freezes a model and adds adapters to its target layers. Raises ValueError on a model that is already wrapped."""
    from peft import LoraConfig, PeftModel, get_peft_model

    if isinstance(model, PeftModel):
        raise ValueError("the model already carries an adapter; give the plain base")
    targets = resolve_targets(model, settings.targets)
    config = LoraConfig(r=settings.r, lora_alpha=settings.alpha, lora_dropout=settings.dropout, target_modules=targets, bias="none")
    return get_peft_model(model, config)  # pyright: ignore[reportArgumentType]


def round_to_half(module: nn.Module) -> None:
    """Rounds the trained parameters to float16 and keeps them in float32, so that scores that follow are those of published halves."""
    for parameter in module.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.half().float()


def halve_adapter(module: nn.Module) -> None:
    """Puts the trained adapter into float16, as it is published."""
    for name, parameter in module.named_parameters():
        if parameter.requires_grad and "lora_" in name:
            parameter.data = parameter.data.half()


def parameter_rows(model: nn.Module, saved: Collection[str]) -> list[dict[str, Any]]:
    """Per part (top-level child, adapter apart from its base): tensors' sizes that are trained, frozen, and saved."""
    rows: dict[str, dict[str, Any]] = {}
    for name, parameter in model.named_parameters():
        part = f"{name.split('.', 1)[0]} adapter" if "lora_" in name else name.split(".", 1)[0]
        row = rows.setdefault(part, {"part": part, "trained": 0, "frozen": 0, "saved": 0})
        row["trained" if parameter.requires_grad else "frozen"] += parameter.numel()
        row["saved"] += parameter.numel() if name in saved else 0
    return list(rows.values())
