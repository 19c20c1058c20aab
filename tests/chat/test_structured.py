"""Replies -> values: what is accepted, what is repaired, what fails, and that a failure never turns into a value."""

from __future__ import annotations

from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from arbgraph.chat import Messages, Reply
from arbgraph.chat.structured import parse
from arbgraph.schema import Failed
from tests.chat.support import ScriptedChat


class Verdict(BaseModel):
    model_config = ConfigDict(extra="forbid")
    winner: Literal["A", "B", "unknown"]
    confidence: float = Field(ge=0, le=1)


ASK = Messages.of("Who wins?", prompt="arbitration/1")
GOOD = '{"winner": "A", "confidence": 0.75}'


def complete(*replies, prompts=(ASK,), max_tokens=50):
    """The completion of one prompt whose tries get these replies in turn."""
    left = list(replies)
    chat = ScriptedChat(lambda request: left.pop(0))
    return chat.complete(list(prompts), Verdict, max_tokens), chat


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"Here is my verdict:\n{GOOD}\nHope this helps.",
        f"{GOOD} {GOOD}",
        '{"confidence": 0.75, "winner": "A"}',
    ],
)
def test_one_object_is_accepted_with_prose_around_it(text):
    value = parse(text, Verdict)
    assert (value.winner, value.confidence) == ("A", 0.75)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("I think A.", "no JSON object"),
        ("", "no JSON object"),
        ('{"winner": "A", "conf', "broken"),
        (GOOD + '{"winner": "B", "confidence": 0.75}', "2 different JSON objects"),
        ('{"winner": "A", "winner": "B", "confidence": 1.0}', "occurs twice"),
        ('{"winner": "A", "confidence": NaN}', "NaN is not a JSON number"),
        ('{"winner": "A", "confidence": Infinity}', "Infinity is not a JSON number"),
        ('{"winner": "A", "confidence": 1.5}', "less than or equal to 1"),
        ('{"winner": "A", "confidence": "0.75"}', "valid number"),
        ('{"winner": "a", "confidence": 0.75}', "Input should be"),
        ('{"winner": "A"}', "Field required"),
        ('{"winner": "A", "confidence": 0.75, "note": "x"}', "Extra inputs"),
        ('[{"winner": "A"}]', "Field required"),
        ('{"a":' * 100_000, "nested too deeply"),
    ],
)
def test_anything_else_is_refused(text, reason):
    with pytest.raises(ValueError, match=reason):
        parse(text, Verdict)


def test_a_broken_reply_is_repaired_once_and_the_fault_is_named():
    (done,), chat = complete('{"winner": "A"', GOOD)
    assert done.value == Verdict(winner="A", confidence=0.75)
    assert done.failure is None
    assert (done.attempts, done.prompt_tokens, done.completion_tokens) == (2, 20, 10)
    repair = chat.asked[1].messages
    assert [turn.role for turn in repair.turns] == ["user", "assistant", "user"]
    assert repair.turns[1].content == '{"winner": "A"'
    assert "broken" in repair.turns[2].content
    assert repair.prompt == "arbitration/1+repair/1"
    assert chat.counts["repaired"] == 1
    assert chat.counts["failed"] == 0


def test_two_broken_replies_fail_with_reason_stage_and_raw_text():
    (done,), chat = complete("A wins", "A wins, really")
    assert done.value is None
    assert done.failure == Failed(stage="arbitration", reason="malformed: the reply holds no JSON object", raw="A wins, really")
    assert chat.counts["failed"] == chat.counts["failed_malformed"] == 1
    assert len(chat.asked) == 2


def test_a_wrong_key_fails_as_invalid():
    (done,), chat = complete('{"victor": "A", "confidence": 1.0}', '{"victor": "A", "confidence": 1.0}')
    assert done.failure.reason.startswith("invalid: winner: Field required")
    assert chat.counts["failed_invalid"] == 1


def test_truncation_is_named_and_retried_with_twice_the_limit():
    (done,), chat = complete(Reply('{"winner": "A", ', "length", 10, 50), GOOD)
    assert done.value is not None
    assert [request.max_tokens for request in chat.asked] == [50, 100]
    assert chat.asked[1].messages == ASK
    assert chat.counts["retried_longer"] == 1
    (done,), chat = complete(Reply('{"winner": "A", ', "length", 10, 50), Reply('{"winner": "A", "c', "length", 10, 100))
    assert done.failure.reason == "truncated: the reply was cut at its limit of tokens (100 written)"
    assert chat.counts["failed_truncated"] == 1


def test_a_whole_object_before_the_cut_is_used():
    (done,), _ = complete(Reply(GOOD + " And let me add that", "length", 10, 50))
    assert done.value.winner == "A"
    assert done.attempts == 1


def test_free_text_that_was_cut_is_a_failure_not_an_answer():
    chat = ScriptedChat(lambda request: Reply("The answer is that", "length", 10, request.max_tokens))
    (done,) = chat.complete([ASK], max_tokens=7)
    assert done.failure.reason.startswith("truncated")
    assert [request.max_tokens for request in chat.asked] == [7, 14]


def test_refusals_and_backend_failures_get_no_second_try():
    (done,), chat = complete(Reply("I cannot do that", "refusal"))
    assert done.failure.reason.startswith("refusal")
    assert len(chat.asked) == 1
    (done,), chat = complete(Failed(stage="x", reason="HTTP 500", raw="body"))
    assert done.failure == Failed(stage="arbitration", reason="backend: HTTP 500", raw="body")
    assert done.finish is None
    assert len(chat.asked) == 1


def test_a_second_try_that_the_backend_refuses_leaves_the_first_problem():
    cut = Reply('{"winner"', "length", 10, 50)
    (done,), chat = complete(cut, Failed(stage="x", reason="exceeds the context"))
    assert done.failure.reason.startswith("truncated: the reply was cut")
    assert done.failure.reason.endswith("a second try failed: exceeds the context")
    assert (done.failure.raw, done.finish) == ('{"winner"', "length")
    assert chat.counts["failed_truncated"] == 1
    assert chat.counts["failed_backend"] == 0


def test_an_empty_reply_is_repaired_without_an_empty_turn():
    (done,), chat = complete("  ", GOOD)
    assert done.value is not None
    assert [turn.role for turn in chat.asked[1].messages.turns] == ["user"]


def test_failures_stay_with_their_prompt_and_equal_prompts_are_asked_once():
    prompts = [Messages.of(text) for text in ("good", "bad", "good", "worse")]
    chat = ScriptedChat(lambda request: GOOD if request.messages.turns[0].content == "good" else "no")
    done = chat.complete(prompts, Verdict)
    assert [completion.failure is None for completion in done] == [True, False, True, False]
    assert sum(request.messages.turns[0].content == "good" for request in chat.asked) == 1
    assert chat.counts["failed"] == 2


def test_no_prompts_and_no_room():
    chat = ScriptedChat(lambda request: GOOD)
    assert chat.complete([], Verdict) == []
    with pytest.raises(ValueError, match="max_tokens is 0"):
        chat.complete([ASK], Verdict, max_tokens=0)


def test_a_backend_that_loses_a_request_is_found_out():
    class Lossy(ScriptedChat):
        def generate(self, requests):
            yield from list(super().generate(requests))[:-1]

    with pytest.raises(RuntimeError, match="left 1 of 2 requests"):
        Lossy(lambda request: GOOD).complete([ASK, Messages.of("other")], Verdict)


def test_a_raw_reply_that_no_file_could_hold_is_made_storable():
    (done,), _ = complete("broken \ud800", "still \ud800")
    assert done.failure.model_dump_json()
