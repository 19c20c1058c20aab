from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from arbgraph.verifier.pairs import LabelledPair, PairFileError, read_pairs

ROW = {"premise": "A.", "hypothesis": "B.", "label": "entailment"}


def write(path: Path, rows: list[dict]) -> Path:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    if path.suffix == ".gz":
        with gzip.open(path, "wt", encoding="utf-8") as stream:
            stream.write(text)
    else:
        path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["p.jsonl", "p.jsonl.gz"])
def test_reads_json_lines(tmp_path: Path, name: str) -> None:
    rows = [ROW, {"claim_a": "C", "claim_b": "D", "label": "REFUTES", "category": "dates"}, {**ROW, "meta": {"equivalent": True}}]
    assert read_pairs(write(tmp_path / name, rows)) == [
        LabelledPair("A.", "B.", "support"),
        LabelledPair("C", "D", "contradict", "dates"),
        LabelledPair("A.", "B.", "support", equivalent=True),
    ]


def test_reads_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pa.parquet = pytest.importorskip("pyarrow.parquet")
    pa.parquet.write_table(pa.Table.from_pylist([{"x": "A.", "y": "B.", "gold": "neutral"}]), tmp_path / "p.parquet")
    columns = {"a": "x", "b": "y", "label": "gold"}
    assert read_pairs(tmp_path / "p.parquet", columns) == [LabelledPair("A.", "B.", "neutral")]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"premise": "A.", "label": "neutral"}, "row 2: no column hypothesis or claim_b"),
        ({**ROW, "premise": "  "}, "row 2: text a is empty"),
        ({**ROW, "label": "perhaps"}, "row 2: label 'perhaps' is unknown"),
    ],
)
def test_bad_rows_name_file_row_and_reason(tmp_path: Path, row: dict, message: str) -> None:
    path = write(tmp_path / "p.jsonl", [ROW, row])
    with pytest.raises(PairFileError) as caught:
        read_pairs(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(PairFileError, match="no such file"):
        read_pairs(tmp_path / "missing.jsonl")
    (tmp_path / "p.csv").write_text("a,b\n", encoding="utf-8")
    with pytest.raises(PairFileError, match="unknown format"):
        read_pairs(tmp_path / "p.csv")
    (tmp_path / "empty.jsonl").write_text("\n", encoding="utf-8")
    with pytest.raises(PairFileError, match="holds no pairs"):
        read_pairs(tmp_path / "empty.jsonl")
    (tmp_path / "broken.jsonl").write_text('{"premise": \n', encoding="utf-8")
    with pytest.raises(PairFileError, match="line 1: not JSON"):
        read_pairs(tmp_path / "broken.jsonl")
