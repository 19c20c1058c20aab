"""The network that training starts from: a base with a fresh adapter and head, or a published verifier to continue."""

from __future__ import annotations

from typing import Any

from torch import nn

from arbgraph.checkpoint import ADAPTER, Checkpoint, load_checkpoint
from arbgraph.models import ResolvedModel
from arbgraph.verifier.backbone import is_decoder, load_backbone, load_config
from arbgraph.verifier.model import RelationModel, SegmentHead
from arbgraph.verifier.relation import KIND, load_model
from train.lora import LoraSettings, adapt


def new_network(
    resolved: ResolvedModel,
    *,
    max_tokens: int,
    lora: LoraSettings | None,
    comparison: bool,
    dropout: float,
    encoder_dropout: float | None,
) -> RelationModel:
    """Base, adapter and segment head; `lora` None trains the whole base. A decoder is pooled at its last token.

    Raises ValueError when the base reads fewer than `max_tokens`, or a LoRA target matches no layer.
    """
    config = load_config(resolved, dropout=encoder_dropout)
    _check_length(config, resolved.name, max_tokens)
    encoder = load_backbone(resolved, config)
    features = 0
    if comparison:
        from arbgraph.comparison import COMPARISON_FEATURES

        features = len(COMPARISON_FEATURES)
    anchor = "last" if is_decoder(config) else "first"
    head = SegmentHead(config.hidden_size, features=features, dropout=dropout, anchor=anchor)
    encoder = adapt(encoder, lora) if lora is not None else unfreeze(encoder)
    # `from_pretrained` hands out eval mode, and the trainer keeps the mode that it finds.
    return RelationModel(encoder, head).train()


def continued_network(
    path: str,
    base: str,
    *,
    max_tokens: int,
    lora: LoraSettings | None,
    full: bool,
    comparison: bool,
    dropout: float,
    encoder_dropout: float | None,
    offline: bool = True,
) -> tuple[RelationModel, Checkpoint]:
    """A published verifier, ready to be trained further: adapter, head, and the scale of its comparison features.

    Args:
        path: checkpoint folder, or the name of a shipped one.
        base: the base as this configuration names it; must be the one that the checkpoint was trained on.
        max_tokens: longest pair from now on.
        lora: settings that the caller asked for; None takes those of the checkpoint.
        full: train the whole base; an adapter is merged into it first.
        comparison: whether the configuration wants comparison features.
        dropout: before the head's last layer, from now on.
        encoder_dropout: inside the encoder, from now on.
        offline: never touch the network.

    Raises CheckpointError on another base or a damaged folder, ValueError on settings that the checkpoint does not have.
    """
    checkpoint = load_checkpoint(path, kind=KIND)
    has_features = bool(checkpoint.config.features)
    if has_features != comparison:
        had = "with" if has_features else "without"
        raise ValueError(f"{path}: was trained {had} comparison features; set model.comparison: {str(has_features).lower()}")
    model, _ = load_model(checkpoint, offline=offline, base=base, trainable=not full, dropout=encoder_dropout)
    _check_length(model.encoder.config, base, max_tokens)
    if full:
        if ADAPTER in checkpoint.config.files:
            model.encoder = model.encoder.merge_and_unload()  # pyright: ignore[reportCallIssue]
        unfreeze(model.encoder)
    elif ADAPTER not in checkpoint.config.files:
        raise ValueError(f"{path}: was trained whole and has no adapter to continue; set model.full: true")
    else:
        _check_lora(lora, model.encoder, path)
    model.head.dropout.p = dropout
    return model.train(), checkpoint


def unfreeze(encoder: nn.Module) -> nn.Module:
    """Lets a whole base train, but for a pooler, whose output nobody reads."""
    for name, parameter in encoder.named_parameters():
        parameter.requires_grad_("pooler" not in name.split("."))
    return encoder


def _check_length(config: Any, name: str, max_tokens: int) -> None:
    longest = getattr(config, "max_position_embeddings", None) or max_tokens
    if max_tokens > longest:
        raise ValueError(f"max_tokens {max_tokens}: {name} reads at most {longest}")


def _check_lora(asked: LoraSettings | None, encoder: Any, path: str) -> None:
    kept = encoder.peft_config["default"]
    if asked is not None and (asked.r, asked.alpha) != (kept.r, kept.lora_alpha):
        raise ValueError(
            f"{path}: its adapter has r {kept.r}, alpha {kept.lora_alpha}, not r {asked.r}, alpha {asked.alpha}; leave model.lora out"
        )
