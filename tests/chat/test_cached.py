"""The reply cache: a hit equals a fresh reply, what enters the key, several processes, killed runs, recordings."""

from __future__ import annotations

import json
import multiprocessing
import sqlite3

import pytest
import torch
from pydantic import BaseModel

from arbgraph.chat import ChatError, Messages, Reply, Request
from arbgraph.chat.cached import CachedChat
from arbgraph.chat.replay import ReplayChat, reply_key, score_key
from arbgraph.schema import Failed
from tests.chat.support import ScriptedChat


class Number(BaseModel):
    number: int


class Other(BaseModel):
    number: int
    unit: str


PROMPTS = [Messages.of(f"What is {n}?", prompt="sum/1") for n in range(5)]


def counting():
    """A chat whose every reply differs, so that a repeated call would show."""
    calls = []

    def script(request):
        calls.append(request)
        return {"number": len(calls)}

    return ScriptedChat(script, scores=lambda messages: (calls.append(messages), [-0.1 * len(calls), -3.0])[1]), calls


def test_a_hit_equals_the_fresh_completion_and_asks_nobody(tmp_path):
    inner, calls = counting()
    cache = CachedChat(inner, tmp_path / "deep" / "replies.sqlite")
    fresh = cache.complete(PROMPTS, Number)
    again = CachedChat(counting()[0], tmp_path / "deep" / "replies.sqlite")
    assert again.complete(PROMPTS, Number) == fresh
    assert len(calls) == 5
    assert again.inner.asked == []
    assert (again.counts["cache_hits"], again.counts["cache_misses"]) == (5, 0)
    assert (cache.counts["cache_hits"], cache.counts["cache_misses"]) == (0, 5)


def test_the_repair_turn_is_cached_too(tmp_path):
    def script(request):
        return {"number": 1} if len(request.messages.turns) > 1 else "one"

    for expected in (2, 0):
        cache = CachedChat(ScriptedChat(script), tmp_path / "r.sqlite")
        (done,) = cache.complete(PROMPTS[:1], Number)
        assert done.value.number == 1
        assert done.attempts == 2
        assert len(cache.inner.asked) == expected


def test_whatever_decides_a_reply_is_in_the_key():
    chat = ScriptedChat(lambda request: "x")
    base = Request(PROMPTS[0], Number, 10)

    def key(request=base, **identity):
        return reply_key(chat.identity() | identity, request)

    others = [
        key(Request(PROMPTS[1], Number, 10)),
        key(Request(Messages(PROMPTS[0].turns, "sum/2"), Number, 10)),
        key(Request(PROMPTS[0], Other, 10)),
        key(Request(PROMPTS[0], None, 10)),
        key(Request(PROMPTS[0], Number, 11)),
        key(Request(Messages.of("What is 0?", "Be brief.", "sum/1"), Number, 10)),
        key(model="other"),
        key(revision="other"),
        key(parameters={"temperature": 0.5}),
        score_key(chat.identity(), PROMPTS[0], ["A", "B"]),
        score_key(chat.identity(), PROMPTS[0], ["B", "A"]),
    ]
    assert len({key(), *others}) == 1 + len(others)
    assert key() == key()


def test_failures_of_the_backend_are_tried_again_but_what_a_model_said_is_kept(tmp_path):
    cache = CachedChat(ScriptedChat(lambda request: Failed(stage="x", reason="down")), tmp_path / "r.sqlite")
    assert cache.complete(PROMPTS[:1], Number)[0].failure.reason == "backend: down"
    cache = CachedChat(ScriptedChat(lambda request: "not json"), tmp_path / "r.sqlite")
    assert cache.complete(PROMPTS[:1], Number)[0].failure.reason.startswith("malformed")
    cache = CachedChat(counting()[0], tmp_path / "r.sqlite")
    assert cache.complete(PROMPTS[:1], Number)[0].failure.reason.startswith("malformed")


def test_a_killed_run_repeats_no_call(tmp_path):
    class Killed(Exception):
        pass

    seen = []

    def script(request):
        if len(seen) == 3:
            raise Killed
        seen.append(request)
        return {"number": int(request.messages.turns[0].content[8])}

    with pytest.raises(Killed):
        CachedChat(ScriptedChat(script), tmp_path / "r.sqlite").complete(PROMPTS, Number)
    resumed = ScriptedChat(lambda request: {"number": int(request.messages.turns[0].content[8])})
    done = CachedChat(resumed, tmp_path / "r.sqlite").complete(PROMPTS, Number)
    assert [completion.value.number for completion in done] == [0, 1, 2, 3, 4]
    assert len(resumed.asked) == 2
    assert not {r.messages for r in resumed.asked} & {r.messages for r in seen}


