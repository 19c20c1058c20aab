from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch

from arbgraph.checkpoint import (
    CheckpointConfig,
    CheckpointError,
    describe,
    find_checkpoint,
    is_checkpoint,
    load_checkpoint,
    save_checkpoint,
)
from tests.verifier.conftest import build_checkpoint, build_tiny_base

KIND = "Thing"
CONFIG = CheckpointConfig(kind=KIND, settings={"width": 4})
HEAD = {"weight": torch.arange(6.0).reshape(2, 3), "count": torch.tensor(3)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_checkpoint(tmp_path / "thing", CONFIG, head=HEAD, card="# Thing\n", metrics={"loss": 0.5}, training={"lr": 0.1})
    return tmp_path / "thing"


def change(folder: Path, **values) -> None:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, **values}), encoding="utf-8")


def test_round_trip(folder: Path) -> None:
    checkpoint = load_checkpoint(folder, kind=KIND)
    assert {name: tensor.tolist() for name, tensor in checkpoint.head().items()} == {"weight": [[0, 1, 2], [3, 4, 5]], "count": 3}
    assert checkpoint.config.settings == {"width": 4}
    assert sorted(path.name for path in folder.iterdir()) == [
        "README.md",
        "config.json",
        "head.safetensors",
        "metrics.json",
        "training.yaml",
    ]
    assert describe(folder)["metrics"] == {"loss": 0.5}
    assert describe(folder)["kind"] == KIND


def test_same_content_gives_same_bytes(folder: Path, tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "again", CONFIG, head=HEAD, card="# Thing\n", metrics={"loss": 0.5}, training={"lr": 0.1})
    for path in folder.iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes()


def test_saving_replaces_a_checkpoint_only(folder: Path, tmp_path: Path) -> None:
    save_checkpoint(folder, CONFIG, head={"weight": torch.ones(1)}, card="new", metrics={}, training={})
    assert load_checkpoint(folder, kind=KIND).head()["weight"].tolist() == [1.0]
    assert not folder.with_name("thing.partial").exists()
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "notes.txt").write_text("keep", encoding="utf-8")
    with pytest.raises(CheckpointError, match="would be lost"):
        save_checkpoint(tmp_path / "precious", CONFIG, head=HEAD, card="", metrics={}, training={})
    assert (tmp_path / "precious" / "notes.txt").read_text(encoding="utf-8") == "keep"


def test_unknown_name_lists_the_shipped_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr("arbgraph.checkpoint.SHIPPED", (folder.parent,))
    monkeypatch.chdir(tmp_path.parent)
    assert find_checkpoint("thing") == folder.resolve()
    with pytest.raises(CheckpointError, match=r"no such folder, and not shipped \(shipped: thing\)"):
        find_checkpoint("nothing")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"arbgraph_checkpoint": 99}, "schema 99, but this version reads 1"),
        ({"kind": "Other"}, "holds a Other, not a Thing"),
        ({"surprise": 1}, "surprise"),
        ({"files": {}}, "lists no head.safetensors"),
        ({"files": {"head.safetensors": "0", "adapter_model.safetensors": "0"}}, "only one of adapter_model.safetensors"),
    ],
)
def test_wrong_configuration(folder: Path, values: dict, message: str) -> None:
    change(folder, **values)
    with pytest.raises(CheckpointError, match="thing") as caught:
        load_checkpoint(folder, kind=KIND)
    assert message in str(caught.value)


def test_damaged_and_missing_files(folder: Path) -> None:
    head = folder / "head.safetensors"
    data = bytearray(head.read_bytes())
    data[-1] ^= 1
    head.write_bytes(data)
    with pytest.raises(CheckpointError, match=r"head.safetensors is damaged.*get the folder again"):
        load_checkpoint(folder, kind=KIND)
    head.unlink()
    with pytest.raises(CheckpointError, match=r"head.safetensors is missing"):
        load_checkpoint(folder, kind=KIND)
    (folder / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(CheckpointError, match="not valid JSON"):
        load_checkpoint(folder, kind=KIND)
    (folder / "config.json").unlink()
    with pytest.raises(CheckpointError, match=r"config.json is missing"):
        load_checkpoint(folder, kind=KIND)


def test_foreign_folder(tmp_path: Path) -> None:
    base = build_tiny_base(tmp_path / "foreign")
    assert not is_checkpoint(base)
    with pytest.raises(CheckpointError, match="this folder is no ArbGraph checkpoint"):
        load_checkpoint(base, kind=KIND)


def test_base_is_found_by_hash(tmp_path: Path) -> None:
    base = build_tiny_base(tmp_path / "base")
    build_checkpoint(tmp_path / "c", base)
    checkpoint = load_checkpoint(tmp_path / "c", kind="RelationVerifier")
    assert checkpoint.resolve_base().path == base.resolve()
    with pytest.raises(CheckpointError, match="give the base that it was trained on"):
        checkpoint.resolve_base(name=str(build_tiny_base(tmp_path / "other", seed=1)))
    shutil.rmtree(base)
    with pytest.raises(CheckpointError, match="was not found"):
        checkpoint.resolve_base()


def test_a_part_without_base(folder: Path) -> None:
    with pytest.raises(CheckpointError, match="a Thing has no base"):
        load_checkpoint(folder, kind=KIND).resolve_base()


def test_adapter_files_are_the_same_in_every_process(tmp_path: Path) -> None:
    base = build_tiny_base(tmp_path / "base")
    build_checkpoint(tmp_path / "c", base)
    settings = json.loads((tmp_path / "c" / "adapter_config.json").read_text(encoding="utf-8"))
    assert settings["target_modules"] == sorted(settings["target_modules"])
    assert list(settings) == sorted(settings)
    assert settings["base_model_name_or_path"] == str(base)
