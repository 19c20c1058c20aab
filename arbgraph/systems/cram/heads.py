"""Which heads carry a false document's influence: the indirect effect of scaling one head alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from arbgraph.chat.base import Messages
from arbgraph.chat.transformers_chat import TransformersChat
from arbgraph.systems.cram.attention import Head, ReweightedChat, all_heads


@dataclass(frozen=True)
class HeadExample:
    """A conversation with a false document: which of its documents is false (from 0), and the wrong answer that it leads to."""

    messages: Messages
    false_document: int
    wrong_answer: str


def indirect_effects(chat: TransformersChat, examples: Sequence[HeadExample]) -> Tensor:
    """Mean effect of every head, `[layers, heads]` float64: how much less probable the wrong answer becomes, in nats, when that head
    alone does not see the false document.

    One forward pass per head and example. Raises ValueError without an example, or where one does not fit the model's context.
    """
    if not examples:
        raise ValueError("the effects of heads are measured on at least one example")
    heads = all_heads(chat.model)
    effects = torch.zeros(heads[-1][0] + 1, heads[-1][1] + 1, dtype=torch.float64)
    for example in examples:
        weights = [1.0] * example.false_document + [0.0]
        before = chat.option_logprobs([example.messages], (example.wrong_answer,))[0, 0]
        if before.isnan():
            raise ValueError(f"an example for {example.wrong_answer!r} does not fit the context of {chat.context} tokens")
        for head in heads:
            scaled = ReweightedChat(chat, [head])
            scaled.weigh(example.messages, "document", weights)
            effects[head] += before - scaled.option_logprobs([example.messages], (example.wrong_answer,))[0, 0]
    return effects / len(examples)


def best_heads(effects: Tensor, count: int) -> list[Head]:
    """The `count` heads of largest effect, by layer and head."""
    order = effects.flatten().sort(descending=True, stable=True).indices[:count].tolist()
    return sorted((row // effects.shape[1], row % effects.shape[1]) for row in order)
