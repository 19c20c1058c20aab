"""What the checkpoint folders of all trainings say alike: their base, the checkpoint that they continue, and their settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arbgraph.checkpoint import Base, Checkpoint
from arbgraph.models import ResolvedModel


def base_of(model: ResolvedModel) -> Base:
    """The base as a checkpoint names it."""
    return Base(name=model.name, sha256=model.sha256)


def continued_from(parent: Checkpoint | None) -> dict[str, Any]:
    """The setting that names the checkpoint from which a training went on; none where it began with the base."""
    return {} if parent is None else {"continued_from": {"name": parent.path.name, "files": parent.config.files}}


def recorded(training: Mapping[str, Any]) -> dict[str, Any]:
    """A whole configuration for `training.yaml`, less the names of the files that it was read from."""
    return plain({key: value for key, value in training.items() if key != "config"})


def plain(value: Any) -> Any:
    """Plain data for YAML: mappings, lists and scalars; anything else by its text."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "__dataclass_fields__"):
        return plain(vars(value))
    return value if isinstance(value, str | int | float | bool | type(None)) else str(value)
