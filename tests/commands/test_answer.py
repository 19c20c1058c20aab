"""`arbgraph answer` and `arbgraph arbitrate` with chat models: output, resuming after a kill, failures, wrong usage."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from arbgraph.chat.cached import CachedChat
from arbgraph.cli import main
from tests.chat.server import serving
from tests.chat.support import ScriptedChat
from tests.chat.test_end_to_end import query, script

pytest.importorskip("openai")

EXAMPLE = Path(__file__).parents[2] / "examples" / "reservoir_capacity.json"


STANDARD = ["answer", EXAMPLE, "--system", "standard", "--chat", "smollm2"]


@pytest.fixture(autouse=True)
def _loaded_once(monkeypatch, system):
    """Stages that no chat model takes over are the session's."""
    from arbgraph import pipeline

    extractor = system.extractor
    monkeypatch.setattr(pipeline, "SentenceEncoder", lambda *a, **k: system.encoder)
    monkeypatch.setattr(pipeline.RelationVerifier, "load", lambda *a, **k: system.verifier)
    monkeypatch.setattr(pipeline, "SyntacticExtractor", lambda *a, **k: extractor)


@pytest.fixture
def chat(monkeypatch):
    """Makes every `--chat` a scripted model, which a test installs and can count on."""

    def install(model):
        from arbgraph.chat import load

        monkeypatch.setattr(load, "open_chat", lambda name, cache=None, **_: CachedChat(model, cache) if cache else model)
        return model

    return install


def run(capsys, *arguments) -> tuple[int, str, str]:
    try:
        code = main([str(argument) for argument in arguments])
    except SystemExit as stop:
        code = int(stop.code or 0)
    out, err = capsys.readouterr()
    return code, " ".join(out.split()), " ".join(err.split())


def queries_file(path: Path, count: int) -> Path:
    lines = [query(f"Bridge{n}").model_dump_json(exclude={"claims"}) for n in range(count)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def rows_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_answer_without_a_chat_model(capsys, tmp_path):
    target = tmp_path / "out.jsonl"
    code, out, err = run(capsys, "answer", EXAMPLE, "--json", target)
    assert code == 0
    assert "12 million cubic metres" in out
    assert "Sources" in out
    assert "1 answered" in err
    (row,) = rows_of(target)
    assert row["answer"]["citations"]
    assert row["failed"] is None
    assert row["system"]["name"] == "arbgraph"
    assert row["answer"]["usage"] == {"calls": 0, "completion_tokens": 0, "prompt_tokens": 0}
    trace = row["answer"]["trace"]
    assert {"validated", "suppressed", "decisions", "failures", "diagnostics"} == trace.keys()
    assert all(0 < claim["credibility"] < 1 for claim in trace["validated"])


def test_a_chat_model_takes_over_the_stages_named_and_every_call_is_counted(capsys, tmp_path, chat):
    source, target = queries_file(tmp_path / "in.jsonl", 2), tmp_path / "out.jsonl"
    settings = tmp_path / "s.yaml"
    settings.write_text("base: default\nchat_judgements: replies\n", encoding="utf-8")
    model = chat(ScriptedChat(script))
    code, _, err = run(capsys, "answer", source, "--chat", "hf:scripted", "--settings", settings, "--json", target)
    assert code == 0
    usage = [row["answer"]["trace"]["diagnostics"]["usage"] for row in rows_of(target)]
    assert [set(each) for each in usage] == [{"extraction", "verification", "arbitration", "writing"}] * 2
    assert sum(stage["calls"] for each in usage for stage in each.values()) == len(model.asked)
    assert sum(row["answer"]["usage"]["calls"] for row in rows_of(target)) == len(model.asked)
    assert f"scripted: {len(model.asked)} calls, {10 * len(model.asked)} tokens read" in err
    assert [row["answer"]["short_answers"] for row in rows_of(target)] == [["1932"]] * 2

    model = chat(ScriptedChat(script))
    args = ("--chat", "hf:scripted", "--settings", settings, "--chat_stages", "writing", "--json", target)
    assert run(capsys, "arbitrate", source, *args)[0] == 0
    assert {request.messages.stage for request in model.asked} == {"writing"}
    (first, _) = rows_of(target)
    assert first["settings"]["chat_stages"] == ["writing"]
    assert first["diagnostics"]["usage"].keys() == {"writing"}
    assert run(capsys, "show", target)[0] == 0


def test_usage_is_the_same_alone_and_in_a_batch(capsys, tmp_path, chat):
    settings = tmp_path / "s.yaml"
    settings.write_text("chat_judgements: replies\n", encoding="utf-8")
    for name, count in (("one", 1), ("three", 3)):
        chat(ScriptedChat(script))
        source = queries_file(tmp_path / f"{name}.jsonl", count)
        assert run(capsys, "arbitrate", source, "--chat", "hf:scripted", "--settings", settings, "--json", tmp_path / f"{name}.out")[0] == 0
    (alone,), batch = rows_of(tmp_path / "one.out"), rows_of(tmp_path / "three.out")
    assert alone == batch[0]
    assert alone["diagnostics"]["usage"]["arbitration"]["calls"] > 0


def test_failures_of_every_stage_are_listed(capsys, tmp_path, chat):
    settings = tmp_path / "s.yaml"
    settings.write_text("chat_judgements: replies\n", encoding="utf-8")
    source, target = queries_file(tmp_path / "in.jsonl", 1), tmp_path / "out.jsonl"
    for broken, reason in (
        ("extraction", "yields no claim"),
        ("relation-reply", "malformed"),
        ("arbitration", "malformed"),
        ("writing", "malformed"),
    ):
        chat(ScriptedChat(lambda request, broken=broken: "no json" if request.messages.stage == broken else script(request)))
        assert run(capsys, "arbitrate", source, "--chat", "hf:scripted", "--settings", settings, "--json", target)[0] == 0
        (row,) = rows_of(target)
        failures = [failure for failure in row["failures"] if failure["stage"] == broken]
        assert failures, broken
        assert any(reason in failure["reason"] for failure in failures)
        assert run(capsys, "show", target)[1].count("!") >= 1


def test_a_run_that_is_killed_repeats_no_call_and_gives_the_same_bytes(capsys, tmp_path, chat):
    """The whole pipeline on a chat model; the kill comes in the middle of a batch."""

    class Killed(BaseException):
        pass

    def dying(request):
        if len(first.asked) == 70:
            raise Killed
        return script(request)

    settings = tmp_path / "s.yaml"
    settings.write_text("chat_judgements: replies\n", encoding="utf-8")
    source = queries_file(tmp_path / "in.jsonl", 6)
    common = ("--chat", "hf:scripted", "--settings", settings, "--quiet")
    fresh = chat(ScriptedChat(script))
    assert run(capsys, "answer", source, *common, "--json", tmp_path / "fresh.jsonl")[0] == 0

    cached = (*common, "--cache", tmp_path / "r.sqlite", "--json", tmp_path / "out.jsonl")
    first = chat(ScriptedChat(dying))
    with pytest.raises(Killed):
        run(capsys, "answer", source, *cached)
    second = chat(ScriptedChat(script))
    assert run(capsys, "answer", source, *cached)[0] == 0
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "fresh.jsonl").read_bytes()
    assert len(first.asked) - 1 + len(second.asked) == len(fresh.asked)  # the call that was under way is the only one repeated
    assert second.asked

    third = chat(ScriptedChat(script))
    assert run(capsys, "answer", source, *cached)[0] == 0
    assert third.asked == []
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "fresh.jsonl").read_bytes()


