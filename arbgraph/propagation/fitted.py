"""Fitted credibility propagation as a checkpoint: exact settings and the learned scalars, to the last bit."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arbgraph.checkpoint import Checkpoint, CheckpointConfig, CheckpointError, load_checkpoint, save_checkpoint
from arbgraph.propagation.credibility import LEARNABLE, CredibilityPropagation

KIND = "CredibilityPropagation"
# Constructor arguments that decide an exact run, beside the scalars.
DISCRETE = ("rounds", "budget", "support_cap", "support_cap_scope", "scheduler", "early_stop", "seed")


def parameters_of(layer: CredibilityPropagation) -> dict[str, Any]:
    """The constructor arguments that give the layer's exact behaviour, as plain data."""
    return {name: getattr(layer, name) for name in DISCRETE} | {name: getattr(layer, name).item() for name in LEARNABLE}


def save_propagation(
    layer: CredibilityPropagation, folder: str | Path, *, card: str, metrics: Mapping[str, Any], training: Mapping[str, Any]
) -> Checkpoint:
    """Writes a checkpoint folder: `config.json` holds all parameters as JSON, `head.safetensors` the scalars in float64."""
    config = CheckpointConfig(kind=KIND, settings=parameters_of(layer))
    head = {name: getattr(layer, name) for name in LEARNABLE}
    return save_checkpoint(folder, config, head=head, card=card, metrics=metrics, training=training)


def load_propagation(name: str | Path, **options: Any) -> CredibilityPropagation:
    """The layer of a checkpoint folder, or of a shipped checkpoint by name, in exact mode unless `options` say otherwise.

    Raises CheckpointError on a missing, foreign or damaged checkpoint, and where `config.json` and the weights disagree.
    """
    checkpoint = load_checkpoint(name, kind=KIND)
    settings, head = checkpoint.config.settings, checkpoint.head()
    known = inspect.signature(CredibilityPropagation).parameters
    if unknown := sorted(set(settings) - set(known)):
        raise CheckpointError(f"{checkpoint.path}: unknown setting {unknown[0]!r}; use the version that wrote it")
    if missing := [name for name in LEARNABLE if name not in head or name not in settings]:
        raise CheckpointError(f"{checkpoint.path}: parameter {missing[0]!r} is missing; get the folder again")
    for parameter in LEARNABLE:
        if head[parameter].item() != settings[parameter]:
            raise CheckpointError(
                f"{checkpoint.path}: config.json gives {parameter} = {settings[parameter]!r}, the weights {head[parameter].item()!r}; "
                "undo the edit, or pass other values as options"
            )
    return CredibilityPropagation(**{**settings, **options})
