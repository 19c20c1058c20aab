"""RAGChecker's files and the command: round trips, refusals, correlations against scipy, and the tool's own example where it is at hand."""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from scipy import stats

from arbgraph.io import InputError
from eval.checking import Judgement, Matrix, Response, check
from eval.metrics.ragchecker import ragchecker
from eval.metrics.ranking import pearson, resampled_pearson, spearman
from eval.ragchecker import correlation, expected_scores, main, read_instances, reference_pair, score_instances
from eval.ragchecker_json import RagRecord, claim_text, overall, read_ragchecker, record_of, write_ragchecker
from tests.eval.test_checking import ONE, WordChecker

REPOSITORY = Path(__file__).resolve().parents[2]

# Worked by hand: precision 1/2, recall 1/1, F1 2/3; the second chunk alone entails the gold claim.
RECORD = {
    "query_id": "7",
    "query": "Where does the Nile end?",
    "gt_answer": "In the Mediterranean.",
    "response": "It ends in the Mediterranean, in Italy.",
    "retrieved_context": [{"doc_id": "000", "text": "Rivers end."}, {"doc_id": "001", "text": "The Nile ends in the Mediterranean."}],
    "response_claims": [["Nile", "ends in", "Mediterranean"], ["Nile", "ends in", "Italy"]],
    "gt_answer_claims": ["The Nile ends in the Mediterranean."],
    "answer2response": ["Entailment", "Contradiction"],
    "response2answer": ["Entailment"],
    "retrieved2response": [["Neutral", "Entailment"], ["Neutral", "Contradiction"]],
    "retrieved2answer": [["Neutral", "Entailment"]],
    "metrics": {
        "precision": 0.5,
        "recall": 1.0,
        "f1": 2 / 3,
        "claim_recall": 1.0,
        "context_precision": 0.5,
        "context_utilization": 1.0,
        "noise_sensitivity_in_relevant": 0.0,
        "noise_sensitivity_in_irrelevant": 0.0,
        "hallucination": 0.5,
        "self_knowledge": 0.0,
        "faithfulness": 0.5,
    },
}
OVERALL = {
    "overall": {"precision": 50.0, "recall": 100.0, "f1": 66.7},
    "retriever": {"claim_recall": 100.0, "context_precision": 50.0},
    "generator": {
        "context_utilization": 100.0,
        "noise_sensitivity_in_relevant": 0.0,
        "noise_sensitivity_in_irrelevant": 0.0,
        "hallucination": 50.0,
        "self_knowledge": 0.0,
        "faithfulness": 50.0,
    },
}


def write(path, results, **more):
    path.write_text(json.dumps({"results": results, **more}), encoding="utf-8")
    return path


def test_metrics_of_a_file(tmp_path):
    (record,) = read_ragchecker(write(tmp_path / "out.json", [RECORD]))
    entailment = record.entailment()
    assert entailment is not None
    assert ragchecker(entailment) == pytest.approx(RECORD["metrics"])
    assert overall([ragchecker(entailment)]) == OVERALL
    assert overall([]) == {}


def test_reading_and_writing_keeps_every_value(tmp_path):
    source, target = write(tmp_path / "a.json", [RECORD], metrics=OVERALL), tmp_path / "b.json"
    write_ragchecker(target, read_ragchecker(source))
    assert json.loads(target.read_text(encoding="utf-8")) == json.loads(source.read_text(encoding="utf-8"))


def test_an_input_file_has_texts_only(tmp_path):
    texts = {name: RECORD[name] for name in ("query_id", "query", "gt_answer", "response", "retrieved_context")}
    source, target = write(tmp_path / "a.json", [texts]), tmp_path / "b.json"
    (record,) = read_ragchecker(source)
    assert record.entailment() is record.claims is record.metrics is None
    response = record.to_response()
    assert (response.response_claims, response.chunks[0], response.reference) == (None, "Rivers end.", "In the Mediterranean.")
    write_ragchecker(target, [record])
    assert json.loads(target.read_text(encoding="utf-8")) == {"results": [texts]}


