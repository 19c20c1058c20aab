"""Exported verifiers: a plain Hugging Face folder with the adapter merged, or an ONNX program; how they are read back.

    arbgraph.json               what the folder is: format, labels, calibration, features, hashes of the files
    merged: config.json, model.safetensors, tokenizer files      what AutoModel and AutoTokenizer read
            head.safetensors                                     the head, where the encoder has none of its own
    onnx:   model.onnx          token ids of pairs in; calibrated probabilities of one reading order, and logits, out
            combine.onnx        logits of both reading orders in; probabilities of the undirected verdict out
            tokenizer files
    export.json                 what was measured on export: parity, sizes, versions
    README.md                   how to use it

Only the files that `arbgraph.json` lists are read, after their hashes were checked: JSON, safetensors and ONNX, none of which
runs code.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from torch import Tensor, nn

from arbgraph.checkpoint import CheckpointError, file_sha256
from arbgraph.models import ResolvedModel

if TYPE_CHECKING:
    from arbgraph.verifier.relation import RelationVerifier

SCHEMA = 1
EXPORT, REPORT, PROGRAM, COMBINE, HEAD = "arbgraph.json", "export.json", "model.onnx", "combine.onnx", "head.safetensors"

CARD_TEXTS = {
    "merged": """# {name}

The verifier `{source}` with its adapter merged in float32. `AutoModel` and `AutoTokenizer` read this folder; `head.safetensors`, where
present, holds the head, and `arbgraph.json` labels and calibration. `export.json` says what was measured.

```python
from arbgraph.verifier import RelationVerifier

RelationVerifier.load("{name}").relate([("The tower is 300 m tall.", "The tower is 200 m tall.")])
```
""",
    "onnx": """# {name}

The verifier `{source}` as ONNX programs. `model.onnx`: padded token ids of pairs in (`segments` is 0 on the first text, 1 on the second,
-1 elsewhere; `features`, where it is an input, comes from `arbgraph.comparison.comparison_features`); `probabilities` (support,
contradict, neutral; calibrated, one reading order) and `logits` out. `combine.onnx`: `forward` and `backward` logits of both reading
orders in; `probabilities` of the undirected verdict out. `tokenizer.json` makes the token ids, at most as many as `arbgraph.json` says.
Rows and tokens are free. `export.json` says what was measured.

```python
from arbgraph.verifier import RelationVerifier

RelationVerifier.load("{name}").relate([("The tower is 300 m tall.", "The tower is 200 m tall.")])
```
""",
}


class ExportConfig(BaseModel):
    """What `arbgraph.json` holds. `network` says whether the head is ours or the base's own; `label_order` names the three logits
    by position, and an ONNX program has them in the project's order; `files` maps every file to its SHA-256."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    arbgraph_export: int = SCHEMA
    format: Literal["merged", "onnx"]
    kind: Literal["RelationVerifier"] = "RelationVerifier"
    network: Literal["segment", "classifier"]
    precision: Literal["fp32", "int8"] = "fp32"
    label_order: tuple[str, str, str]
    max_tokens: int = Field(ge=4)
    features: tuple[str, ...] = ()
    settings: dict[str, Any] = Field(default_factory=dict)
    calibration: dict[str, Any] = Field(default_factory=dict)
    source: dict[str, Any] = Field(default_factory=dict)
    files: dict[str, str] = Field(default_factory=dict)


def is_export(folder: Path) -> bool:
    """Whether the folder holds an exported verifier, intact or not."""
    return (folder / EXPORT).is_file()


def read_export(folder: Path) -> ExportConfig:
    """The description of an exported verifier, its files verified. Raises CheckpointError on anything missing, foreign or changed."""
    file = folder / EXPORT
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
        schema = values.get("arbgraph_export") if isinstance(values, dict) else None
        if schema != SCHEMA:
            raise CheckpointError(f"{file}: schema {schema!r}, but this version reads {SCHEMA}; use the version that wrote it")
        config = ExportConfig.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        raise CheckpointError(f"{file}: {'.'.join(map(str, first['loc']))}: {first['msg']}; export it again") from error
    except ValueError as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(f"{file}: not valid JSON ({error}); export it again") from error
    needed = (PROGRAM, COMBINE) if config.format == "onnx" else ("config.json", "model.safetensors")
    if missing := [name for name in (*needed, "tokenizer.json") if name not in config.files]:
        raise CheckpointError(f"{file}: lists no {missing[0]}; export it again")
    for name, expected in sorted(config.files.items()):
        if Path(name).name != name:
            raise CheckpointError(f"{file}: lists {name!r}, which lies outside the folder; export it again")
        if not (folder / name).is_file():
            raise CheckpointError(f"{folder}: {name} is missing; export it again, or copy all its files")
        if file_sha256(folder / name) != expected:
            raise CheckpointError(f"{folder}: {name} is damaged or was changed (sha256 differs from {EXPORT}); export it again")
    return config


def load_export(folder: Path, device: torch.device) -> RelationVerifier:
    """The verifier of an exported folder, in eval mode. Raises CheckpointError with what is wrong and the remedy."""
    from arbgraph.verifier.calibration import CalibrationError, VerifierCalibration
    from arbgraph.verifier.labels import LabelError, label_columns
    from arbgraph.verifier.relation import RelationVerifier, check_features
    from arbgraph.verifier.tokens import PairTokenizer

    config = read_export(folder)
    check_features(config.features, folder)
    model, tokenizer = _load_program(folder, device) if config.format == "onnx" else load_merged(folder, config)
    try:
        columns = label_columns(dict(enumerate(config.label_order)), str(folder))
        calibration = VerifierCalibration.from_dict(config.calibration)
    except (LabelError, CalibrationError) as error:
        raise CheckpointError(f"{folder}: {error}; export it again") from error
    return RelationVerifier(
        model,
        PairTokenizer(tokenizer, config.max_tokens),
        columns=columns,
        calibration=calibration,
        features=bool(config.features),
        description={
            "name": folder.name,
            "base": config.source.get("base"),
            "base_sha256": config.source.get("base_sha256"),
            "sha256": config.files,
            "features": list(config.features),
            "export": {"format": config.format, "precision": config.precision, "source": config.source},
        },
    )


