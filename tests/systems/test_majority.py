from __future__ import annotations

import pytest

from arbgraph.schema import Answer, Failed
from arbgraph.systems.majority import MajorityVote
from tests.systems.conversations import Conversation, blocks, query, refused

REPLIES = [
    "Answer: 1975",
    "The year is given.\nAnswer: 1980",
    "Answer: 1975.; 1990",
    "Answer: unknown",
    "Two lines\nwithout a mark.",
    refused(),
    "Answer: 1980; 1980",
]


def vote(replies, theta=None) -> Answer | Failed:
    return MajorityVote(Conversation({"majority-vote": list(replies)}), theta=theta).answer([query(*"abcdefghij"[: len(replies)])])[0]


@pytest.mark.parametrize(
    ("theta", "answers"),
    [(None, ("1975", "1980")), (1, ("1975", "1980", "1990")), (2, ("1975", "1980")), (3, ())],
)
def test_votes_are_counted_per_document(theta, answers):
    answer = vote(REPLIES, theta)
    assert isinstance(answer, Answer)
    assert answer.short_answers == answers
    assert answer.abstained is (answers == ())
    assert answer.trace["votes"] == {"1975": 2, "1980": 2, "1990": 1}
    assert answer.usage == {
        "calls": 7,
        "prompt_tokens": 70,
        "completion_tokens": 30,
        "documents_cut": 0,
        "documents_dropped": 0,
        "replies_unknown": 1,
        "replies_unreadable": 1,
        "replies_failed": 1,
    }


def test_the_plurality_wins_and_is_cited_under_its_usual_spelling():
    answer = vote(["Answer: the Beatles", "Answer: Beatles", "Answer: Beatles", "Answer: Kinks"])
    assert isinstance(answer, Answer)
    assert answer.short_answers == ("Beatles",)
    assert answer.citations[0].document_ids == ("d1", "d2", "d3")


def test_each_document_is_read_alone():
    chat = Conversation({"majority-vote": "Answer: 1"})
    MajorityVote(chat).answer([query("first text", "second text")])
    assert [blocks(messages, "document") for messages in chat.asked_of("majority-vote")] == [["first text"], ["second text"]]


def test_no_document_is_no_answer_and_no_readable_reply_is_a_failure():
    nothing = vote([])
    assert isinstance(nothing, Answer)
    assert nothing.abstained
    assert nothing.usage["calls"] == 0
    failed = vote(["one\ntwo", refused()])
    assert isinstance(failed, Failed)
    assert "none of the 2 documents" in failed.reason
    with pytest.raises(ValueError, match="theta is 0"):
        MajorityVote(Conversation({}), theta=0)
