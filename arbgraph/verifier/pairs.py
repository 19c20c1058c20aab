"""Reading labelled pairs from JSON lines (plain or gzip) and parquet."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arbgraph.schema import RelationLabel
from arbgraph.verifier.labels import LabelError, parse_label

# field -> the column names tried in turn when no map is given
COLUMNS: dict[str, tuple[str, ...]] = {"a": ("premise", "claim_a"), "b": ("hypothesis", "claim_b"), "label": ("label",)}

# What a label map says of rows without a usable label.
DROP = "drop"


class PairFileError(ValueError):
    """A pair file that cannot be read; the message names file, row and remedy."""


@dataclass(frozen=True)
class LabelledPair:
    """Two texts and what the first says about the second. `category` and `equivalent` come from the row where it has them.

    `equivalent` marks a support pair that holds in both directions.
    """

    a: str
    b: str
    label: RelationLabel
    category: str = ""
    equivalent: bool = False


def read_pairs(path: str | Path, columns: Mapping[str, str] | None = None) -> list[LabelledPair]:
    """Labelled pairs of a `.jsonl`, `.jsonl.gz` or `.parquet` file, in file order.

    Args:
        path: the file.
        columns: which column holds `a`, `b` and `label`; by default premise/hypothesis or claim_a/claim_b, and label.

    Raises PairFileError on a missing or empty file, another format, a missing column, an empty text or an unknown label.
    """
    return label_rows(file_rows(path), str(path), columns)[0]


def label_rows(
    rows: Iterable[dict[str, Any]], where: str, columns: Mapping[str, str] | None = None, labels: Mapping[str, str] | None = None
) -> tuple[list[LabelledPair], int]:
    """Rows as labelled pairs, in order, and how many rows the label map dropped.

    Args:
        rows: one mapping per pair.
        where: what the rows belong to, named in errors.
        columns: see `read_pairs`.
        labels: this set's own label names -> the project's, tried before the common aliases; `drop` leaves rows of that label out.

    Raises PairFileError as `read_pairs` does, and when no row is left.
    """
    own = {_label_key(name): label for name, label in (labels or {}).items()}
    pairs, dropped = [], 0
    for number, row in enumerate(rows, start=1):
        pair = _pair(row, f"{where}: row {number}", columns or {}, own)
        if pair is None:
            dropped += 1
        else:
            pairs.append(pair)
    if not pairs:
        raise PairFileError(f"{where}: holds no pairs" + (f" besides {dropped} that the label map drops" if dropped else ""))
    return pairs, dropped


def _label_key(name: object) -> str:
    return str(name).strip().lower()


def file_rows(path: str | Path) -> Iterator[dict[str, Any]]:
    """The rows of a `.jsonl`, `.jsonl.gz` or `.parquet` file. Raises PairFileError on a missing file, another format or a bad line."""
    path = Path(path)
    if not path.is_file():
        raise PairFileError(f"{path}: no such file; give a .jsonl, .jsonl.gz or .parquet file of pairs")
    if path.suffix == ".parquet":
        from pyarrow import parquet

        yield from parquet.read_table(path).to_pylist()
        return
    if not path.name.endswith((".jsonl", ".jsonl.gz")):
        raise PairFileError(f"{path}: unknown format; give a .jsonl, .jsonl.gz or .parquet file")
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise PairFileError(f"{path}: line {number}: not JSON ({error})") from error
            if not isinstance(row, dict):
                raise PairFileError(f"{path}: line {number}: expected an object, found {type(row).__name__}")
            yield row


def _pair(row: dict[str, Any], where: str, columns: Mapping[str, str], labels: Mapping[str, str]) -> LabelledPair | None:
    found: dict[str, Any] = {}
    for field, defaults in COLUMNS.items():
        names = (columns[field],) if field in columns else defaults
        name = next((name for name in names if name in row), None)
        if name is None:
            has = ", ".join(sorted(row))
            raise PairFileError(f"{where}: no column {' or '.join(names)} (has {has}); map it with `columns: {{{field}: NAME}}`")
        found[field] = row[name]
    named = labels.get(_label_key(found["label"]), found["label"])
    if named == DROP:
        return None
    for field in ("a", "b"):
        if not isinstance(found[field], str) or not found[field].strip():
            raise PairFileError(f"{where}: text {field} is empty")
    try:
        label = parse_label(named)
    except LabelError as error:
        raise PairFileError(f"{where}: {error}; map a set's own names with `labels: {{NAME: support}}`") from error
    meta = row.get("meta") if isinstance(row.get("meta"), dict) else {}
    category = row.get("category") or (meta or {}).get("category") or ""
    equivalent = row.get("equivalent", (meta or {}).get("equivalent", False))
    return LabelledPair(found["a"], found["b"], label, str(category), bool(equivalent))
