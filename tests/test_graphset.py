"""Graph sets: bit-exact round trips, equal bytes for equal sets, and refusals."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file

from arbgraph.graph import EvidenceGraph
from arbgraph.graphset import GraphSetError, graph_set_metadata, load_graphs, save_graphs
from arbgraph.schema import Claim, Document, Mention


def make(n: int, pairs: list[tuple[int, int]], seed: int = 0, **fields) -> EvidenceGraph:
    draw = torch.Generator().manual_seed(seed)
    return EvidenceGraph.build(
        torch.rand(n, generator=draw, dtype=torch.float64) * 0.9 + 0.05,
        torch.tensor(pairs, dtype=torch.long).view(-1, 2).T.contiguous(),
        torch.rand(len(pairs), 3, generator=draw).softmax(-1),
        similarity=torch.rand(len(pairs), generator=draw),
        embedding=torch.rand(n, 4, generator=draw),
        **fields,
    )


def texts(n: int) -> dict:
    document = Document(text="The bridge – opened in 1932.\nIt is “red”.", published="1932-05", metadata={"page": 3})
    mention = Mention(document_id=document.id, start=0, end=28, quote=document.text[:28])
    return {
        "claims": [Claim.of(f"Claim {i} says\u2028so.", (mention,)) for i in range(n)],
        "documents": [document],
        "query": "When did it open?",
    }


def assert_same(left: EvidenceGraph, right: EvidenceGraph) -> None:
    a, b = left.to_dict(), right.to_dict()
    assert a.keys() == b.keys()
    for key, value in a.items():
        if isinstance(value, torch.Tensor):
            assert (value.dtype, value.shape) == (b[key].dtype, b[key].shape), key
            assert value.contiguous().flatten().view(torch.uint8).equal(b[key].contiguous().flatten().view(torch.uint8)), key
        else:
            assert value == b[key], key


def test_every_field_comes_back_bit_for_bit(tmp_path):
    label = torch.tensor([1.0, 0.0, math.nan])
    graphs = [
        make(3, [(0, 1), (1, 2)], 1, label=label, name="ramdocs-1", **texts(3)),
        make(0, [], 2, label=torch.zeros(0), name="", **texts(0)),
        make(2, [], 3, label=torch.tensor([math.nan, 1.0]), name="q – 2", **texts(2)),
    ]
    metadata = {"settings": {"tau_q": 0.4}, "verifier": "abc", "counts": [1, 2]}
    save_graphs(graphs, tmp_path / "set.safetensors", metadata)
    found = load_graphs(tmp_path / "set.safetensors")
    for left, right in zip(graphs, found, strict=True):
        assert_same(left, right)
    assert found[0].claims[1].text == "Claim 1 says\u2028so."
    assert graph_set_metadata(tmp_path / "set.safetensors") == metadata


def test_a_field_may_be_missing_from_some_graphs(tmp_path):
    graphs = [make(2, [(0, 1)], label=torch.ones(2)), make(2, [(0, 1)], 5)]
    save_graphs(graphs, tmp_path / "set.safetensors")
    found = load_graphs(tmp_path / "set.safetensors")
    assert "label" in found[0]
    assert "label" not in found[1]
    assert graph_set_metadata(tmp_path / "set.safetensors") == {}


def test_loaded_graphs_do_not_share_memory(tmp_path):
    save_graphs([make(2, [(0, 1)]), make(2, [(0, 1)], 5)], tmp_path / "set.safetensors")
    first, second = load_graphs(tmp_path / "set.safetensors")
    before = second.prior.clone()
    first.prior.fill_(0.25)
    assert second.prior.equal(before)


def test_equal_sets_have_equal_bytes(tmp_path):
    for name in ("a", "b"):
        save_graphs([make(3, [(0, 2)], name="q", **texts(3))], tmp_path / name, {"x": 1, "y": 2, "z": 3})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_no_graphs(tmp_path):
    save_graphs([], tmp_path / "set.safetensors", {"limit": 0})
    assert load_graphs(tmp_path / "set.safetensors") == []


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 5)), max_size=5))
def test_round_trip_of_random_sets(tmp_path_factory, sizes):
    path = tmp_path_factory.mktemp("sets") / "set.safetensors"
    graphs = [make(n, [(i, i + 1) for i in range(min(e, n - 1))], seed) for seed, (n, e) in enumerate(sizes)]
    save_graphs(graphs, path)
    for left, right in zip(graphs, load_graphs(path), strict=True):
        assert_same(left, right)


def test_refuses_what_it_cannot_keep(tmp_path):
    path = tmp_path / "set.safetensors"
    with pytest.raises(GraphSetError, match="graph 1: field 'extra' holds a tuple"):
        save_graphs([make(1, []), make(1, [], extra=(1, 2))], path)
    with pytest.raises(GraphSetError, match=r"graph 1: field 'label' is torch.float64 .* torch.float32"):
        save_graphs([make(1, [], label=torch.ones(1)), make(1, [], label=torch.ones(1).double())], path)
    with pytest.raises(GraphSetError, match="claims holds a str"):
        save_graphs([make(1, [], claims=["text"])], path)
    with pytest.raises(GraphSetError, match="metadata"):
        save_graphs([], path, {"x": torch.ones(1)})
    assert not path.exists()


def test_bad_files_give_one_clear_error(tmp_path):
    with pytest.raises(GraphSetError, match="no such graph set"):
        load_graphs(tmp_path / "none")
    (tmp_path / "text").write_text("hello", encoding="utf-8")
    with pytest.raises(GraphSetError, match="cannot be read as safetensors"):
        load_graphs(tmp_path / "text")
    save_file({"x": torch.ones(2)}, tmp_path / "foreign")
    with pytest.raises(GraphSetError, match="is no graph set"):
        graph_set_metadata(tmp_path / "foreign")
    save_graphs([make(3, [(0, 2)], name="q", **texts(3))], tmp_path / "good")
    raw = (tmp_path / "good").read_bytes()
    (tmp_path / "cut").write_bytes(raw[:-9])
    with pytest.raises(GraphSetError, match="safetensors"):
        load_graphs(tmp_path / "cut")
    (tmp_path / "broken").write_bytes(raw.replace(b'"query"', b'"query\x00'))
    with pytest.raises(GraphSetError, match="damaged"):
        load_graphs(tmp_path / "broken")


def test_a_graph_that_breaks_its_contract_is_refused(tmp_path):
    graph = make(3, [(0, 2)])
    graph.pair_index[:, 0] = torch.tensor([2, 2])
    save_graphs([graph], tmp_path / "set")
    with pytest.raises(GraphSetError, match="smaller index first"):
        load_graphs(tmp_path / "set")
