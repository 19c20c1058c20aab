"""Solved examples have the form that is read, and stand before the question as earlier turns."""

from __future__ import annotations

import pytest

from arbgraph.chat.base import Message
from arbgraph.chat.quoting import Block
from arbgraph.systems import madam, majority, speculative
from arbgraph.systems.cram.system import RATED
from arbgraph.systems.examples import after_examples
from arbgraph.systems.reliable.evaluator import EXAMPLES as EVALUATED
from arbgraph.systems.reliable.evaluator import read_score
from arbgraph.systems.replies import read_answers
from tests.systems.conversations import blocks, query


@pytest.mark.parametrize("examples", [majority.EXAMPLES, madam.AGENT_EXAMPLES, madam.DEBATE_EXAMPLES, speculative.EXAMPLES])
def test_the_first_knows_nothing_and_the_second_answers(examples):
    assert [read_answers(reply) for _, reply in examples] == [(), ("Aske",)]


def test_ratings_are_numbers_that_can_be_read():
    assert [read_score(reply) for _, reply in EVALUATED] == [1.0, 0.0, 0.4]
    assert [read_score(reply) for _, reply in RATED] == [1.0, 0.0, 0.4]


def test_solved_conversations_come_first_and_the_question_last():
    asked = majority.VOTE.messages([Block("question", query("x").query), Block("document", "built in 1975")])
    shown = after_examples(asked, majority.EXAMPLES)
    assert [turn.role for turn in shown.turns] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert (shown.turns[0], shown.turns[-1]) == asked.turns
    assert shown.turns[1].content == majority.EXAMPLES[0][0].turns[-1].content
    assert shown.turns[2] == Message("assistant", majority.EXAMPLES[0][1])
    assert blocks(shown, "document") == ["built in 1975"]
    assert shown.prompt == asked.prompt
