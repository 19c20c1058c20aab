"""RelationVerifier: pairs of claims -> calibrated probabilities of support, contradiction and neutrality."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from arbgraph.checkpoint import ADAPTER, ENCODER, Checkpoint, CheckpointError, find_checkpoint, is_checkpoint, load_checkpoint
from arbgraph.models import resolve_model, weights_sha256
from arbgraph.schema import RELATION_LABELS
from arbgraph.verifier.backbone import load_backbone, load_config, load_tokenizer
from arbgraph.verifier.calibration import CalibrationError, VerifierCalibration
from arbgraph.verifier.exported import OnnxModel, is_export, load_export
from arbgraph.verifier.labels import LabelError, label_columns
from arbgraph.verifier.model import ClassifierModel, RelationModel, SegmentHead
from arbgraph.verifier.packed import pack_linears
from arbgraph.verifier.tokens import PairTokenizer, token_batches

KIND = "RelationVerifier"
Precision = Literal["fp32", "bf16"]
# Most tokens of a forward pass, padding included. On a CPU the states of a batch should stay in the cache.
BATCH_TOKENS = {"cpu": 1024, "cuda": 65536}


class RelationVerifier:
    """Reads pairs of claims in batches of similar length, as many as fit into `BATCH_TOKENS`.

    Build it with `load`. `truncated` counts the pairs so far that were cut to the model's length.

    Args:
        model: gives logits `[B, 3]` of a padded batch.
        tokenizer: pairs -> token ids.
        columns: which logit holds support, contradict and neutral.
        calibration: of one reading order and of the undirected verdict, on logits in the project's column order.
        features: whether the head compares typed features beside the text.
        description: what `describe` returns.
        batch_size: most pairs per forward pass.
    """

    def __init__(
        self,
        model: nn.Module,
        tokenizer: PairTokenizer,
        *,
        columns: Sequence[int] = (0, 1, 2),
        calibration: VerifierCalibration | None = None,
        features: bool = False,
        description: dict[str, Any] | None = None,
        batch_size: int = 64,
    ) -> None:
        self.model, self.tokenizer, self.columns = model, tokenizer, list(columns)
        self.calibration = calibration or VerifierCalibration()
        self.features, self.batch_size = features, batch_size
        self.description = description or {}
        self.truncated = 0

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        offline: bool = True,
        device: str | None = None,
        batch_size: int = 64,
        precision: Precision = "fp32",
        base: str | None = None,
    ) -> RelationVerifier:
        """Loads a checkpoint, what `arbgraph export` made of one, or a ready Hugging Face pair classifier.

        Args:
            path: checkpoint folder, name of a shipped checkpoint, exported folder, folder or hub name of a sequence classifier
                with three labels.
            offline: never touch the network.
            device: a torch device; None takes CUDA where there is one.
            batch_size: most pairs per forward pass.
            precision: bf16 is faster on CPUs that have it; the head stays in float32.
            base: where the checkpoint's base now lives; None takes the recorded name.

        Raises CheckpointError naming the folder, what is wrong with it and the remedy.
        """
        from transformers.utils.logging import disable_progress_bar

        if precision not in ("fp32", "bf16"):
            raise ValueError(f"precision {precision!r}; choose fp32 or bf16")
        disable_progress_bar()
        place = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        try:
            folder = find_checkpoint(path)
        except CheckpointError:
            if offline:
                raise
            folder = resolve_model(str(path), offline=False).path
        if is_export(folder):
            verifier = load_export(folder, place)
        elif not is_checkpoint(folder) and is_classifier(folder):
            verifier = load_classifier(folder, str(path))
        else:
            verifier = _load_own(folder, offline, base)
        verifier.batch_size = batch_size
        if isinstance(verifier.model, OnnxModel):
            if precision != "fp32":
                raise ValueError(
                    f"{folder}: an ONNX program has the precision that it was exported with; leave out precision={precision!r}"
                )
            return verifier
        verifier.model.to(place).eval()
        if precision == "bf16":
            part = verifier.model.encoder if isinstance(verifier.model, RelationModel) else verifier.model
            part.to(torch.bfloat16)
        if place.type == "cpu":
            pack_linears(verifier.model)
        return verifier

    def describe(self) -> dict[str, Any]:
        """Name, base, hashes, labels in column order, calibration, features, and the longest pair in tokens.

        `calibration.decision` holds the recommended `tau_conf` and thresholds, None where the checkpoint was calibrated without.
        """
        return {
            **self.description,
            "labels": list(RELATION_LABELS),
            "calibration": self.calibration.to_dict(),
            "max_tokens": self.tokenizer.max_tokens,
        }

    @property
    def device(self) -> torch.device:
        """Where the batches of the model are."""
        return next((parameter.device for parameter in self.model.parameters()), torch.device("cpu"))

    def relate(self, pairs: Sequence[tuple[str, str]]) -> Tensor:
        """The undirected relation of each pair: probabilities `[P, 3]` float32 (support, contradict, neutral) on the CPU.

        Both reading orders are combined (`combine_orders`) and calibrated. Swapping the two texts of any pair gives bit-identical
        rows; equal pairs are read once. Raises ValueError on an empty text.
        """
        if not pairs:
            return torch.zeros(0, 3)
        canonical = [(min(a, b), max(a, b)) for a, b in pairs]
        distinct = list(dict.fromkeys(canonical))
        scores = self.log_probabilities([*distinct, *((b, a) for a, b in distinct)])
        combined = self.combine(scores[: len(distinct)], scores[len(distinct) :]).exp().float()
        position = {pair: row for row, pair in enumerate(distinct)}
        return combined[[position[pair] for pair in canonical]]

    def combine(self, forward: Tensor, backward: Tensor) -> Tensor:
        """Calibrated log-probabilities `[P, 3]` of the undirected verdict, from those of both reading orders."""
        return self.calibration.verdict(forward, backward)

    def directed(self, pairs: Sequence[tuple[str, str]]) -> Tensor:
        """What the first text of each pair says about the second: probabilities `[P, 3]` float32, one reading order."""
        return self.log_probabilities(pairs).exp().float()

    def log_probabilities(self, pairs: Sequence[tuple[str, str]]) -> Tensor:
        """Calibrated log-probabilities `[P, 3]` float64 of one reading order."""
        return self.calibration.directed.log_probabilities(self.logits(pairs))

    @torch.inference_mode()
    def logits(self, pairs: Sequence[tuple[str, str]]) -> Tensor:
        """Uncalibrated logits `[P, 3]` float32 of one reading order, in the project's column order. Raises ValueError on an empty text."""
        if not pairs:
            return torch.zeros(0, 3)
        for row, (a, b) in enumerate(pairs):
            if not a.strip() or not b.strip():
                raise ValueError(f"pair {row}: text {'a' if not a.strip() else 'b'} is empty; leave the pair out")
        encoded = self.tokenizer.encode(pairs)
        self.truncated += int(encoded.truncated.sum())
        features = _features(pairs) if self.features else None
        logits = torch.empty(len(pairs), 3)
        device = self.device
        for rows in token_batches(encoded.lengths, BATCH_TOKENS.get(device.type, BATCH_TOKENS["cuda"]), self.batch_size):
            batch = self.tokenizer.batch(encoded, rows)
            if features is not None:
                batch["features"] = features[rows]
            logits[rows] = self.model({key: value.to(device) for key, value in batch.items()}).float().cpu()
        return logits[:, self.columns]


