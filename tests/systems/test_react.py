"""ReAct: searches, look-ups and the end of the loop."""

from __future__ import annotations

from arbgraph.retrieval import DocumentIndex
from arbgraph.schema import Document
from arbgraph.systems.react import ReAct
from tests.systems.recorded import RecordedChat, answered, failed, query

ASKED = query(
    "When was the builder of the bridge born?",
    "The old bridge was built by Weber. The bridge is long.",
    "Weber was born in 1902. He died in 1970. Weber liked tea.",
)


def test_a_search_two_look_ups_and_an_answer():
    chat = RecordedChat(
        {
            "react": [
                "Thought: Who built it?\nAction: Search[bridge]\nObservation: It was built by Lang.\nAction: Finish[1800]",
                "Thought: Weber did.\nAction: Search[born Weber]",
                "Action: Lookup[Weber]",
                "Thought: Next.\nAction: Lookup[weber]",
                "Action: Lookup[Weber]",
                "Action: Lookup[Weber]",
                "Thought: I know it.\nAction: Finish[1902; 1903]",
            ]
        }
    )
    answer = answered(ReAct(chat), ASKED)
    assert chat.finished()
    assert answer.short_answers == ("1902", "1903")
    assert answer.trace["steps"][:2] == [
        {"thought": "Who built it?", "action": "Search[bridge]", "found": ["d1"]},
        {"thought": "Weber did.", "action": "Search[born Weber]", "found": ["d2", "d1"]},
    ]
    assert {key: answer.usage[key] for key in ("calls", "searches", "searches_empty", "lookups", "unfinished")} == {
        "calls": 7,
        "searches": 2,
        "searches_empty": 0,
        "lookups": 4,
        "unfinished": 0,
    }
    prompts = chat.prompts("react")
    assert "Lang" not in prompts[1], "what the model made up after its action was taken for an observation"
    assert "Write step 1 of at most 7" in prompts[0]
    assert "The old bridge" not in prompts[0]
    assert 'result="1 of 3">\nWeber was born in 1902.\n' in prompts[3]
    assert 'result="2 of 3">\nWeber liked tea.\n' in prompts[4]
    assert 'result="3 of 3">\nThe old bridge was built by Weber.\n' in prompts[5]
    assert "No more sentences." in prompts[6]


def test_a_new_search_begins_look_ups_anew_and_what_is_not_there_is_said():
    chat = RecordedChat(
        {
            "react": [
                "Action: Lookup[tea]",
                "Action: Search[zebra]",
                "Action: Search[Weber]",
                "Action: Lookup[tea]",
                "Action: Search[Weber]",
                "Action: Lookup[tea]",
                "Answer: unknown",
            ]
        }
    )
    answer = answered(ReAct(chat), ASKED)
    prompts = chat.prompts("react")
    assert "No sentence holds this word." in prompts[1]
    assert "No document holds these words." in prompts[2]
    assert prompts[6].count('result="1 of 1">\nWeber liked tea.') == 2
    assert answer.usage["searches_empty"] == 1
    assert (answer.short_answers, answer.abstained, answer.usage["unfinished"]) == ((), True, 0)


def test_without_finish_there_is_no_answer():
    answer = answered(ReAct(RecordedChat({"react": ["Action: Search[Weber]", "Thought: Weber.\nAction: Search[tea]"]}), steps=2), ASKED)
    assert (answer.short_answers, answer.abstained, answer.usage["unfinished"]) == ((), True, 1)


def test_a_reply_without_an_action_is_a_failure_and_a_cut_one_may_hold_one():
    lost = failed(ReAct(RecordedChat({"react": ["Action: Search[Weber]", "Weber was born in 1902."]})), ASKED)
    assert (lost.stage, lost.raw, lost.usage["calls"]) == ("react", "Weber was born in 1902.", 2)
    cut = ["CUT:Thought: Hm.\nAction: Finish[1902]\nObs", "CUT:Thought: Hm.\nAction: Finish[1902]\nObservation: and on"]
    answer = answered(ReAct(RecordedChat({"react": cut})), ASKED)
    assert (answer.short_answers, answer.usage["replies_cut"]) == (("1902",), 1)


def test_a_collection_takes_the_place_of_the_documents():
    index = DocumentIndex([Document(id="x", text="Zebras are born in spring.")])
    chat = RecordedChat({"react": ["Action: Search[born]", "Action: Finish[spring]"]})
    system = ReAct(chat, index=index)
    assert answered(system, ASKED).trace["steps"][0]["found"] == ["x"]
    assert system.describe()["index"] == index.digest


def test_the_oldest_observations_make_room_for_the_newest():
    chat = RecordedChat({"react": ["Action: Search[tea]", "Action: Search[bridge]", "Action: Search[tea]", "Action: Finish[x]"]})
    answer = answered(ReAct(chat, document_tokens=20), ASKED)
    # Both documents have 11 words.
    prompts = chat.prompts("react")
    assert [("He died" in prompt, "is long" in prompt) for prompt in prompts] == [
        (False, False),
        (True, False),
        (False, True),
        (True, False),
    ]
    assert "Search[tea]" in prompts[2]
    assert answer.usage["observations_left_out"] == 1 + 2


def test_a_long_observation_is_cut_and_counted():
    chat = RecordedChat({"react": ["Action: Search[Weber]", "Action: Finish[x]"]})
    answer = answered(ReAct(chat, observation_tokens=10), ASKED)
    assert answer.usage["documents_cut"] == 2