def kill_and_resume(tmp_path: Path, questions: int, kill_at: int) -> None:
    """A process of its own that is killed by the server's hand, on the simplest system, then started again."""
    source, target = queries_file(tmp_path / "in.jsonl", questions), tmp_path / "out.jsonl"
    answered: list[str] = []
    process: list[subprocess.Popen] = []
    lock = threading.Lock()

    def behaviour(handler, body, number):
        if number == kill_at:
            time.sleep(0.5)  # what was answered before reaches the file
            process[0].kill()
            return
        with lock:
            answered.append(body["messages"][-1]["content"])
        handler.reply(f"Thinking.\nAnswer: {len(body['messages'][-1]['content'])}")

    def command(server, json_path, *more):
        words = ["answer", source, "--system", "standard", "--chat", f"openai:stub@{server.url}", "--json", json_path, "--quiet", *more]
        options = ["--chat_options", '{"concurrency": 1}']
        return [sys.executable, "-m", "arbgraph.cli", *map(str, words), *options]

    cache = ("--cache", str(tmp_path / "r.sqlite"))
    with serving(behaviour) as server:
        process.append(subprocess.Popen(command(server, target, *cache)))
        assert process[0].wait() != 0
        assert len(answered) == kill_at
        assert not target.exists()
        subprocess.run(command(server, target, *cache), check=True)
        assert len(answered) == len(set(answered)) == questions  # nobody was asked twice
        # Under the address that the first run had, because it is part of what made the answers.
        subprocess.run(command(server, tmp_path / "fresh.jsonl"), check=True)
        assert len(answered) == 2 * questions
    assert target.read_bytes() == (tmp_path / "fresh.jsonl").read_bytes()
    assert all(row["answer"]["short_answers"] for row in rows_of(target))


def test_a_killed_process_resumes_without_a_repeated_call(tmp_path):
    kill_and_resume(tmp_path, questions=30, kill_at=20)


@pytest.mark.slow
def test_a_killed_process_over_200_questions_resumes_without_a_repeated_call(tmp_path):
    kill_and_resume(tmp_path, questions=200, kill_at=123)


