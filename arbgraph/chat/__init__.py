"""Chat models behind one batch-first interface. Backends live in their own modules, so that none is imported unasked."""

from arbgraph.chat.base import ChatError, ChatModel, Completion, Message, Messages, Reply, Request, Sampling

__all__ = ["ChatError", "ChatModel", "Completion", "Message", "Messages", "Reply", "Request", "Sampling"]
