"""Runs: resumed, killed, spread over processes, refused, scored again; the final files are those of one uninterrupted run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import types
from pathlib import Path
from typing import Any

import pytest
import yaml

from arbgraph.chat.base import ChatError
from arbgraph.io import InputError
from arbgraph.schema import Failed
from eval.benchmarks.custom import custom
from eval.metrics.table import Scored, UnknownMetricError
from eval.runner import RunConfig, config_of, rescore, run
from eval.scoring import all_scored, failures_of, score_with_failures
from tests.eval.answering import DATA, FirstWord

MANY = DATA / "many.jsonl"
REPOSITORY = Path(__file__).parents[2]


def config(**changes: Any) -> RunConfig:
    return RunConfig(**{"benchmark": "custom", "system": "first_word", "data": str(MANY), "batch_size": 2, **changes})


def lines(folder: Path, name: str = "predictions.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text(encoding="utf-8").splitlines()]


def same_results(a: Path, b: Path) -> bool:
    return all((a / name).read_bytes() == (b / name).read_bytes() for name in ("predictions.jsonl", "metrics.json", "config.yaml"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an uninterrupted run in one process."""
    out = tmp_path_factory.mktemp("whole") / "run"
    run(config(), out, system=FirstWord())
    return out


def test_the_files_of_a_run(whole):
    assert sorted(path.name for path in whole.iterdir()) == [
        "config.yaml", "environment.json", "metrics.json", "predictions.jsonl", "timings.jsonl",
    ]  # fmt: skip
    assert [row["id"] for row in lines(whole)] == [f"q{i:02d}" for i in range(13)]
    assert set(lines(whole)[0]) == {"id", "digest", "answer", "failed", "tokens"}
    environment = json.loads((whole / "environment.json").read_text(encoding="utf-8"))
    assert environment["system"] == {"name": "first_word", "option": 1}
    assert len(environment["data"]["many.jsonl"]) == 64
    assert {"python", "torch"} <= set(environment["versions"])
    assert config_of(yaml.safe_load((whole / "config.yaml").read_text(encoding="utf-8")), whole) == config(split="test")


def test_scores_by_hand(whole):
    """Every system answer holds the gold number and, once, the other one: wrong where it is listed as wrong."""
    metrics = json.loads((whole / "metrics.json").read_text(encoding="utf-8"))
    assert (metrics["items"], metrics["answered_share"], metrics["main_metric"]) == (13, 1.0, "em_strict")
    assert metrics["means"]["set_recall"]["value"] == 1.0
    # Of 13 questions the 6 of odd number list the other answer as wrong.
    assert metrics["means"]["em_strict"]["value"] == pytest.approx(7 / 13)
    assert metrics["means"]["wrong_answer"] == {"value": 1.0, "n": 6, "undefined": 7, "missing": {}}
    assert metrics["values"]["em_strict"] == [float(i % 2 == 0) for i in range(13)]
    assert metrics["means"]["calls"]["value"] == 1.0
    assert metrics["failed"] == {"count": 0, "share": 0.0, "reasons": {}}


def test_a_second_run_asks_nothing_and_changes_nothing(whole, tmp_path):
    out = tmp_path / "run"
    run(config(), out, system=FirstWord())
    system = FirstWord()
    run(config(), out, system=system)
    assert system.batches == []
    assert same_results(out, whole)


@pytest.mark.parametrize("kept", [0, 1, 4, 12])
def test_a_run_goes_on_behind_a_torn_line(whole, tmp_path, kept):
    out = tmp_path / "run"
    run(config(), out, system=FirstWord())
    stored = (out / "predictions.jsonl").read_bytes().splitlines(keepends=True)
    (out / "predictions.jsonl").write_bytes(b"".join(stored[:kept]) + stored[kept][:25])
    system = FirstWord()
    run(config(), out, system=system)
    # Only what is missing is asked, and the batches are those of the uninterrupted run.
    assert [name for batch in system.batches for name in batch] == [f"q{i:02d}" for i in range(kept, 13)]
    assert system.batches[-1] == ["q12"]
    assert same_results(out, whole)


