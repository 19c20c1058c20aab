"""One checkpoint format for every trained part: a folder that says what it is, what it rests on, and whether it is intact.

    config.json                 kind (class), base and its hash, label map, settings, calibration, hashes of the weight files
    head.safetensors            every trained tensor outside the adapter
    adapter_config.json         PEFT's own files, when the part adapts a base
    adapter_model.safetensors
    encoder.safetensors         in place of an adapter: the whole base, when all of it was trained
    README.md                   the card
    metrics.json                what was measured
    training.yaml               the complete training configuration

Only JSON and safetensors are read; nothing is ever unpickled.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from arbgraph.models import ModelNotFoundError, ResolvedModel, resolve_model

if TYPE_CHECKING:
    from torch import Tensor, nn

SCHEMA = 1
CONFIG, HEAD, CARD, METRICS, TRAINING = "config.json", "head.safetensors", "README.md", "metrics.json", "training.yaml"
ADAPTER_CONFIG, ADAPTER = "adapter_config.json", "adapter_model.safetensors"
ENCODER = "encoder.safetensors"

# A source tree keeps shipped checkpoints beside the package, a wheel inside it.
SHIPPED = (Path(__file__).parent.parent / "checkpoints", Path(__file__).parent / "_checkpoints")


class CheckpointError(ValueError):
    """A checkpoint that is missing, damaged, foreign or built on another base; the message says what to do."""


class Base(BaseModel):
    """The frozen model that a checkpoint adapts: its name and the SHA-256 over its weight files."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    sha256: str


class CheckpointConfig(BaseModel):
    """What `config.json` holds. `arbgraph_checkpoint` is the schema number; `kind` is the class that loads the checkpoint, and
    `settings` belong to that class; `files` maps each weight file to its SHA-256."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    arbgraph_checkpoint: int = SCHEMA
    kind: str
    base: Base | None = None
    id2label: dict[int, str] | None = None
    max_tokens: int | None = Field(default=None, ge=4)
    features: tuple[str, ...] = ()
    settings: dict[str, Any] = Field(default_factory=dict)
    calibration: dict[str, Any] | None = None
    files: dict[str, str] = Field(default_factory=dict)


@dataclass(frozen=True)
class Checkpoint:
    """A verified checkpoint folder."""

    path: Path
    config: CheckpointConfig

    def head(self) -> dict[str, Tensor]:
        """The tensors of `head.safetensors`, by name."""
        from safetensors.torch import load_file

        return load_file(self.path / HEAD)

    def encoder(self) -> dict[str, Tensor] | None:
        """The tensors of the whole trained base, by name; None where the base was adapted or left as it was."""
        from safetensors.torch import load_file

        return load_file(self.path / ENCODER) if ENCODER in self.config.files else None

    def resolve_base(self, *, offline: bool = True, name: str | None = None) -> ResolvedModel:
        """Finds the base (under `name`, where it moved) and checks its hash. Raises CheckpointError on another or missing base."""
        recorded = self.config.base
        if recorded is None:
            raise CheckpointError(f"{self.path}: a {self.config.kind} has no base")
        try:
            base = resolve_model(name or recorded.name, offline=offline)
            found = base.sha256
        except ModelNotFoundError as error:
            raise CheckpointError(f"{self.path}: its base {recorded.name!r} was not found: {error}") from error
        if found != recorded.sha256:
            raise CheckpointError(
                f"{self.path}: was trained on {recorded.name} with weights sha256 {recorded.sha256[:12]}, "
                f"but {base.path} has {found[:12]}; give the base that it was trained on"
            )
        return base

    def adapt(self, model: nn.Module, *, trainable: bool = False) -> nn.Module:
        """Wraps a base model in the checkpoint's adapter: frozen, ready for inference, or with `trainable` to be trained further."""
        from peft import PeftModel

        with warnings.catch_warnings():
            # PEFT reads an attribute that transformers is renaming; nothing here depends on it.
            warnings.simplefilter("ignore", FutureWarning)
            return PeftModel.from_pretrained(model, str(self.path), is_trainable=trainable)  # pyright: ignore[reportArgumentType]


