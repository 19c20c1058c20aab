"""What a person sees while training runs: lines in a log, a bar in a terminal; experiment trackers only on request."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

import train.verifier_module
from tests.train.runs import arguments
from train.verifier import main

OVERLAYS = Path(__file__).parents[2] / "configs" / "train" / "verifier"


def test_lines_without_a_terminal(data_root: Path, tiny_base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(arguments(data_root, tiny_base, "run", epochs=2))
    lines = re.findall(r"^step (\d+)/6  loss \d\.\d{4}  \d+(?:\.\d)? pairs/s  \d+\.\d min left$", capsys.readouterr().out, re.MULTILINE)
    assert lines == ["2", "4", "6"]


def test_accumulated_batches_give_one_line_per_step(data_root: Path, tiny_base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trainer = {"accumulate_grad_batches": 2}
    main(arguments(data_root, tiny_base, "run", epochs=2, data={"batch_size": 3}, trainer=trainer))
    assert re.findall(r"^step (\d+)/8 ", capsys.readouterr().out, re.MULTILINE) == ["2", "4", "6", "8"]


def test_a_bar_in_a_terminal(data_root: Path, tiny_base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    terminal = Console(file=screen, force_terminal=True, width=120)
    monkeypatch.setattr(train.verifier_module, "console", terminal)
    main(arguments(data_root, tiny_base, "run", epochs=2))
    shown = screen.getvalue()
    assert re.search(r"6/6 .*loss \d\.\d{4}  \d+(?:\.\d)? pairs/s  0\.0 min left", shown)
    assert "━" in shown


@pytest.mark.slow
def test_no_tracker_unless_asked(data_root: Path, tiny_base: Path) -> None:
    code = "import sys\nfrom train.verifier import main\nmain(sys.argv[1:])\nassert 'wandb' not in sys.modules"
    subprocess.run([sys.executable, "-c", code, *arguments(data_root, tiny_base, "run", epochs=1)], check=True, timeout=300)


@pytest.mark.slow
def test_wandb_offline(data_root: Path, tiny_base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    line = arguments(data_root, tiny_base, "run", epochs=1)
    folder = data_root / "tracked"
    main([*line, "--config", str(OVERLAYS / "wandb.yaml"), "--trainer.logger.init_args.save_dir", str(folder)])
    runs = list(folder.glob("wandb/offline-run-*/run-*.wandb"))
    assert len(runs) == 1
    assert runs[0].stat().st_size > 0
