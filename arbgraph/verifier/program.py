"""What an ONNX export of a verifier computes, as modules: from token ids to calibrated probabilities."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from arbgraph.verifier.calibration import VerifierCalibration


class PairProgram(nn.Module):
    """Padded token ids `[B, L]` of pairs -> probabilities and logits `[B, 3]` of one reading order, in the project's column order."""

    def __init__(self, model: nn.Module, columns: Sequence[int], calibration: VerifierCalibration) -> None:
        super().__init__()
        self.model, self.columns, self.calibration = model, list(columns), calibration

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        segments: Tensor | None = None,
        features: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        given = {"input_ids": input_ids, "attention_mask": attention_mask, "token_type_ids": token_type_ids}
        given |= {"segments": segments, "features": features}
        logits = self.model({name: tensor for name, tensor in given.items() if tensor is not None})
        logits = torch.stack([logits[:, column] for column in self.columns], dim=1)
        return self.calibration.directed.log_probabilities(logits).exp().float(), logits


class CombineProgram(nn.Module):
    """Logits `[P, 3]` of both reading orders -> probabilities `[P, 3]` of the undirected verdict."""

    def __init__(self, calibration: VerifierCalibration) -> None:
        super().__init__()
        self.calibration = calibration

    def forward(self, forward: Tensor, backward: Tensor) -> Tensor:
        directed = self.calibration.directed.log_probabilities
        return self.calibration.verdict(directed(forward), directed(backward)).exp().float()
