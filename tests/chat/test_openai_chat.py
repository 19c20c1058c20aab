"""OpenAIChat against a server that misbehaves: retries, limits, failures by name, and what never happens."""

from __future__ import annotations

import math
import threading

import pytest
from pydantic import BaseModel, ConfigDict

from arbgraph.chat import ChatError, Messages
from arbgraph.chat.openai_chat import OpenAIChat
from tests.chat.server import serving
from tests.chat.test_limits import Clock

openai = pytest.importorskip("openai")


class Number(BaseModel):
    model_config = ConfigDict(extra="forbid")
    number: int


ASK = Messages.of("How many?", "Count.", "sum/1")
GOOD = '{"number": 3}'


@pytest.fixture
def waits(monkeypatch):
    """What the client would sleep between two attempts; the tests do not wait."""
    slept: list[float] = []
    monkeypatch.setattr("openai._base_client.time.sleep", slept.append)
    return slept


@pytest.fixture(autouse=True)
def _no_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def client(server, **options):
    clock = options.pop("clock", Clock())
    return OpenAIChat("stub", base_url=server.url, clock=clock, sleep=clock.sleep, **options)


def many(count):
    return [Messages.of(f"question {n}") for n in range(count)]


def test_a_plain_request_and_its_usage(waits):
    with serving(lambda handler, body, number: handler.reply(GOOD)) as server:
        chat = client(server, extra={"top_k": 1})
        (done,) = chat.complete([ASK], Number, 20)
    assert done.value.number == 3
    assert (done.prompt_tokens, done.completion_tokens) == (7, 3)
    (body,) = server.requests
    assert body["messages"] == [{"role": "system", "content": "Count."}, {"role": "user", "content": "How many?"}]
    assert (body["model"], body["max_tokens"], body["temperature"], body["seed"], body["top_k"]) == ("stub", 20, 0.0, 0, 1)
    assert body["response_format"]["json_schema"]["schema"] == Number.model_json_schema()
    assert body["response_format"]["json_schema"]["strict"] is True
    assert chat.counts["prompt_tokens"] == 7
    assert chat.counts["http_requests"] == 1


def test_fields_that_a_hosted_model_refuses_can_be_left_out(waits):
    with serving(lambda handler, body, number: handler.reply("ok")) as server:
        client(server, temperature=None, seed=None, limit_field="max_completion_tokens").complete([ASK], max_tokens=9)
    assert set(server.requests[0]) == {"model", "messages", "max_completion_tokens"}
    assert server.requests[0]["max_completion_tokens"] == 9


def test_a_429_is_retried_after_the_time_the_server_names(waits):
    def behaviour(handler, body, number):
        handler.error(429, "slow down", retry_after="7") if number == 0 else handler.reply(GOOD)

    clock = Clock()
    with serving(behaviour) as server:
        chat = client(server, clock=clock)
        (done,) = chat.complete([ASK], Number)
    assert done.value.number == 3
    assert waits == [7.0]
    assert clock.slept == [7.0]  # the other threads are held back for as long
    assert chat.counts["http_requests"] == 2
    assert chat.counts["failed"] == 0


def test_a_500_once_costs_one_retry(waits):
    with serving(lambda handler, body, number: handler.error(500, "oops") if number == 0 else handler.reply(GOOD)) as server:
        (done,) = client(server).complete([ASK], Number)
    assert done.value.number == 3
    assert len(waits) == 1


def test_a_server_that_keeps_failing_gives_a_named_failure(waits):
    with serving(lambda handler, body, number: handler.error(503, "overloaded")) as server:
        chat = client(server, retries=2)
        (done,) = chat.complete([ASK], Number)
    assert done.value is None
    assert "the server failed, 3 attempts (HTTP 503" in done.failure.reason
    assert done.failure.stage == "sum"
    assert "overloaded" in done.failure.raw
    assert len(server.requests) == 3
    assert chat.counts["failed_backend"] == 1


def test_a_server_that_stalls_times_out(waits):
    release = threading.Event()
    with serving(lambda handler, body, number: release.wait(20)) as server:
        (done,) = client(server, timeout=0.2, retries=1).complete([ASK], Number)
        release.set()
    assert "no reply within 0.2 s, 2 attempts" in done.failure.reason
    assert len(server.requests) == 2


