"""A recorded conversation: the replies to every prompt by its id, in order, and what was asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import torch

from arbgraph.chat import ChatModel, Messages, Reply, Request
from arbgraph.schema import Answer, Document, Failed, Query
from arbgraph.systems import System
from tests.chat.support import user_turn

CUT = "length"


class RecordedChat(ChatModel):
    """Plays a conversation back: `replies` by prompt id, `scores` by prompt id or, for a scored reply, by the option itself.

    A text that begins with `CUT:` is one that was cut at its limit. Every reply costs 10 tokens in and 5 out. `asked` are the ids in order.
    """

    name, revision = "recorded", "1"

    def __init__(self, replies: Mapping[str, Sequence[str]], scores: Mapping[str, Sequence[Sequence[float]]] | None = None) -> None:
        super().__init__()
        self.left = {name: list(texts) for name, texts in replies.items()}
        self.scores_left = {name: list(rows) for name, rows in (scores or {}).items()}
        self.requests: list[Request] = []
        self.scored: list[tuple[Messages, tuple[str, ...]]] = []

    @property
    def asked(self) -> list[str]:
        return [request.messages.stage for request in self.requests]

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def prompts(self, stage: str) -> list[str]:
        """The user turns of a prompt, in the order in which they were asked."""
        return [user_turn(request.messages) for request in self.requests if request.messages.stage == stage]

    def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Reply | Failed]]:
        for row, request in enumerate(requests):
            self.requests.append(request)
            left = self.left.get(request.messages.stage)
            assert left, f"nothing is recorded for one more {request.messages.prompt}:\n{user_turn(request.messages)}"
            text = left.pop(0)
            cut = text.startswith("CUT:")
            yield row, Reply(text.removeprefix("CUT:"), "length" if cut else "stop", 10, 5)

    def option_logprobs(self, prompts: Sequence[Messages], options: Sequence[str]) -> torch.Tensor:
        rows = []
        for messages in prompts:
            self.scored.append((messages, tuple(options)))
            rows.append(self.scores_left[messages.stage].pop(0))
        return torch.tensor(rows, dtype=torch.float64).view(len(prompts), len(options))

    def finished(self) -> bool:
        """Whether everything that was recorded was asked for."""
        return not any(self.left.values()) and not any(self.scores_left.values())


def query(question: str, *texts: str, credibility: Sequence[float | None] = ()) -> Query:
    """A query with documents d1, d2 and so on."""
    known = [*credibility, *[None] * len(texts)]
    documents = [Document(id=f"d{number}", text=text, credibility=known[number - 1]) for number, text in enumerate(texts, 1)]
    return Query(id="q", query=question, documents=tuple(documents))


def answered(system: System, one: Query) -> Answer:
    """The answer to one query; a failure is shown."""
    [outcome] = system.answer([one])
    assert isinstance(outcome, Answer), outcome
    return outcome


def failed(system: System, one: Query) -> Failed:
    """The failure of one query."""
    [outcome] = system.answer([one])
    assert isinstance(outcome, Failed), outcome
    return outcome
