"""ArgRAG: labels, graphs and strengths worked by hand."""

from __future__ import annotations

import pytest

from arbgraph.systems.argrag import ArgRag
from tests.systems.recorded import RecordedChat, answered, failed, query

ASKED = query("Who built it?", "Weber built it.", "Lang built it.", "Weber made it.")


def conversation(
    answers=("Answer: Weber", "Answer: Lang", "Answer: weber"), relations=("contradict", "support", "contradict")
) -> RecordedChat:
    return RecordedChat(
        {
            "argrag-answer": list(answers),
            "argrag-stance": [*["support", "contradict", "support"], *["contradict", "support", "irrelevant"]],
            "argrag-relation": list(relations),
        }
    )


def strengths(answer) -> dict[str, float]:
    return {one["answer"]: one["strength"] for one in answer.trace["candidates"]}


def test_without_relations_between_documents():
    answer = answered(ArgRag(conversation(relations=()), relations=False), ASKED)
    # Weber: E = 0.5 + 0.5 - 0.5, h = 0.25 / 1.25 = 0.2, s = 0.5 + 0.5 * 0.2. Lang: E = 0, so the base score, which is not above itself.
    assert strengths(answer) == pytest.approx({"Weber": 0.6, "Lang": 0.5})
    assert answer.short_answers == ("Weber",)
    assert [citation.document_ids for citation in answer.citations] == [("d1", "d3")]
    assert {key: answer.usage[key] for key in ("calls", "labels", "labels_unreadable", "unconverged")} == {
        "calls": 3 + 6,
        "labels": 6,
        "labels_unreadable": 0,
        "unconverged": 0,
    }


def test_documents_that_support_each_other_count_for_more():
    chat = conversation(relations=("irrelevant", "support", "irrelevant"))
    answer = answered(ArgRag(chat), ASKED)
    assert chat.finished()
    # s = 0.5 + 0.5 h(s) for both, so s^3 - s^2 + s = 0.5 and s = 0.6478; E = 2 * 0.6478 - 0.5 = 0.7956; h = 0.3876.
    assert strengths(answer)["Weber"] == pytest.approx(0.6938, abs=1e-4)
    assert answer.trace["relations"] == [["d1", "d3", "support"]]
    pairs = chat.prompts("argrag-relation")
    assert ["Weber built" in pair for pair in pairs] == [True, True, False]
    assert ["Lang built" in pair for pair in pairs] == [True, False, True]


def test_documents_that_contradict_each_other_weaken_each_other():
    answer = answered(ArgRag(conversation(relations=("contradict", "irrelevant", "irrelevant"))), ASKED)
    # s = 0.5 - 0.5 h(s) for d1 and d2: s^3 + s = 0.5 and s = 0.4239; Weber: E = 0.4239 - 0.4239 + 0.5.
    assert strengths(answer) == pytest.approx({"Weber": 0.6, "Lang": 0.5}, abs=1e-5)


def test_an_irrelevant_document_takes_no_part_in_a_graph():
    # For Lang, d3 is irrelevant: its quarrel with d2 must not weaken d2 there.
    answer = answered(ArgRag(conversation(relations=("irrelevant", "irrelevant", "contradict"))), ASKED)
    assert strengths(answer)["Lang"] == pytest.approx(0.5)
    # Weber: d3 at 0.4239, d2 too: E = 0.5 + 0.4239 - 0.4239.
    assert strengths(answer)["Weber"] == pytest.approx(0.6, abs=1e-5)


def test_a_claim_is_true_only_above_its_base_score():
    claim = query("Weber built the bridge.", "Yes, Weber.", "No, Lang.")
    for labels, verdict, source in (
        (["support", "irrelevant"], "true", "d1"),
        (["irrelevant", "contradict"], "false", "d2"),
        (["support", "contradict"], "false", "d2"),
    ):
        chat = RecordedChat({"argrag-stance": labels, "argrag-relation": ["irrelevant"]})
        answer = answered(ArgRag(chat, task="claim"), claim)
        assert answer.short_answers == (verdict,)
        assert [citation.document_ids for citation in answer.citations] == [(source,)]
    assert answered(ArgRag(RecordedChat({"argrag-stance": ["support"]}), task="claim", base=0.3), query("c", "d")).trace["candidates"][0][
        "strength"
    ] == pytest.approx(0.3 + 0.7 * 0.09 / 1.09)


def test_a_label_that_cannot_be_read_gives_no_edge():
    chat = RecordedChat({"argrag-stance": ["support", "It does not contradict it."], "argrag-relation": []})
    answer = answered(ArgRag(chat, task="claim"), query("c", "d", "e"))
    assert (answer.short_answers, answer.usage["labels_unreadable"]) == (("true",), 1)
    assert answer.trace["candidates"][0]["stances"] == {"d1": "support", "d2": None}
    lost = failed(ArgRag(RecordedChat({"argrag-stance": ["Well.", "Hm."]}), task="claim"), query("c", "d", "e"))
    assert lost.stage == "argrag-stance"


def test_labels_from_scores():
    chat = RecordedChat({}, {"argrag-stance": [[-2.0, -1.0, -3.0]]})
    assert answered(ArgRag(chat, task="claim", labels="scores"), query("c", "d")).short_answers == ("false",)


def test_candidates_may_be_unknown_but_not_unreadable():
    chat = RecordedChat({"argrag-answer": ["Answer: unknown"] * 2})
    assert answered(ArgRag(chat), query("q", "d", "e")).abstained
    lost = failed(ArgRag(RecordedChat({"argrag-answer": ["a\nb"] * 2})), query("q", "d", "e"))
    assert lost.stage == "argrag-answer"


def test_only_the_first_documents_are_read():
    chat = RecordedChat({"argrag-answer": ["Answer: x"], "argrag-stance": ["support"]})
    assert answered(ArgRag(chat, documents=1), ASKED).usage["documents_left_out"] == 2
