"""From raw replies to values: strict JSON, pydantic validation, one second try, and a typed failure for the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from arbgraph.chat import prompts as wording
from arbgraph.chat.base import ChatModel, Completion, Messages, Reply, Request, Value
from arbgraph.schema import Failed

RAW_KEPT = 2_000  # characters of a failed reply that are kept
_FENCE = re.compile(r"^\s*```[a-zA-Z]*\s*\n(.*?)\n?\s*```\s*$", re.DOTALL)


@dataclass(frozen=True)
class Problem:
    """Why a reply cannot be used: kind is truncated, malformed, invalid, empty, refusal or backend."""

    kind: str
    detail: str


class _ReplyError(ValueError):
    """A reply that is not one JSON object."""


def complete(chat: ChatModel, prompts: Sequence[Messages], schema: type[Value] | None, max_tokens: int) -> list[Completion[Value]]:
    """See `ChatModel.complete`."""
    if max_tokens < 1:
        raise ValueError(f"max_tokens is {max_tokens}; a reply needs at least one token")
    distinct = list(dict.fromkeys(prompts))
    requests = [Request(messages, schema, max_tokens) for messages in distinct]
    replies = _collect(chat, requests)
    problems = [_read(reply, schema) for reply in replies]
    again = [row for row, problem in enumerate(problems) if isinstance(problem, Problem) and problem.kind in SECOND_TRY]
    second = _collect(chat, [_second_request(requests[row], replies[row], problems[row]) for row in again])
    tries: list[list[Reply | Failed]] = [[reply] for reply in replies]
    for row, reply in zip(again, second, strict=True):
        chat.counts["retried_longer" if _kind(problems[row]) == "truncated" else "repaired"] += 1
        tries[row].append(reply)
        problems[row] = _still(problems[row], reply) if isinstance(reply, Failed) else _read(reply, schema)
    done = {m: _completion(chat, m, got, outcome) for m, got, outcome in zip(distinct, tries, problems, strict=True)}
    return [done[messages] for messages in prompts]


SECOND_TRY = frozenset({"truncated", "malformed", "invalid", "empty"})


def _still(problem: Any, failed: Failed) -> Problem:
    """The problem of the first reply, which the second try could not mend."""
    return Problem(problem.kind, f"{problem.detail}; a second try failed: {failed.reason}")


def _kind(outcome: Any) -> str:
    return outcome.kind if isinstance(outcome, Problem) else ""


def _collect(chat: ChatModel, requests: Sequence[Request]) -> list[Reply | Failed]:
    """The replies in the order of the requests. Raises RuntimeError when a backend breaks its contract."""
    replies: dict[int, Reply | Failed] = {}
    for row, reply in chat.generate(requests):
        if row in replies or not 0 <= row < len(requests):
            raise RuntimeError(f"{type(chat).__name__} replied to request {row} of {len(requests)} more often than once")
        replies[row] = reply
    if len(replies) != len(requests):
        raise RuntimeError(f"{type(chat).__name__} left {len(requests) - len(replies)} of {len(requests)} requests without a reply")
    chat.counts["requests"] += len(requests)
    return [replies[row] for row in range(len(requests))]


def _read(reply: Reply | Failed, schema: type[Value] | None) -> Value | Problem | None:
    """The value of a reply (None for usable free text), or what is wrong with it."""
    if isinstance(reply, Failed):
        return Problem("backend", reply.reason)
    if reply.finish == "refusal":
        return Problem("refusal", "the model refused to reply")
    cut = Problem("truncated", f"the reply was cut at its limit of tokens ({reply.completion_tokens or 'unknown'} written)")
    if not reply.text.strip():
        return cut if reply.finish == "length" else Problem("empty", "the reply is empty")
    if schema is None:
        return cut if reply.finish == "length" else None
    try:
        return parse(reply.text, schema)
    except _ReplyError as error:
        # Half a JSON because of the limit is a matter of length, not of form.
        return cut if reply.finish == "length" else Problem("malformed", str(error))
    except ValidationError as error:
        return cut if reply.finish == "length" else Problem("invalid", _explain(error))


def parse(text: str, schema: type[Value]) -> Value:
    """The one JSON object of a reply, validated without type coercion. Prose or a code fence around the object is tolerated.

    Raises ValueError when there is no object, half an object, several different ones, a repeated key or a number that is not
    JSON; pydantic's ValidationError (a ValueError too) when the object does not fit the schema.
    """
    return schema.model_validate_json(json.dumps(_only_object(text)), strict=True)


def _only_object(text: str) -> dict[str, Any]:
    fenced = _FENCE.match(text)
    text = fenced.group(1) if fenced else text
    decoder = json.JSONDecoder(object_pairs_hook=_unique_keys, parse_constant=_no_constant)
    found: list[dict[str, Any]] = []
    at = text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except _ReplyError:
            raise
        except (json.JSONDecodeError, RecursionError) as error:
            message = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deeply"
            raise _ReplyError(f"the JSON object that begins at character {at} is broken: {message}") from None
        found.append(value)
        at = text.find("{", end)
    if not found:
        raise _ReplyError("the reply holds no JSON object")
    if any(value != found[0] for value in found[1:]):
        raise _ReplyError(f"the reply holds {len(found)} different JSON objects where one was asked for")
    return found[0]


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise _ReplyError(f"the key {repeated!r} occurs twice in one JSON object")
    return values


def _no_constant(name: str) -> Any:
    raise _ReplyError(f"{name} is not a JSON number")


def _explain(error: ValidationError) -> str:
    """The first three faults, each with its place."""
    faults = [f"{'.'.join(str(part) for part in fault['loc']) or 'the object'}: {fault['msg']}" for fault in error.errors()[:3]]
    return "; ".join(faults)


def _second_request(request: Request, reply: Reply | Failed, problem: Any) -> Request:
    """A truncated reply is asked again with twice the limit; any other gets a turn that names its fault."""
    assert isinstance(reply, Reply)
    if problem.kind == "truncated":
        return Request(request.messages, request.schema, 2 * request.max_tokens)
    return Request(wording.repair(request.messages, reply.text, problem.detail), request.schema, request.max_tokens)


def _completion(chat: ChatModel, messages: Messages, tries: list[Reply | Failed], outcome: Any) -> Completion:
    replies = [reply for reply in tries if isinstance(reply, Reply)]
    prompt_tokens = sum(reply.prompt_tokens or 0 for reply in replies)
    completion_tokens = sum(reply.completion_tokens or 0 for reply in replies)
    chat.counts["prompt_tokens"] += prompt_tokens
    chat.counts["completion_tokens"] += completion_tokens
    chat.counts["replies_without_usage"] += sum(reply.completion_tokens is None for reply in replies)
    text, finish = (replies[-1].text, replies[-1].finish) if replies else ("", None)
    failure = None
    if isinstance(outcome, Problem):
        raw = text or "".join(reply.raw for reply in tries if isinstance(reply, Failed))
        failure = Failed(stage=messages.stage, reason=f"{outcome.kind}: {outcome.detail}", raw=_storable(raw[:RAW_KEPT]))
        chat.counts["failed"] += 1
        chat.counts[f"failed_{outcome.kind}"] += 1
    value = outcome if isinstance(outcome, BaseModel) else None
    return Completion(text, value, failure, finish, len(tries), prompt_tokens, completion_tokens)


def _storable(text: str) -> str:
    """The text without lone surrogates, which no JSON file can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")
