from __future__ import annotations

import pytest

from arbgraph.schema import Answer, Failed
from arbgraph.systems.madam import MadamRAG
from tests.systems.conversations import Conversation, blocks, cut, query, refused

AGGREGATE = "Both are right.\nAnswer: 1975; 1980"


def ask(chat: Conversation, *texts: str, **options) -> Answer | Failed:
    return MadamRAG(chat, **options).answer([query(*texts)])[0]


def said(answer: Answer) -> list[list[list[str] | None]]:
    return [[None if one is None else one["answers"] for one in turn] for turn in answer.trace["rounds"]]


def test_one_document_and_one_round_is_one_agent_and_the_aggregator():
    chat = Conversation({"madam-agent": "Answer: 1975\nExplanation: it says so.", "madam-aggregate": "Answer: 1975"})
    answer = ask(chat, "built in 1975", rounds=1)
    assert isinstance(answer, Answer)
    assert [request.messages.stage for request in chat.asked] == ["madam-agent", "madam-aggregate"]
    assert answer.short_answers == ("1975",)
    # With more rounds allowed there is nobody to debate with.
    again = Conversation({"madam-agent": "Answer: 1975\nExplanation: it says so.", "madam-aggregate": "Answer: 1975"})
    assert ask(again, "built in 1975", rounds=3) == answer


def test_agents_see_only_their_document_in_round_1_and_then_the_messages_of_all_others():
    replies = {
        "madam-agent": ["Answer: 1975\nExplanation: first.", "Answer: 1980\nExplanation: second.", "Answer: unknown"],
        "madam-debate": ["Answer: 1975", "Answer: 1980", "Answer: unknown"],
        "madam-aggregate": AGGREGATE,
    }
    chat = Conversation(replies)
    ask(chat, "text one", "text two", "text three")
    first, again = chat.asked_of("madam-agent"), chat.asked_of("madam-debate")
    assert [blocks(messages, "document") for messages in first] == [["text one"], ["text two"], ["text three"]]
    assert [blocks(messages, "message") for messages in first] == [[], [], []]
    assert [blocks(messages, "document") for messages in again] == [["text one"], ["text two"], ["text three"]]
    one, two, three = "Answer: 1975\nExplanation: first.", "Answer: 1980\nExplanation: second.", "Answer: unknown"
    assert [blocks(messages, "message") for messages in again] == [[two, three], [one, three], [one, two]]


def test_on_convergence_the_aggregation_of_the_round_before_is_final():
    replies = {
        "madam-agent": ["Answer: 1975", "Answer: 1980"],
        "madam-debate": ["Answer: 1981", "Answer: 1980", "Answer: in 1981", "Answer: 1980"],
        "madam-aggregate": AGGREGATE,
    }
    chat = Conversation(replies)
    answer = ask(chat, "one", "two")
    assert isinstance(answer, Answer)
    # Round 2 changes an answer, round 3 keeps both ("in 1981" contains "1981"): the messages of round 2 are aggregated.
    assert said(answer) == [[["1975"], ["1980"]], [["1981"], ["1980"]], [["in 1981"], ["1980"]]]
    assert answer.trace["converged"] is True
    [aggregated] = chat.asked_of("madam-aggregate")
    assert blocks(aggregated, "message") == ["Answer: 1981", "Answer: 1980"]
    assert answer.short_answers == ("1975", "1980")
    assert answer.usage["rounds"] == 3
    assert answer.usage["calls"] == 7


def test_without_convergence_the_last_round_is_aggregated():
    replies = {"madam-agent": ["Answer: 1", "Answer: 2"], "madam-debate": ["Answer: 3", "Answer: 2"], "madam-aggregate": AGGREGATE}
    chat = Conversation(replies)
    answer = ask(chat, "one", "two", rounds=2)
    assert isinstance(answer, Answer)
    assert answer.trace["converged"] is False
    assert blocks(chat.asked_of("madam-aggregate")[0], "message") == ["Answer: 3", "Answer: 2"]