def test_answers_of_several_processes_are_merged(whole, tmp_path):
    """What two processes would have written, one of them killed in a line."""
    out = tmp_path / "run"
    run(config(), out, system=FirstWord())
    stored = (out / "predictions.jsonl").read_bytes().splitlines(keepends=True)
    (out / "predictions.0.jsonl").write_bytes(b"".join(stored[0:2] + stored[4:6]))
    (out / "predictions.1.jsonl").write_bytes(b"".join(stored[2:4]) + stored[6][:30])
    (out / "predictions.jsonl").unlink()
    system = FirstWord()
    run(config(), out, system=system)
    assert system.batches[0] == ["q06", "q07"]
    assert same_results(out, whole)
    assert not list(out.glob("predictions.*.jsonl"))


def test_batch_size_changes_no_result(whole, tmp_path):
    run(config(batch_size=5), tmp_path / "run", system=FirstWord())
    assert (tmp_path / "run/predictions.jsonl").read_bytes() == (whole / "predictions.jsonl").read_bytes()


def test_a_limit_takes_questions_from_the_whole_file(tmp_path):
    run(config(limit=3), tmp_path / "run", system=FirstWord())
    assert [row["id"] for row in lines(tmp_path / "run")] == ["q00", "q04", "q08"]


def slow_run(out: Path, seconds: float, *launcher: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, *launcher, "-m", "tests.eval.answering", str(out), str(seconds)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, cwd=REPOSITORY, env=environment, stderr=subprocess.PIPE)


@pytest.mark.slow
def test_kill_9_in_the_middle_and_a_restart_give_the_files_of_an_uninterrupted_run(whole, tmp_path):
    out = tmp_path / "run"
    process = slow_run(out, 0.5)
    deadline = time.monotonic() + 120
    while not (out / "predictions.jsonl").exists() or len((out / "predictions.jsonl").read_bytes().splitlines()) < 3:
        assert process.poll() is None, process.stderr and process.stderr.read().decode()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = (out / "predictions.jsonl").read_bytes()
    assert len(before.splitlines()) < 13
    assert not (out / "metrics.json").exists()
    again = slow_run(out, 0.0)
    assert again.wait() == 0, again.stderr and again.stderr.read().decode()
    assert (out / "predictions.jsonl").read_bytes().startswith(before[: before.rfind(b"\n") + 1])
    assert same_results(out, whole)


@pytest.mark.slow
def test_two_processes_give_the_files_of_one(whole, tmp_path):
    pytest.importorskip("accelerate")
    out = tmp_path / "run"
    launcher = "-m torch.distributed.run --nproc_per_node 2 --rdzv_backend c10d --rdzv_endpoint localhost:0"
    process = slow_run(out, 0.2, *launcher.split())
    assert process.wait(timeout=300) == 0, process.stderr and process.stderr.read().decode()[-3000:]
    assert same_results(out, whole)
    assert json.loads((out / "environment.json").read_text(encoding="utf-8"))["processes"] == 2
    assert sorted(path.name for path in out.glob("*.jsonl")) == ["predictions.jsonl", "timings.jsonl"]


# Failures


def test_failures_are_listed_by_reason_and_too_many_end_the_run_as_failed(tmp_path):
    outcome = run(config(), tmp_path / "run", system=FirstWord(fails=["q03", "q04"]))
    assert outcome is not None
    assert outcome.too_many_failed  # 2 of 13 is more than 5%
    assert outcome.metrics["failed"] == {"count": 2, "share": 2 / 13, "reasons": {"first_word: told to fail": 2}}
    # q03 and q04 count as unanswered: of the 7 questions answered exactly, q04 is lost.
    assert outcome.metrics["means"]["em_strict"]["value"] == pytest.approx(6 / 13)
    # Silence is no success: q03 is left out of the share of wrong answers, not counted as free of them.
    assert outcome.metrics["means"]["wrong_answer"] == {"value": 1.0, "n": 5, "undefined": 6, "missing": {"failed": 2}}
    assert outcome.metrics["means"]["calls"]["n"] == 13
    assert not run(config(max_failed=0.2), tmp_path / "run", system=FirstWord()).too_many_failed  # type: ignore[union-attr]


