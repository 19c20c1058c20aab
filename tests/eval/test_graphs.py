"""Labels of RAMDocs claims and of cases, resuming a killed build, refusals."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from arbgraph.graph import EvidenceGraph
from arbgraph.graphset import graph_set_metadata, load_graphs
from arbgraph.io import InputError
from arbgraph.schema import Claim, Mention
from arbgraph.settings import load_settings
from eval.graphs import build, carries, data_digest, read_arbcases, read_ramdocs, total

RECORD = {
    "id": "ramdocs-0",
    "question": "When did the bridge open?",
    "documents": [
        {"id": "d0", "text": "The bridge opened on May 3, 1932.", "label": "correct", "answer": "May 3, 1932"},
        {"id": "d1", "text": "The bridge opened in 1945.", "label": "misinfo", "answer": "1945"},
        {"id": "d2", "text": "Bridges are long.", "label": "noise", "answer": "unknown"},
    ],
    "gold_answers": ["May 3, 1932"],
    "wrong_answers": ["1945"],
}
CASE = {
    "id": "case",
    "query": "When did the bridge open?",
    "documents": [{"id": "d1", "text": "The bridge opened in 1932."}, {"id": "d2", "text": "It opened in 1945."}],
    "claims": [
        {"id": "c1", "text": "The bridge opened in 1932.", "doc_ids": ["d1"], "verdict": "valid"},
        {"id": "c2", "text": "The bridge opened in 1945.", "doc_ids": ["d2"], "verdict": "invalid"},
        {"id": "c3", "text": "The bridge is red.", "doc_ids": ["d2"], "verdict": "irrelevant"},
    ],
    "contradictions": [["c1", "c2"]],
    "supports": [],
    "type": "majority_right",
}


def folder(tmp_path, *records):
    path = tmp_path / "ramdocs"
    path.mkdir()
    (path / "data.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    (path / "splits.json").write_text(json.dumps({"dev": [1], "test": [0]}), encoding="utf-8")
    return path


def claim(text: str, *documents: str) -> Claim:
    return Claim.of(text, tuple(Mention(document_id=d, start=0, end=0) for d in documents))


class CountingSystem:
    """Stands for the pipeline: one claim per document, no pairs; fails where it is told to."""

    def __init__(self, fail_at: str = "") -> None:
        self.models, self.verifier = {"verifier": "v1"}, SimpleNamespace(describe=lambda: {"name": "none"})
        self.fail_at, self.seen = fail_at, []

    def construct(self, queries) -> Any:
        (query,) = queries
        if query.id == self.fail_at:
            raise KeyboardInterrupt
        self.seen.append(query.id)
        claims = [claim(d.text, d.id) for d in query.documents]
        graph = EvidenceGraph.build(
            torch.full((len(claims),), 0.5),
            torch.zeros(2, 0, dtype=torch.long),
            torch.zeros(0, 3),
            claims=claims,
            documents=list(query.documents),
            query=query.query,
        )
        return [graph], [{"extraction": {"sentences": len(claims)}, "merged": 1}], [()]


@pytest.mark.parametrize(
    ("text", "answer", "expected"),
    [
        ("It opened on May 3 1932.", "May 3, 1932", True),
        ("The All-Girls school", "girls", True),
        ("The boys' school", "boy", False),
        ("In 19325 it opened.", "1932", False),
        ("He wrote a Hobbit.", "The Hobbit", True),
        ("Anything", "the", False),
        ("It lies in São Paulo", "SÃO PAULO", True),
    ],
)
def test_whether_a_claim_carries_an_answer(text, answer, expected):
    assert carries(text, answer) is expected


def test_labels_come_from_the_documents_that_state_a_claim(tmp_path):
    (item,) = read_ramdocs(folder(tmp_path, RECORD), "test")
    claims = [
        claim("The bridge opened on May 3, 1932.", "d0"),
        claim("The bridge opened in 1945.", "d1"),
        claim("The bridge opened in 1945.", "d0"),  # the answer of a document that does not state it
        claim("Bridges are long.", "d2"),
        claim("The bridge opened on May 3, 1932, and again in 1945.", "d0", "d1"),
        claim("The bridge opened in 1945, says a book.", "d1", "d2"),
    ]
    label, reasons = item.label(claims)
    assert torch.nan_to_num(label, nan=-1).tolist() == [1, 0, -1, -1, -1, 0]
    assert reasons == {
        "correct": 1,
        "misinfo": 2,
        "without an answer": 1,
        "only in noise documents": 1,
        "answers of a correct and a misinfo document": 1,
    }


def test_case_claims_are_valid_or_not(tmp_path):
    (tmp_path / "dev.jsonl").write_text(json.dumps(CASE), encoding="utf-8")
    (item,) = read_arbcases(tmp_path, "dev")
    label, reasons = item.label(item.query.claims or ())
    assert label.tolist() == [1, 0, 0]
    assert reasons == {"valid": 1, "invalid": 1, "irrelevant": 1}


def test_splits_choose_records_and_nothing_else_reaches_the_graph(tmp_path):
    path = folder(tmp_path, RECORD, {**RECORD, "id": "ramdocs-1"})
    (dev,) = read_ramdocs(path, "dev")
    assert dev.query.id == "ramdocs-1"
    assert all(document.metadata == {} for document in dev.query.documents)
    assert data_digest([dev]) != data_digest(read_ramdocs(path, "test"))


def test_a_killed_build_continues(tmp_path):
    records = [{**RECORD, "id": f"q{i}"} for i in range(3)]
    path = folder(tmp_path, *records)
    (path / "splits.json").write_text(json.dumps({"dev": [0, 1, 2]}), encoding="utf-8")
    queries, settings, out = read_ramdocs(path, "dev"), load_settings("default"), tmp_path / "set.safetensors"
    first = CountingSystem(fail_at="q2")
    with pytest.raises(KeyboardInterrupt):
        build(queries, settings, out, {"split": "dev"}, system=first)
    assert not out.exists()
    second = CountingSystem()
    graphs, metadata = build(queries, settings, out, {"split": "dev"}, system=second)
    assert (first.seen, second.seen) == (["q0", "q1"], ["q2"])
    assert [graph.name for graph in load_graphs(out)] == [graph.name for graph in graphs] == ["q0", "q1", "q2"]
    assert graph_set_metadata(out) == metadata
    assert metadata["counts"]["questions"] == 3
    assert metadata["counts"]["labels"] == {"correct": 3, "misinfo": 3, "only in noise documents": 3}
    assert metadata["counts"]["extraction"] == {"sentences": 9}
    assert not out.with_name(out.name + ".parts").exists()


def test_parts_of_another_build_are_refused(tmp_path):
    path = folder(tmp_path, RECORD, {**RECORD, "id": "q1"})
    (path / "splits.json").write_text(json.dumps({"dev": [0, 1]}), encoding="utf-8")
    queries, out = read_ramdocs(path, "dev"), tmp_path / "set.safetensors"
    with pytest.raises(KeyboardInterrupt):
        build(queries, load_settings("default"), out, {}, system=CountingSystem(fail_at="q1"))
    with pytest.raises(InputError, match="unfinished build of other"):
        build(queries, load_settings("default", tau_q=0.1), out, {}, system=CountingSystem())


def test_counts_are_summed():
    assert total([{"a": 1, "b": {"x": 2}}, {"a": 2, "b": {"x": 1, "y": 5}}]) == {"questions": 2, "a": 3, "b": {"x": 3, "y": 5}}


def test_refusals_name_the_record(tmp_path):
    with pytest.raises(InputError, match=r"holds no data.jsonl.gz"):
        read_ramdocs(tmp_path, "dev")
    path = folder(tmp_path, {**RECORD, "documents": [{"id": "d", "text": "x", "label": "maybe", "answer": ""}]})
    with pytest.raises(InputError, match="no split 'dev'"):
        read_ramdocs(path, "dev")
    with pytest.raises(InputError, match="line 1: document type 'maybe'"):
        read_ramdocs(path, "test")


@pytest.mark.slow
def test_the_real_pipeline_builds_a_labelled_set(tmp_path, system):
    path, out = folder(tmp_path, RECORD), tmp_path / "set.safetensors"
    build(read_ramdocs(path, "test"), system.settings, out, {"set": "ramdocs"}, system=system)
    (graph,) = load_graphs(out)
    by_text = dict(zip((c.text for c in graph.claims), graph.label.tolist(), strict=True))
    assert by_text["The bridge opened on May 3, 1932."] == 1
    assert by_text["The bridge opened in 1945."] == 0
    assert graph.relation.shape == (graph.num_pairs, 3)
