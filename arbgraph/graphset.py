"""Sets of evidence graphs in one safetensors file, read back bit for bit.

Of every tensor field F the file holds `F`, the values of all graphs end to end, and `F.shape [G, 1 + dims]`: a 1 and the shape, or
zeros where a graph has no such field. `records` holds everything else as JSON, one object per graph (claims, documents, query,
name), and the header says what made the set. Nothing is ever unpickled.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from arbgraph.graph import EvidenceGraph
from arbgraph.schema import Claim, Document

FORMAT = 1
_HEADER, _RECORDS, _SHAPE = "arbgraph_graphs", "records", ".shape"
_MODELS: dict[str, type[Claim] | type[Document]] = {"claims": Claim, "documents": Document}


class GraphSetError(ValueError):
    """A graph set that is missing, damaged or foreign, or graphs that cannot be stored; the message says which and what to do."""


def save_graphs(graphs: Sequence[EvidenceGraph], path: str | Path, metadata: Mapping[str, Any] | None = None) -> None:
    """Writes graphs to one file, whole or not at all; the same graphs and metadata give the same bytes.

    Args:
        graphs: with any tensor fields; other fields must be claims, documents, or values that JSON can hold. `name` is the
            conventional field for the id of the question.
        path: of the new file.
        metadata: what made the set (settings, hashes, counts), as JSON values.

    Raises GraphSetError, naming the graph and the field, on a value that cannot be stored, or where graphs differ in the
    dtype or the number of dimensions of a field.
    """
    path = Path(path)
    stores = [graph.to_dict() for graph in graphs]
    names = sorted({key for store in stores for key, value in store.items() if isinstance(value, Tensor)})
    tensors: dict[str, Tensor] = {}
    for name in names:
        tensors[name], tensors[name + _SHAPE] = _pack(name, [store.get(name) for store in stores])
    records = "\n".join(json.dumps(_record(store, number), ensure_ascii=False) for number, store in enumerate(stores))
    tensors[_RECORDS] = torch.frombuffer(bytearray(records.encode() or b"\n"), dtype=torch.uint8)
    try:
        # One header key: the order of several is not fixed, and equal sets would differ in their bytes.
        header = {_HEADER: json.dumps({"format": FORMAT, "graphs": len(graphs), "metadata": dict(metadata or {})}, ensure_ascii=False)}
    except TypeError as error:
        raise GraphSetError(f"metadata: {error}; give JSON values") from None
    partial = path.with_name(path.name + ".partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        save_file(tensors, partial, metadata=header)
        partial.chmod(0o644)
        os.replace(partial, path)
    except OSError as error:
        raise GraphSetError(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        with suppress(OSError):
            partial.unlink()


def load_graphs(path: str | Path) -> list[EvidenceGraph]:
    """The graphs of a file, equal to those saved: every tensor bit for bit, claims and documents included.

    Raises GraphSetError on a missing, damaged or foreign file, or a graph that breaks the contract of `EvidenceGraph`.
    """
    path = Path(path)
    count = _header(path)["graphs"]
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - a safetensors file is no mapping
        lines = bytes(tensors.pop(_RECORDS).numpy()).decode().split("\n")[: count or None]
        fields = [_record_fields(json.loads(line)) for line in lines if count]
        for name in (name for name in tensors if not name.endswith(_SHAPE)):
            for values, tensor in zip(fields, _unpack(tensors[name], tensors[name + _SHAPE]), strict=True):
                if tensor is not None:
                    values[name] = tensor
        if len(fields) != count:
            raise ValueError(f"the header promises {count} graphs, {len(fields)} are there")
        graphs = [EvidenceGraph(**values) for values in fields]
        for graph in graphs:
            graph.check()
    except (SafetensorError, KeyError, ValueError, TypeError, RuntimeError, ValidationError) as error:
        raise GraphSetError(f"{path}: the graph set is damaged ({error}); build it again") from error
    return graphs


def graph_set_metadata(path: str | Path) -> dict[str, Any]:
    """What made a graph set, without loading its graphs. Raises GraphSetError on a missing or foreign file."""
    return _header(Path(path))["metadata"]


def _header(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise GraphSetError(f"{path}: no such graph set")
    try:
        with safe_open(path, framework="pt") as file:
            text = (file.metadata() or {}).get(_HEADER)
    except (SafetensorError, OSError) as error:
        raise GraphSetError(f"{path}: cannot be read as safetensors ({error}); build the graph set again") from error
    if text is None:
        raise GraphSetError(f"{path}: is no graph set (its header has no {_HEADER!r})")
    header = json.loads(text)
    if header.get("format") != FORMAT:
        raise GraphSetError(f"{path}: has format {header.get('format')!r}, this version reads {FORMAT}; build the graph set again")
    return header


def _pack(name: str, values: Sequence[Tensor | None]) -> tuple[Tensor, Tensor]:
    """All values of a field end to end, and their shapes."""
    if name == _RECORDS or name.endswith(_SHAPE):
        raise GraphSetError(f"field {name!r}: the name is taken; rename the field")
    first = next(value for value in values if value is not None)
    for number, value in enumerate(values):
        if value is not None and (not isinstance(value, Tensor) or value.dtype != first.dtype or value.ndim != first.ndim):
            found = f"{value.dtype} with {value.ndim} dimensions" if isinstance(value, Tensor) else type(value).__name__
            wanted = f"{first.dtype} with {first.ndim} dimensions"
            raise GraphSetError(f"graph {number}: field {name!r} is {found}, in an earlier graph {wanted}; make them equal")
    absent = [0] * (1 + first.ndim)
    shapes = torch.tensor([absent if value is None else [1, *value.shape] for value in values], dtype=torch.long)
    return torch.cat([value.detach().cpu().flatten() for value in values if value is not None]), shapes


def _unpack(flat: Tensor, shapes: Tensor) -> list[Tensor | None]:
    """The inverse of `_pack`; every tensor owns its memory."""
    values: list[Tensor | None] = []
    start = 0
    for present, *shape in shapes.tolist():
        size = torch.Size(shape).numel() if present else 0
        values.append(flat[start : start + size].clone().view(shape) if present else None)
        start += size
    if start != flat.numel():
        raise ValueError(f"a field holds {flat.numel()} values, its shapes describe {start}")
    return values


def _record(store: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Everything of a graph that is no tensor, as JSON values."""
    record = {key: value for key, value in store.items() if not isinstance(value, Tensor)}
    for key, model in _MODELS.items():
        if key in record:
            wrong = [type(item).__name__ for item in record[key] if type(item) is not model]
            if wrong:
                raise GraphSetError(f"graph {number}: {key} holds a {wrong[0]}, expected {model.__name__}")
            record[key] = [item.model_dump(mode="json") for item in record[key]]
    for key, value in record.items():
        try:
            same = json.loads(json.dumps(value)) == value
        except (TypeError, ValueError):
            same = False
        if not same:
            raise GraphSetError(f"graph {number}: field {key!r} holds a {type(value).__name__} that JSON does not keep; leave it out")
    return record


def _record_fields(record: dict[str, Any]) -> dict[str, Any]:
    for key, model in _MODELS.items():
        if key in record:
            record[key] = [model.model_validate(item) for item in record[key]]
    return record
