"""ONNX programs in eight bits, taken only where dev pairs show that decisions hold."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from arbgraph.schema import RELATION_LABELS
from arbgraph.verifier.exported import PROGRAM

if TYPE_CHECKING:
    from arbgraph.verifier.pairs import LabelledPair

LIMIT = 0.005  # largest loss of accuracy
BLOCK = 32  # weights, and values of a token's state, that share a scale


def _dynamic(source: Path, target: Path) -> None:
    """Weights by output channel, states by batch as they come: the fastest, and the coarsest."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    head = [node.name for node in onnx.load(str(source)).graph.node if node.op_type == "Gemm"]
    quantize_dynamic(source, target, op_types_to_quantize=["MatMul"], per_channel=True, weight_type=QuantType.QInt8, nodes_to_exclude=head)


def _blockwise(source: Path, target: Path) -> None:
    """Weights and states by blocks along each row: the finest; a pair's result does not depend on the batch that it is in."""
    import onnx
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    quantiser = MatMulNBitsQuantizer(onnx.load(str(source)), bits=8, block_size=BLOCK, is_symmetric=True, accuracy_level=4)
    quantiser.process()
    quantiser.model.save_model_to_file(str(target), False)  # pyright: ignore[reportAttributeAccessIssue]


# Fastest first. The head stays in float32: its products are `Gemm` nodes, which neither touches.
RECIPES: dict[str, Callable[[Path, Path], None]] = {"dynamic": _dynamic, "blockwise": _blockwise}


def quantise(folder: Path, config: dict[str, Any], pairs: Sequence[LabelledPair], full: Tensor) -> dict[str, Any]:
    """Replaces the program of a folder by the first quantised one that loses at most half a point of accuracy; returns the numbers.

    Args:
        folder: a sealed export with `model.onnx`. config: what `arbgraph.json` says of it.
        pairs: labelled dev pairs. full: the undirected probabilities `[P, 3]` of the unquantised verifier.

    Raises ExportError, with what each recipe lost, when none holds.
    """
    import torch

    from arbgraph.export import ExportError, seal
    from arbgraph.verifier.relation import RelationVerifier

    gold = torch.tensor([RELATION_LABELS.index(pair.label) for pair in pairs])
    kept = folder / "full.onnx"
    (folder / PROGRAM).rename(kept)
    decisions = full.argmax(-1)
    before = float((decisions == gold).double().mean())
    tried: dict[str, dict[str, float]] = {}
    for name, recipe in RECIPES.items():
        disabled = logging.root.manager.disable
        logging.disable(logging.INFO)  # the quantisers report every node that they leave alone
        try:
            recipe(kept, folder / PROGRAM)
        finally:
            logging.disable(disabled)
        seal(folder, config)
        found = RelationVerifier.load(folder, device="cpu").relate([(pair.a, pair.b) for pair in pairs]).argmax(-1)
        accuracy = float((found == gold).double().mean())
        tried[name] = {"accuracy": accuracy, "decisions_kept": float((found == decisions).double().mean())}
        if before - accuracy <= LIMIT:
            kept.unlink()
            return {"pairs": len(pairs), "recipe": name, "accuracy_fp32": before, "limit": LIMIT, "tried": tried}
    lost = ", ".join(f"{name}: {row['accuracy']:.3f}" for name, row in tried.items())
    raise ExportError(
        f"eight bits cost more than {100 * LIMIT:g} points of accuracy on {len(pairs)} dev pairs "
        f"(float32: {before:.3f}; {lost}); nothing was written; export without --int8"
    )