def test_a_checked_answer_becomes_a_record(tmp_path):
    (found,) = check([ONE], WordChecker())
    record = record_of(ONE, found)
    path = tmp_path / "ours.json"
    write_ragchecker(path, [record])
    data = json.loads(path.read_text(encoding="utf-8"))
    assert data["results"][0]["retrieved2answer"] == [["Entailment", "Neutral"], ["Entailment", "Contradiction"]]
    assert data["results"][0]["answer2response"] == ["Neutral", "Entailment"]
    assert data["results"][0]["retrieved_context"][1] == {"doc_id": "001", "text": "not c"}
    assert data["metrics"]["overall"]["precision"] == 50.0
    # What was written is read back as the same record, and scores the same.
    (again,) = read_ragchecker(path)
    entailment = found.entailment()
    assert again == record
    assert entailment is not None
    assert again.metrics == ragchecker(entailment)
    response = again.to_response()
    assert (response.response_claims, response.gold_claims) == (ONE.response_claims, ONE.gold_claims)


def test_a_failed_judgement_is_not_written():
    response = replace(ONE, response_claims=("a", "fail"))
    (found,) = check([response], WordChecker())
    with pytest.raises(ValueError, match="judge failed on 4 cells"):
        record_of(response, found)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"query": None}, None),
        ({"retrieved_context": None}, "result 1"),
        ({"retrieved2response": [["Neutral"]]}, "result 1: retrieved2response needs 2 rows"),
    ],
)
def test_records_of_another_form_are_refused(tmp_path, change, match):
    path = write(tmp_path / "bad.json", [RECORD | change])
    if match is None:
        assert read_ragchecker(path)[0].query == "None"
        return
    with pytest.raises(InputError, match=match):
        read_ragchecker(path)


def test_files_of_another_form_are_refused(tmp_path):
    with pytest.raises(InputError, match="result 1: has no 'query_id'"):
        read_ragchecker(write(tmp_path / "a.json", [{name: RECORD[name] for name in ("query", "retrieved_context")}]))
    (tmp_path / "b.json").write_text("[1]", encoding="utf-8")
    with pytest.raises(InputError, match='list "results"'):
        read_ragchecker(tmp_path / "b.json")
    with pytest.raises(InputError, match="cannot be read"):
        read_ragchecker(tmp_path / "none.json")


def test_claims_as_triplets():
    assert claim_text(["Nile", "ends in", "Italy"]) == "Nile ends in Italy"
    assert claim_text("The Nile ends.") == "The Nile ends."


def test_correlations_agree_with_scipy():
    draw = torch.Generator().manual_seed(0)
    x, y = torch.rand(50, generator=draw).round(decimals=1), torch.rand(50, generator=draw)
    assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic)
    assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic)
    assert pearson(x, torch.ones(50)) is None
    # Case 0 twice, case 1 not at all.
    weights = torch.ones(1, 50, dtype=torch.float64)
    weights[0, :2] = torch.tensor([2.0, 0.0])
    rows = [0, 0, *range(2, 50)]
    assert float(resampled_pearson(x, y, weights)) == pytest.approx(stats.pearsonr(x[rows], y[rows]).statistic)


def test_a_perfect_judge_correlates_perfectly():
    found = correlation([(0.0, 0.5), (0.5, 0.5), (0.5, 0.0)], [2.0, 0.0, -2.0])
    assert (found["pearson"], found["spearman"]) == (pytest.approx(1), pytest.approx(1))
    assert correlation([(0.0, 0.5)] * 3, [1.0, 0.0, 1.0])["pearson"] is None


