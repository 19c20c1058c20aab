"""Chat models by name, for command lines and settings: `smollm2`, `hf:NAME`, `openai:MODEL@URL`, `none`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from arbgraph.chat.base import ChatError, ChatModel

FORMS = "smollm2, hf:NAME_OR_FOLDER, openai:MODEL, openai:MODEL@BASE_URL, or none"


def open_chat(name: str, *, cache: str | Path | None = None, **options: Any) -> ChatModel | None:
    """The chat model of a name; None for `none`.

    Args:
        name: `smollm2` is the packaged model, `hf:` any causal language model by hub name or folder, `openai:` a model of a server.
            A model name may hold `@`; the base URL begins at the last `@http`.
        cache: a file that keeps the replies (`CachedChat`).
        options: arguments of `TransformersChat` or `OpenAIChat`.

    Raises ChatError on a name of another form.
    """
    kind, _, rest = name.partition(":")
    chat: ChatModel
    if name == "none":
        return None
    if name == "smollm2" or (kind == "hf" and rest):
        from arbgraph.chat.transformers_chat import DEFAULT_MODEL, TransformersChat

        chat = TransformersChat(rest or DEFAULT_MODEL, **options)
    elif kind == "openai" and rest:
        from arbgraph.chat.openai_chat import OpenAIChat

        model, at, url = rest.rpartition("@http")
        chat = OpenAIChat(model if at else rest, base_url=f"http{url}" if at else None, **options)
    else:
        raise ChatError(f"chat model {name!r} is not known; write {FORMS}")
    if cache is None:
        return chat
    from arbgraph.chat.cached import CachedChat

    return CachedChat(chat, cache)
