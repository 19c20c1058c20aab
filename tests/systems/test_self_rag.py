"""Self-RAG, prompted: label probabilities, the score worked by hand, best and pooled."""

from __future__ import annotations

import math

import pytest

from arbgraph.systems.self_rag import SelfRagPrompted
from tests.systems.recorded import RecordedChat, answered, failed, query

ASKED = query("Who built it?", "Weber built it.", "Lang built it.", "Weber made it.")


def logs(*shares: float) -> list[float]:
    return [math.log(share) if share else -math.inf for share in shares]


def conversation(replies=("Answer: Weber", "Answer: Lang", "Answer: weber"), need=(0.3, 0.1)) -> RecordedChat:
    """Documents 1 and 3 say Weber; document 2 says Lang and has the best score of all."""
    readable = [reply for reply in replies if "Answer:" in reply]
    return RecordedChat(
        {"self-rag-answer": list(replies), "closed-book": ["Answer: Paul"]},
        {
            "self-rag-need": [logs(*need)],
            "self-rag-relevance": [logs(0.4, 0.4), logs(0.3, 0.1), logs(0.2, 0.2)],
            # Two words each: the mean log-probability is half of it.
            "self-rag-answer": [[math.log(0.25)], [math.log(0.64)], [math.log(0.01)]][: len(readable)],
            "self-rag-support": [logs(0.2, 0.2, 0.4), logs(0.3, 0.1, 0.1), logs(0.1, 0.1, 0.2)][: len(readable)],
            "self-rag-utility": [logs(0, 0, 0.2, 0, 0.2), logs(0.1, 0.1, 0.1, 0.1, 0.1), logs(0.5, 0, 0, 0, 0)][: len(readable)],
        },
    )


def test_scores_by_hand():
    answer = answered(SelfRagPrompted(conversation()), ASKED)
    first, second, third = answer.trace["judged"]
    # likelihood sqrt(0.25); r = 0.5; g = 0.25 + 0.125; u = (0 + 1) / 2.
    assert [first[key] for key in ("likelihood", "relevance", "support", "utility")] == pytest.approx([0.5, 0.5, 0.375, 0.5])
    assert first["score"] == pytest.approx(0.5 + 0.5 + 0.375 + 0.25)
    assert second["score"] == pytest.approx(0.8 + 0.75 + 0.7 + 0.0)
    assert third["score"] == pytest.approx(0.1 + 0.5 + 0.375 - 0.5)
    assert answer.short_answers == ("Lang",)
    assert [citation.document_ids for citation in answer.citations] == [("d2",)]
    assert answer.trace["need"] == pytest.approx(0.75)
    assert {key: answer.usage[key] for key in ("read", "calls")} == {"read": 3, "calls": 1 + 3 + 3 + 9}


def test_closed_sets_add_up_the_scores_of_an_answer():
    # Weber: 1.625 + 0.475 = 2.1 against 2.25; without utility: 1.375 + 0.975 = 2.35 against 2.25.
    assert answered(SelfRagPrompted(conversation(), pool="sum"), ASKED).short_answers == ("Lang",)
    pooled = answered(SelfRagPrompted(conversation(), pool="sum", utility=0.0), ASKED)
    assert pooled.short_answers == ("Weber",)
    assert [citation.document_ids for citation in pooled.citations] == [("d1", "d3")]
    assert answered(SelfRagPrompted(conversation(), utility=0.0), ASKED).short_answers == ("Lang",)


def test_documents_are_read_only_where_they_are_needed():
    # P(yes) = 0.1 / 0.51 is not above 0.2.
    alone = answered(SelfRagPrompted(conversation(need=(0.1, 0.41))), ASKED)
    assert (alone.short_answers, alone.usage["read"], alone.usage["calls"]) == (("Paul",), 0, 2)
    assert answered(SelfRagPrompted(conversation(need=(0.1, 0.41)), threshold=0.19), ASKED).usage["read"] == 3
    chat = RecordedChat({"closed-book": ["Answer: Paul"]})
    assert answered(SelfRagPrompted(chat), query("Who?")).usage["calls"] == 1


def test_an_unreadable_answer_is_out_and_unknown_loses_to_any_answer():
    answer = answered(SelfRagPrompted(conversation(("Answer: Weber", "It was\nnot said.", "Answer: unknown"))), ASKED)
    assert (answer.short_answers, answer.usage["replies_unreadable"], answer.usage["replies_unknown"]) == (("Weber",), 1, 1)
    unknown = answered(SelfRagPrompted(conversation(("Answer: unknown",) * 3)), ASKED)
    assert (unknown.short_answers, unknown.abstained) == ((), True)
    assert "3 documents" in failed(SelfRagPrompted(conversation(("a\nb",) * 3)), ASKED).reason


def test_without_scores_the_query_fails():
    chat = RecordedChat({}, {"self-rag-need": [[math.nan, math.nan]]})
    assert failed(SelfRagPrompted(chat), ASKED).stage == "scores"