def test_failed_questions_are_asked_again_only_on_request(whole, tmp_path):
    out = tmp_path / "run"
    run(config(), out, system=FirstWord(fails=["q03"]))
    system = FirstWord()
    run(config(), out, system=system)
    assert system.batches == []
    run(config(), out, system=system, retry_failed=True)
    assert system.batches == [["q03"]]
    assert same_results(out, whole)


class Breaks(FirstWord):
    """Its server goes away in the third batch."""

    def answer(self, batch):
        if len(self.batches) == 2:
            raise ChatError("the server does not answer; is it running?")
        return super().answer(batch)


def test_what_was_answered_before_an_error_stays_and_the_next_run_goes_on(whole, tmp_path):
    out = tmp_path / "run"
    with pytest.raises(ChatError):
        run(config(), out, system=Breaks())
    assert [row["id"] for row in lines(out)] == ["q00", "q01", "q02", "q03"]
    assert not (out / "metrics.json").exists()
    run(config(), out, system=FirstWord())
    assert same_results(out, whole)


def test_tokens_are_counted_by_the_system_or_its_chat_model(tmp_path):
    class Counts(FirstWord):
        chat = types.SimpleNamespace(count_tokens=len)

    run(config(limit=1), tmp_path / "chat", system=Counts())
    [row] = lines(tmp_path / "chat")
    assert row["tokens"] == len(row["answer"]["text"])

    class CountsItself(Counts):
        def count_tokens(self, text: str) -> int:
            return len(text.split())

    run(config(limit=1), tmp_path / "own", system=CountsItself())
    assert lines(tmp_path / "own")[0]["tokens"] == len(row["answer"]["text"].split())


def test_questions_that_cannot_be_answered_right_are_counted(tmp_path):
    outcome = run(RunConfig("ramdocs", "first_word", root=str(DATA)), tmp_path / "run", system=FirstWord())
    assert outcome is not None
    assert outcome.metrics["gold_equals_wrong"] == 1
    assert outcome.metrics["means"]["em_clean"]["undefined"] == 1


def test_texts_without_short_answers_are_not_wrong_but_unjudged():
    items = custom(MANY).load("unused")[:3]
    texts = {"id": "", "digest": "", "failed": None, "tokens": 3, "answer": {"text": "A text.", "short_answers": []}}
    rows = {item.query.id: texts for item in items}
    assert [one.predicted for one in all_scored(items, rows, {})] == [None, None, None]
    failed = {**texts, "answer": None, "failed": {"stage": "s", "reason": "r", "raw": "", "usage": {}}}
    assert [one.predicted for one in all_scored(items, {**rows, "q00": failed}, {})] == [None, None, None]
    # As soon as one prediction holds a short answer, the others lack theirs.
    answered = {**texts, "answer": {"text": "1", "short_answers": ["1"]}}
    assert [one.predicted for one in all_scored(items, {**rows, "q01": answered, "q00": failed}, {})] == [(), ("1",), ()]


def test_reasons_are_sorted_by_number_then_name():
    failures = [Failed(stage=stage, reason=reason) for stage, reason in [("a", "x"), ("b", "y"), ("b", "y"), ("a", "w")]]
    assert list(failures_of(failures, 8)["reasons"].items()) == [("b: y", 2), ("a: w", 1), ("a: x", 1)]
    assert failures_of(failures, 8)["share"] == 0.5


def test_a_failure_is_no_right_abstention():
    items = [
        Scored("silent", answerable=False, predicted=(), abstained=True),
        Scored("failed", answerable=False, predicted=(), text=""),
        Scored("spoke", answerable=False, predicted=("x",), text="x"),
    ]
    found = score_with_failures(items, {"failed"}, ["rejection"]).means["rejection"]
    assert (found.value, found.n, dict(found.missing)) == (0.5, 2, {"failed": 1})


# Bad input


