"""Chat models by name, for command lines and settings: `smollm2`, `hf:NAME`, `openai:MODEL@URL`, `none`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from arbgraph.chat.base import ChatError, ChatModel

FORMS = "smollm2, hf:NAME_OR_FOLDER, openai:MODEL, openai:MODEL@BASE_URL, or none"


def is_local(name: str) -> bool:
    """Whether a name means a model in this process, which takes a device."""
    return name == "smollm2" or name.startswith("hf:")


def open_chat(name: str, *, cache: str | Path | None = None, **options: Any) -> ChatModel | None:
    """The chat model of a name; None for `none`.

    Args:
        name: `smollm2` is the packaged model, `hf:` any causal language model by hub name or folder, `openai:` a model of a server.
            A model name may hold `@`; the base URL begins at the last `@http`.
        cache: a file that keeps the replies (`CachedChat`).
        options: arguments of `TransformersChat` or `OpenAIChat`.

    Raises ChatError on a name of another form, and on an option that the model does not have or take.
    """
    kind, _, rest = name.partition(":")
    chat: ChatModel
    if name == "none":
        return None
    if is_local(name) and (rest or name == "smollm2"):
        from arbgraph.chat.transformers_chat import DEFAULT_MODEL, TransformersChat

        chat = _built(TransformersChat, name, rest or DEFAULT_MODEL, options)
    elif kind == "openai" and rest:
        from arbgraph.chat.openai_chat import OpenAIChat

        model, at, url = rest.rpartition("@http")
        address = {"base_url": f"http{url}"} if at else {}
        chat = _built(OpenAIChat, name, model if at else rest, address | options)
    else:
        raise ChatError(f"chat model {name!r} is not known; write {FORMS}")
    if cache is None:
        return chat
    from arbgraph.chat.cached import CachedChat

    return CachedChat(chat, cache)


def _built(kind: Callable[..., ChatModel], name: str, model: str, options: dict[str, Any]) -> ChatModel:
    known = [option for option in inspect.signature(kind).parameters if option != "model"]
    if unknown := sorted(set(options) - set(known)):
        raise ChatError(f"chat model {name!r} has no option {unknown[0]!r}; its options: {', '.join(known)}")
    try:
        return kind(model, **options)
    except (TypeError, ValueError) as error:
        raise ChatError(f"chat model {name!r}: {error}") from error
