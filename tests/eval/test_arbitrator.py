"""Arbitrators on contradictions with a known outcome: numbers by hand, judges, what is refused."""

from __future__ import annotations

import json
import math

import pytest
import torch

from arbgraph.arbitrator.causal_lm import CausalArbitrator
from arbgraph.arbitrator.records import ArbitrationRecord, write_arbitration_records
from arbgraph.chat.base import ChatModel
from arbgraph.checkpoint import CheckpointError
from arbgraph.io import InputError
from arbgraph.settings import load_settings
from eval import arbitrator
from eval.arbitrator import correctness, evaluate, position_bias, quality
from eval.arbitrator_trials import Judged, _from_orders, load_trials, make_judge, record_view

NAN = float("nan")


def record(number: int, winner: str, a: int, b: int, kind: str = "count", **dates: str) -> ArbitrationRecord:
    """A record whose sides have so many independent sources; `date_a`, `date_b` go to all statements of a side."""

    def side(name: str, count: int) -> list[dict]:
        date = dates.get(f"date_{name}", "")
        return [
            {"text": f"{name} says {row}", "group": 10 * number + (0 if name == "a" else 5) + row, "date": date} for row in range(count)
        ]

    return ArbitrationRecord(
        query=f"q{number // 2}",
        claim_a="A is so.",
        claim_b="B is so.",
        context_a=side("a", a),
        context_b=side("b", b),
        winner=winner,
        type=kind,
    )


RECORDS = [
    record(0, "a", 2, 1),
    record(1, "b", 2, 1),
    record(2, "unknown", 1, 1, "none"),
    record(3, "b", 0, 3),
    record(4, "b", 1, 1, "stale", date_a="2001", date_b="2009-06"),
]


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "records.jsonl"
    write_arbitration_records(file, RECORDS)
    return file


def test_numbers_by_hand():
    verdicts = torch.tensor([[0.9, 0.1, 0.0], [0.6, 0.3, 0.1], [0.5, 0.5, 0.0], [0.2, 0.2, 0.6], [NAN, NAN, NAN]], dtype=torch.float64)
    outcome = torch.tensor([0, 1, 0, 2, 1])
    assert correctness(verdicts.nan_to_num(0.0), outcome).tolist() == [1.0, 0.0, 0.5, 0.0, 0.5]
    found = quality(verdicts, outcome, gate=0.5)
    assert (found["contradictions"], found["with a right side"], found["failed"]) == (5, 4, 1)
    assert found["accuracy"] == (1 + 0 + 0.5 + 0.5) / 4
    # The first two verdicts pass the gate; the tie at 0.5 names no side.
    assert found["coverage"] == 2 / 5
    assert found["right when gated"] == 0.5
    # Failed verdicts count as unknown: right in row 3 only, and in row 0.
    assert found["three-way"] == pytest.approx(3 / 5)


def test_nothing_to_decide_is_undefined():
    found = quality(torch.tensor([[0.1, 0.1, 0.8]], dtype=torch.float64), torch.tensor([2]), gate=0.5)
    assert (found["accuracy"], found["accuracy at 80%"], found["AURC"], found["right when gated"]) == (None, None, None, None)
    assert found["three-way"] == 1.0


def test_accuracy_at_a_coverage_is_that_of_the_most_confident():
    confidence = torch.tensor([0.99, 0.95, 0.9, 0.8, 0.6], dtype=torch.float64)
    verdicts = torch.stack([confidence, 1 - confidence, torch.zeros(5)], dim=-1)
    assert quality(verdicts, torch.tensor([0, 0, 0, 0, 1]), 0.5)["accuracy at 80%"] == 1.0
    assert quality(verdicts, torch.tensor([1, 0, 0, 0, 0]), 0.5)["accuracy at 80%"] == 0.75


