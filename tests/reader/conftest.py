"""A reader with a tiny random network, saved with its base, and a network that knows one word."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from arbgraph.checkpoint import Base, CheckpointConfig, save_checkpoint
from arbgraph.models import resolve_model
from arbgraph.reader import KIND, Reader
from arbgraph.reader.model import ReaderModel, SpanHead
from arbgraph.reader.tokens import ReaderTokenizer


class Knows(nn.Module):
    """Scores a span of one token 6 where it is the given token, other spans -6, no answer 0."""

    def __init__(self, token: int, width: int = 4) -> None:
        super().__init__()
        self.token, self.width = token, width

    def forward(self, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        known = (batch["input_ids"] == self.token) & batch["starts"]
        spans = torch.full((*known.shape, self.width), float("-inf"))
        spans[..., 0] = torch.where(known, 6.0, -6.0).masked_fill(~(batch["starts"] & batch["ends"]), float("-inf"))
        return spans, torch.zeros(len(known))


@pytest.fixture(scope="session")
def words():
    """The packaged encoder's tokenizer."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(resolve_model("sentence-transformers/all-MiniLM-L6-v2").path)


@pytest.fixture
def knows_zebra(words) -> Reader:
    return Reader(Knows(words.convert_tokens_to_ids("zebra")), ReaderTokenizer(words, max_tokens=48, max_question=16, overlap=12))


@pytest.fixture(scope="session")
def saved(words, tmp_path_factory) -> Path:
    """A checkpoint folder of a reader whose base is two random layers."""
    from transformers import BertConfig, BertModel

    folder = tmp_path_factory.mktemp("reader")
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, max_position_embeddings=128
    )
    encoder = BertModel(config).eval()
    encoder.save_pretrained(folder / "base")
    words.save_pretrained(folder / "base")
    head = SpanHead(32, width=6, rank=8)
    model = ReaderModel(encoder, head, 32)
    with torch.no_grad():
        # From zero, neither would be seen by a test.
        model.codes.weight.normal_()
        head.length.weight.normal_()
    base = resolve_model(str(folder / "base"))
    save_checkpoint(
        folder / "reader",
        CheckpointConfig(
            kind=KIND,
            base=Base(name=base.name, sha256=base.sha256),
            max_tokens=64,
            settings={"width": 6, "rank": 8, "dropout": 0.1, "max_question": 16, "overlap": 16, "trained": "adapter"},
            calibration={"temperature": 1.5, "bias": 0.25},
        ),
        head=model.trained(),
        card="# reader",
        metrics={},
        training={},
    )
    return folder / "reader"


@pytest.fixture
def reader(saved) -> Reader:
    return Reader.load(saved, device="cpu")
