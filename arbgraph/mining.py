"""Exact search for all pairs of similar vectors, by blocked matrix products (Eq. 2)."""

from __future__ import annotations

import torch
from torch import Tensor

# Below this many rows a low-precision pass saves no time.
_SMALL = 2048
# Unit roundoff u is 2^-8 in bfloat16 and 2^-11 in TensorFloat-32. Rounding two unit vectors changes their product by at most
# 2u + u^2 (Cauchy-Schwarz); rounding the product and the threshold that it is held against adds u each.
BFLOAT16_ERROR = 4 * 2.0**-8 + 0.001
FLOAT32_ERROR = 4 * 2.0**-11 + 0.001
# Pairs whose similarity is recomputed at a time; 16384 pairs of 384 numbers take 100 MB in double precision.
_RECHECK = 16384


def similar_pairs(embeddings: Tensor, threshold: float, block: int = 4096) -> tuple[Tensor, Tensor]:
    """All pairs of rows whose cosine is at least `threshold`: none is missed and none is added.

    A first pass over the upper triangle, in bfloat16 where the device computes in it, keeps what could reach the threshold
    within its rounding error; every kept pair is then computed in double precision and rounded to float32. The result
    therefore depends neither on the block size nor on the precision of the first pass.

    Args:
        embeddings: `[N, D]` unit vectors.
        threshold: smallest cosine of a pair. At -1 or below, every pair is returned.
        block: rows and columns per product; the search holds about `5 * block ** 2` bytes, whatever N.

    Returns:
        pair_index `[2, E]` long with `pair_index[0] < pair_index[1]`, each pair once, in lexicographic order; and
        similarity `[E]` float32 in [-1, 1], both on the device of the embeddings.

    Raises:
        ValueError: embeddings that are no matrix, hold NaN or infinity, or are no unit vectors; a block below 1.
    """
    _check(embeddings, block)
    device, rows = embeddings.device, embeddings.shape[0]
    if rows < 2 or threshold > 1:
        return torch.empty(2, 0, dtype=torch.long, device=device), torch.empty(0, device=device)
    coarse, margin = _coarse(embeddings)
    kept: list[Tensor] = []
    values: list[Tensor] = []
    for top in range(0, rows, block):
        for left in range(top, rows, block):
            scores = coarse[top : top + block] @ coarse[left : left + block].T
            candidates = (scores >= threshold - margin).nonzero()
            del scores
            candidates += torch.tensor([top, left], device=device)
            if left == top:
                candidates = candidates[candidates[:, 0] < candidates[:, 1]]
            for part in candidates.split(_RECHECK):
                similarity = _cosine(embeddings, part)
                chosen = similarity >= threshold
                kept.append(part[chosen])
                values.append(similarity[chosen])
    pairs = torch.cat(kept) if kept else torch.empty(0, 2, dtype=torch.long, device=device)
    similarity = torch.cat(values) if values else torch.empty(0, device=device)
    order = torch.argsort(pairs[:, 0] * rows + pairs[:, 1])
    return pairs[order].T.contiguous(), similarity[order]


def _check(embeddings: Tensor, block: int) -> None:
    if embeddings.ndim != 2:
        raise ValueError(f"embeddings have shape {list(embeddings.shape)}; expected [claims, dimensions]")
    if block < 1:
        raise ValueError(f"block is {block}; it counts rows and must be at least 1")
    norms = embeddings.double().norm(dim=1)
    bad = ~((norms - 1).abs() <= 1e-3)
    if bad.any():
        row = int(bad.nonzero()[0])
        raise ValueError(f"embeddings[{row}] has norm {float(norms[row]):.4g}; normalise the vectors to length 1")


def _coarse(embeddings: Tensor) -> tuple[Tensor, float]:
    """The vectors for the first pass, and the largest error of comparing a product of two of them with a threshold."""
    capabilities = getattr(torch.cpu, "get_capabilities", dict)()  # absent from older torch; float32 then
    fast = embeddings.is_cuda or any(capabilities.get(name) for name in ("avx512_bf16", "amx_bf16"))
    if fast and embeddings.shape[0] >= _SMALL:
        return embeddings.bfloat16(), BFLOAT16_ERROR
    return embeddings.float(), FLOAT32_ERROR


def _cosine(embeddings: Tensor, pairs: Tensor) -> Tensor:
    """Cosines of pairs of rows `[P, 2]`, `[P]` float32; pair by pair, so that the others have no influence."""
    left, right = embeddings[pairs[:, 0]].double(), embeddings[pairs[:, 1]].double()
    return (left * right).sum(dim=1).float().clamp(-1.0, 1.0)