def test_expected_scores():
    (found,) = check([ONE], WordChecker())
    # P: (.1 + .8) / 2, R: (.8 + .1) / 2.
    assert expected_scores(found) == pytest.approx({"precision": 0.45, "recall": 0.45, "f1": 0.45})
    column = Matrix.of([[Judgement("support")]], 1)
    assert expected_scores(replace(found, matrices={"answer2response": column, "response2answer": column})) is None
    (empty,) = check([Response("q", "w", " ", "a", response_claims=(), gold_claims=("a",))], WordChecker())
    assert expected_scores(empty) == {"precision": 0, "recall": 0, "f1": 0}


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "checking_outputs.json", [RECORD], metrics=OVERALL)
    answers = {"model1": "The Nile flows through Egypt.", "model2": "The Nile flows through Egypt. The Danube flows through Austria."}
    labels, scores = [], []
    for number in range(4):
        row = {"instance_id": number, "dataset": "d", "query": f"Which rivers {number}?", "gt_answer": answers["model2"]}
        for annotator in (0, 1):
            label = dict.fromkeys(("correctness_label", "completeness_label", "overall_label"), number - annotator)
            labels.append({**row, **{model: {"response": text} for model, text in answers.items()}, **label})
        tool = dict.fromkeys(("correctness_label", "completeness_label", "overall_label"), 0.1 * number)
        scores.append({**row, "model1": {"ragchecker": dict.fromkeys(tool, 0.0)}, "model2": {"ragchecker": tool}})
    for name, rows in (("human_labels", labels), ("ragchecker_scores", scores)):
        with gzip.open(tmp_path / f"{name}.jsonl.gz", "wt", encoding="utf-8") as stream:
            stream.write("\n".join(map(json.dumps, rows)))
    return tmp_path


def test_instances_average_the_annotators(folder):
    instances = read_instances(folder)
    assert [one.human["overall_label"] for one in instances] == [-0.5, 0.5, 1.5, 2.5]
    assert instances[3].published["overall_label"] == pytest.approx((0.0, 0.3))
    assert reference_pair(folder) == {"questions": 1, "values": 11, "largest_difference": pytest.approx(0), "largest_of_means": 0}


def test_scores_of_instances(folder):
    class Held(WordChecker):
        def judge(self, requests):
            return [
                [Judgement("support" if claim in text else "neutral", (0.9, 0.0, 0.1)) for claim in claims] for text, claims in requests
            ]

    from arbgraph.extraction.syntactic import SyntacticExtractor

    ours, expected = score_instances(read_instances(folder), Held(), SyntacticExtractor())
    # The first answer states one of two gold claims, the second both; neither states anything else.
    assert ours[0] == {"correctness_label": (1, 1), "completeness_label": (0.5, 1), "overall_label": (pytest.approx(2 / 3), 1)}
    assert expected is not None
    assert expected[0]["correctness_label"] == pytest.approx((0.9, 0.9))


@pytest.mark.slow
def test_command_scores_again_without_a_model(folder, tmp_path, capsys, monkeypatch):
    options = {"data": str(folder), "sample": 2, "matrices": str(tmp_path / "m.jsonl")}
    main(**options, json=str(tmp_path / "first.json"))
    assert "largest difference" in capsys.readouterr().out
    monkeypatch.setattr("eval.ragchecker.open_checker", lambda name: pytest.fail("a model was loaded"))
    main(**options, rescore=True, json=str(tmp_path / "second.json"))
    first, second = (json.loads((tmp_path / name).read_text(encoding="utf-8")) for name in ("first.json", "second.json"))
    assert first == second
    assert first["instances"] == 2
    assert set(first["agreement"]["overall_label"]) == {"metric", "ours", "ours, probabilities", "tool"}
    with pytest.raises(InputError, match="needs --matrices"):
        main(str(folder), rescore=True)


def test_the_tools_own_example():
    path = Path(os.environ.get("ARBGRAPH_DATA", REPOSITORY / "../shared/data")) / "ragchecker"
    if not path.is_dir():
        pytest.skip(f"no RAGChecker data at {path}; set ARBGRAPH_DATA to the folder that holds ragchecker")
    found = reference_pair(path)
    assert (found["questions"], found["values"]) == (2, 22)
    assert found["largest_difference"] < 1e-9
    assert found["largest_of_means"] == 0
    records = read_ragchecker(path / "checking_inputs.json")
    assert [type(record) for record in records] == [RagRecord] * 2