def test_an_unreadable_reply_is_a_failure_and_not_agreement():
    lost = "I cannot tell\nfrom this text."
    replies = {"madam-agent": [lost, "Answer: 2"], "madam-debate": [lost, "Answer: 2", lost, "Answer: 2"], "madam-aggregate": AGGREGATE}
    chat = Conversation(replies)
    answer = ask(chat, "one", "two")
    assert isinstance(answer, Answer)
    assert answer.trace["converged"] is False
    assert said(answer) == [[None, ["2"]]] * 3
    assert answer.usage["replies_unreadable"] == 3
    assert answer.usage["rounds"] == 3
    # It is shown to nobody.
    assert [blocks(messages, "message") for messages in chat.asked_of("madam-debate")[:2]] == [["Answer: 2"], []]
    assert blocks(chat.asked_of("madam-aggregate")[0], "message") == ["Answer: 2"]


def test_agents_that_keep_not_knowing_converge():
    replies = {"madam-agent": "Answer: unknown", "madam-debate": "Answer: unknown", "madam-aggregate": "Answer: unknown"}
    answer = ask(Conversation(replies), "one", "two")
    assert isinstance(answer, Answer)
    assert answer.abstained
    assert answer.usage["rounds"] == 2
    assert answer.usage["replies_unknown"] == 4


def test_a_message_that_was_cut_counts_by_its_first_line():
    explained = "Answer: 1975\nExplanation: others say 1980.\n- 1980 is wrong because"
    replies = {"madam-agent": [cut(explained), cut(explained)], "madam-aggregate": "Answer: 1975"}
    answer = ask(Conversation(replies), "one", rounds=1)
    assert isinstance(answer, Answer)
    assert said(answer) == [[["1975"]]]
    assert answer.usage["replies_cut"] == 1


def test_an_explanation_may_come_before_the_answer():
    replies = {"madam-agent": "It says so.\nExplanation: not 1980.\nAnswer: 1975", "madam-aggregate": "Answer: 1975"}
    answer = ask(Conversation(replies), "one", rounds=1)
    assert isinstance(answer, Answer)
    assert said(answer) == [[["1975"]]]


def test_summary_history_shows_the_aggregators_last_reply():
    replies = {
        "madam-agent": ["Answer: 1", "Answer: 2"],
        "madam-debate": ["Answer: 2", "Answer: 2", "Answer: 2", "Answer: 2"],
        "madam-aggregate": ["First.\nAnswer: 1; 2", "Second.\nAnswer: 2"],
    }
    chat = Conversation(replies)
    answer = ask(chat, "one", "two", history="summary")
    assert isinstance(answer, Answer)
    assert [blocks(messages, "summary") for messages in chat.asked_of("madam-debate")] == [
        ["First.\nAnswer: 1; 2"],
        ["First.\nAnswer: 1; 2"],
        ["Second.\nAnswer: 2"],
        ["Second.\nAnswer: 2"],
    ]
    assert all(blocks(messages, "message") == [] for messages in chat.asked_of("madam-debate"))
    assert answer.short_answers == ("2",)
    assert len(chat.asked_of("madam-aggregate")) == 2


def test_failures_and_bounds():
    nobody = ask(Conversation({"madam-agent": refused()}), "one", "two", rounds=1)
    assert isinstance(nobody, Failed)
    assert "none of the 2 agents" in nobody.reason
    nothing = ask(Conversation({}))
    assert isinstance(nothing, Answer)
    assert nothing.abstained
    bad = ask(Conversation({"madam-agent": "Answer: 1", "madam-aggregate": "one line\nanother line"}), "one")
    assert isinstance(bad, Failed)
    assert bad.usage["calls"] == 2
    with pytest.raises(ValueError, match="rounds is 0"):
        MadamRAG(Conversation({}), rounds=0)
    with pytest.raises(ValueError, match="history"):
        MadamRAG(Conversation({}), history="all")  # type: ignore[arg-type]


def test_messages_beyond_the_budget_are_cut_and_counted():
    replies = {"madam-agent": "Answer: 1\nExplanation: " + "word " * 30, "madam-aggregate": "Answer: 1"}
    answer = ask(Conversation(replies), "one", "two", rounds=1, message_tokens=20)
    assert isinstance(answer, Answer)
    assert answer.usage["messages_cut"] == 2