def test_scores_are_kept_to_the_last_bit_and_failed_rows_are_not_kept(tmp_path):
    values = {0: [-1 / 3, -2 / 7], 1: [float("nan"), -1.0]}
    inner = ScriptedChat(lambda request: "", scores=lambda messages: values[int(messages.turns[0].content[8])])
    prompts = [PROMPTS[0], PROMPTS[1], PROMPTS[0]]
    fresh = CachedChat(inner, tmp_path / "r.sqlite").option_logprobs(prompts, ["A", "B"])
    assert len(inner.scored) == 2
    cached = CachedChat(inner, tmp_path / "r.sqlite").option_logprobs(prompts, ["A", "B"])
    torch.testing.assert_close(cached, fresh, rtol=0, atol=0, equal_nan=True)
    assert [m.turns[0].content for m in inner.scored] == ["What is 0?", "What is 1?", "What is 1?"]
    assert fresh[0].tolist() == values[0]
    assert CachedChat(inner, tmp_path / "r.sqlite").option_logprobs([], ["A", "B"]).shape == (0, 2)


def test_broken_text_survives_the_cache(tmp_path):
    text = "\ud800 \u202e العربية 日本語 \x00"
    for _ in range(2):
        cache = CachedChat(ScriptedChat(lambda request: Reply(text)), tmp_path / "r.sqlite")
        assert cache.complete([Messages.of(text)])[0].text == text


def _work(path, start, results):
    """One process: every reply names its process, so that both see which one was kept."""
    inner = ScriptedChat(lambda request: {"number": multiprocessing.current_process().pid or 0})
    start.wait()
    cache = CachedChat(inner, path)
    done = [cache.complete([messages], Number)[0] for messages in [Messages.of(f"q{n}") for n in range(40)]]
    results.put([completion.value.number for completion in done])


def test_two_processes_agree_on_every_reply(tmp_path):
    context = multiprocessing.get_context("fork")
    start, results = context.Event(), context.Queue()
    workers = [context.Process(target=_work, args=(tmp_path / "r.sqlite", start, results)) for _ in range(2)]
    for worker in workers:
        worker.start()
    start.set()
    first, second = (results.get(timeout=60) for _ in workers)
    for worker in workers:
        worker.join()
    assert first == second
    assert set(first) <= {worker.pid for worker in workers}
    rows = sqlite3.connect(tmp_path / "r.sqlite").execute("SELECT count(*) FROM replies").fetchone()
    assert rows == (40,)


def test_a_connection_made_before_a_fork_is_not_used_after_it(tmp_path):
    cache = CachedChat(counting()[0], tmp_path / "r.sqlite")
    cache.complete(PROMPTS[:1], Number)
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    child = context.Process(target=lambda: (cache.complete(PROMPTS, Number), results.put(cache.counts["cache_hits"])))
    child.start()
    assert results.get(timeout=60) == 1
    child.join()
    assert child.exitcode == 0
    assert cache.complete(PROMPTS, Number)[4].value is not None
    assert cache.counts["cache_hits"] == 5


def test_values_are_json_and_the_file_uses_write_ahead_logging(tmp_path):
    CachedChat(counting()[0], tmp_path / "r.sqlite").complete(PROMPTS[:1], Number)
    connection = sqlite3.connect(tmp_path / "r.sqlite")
    ((value,),) = connection.execute("SELECT value FROM replies").fetchall()
    assert json.loads(value) == {"text": '{"number": 1}', "finish": "stop", "prompt_tokens": 10, "completion_tokens": 5}
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_files_that_are_no_cache_are_refused(tmp_path):
    (tmp_path / "text").write_text("hello " * 1000, encoding="utf-8")
    with pytest.raises(ChatError, match="cannot be used as a reply cache"):
        CachedChat(counting()[0], tmp_path / "text")
    connection = sqlite3.connect(tmp_path / "newer")
    connection.execute("PRAGMA user_version = 9")
    connection.commit()
    with pytest.raises(ChatError, match="version 9"):
        CachedChat(counting()[0], tmp_path / "newer")


def test_a_recording_replays_without_the_model_and_refuses_what_was_not_recorded(tmp_path):
    cache = CachedChat(counting()[0], tmp_path / "r.sqlite")
    fresh, scores = cache.complete(PROMPTS, Number), cache.option_logprobs(PROMPTS, ["A", "B"])
    assert cache.export(tmp_path / "recording.jsonl.gz") == 10
    replay = ReplayChat.load(tmp_path / "recording.jsonl.gz")
    assert replay.identity() == cache.identity()
    assert replay.complete(PROMPTS, Number) == fresh
    assert torch.equal(replay.option_logprobs(PROMPTS, ["A", "B"]), scores)
    with pytest.raises(ChatError, match="no reply was recorded for prompt 'sum/2'"):
        replay.complete([Messages(PROMPTS[0].turns, "sum/2")], Number)


def test_a_file_that_is_no_recording_is_refused(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n', encoding="utf-8")
    with pytest.raises(ChatError, match="not a recording"):
        ReplayChat.load(tmp_path / "x.jsonl")
    with pytest.raises(ChatError, match="no such file"):
        ReplayChat.load(tmp_path / "y.jsonl")
