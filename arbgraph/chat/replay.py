"""ReplayChat: recorded replies, so that a run can be repeated and tested without the model that made it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arbgraph.chat.base import ChatError, ChatModel, Messages, Reply, Request, request_key, schema_json
from arbgraph.io import BadRecord, InputError, read_records, write_json_lines
from arbgraph.schema import Failed

if TYPE_CHECKING:
    from torch import Tensor


class ReplayChat(ChatModel):
    """Answers from a recording that `CachedChat.export` wrote, under the identity of the model that was recorded.

    A request that was not recorded is an error, never a made-up reply: it means that a prompt, a document or a setting changed.
    Budgets decide where passages are cut, so a recording of a model that counts with its own tokenizer needs `count_tokens`.
    """

    def __init__(self, identity: Mapping[str, Any], values: Mapping[str, Any], *, count_tokens: Callable[[str], int] | None = None) -> None:
        super().__init__()
        self._count_tokens = count_tokens or super().count_tokens
        self.name, self.revision = str(identity["model"]), str(identity["revision"])
        self._identity, self._values = dict(identity), dict(values)

    @classmethod
    def load(cls, path: str | Path, *, count_tokens: Callable[[str], int] | None = None) -> ReplayChat:
        """Reads a recording. Raises ChatError when the file is missing or not a recording."""
        try:
            rows = [row for _, row in read_records(path)]
        except InputError as error:
            raise ChatError(str(error)) from None
        if not rows or not isinstance(rows[0], dict) or "recorded" not in rows[0]:
            raise ChatError(f"{path}: not a recording of replies; CachedChat.export writes one")
        for row in rows[1:]:
            if isinstance(row, BadRecord) or not isinstance(row, dict) or "key" not in row:
                raise ChatError(f"{path}: holds a line that is no recorded reply: {str(row)[:200]}")
        return cls(rows[0]["recorded"], {row["key"]: row["value"] for row in rows[1:]}, count_tokens=count_tokens)

    def count_tokens(self, text: str) -> int:
        return self._count_tokens(text)

    @property
    def parameters(self) -> dict[str, Any]:
        return dict(self._identity["parameters"])

    def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Reply | Failed]]:
        for row, request in enumerate(requests):
            yield row, reply_of(self._value(reply_key(self.identity(), request), request.messages))

    def option_logprobs(self, prompts: Sequence[Messages], options: Sequence[str]) -> Tensor:
        import torch

        rows = [self._value(score_key(self.identity(), messages, options), messages) for messages in prompts]
        return torch.tensor(rows, dtype=torch.float64).view(len(prompts), len(options))

    def _value(self, key: str, messages: Messages) -> Any:
        if key not in self._values:
            raise ChatError(
                f"no reply was recorded for prompt {messages.prompt!r} (key {key[:12]}, last turn begins "
                f"{messages.turns[-1].content[:80]!r}); record again with the model {self.name!r}"
            )
        return self._values[key]


def write_recording(path: str | Path, identity: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Writes a recording: one line that says what was recorded, then one line per reply, sorted by key."""
    rows = [{"recorded": dict(identity)}, *({"key": key, "value": values[key]} for key in sorted(values))]
    write_json_lines(path, rows)


def reply_key(identity: Mapping[str, Any], request: Request) -> str:
    """The key of a request."""
    return request_key(dict(identity), request.messages, max_tokens=request.max_tokens, schema=schema_json(request.schema))


def score_key(identity: Mapping[str, Any], messages: Messages, options: Sequence[str]) -> str:
    """The key of one prompt's option scores."""
    return request_key(dict(identity), messages, options=list(options))


def reply_value(reply: Reply) -> dict[str, Any]:
    """A reply as plain JSON."""
    return {
        "text": reply.text,
        "finish": reply.finish,
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
    }


def reply_of(value: Any) -> Reply:
    """The inverse of `reply_value`. Raises ChatError on anything else."""
    try:
        return Reply(**value)
    except TypeError:
        raise ChatError(f"not a stored reply: {json.dumps(value)[:200]}") from None
