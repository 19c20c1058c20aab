"""What every chat model offers: `complete` for text and structured values, `option_logprobs` for scores in one forward pass.

A backend implements `generate`, which turns requests into raw replies. Validation, the repair turn and the counting of
failures are the same for all backends (`arbgraph.chat.structured`).
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

from pydantic import BaseModel

from arbgraph.schema import Failed

if TYPE_CHECKING:
    from torch import Tensor

Finish = Literal["stop", "length", "refusal"]
Value = TypeVar("Value", bound=BaseModel)

# A token is about four characters of English and one character of Chinese (three bytes); three bytes is on the safe side of both.
BYTES_PER_TOKEN = 3


class ChatError(RuntimeError):
    """A chat model that cannot be used at all: missing package, wrong key, unknown model, damaged cache. Names the remedy."""


class Message(NamedTuple):
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class Sampling:
    """That a reply is to be drawn at a temperature above 0; replies to one conversation with different numbers are different draws."""

    temperature: float
    number: int = 0

    def __post_init__(self) -> None:
        if not self.temperature > 0:
            raise ValueError(f"temperature is {self.temperature}; a draw needs one above 0")


@dataclass(frozen=True)
class Messages:
    """A conversation, and the id and version of the prompt that it was made from (`extraction/1`).

    `sampling` asks for one of several draws, whatever the model's own temperature is; None leaves it to the model.
    """

    turns: tuple[Message, ...]
    prompt: str = "free/1"
    sampling: Sampling | None = None

    @classmethod
    def of(cls, user: str, system: str = "", prompt: str = "free/1") -> Messages:
        """A conversation with one user turn."""
        turns = (Message("user", user),)
        return cls((Message("system", system), *turns) if system else turns, prompt)

    @property
    def stage(self) -> str:
        """The id of the prompt without its version; failures are filed under it."""
        return self.prompt.partition("/")[0]

    def followed_by(self, *turns: Message, prompt: str) -> Messages:
        """The conversation with further turns; `prompt` is added to the prompt's name, so that both versions count."""
        return replace(self, turns=(*self.turns, *turns), prompt=f"{self.prompt}+{prompt}")

    def drawn(self, temperature: float, count: int, first: int = 0) -> list[Messages]:
        """The conversation `count` times, each time for another draw; the draws are numbered from `first`."""
        return [replace(self, sampling=Sampling(temperature, number)) for number in range(first, first + count)]


@dataclass(frozen=True)
class Request:
    """One thing asked of a backend: a conversation, the shape that the reply must have, and how long it may be."""

    messages: Messages
    schema: type[BaseModel] | None
    max_tokens: int


@dataclass(frozen=True)
class Reply:
    """What a backend got back. `finish` is "length" when the reply was cut at `max_tokens`; token counts are None where unknown."""

    text: str
    finish: Finish = "stop"
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True)
class Completion(Generic[Value]):
    """The outcome of one prompt: either `failure` is set, or `text` (and, with a schema, `value`) may be used.

    `attempts` is 1, or 2 after a repair turn or a retry with a higher limit. Token counts are those of all attempts.
    """

    text: str
    value: Value | None
    failure: Failed | None
    finish: Finish | None
    attempts: int
    prompt_tokens: int
    completion_tokens: int


def cost_of(*completions: Completion[Any]) -> Counter[str]:
    """Calls and tokens of completions, as `Answer.usage` counts them."""
    return Counter(
        calls=sum(each.attempts for each in completions),
        prompt_tokens=sum(each.prompt_tokens for each in completions),
        completion_tokens=sum(each.completion_tokens for each in completions),
    )


class ChatModel(ABC):
    """A chat model. `complete` takes batches; the same prompt gives the same completion alone and in any batch.

    Attributes:
        name: the model. revision: what else decides a reply: weights, adapter, precision, or a server's model revision.
        counts: what happened so far: requests, prompt_tokens, completion_tokens, repaired, retried_longer, failed, and each
            failure by kind (failed_truncated, failed_malformed, failed_invalid, failed_empty, failed_refusal, failed_backend).
    """

    name: str
    revision: str

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    @property
    def parameters(self) -> dict[str, Any]:
        """Everything beside model and revision that may change a reply; plain JSON values."""
        return {}

    @abstractmethod
    def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Reply | Failed]]:
        """Yields (row, reply) once for every request, as soon as it is there. One request that fails does not disturb the others.

        Raises ChatError when no request can succeed.
        """

    @abstractmethod
    def option_logprobs(self, prompts: Sequence[Messages], options: Sequence[str]) -> Tensor:
        """Log-probability of each option as the reply's beginning, `[P, O]` float64 on the CPU, <= 0 and not renormalised over
        the options. A row of NaN means that the backend failed on that prompt. Raises ChatError where scores are not offered.
        """

    def count_tokens(self, text: str) -> int:
        """Tokens of a text, for budgets. Without the model's tokenizer: an estimate that errs on the high side."""
        return -(-len(text.encode(errors="replace")) // BYTES_PER_TOKEN)

    def complete(self, prompts: Sequence[Messages], schema: type[Value] | None = None, max_tokens: int = 512) -> list[Completion[Value]]:
        """One completion per prompt; with a schema, the reply is parsed and validated. Equal prompts are asked once.

        A reply that does not parse or validate gets one repair turn, a reply cut by its length one try with twice the limit;
        what still fails carries a `Failed` and no value.
        """
        from arbgraph.chat.structured import complete

        return complete(self, prompts, schema, max_tokens)

    def scoring_cost(self, prompts: Sequence[Messages]) -> Counter[str]:
        """Calls and tokens of scoring options behind these prompts, as `Answer.usage` counts them."""
        tokens = sum(self.count_tokens(turn.content) for messages in prompts for turn in messages.turns)
        return Counter(calls=len(prompts), prompt_tokens=tokens, completion_tokens=0)

    def identity(self) -> dict[str, Any]:
        """Model, revision and parameters, as they enter cache keys and diagnostics."""
        return {"model": self.name, "revision": self.revision, "parameters": self.parameters}


def request_key(identity: dict[str, Any], messages: Messages, **asked: Any) -> str:
    """A SHA-256 over everything that decides a reply: model, revision, parameters, turns, prompt version, and what was asked."""
    record = {**identity, "prompt": messages.prompt, "turns": [list(turn) for turn in messages.turns], **asked}
    if messages.sampling is not None:
        record["sampling"] = [messages.sampling.temperature, messages.sampling.number]
    # Lone surrogates, which broken documents bring, cannot be encoded as UTF-8; ASCII JSON escapes them.
    return hashlib.sha256(json.dumps(record, sort_keys=True, ensure_ascii=True, allow_nan=False).encode("ascii")).hexdigest()


def schema_json(schema: type[BaseModel] | None) -> dict[str, Any] | None:
    """The JSON Schema of a reply, or None for free text."""
    return None if schema is None else schema.model_json_schema()