def test_the_packaged_model_only_arbitrates_unless_told_otherwise(capsys, tmp_path, chat):
    source, target = queries_file(tmp_path / "in.jsonl", 1), tmp_path / "out.jsonl"
    model = chat(ScriptedChat(script, scores=lambda messages: [-0.1, -3.0, -4.0]))
    assert run(capsys, "arbitrate", source, "--chat", "smollm2", "--json", target)[0] == 0
    assert model.asked == []
    assert {messages.stage for messages in model.scored} == {"decision"}
    (row,) = rows_of(target)
    assert row["settings"]["chat_stages"] == ["arbitration"]
    assert row["diagnostics"]["usage"].keys() == {"arbitration"}
    assert row["diagnostics"]["usage"]["arbitration"]["calls"] == len(model.scored)
    assert run(capsys, "arbitrate", source, "--chat", "smollm2", "--chat_stages", "writing", "--json", target)[0] == 0
    assert {request.messages.stage for request in model.asked} == {"writing"}


def test_a_learned_evidence_arbitrator_goes_before_the_chat_model(capsys, tmp_path, chat):
    source, target = queries_file(tmp_path / "in.jsonl", 1), tmp_path / "out.jsonl"
    settings = tmp_path / "s.yaml"
    settings.write_text("chat_judgements: replies\n", encoding="utf-8")
    model = chat(ScriptedChat(script))
    args = ("--chat", "hf:scripted", "--settings", settings, "--arbitrator", "arbitrator-evidence", "--json", target)
    assert run(capsys, "arbitrate", source, *args)[0] == 0
    assert "arbitration" not in {request.messages.stage for request in model.asked}
    assert rows_of(target)[0]["diagnostics"]["models"]["arbitrator"].startswith("arbitrator-evidence@")


def test_the_table_of_systems(capsys, tmp_path):
    target = tmp_path / "systems.jsonl"
    code, out, _ = run(capsys, "systems", "--json", target)
    assert code == 0
    names = [row["name"] for row in rows_of(target)]
    assert names[0] == "arbgraph"
    assert len(names) == len(set(names))
    for row in rows_of(target):
        assert row["name"] in out
        assert row["paper"]
        assert 1990 < row["year"] < 2100
        assert row["target"].startswith("arbgraph.systems.")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["answer", EXAMPLE, "--system", "nope"], "system 'nope' is not known; choose one of arbgraph, "),
        (["answer", EXAMPLE, "--system", "standard"], "system 'standard' asks a chat model: give one with --chat"),
        (["answer", EXAMPLE, "--chat", "gpt"], "chat model 'gpt' is not known; write smollm2"),
        (["arbitrate", EXAMPLE, "--chat", "openai:m", "--settings", "default"], "no API key"),
        (["answer", EXAMPLE, "--chat", "smollm2", "--chat_options", '{"batch": 3}'], "no option 'batch'; its options: "),
        (["answer", EXAMPLE, "--chat", "smollm2", "--chat_options", '{"device_map": "auto", "device": "cpu"}'], "not both"),
        ([*STANDARD, "--options", '{"tokens": 3}'], "no option 'tokens'; its options: document_tokens"),
        ([*STANDARD, "--propagation", "x"], "no option 'propagation'"),
        (["answer", EXAMPLE, "--cache", "x.sqlite"], "name one with --chat"),
        (["answer", EXAMPLE, "--chat", "hf:no-such-folder"], "no-such-folder"),
        (["answer", EXAMPLE, "--arbitrator", "verifier-minilm"], "holds a RelationVerifier; give a LearnedEvidence"),
        (["answer", EXAMPLE, "--chat", "smollm2", "--chat_stages", "reading"], "reading"),
    ],
)  # fmt: skip
def test_wrong_usage_is_one_line_and_exit_code_2(capsys, monkeypatch, arguments, message):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert message in err
    assert "Traceback" not in out + err


def test_a_server_that_refuses_the_key_is_one_line(capsys, tmp_path):
    with serving(lambda handler, body, number: handler.error(401, "bad key")) as server:
        code, _, err = run(capsys, "answer", EXAMPLE, "--system", "standard", "--chat", f"openai:stub@{server.url}")
    assert code == 2
    assert err.startswith("error: the server at http://127.0.0.1")
    assert "refused the API key" in err


def test_a_failed_answer_is_a_row_and_a_view(capsys, tmp_path):
    target = tmp_path / "out.jsonl"
    long = "And so on it went without an end in sight for any of them at all. "
    with serving(lambda handler, body, number: handler.reply(long)) as server:
        code, out, err = run(capsys, "answer", EXAMPLE, "--system", "standard", "--chat", f"openai:stub@{server.url}", "--json", target)
    assert code == 0
    (row,) = rows_of(target)
    assert row["answer"] is None
    assert row["failed"]["stage"] == "standard"
    assert row["failed"]["usage"]["calls"] == 1
    assert "No answer: standard: the reply has no line" in out
    assert "1 failed" in err