def test_a_folder_of_another_run_is_refused_and_untouched(whole, tmp_path):
    out = tmp_path / "run"
    run(config(), out, system=FirstWord())
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    with pytest.raises(InputError, match=r"another configuration.*limit was None and is 3.*--overwrite"):
        run(config(limit=3), out, system=FirstWord())
    with pytest.raises(InputError, match=r"system\.option was 1 and is 2"):
        run(config(), out, system=FirstWord(option=2))
    assert before == {path.name: path.read_bytes() for path in out.iterdir()}
    run(config(limit=3), out, system=FirstWord(), overwrite=True)
    assert len(lines(out)) == 3


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("\\begin{document}", encoding="utf-8")
    with pytest.raises(InputError, match="files that are not of a run"):
        run(config(), tmp_path, system=FirstWord())
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_changed_data_is_refused(tmp_path):
    data = tmp_path / "mine.jsonl"
    data.write_bytes(MANY.read_bytes())
    run(config(data=str(data)), tmp_path / "run", system=FirstWord())
    data.write_text(data.read_text(encoding="utf-8").replace("house 3", "house 4711"), encoding="utf-8")
    with pytest.raises(InputError, match=r"data\.mine\.jsonl was .* and is"):
        run(config(data=str(data)), tmp_path / "run", system=FirstWord())
    with pytest.raises(InputError, match="line 4: 'q03' has another question"):
        rescore(tmp_path / "run")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"id": "q99", "digest": "", "answer": null, "failed": null}', "line 14: prediction for 'q99', which is none of the 13 questions"),
        ('{"id": "q03"}', "line 14: no prediction"),
        ("{]", "line 14: broken JSON"),
        ("second", "line 14: a second, different prediction for 'q03'"),
    ],
)
def test_foreign_and_broken_predictions_are_refused(tmp_path, line, reason):
    out = tmp_path / "run"
    run(config(), out, system=FirstWord())
    if line == "second":
        row = lines(out)[3]
        line = json.dumps({**row, "tokens": 9})
    with (out / "predictions.jsonl").open("a", encoding="utf-8") as stream:
        stream.write(line + "\n")
    for again in (lambda: run(config(), out, system=FirstWord()), lambda: rescore(out)):
        with pytest.raises(InputError, match=reason):
            again()


def test_bad_configurations_are_refused_before_the_first_question(tmp_path):
    system = FirstWord()
    with pytest.raises(UnknownMetricError, match="em_strict"):
        run(config(metrics=["em_strikt"]), tmp_path / "run", system=system)
    with pytest.raises(InputError, match="custom and a file"):
        config(data=None)
    with pytest.raises(InputError, match="limit 0"):
        config(limit=0)
    with pytest.raises(InputError, match="it is a share"):
        config(max_failed=5)
    with pytest.raises(InputError, match="unknown key 'limmit'"):
        config_of({"benchmark": "ramdocs", "system": "x", "limmit": 3}, "here")
    with pytest.raises(InputError, match="no labels"):
        run(config(credibility="ideal"), tmp_path / "run", system=system)
    assert system.batches == []
    assert not (tmp_path / "run").exists()


def test_ideal_credibility_reaches_the_system_and_nothing_else_does():
    ideal = RunConfig(benchmark="cagb_newspolluted", system="x", root=str(DATA), credibility="ideal")
    item = ideal.items(ideal.open_benchmark())[0]
    assert {item.labels[d.id]: d.credibility for d in item.query.documents} == {"misinfo": 0.1, "correct": 1.0}


# Scoring again


def test_rescoring_calls_no_system_and_takes_other_metrics(whole, tmp_path, monkeypatch):
    out = tmp_path / "run"
    run(config(), out, system=FirstWord())
    monkeypatch.setattr("eval.runner.open_system", lambda *a, **k: pytest.fail("a system was opened"))
    monkeypatch.setattr("eval.runner.open_checker", lambda *a, **k: pytest.fail("a judge was opened"))
    assert rescore(out).metrics["means"] == json.loads((whole / "metrics.json").read_text(encoding="utf-8"))["means"]
    assert same_results(out, whole)
    assert list(rescore(out, metrics=["set_f1"]).metrics["means"]) == ["set_f1"]


def test_rescoring_an_unfinished_run_is_refused(tmp_path):
    out = tmp_path / "run"
    run(config(), out, system=FirstWord())
    kept = (out / "predictions.jsonl").read_bytes().splitlines(keepends=True)[:5]
    (out / "predictions.jsonl").write_bytes(b"".join(kept))
    with pytest.raises(InputError, match="8 of 13 questions have no prediction yet"):
        rescore(out)
    with pytest.raises(InputError, match="does not hold a run"):
        rescore(tmp_path)
