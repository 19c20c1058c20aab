"""CRITIC: searches, critique, improvement, and when it stops."""

from __future__ import annotations

from arbgraph.systems.critic import Critic
from tests.systems.recorded import RecordedChat, answered, failed, query

ASKED = query(
    "Who built the bridge?",
    "The bridge was built by Weber in the north. " + "It is long. " * 60,
    "Lang painted the bridge. Nothing more is known of the bridge and who built it.",
    "Tea comes from China.",
)


def test_two_rounds_without_change_end_it():
    chat = RecordedChat(
        {
            "cot": ["The first says so.\nAnswer: Lang"],
            "critic-criticise": ["Search: tea", "Critique: Lang was the painter.", "Critique: Fine.", "Critique: Fine."],
            "critic-improve": ["Answer: Weber", "Answer: weber.", "It stands.\nAnswer: the Weber"],
        }
    )
    answer = answered(Critic(chat), ASKED)
    assert chat.finished()
    assert answer.short_answers == ("the Weber",)
    assert answer.usage["rounds"] == 3
    assert answer.usage["calls"] == 1 + 4 + 3
    assert answer.trace["rounds"][1] == {
        "searches": ["Who built the bridge?", "Who built the bridge? Lang", "tea"],
        "critique": "Lang was the painter.",
        "text": "Answer: Weber",
        "answers": ("Weber",),
    }
    first, second, third, fourth = chat.prompts("critic-criticise")
    assert (first.count("<evidence"), second.count("<evidence")) == (2, 3)
    assert "Tea comes from China." in second
    assert "Tea comes" not in third
    assert "\nAnswer: Weber\n" in third
    assert "\nAnswer: weber.\n" in fourth
    # A piece of evidence has at most 400 characters.
    assert first.count("It is long.") < 35
    assert "Lang was the painter." in chat.prompts("critic-improve")[0]


def test_it_ends_after_the_second_unchanged_round():
    chat = RecordedChat(
        {
            "cot": ["Answer: Weber"],
            "critic-criticise": ["Critique: Fine."] * 2,
            "critic-improve": ["Answer: Weber"] * 2,
        }
    )
    assert answered(Critic(chat, rounds=5), ASKED).usage["rounds"] == 2
    assert chat.finished()


def test_unknown_leaves_the_last_answer_and_an_unreadable_improvement_is_no_agreement():
    chat = RecordedChat(
        {
            "cot": ["Answer: Weber"],
            "critic-criticise": ["Critique: Doubtful."] * 4,
            "critic-improve": ["Answer: unknown", "I cannot tell you.\nSorry.", "Answer: Weber", "Answer: Weber"],
        }
    )
    answer = answered(Critic(chat, rounds=9), ASKED)
    assert chat.finished()
    assert (answer.short_answers, answer.usage["rounds"], answer.usage["replies_unreadable"]) == (("Weber",), 4, 1)
    assert all("\nAnswer: Weber\n" in prompt for prompt in chat.prompts("critic-criticise"))


def test_an_unreadable_draft_may_be_mended_and_without_any_answer_the_query_fails():
    mended = {"cot": ["Hm.\nHm."], "critic-criticise": ["Critique: No answer."], "critic-improve": ["Answer: Weber"]}
    assert answered(Critic(RecordedChat(mended), rounds=1), ASKED).short_answers == ("Weber",)
    lost = failed(Critic(RecordedChat({**mended, "critic-improve": ["Hm.\nHm!"]}), rounds=1), ASKED)
    assert (lost.stage, lost.raw, lost.usage["calls"]) == ("critic", "Hm.\nHm.", 3)


def test_after_the_last_search_there_must_be_a_critique():
    chat = RecordedChat(
        {
            "cot": ["Answer: Weber"],
            "critic-criticise": ["Search: China"],
            "critic-last": ["Critique: Fine."],
            "critic-improve": ["Answer: Weber"],
        }
    )
    answered(Critic(chat, searches=3, rounds=1), ASKED)
    assert chat.finished()
    lost = failed(Critic(RecordedChat({"cot": ["Answer: Weber"], "critic-last": ["Search: China"]}), searches=2), ASKED)
    assert lost.stage == "critic-last"


def test_without_rounds_it_is_chain_of_thought_and_without_evidence_it_goes_on():
    assert answered(Critic(RecordedChat({"cot": ["Answer: Weber"]}), rounds=0), ASKED).usage["calls"] == 1
    chat = RecordedChat({"cot": ["Answer: x"], "critic-criticise": ["Critique: No evidence."], "critic-improve": ["Answer: unknown"]})
    answer = answered(Critic(chat, rounds=1), query("Who?"))
    assert (answer.short_answers, answer.usage["searches_empty"]) == (("x",), 2)
