"""Every system on the same questions: one model for all, a table from run folders, systems that cannot run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import torch
import yaml

from arbgraph.chat.base import ChatModel, Messages, Reply, Request
from arbgraph.schema import Failed
from arbgraph.systems import systems
from eval.side_by_side import Entry, SideBySide, config_for, main, row_of

DATA = Path(__file__).parent / "data"


class Says(ChatModel):
    """Answers 1900 to everything."""

    name, revision = "says", "1"

    def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Reply | Failed]]:
        for row, _ in enumerate(requests):
            yield row, Reply("Answer: 1900", "stop", 10, 3)

    def option_logprobs(self, prompts: Sequence[Messages], options: Sequence[str]) -> torch.Tensor:
        return torch.zeros(len(prompts), len(options), dtype=torch.float64)


@pytest.fixture
def opened(monkeypatch) -> list[str]:
    names: list[str] = []

    def open_chat(name: str, **options) -> ChatModel | None:
        names.append(name)
        return None if name == "none" else Says()

    monkeypatch.setattr("arbgraph.chat.load.open_chat", open_chat)
    return names


def plan(tmp_path: Path, entries: dict) -> Path:
    path = tmp_path / "plan.yaml"
    values = {"benchmark": "ramdocs", "split": "dev", "root": str(DATA), "chat": "smollm2", "systems": entries}
    path.write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")
    return path


def test_systems_share_one_model_and_become_run_folders(opened, tmp_path, capsys):
    path = plan(tmp_path, {"standard": {}, "closed-book": {"limit": 1}})
    out = tmp_path / "out"
    assert main(["--config", str(path), "--out", str(out), "--json", str(tmp_path / "table.jsonl")]) == 0
    assert opened == ["smollm2"]
    rows = [json.loads(line) for line in (tmp_path / "table.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["system"] for row in rows] == ["standard", "closed-book"]
    assert rows[1]["questions"] == 1
    assert all(row["calls"] == 1 and row["completion_tokens"] == 3 and row["failed"] == 0 for row in rows)
    assert "closed-book" in capsys.readouterr().out
    # The second time everything is done: the same table, and --only shows it whole.
    assert main(["--config", str(path), "--out", str(out), "--only", '["standard"]']) == 0
    assert "closed-book" in capsys.readouterr().out


def test_a_system_that_cannot_run_is_listed_and_the_others_go_on(opened, tmp_path, capsys):
    path = plan(tmp_path, {"magic": {}, "standard": {"options": {"document_tokens": 0}}, "closed-book": {}})
    assert main(["--config", str(path), "--out", str(tmp_path / "out")]) == 1
    shown = capsys.readouterr().out
    assert "magic could not run" in shown
    assert "standard could not run" in shown
    assert (tmp_path / "out" / "closed-book" / "metrics.json").is_file()


def test_bad_plans(opened, tmp_path, capsys):
    path = plan(tmp_path, {"standard": {}})
    assert main(["--config", str(path), "--out", str(tmp_path / "out"), "--only", '["cot"]']) == 1
    assert "'cot' is not in the plan" in capsys.readouterr().err
    with pytest.raises(Exception, match="no finished run"):
        row_of(tmp_path / "nothing")


def test_the_shipped_plan_holds_every_system_with_options_that_it_has():
    values = yaml.safe_load(Path("configs/systems/side_by_side.yaml").read_text(encoding="utf-8"))
    assert set(values["systems"]) == set(systems())
    entries = {name: Entry(**entry) for name, entry in values.pop("systems").items()}
    made = SideBySide(systems=entries, **values)
    for name, entry in entries.items():
        assert set(entry.options) <= set(systems()[name].options())
        assert config_for(made, name).system == name
