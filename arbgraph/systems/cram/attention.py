"""Attention weights multiplied by a number per token and renormalised: ln(s) added to the attention scores of chosen heads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from arbgraph.chat.base import ChatError, ChatModel, Messages, Reply, Request
from arbgraph.chat.cached import CachedChat
from arbgraph.chat.transformers_chat import TransformersChat
from arbgraph.schema import Failed, content_id

Head: TypeAlias = tuple[int, int]  # layer and query head, from 0


def all_heads(model: Any) -> list[Head]:
    """Every head of a causal model."""
    config = model.config.get_text_config()
    return [(layer, head) for layer in range(config.num_hidden_layers) for head in range(config.num_attention_heads)]


def attention_layers(model: Any) -> dict[int, nn.Module]:
    """The self-attention modules by layer. Raises ChatError on a model whose layers cannot be told."""
    found = {m.layer_idx: m for _, m in model.named_modules() if type(m).__name__.endswith("Attention") and hasattr(m, "layer_idx")}
    if len(found) != model.config.get_text_config().num_hidden_layers:
        raise ChatError(f"{type(model).__name__}: its attention layers cannot be found, so attention cannot be scaled by credibility")
    return found


@contextmanager
def reweighted(model: Any, weights: Tensor, heads: Sequence[Head] | None = None) -> Iterator[None]:
    """While it lasts, every chosen head's attention to token i is multiplied by `weights[i]`, for all queries, and renormalised.

    Args:
        model: a causal model of transformers that reads one sequence, without padding. weights: `[P]` in [0, 1], for the first P tokens;
            later ones keep theirs. heads: None takes all.

    The model computes with its eager attention meanwhile, the one whose mask is always given as numbers; with weights of 1 alone, it stays
    as it is, to the last bit.
    Raises ValueError on weights out of range or on a head that the model does not have.
    """
    if bool(((weights < 0) | (weights > 1)).any()):
        raise ValueError("attention weights lie in [0, 1]")
    known = all_heads(model)
    chosen = known if heads is None else list(heads)
    if unknown := sorted(set(chosen) - set(known)):
        raise ValueError(f"the model has no head {unknown[0]}; it has {known[-1][0] + 1} layers of {known[-1][1] + 1} heads")
    layers = attention_layers(model)
    if bool((weights == 1).all()):
        yield
        return
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    handles = []
    try:
        for layer, module in layers.items():
            selected = torch.tensor([(layer, head) in set(chosen) for head in range(known[-1][1] + 1)])
            if selected.any():
                bias = torch.where(selected[:, None], weights.log(), 0.0)[None, :, None, :]
                handles.append(module.register_forward_pre_hook(_Bias(bias), with_kwargs=True))
        yield
    finally:
        for handle in handles:
            handle.remove()
        model.set_attn_implementation(before)


class _Bias:
    """A hook that adds `[1, H, 1, P]` to the attention mask `[B, 1, Q, K]` of a layer."""

    def __init__(self, bias: Tensor) -> None:
        self.bias = bias

    def __call__(self, module: nn.Module, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        mask = kwargs.get("attention_mask")
        if not isinstance(mask, Tensor) or mask.dim() != 4 or mask.dtype == torch.bool or mask.shape[0] != 1:
            raise ChatError(f"{type(module).__name__}: its attention mask is not one of numbers for one sequence")
        if mask.shape[-1] < self.bias.shape[-1]:
            raise ChatError(f"{type(module).__name__}: its attention mask covers {mask.shape[-1]} of {self.bias.shape[-1]} prompt tokens")
        beyond = mask.shape[-1] - self.bias.shape[-1]
        bias = nn.functional.pad(self.bias, (0, beyond)).to(mask.device, mask.dtype)
        return args, {**kwargs, "attention_mask": mask + bias}


class ReweightedChat(ChatModel):
    """A `TransformersChat` in which conversations may carry a weight per quoted block; other conversations pass through.

    Args:
        chat: the model, a `CachedChat` around it too; replies to weighted conversations are not cached.
        heads: those in which attention is scaled; None is all.
    """

    def __init__(self, chat: ChatModel, heads: Sequence[Head] | None = None) -> None:
        super().__init__()
        inner = chat.inner if isinstance(chat, CachedChat) else chat
        if not isinstance(inner, TransformersChat):
            raise ChatError(f"scaling attention needs the model itself: give a TransformersChat, not a {type(inner).__name__}")
        self.plain, self.chat, self.heads = chat, inner, None if heads is None else tuple(sorted(heads))
        self.name = chat.name
        self.revision = content_id(chat.revision, "reweighted", self.heads)
        self._weights: dict[str, dict[str, float]] = {}

    @property
    def parameters(self) -> dict[str, Any]:
        return self.chat.parameters

    def count_tokens(self, text: str) -> int:
        return self.chat.count_tokens(text)

    def weigh(self, messages: Messages, kind: str, weights: Sequence[float]) -> None:
        """From now on, the n-th block of a kind in this conversation, and in its repair turns, is attended to with the n-th weight."""
        self._weights[_code(messages)] = {f"{kind} {number}": weight for number, weight in enumerate(weights)}

    def forget(self) -> None:
        """Forgets all weights."""
        self._weights.clear()

    def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Reply | Failed]]:
        plain = []
        for row, request in enumerate(requests):
            if not self._changes(request.messages):
                plain.append(row)
                continue
            with self._applied(request.messages):
                yield from ((row, reply) for _, reply in self.chat.generate([request]))
        yield from ((plain[row], reply) for row, reply in self.plain.generate([requests[row] for row in plain]))

    def option_logprobs(self, prompts: Sequence[Messages], options: Sequence[str]) -> Tensor:
        rows = []
        for messages in prompts:
            with self._applied(messages):
                rows.append(self.chat.option_logprobs([messages], options))
        return torch.cat(rows) if rows else torch.zeros(0, len(options), dtype=torch.float64)

    def _changes(self, messages: Messages) -> bool:
        return any(weight != 1 for weight in self._weights.get(_code(messages), {}).values())

    @contextmanager
    def _applied(self, messages: Messages) -> Iterator[None]:
        if not self._changes(messages):
            yield
            return
        with reweighted(self.chat.model, self.token_weights(messages), self.heads):
            yield

    def token_weights(self, messages: Messages) -> Tensor:
        """The weight of every prompt token `[P]`: that of the block whose marker, text or end it belongs to, else 1."""
        code = _code(messages)
        text = self.chat.render(messages)
        encoded = self.chat.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        weights = torch.ones(len(encoded["input_ids"]))
        starts = torch.tensor([start for start, _ in encoded["offset_mapping"]])
        ends = torch.tensor([end for _, end in encoded["offset_mapping"]])
        seen: dict[str, int] = {}
        for match in re.finditer(rf"<(\w+)-{code}[ >].*?</\1-{code}>", text, re.DOTALL):
            number = seen.get(match[1], 0)
            seen[match[1]] = number + 1
            weight = self._weights.get(code, {}).get(f"{match[1]} {number}", 1.0)
            weights[(starts < match.end()) & (ends > match.start())] = weight
        return weights


def _code(messages: Messages) -> str:
    """The code of a conversation's markers, from the first line of its user turn; empty where it has none."""
    user = next((turn.content for turn in messages.turns if turn.role == "user"), "")
    found = re.match(r"Code: (\w+)\n", user)
    return found[1] if found else ""
