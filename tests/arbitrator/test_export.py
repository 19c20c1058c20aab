"""A merged arbitrator: scores as those of its adapter, read by transformers alone, refused when damaged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, get_peft_model

from arbgraph.arbitrator.calibration import VerdictCalibration
from arbgraph.arbitrator.causal_lm import KIND, CausalArbitrator
from arbgraph.arbitrator.export import load_export, probe_cases
from arbgraph.arbitrator.load import load_arbitrator
from arbgraph.chat.transformers_chat import TransformersChat
from arbgraph.checkpoint import Base, CheckpointConfig, CheckpointError, save_checkpoint
from arbgraph.export import ExportError, export_checkpoint
from arbgraph.models import resolve_model
from tests.chat.tiny import save_tiny


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("export")
    base = save_tiny(folder / "base", context=4096)
    chat = TransformersChat(str(base), device="cpu", precision="fp32")
    torch.manual_seed(0)
    adapted = get_peft_model(chat.model, LoraConfig(r=4, target_modules="all-linear", init_lora_weights=False))
    resolved = resolve_model(str(base))
    config = CheckpointConfig(
        kind=KIND,
        base=Base(name=resolved.name, sha256=resolved.sha256),
        settings=CausalArbitrator.checkpoint_settings(300),
        calibration=VerdictCalibration(1.7, -0.4).to_dict(),
    )
    save_checkpoint(folder / "judge", config, adapted=adapted, head={}, card="x\n", metrics={}, training={})
    return folder / "judge"


@pytest.fixture(scope="module")
def exported(checkpoint: Path, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("out") / "merged"
    report = export_checkpoint(checkpoint, out)
    assert report["parity"]["largest_difference"]["option log-probability"] < 1e-4
    return out


def test_verdicts_are_those_of_the_checkpoint(checkpoint: Path, exported: Path) -> None:
    ours, theirs = CausalArbitrator.load(checkpoint, device="cpu"), load_arbitrator(exported, device="cpu")
    assert isinstance(theirs, CausalArbitrator)
    assert theirs.context_tokens == 300
    assert theirs.calibration == VerdictCalibration(1.7, -0.4)
    torch.testing.assert_close(theirs.decide(probe_cases()).probabilities, ours.decide(probe_cases()).probabilities, atol=1e-5, rtol=0)


def test_transformers_reads_the_folder_alone(exported: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(exported)
    assert model.dtype == torch.float32
    assert not any("lora" in name for name in model.state_dict())
    tokenizer = AutoTokenizer.from_pretrained(exported)
    assert tokenizer.chat_template


def test_the_report_and_the_hashes(exported: Path) -> None:
    report = json.loads((exported / "export.json").read_text(encoding="utf-8"))
    assert report["parity"]["probe_cases"] == len(probe_cases())
    settings = json.loads((exported / "arbitrator.json").read_text(encoding="utf-8"))
    assert "model.safetensors" in settings["files"]


def test_a_damaged_export_is_refused(exported: Path, tmp_path: Path) -> None:
    import shutil

    broken = tmp_path / "broken"
    shutil.copytree(exported, broken)
    with (broken / "model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\x7f")
    with pytest.raises(CheckpointError, match=r"model\.safetensors: is missing or not the file"):
        load_export(broken)
    (broken / "arbitrator.json").write_text("{}", encoding="utf-8")
    with pytest.raises(CheckpointError, match="export the arbitrator again"):
        load_export(broken)


def test_other_formats_are_refused(checkpoint: Path, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="leave out --format"):
        export_checkpoint(checkpoint, tmp_path / "x", format="onnx")
