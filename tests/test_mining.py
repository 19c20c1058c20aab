"""Exact pair search against brute force."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from arbgraph import mining
from arbgraph.mining import similar_pairs


def brute_force(vectors: torch.Tensor, threshold: float) -> dict[tuple[int, int], float]:
    """Every pair computed on its own in double precision and rounded to float32."""
    points = vectors.numpy().astype(np.float64)
    cosines = {
        (a, b): np.float32(min(1.0, max(-1.0, float((points[a] * points[b]).sum()))))
        for a, b in itertools.combinations(range(len(points)), 2)
    }
    return {pair: float(value) for pair, value in cosines.items() if value >= np.float32(threshold)}


def clustered(rows: int, dimension: int, seed: int, spread: float = 0.6) -> torch.Tensor:
    """Unit vectors around shared centres, so that some pairs lie on either side of any usual threshold."""
    generator = torch.Generator().manual_seed(seed)
    centres = torch.randn(max(1, rows // 3), dimension, generator=generator)
    points = centres[torch.randint(len(centres), (rows,), generator=generator)]
    return torch.nn.functional.normalize(points + spread * torch.randn(rows, dimension, generator=generator), dim=1)


def found(vectors: torch.Tensor, threshold: float, block: int = 4096) -> dict[tuple[int, int], float]:
    pairs, similarity = similar_pairs(vectors, threshold, block)
    assert pairs.dtype == torch.long
    assert similarity.dtype == torch.float32
    listed = [tuple(pair) for pair in pairs.T.tolist()]
    assert listed == sorted(set(listed))
    assert all(a < b for a, b in listed)
    return dict(zip(listed, similarity.tolist(), strict=True))


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(0, 40),
    dimension=st.sampled_from([1, 3, 16]),
    seed=st.integers(0, 10_000),
    threshold=st.sampled_from([-1.0, -0.2, 0.3, 0.75, 0.95, 1.0]),
    block=st.sampled_from([1, 7, 16, 64]),
)
def test_equals_brute_force(rows, dimension, seed, threshold, block):
    vectors = clustered(rows, dimension, seed)
    assert found(vectors, threshold, block) == pytest.approx(brute_force(vectors, threshold), abs=1e-7)


@pytest.mark.parametrize("threshold", [0.8379, 0.8418, 0.84571])
def test_low_precision_pass_loses_nothing(monkeypatch, threshold):
    """Thousands of pairs lie within a bfloat16 rounding error of the threshold, which is itself rounded up."""
    generator = torch.Generator().manual_seed(3)
    vectors = torch.nn.functional.normalize(2 * torch.ones(250, 48) + torch.randn(250, 48, generator=generator), dim=1)
    exact = vectors.double() @ vectors.double().T
    expected = (exact.float().triu(1) >= threshold).nonzero()
    monkeypatch.setattr(mining, "_coarse", lambda embeddings: (embeddings.bfloat16(), mining.BFLOAT16_ERROR))
    assert torch.equal(similar_pairs(vectors, threshold, block=128)[0].T, expected)
    assert ((exact - threshold).abs() < 0.004).sum() > 2000


def test_margin_covers_the_worst_rounding():
    """Vectors of one sign, all rounded in the same direction, reach the largest error of a bfloat16 product."""
    vectors = torch.nn.functional.normalize(torch.full((2, 8), 1 + 2**-8 - 2**-12), dim=1)
    vectors[1] = torch.nn.functional.normalize(vectors[1] + 0.4 * torch.tensor([1.0, -1.0] * 4) * vectors[1], dim=0)
    exact = float((vectors[0].double() * vectors[1].double()).sum())
    coarse = vectors.bfloat16()
    assert abs(float(coarse[0] @ coarse[1]) - exact) < mining.BFLOAT16_ERROR


def test_block_size_changes_nothing():
    vectors = clustered(300, 32, seed=5)
    results = [similar_pairs(vectors, 0.6, block) for block in (13, 64, 300, 4096)]
    for pairs, similarity in results[1:]:
        assert torch.equal(pairs, results[0][0])
        assert torch.equal(similarity, results[0][1])


def test_row_order_changes_only_the_numbering():
    vectors = clustered(120, 16, seed=7)
    order = torch.randperm(120, generator=torch.Generator().manual_seed(1))
    renumbered = {tuple(sorted((int(order[a]), int(order[b])))): value for (a, b), value in found(vectors[order], 0.5).items()}
    assert renumbered == found(vectors, 0.5)


def test_duplicates_are_pairs_of_similarity_one():
    vectors = clustered(4, 24, seed=2)
    repeated = torch.cat([vectors, vectors])
    pairs = found(repeated, 0.9999)
    assert set(pairs) >= {(i, i + 4) for i in range(4)}
    assert all(0.9999 <= pairs[i, i + 4] <= 1.0 for i in range(4))


@pytest.mark.parametrize(("rows", "threshold", "count"), [(0, 0.5, 0), (1, -1.0, 0), (5, 1.01, 0), (5, -1.01, 10)])
def test_few_rows_and_extreme_thresholds(rows, threshold, count):
    pairs, similarity = similar_pairs(clustered(rows, 8, seed=0), threshold)
    assert pairs.shape == (2, count)
    assert similarity.shape == (count,)


def test_bad_input_is_refused():
    vectors = clustered(5, 8, seed=0)
    with pytest.raises(ValueError, match="shape"):
        similar_pairs(vectors[0], 0.5)
    with pytest.raises(ValueError, match="block"):
        similar_pairs(vectors, 0.5, block=0)
    broken = vectors.clone()
    broken[3] = torch.nan
    with pytest.raises(ValueError, match=r"embeddings\[3\]"):
        similar_pairs(broken, 0.5)
    with pytest.raises(ValueError, match="norm 2"):
        similar_pairs(vectors * 2, 0.5)


@pytest.mark.slow
def test_ten_thousand_rows_in_the_precision_of_the_machine():
    vectors = clustered(10_000, 64, seed=11, spread=0.4)
    pairs, similarity = similar_pairs(vectors, 0.75, block=1024)
    exact = vectors.double() @ vectors.double().T
    expected = (exact.float().triu(1) >= 0.75).nonzero()
    assert torch.equal(pairs.T, expected)
    assert torch.allclose(similarity, exact[expected[:, 0], expected[:, 1]].float(), atol=1e-7)
