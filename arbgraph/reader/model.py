"""The reader's network: question and passage read jointly by an encoder, and a head that scores every short span and "not stated"."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from arbgraph.reader.tokens import CODES


class SpanHead(nn.Module):
    """Scores of all spans up to `width` tokens, and of no answer, from token states.

    A token is seen beside the mean of the question: LayerNorm of [h, h * q, h - q], a linear layer, GELU. A span scores
    start(i) + end(j) + u(i).v(j) + length(j - i); the bilinear term lets both ends agree. No answer scores from
    [q, p, |q - p|, q * p] with p the mean of the passage. Both compete in one softmax.

    Args:
        hidden: H, width of the encoder.
        width: W, longest span in tokens.
        rank: of the bilinear term.
        dropout: before the last layers.
    """

    def __init__(self, hidden: int, *, width: int = 30, rank: int = 64, dropout: float = 0.1) -> None:
        super().__init__()
        self.width, self.rank = width, rank
        self.norm = nn.LayerNorm(3 * hidden)
        self.mix = nn.Linear(3 * hidden, hidden)
        self.dropout = nn.Dropout(dropout)
        self.ends = nn.Linear(hidden, 2)
        self.pair = nn.Linear(hidden, 2 * rank)
        self.length = nn.Embedding(width, 1)
        self.whole_norm = nn.LayerNorm(4 * hidden)
        self.whole_mix = nn.Linear(4 * hidden, hidden)
        self.none = nn.Linear(hidden, 1)
        nn.init.zeros_(self.length.weight)

    def forward(self, states: Tensor, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Span scores `[B, L, W]`, where `[b, i, w]` is the span of tokens i..i+w and impossible ones are -inf, and `[B]` of no answer.

        Args:
            states: `[B, L, H]`.
            batch: with `question` and `passage` `[B, L]` bool, and `starts` and `ends` `[B, L]` bool: where a span may start and end.
        """
        question, passage = (_mean(states, batch[part]) for part in ("question", "passage"))
        beside = question.unsqueeze(1)
        tokens = torch.cat([states, states * beside, states - beside], dim=-1)
        tokens = self.dropout(nn.functional.gelu(self.mix(self.norm(tokens))))
        start, end = self.ends(tokens).float().unbind(-1)
        first, last = self.pair(tokens).float().split(self.rank, dim=-1)
        places = torch.arange(states.shape[1], device=states.device)[:, None] + torch.arange(self.width, device=states.device)
        inside = places < states.shape[1]
        places = places.clamp(max=states.shape[1] - 1)
        agreement = (first @ last.transpose(1, 2)).gather(2, places.expand(len(states), -1, -1)) / self.rank**0.5
        scores = start.unsqueeze(2) + end[:, places] + agreement + self.length.weight[:, 0].float()
        possible = batch["starts"].unsqueeze(2) & batch["ends"][:, places] & inside
        whole = torch.cat([question, passage, (question - passage).abs(), question * passage], dim=-1)
        none = self.none(self.dropout(nn.functional.gelu(self.whole_mix(self.whole_norm(whole)))))
        return scores.masked_fill(~possible, float("-inf")), none.squeeze(-1).float()


def _mean(states: Tensor, mask: Tensor) -> Tensor:
    weight = mask.unsqueeze(-1).to(states.dtype)
    return (states * weight).sum(1) / weight.sum(1).clamp(min=1)


class ReaderModel(nn.Module):
    """Encoder (plain, or wrapped by PEFT), an embedding of what its vocabulary does not show, and the span head.

    The base's vocabulary is lower-cased, and whether a word of the passage stands in the question is slow to learn from few examples; both
    are added to the word embeddings (`arbgraph.reader.tokens`), from zero, so that training starts at the base.
    """

    def __init__(self, encoder: nn.Module, head: SpanHead, hidden: int) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head
        self.codes = nn.Embedding(CODES, hidden)
        nn.init.zeros_(self.codes.weight)

    def forward(self, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Span scores `[B, L, W]` and no-answer scores `[B]` of a padded batch (`ReaderTokenizer.batch`)."""
        words = self.encoder.get_input_embeddings()(batch["input_ids"])  # pyright: ignore[reportCallIssue]
        states = self.encoder(
            inputs_embeds=words + self.codes(batch["codes"]),
            attention_mask=batch["attention_mask"],
            token_type_ids=batch["token_type_ids"],
        ).last_hidden_state
        return self.head(states, batch)

    def trained(self) -> dict[str, Tensor]:
        """The tensors outside the encoder, by name."""
        return {name: tensor for name, tensor in self.state_dict().items() if not name.startswith("encoder.")}