def save_checkpoint(
    folder: str | Path,
    config: CheckpointConfig,
    *,
    head: Mapping[str, Tensor],
    adapted: nn.Module | None = None,
    encoder: Mapping[str, Tensor] | None = None,
    card: str,
    metrics: Mapping[str, Any],
    training: Mapping[str, Any],
) -> Checkpoint:
    """Writes a checkpoint folder; an earlier checkpoint of that name is replaced only when the new one is complete.

    Args:
        folder: where to; must be new, empty or a checkpoint.
        config: everything but `files`, which is filled in here.
        head: tensors outside the adapter, by name.
        adapted: the PEFT-wrapped base whose adapter is saved; None saves no adapter.
        encoder: every tensor of a base that was trained whole; None saves none.
        card, metrics, training: the contents of README.md, metrics.json and training.yaml.

    Raises CheckpointError when the folder holds something else.
    """
    from safetensors.torch import save_file

    folder = Path(folder)
    if folder.exists() and any(folder.iterdir()) and not is_checkpoint(folder):
        raise CheckpointError(f"{folder}: holds files that are no checkpoint and would be lost; give a new folder")
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    for name, tensors in ((HEAD, head), (ENCODER, encoder)):
        if tensors is not None:
            # Copies, because tied tensors share memory and the format forbids that.
            save_file({key: tensor.detach().cpu().contiguous().clone() for key, tensor in tensors.items()}, partial / name)
    if adapted is not None:
        _save_adapter(adapted, partial, config)
    for path in partial.iterdir():
        path.chmod(0o644)  # safetensors writes files that only their owner may read, which would not survive packaging
    weights = sorted(path.name for path in partial.iterdir() if path.suffix == ".safetensors" or path.name == ADAPTER_CONFIG)
    config = config.model_copy(update={"files": {name: file_sha256(partial / name) for name in weights}})
    _write(partial / CONFIG, json.dumps(config.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n")
    _write(partial / METRICS, json.dumps(dict(metrics), indent=2, ensure_ascii=False) + "\n")
    _write(partial / TRAINING, yaml.safe_dump(dict(training), sort_keys=False, allow_unicode=True))
    _write(partial / CARD, card)
    if folder.exists():
        shutil.rmtree(folder)
    partial.rename(folder)
    return Checkpoint(folder, config)


def amend_checkpoint(
    checkpoint: Checkpoint, folder: str | Path, *, calibration: Mapping[str, Any], card: str, metrics: Mapping[str, Any]
) -> Checkpoint:
    """Writes a checkpoint with the same weights and another calibration, card and metrics; in place when `folder` is its own.

    Raises CheckpointError when another folder holds something else than a checkpoint.
    """
    folder = Path(folder)
    if folder.exists() and any(folder.iterdir()) and not is_checkpoint(folder):
        raise CheckpointError(f"{folder}: holds files that are no checkpoint and would be lost; give a new folder")
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.copytree(checkpoint.path, partial)
    config = checkpoint.config.model_copy(update={"calibration": dict(calibration)})
    _write(partial / CONFIG, json.dumps(config.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n")
    _write(partial / METRICS, json.dumps(dict(metrics), indent=2, ensure_ascii=False) + "\n")
    _write(partial / CARD, card)
    if folder.exists():
        shutil.rmtree(folder)
    partial.rename(folder)
    return Checkpoint(folder, config)


def _save_adapter(adapted: nn.Module, folder: Path, config: CheckpointConfig) -> None:
    adapted.save_pretrained(str(folder), safe_serialization=True, save_embedding_layers=False)  # pyright: ignore[reportCallIssue]
    settings = json.loads((folder / ADAPTER_CONFIG).read_text(encoding="utf-8"))
    # PEFT keeps targets in a set, whose order differs between processes, and records the path of the base on this machine.
    if isinstance(settings.get("target_modules"), list):
        settings["target_modules"] = sorted(settings["target_modules"])
    settings["base_model_name_or_path"] = config.base.name if config.base else None
    _write(folder / ADAPTER_CONFIG, json.dumps(settings, indent=2, sort_keys=True) + "\n")


def is_checkpoint(folder: str | Path) -> bool:
    """Whether the folder holds an ArbGraph checkpoint of any schema number, intact or not."""
    try:
        return "arbgraph_checkpoint" in json.loads((Path(folder) / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        return False


def find_checkpoint(name: str | Path) -> Path:
    """The folder of a checkpoint, given by path or by the name of a shipped one. Raises CheckpointError that lists the shipped ones."""
    for candidate in (Path(name).expanduser(), *(root / str(name) for root in SHIPPED)):
        if candidate.is_dir():
            return candidate.resolve()
    shipped = sorted({path.name for root in SHIPPED if root.is_dir() for path in root.iterdir() if is_checkpoint(path)})
    raise CheckpointError(f"checkpoint {str(name)!r}: no such folder, and not shipped (shipped: {', '.join(shipped) or 'none'})")


def load_checkpoint(name: str | Path, *, kind: str) -> Checkpoint:
    """Finds a checkpoint and verifies its schema number, class and files.

    Raises CheckpointError on a missing folder or file, a foreign folder, another class or a damaged file.
    """
    path = find_checkpoint(name)
    config = _read_config(path)
    if config.kind != kind:
        raise CheckpointError(f"{path}: holds a {config.kind}, not a {kind}; give a {kind} checkpoint")
    if HEAD not in config.files:
        raise CheckpointError(f"{path}: {CONFIG} lists no {HEAD}; get the folder again")
    if (ADAPTER in config.files) != (ADAPTER_CONFIG in config.files):
        raise CheckpointError(f"{path}: {CONFIG} lists only one of {ADAPTER} and {ADAPTER_CONFIG}; get the folder again")
    for name, expected in sorted(config.files.items()):
        if not (path / name).is_file():
            raise CheckpointError(f"{path}: {name} is missing; get the folder again, with all its files")
        if file_sha256(path / name) != expected:
            raise CheckpointError(f"{path}: {name} is damaged or was changed (sha256 differs from {CONFIG}); get the folder again")
    return Checkpoint(path, config)


def describe(name: str | Path) -> dict[str, Any]:
    """What a checkpoint is, without loading its weights: path, configuration and metrics."""
    path = find_checkpoint(name)
    config = _read_config(path)
    metrics = json.loads((path / METRICS).read_text(encoding="utf-8")) if (path / METRICS).is_file() else {}
    return {"path": str(path), **config.model_dump(mode="json"), "metrics": metrics}


def _read_config(path: Path) -> CheckpointConfig:
    file = path / CONFIG
    if not file.is_file():
        raise CheckpointError(f"{path}: {CONFIG} is missing; this folder is no checkpoint")
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise CheckpointError(f"{file}: not valid JSON ({error}); get the folder again") from error
    if not isinstance(values, dict) or "arbgraph_checkpoint" not in values:
        raise CheckpointError(f"{file}: has no arbgraph_checkpoint number; this folder is no ArbGraph checkpoint")
    if values["arbgraph_checkpoint"] != SCHEMA:
        raise CheckpointError(
            f"{file}: schema {values['arbgraph_checkpoint']!r}, but this version reads {SCHEMA}; use the version that wrote it"
        )
    try:
        return CheckpointConfig.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        raise CheckpointError(f"{file}: {'.'.join(str(part) for part in first['loc'])}: {first['msg']}; get the folder again") from error


def file_sha256(path: Path) -> str:
    """Hexadecimal SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
