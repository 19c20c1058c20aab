"""Chat models for tests: one whose replies are written by a function of the request."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence

import torch

from arbgraph.chat import ChatModel, Messages, Reply, Request
from arbgraph.schema import Failed


class ScriptedChat(ChatModel):
    """Replies with what `script(request)` returns (text, dict, Reply or Failed), in reverse order, as a server may."""

    name, revision = "scripted", "1"

    def __init__(self, script: Callable[[Request], object], scores: Callable[[Messages], Sequence[float]] | None = None) -> None:
        super().__init__()
        self.script, self.scores = script, scores
        self.asked: list[Request] = []
        self.scored: list[Messages] = []

    def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Reply | Failed]]:
        for row in reversed(range(len(requests))):
            self.asked.append(requests[row])
            out = self.script(requests[row])
            if isinstance(out, dict):
                out = json.dumps(out)
            yield row, (Reply(out, "stop", 10, 5) if isinstance(out, str) else out)  # type: ignore[misc]

    def option_logprobs(self, prompts, options):
        self.scored += prompts
        assert self.scores is not None
        return torch.tensor([self.scores(messages) for messages in prompts], dtype=torch.float64).view(len(prompts), len(options))


def user_turn(messages: Messages) -> str:
    return next(turn.content for turn in messages.turns if turn.role == "user")


def block(messages: Messages, kind: str) -> str:
    """The text of the one block of a kind in a prompt."""
    (found,) = re.findall(rf"<{kind}-([0-9a-f]+)[^>]*>\n(.*?)\n</{kind}-\1>", user_turn(messages), re.DOTALL)
    return found[1]
