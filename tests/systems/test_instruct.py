from __future__ import annotations

import pytest

from arbgraph.schema import Answer, Document
from arbgraph.systems.instruct import DEMONSTRATIONS, Demonstration, InstructRAG, write_rationales
from tests.systems.conversations import Conversation, blocks, query, refused

OWN = Demonstration("Who?", (Document(text="best"), Document(text="second")), ("A", "B"), "Because.")


def test_demonstrations_are_earlier_turns_and_the_best_document_comes_last():
    chat = Conversation({"instruct": "Document 2 helps.\nAnswer: 1975"})
    [answer] = InstructRAG(chat, demonstrations=[OWN]).answer([query("best", "middle", "worst")])
    assert isinstance(answer, Answer)
    assert answer.short_answers == ("1975",)
    [messages] = chat.asked_of("instruct")
    assert [turn.role for turn in messages.turns] == ["system", "user", "assistant", "user"]
    assert messages.turns[2].content == "Because.\nAnswer: A; B"
    assert messages.turns[1].content.index("second") < messages.turns[1].content.index("best")
    assert blocks(messages, "document") == ["worst", "middle", "best"]


def test_the_default_demonstrations_name_documents_by_the_numbers_shown():
    chat = Conversation({"instruct": "Answer: 1"})
    InstructRAG(chat).answer([query("x")])
    users = [turn.content for turn in chat.asked_of("instruct")[0].turns if turn.role == "user"]
    assert len(users) == 1 + len(DEMONSTRATIONS)
    # "Document 3 follows the river", "document 1 reports hearsay"; "document 1 gives 1987".
    assert users[0].index('number="1"') < users[0].index("Visitors say") < users[0].index('number="3"') < users[0].index("rises in")
    assert users[1].index('number="1"') < users[1].index("1987") < users[1].index('number="2"') < users[1].index("1931")


def test_rationales_are_written_by_the_model_and_lost_ones_left_out():
    bare = [Demonstration("Who?", (Document(text="t"),), ("A",)), Demonstration("When?", (Document(text="u"),), ("B",))]
    chat = Conversation({"instruct-rationale": [" Because of t. ", refused()]})
    written = write_rationales(chat, bare)
    assert [(one.question, one.rationale) for one in written] == [("Who?", "Because of t.")]
    assert blocks(chat.asked_of("instruct-rationale")[0], "answer") == ["A"]
    with pytest.raises(ValueError, match="lacks a rationale"):
        InstructRAG(Conversation({}), demonstrations=bare)
