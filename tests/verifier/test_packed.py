from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from arbgraph.verifier import RelationVerifier, packed
from arbgraph.verifier.packed import PackedLinear, pack_linears
from tests.verifier.conftest import PAIRS

pytestmark = pytest.mark.skipif(not packed._is_exact(torch.float32), reason="this build of PyTorch has no packed linear layers")


class Feed(nn.Module):
    """The first half of a feed-forward block, as transformers writes it."""

    def __init__(self, activation: nn.Module) -> None:
        super().__init__()
        self.dense, self.intermediate_act_fn = nn.Linear(24, 48), activation

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return self.intermediate_act_fn(self.dense(states))


def activation(name: str) -> nn.Module:
    from transformers.activations import ACT2FN

    return ACT2FN[name]


@pytest.mark.parametrize(("name", "fused"), [("gelu", True), ("gelu_new", False), ("relu", False)])
def test_same_numbers_and_only_the_exact_gelu_is_fused(name: str, fused: bool) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(Feed(activation(name)), nn.Linear(48, 3, bias=False))
    states = torch.randn(5, 7, 24)
    with torch.inference_mode():
        expected = model(states)
        assert pack_linears(model) == 2
        torch.testing.assert_close(model(states), expected, atol=1e-5, rtol=1e-5)
    assert isinstance(model[0].dense, PackedLinear)
    assert (model[0].dense.activation == "gelu") == fused
    assert isinstance(model[0].intermediate_act_fn, nn.Identity) == fused


def test_left_alone_where_the_operators_are_missing(monkeypatch: pytest.MonkeyPatch, tiny_checkpoint: Path) -> None:
    fast = RelationVerifier.load(tiny_checkpoint)
    assert any(isinstance(module, PackedLinear) for module in fast.model.modules())
    monkeypatch.setattr(packed, "_is_exact", lambda dtype: False)
    plain = RelationVerifier.load(tiny_checkpoint)
    assert not any(isinstance(module, PackedLinear) for module in plain.model.modules())
    torch.testing.assert_close(fast.logits(PAIRS), plain.logits(PAIRS), atol=1e-5, rtol=0)