def test_a_closed_connection_is_retried_and_then_named(waits):
    with serving(lambda handler, body, number: handler.cut() if number == 0 else handler.reply(GOOD)) as server:
        assert client(server).complete([ASK], Number)[0].value.number == 3
    with serving(lambda handler, body, number: handler.cut()) as server:
        (done,) = client(server, retries=1).complete([ASK], Number)
    assert "cannot be reached or closed the connection" in done.failure.reason


def test_half_a_body_is_a_broken_connection(waits):
    def behaviour(handler, body, number):
        handler.send(200, b'{"choices": [{"mess', length="500")
        handler.cut()

    with serving(behaviour) as server:
        (done,) = client(server, retries=1).complete([ASK], Number)
    assert done.value is None
    assert done.failure.reason.startswith("backend: ")
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b'{"choices": [{"mess', "application/json"),
        (b"<html>Bad gateway</html>", "text/html"),
        (b'{"choices": []}', "application/json"),
        (b'{"error": "busy"}', "application/json"),
        (b"[]", "application/json"),
        (b"null", "application/json"),
        (b'{"choices": [{"message": null}]}', "application/json"),
    ],
)
def test_a_body_that_is_no_completion_is_a_failure(waits, body, content_type):
    with serving(lambda handler, request, number: handler.send(200, body, content_type=content_type)) as server:
        (done,) = client(server, retries=0).complete([ASK], Number)
    assert done.value is None
    assert "not a chat completion" in done.failure.reason


def test_malformed_json_is_repaired_once(waits):
    with serving(lambda handler, body, number: handler.reply('{"number": ' if number == 0 else GOOD)) as server:
        (done,) = client(server).complete([ASK], Number)
    assert done.value.number == 3
    assert [message["role"] for message in server.requests[1]["messages"]] == ["system", "user", "assistant", "user"]


def test_a_reply_cut_by_its_length_is_named(waits):
    with serving(lambda handler, body, number: handler.reply('{"number"', "length")) as server:
        (done,) = client(server).complete([ASK], Number, 16)
    assert done.failure.reason.startswith("truncated")
    assert [body["max_tokens"] for body in server.requests] == [16, 32]


@pytest.mark.parametrize("reply", [("no", "content_filter", {}), (None, "stop", {"refusal": "I will not"})])
def test_a_refusal_is_a_failure(waits, reply):
    text, finish, message = reply
    with serving(lambda handler, body, number: handler.reply(text, finish, **message)) as server:
        (done,) = client(server).complete([ASK], Number)
    assert done.failure.reason.startswith("refusal")
    assert len(server.requests) == 1


def test_missing_usage_is_counted(waits):
    with serving(lambda handler, body, number: handler.reply(GOOD, usage=False)) as server:
        chat = client(server)
        chat.complete([ASK], Number)
    assert chat.counts["replies_without_usage"] == 1
    assert chat.counts["completion_tokens"] == 0


def test_a_server_without_schemas_is_asked_again_without_and_from_then_on(waits):
    def behaviour(handler, body, number):
        handler.error(400, "unknown field response_format") if "response_format" in body else handler.reply(GOOD)

    with serving(behaviour) as server:
        chat = client(server, concurrency=1)
        done = chat.complete(many(3), Number)
    assert [completion.value.number for completion in done] == [3, 3, 3]
    assert ["response_format" in body for body in server.requests] == [True, False, False, False]
    assert chat.counts["schema_unsupported"] == 1


def test_another_refused_request_is_a_failure_of_that_request_alone(waits):
    def behaviour(handler, body, number):
        handler.error(400, "too long") if "question 1" in body["messages"][0]["content"] else handler.reply(GOOD)

    with serving(behaviour) as server:
        done = client(server).complete(many(3), Number)
    assert [completion.failure is None for completion in done] == [True, False, True]
    assert "refused the request (HTTP 400" in done[1].failure.reason


@pytest.mark.parametrize(("status", "words"), [(401, "refused the API key"), (403, "refused the API key"), (404, "has no model 'stub'")])
def test_what_can_never_succeed_stops_at_once(waits, status, words):
    with serving(lambda handler, body, number: handler.error(status, "no")) as server, pytest.raises(ChatError, match=words):
        client(server, concurrency=2).complete(many(50), Number)
    assert len(server.requests) <= 4


def test_concurrency_is_never_exceeded_not_even_by_two_calls_at_once(waits):
    gate = threading.Barrier(3, timeout=20)

    def behaviour(handler, body, number):
        gate.wait()  # opens only when three requests are under way together: the limit is reached
        handler.reply(GOOD)

    with serving(behaviour) as server:
        chat = client(server, concurrency=3)
        threads = [threading.Thread(target=chat.complete, args=(part, Number)) for part in (many(15)[:9], many(15)[9:])]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(server.requests) == 15
    assert server.most_open == 3


