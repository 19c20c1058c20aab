"""Every shipped configuration of the verifier is one that the current code accepts."""

from __future__ import annotations

from pathlib import Path

import lightning as L
import pytest
import yaml
from lightning.pytorch.cli import LightningArgumentParser

from train.data.pairs import VerifierData
from train.verifier_module import VerifierModule

CONFIGS = sorted((Path(__file__).parents[2] / "configs" / "train" / "verifier").glob("*.yaml"))
OVERLAYS = {"wandb"}


@pytest.fixture(scope="module")
def parser() -> LightningArgumentParser:
    parser = LightningArgumentParser(exit_on_error=False)
    parser.add_argument("--config", action="config")
    parser.add_argument("--seed_everything", type=int)
    parser.add_lightning_class_args(VerifierModule, "model")
    parser.add_lightning_class_args(VerifierData, "data")
    parser.add_lightning_class_args(L.Trainer, "trainer")
    return parser


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_it_parses(parser: LightningArgumentParser, path: Path) -> None:
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    parsed = parser.parse_args(["--config", str(path)])
    if path.stem in OVERLAYS:
        return
    monitors = [callback["init_args"].get("monitor") for callback in config["trainer"]["callbacks"]]
    names = {f"dev/{Path(source['path']).parent.name}/macro_f1" for source in config["data"]["dev"]} | {"dev/macro_f1"}
    assert {monitor for monitor in monitors if monitor} <= names
    # A resumable run needs a last state; and no dev or test set may be trained on.
    assert any(callback["init_args"].get("save_last") for callback in config["trainer"]["callbacks"])
    trained = {source["path"] for source in config["data"]["train"]}
    held = {source["path"] for kind in ("dev", "test") for source in config["data"].get(kind, [])} | set(config["data"]["held_out"])
    assert not trained & held
    assert parsed.model.max_tokens == config["model"]["max_tokens"]