def load_merged(folder: Path, config: ExportConfig) -> tuple[nn.Module, Any]:
    """Network in float32 and tokenizer of a merged folder that `read_export` verified. Raises CheckpointError on an unfit head."""
    from safetensors.torch import load_file

    from arbgraph.verifier.backbone import load_backbone, load_config, load_tokenizer
    from arbgraph.verifier.model import ClassifierModel, RelationModel, SegmentHead

    resolved = ResolvedModel(folder.name, folder, "folder")
    base_config = load_config(resolved)
    if config.network == "classifier":
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        classifier = AutoModelForSequenceClassification.from_pretrained(folder, local_files_only=True, use_safetensors=True)
        return ClassifierModel(classifier), AutoTokenizer.from_pretrained(folder, local_files_only=True)
    head = SegmentHead(base_config.hidden_size, features=len(config.features), anchor=config.settings.get("anchor", "first"))
    try:
        head.load_state_dict(load_file(folder / HEAD))
    except (RuntimeError, OSError) as error:
        raise CheckpointError(f"{folder}: {HEAD} does not fit: {error}; export it again") from error
    return RelationModel(load_backbone(resolved, base_config), head), load_tokenizer(resolved, base_config)


def _load_program(folder: Path, device: torch.device) -> tuple[nn.Module, Any]:
    from transformers import PreTrainedTokenizerFast

    tokens = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"),
        pad_token=tokens["pad_token"],
        padding_side=tokens["padding_side"],
        model_input_names=tokens["model_input_names"],
    )
    return OnnxModel(folder / PROGRAM, device), tokenizer


class OnnxModel(nn.Module):
    """An ONNX program behind the call of a network: logits `[B, 3]` of a padded batch, in the project's column order.

    Raises CheckpointError where onnxruntime is missing, cannot run on the device, or the program reads other files.
    """

    def __init__(self, path: Path, device: torch.device) -> None:
        super().__init__()
        self.session = open_session(path, device)
        self.inputs = [node.name for node in self.session.get_inputs()]

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        return torch.from_numpy(self.session.run(["logits"], {name: batch[name].numpy() for name in self.inputs})[0])


def open_session(path: Path, device: torch.device | None = None) -> Any:
    """An onnxruntime session with as many threads as torch has. Raises as `OnnxModel` does."""
    try:
        import onnxruntime
    except ImportError as error:
        raise CheckpointError(f"{path}: needs onnxruntime; pip install 'arbgraph[onnx]'") from error
    provider = "CUDAExecutionProvider" if device is not None and device.type == "cuda" else "CPUExecutionProvider"
    if provider not in onnxruntime.get_available_providers():
        raise CheckpointError(f"{path}: this onnxruntime has no {provider}; install onnxruntime-gpu, or load with device='cpu'")
    data = path.read_bytes()
    if outside := external_files(data):
        raise CheckpointError(f"{path}: keeps tensors in other files ({', '.join(outside)}), which are not read; export it again")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = torch.get_num_threads(), 3
    try:
        # From memory: the bytes that were checked are the bytes that run.
        return onnxruntime.InferenceSession(data, options, providers=[provider])
    except Exception as error:  # onnxruntime's errors share no base class of their own
        raise CheckpointError(f"{path}: onnxruntime {onnxruntime.__version__} cannot run it: {error}; export it again") from error


# Where tensors sit in an ONNX file, by field number of the protocol buffers: model -> graph, functions; graph -> nodes,
# initializers, sparse initializers; node -> attributes; attribute -> tensors, graphs, sparse tensors.
_INSIDE: dict[str, dict[int, str]] = {
    "model": {7: "graph", 25: "function"},
    "function": {7: "node"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {13: "entry"},
}


def external_files(model: bytes) -> list[str]:
    """The values with which tensors of a serialised ONNX model refer to data outside it; empty for a complete program.

    Reads the wire format itself, so that running a program needs no package but onnxruntime. Raises CheckpointError on bytes
    that are no protocol buffer.
    """
    found: list[str] = []
    stack: list[tuple[str, memoryview]] = [("model", memoryview(model))]
    while stack:
        kind, data = stack.pop()
        if kind == "entry":  # a key and its value, of which the value names the file
            found += [bytes(value).decode("utf-8", "replace") for number, value in _fields(data) if number == 2]
            continue
        inside = _INSIDE[kind]
        stack += [(inside[number], value) for number, value in _fields(data) if number in inside]
    return sorted(set(found))


def _fields(data: memoryview) -> list[tuple[int, memoryview]]:
    """The length-delimited fields of one message: number and content."""
    fields, at = [], 0
    try:
        while at < len(data):
            key, at = _varint(data, at)
            wire = key & 7
            if wire == 0:
                _, at = _varint(data, at)
            elif wire in (1, 5):
                at += 8 if wire == 1 else 4
            elif wire == 2:
                size, at = _varint(data, at)
                if at + size > len(data):
                    raise IndexError
                fields.append((key >> 3, data[at : at + size]))
                at += size
            else:
                raise IndexError
    except IndexError as error:
        raise CheckpointError("the ONNX program is no valid protocol buffer; export it again") from error
    return fields


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7
