"""The command line of runs, and one generated test per shipped configuration."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from arbgraph.systems import System
from arbgraph.systems.registry import SystemInfo
from eval.answers import TOO_MANY_FAILED, main
from eval.benchmarks import benchmarks
from eval.runner import RunConfig, config_of, open_run_system
from tests.eval.answering import DATA, FirstWord

CONFIGS = sorted(Path(__file__).parents[2].glob("configs/eval/*.yaml"))
RUNS = [path for path in CONFIGS if "benchmark" in yaml.safe_load(path.read_text(encoding="utf-8"))]
MANY = str(DATA / "many.jsonl")
CUSTOM = ["--benchmark", "custom", "--data", MANY]


@pytest.fixture(autouse=True)
def _table(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of systems holds one more, which needs no model."""
    from arbgraph.systems import table

    ours = SystemInfo("first_word", "First word", "no paper", 2026, "tests.eval.answering:FirstWord", needs=())
    monkeypatch.setattr(table, "ROWS", (*table.ROWS, ours))


def test_every_benchmark_has_a_configuration():
    assert {path.stem for path in RUNS} == {*benchmarks(), "custom"}


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_a_shipped_configuration_runs_on_two_questions(path, tmp_path):
    more = ["--data", str(DATA / "custom/questions.jsonl")] if path.stem == "custom" else ["--root", str(DATA)]
    out = tmp_path / "run"
    status = main(
        ["--config", str(path), "--system", "first_word", "--limit", "2", "--checker", "none", "--out", str(out), "--quiet", *more]
    )
    assert status == 0
    metrics = json.loads((out / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["items"] == len(metrics["questions"]) in (1, 2)
    named = "custom" if path.stem == "custom" else path.stem
    assert (metrics["benchmark"], metrics["failed"]["count"]) == (named, 0)
    row = benchmarks().get(named)
    assert row is None or list(metrics["means"])[: len(row.metrics)] == list(row.metrics)
    # The stored configuration is complete: it can be given in place of the shipped one.
    again = ["--config", str(out / "config.yaml"), "--out", str(out), "--quiet"]
    assert main(again) == 0


def test_results_go_to_the_screen_and_to_json(tmp_path, capsys):
    common = [*CUSTOM, "--system", "first_word", "--out", str(tmp_path / "run")]
    assert main([*common, "--json", str(tmp_path / "scores.json")]) == 0
    printed = capsys.readouterr()
    assert "em_strict" in printed.out
    assert "0.5385" in printed.out  # 7 of 13
    assert "13/13" in printed.err
    scores = json.loads((tmp_path / "scores.json").read_text(encoding="utf-8"))
    assert scores == json.loads((tmp_path / "run/metrics.json").read_text(encoding="utf-8"))
    assert main(["--rescore", str(tmp_path / "run"), "--metrics", "[set_f1]"]) == 0
    assert "set_f1" in capsys.readouterr().out


def test_too_many_failures_have_an_exit_status_of_their_own_and_results(tmp_path, capsys):
    options = ["--system_options.fails", "[q01, q02]"]
    status = main([*CUSTOM, "--system", "first_word", "--out", str(tmp_path / "run"), *options])
    assert status == TOO_MANY_FAILED
    assert "2 x first_word: told to fail" in capsys.readouterr().out
    assert (tmp_path / "run/metrics.json").exists()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--benchmark", "ramdoc", "--system", "first_word"], "benchmark 'ramdoc' is not known"),
        (["--benchmark", "ramdocs", "--system", "first_worm", "--root", str(DATA)], "system 'first_worm' is not known"),
        (["--benchmark", "ramdocs", "--system", "first_word", "--root", "nowhere"], "nowhere/ramdocs/data.jsonl: no such file"),
        ([*CUSTOM, "--system", "first_word", "--system_options.opt", "3"], "has no option 'opt'; it has fails"),
        ([*CUSTOM, "--system", "first_word", "--metrics", "[em]"], "metric 'em' is not known"),
        ([*CUSTOM, "--system", "standard", "--chat", "none"], "asks a chat model; give --chat"),
        ([*CUSTOM, "--system", "standard", "--chat", "gpt"], "chat model 'gpt' is not known"),
        (["--rescore", "nowhere"], "does not hold a run"),
    ],
)  # fmt: skip
def test_errors_are_one_line(tmp_path, capsys, arguments, reason):
    more = [] if "--rescore" in arguments else ["--out", str(tmp_path / "run")]
    assert main([*arguments, *more, "--quiet"]) == 1
    [line] = capsys.readouterr().err.strip().splitlines()
    assert line.startswith("error: ")
    assert reason in line


def test_an_unknown_key_in_a_configuration_is_an_error(tmp_path, capsys):
    path = tmp_path / "mine.yaml"
    path.write_text("benchmark: ramdocs\nlimmit: 3\n", encoding="utf-8")
    with pytest.raises(SystemExit) as stopped:
        main(["--config", str(path), "--system", "first_word", "--out", str(tmp_path / "run")])
    assert stopped.value.code == 2
    assert "limmit" in capsys.readouterr().err


def test_a_chat_model_is_opened_for_systems_that_ask_one(monkeypatch):
    opened = []
    monkeypatch.setattr("arbgraph.chat.load.open_chat", lambda name, **options: opened.append(name))
    system = open_run_system(RunConfig("ramdocs", "first_word"))
    assert isinstance(system, FirstWord)
    assert isinstance(system, System)
    assert opened == ["none"]
    with pytest.raises(Exception, match="chat"):
        open_run_system(RunConfig("ramdocs", "standard"))
    assert opened == ["none", "smollm2"]


@pytest.mark.slow
def test_arbgraph_runs_without_a_chat_model_and_long_answers_are_judged(tmp_path):
    out = tmp_path / "run"
    command = [
        "--config",
        str(CONFIGS[0].parent / "arbcases.yaml"),
        "--system",
        "arbgraph",
        "--root",
        str(DATA),
        "--out",
        str(out),
        "--quiet",
    ]
    assert main(command) == 0
    first = (out / "metrics.json").read_bytes()
    metrics = json.loads(first)
    assert metrics["means"]["fact_recall"]["n"] == 2
    record = json.loads((out / "ragchecker.json").read_text(encoding="utf-8"))["results"][0]
    assert record["gt_answer"] == "Ostrava Hill opened in 1931."
    stored = (out / "checked.jsonl").read_bytes()
    assert main(["--rescore", str(out), "--root", str(DATA), "--quiet"]) == 0
    assert ((out / "metrics.json").read_bytes(), (out / "checked.jsonl").read_bytes()) == (first, stored)


def test_configurations_round_trip():
    config = RunConfig("ramdocs", "x", system_options={"a": 1}, limit=3)
    from dataclasses import asdict

    assert config_of(yaml.safe_load(yaml.safe_dump(asdict(config))), "here") == config
