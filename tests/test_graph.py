"""EvidenceGraph in batches."""

from __future__ import annotations

import torch
from torch_geometric.data import Batch

from arbgraph.graph import EvidenceGraph


def graph(n, pairs, links=None):
    pair_index = torch.tensor(pairs, dtype=torch.long).view(-1, 2).T
    source_index = None if links is None else torch.tensor(links).T
    return EvidenceGraph.build(torch.full((n,), 0.5), pair_index, torch.full((len(pairs), 3), 1 / 3), source_index=source_index)


def test_batches_shift_claims_and_sources_apart_even_across_empty_graphs():
    batch = Batch.from_data_list([graph(2, [(0, 1)], [(0, 0), (1, 0)]), graph(0, []), graph(3, [(0, 2)], [(0, 1), (1, 0), (2, 1)])])
    assert batch.pair_index.tolist() == [[0, 2], [1, 4]]
    assert batch.source_index.tolist() == [[0, 1, 2, 3, 4], [0, 0, 2, 1, 2]]
    assert batch.batch.tolist() == [0, 0, 2, 2, 2]
    assert batch.num_graphs == 3


def test_a_claim_without_links_has_no_source():
    made = graph(3, [], [(0, 0), (2, 0)])
    assert made.sources.tolist() == [1, 0, 1]


def test_graphs_come_back_out_of_a_batch():
    graphs = [graph(2, [(0, 1)]), graph(3, [(1, 2)])]
    back = Batch.from_data_list(graphs).get_example(1)
    assert back.pair_index.tolist() == graphs[1].pair_index.tolist()
    assert back.source_index.tolist() == graphs[1].source_index.tolist()
