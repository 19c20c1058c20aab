"""The network: a pair read jointly by an encoder, and a head that compares the two segments."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor, nn

Anchor = Literal["first", "last"]


class SegmentHead(nn.Module):
    """Three relation logits from token states: compares the mean of the first segment with the mean of the second.

    LayerNorm of [anchor token, mean(a), mean(b), |mean(a) - mean(b)|, mean(a) * mean(b)], then two linear layers. Comparison
    features, when used, are standardised, projected to 64 and joined before the first linear layer.

    Args:
        hidden: H, width of the encoder.
        features: F, number of comparison features; 0 uses none.
        dropout: before the last layer.
        anchor: the token whose state stands for the whole pair: the first, as encoders are trained, or the last, the only one that
            has seen both texts where attention looks to the left alone. mean(b) has then seen the first text, and mean(a) not the second.
    """

    feature_mean: Tensor
    feature_scale: Tensor

    def __init__(self, hidden: int, *, features: int = 0, dropout: float = 0.1, anchor: Anchor = "first") -> None:
        super().__init__()
        if anchor not in get_args(Anchor):
            raise ValueError(f"anchor {anchor!r}; choose one of {', '.join(get_args(Anchor))}")
        self.anchor: Anchor = anchor
        self.norm = nn.LayerNorm(5 * hidden)
        self.features = features
        if features:
            self.register_buffer("feature_mean", torch.zeros(features))
            self.register_buffer("feature_scale", torch.ones(features))
            self.compare = nn.Linear(features, 64)
        self.mix = nn.Linear(5 * hidden + (64 if features else 0), hidden)
        self.dropout = nn.Dropout(dropout)
        self.classify = nn.Linear(hidden, 3)

    def standardise(self, features: Tensor) -> None:
        """Takes mean and scale from a sample of features `[N, F]`; a constant feature keeps scale 1."""
        scale = features.std(0, correction=0)
        self.feature_mean.copy_(features.mean(0))
        self.feature_scale.copy_(torch.where(scale > 1e-6, scale, torch.ones_like(scale)))

    def forward(self, states: Tensor, segments: Tensor, features: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        """Logits `[B, 3]` of token states `[B, L, H]`, segments `[B, L]` and features `[B, F]`.

        `mask` `[B, L]` is 1 on tokens and 0 on right padding; only the last-token anchor needs it.
        """
        first, second = (_segment_mean(states, segments == part) for part in (0, 1))
        joint = self.norm(torch.cat([self._anchored(states, mask), first, second, (first - second).abs(), first * second], dim=-1))
        if self.features:
            if features is None:
                raise ValueError(f"this head compares {self.features} features; none were given")
            # A rare feature has a tiny scale; without the bound one odd pair would drown the text.
            standard = ((features - self.feature_mean) / self.feature_scale).clamp(-5, 5)
            joint = torch.cat([joint, nn.functional.gelu(self.compare(standard))], dim=-1)
        return self.classify(self.dropout(nn.functional.gelu(self.mix(joint))))

    def _anchored(self, states: Tensor, mask: Tensor | None) -> Tensor:
        if self.anchor == "first":
            return states[:, 0]
        if mask is None:
            raise ValueError("the last-token anchor needs the attention mask; none was given")
        return states[torch.arange(len(states), device=states.device), mask.sum(1).long() - 1]


def _segment_mean(states: Tensor, mask: Tensor) -> Tensor:
    weight = mask.unsqueeze(-1).to(states.dtype)
    return (states * weight).sum(1) / weight.sum(1).clamp(min=1)


class RelationModel(nn.Module):
    """Encoder (plain, or wrapped by PEFT) and segment head."""

    def __init__(self, encoder: nn.Module, head: SegmentHead) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        """Logits `[B, 3]` of a padded batch (`PairTokenizer.batch`, plus `features` `[B, F]` where the head compares)."""
        inputs = {key: value for key, value in batch.items() if key not in ("segments", "features")}
        states = self.encoder(**inputs).last_hidden_state
        states = states.to(self.head.norm.weight.dtype)
        return self.head(states, batch["segments"], batch.get("features"), batch.get("attention_mask"))


class ClassifierModel(nn.Module):
    """A ready Hugging Face sequence classifier behind the same call."""

    def __init__(self, classifier: nn.Module) -> None:
        super().__init__()
        self.classifier = classifier

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        """Logits `[B, 3]`."""
        return self.classifier(**{key: value for key, value in batch.items() if key not in ("segments", "features")}).logits.float()
