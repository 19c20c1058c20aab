"""Systems of one call: closed book, chain of thought, Chain-of-Note."""

from __future__ import annotations

from arbgraph.systems.chain_of_note import ChainOfNote
from arbgraph.systems.closed_book import ClosedBook
from arbgraph.systems.cot import ChainOfThought
from tests.systems.recorded import RecordedChat, answered, failed, query

ASKED = query("When was it built?", "The bridge was built in 1931.", "The bridge opened in 1950.")
COST = {"calls": 1, "prompt_tokens": 10, "completion_tokens": 5}


def test_closed_book_shows_no_document():
    chat = RecordedChat({"closed-book": ["Answer: 1931"]})
    answer = answered(ClosedBook(chat), ASKED)
    assert (answer.short_answers, answer.usage) == (("1931",), COST)
    assert "built in 1931" not in chat.prompts("closed-book")[0]


def test_only_what_follows_the_mark_of_a_chain_of_thought_is_the_answer():
    chat = RecordedChat({"cot": ["1. One document says 1950, the opening.\n2. The other says 1931.\nAnswer: 1931; 1932"]})
    answer = answered(ChainOfThought(chat), ASKED)
    assert answer.short_answers == ("1931", "1932")
    assert answer.usage == {**COST, "documents_cut": 0, "documents_dropped": 0}
    assert "built in 1931" in chat.prompts("cot")[0]
    assert failed(ChainOfThought(RecordedChat({"cot": ["First, 1931.\nThen, 1950."]})), ASKED).raw == "First, 1931.\nThen, 1950."


def test_a_reply_that_is_cut_before_its_answer_fails_after_a_second_try():
    lost = failed(ChainOfThought(RecordedChat({"cot": ["CUT:First,", "CUT:First, the"]})), ASKED)
    assert "truncated" in lost.reason
    assert lost.usage["calls"] == 2


def test_notes_are_kept_and_nothing_helpful_is_unknown():
    chat = RecordedChat({"chain-of-note": ["1. It gives 1931.\n2. It is about the opening.\nAnswer: 1931"]})
    answer = answered(ChainOfNote(chat), ASKED)
    assert answer.short_answers == ("1931",)
    assert answer.trace == {"notes": ["It gives 1931.", "It is about the opening."]}
    nothing = answered(ChainOfNote(RecordedChat({"chain-of-note": ["1. Irrelevant.\n2. Irrelevant.\nAnswer: unknown"]})), ASKED)
    assert (nothing.short_answers, nothing.abstained) == ((), True)


def test_a_chain_that_names_a_wrong_answer_after_the_mark_of_another_does_not_count():
    chat = RecordedChat({"chain-of-note": ["Answer: 1950\nNo, that is the opening.\nAnswer: 1931"]})
    assert answered(ChainOfNote(chat), ASKED).short_answers == ("1931",)
