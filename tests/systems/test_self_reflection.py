from __future__ import annotations

import pytest

from arbgraph.schema import Answer, Failed
from arbgraph.systems.self_reflection import SelfReflection
from tests.systems.conversations import Conversation, blocks, query, refused


def reflect(first, critiques, improved, **options) -> tuple[Answer | Failed, Conversation]:
    chat = Conversation({"reflection-answer": first, "reflection-critique": critiques, "reflection-improve": improved})
    return SelfReflection(chat, **options).answer([query("text one", "text two")])[0], chat


def test_it_stops_when_the_answers_stay_the_same():
    answer, chat = reflect("Answer: 1975", ["1980 is missing", "No faults."], ["Answer: 1980", "So it is.\nAnswer: the 1980."])
    assert isinstance(answer, Answer)
    assert answer.short_answers == ("the 1980",)
    assert answer.usage["rounds"] == 2
    assert answer.usage["calls"] == 5
    improving = chat.asked_of("reflection-improve")
    assert [blocks(messages, "answer") for messages in improving] == [["Answer: 1975"], ["Answer: 1980"]]
    assert [blocks(messages, "critique") for messages in improving] == [["1980 is missing"], ["No faults."]]
    assert blocks(improving[0], "document") == ["text one", "text two"]


def test_at_most_so_many_rounds():
    answer, _ = reflect("Answer: 1", "wrong", ["Answer: 2", "Answer: 3", "Answer: 4", "Answer: 5"])
    assert isinstance(answer, Answer)
    assert answer.short_answers == ("4",)
    first, chat = reflect("Answer: 1", "wrong", "Answer: 2", rounds=0)
    assert isinstance(first, Answer)
    assert first.short_answers == ("1",)
    assert len(chat.asked) == 1


def test_an_unreadable_improvement_keeps_the_answer_and_is_no_agreement():
    answer, chat = reflect("Answer: 1", "wrong", ["one line\nanother", refused(), "Answer: 2"])
    assert isinstance(answer, Answer)
    assert answer.short_answers == ("2",)
    assert answer.usage["rounds"] == 3
    assert answer.usage["replies_unreadable"] == 1
    assert answer.usage["replies_failed"] == 1
    assert [blocks(messages, "answer") for messages in chat.asked_of("reflection-improve")] == [["Answer: 1"]] * 3


def test_an_unreadable_first_answer_can_be_mended_or_fails():
    mended, _ = reflect("one line\nanother", "no form", ["Answer: 2", "Answer: 2"])
    assert isinstance(mended, Answer)
    assert mended.short_answers == ("2",)
    failed, _ = reflect("one line\nanother", "no form", "one line\nanother")
    assert isinstance(failed, Failed)
    assert "none of the 4 answers" in failed.reason
    refused_at_once, chat = reflect(refused(), "no form", "Answer: 2")
    assert isinstance(refused_at_once, Failed)
    assert len(chat.asked) == 1


def test_a_lost_critique_ends_the_reflection():
    answer, _ = reflect("Answer: 1", refused(), "Answer: 2")
    assert isinstance(answer, Answer)
    assert answer.short_answers == ("1",)
    assert answer.usage["replies_failed"] == 1
    with pytest.raises(ValueError, match="rounds"):
        SelfReflection(Conversation({}), rounds=-1)
