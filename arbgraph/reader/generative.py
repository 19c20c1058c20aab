"""Generative reading: a causal language model that says how likely each phrase of a passage is as the answer to a question.

A span reader of the size of a sentence encoder finds where an answer stands, and is often wrong about its form ("1971" or "May 1971"). A
language model knows better how such questions are answered. It is slower, so it scores phrases that others have found; all phrases of
a passage are scored in one pass that reads the passage once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from arbgraph.checkpoint import ADAPTER_CONFIG, Checkpoint, CheckpointError, load_checkpoint
from arbgraph.encoder import length_sorted_batches
from arbgraph.reader.reader import Answers, Span
from arbgraph.reader.readings import find_spans

KIND = "GenerativeReader"
PROMPT = "reading/1"
NO_ANSWER = "none"


@dataclass(frozen=True)
class Packed:
    """Prompts, each followed by its replies, in one batch.

    Attributes:
        ids, positions: `[B, L]`; every reply counts on from the end of its prompt.
        mask: `[B, 1, L, L]` additive: a reply sees its prompt and itself.
        row, place, token, owner: `[T]`: the logits at (row, place) predict `token` of reply number `owner`.
        replies: replies in the batch.
    """

    ids: Tensor
    positions: Tensor
    mask: Tensor
    row: Tensor
    place: Tensor
    token: Tensor
    owner: Tensor
    replies: int


def pack(prompts: Sequence[Sequence[int]], replies: Sequence[Sequence[Sequence[int]]], pad: int) -> Packed:
    """Packs token ids: `replies` holds those of every prompt, each with its end token."""
    total = [len(prompt) + sum(len(reply) - 1 for reply in some) for prompt, some in zip(prompts, replies, strict=True)]
    size, length = len(prompts), max(total)
    ids, positions = torch.full((size, length), pad), torch.zeros(size, length, dtype=torch.long)
    # Padding sees itself: a row without anything to see has no softmax.
    seen = torch.eye(length, dtype=torch.bool).repeat(size, 1, 1)
    rows, places, tokens, owners = [], [], [], []
    number = 0
    for row, (prompt, some) in enumerate(zip(prompts, replies, strict=True)):
        begin = len(prompt)
        ids[row, :begin], positions[row, :begin] = torch.tensor(prompt), torch.arange(begin)
        seen[row, :begin, :begin] = torch.ones(begin, begin, dtype=torch.bool).tril()
        at = begin
        for reply in some:
            width = len(reply) - 1
            ids[row, at : at + width] = torch.tensor(reply[:-1])
            positions[row, at : at + width] = torch.arange(begin, begin + width)
            seen[row, at : at + width, :begin] = True
            seen[row, at : at + width, at : at + width] = torch.ones(width, width, dtype=torch.bool).tril()
            rows += [row] * len(reply)
            places += [begin - 1, *range(at, at + width)]
            tokens += reply
            owners += [number] * len(reply)
            number += 1
            at += width
    mask = torch.zeros(seen.shape).masked_fill(~seen, torch.finfo(torch.float32).min)[:, None]
    row, place, token, owner = (torch.tensor(some) for some in (rows, places, tokens, owners))
    return Packed(ids, positions, mask, row, place, token, owner, number)


def reply_logprobs(model: Any, packed: Packed) -> Tensor:
    """Log-probability of every reply given its prompt, `[R]` float32, with gradient.

    Only the positions that predict a reply's token are multiplied with the vocabulary.
    """
    dtype = model.get_input_embeddings().weight.dtype
    body = model.get_base_model() if hasattr(model, "get_base_model") else model
    hidden = body.model(
        input_ids=packed.ids, attention_mask=packed.mask.to(dtype), position_ids=packed.positions, use_cache=False
    ).last_hidden_state
    width = packed.ids.shape[1]
    where, back = torch.unique(packed.row * width + packed.place, return_inverse=True)
    logits = body.get_output_embeddings()(hidden.flatten(0, 1)[where]).float()
    picked = logits[back, packed.token] - logits.logsumexp(-1)[back]
    return torch.zeros(packed.replies, device=picked.device).index_add(0, packed.owner, picked)


class ReadingPrompt:
    """Token ids of prompts and replies.

    Args:
        tokenizer: of the model. max_tokens: of passage and question; a longer passage is cut at the end, and `cut` counts it.
    """

    def __init__(self, tokenizer: Any, max_tokens: int) -> None:
        self.tokenizer, self.max_tokens, self.cut = tokenizer, max_tokens, 0
        self.end: int = tokenizer.eos_token_id

    def prompt(self, question: str, passage: str) -> list[int]:
        """The question stands before the passage, which is read with it in mind, and after it, where the reply begins."""
        asked = self._ids(f"Question: {_flat(question)}\nPassage: ")[: self.max_tokens // 3]
        again = self._ids(f"\nQuestion: {_flat(question)}\nAnswer:")[-self.max_tokens // 3 :]
        read = self._ids(_flat(passage))
        room = self.max_tokens - len(asked) - len(again)
        self.cut += len(read) > room
        return [*asked, *read[:room], *again]

    def reply(self, text: str) -> list[int]:
        """A reply with its end token."""
        return [*self._ids(f" {_flat(text)}"), self.end]

    def _ids(self, text: str) -> list[int]:
        # A text may hold the model's control tokens or broken characters; they are letters here.
        whole = text.encode("utf-8", "replace").decode()
        return self.tokenizer(whole, add_special_tokens=False, split_special_tokens=True)["input_ids"]


def _flat(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


class GenerativeReader:
    """Scores phrases as answers, and reads by generating.

    Args:
        model: a causal language model in eval mode.
        prompt: prompts and replies for it.
        batch_size: passages per forward pass.
        checkpoint: that the model was loaded from.
    """

    def __init__(self, model: Any, prompt: ReadingPrompt, *, batch_size: int = 8, checkpoint: Checkpoint | None = None) -> None:
        self.model, self.prompt, self.batch_size, self.checkpoint = model.eval(), prompt, batch_size, checkpoint

    @classmethod
    def load(
        cls, name: str | Path = "reader-smollm2", *, offline: bool = True, base: str | None = None, **options: Any
    ) -> GenerativeReader:
        """Loads a checkpoint folder or a shipped one by name; `options` go to `TransformersChat`, which loads the model.

        Raises CheckpointError when the folder is damaged, its base missing or another one, or its prompt of another version.
        """
        from arbgraph.chat.transformers_chat import TransformersChat

        checkpoint = load_checkpoint(name, kind=KIND)
        asked = checkpoint.config.settings.get("prompt")
        if asked != PROMPT:
            raise CheckpointError(
                f"{checkpoint.path}: was trained on the prompt {asked!r}, and this version asks {PROMPT!r}; train it again"
            )
        resolved = checkpoint.resolve_base(offline=offline, name=base)
        adapter = checkpoint.path if ADAPTER_CONFIG in checkpoint.config.files else None
        chat = TransformersChat(base or resolved.name, adapter=adapter, offline=offline, constrain="never", **options)
        return cls(chat.model, ReadingPrompt(chat.tokenizer, checkpoint.config.max_tokens or 384), checkpoint=checkpoint)

    @torch.inference_mode()
    def score(self, questions: Sequence[str], passages: Sequence[str], phrases: Sequence[Sequence[str]]) -> list[Tensor]:
        """Per passage `[1 + P]` float64: log-probabilities of "no answer" and of each of its phrases as the whole reply.

        They do not sum to 1 over the phrases, since the model may say other things. Raises ValueError when the numbers differ.
        """
        if not len(questions) == len(passages) == len(phrases):
            raise ValueError(f"{len(questions)} questions, {len(passages)} passages and {len(phrases)} lists of phrases; give one of each")
        prompts = [self.prompt.prompt(*pair) for pair in zip(questions, passages, strict=True)]
        replies = [[self.prompt.reply(text) for text in (NO_ANSWER, *some)] for some in phrases]
        lengths = [len(prompt) + sum(map(len, some)) for prompt, some in zip(prompts, replies, strict=True)]
        found: list[Tensor] = [torch.zeros(0)] * len(prompts)
        for rows in length_sorted_batches(lengths, self.batch_size):
            packed = pack([prompts[row] for row in rows], [replies[row] for row in rows], self.prompt.end)
            parts = reply_logprobs(self.model, _moved(packed, self.model.device)).double().cpu().split([len(replies[row]) for row in rows])
            for row, part in zip(rows, parts, strict=True):
                found[row] = part
        return found

    @torch.inference_mode()
    def read(self, questions: Sequence[str], passages: Sequence[str], *, n_best: int = 1, max_new_tokens: int = 24) -> list[Answers]:
        """Reads each passage by beam search for replies, `n_best` wide; replies that the passage does not hold are left out.

        `no_answer` is the share of "none" among the replies found. Raises ValueError when the numbers differ.
        """
        if len(questions) != len(passages):
            raise ValueError(f"{len(questions)} questions and {len(passages)} passages; give one question a passage")
        prompts = [self.prompt.prompt(*pair) for pair in zip(questions, passages, strict=True)]
        found: list[Answers] = [Answers((), 1.0)] * len(prompts)
        for rows in length_sorted_batches([len(prompt) for prompt in prompts], self.batch_size):
            replies = self._replies([prompts[row] for row in rows], n_best, max_new_tokens)
            for row, some in zip(rows, replies, strict=True):
                found[row] = _answers(passages[row], some)
        return found

    def _replies(self, prompts: list[list[int]], beams: int, max_new_tokens: int) -> list[dict[str, float]]:
        longest = max(map(len, prompts))
        ids = torch.tensor([[self.prompt.end] * (longest - len(prompt)) + prompt for prompt in prompts], device=self.model.device)
        mask = torch.tensor([[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts], device=self.model.device)
        options: dict[str, Any] = {"num_beams": beams, "num_return_sequences": beams, "length_penalty": 0.0} if beams > 1 else {}
        output = self.model.generate(
            input_ids=ids, attention_mask=mask, max_new_tokens=max_new_tokens, do_sample=False,
            eos_token_id=self.prompt.end, pad_token_id=self.prompt.end, **options,
        )  # fmt: skip
        texts = self.prompt.tokenizer.batch_decode(output[:, longest:], skip_special_tokens=True)
        named = [list(dict.fromkeys([NO_ANSWER, *map(_flat, texts[row * beams : (row + 1) * beams])])) for row in range(len(prompts))]
        packed = pack(prompts, [[self.prompt.reply(text) for text in some] for some in named], self.prompt.end)
        parts = reply_logprobs(self.model, _moved(packed, self.model.device)).double().cpu().split([len(some) for some in named])
        return [dict(zip(some, part.tolist(), strict=True)) for some, part in zip(named, parts, strict=True)]


def _moved(packed: Packed, device: torch.device) -> Packed:
    fields: dict[str, Any] = {name: value.to(device) if isinstance(value, Tensor) else value for name, value in vars(packed).items()}
    return Packed(**fields)


def _answers(passage: str, replies: dict[str, float]) -> Answers:
    odds = {text: math.exp(score) for text, score in replies.items()}
    total = sum(odds.values()) or 1.0
    spans = []
    for text, mass in sorted(odds.items(), key=lambda pair: -pair[1]):
        places = find_spans(passage, [text]) if text != NO_ANSWER else ()
        if places:
            start, end = places[0]
            spans.append(Span(passage[start:end], start, end, mass / total))
    return Answers(tuple(spans), odds[NO_ANSWER] / total)
