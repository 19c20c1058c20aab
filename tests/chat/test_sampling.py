"""Draws: one conversation, several replies, each with a seed of its own."""

from __future__ import annotations

import pytest

from arbgraph.chat import Message, Messages, Sampling
from arbgraph.chat.base import request_key
from arbgraph.chat.openai_chat import OpenAIChat
from arbgraph.chat.prompts import repair
from arbgraph.chat.transformers_chat import TransformersChat

ASK = Messages.of("Name a river.", "Be brief.")


def test_draws_are_numbered_and_keep_the_conversation():
    draws = ASK.drawn(0.4, 3, first=2)
    assert [(draw.turns, draw.sampling) for draw in draws] == [(ASK.turns, Sampling(0.4, number)) for number in (2, 3, 4)]
    assert draws[0].followed_by(Message("user", "again"), prompt="x/1").sampling == Sampling(0.4, 2)
    assert repair(draws[0], "", "empty").sampling == repair(draws[0], "no", "bad").sampling == Sampling(0.4, 2)
    with pytest.raises(ValueError, match="above 0"):
        ASK.drawn(0.0, 1)


def test_every_draw_has_a_cache_key_of_its_own():
    keys = [request_key({}, messages) for messages in (ASK, *ASK.drawn(0.4, 2), *ASK.drawn(0.5, 1))]
    assert len(set(keys)) == 4


def test_a_greedy_model_draws_where_it_is_asked_to(tiny_folder):
    chat = TransformersChat(str(tiny_folder), device="cpu")

    def texts(*messages: Messages) -> list[str]:
        return [completion.text for completion in chat.complete(list(messages), max_tokens=8)]

    draws = ASK.drawn(1.5, 4)
    together = texts(ASK, *draws)
    assert len(set(together[1:])) == 4
    assert together[0] == texts(ASK)[0]
    assert together[1:] == [texts(draw)[0] for draw in draws]
    other = TransformersChat(str(tiny_folder), device="cpu", seed=1)
    assert other.parameters != chat.parameters
    assert [completion.text for completion in other.complete(draws, max_tokens=8)] != together[1:]


def test_a_server_gets_the_temperature_and_a_seed_for_each_draw():
    pytest.importorskip("openai")
    chat = OpenAIChat("m", base_url="http://localhost:1/v1", api_key="k", seed=7)
    assert [(body["temperature"], body["seed"]) for body in (chat._body(m, 5) for m in [ASK, *ASK.drawn(0.4, 2)])] == [
        (0.0, 7),
        (0.4, 7),
        (0.4, 8),
    ]