def test_majority_counts_sources_once(path):
    trials = load_trials(path, load_settings("default"))
    verdicts = make_judge("majority")(trials).verdicts.tolist()
    assert verdicts == [[2 / 3, 1 / 3, 0.0], [2 / 3, 1 / 3, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    assert make_judge("oracle")(trials).verdicts.argmax(-1).tolist() == [0, 1, 2, 1, 1]


def test_relevance_takes_the_claim_that_is_closer_to_the_query(path):
    trials = load_trials(path, load_settings("default"))
    assert make_judge("relevance")(trials).verdicts.tolist() == [[0.5, 0.5, 0.0]] * 5  # records know no relevance
    trials.views[0].graph.relevance[:] = torch.tensor([0.2, 0.7])
    trials.views[1].graph.relevance[:] = torch.tensor([0.9, 0.7])
    verdicts = make_judge("relevance")(trials).verdicts
    assert verdicts[0, 1].item() == pytest.approx(1 / (1 + math.exp(-0.5)))
    assert verdicts[:2].argmax(-1).tolist() == [1, 0]


def test_a_record_becomes_a_graph_with_its_sources_and_dates(path):
    view = record_view(RECORDS[4])
    assert view.graph.sources.tolist() == [1, 1]
    assert view.graph.published.tolist() == pytest.approx([2001.0, 2009.41], abs=0.01)
    assert record_view(RECORDS[3]).graph.sources.tolist() == [1, 3]
    fixed = make_judge("fixed")(load_trials(path, load_settings("default"))).verdicts
    assert fixed[0, 0] > fixed[0, 1]  # more sources
    assert fixed[4, 1] > 0.6  # newer


def test_evaluation_compares_over_questions(path):
    trials = load_trials(path, load_settings("default"))
    result = evaluate(trials, {"oracle": make_judge("oracle"), "majority": make_judge("majority")}, "oracle", 0.5)
    assert result["types"] == {"count": 3, "none": 1, "stale": 1}
    assert result["judges"]["majority"]["by type"] == {"count": 2 / 3, "none": None, "stale": 0.5}
    test = result["judges"]["majority"]["against reference"]
    # Questions q0 (1/2), q1 (1, its unknown record left out) and q2 (1/2) against 1, 1, 1.
    assert (test["difference"], test["n"]) == (pytest.approx(-1 / 3), 3)
    with pytest.raises(InputError, match="reference 'zzz'"):
        evaluate(trials, {"oracle": make_judge("oracle")}, "zzz", 0.5)


class FirstLikes(ChatModel):
    """Prefers whatever stands first: the option A gets 0.6 of the mass."""

    name, revision = "first", "1"

    def generate(self, requests):
        raise AssertionError("scores are enough")

    def option_logprobs(self, prompts, options):
        return torch.tensor([[0.6, 0.3, 0.1]] * len(prompts), dtype=torch.float64).log()


def test_position_bias_is_reported_and_averaged_away(path):
    trials = load_trials(path, load_settings("default"))
    result = evaluate(trials, {"biased": _from_orders(CausalArbitrator(FirstLikes()))}, "biased", 0.5)
    row = result["judges"]["biased"]
    assert row["bias"] == pytest.approx(0.3)
    assert row["bias size"] == pytest.approx(0.3)
    assert row["bias after"] == pytest.approx(0.0, abs=1e-12)
    assert row["accuracy"] == 0.5
    assert position_bias(torch.tensor([[[0.5, 0.4, 0.1], [0.7, 0.2, 0.1]]])) == {
        "bias": pytest.approx(-0.2),
        "bias size": pytest.approx(0.2),
    }


def test_failed_verdicts_are_counted_and_never_right(path):
    trials = load_trials(path, load_settings("default"))
    nothing = Judged(torch.full((5, 3), NAN, dtype=torch.float64))
    row = evaluate(trials, {"silent": lambda trials: nothing}, "silent", 0.5)["judges"]["silent"]
    assert (row["failed"], row["coverage"], row["accuracy"]) == (5, 0.0, 0.5)


def test_the_command_prints_one_table_and_writes_json(path, tmp_path, capsys):
    arbitrator.main([path], ["fixed", "majority", "oracle"], json=tmp_path / "out.json")
    assert "records: 5 contradictions" in " ".join(capsys.readouterr().out.split())
    (row,) = [json.loads(line) for line in (tmp_path / "out.json").read_text(encoding="utf-8").splitlines()]
    assert row["judges"]["oracle"]["accuracy"] == 1.0


def test_what_is_refused(path, tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_text('{"a": 1}\n', encoding="utf-8")
    with pytest.raises(InputError, match="neither an arbitration record"):
        load_trials(other, load_settings("default"))
    with pytest.raises(InputError, match="is no judge"):
        make_judge("zero-shot:none")
    (tmp_path / "folds").mkdir()
    (tmp_path / "folds" / "folds.jsonl").write_text('{"question": "x", "fold": 0}\n', encoding="utf-8")
    with pytest.raises(CheckpointError, match="fold-0"):
        make_judge(f"folds:{tmp_path / 'folds'}")(load_trials(path, load_settings("default")))
