"""Linear layers packed for oneDNN: the same numbers in less time on a CPU.

PyTorch sends float32 products to MKL, which on processors of other makers than its own leaves the widest vector
instructions unused; oneDNN uses them, and folds the activation that follows into the product. The operators are the ones that
`torch.compile` emits when it freezes a model for inference.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

_ROWS = 512  # a typical batch of tokens, by which oneDNN chooses the layout of the weights


class PackedLinear(nn.Module):
    """A linear layer, with the exact GELU after it where `activation` is "gelu", for inference. Input `[.., K]`, output `[.., N]`."""

    def __init__(self, linear: nn.Linear, activation: str = "none") -> None:
        super().__init__()
        self.in_features, self.out_features, self.activation = linear.in_features, linear.out_features, activation
        # Plain attributes: an opaque tensor can be neither saved nor moved.
        self._weight = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), _ROWS)
        self._bias = None if linear.bias is None else linear.bias.detach()

    def forward(self, states: Tensor) -> Tensor:
        approximation = "none" if self.activation == "gelu" else ""
        return torch.ops.mkldnn._linear_pointwise(states, self._weight, self._bias, self.activation, [], approximation)

    def extra_repr(self) -> str:
        return f"{self.in_features}, {self.out_features}, activation={self.activation!r}"


@torch.inference_mode()
def pack_linears(model: nn.Module) -> int:
    """Replaces the linear layers of a model in place, for inference on the CPU; returns how many.

    None are replaced where this build of PyTorch has no such operators, or where they do not give what `nn.Linear` gives.
    """
    linears = [module for module in model.modules() if type(module) is nn.Linear]
    if not linears or not all(_is_exact(dtype) for dtype in {module.weight.dtype for module in linears}):
        return 0
    for module in list(model.modules()):
        if _has_gelu(module):
            module.dense = PackedLinear(module.dense, "gelu")  # pyright: ignore[reportArgumentType]
            module.intermediate_act_fn = nn.Identity()
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if type(child) is nn.Linear:
                setattr(module, name, PackedLinear(child))
    return len(linears)


def _has_gelu(module: nn.Module) -> bool:
    """Whether a module is the first half of a transformer's feed-forward block (BERT and its kind) with the exact GELU."""
    from transformers.activations import ACT2FN

    activation = getattr(module, "intermediate_act_fn", None)
    return type(getattr(module, "dense", None)) is nn.Linear and type(activation) is type(ACT2FN["gelu"])


def _is_exact(dtype: torch.dtype) -> bool:
    if not torch.backends.mkldnn.is_available():
        return False
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(16, 64, generator=generator).to(dtype)
    linear = nn.Linear(64, 32)
    with torch.no_grad():
        linear.weight.copy_(torch.randn(32, 64, generator=generator) / 8)
    linear = linear.to(dtype)
    expected = nn.functional.gelu(linear(states).float())
    try:
        packed = PackedLinear(linear, "gelu")(states).float()
    except (RuntimeError, NotImplementedError, AttributeError):  # another build or processor
        return False
    return bool(torch.allclose(packed, expected, atol=1e-5 if dtype == torch.float32 else 0.05))
