"""Chain-of-Verification: draft, plan, checks that do not see the draft, comparison, rewrite."""

from __future__ import annotations

from arbgraph.systems.chain_of_verification import ChainOfVerification
from tests.systems.recorded import RecordedChat, answered, failed, query

ASKED = query("Who built it?", "Weber built it in 1931.", "Lang built it.")
PLAN = ["1. When did Weber build it?\n2. Is Lang a builder?\n3. Who is Weber?\n4. One too many?"]


def conversation(**changes):
    replies = {
        "standard": ["Answer: Weber; Lang"],
        "verification-plan": PLAN,
        "verification-check": ["He built it in 1931.", "He was a painter.", "CUT:An engineer who", "CUT:An engineer who lived"],
        "verification-compare": ["consistent", "It is inconsistent with that.", "Perhaps."],
        "verification-rewrite": ["Lang was a painter.\nAnswer: Weber"],
    }
    return RecordedChat({**replies, **changes})


def test_the_whole_conversation():
    chat = conversation()
    answer = answered(ChainOfVerification(chat), ASKED)
    assert chat.finished()
    assert answer.short_answers == ("Weber",)
    assert answer.usage["calls"] == 1 + 1 + 4 + 3 + 1
    assert {key: answer.usage[key] for key in ("checks", "replies_cut", "replies_unreadable")} == {
        "checks": 3,
        "replies_cut": 1,
        "replies_unreadable": 1,
    }
    assert answer.trace["checks"] == [
        {"question": "When did Weber build it?", "verdict": "consistent", "finding": "He built it in 1931."},
        {"question": "Is Lang a builder?", "verdict": "inconsistent", "finding": "He was a painter."},
        {"question": "Who is Weber?", "finding": "An engineer who lived"},
    ]
    checks = chat.prompts("verification-check")
    assert all("Weber; Lang" not in prompt and "<draft" not in prompt for prompt in checks), "a check has seen the draft"
    assert "Weber built it in 1931." in checks[0]
    [rewrite] = chat.prompts("verification-rewrite")
    assert rewrite.count('verdict="consistent"') == rewrite.count('verdict="inconsistent"') == 1
    assert "Perhaps" not in rewrite


def test_checks_may_go_without_documents():
    chat = conversation()
    answered(ChainOfVerification(chat, documents=False), ASKED)
    assert all("<document" not in prompt for prompt in chat.prompts("verification-check"))


def test_a_check_that_fails_is_left_out_and_counted():
    chat = conversation(
        **{
            "verification-plan": ["1. When?\n2. Where?"],
            "verification-check": ["", "In Basel.", ""],
            "verification-compare": ["consistent"],
        }
    )
    answer = answered(ChainOfVerification(chat), ASKED)
    assert answer.usage["replies_failed"] == 1
    assert [check["question"] for check in answer.trace["checks"]] == ["Where?"]


def test_a_plan_without_questions_and_a_rewrite_without_an_answer_fail():
    lost = failed(ChainOfVerification(conversation(**{"verification-plan": ["I would check it well."]})), ASKED)
    assert (lost.stage, lost.raw) == ("verification-plan", "I would check it well.")
    assert "Answer:" in failed(ChainOfVerification(conversation(**{"verification-rewrite": ["All is well.\nIt holds."]})), ASKED).reason
