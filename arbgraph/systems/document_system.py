"""A chat system that reads documents: its prompts, its options, and how it shows documents to the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from arbgraph.chat.base import ChatModel
from arbgraph.chat.prompts import Prompt
from arbgraph.schema import Document
from arbgraph.systems.base import ChatSystem
from arbgraph.systems.documents import Shown, show_documents


class DocumentSystem(ChatSystem):
    """A chat system whose prompts hold documents.

    Args:
        chat: the model. document_tokens: tokens of all documents of one prompt together; longer ones are cut, and counted.
        max_tokens: of a final reply. step_tokens: of every other reply.
    """

    prompts: ClassVar[tuple[Prompt, ...]]

    def __init__(self, chat: ChatModel, *, document_tokens: int = 4000, max_tokens: int = 256, step_tokens: int = 128) -> None:
        super().__init__(chat, max_tokens=max_tokens)
        at_least(1, document_tokens=document_tokens, step_tokens=step_tokens)
        self.document_tokens, self.step_tokens = document_tokens, step_tokens

    def options(self) -> dict[str, Any]:
        """The options beside those of every document system, in plain JSON values."""
        return {}

    def describe(self) -> dict[str, Any]:
        shared = {"document_tokens": self.document_tokens, "step_tokens": self.step_tokens}
        return {**super().describe(), **shared, "prompts": [prompt.name for prompt in self.prompts], **self.options()}

    def show(self, documents: Sequence[Document], *, start: int = 1) -> Shown:
        """The documents as numbered blocks within the budget."""
        return show_documents(documents, self.document_tokens, self.chat.count_tokens, start=start)


def at_least(minimum: int, **options: int) -> None:
    """Raises ValueError that names the first option below its minimum."""
    for name, value in options.items():
        if value < minimum:
            raise ValueError(f"{name} is {value}; it is at least {minimum}")