def test_the_rate_limit_covers_retries(waits):
    def behaviour(handler, body, number):
        handler.error(500, "oops") if number % 2 == 0 else handler.reply(GOOD)

    clock = Clock()
    sent: list[float] = []
    with serving(behaviour) as server:
        chat = client(server, clock=clock, concurrency=1, requests_per_minute=2)
        acquire = chat.limit.acquire
        chat.limit.acquire = lambda tokens: (acquire(tokens), sent.append(clock.now))[0]
        done = chat.complete(many(3), Number)
    assert all(completion.value for completion in done)
    assert sent == [0, 0, 60, 60, 120, 120]


def test_tokens_per_minute_count_prompt_and_reply(waits):
    clock = Clock()
    with serving(lambda handler, body, number: handler.reply("fine")) as server:
        # "question 0" has 10 bytes, estimated as 4 tokens; with 46 for the reply, two requests fill 100.
        client(server, clock=clock, concurrency=1, tokens_per_minute=100).complete(many(3), max_tokens=46)
    assert clock.now == 60


def test_results_keep_their_order_whatever_comes_back_first(waits):
    first = threading.Event()

    def behaviour(handler, body, number):
        question = body["messages"][0]["content"]
        if question == "question 0":
            first.wait(20)
        else:
            first.set()
        handler.reply(question)

    with serving(behaviour) as server:
        done = client(server, concurrency=2).complete(many(4))
    assert [completion.text for completion in done] == [f"question {n}" for n in range(4)]


def listed(*entries):
    content = [{"token": entries[0][0], "logprob": entries[0][1], "bytes": None, "top_logprobs": []}]
    content[0]["top_logprobs"] = [{"token": token, "logprob": logprob, "bytes": None} for token, logprob in entries]
    return content


def test_option_scores_come_from_the_first_token(waits):
    entries = listed(("A", math.log(0.5)), (" A", math.log(0.1)), ("un", math.log(0.2)), ("The", math.log(0.05)), ("", math.log(0.04)))

    def behaviour(handler, body, number):
        choice = {"index": 0, "finish_reason": "length", "message": {"role": "assistant", "content": "A"}, "logprobs": {"content": entries}}
        value = {"id": "x", "object": "chat.completion", "created": 0, "model": "stub", "choices": [choice]}
        handler.send(200, value)

    with serving(behaviour) as server:
        scores = client(server).option_logprobs([ASK], ["A", "B", "unknown"])
    assert scores.exp().tolist() == [pytest.approx([0.6, 0.04, 0.2])]
    assert (server.requests[0]["max_tokens"], server.requests[0]["logprobs"], server.requests[0]["top_logprobs"]) == (1, True, 20)


def test_a_token_that_begins_two_options_belongs_to_neither():
    from arbgraph.chat.openai_chat import _option_scores

    scores = _option_scores([("un", math.log(0.6)), ("B", math.log(0.3)), ("x", math.log(0.01))], ["unknown", "unclear", "B"])
    assert [math.exp(score) for score in scores] == pytest.approx([0.01, 0.01, 0.3])


def test_failed_scores_are_nan_and_counted_and_missing_ones_are_an_error(waits):
    with serving(lambda handler, body, number: handler.error(500, "oops")) as server:
        chat = client(server, retries=0)
        assert chat.option_logprobs([ASK], ["A", "B"]).isnan().all()
        assert chat.counts["failed_scores"] == 1
    with (
        serving(lambda handler, body, number: handler.reply("A")) as server,
        pytest.raises(ChatError, match="gives no log-probabilities"),
    ):
        client(server).option_logprobs([ASK], ["A", "B"])


def test_no_key_is_needed_to_build_only_to_ask():
    chat = OpenAIChat("some-model")
    with pytest.raises(ChatError, match="no API key"):
        chat.complete([ASK])


def test_nothing_is_sent_for_no_prompts():
    assert OpenAIChat("some-model").complete([]) == []
    assert OpenAIChat("some-model").option_logprobs([], ["A"]).shape == (0, 1)


@pytest.mark.parametrize("options", [{"concurrency": 0}, {"retries": -1}, {"timeout": 0}])
def test_limits_out_of_range_are_refused(options):
    with pytest.raises(ValueError, match="must be at least"):
        OpenAIChat("m", **options)
