"""Credibility in the prompt, and documents excluded by it."""

from __future__ import annotations

import pytest

from arbgraph.systems.closed_book import ClosedBook
from arbgraph.systems.exclusion import Exclusion, PromptBased, score
from arbgraph.systems.standard import StandardRAG
from tests.systems.recorded import RecordedChat, answered, failed, query

ASKED = query("Which river?", "It is the Rhone.", "It is the Seine.", "It is the Loire.", credibility=(0.9, 0.3, None))


def test_prompt_based_sorts_by_credibility_and_shows_it():
    chat = RecordedChat({"prompt-based": ["The second is doubtful.\nAnswer: Rhone"]})
    answer = answered(PromptBased(chat), ASKED)
    assert answer.short_answers == ("Rhone",)
    assert answer.usage["credibility_unknown"] == 1
    [prompt] = chat.prompts("prompt-based")
    places = [prompt.index(f'credibility="{shown}"') for shown in ("3 of 10", "unknown", "9 of 10")]
    assert places == sorted(places)
    assert places[0] < prompt.index("Seine") < places[1] < prompt.index("Loire") < places[2] < prompt.index("Rhone")


def test_a_threshold_of_0_is_the_concatenated_prompt_exactly():
    excluding, concatenating = RecordedChat({"standard": ["Answer: Rhone"]}), RecordedChat({"standard": ["Answer: Rhone"]})
    without = answered(Exclusion(excluding, threshold=0), ASKED)
    plain = answered(StandardRAG(concatenating), ASKED)
    assert excluding.asked == concatenating.asked
    assert without.model_copy(update={"usage": plain.usage}) == plain
    assert {**plain.usage, "documents_excluded": 0} == without.usage


@pytest.mark.parametrize(
    ("threshold", "left", "gone"), [(2.9, "Rhone Seine Loire", ""), (3.0, "Rhone Loire", "Seine"), (9, "Loire", "Rhone")]
)
def test_documents_at_or_below_the_threshold_are_left_out(threshold, left, gone):
    chat = RecordedChat({"prompt-based": ["Answer: Rhone"]})
    answer = answered(Exclusion(chat, threshold=threshold), ASKED)
    [prompt] = chat.prompts("prompt-based")
    assert all(name in prompt for name in left.split())
    assert not any(name in prompt for name in gone.split())
    assert answer.usage["documents_excluded"] == 3 - len(left.split())


def test_without_any_document_left_the_model_answers_alone():
    chat = RecordedChat({"closed-book": ["Answer: Rhone"]})
    nothing = query("Which river?", "It is the Seine.", credibility=(0.1,))
    answer = answered(Exclusion(chat), nothing)
    assert answer.usage["documents_excluded"] == 1
    alone = RecordedChat({"closed-book": ["Answer: Rhone"]})
    answered(ClosedBook(alone), nothing)
    assert chat.asked == alone.asked


def test_a_reply_without_an_answer_is_a_failure():
    assert "Answer:" in failed(Exclusion(RecordedChat({"prompt-based": ["Well.\nI do not see it."]})), ASKED).reason


def test_scores_and_options():
    assert [score(document) for document in ASKED.documents] == [9.0, 3.0, 5.0]
    assert score(query("q", "t", credibility=(0.7,)).documents[0]) == 7.0
    with pytest.raises(ValueError, match="threshold is 11"):
        Exclusion(RecordedChat({}), threshold=11)
