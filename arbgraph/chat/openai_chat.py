"""OpenAIChat: any server with an OpenAI-compatible chat interface (vLLM, llama.cpp, SGLang, hosted), through the official client."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, Any, Literal

from arbgraph.chat.base import ChatError, ChatModel, Messages, Reply, Request, schema_json
from arbgraph.chat.limits import RateLimit
from arbgraph.schema import Failed

if TYPE_CHECKING:
    from torch import Tensor

TOP_LOGPROBS = 20  # the most that the interface offers
_RAW = 500
_FORMAT_WORDS = ("response_format", "json_schema", "guided", "structured output")


class OpenAIChat(ChatModel):
    """Sends requests from a few threads; the client retries 408, 409, 429, 5xx and broken connections, and obeys Retry-After.

    The limits hold for every HTTP request, retries included: the concurrency over all calls on this object, the rates in any
    60 seconds. A 429 with Retry-After holds all threads back, not only the one that received it. A request that fails for good
    is a `Failed` with its reason; a wrong key or an unknown model, with which nothing can succeed, raises ChatError.
    `counts` has, beside those of every chat model, `http_requests` and `schema_unsupported` (1 once the server turned out not to
    take schemas; replies are then only validated).

    Args:
        model: the server's name of the model. revision: anything that tells two models of that name apart, for caches.
        base_url: None is the client's default. api_key: None reads OPENAI_API_KEY; a server named by `base_url` needs none.
        concurrency: HTTP requests under way at once. requests_per_minute, tokens_per_minute: None is no limit; a request is worth
            its prompt's estimated tokens plus its limit of tokens.
        timeout: seconds without a byte after which an attempt is given up. retries: attempts after the first.
        temperature, seed: None leaves the field out, as some hosted models demand. extra: further fields of the request's body.
        structured: how a schema is passed on: `json_schema`, `json_object`, or `none`.
        limit_field: newer hosted models read `max_completion_tokens`.
        clock, sleep: of the rate limit.

    The client is made at the first request, so nothing is needed to build the object.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        revision: str = "",
        concurrency: int = 8,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        timeout: float = 120.0,
        retries: int = 4,
        temperature: float | None = 0.0,
        seed: int | None = 0,
        extra: Mapping[str, Any] | None = None,
        structured: Literal["json_schema", "json_object", "none"] = "json_schema",
        limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens",
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__()
        if concurrency < 1 or retries < 0 or timeout <= 0:
            raise ValueError(f"concurrency {concurrency} must be at least 1, retries {retries} at least 0, timeout {timeout} above 0")
        self.name, self.base_url = model, base_url
        self.revision = f"{base_url or 'default'} {revision}".strip()
        self.concurrency, self.timeout, self.retries = concurrency, timeout, retries
        self.temperature, self.seed, self.extra = temperature, seed, dict(extra or {})
        self.structured, self.limit_field = structured, limit_field
        self.limit = RateLimit(requests_per_minute, tokens_per_minute, clock=clock, sleep=sleep)
        self._api_key = api_key
        self._slots = threading.BoundedSemaphore(concurrency)
        self._cost = threading.local()
        self._lock = threading.Lock()
        self._made: Any = None
        self._takes_schema = structured != "none"

    @property
    def parameters(self) -> dict[str, Any]:
        return {"temperature": self.temperature, "seed": self.seed, "structured": self.structured, "extra": self.extra}

    @property
    def _client(self) -> Any:
        with self._lock:
            if self._made is None:
                self._made = self._make_client()
        return self._made

    def _make_client(self) -> Any:
        try:
            import openai
        except ImportError:
            raise ChatError("the openai package is not installed; pip install 'arbgraph[llm]'") from None
        key = self._api_key or os.environ.get("OPENAI_API_KEY") or ("none" if self.base_url else None)
        if key is None:
            raise ChatError("no API key: set OPENAI_API_KEY, pass api_key, or give the base_url of a server that needs none")
        # Hooks see every HTTP request, those of the client's own retries included.
        http = openai.DefaultHttpxClient(event_hooks={"request": [self._before], "response": [self._after]})
        return openai.OpenAI(api_key=key, base_url=self.base_url, timeout=self.timeout, max_retries=self.retries, http_client=http)

    def _before(self, request: Any) -> None:
        self.limit.acquire(getattr(self._cost, "tokens", 0))

    def _after(self, response: Any) -> None:
        if response.status_code == 429:
            try:
                seconds = float(response.headers.get("retry-after", ""))
            except ValueError:
                return
            if math.isfinite(seconds) and seconds > 0:
                self.limit.hold(seconds)

    def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Reply | Failed]]:
        yield from self._in_threads(self._reply, requests)
        self.counts["http_requests"] = self.limit.sent
        self.counts["schema_unsupported"] = int(self.structured != "none" and not self._takes_schema)

    def _in_threads(self, work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        if not items:
            return
        with ThreadPoolExecutor(max_workers=min(self.concurrency, len(items))) as pool:
            futures = {pool.submit(work, item): row for row, item in enumerate(items)}
            try:
                for future in as_completed(futures):
                    yield futures[future], future.result()
            finally:
                for future in futures:
                    future.cancel()

    def _reply(self, request: Request) -> Reply | Failed:
        with self._slots:
            completion = self._create(request.messages, request.max_tokens, request)
        return completion if isinstance(completion, Failed) else _read(completion, request.messages)

    def _create(self, messages: Messages, max_tokens: int, request: Request | None = None, **more: Any) -> Any:
        """One chat completion, or a Failed. A server that refuses the schema is asked again without it."""
        import openai

        self._cost.tokens = sum(self.count_tokens(turn.content) for turn in messages.turns) + max_tokens
        constrained = self._takes_schema and request is not None and request.schema is not None
        body = self._body(messages, max_tokens) | more | (self._format(request) if constrained else {})
        try:
            return self._client.chat.completions.create(**body)
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            if constrained and any(word in str(error).lower() for word in _FORMAT_WORDS):
                self._takes_schema = False
                return self._create(messages, max_tokens, request, **more)
            return self._failed(messages, f"the server refused the request ({_status(error)})", error)
        except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
            raise ChatError(f"{self._place()} refused the API key ({_status(error)}); set OPENAI_API_KEY or api_key") from None
        except openai.NotFoundError as error:
            raise ChatError(
                f"{self._place()} has no model {self.name!r}, or base_url lacks its path, often /v1 ({_status(error)})"
            ) from None
        except openai.APITimeoutError as error:
            return self._failed(messages, f"no reply within {self.timeout:g} s, {self.retries + 1} attempts", error)
        except openai.APIStatusError as error:
            return self._failed(messages, f"the server failed, {self.retries + 1} attempts ({_status(error)})", error)
        except openai.APIConnectionError as error:
            return self._failed(messages, f"{self._place()} cannot be reached or closed the connection: {error.__cause__ or error}", error)
        except (openai.OpenAIError, ValueError) as error:  # a body that is not JSON, or not a chat completion
            return self._failed(messages, f"the server's reply is not a chat completion: {error}", error)

    def _body(self, messages: Messages, max_tokens: int) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.name,
            "messages": [{"role": turn.role, "content": turn.content} for turn in messages.turns],
            self.limit_field: max_tokens,
        }
        if self.temperature is not None:
            body["temperature"] = self.temperature
        if self.seed is not None:
            body["seed"] = self.seed
        if messages.sampling is not None:
            # A server without a seed draws anew every time; with one, each draw needs a seed of its own.
            body["temperature"] = messages.sampling.temperature
            if self.seed is not None:
                body["seed"] = self.seed + messages.sampling.number
        return body | ({"extra_body": self.extra} if self.extra else {})

    def _format(self, request: Request | None) -> dict[str, Any]:
        assert request is not None
        assert request.schema is not None
        if self.structured == "json_object":
            return {"response_format": {"type": "json_object"}}
        schema = {"name": request.schema.__name__, "strict": True, "schema": schema_json(request.schema)}
        return {"response_format": {"type": "json_schema", "json_schema": schema}}

    def _place(self) -> str:
        return f"the server at {self.base_url}" if self.base_url else "the server"

    def _failed(self, messages: Messages, reason: str, error: Exception) -> Failed:
        body = getattr(error, "body", None)
        return Failed(stage=messages.stage, reason=reason, raw="" if body is None else str(body)[:_RAW])

    def option_logprobs(self, prompts: Sequence[Messages], options: Sequence[str]) -> Tensor:
        """As in `ChatModel`, from the server's 20 likeliest first tokens: a token belongs to the only option that it begins.

        An option outside them gets the log-probability of the least likely of the 20, which it does not exceed. Raises ChatError
        when the server gives no log-probabilities.
        """
        import torch

        scores = torch.full((len(prompts), len(options)), torch.nan, dtype=torch.float64)
        for row, listed in self._in_threads(self._first_tokens, prompts):
            if listed:
                scores[row] = torch.tensor(_option_scores(listed, options), dtype=torch.float64)
        self.counts["http_requests"] = self.limit.sent
        self.counts["failed_scores"] += int(scores.isnan().any(-1).sum())
        return scores

    def _first_tokens(self, messages: Messages) -> list[tuple[str, float]]:
        with self._slots:
            completion = self._create(messages, 1, logprobs=True, top_logprobs=TOP_LOGPROBS)
        if isinstance(completion, Failed):
            return []
        choices: Any = getattr(completion, "choices", None) or []
        content: Any = getattr(getattr(choices[0], "logprobs", None), "content", None) if choices else None
        if not content:
            raise ChatError(f"{self._place()} gives no log-probabilities of tokens; set chat_judgements: replies")
        return [(entry.token, entry.logprob) for entry in content[0].top_logprobs]


