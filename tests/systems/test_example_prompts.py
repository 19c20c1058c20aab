"""Prompts with solved examples."""

from __future__ import annotations

from arbgraph.chat.prompts import Prompt
from arbgraph.chat.quoting import Block
from arbgraph.systems.example_prompts import Example, ExamplePrompt


def test_examples_come_before_the_question_in_turns_of_their_own():
    examples = (
        Example((Block("question", "One?"),), "Answer: 1", {"step": 1}),
        Example((Block("question", "Two?"),), "Answer: 2", {"step": 2}),
    )
    prompt = ExamplePrompt("x", 1, "Rules.", "Do step {step}.", examples)
    plain = Prompt("x", 1, "Rules.", "Do step {step}.")
    blocks = [Block("question", "Three?")]
    asked = prompt.messages(blocks, step=3)
    assert [turn.role for turn in asked.turns] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert (asked.turns[0], asked.turns[-1]) == plain.messages(blocks, step=3).turns
    assert asked.turns[1] == plain.messages(examples[0].blocks, step=1).turns[-1]
    assert [turn.content for turn in asked.turns if turn.role == "assistant"] == ["Answer: 1", "Answer: 2"]
    assert asked.prompt == plain.messages(blocks, step=3).prompt
    assert ExamplePrompt("x", 1, "Rules.", "Do step {step}.").messages(blocks, step=3) == plain.messages(blocks, step=3)
