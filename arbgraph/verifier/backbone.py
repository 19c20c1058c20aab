"""Bases of a verifier: any encoder or decoder that transformers reads, from safetensors or GGUF, ready to read pairs.

Encoders keep their tokenizer's own pair layout. Decoders have none (a causal language model never saw two texts as a pair), so
theirs is set here: start, first text, end, second text, end. They are padded on the right, where causal attention never looks back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arbgraph.models import ResolvedModel

if TYPE_CHECKING:
    from torch import nn


class BackboneError(ValueError):
    """A base that cannot read pairs; the message names it and says why."""


def load_config(resolved: ResolvedModel, *, dropout: float | None = None) -> Any:
    """The base's configuration; `dropout`, where given, replaces every dropout probability in it.

    Raises BackboneError on an encoder-decoder, which has no single state per token of the pair.
    """
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(resolved.path, **resolved.load_arguments())
    if getattr(config, "is_encoder_decoder", False):
        raise BackboneError(f"{resolved.name}: is an encoder-decoder ({config.model_type}); give an encoder or a decoder")
    if dropout is not None:
        for name in [name for name in config.to_dict() if name.endswith(("dropout_prob", "dropout"))]:
            setattr(config, name, dropout)
    # A cache of keys and values only serves generation.
    config.use_cache = False
    return config


def is_decoder(config: Any) -> bool:
    """Whether a model of this configuration sees only the tokens to the left."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, MODEL_FOR_MASKED_LM_MAPPING_NAMES

    kind = config.model_type
    return kind in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES and kind not in MODEL_FOR_MASKED_LM_MAPPING_NAMES


def load_backbone(resolved: ResolvedModel, config: Any | None = None) -> nn.Module:
    """The base in float32 and eval mode; a GGUF file is dequantised, which gives the same bytes every time."""
    import torch
    from transformers import AutoModel

    config = config or load_config(resolved)
    arguments = resolved.load_arguments()
    # Adapters are trained and merged in float32, whatever precision the weights were stored in.
    return AutoModel.from_pretrained(resolved.path, config=config, dtype=torch.float32, use_safetensors=True, **arguments)


def load_tokenizer(resolved: ResolvedModel, config: Any | None = None) -> Any:
    """The base's tokenizer; that of a decoder gets a pair layout, a padding token and right padding.

    Raises BackboneError when a decoder's tokenizer is slow or has no end token.
    """
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(resolved.path, **resolved.load_arguments())
    if is_decoder(config or load_config(resolved)):
        _lay_out_pairs(tokenizer, resolved.name)
    return tokenizer


def _lay_out_pairs(tokenizer: Any, name: str) -> None:
    from tokenizers.processors import TemplateProcessing

    if not getattr(tokenizer, "is_fast", False):
        raise BackboneError(f"{name}: its tokenizer gives no sequence ids; use a fast tokenizer")
    end = tokenizer.eos_token
    if end is None:
        raise BackboneError(f"{name}: its tokenizer has no end token to set between two texts; name one in tokenizer_config.json")
    # The first state of a decoder is an attention sink; a token of its own keeps it out of the first text's mean.
    start = tokenizer.bos_token or end
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single=f"{start} $A {end}",
        pair=f"{start} $A {end} $B:1 {end}:1",
        special_tokens=[(token, tokenizer.convert_tokens_to_ids(token)) for token in dict.fromkeys((start, end))],
    )
    tokenizer.pad_token = tokenizer.pad_token or end
    tokenizer.padding_side = "right"