def _features(pairs: Sequence[tuple[str, str]]) -> Tensor:
    from arbgraph.comparison import comparison_features

    return comparison_features(pairs)


def check_features(names: Sequence[str], folder: Path) -> None:
    """Raises CheckpointError when a model of the folder was trained on other comparison features than those of this version."""
    if not names:
        return
    from arbgraph.comparison import COMPARISON_FEATURES

    if tuple(COMPARISON_FEATURES) != tuple(names):
        differing = sorted(set(COMPARISON_FEATURES) ^ set(names)) or ["their order"]
        raise CheckpointError(
            f"{folder}: was trained on other comparison features (differing: {', '.join(differing)}); "
            "use the version that wrote it, or train again"
        )


def load_model(
    checkpoint: Checkpoint, *, offline: bool = True, base: str | None = None, trainable: bool = False, dropout: float | None = None
) -> tuple[RelationModel, PairTokenizer]:
    """The network of a verified checkpoint, adapter not merged, and its tokenizer, in eval mode.

    Args:
        checkpoint: what `load_checkpoint` gave.
        offline: never touch the network.
        base: where the base now lives; None takes the recorded name.
        trainable: the adapter takes gradients.
        dropout: inside the encoder; None keeps the base's own.

    Raises CheckpointError on another base, other comparison features, or tensors that do not fit.
    """
    config = checkpoint.config
    if config.id2label is None or config.max_tokens is None:
        raise CheckpointError(f"{checkpoint.path}: config.json has no id2label or max_tokens; a verifier needs both")
    check_features(config.features, checkpoint.path)
    resolved = checkpoint.resolve_base(offline=offline, name=base)
    base_config = load_config(resolved, dropout=dropout)
    encoder = load_backbone(resolved, base_config)
    whole = checkpoint.encoder()
    # Checkpoints without an anchor are older than decoders as bases.
    head = SegmentHead(
        base_config.hidden_size,
        features=len(config.features),
        dropout=float(config.settings.get("dropout", 0.0)),
        anchor=config.settings.get("anchor", "first"),
    )
    try:
        head.load_state_dict(checkpoint.head())
    except RuntimeError as error:
        raise CheckpointError(f"{checkpoint.path}: head.safetensors does not fit the head in config.json: {error}") from error
    if whole is not None:
        try:
            encoder.load_state_dict(whole)
        except RuntimeError as error:
            raise CheckpointError(f"{checkpoint.path}: {ENCODER} does not fit its base {resolved.name}: {error}") from error
    adapted = checkpoint.adapt(encoder, trainable=trainable) if ADAPTER in config.files else encoder
    return RelationModel(adapted, head).eval(), PairTokenizer(load_tokenizer(resolved, base_config), config.max_tokens)


