"""Whole training runs on a tiny base and a handful of pairs, in a second or two."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

NAMES = ["Anna", "Boris", "Clara", "David", "Elena", "Frank", "Greta", "Hugo", "Irene", "Jakob", "Karla"]
FORMS = {"support": "{} was seen in the city.", "contradict": "{} has never been to any city.", "neutral": "{} owns a small dog."}
ROWS = [
    (f"{name} arrived in the city in {1950 + 5 * row}.", FORMS[label].format(name), label)
    for row, name in enumerate(NAMES)
    for label in FORMS
]


@pytest.fixture
def data_root(tmp_path: Path) -> Path:
    """A folder with `data/train.jsonl` (24 pairs) and `data/dev.jsonl` (9)."""
    for split, rows in (("train", ROWS[:24]), ("dev", ROWS[24:])):
        lines = (json.dumps({"premise": a, "hypothesis": b, "label": label}) for a, b, label in rows)
        (tmp_path / "data").mkdir(exist_ok=True)
        (tmp_path / "data" / f"{split}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def arguments(
    root: Path,
    base: Path,
    name: str,
    *,
    epochs: int = 2,
    data: dict[str, Any] | None = None,
    trainer: dict[str, Any] | None = None,
    **model,
) -> list[str]:
    """Command line of a `fit` into `root / name`; `data`, `trainer` and further keywords override the configuration's parts."""
    config: dict[str, Any] = {
        "seed_everything": 3,
        "model": {"base": str(base), "output": str(root / name / "checkpoint"), "max_tokens": 32, "lora": {"r": 2, "alpha": 4}, **model},
        "data": {
            "root": str(root),
            "batch_size": 8,
            "train": [{"path": "data/train.jsonl", "licence": "CC0"}],
            "dev": [{"path": "data/dev.jsonl", "name": "dev"}, {"path": "data/dev.jsonl", "name": "both", "undirected": True}],
        },
        "trainer": {
            "accelerator": "cpu",
            "devices": 1,
            "precision": "32-true",
            "max_epochs": epochs,
            "gradient_clip_val": 1.0,
            "num_sanity_val_steps": 0,
            "enable_progress_bar": False,
            "enable_model_summary": False,
            "default_root_dir": str(root / name),
            "logger": {"class_path": "lightning.pytorch.loggers.CSVLogger", "init_args": {"save_dir": str(root / name)}},
            "callbacks": [
                {"class_path": "train.verifier_module.Throughput", "init_args": {"every": 2}},
                {
                    "class_path": "lightning.pytorch.callbacks.ModelCheckpoint",
                    "init_args": {"dirpath": str(root / name / "states"), "monitor": "dev/macro_f1", "save_last": True, "save_top_k": -1},
                },
            ],
        },
    }
    config["data"] |= data or {}
    config["trainer"] |= trainer or {}
    path = root / f"{name}.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return ["fit", "--config", str(path)]