def _status(error: Any) -> str:
    return f"HTTP {error.status_code}: {str(error)[:200]}"


def _read(completion: Any, messages: Messages) -> Reply | Failed:
    """A Reply from the client's object, which is not checked against the interface: servers leave fields out."""
    choices: Any = getattr(completion, "choices", None)
    message = getattr(choices[0], "message", None) if choices else None
    if message is None:
        raw = completion if isinstance(completion, str) else getattr(completion, "model_dump_json", lambda: str(completion))()
        return Failed(stage=messages.stage, reason="the server's reply is not a chat completion: it has no choices", raw=str(raw)[:_RAW])
    usage = getattr(completion, "usage", None)
    finish = getattr(choices[0], "finish_reason", None)
    refusal = getattr(message, "refusal", None)
    return Reply(
        text=refusal or getattr(message, "content", None) or "",
        finish="refusal" if refusal or finish == "content_filter" else "length" if finish == "length" else "stop",
        prompt_tokens=getattr(usage, "prompt_tokens", None),
        completion_tokens=getattr(usage, "completion_tokens", None),
    )


def _option_scores(listed: Sequence[tuple[str, float]], options: Sequence[str]) -> list[float]:
    """Log-probability of each option from the listed first tokens `(token, log-probability)`."""
    sums = [0.0] * len(options)
    for token, logprob in listed:
        stripped = token.strip()
        meant = [i for i, option in enumerate(options) if stripped and option.startswith(stripped)]
        if len(meant) == 1:
            sums[meant[0]] += math.exp(logprob)
    floor = min(logprob for _, logprob in listed)
    return [min(0.0, math.log(p)) if p > 0 else floor for p in sums]
