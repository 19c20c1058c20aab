from __future__ import annotations

import pytest

from arbgraph.schema import Answer, Failed
from arbgraph.systems.astute import AstuteRAG
from tests.systems.conversations import Conversation, blocks, query, refused


def astute(recall, consolidate=None, answer="Answer: 1975", **options) -> tuple[Answer | Failed, Conversation]:
    chat = Conversation({"astute-recall": recall, "astute-consolidate": consolidate or [], "astute-answer": answer})
    return AstuteRAG(chat, **options).answer([query("text one", "text two")])[0], chat


def test_with_one_round_grouping_and_answering_are_one_call():
    answer, chat = astute("It was built in 1975.")
    assert isinstance(answer, Answer)
    assert [request.messages.stage for request in chat.asked] == ["astute-recall", "astute-answer"]
    [asked] = chat.asked_of("astute-answer")
    assert blocks(asked, "external") == ["text one", "text two"]
    assert blocks(asked, "internal") == ["It was built in 1975."]
    assert 'number="3"' in asked.turns[-1].content
    assert answer.usage["internal_passages"] == 1


def test_the_model_decides_how_many_passages_it_writes():
    none, chat = astute("None.")
    assert isinstance(none, Answer)
    assert none.usage["internal_passages"] == 0
    assert blocks(chat.asked_of("astute-answer")[0], "internal") == []
    two, chat = astute("First\nstill first.\n\nSecond.\n \nThird.", passages=2)
    assert isinstance(two, Answer)
    assert blocks(chat.asked_of("astute-answer")[0], "internal") == ["First still first.", "Second."]
    never, chat = astute("unused", passages=0)
    assert isinstance(never, Answer)
    assert never.usage["calls"] == 1


def test_further_rounds_consolidate_what_the_round_before_gave():
    answer, chat = astute("none", ["Group A: 1975. Group B: 1980.", "Group A."], rounds=3)
    assert isinstance(answer, Answer)
    first, second = chat.asked_of("astute-consolidate")
    assert blocks(first, "external") == ["text one", "text two"]
    assert blocks(second, "groups") == ["Group A: 1975. Group B: 1980."]
    assert blocks(second, "external") == []
    assert blocks(chat.asked_of("astute-answer")[0], "groups") == ["Group A."]
    assert answer.trace["consolidations"] == ["Group A: 1975. Group B: 1980.", "Group A."]


def test_lost_replies_are_counted():
    answer, chat = astute(refused(), [refused()], rounds=3)
    assert isinstance(answer, Answer)
    # Neither the internal passage nor the consolidation came back: the documents themselves are answered from.
    assert blocks(chat.asked_of("astute-answer")[0], "external") == ["text one", "text two"]
    assert answer.usage["replies_failed"] == 2
    failed, _ = astute("none", answer="one line\nanother")
    assert isinstance(failed, Failed)
    with pytest.raises(ValueError, match="rounds"):
        AstuteRAG(Conversation({}), rounds=0)
