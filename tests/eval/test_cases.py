"""The case evaluation: counts by hand, refusals, and the command on a small file."""

from __future__ import annotations

import json

import pytest

from arbgraph.io import InputError
from arbgraph.schema import ArbitratedClaim, Arbitration, Relation, RelationLabel
from eval.cases import Counts, count, evaluate, interval, main, read_cases, relation_scores, scores, use_annotated_relations

ROW = {
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


def cases(tmp_path, *rows):
    path = tmp_path / "cases.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def arbitration(*statuses, label="contradict"):
    claims = tuple(ArbitratedClaim(id=f"c{i}", text="x", status=status, credibility=0.5) for i, status in enumerate(statuses, 1))
    probabilities = {RelationLabel(name): 1.0 if name == label else 0.0 for name in RelationLabel}
    relation = Relation(a="c1", b="c2", label=RelationLabel(label), probabilities=probabilities, similarity=0.9)
    return Arbitration(id="case", query="q", claims=claims, relations=(relation,))


def test_counts_and_scores_by_hand(tmp_path):
    (case,) = read_cases(cases(tmp_path, ROW))
    assert count(case, arbitration("validated", "suppressed", "filtered")) == Counts(1, 0, 0)
    assert count(case, arbitration("suppressed", "validated", "validated")) == Counts(0, 2, 1)
    assert scores([Counts(2, 1, 0), Counts(1, 0, 2)]) == {"precision": 3 / 4, "recall": 3 / 5, "f1": 6 / 9}
    assert scores([Counts(0, 0, 0)]) == {"precision": None, "recall": None, "f1": None}


def test_the_evaluation_reports_each_verdict_and_the_baseline(tmp_path):
    data = read_cases(cases(tmp_path, ROW))
    result = evaluate(data, [arbitration("validated", "validated", "filtered")])
    assert (result["valid_validated"], result["invalid_validated"], result["irrelevant_validated"]) == (1, 1, 0)
    assert result["accept_everything"]["precision"] == pytest.approx(1 / 3)
    assert result["by_type"]["majority_right"]["precision"] == 0.5


def test_relation_scores(tmp_path):
    data = read_cases(cases(tmp_path, ROW))
    found = relation_scores(data, [arbitration("validated", "validated", "filtered")])
    assert (found["contradict_precision"], found["contradict_recall"], found["support_precision"]) == (1, 1, None)
    missed = relation_scores(data, [arbitration("validated", "validated", "filtered", label="support")])
    assert (missed["contradict_recall"], missed["support_precision"]) == (0, 0)


def test_the_interval_holds_the_score_and_shrinks_with_equal_cases():
    low, high = interval([Counts(3, 1, 1)] * 5)
    assert low == high == pytest.approx(6 / 8)
    low, high = interval([Counts(4, 0, 0), Counts(0, 4, 4)] * 10)
    assert low < 8 / 16 < high


def test_annotated_relations_replace_the_verifier(tmp_path, system):
    data = read_cases(cases(tmp_path, ROW))
    graphs, _, _ = system.construct([case.query for case in data])
    use_annotated_relations(data, graphs)
    (graph,) = graphs
    ids = [claim.id for claim in graph.claims]
    for (a, b), row in zip(graph.pair_index.T.tolist(), graph.relation.tolist(), strict=True):
        assert row.index(max(row)) == (1 if {ids[a], ids[b]} == {"c1", "c2"} else 2)
        assert sum(row) == pytest.approx(1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"claims": [{"id": "c1", "text": "x"}]}, "not an arbitration case"),
        ({"type": None, "contradictions": 3}, "not an arbitration case"),
        ({"query": ""}, '"query"'),
    ],
)
def test_records_that_are_no_cases_are_named(tmp_path, change, message):
    path = cases(tmp_path, {**ROW, **change})
    with pytest.raises(InputError, match=message) as caught:
        read_cases(path)
    assert str(path) in str(caught.value)


def test_the_command_prints_a_table_and_writes_json(tmp_path, capsys):
    out = tmp_path / "out.json"
    main(str(cases(tmp_path, ROW)), json=str(out))
    assert "majority_right" in capsys.readouterr().out
    written = json.loads(out.read_text(encoding="utf-8"))
    assert written["cases"] == 1
    assert {"overall", "by_type", "relations", "accept_everything"} <= written.keys()
