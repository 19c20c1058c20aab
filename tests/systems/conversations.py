"""Recorded conversations: what a chat model replies to each prompt, by the prompt's id, and what it was asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import torch

from arbgraph.chat.base import Messages, Reply, Request
from arbgraph.schema import Document, Query
from tests.chat.support import ScriptedChat

Said = str | Reply
CUT = "cut"  # the finish of a reply that was cut at its limit


class Conversation(ScriptedChat):
    """Replies by prompt id: one text for all, a list in order of asking, or a function of the conversation.

    Requests of one call are answered in order. Tokens are words. `asked_of(id)` gives the conversations of a prompt.
    """

    name, revision = "conversation", "1"

    def __init__(
        self,
        replies: Mapping[str, Said | Sequence[Said] | Callable[[Messages], Said]],
        scores: Callable[[Messages, Sequence[str]], Sequence[float]] | None = None,
    ) -> None:
        super().__init__(self._reply)
        self.replies = {stage: list(said) if isinstance(said, list) else said for stage, said in replies.items()}
        self.option_scores = scores
        self.scored: list[Messages] = []

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def generate(self, requests: Sequence[Request]):
        for row, request in enumerate(requests):
            self.asked.append(request)
            said = self._reply(request)
            yield row, Reply(said, "stop", 10, 5) if isinstance(said, str) else said

    def _reply(self, request: Request) -> Said:
        said = self.replies[request.messages.stage]
        if isinstance(said, list):
            return said.pop(0)
        return said(request.messages) if callable(said) else said

    def option_logprobs(self, prompts, options):
        self.scored += prompts
        assert self.option_scores is not None
        rows = [list(self.option_scores(messages, options)) for messages in prompts]
        return torch.tensor(rows, dtype=torch.float64).view(len(prompts), len(options))

    def asked_of(self, stage: str) -> list[Messages]:
        return [request.messages for request in self.asked if request.messages.stage == stage]


def cut(text: str) -> Reply:
    """A reply that was cut at its limit of tokens."""
    return Reply(text, "length", 10, 5)


def refused() -> Reply:
    return Reply("", "refusal", 10, 0)


def query(*texts: str, question: str = "When was it built?", credibility: Sequence[float | None] | None = None) -> Query:
    scores = credibility or [None] * len(texts)
    documents = tuple(Document(id=f"d{n}", text=text, credibility=c) for n, (text, c) in enumerate(zip(texts, scores, strict=True), 1))
    return Query(id="q", query=question, documents=documents)


def blocks(messages: Messages, kind: str) -> list[str]:
    """The texts of the blocks of a kind in the last user turn."""
    user = [turn.content for turn in messages.turns if turn.role == "user"][-1]
    return [text for _, text in re.findall(rf"<{kind}-([0-9a-f]+)[^>]*>\n(.*?)\n</{kind}-\1>", user, re.DOTALL)]
