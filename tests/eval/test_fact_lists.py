"""Frozen fact lists: what is kept, in which order, and what is left out and counted."""

from __future__ import annotations

import pytest
import torch

from arbgraph.graph import EvidenceGraph
from arbgraph.io import InputError
from arbgraph.schema import Claim
from arbgraph.settings import load_settings
from eval.benchmarks.long_form import read_facts
from eval.fact_lists import choose_facts, main
from tests.eval.answering import DATA


def graph() -> EvidenceGraph:
    """Six claims: 0 and 1 contradict each other, 5 contradicts 2 but is irrelevant; 3 has two sources, 4 is the most relevant."""
    built = EvidenceGraph.build(
        torch.full((6,), 0.5),
        torch.tensor([[0, 2, 3], [1, 5, 4]]),
        torch.tensor([[0.1, 0.8, 0.1], [0.0, 0.9, 0.1], [0.2, 0.45, 0.35]]),
        relevance=torch.tensor([0.9, 0.8, 0.5, 0.6, 0.95, 0.1]),
        source_index=torch.tensor([[0, 1, 2, 3, 3, 4, 5], [0, 1, 2, 0, 1, 1, 2]]),
        num_sources=3,
    )
    built.claims = [Claim(id=str(row), text=f"claim {row}") for row in range(6)]
    return built


def test_disputed_and_irrelevant_claims_are_left_out_and_sources_come_before_relevance():
    settings = load_settings("default")  # tau_q 0.4, tau_conf 0.5
    facts, counts = choose_facts(graph(), settings, 40)
    # Pair (3, 4) is below tau_conf; claim 5 bears on something else, so it disputes nothing.
    assert facts == ["claim 3", "claim 4", "claim 2"]
    assert counts == {"irrelevant": 1, "disputed": 2, "beyond_limit": 0}
    facts, counts = choose_facts(graph(), settings, 1)
    assert (facts, counts["beyond_limit"]) == (["claim 3"], 2)


def test_prompts_without_any_document_are_refused(tmp_path):
    (tmp_path / "documents.jsonl").write_text('{"id": "other", "documents": [{"text": "A text."}]}\n', encoding="utf-8")
    with pytest.raises(InputError, match="no id of a prompt"):
        main(str(DATA / "longfact/test.jsonl"), str(tmp_path / "documents.jsonl"), str(tmp_path / "out.jsonl"))


@pytest.mark.slow
def test_a_list_is_read_as_the_benchmark_reads_it_and_repeats(tmp_path):
    for name in ("a.jsonl", "b.jsonl"):
        main(str(DATA / "longfact/test.jsonl"), str(DATA / "longfact/documents.jsonl"), str(tmp_path / name))
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    assert list(read_facts(tmp_path / "a.jsonl")) == ["objects-bridges-0"]
    assert all(read_facts(tmp_path / "a.jsonl").values())
