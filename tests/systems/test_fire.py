"""FIRE: a verdict or a search in each call, repeated searches, forced verdicts; after the answer, with repair, and while writing."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from arbgraph.systems.fire import Fire
from tests.systems.recorded import RecordedChat, answered, failed, query

ASKED = query("Who built the bridge?", "Weber built the bridge in 1931.", "Lang painted the bridge.", "Tea comes from China.")


class WordEncoder:
    """Unit vectors of the words of a text: texts with the same words have cosine 1, without a common word 0."""

    words = ("weber", "built", "lang", "painted", "tea", "china", "bridge", "zebra")

    def encode(self, texts: Sequence[str]) -> torch.Tensor:
        rows = [[float(word in text.casefold()) for word in self.words] for text in texts]
        return torch.nn.functional.normalize(torch.tensor(rows) + 1e-9, dim=-1)


def fire(chat: RecordedChat, **options) -> Fire:
    return Fire(chat, encoder=WordEncoder(), **options)


def test_posthoc_drops_what_is_false():
    chat = RecordedChat(
        {
            "standard": ["Answer: Weber; Lang"],
            # Both claims are checked side by side.
            "fire-decide": ["Search: Weber built", "Verdict: false", "Verdict: True, it says so"],
        }
    )
    answer = answered(fire(chat), ASKED)
    assert chat.finished()
    assert (answer.text, answer.short_answers) == ("Weber", ("Weber",))
    assert answer.usage["calls"] == 4
    assert {key: answer.usage[key] for key in ("claims_false", "claims_unchecked", "searches", "forced")} == {
        "claims_false": 1,
        "claims_unchecked": 0,
        "searches": 1,
        "forced": 0,
    }
    assert answer.trace["claims"] == [
        {"answer": "Weber", "verdict": True, "searches": ["Weber built"]},
        {"answer": "Lang", "verdict": False, "searches": []},
    ]
    assert [citation.document_ids for citation in answer.citations] == [("d1",)]
    first, second, third = chat.prompts("fire-decide")
    assert "\nWeber\n" in first
    assert "\nLang\n" in second
    assert "<evidence" not in first
    assert "Weber built the bridge in 1931." in third


def test_a_verdict_is_forced_after_two_idle_searches():
    chat = RecordedChat(
        {
            "standard": ["Answer: Weber"],
            # The second repeats the query, the third finds nothing.
            "fire-decide": ["Search: tea", "Search: tea China", "Search: zebra"],
            "fire-force": ["It is true."],
        }
    )
    # cosine(tea, tea China) = 0.71, and both find the same passage: idle.
    answer = answered(fire(chat), ASKED)
    assert chat.finished()
    assert (answer.short_answers, answer.usage["forced"], answer.usage["searches"]) == (("Weber",), 1, 3)
    assert [citation.document_ids for citation in answer.citations] == [("d3",)]


def test_a_verdict_is_forced_after_the_last_step():
    chat = RecordedChat(
        {
            "standard": ["Answer: Weber"],
            "fire-decide": ["Search: tea", "Search: Lang"],
            "fire-force": ["Verdict: false"],
        }
    )
    answer = answered(fire(chat, steps=2), ASKED)
    assert chat.finished()
    assert (answer.short_answers, answer.abstained, answer.text) == ((), True, "unknown")


def test_fresh_searches_are_not_idle():
    chat = RecordedChat(
        {"standard": ["Answer: Weber"], "fire-decide": ["Search: tea", "Search: Lang painted", "Search: Weber built", "Verdict: true"]}
    )
    assert answered(fire(chat), ASKED).usage["forced"] == 0


def test_repair_asks_once_for_a_better_answer():
    chat = RecordedChat(
        {
            "standard": ["Answer: Lang; Weber"],
            "fire-decide": ["Search: Lang painted", "Verdict: true", "Verdict: false"],
            "fire-repair": ["Answer: Weber"],
        }
    )
    answer = answered(fire(chat, mode="repair"), ASKED)
    assert chat.finished()
    assert answer.short_answers == ("Weber",)
    [prompt] = chat.prompts("fire-repair")
    assert 'verdict="false">\nLang\n' in prompt
    assert 'verdict="true">\nWeber\n' in prompt
    assert "Lang painted the bridge." in prompt
    nothing_false = RecordedChat({"standard": ["Answer: Weber"], "fire-decide": ["Verdict: true"]})
    assert answered(fire(nothing_false, mode="repair"), ASKED).usage["calls"] == 2


def test_inline_checks_every_answer_before_the_next():
    chat = RecordedChat(
        {
            "fire-next": ["Answer: Lang", "Answer: Weber; Lang", "Answer: weber."],
            "fire-decide": ["Verdict: false", "Search: Weber", "Verdict: true"],
        }
    )
    answer = answered(fire(chat, mode="inline"), ASKED)
    assert chat.finished()
    assert answer.short_answers == ("Weber",)
    assert [request.messages.stage for request in chat.asked] == [
        "fire-next",
        "fire-decide",
        "fire-next",
        "fire-decide",
        "fire-decide",
        "fire-next",
    ]
    first, second, third = chat.prompts("fire-next")
    assert "<answer" not in first
    assert 'verdict="false">\nLang\n' in second
    assert 'verdict="true">\nWeber\n' in third


def test_inline_ends_when_the_writer_knows_no_more_or_has_written_enough():
    chat = RecordedChat({"fire-next": ["Answer: unknown"]})
    assert answered(fire(chat, mode="inline"), ASKED).abstained
    chat = RecordedChat({"fire-next": ["Answer: Weber"], "fire-decide": ["Verdict: true"]})
    assert answered(fire(chat, mode="inline", claims=1), ASKED).short_answers == ("Weber",)


def test_more_claims_than_allowed_are_counted_and_not_returned():
    chat = RecordedChat({"standard": ["Answer: Weber; Lang; Tea"], "fire-decide": ["Verdict: true"]})
    answer = answered(fire(chat, claims=1), ASKED)
    assert (answer.short_answers, answer.usage["claims_unchecked"]) == (("Weber",), 2)


def test_what_is_neither_verdict_nor_search_fails():
    for replies, stage in (
        ({"standard": ["Answer: Weber"], "fire-decide": ["I am not sure."]}, "fire-decide"),
        ({"standard": ["Answer: Weber"], "fire-decide": ["It is not true."]}, "fire-decide"),
        ({"standard": ["Answer: Weber"], "fire-decide": ["Search: tea"], "fire-force": ["Search: tea"]}, "fire-force"),
        ({"standard": ["Weber.\nOr Lang."]}, "fire"),
    ):
        assert failed(fire(RecordedChat(replies), steps=1), ASKED).stage == stage
    assert failed(fire(RecordedChat({"fire-next": ["Weber.\nOr Lang."]}), mode="inline"), ASKED).stage == "fire-next"