def _load_own(folder: Path, offline: bool, base: str | None) -> RelationVerifier:
    verifier = load_unmerged(load_checkpoint(folder, kind=KIND), offline=offline, base=base)
    merge(verifier)
    return verifier


def merge(verifier: RelationVerifier) -> None:
    """Merges the adapter, where there is one, into the encoder; in float32, since bf16 would round it away."""
    model = verifier.model
    if isinstance(model, RelationModel) and hasattr(model.encoder, "merge_and_unload"):
        model.encoder = model.encoder.merge_and_unload()  # pyright: ignore[reportCallIssue]


def load_unmerged(checkpoint: Checkpoint, *, offline: bool = True, base: str | None = None) -> RelationVerifier:
    """The verifier of a verified checkpoint as it was trained: float32 on the CPU, adapter not merged, plain linear layers."""
    model, tokenizer = load_model(checkpoint, offline=offline, base=base)
    config, folder = checkpoint.config, checkpoint.path
    assert config.id2label is not None
    assert config.base is not None
    return RelationVerifier(
        model,
        tokenizer,
        columns=_columns(config.id2label, folder),
        calibration=read_calibration(checkpoint),
        features=bool(config.features),
        description={
            "name": folder.name,
            "base": config.base.name,
            "base_sha256": config.base.sha256,
            "sha256": config.files,
            "features": list(config.features),
        },
    )


def read_calibration(checkpoint: Checkpoint) -> VerifierCalibration:
    """The calibration of a checkpoint, older ones included. Raises CheckpointError on a malformed block."""
    try:
        return VerifierCalibration.from_dict(checkpoint.config.calibration)
    except CalibrationError as error:
        raise CheckpointError(f"{checkpoint.path}: {error}; get the folder again, or recalibrate it with train.calibrate") from error


def _columns(id2label: Mapping[int, str], folder: Path) -> list[int]:
    try:
        return label_columns(dict(id2label), str(folder))
    except LabelError as error:
        raise CheckpointError(str(error)) from error


def is_classifier(folder: Path) -> bool:
    """Whether the folder holds a Hugging Face sequence classifier."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(config, dict) and any("SequenceClassification" in name for name in config.get("architectures") or ())


def load_classifier(folder: Path, name: str) -> RelationVerifier:
    """A ready pair classifier with three labels, read by name. Raises CheckpointError on other labels or pickled weights."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    if not any(folder.glob("*.safetensors")):
        raise CheckpointError(f"{folder}: has no safetensors weights, and pickled weights are never read; convert it to safetensors")
    classifier = AutoModelForSequenceClassification.from_pretrained(folder, local_files_only=True, use_safetensors=True)
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    longest = min(tokenizer.model_max_length, getattr(classifier.config, "max_position_embeddings", None) or 512)
    return RelationVerifier(
        ClassifierModel(classifier),
        PairTokenizer(tokenizer, longest),
        columns=_columns(classifier.config.id2label, folder),
        description={"name": name, "base": name, "base_sha256": weights_sha256(folder), "sha256": {}, "features": []},
    )
