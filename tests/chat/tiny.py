"""A causal language model small enough to build in a test: random weights, a byte tokenizer, a chat template."""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
NO_SYSTEM = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system turns') }}{% endif %}" + TEMPLATE
SPECIALS = ["<|im_start|>", "<|im_end|>", "<|pad|>", "[INST]"]
WORDS = ["A", "B", "un", "known", "Ġunknown", "ĠA", "ĠB"]


def byte_tokenizer(template: str = TEMPLATE) -> PreTrainedTokenizerFast:
    """Bytes, a few whole words, and control tokens; words after a space are other tokens than words without."""
    vocabulary = {token: i for i, token in enumerate([*SPECIALS, *sorted(pre_tokenizers.ByteLevel.alphabet())])}
    merges = []
    for left, right in [("u", "n"), ("k", "n"), ("o", "w"), ("kn", "ow"), ("know", "n"), ("Ġ", "A"), ("Ġ", "B")]:
        vocabulary.setdefault(left + right, len(vocabulary))
        merges.append((left, right))
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return _wrapped(tokenizer, template)


def metaspace_tokenizer(template: str = TEMPLATE) -> PreTrainedTokenizerFast:
    """Characters, with a space written as a leading mark that begins every text, as in SentencePiece models."""
    characters = [chr(code) for code in range(32, 127)] + ["\n", "▁", "<unk>"]
    vocabulary = {token: i for i, token in enumerate([*SPECIALS, *characters])}
    merges = []
    for right in ("A", "B"):
        vocabulary["▁" + right] = len(vocabulary)
        merges.append(("▁", right))
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    return _wrapped(tokenizer, template)


def _wrapped(tokenizer: Tokenizer, template: str) -> PreTrainedTokenizerFast:
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|pad|>")
    wrapped.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "[INST]"]})
    wrapped.chat_template = template
    return wrapped


def save_tiny(folder: Path, tokenizer: PreTrainedTokenizerFast | None = None, context: int = 512, seed: int = 0) -> Path:
    """Writes model and tokenizer; the same weights for a seed."""
    tokenizer = tokenizer or byte_tokenizer()
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=context,
        initializer_range=0.5,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
