"""What every system offers: a batch of queries in, an answer or a failure for each out.

A system that talks to a chat model is written for one query, as a generator that yields what it wants to ask and gets the outcomes back.
`ChatSystem` runs the generators of a whole batch in step, so that the requests of all queries share the model's batches, counts what each
query cost, and turns a reply that cannot be used into a `Failed`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import BaseModel

from arbgraph.chat.base import ChatModel, Completion, Messages
from arbgraph.schema import Answer, Failed, Query

if TYPE_CHECKING:
    from torch import Tensor


class System(ABC):
    """Answers queries from their documents. The same query gives the same answer alone and in any batch."""

    name: str

    @abstractmethod
    def answer(self, batch: Sequence[Query]) -> list[Answer | Failed]:
        """One outcome per query, in order. `Answer.trace` holds the steps, `Answer.usage` calls and tokens."""

    def describe(self) -> dict[str, Any]:
        """Everything that decides the answers, in plain JSON values: name, options, models with their hashes."""
        return {"name": self.name}


@dataclass(frozen=True)
class Ask:
    """A completion is wanted; the outcome is a `Completion`."""

    messages: Messages
    max_tokens: int = 256
    schema: type[BaseModel] | None = None


@dataclass(frozen=True)
class Score:
    """Log-probabilities of options as the reply's beginning are wanted; the outcome is a `[O]` float64 tensor."""

    messages: Messages
    options: tuple[str, ...]


Step: TypeAlias = Sequence[Ask | Score]
Steps: TypeAlias = Generator[Step, list[Any], Answer]


class StepFailed(Exception):
    """Raised inside `solve`: the query has no answer, for this reason."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.reason)
        self.failed = failed


def text_of(completion: Completion) -> str:
    """The text of a completion. Raises StepFailed when it failed."""
    if completion.failure is not None:
        raise StepFailed(completion.failure)
    return completion.text


def value_of(completion: Completion) -> Any:
    """The validated value of a completion. Raises StepFailed when it failed."""
    if completion.failure is not None:
        raise StepFailed(completion.failure)
    return completion.value


def scores_of(scores: Tensor) -> Tensor:
    """The option scores of a `Score`. Raises StepFailed when the model gave none."""
    if scores.isnan().any():
        raise StepFailed(Failed(stage="scores", reason="the model gave no scores for the options"))
    return scores


class ChatSystem(System):
    """A system that asks a chat model.

    Args:
        chat: the model. max_tokens: tokens of a final answer.

    `Answer.usage` holds `calls`, `prompt_tokens`, `completion_tokens`, and whatever the system counts itself.
    """

    def __init__(self, chat: ChatModel, *, max_tokens: int = 256) -> None:
        if max_tokens < 1:
            raise ValueError(f"max_tokens is {max_tokens}; an answer needs at least one token")
        self.chat, self.max_tokens = chat, max_tokens

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "max_tokens": self.max_tokens, "chat": self.chat.identity()}

    @abstractmethod
    def solve(self, query: Query) -> Steps:
        """Yields the requests of one step, gets their outcomes in order, and returns the answer. Raises StepFailed."""

    def answer(self, batch: Sequence[Query]) -> list[Answer | Failed]:
        runs = [_Run(self.solve(query)) for query in batch]
        while open_runs := [run for run in runs if run.outcome is None]:
            steps = [run.step for run in open_runs]
            outcomes = self._ask([request for step in steps for request in step])
            for run, step in zip(open_runs, steps, strict=True):
                run.resume([next(outcomes) for _ in step])
        return [run.finished for run in runs]

    def _ask(self, requests: Sequence[Ask | Score]) -> Any:
        """Outcomes in the order of the requests; requests of one kind, limit and schema share one call of the model."""
        groups: dict[Any, list[int]] = {}
        for row, request in enumerate(requests):
            kind = (request.max_tokens, request.schema) if isinstance(request, Ask) else request.options
            groups.setdefault(kind, []).append(row)
        outcomes: dict[int, Any] = {}
        for rows in groups.values():
            messages = [requests[row].messages for row in rows]
            first = requests[rows[0]]
            if isinstance(first, Ask):
                got = self.chat.complete(messages, first.schema, first.max_tokens)
                outcomes.update(zip(rows, got, strict=True))
            else:
                scores = self.chat.option_logprobs(messages, first.options)
                outcomes.update(
                    {row: _Scored(score, self._tokens(requests[row].messages)) for row, score in zip(rows, scores, strict=True)}
                )
        return iter([outcomes[row] for row in range(len(requests))])

    def _tokens(self, messages: Messages) -> int:
        return sum(self.chat.count_tokens(turn.content) for turn in messages.turns)


@dataclass(frozen=True)
class _Scored:
    """Option scores and the tokens of the prompt they belong to."""

    scores: Tensor
    prompt_tokens: int


class _Run:
    """One query under way: its generator, what it asks for next, what it has cost, and its outcome once there is one."""

    def __init__(self, steps: Steps) -> None:
        self.outcome: Answer | Failed | None = None
        self.step: Step = ()
        self._steps, self._usage = steps, Counter(calls=0, prompt_tokens=0, completion_tokens=0)
        self._advance(None)

    @property
    def finished(self) -> Answer | Failed:
        assert self.outcome is not None
        return self.outcome

    def resume(self, outcomes: list[Any]) -> None:
        """Books the cost of the outcomes and goes on to the next step or to the end."""
        for outcome in outcomes:
            attempts, written = (1, 0) if isinstance(outcome, _Scored) else (outcome.attempts, outcome.completion_tokens)
            self._usage.update(calls=attempts, prompt_tokens=outcome.prompt_tokens, completion_tokens=written)
        self._advance([outcome.scores if isinstance(outcome, _Scored) else outcome for outcome in outcomes])

    def _advance(self, outcomes: list[Any] | None) -> None:
        try:
            self.step = next(self._steps) if outcomes is None else self._steps.send(outcomes)
        except StopIteration as end:
            self.outcome = end.value.model_copy(update={"usage": {**end.value.usage, **self._usage}})
        except StepFailed as error:
            # What a failed query cost is part of what the system costs.
            self.outcome = error.failed.model_copy(update={"usage": dict(self._usage)})
