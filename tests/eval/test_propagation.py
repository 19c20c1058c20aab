"""The evaluation of propagation: scopes, tuning, score files, comparisons, the command."""

from __future__ import annotations

import json

import pytest
import torch

from arbgraph.graph import EvidenceGraph
from arbgraph.graphset import GraphSetError, save_graphs
from arbgraph.io import InputError
from arbgraph.schema import Claim
from arbgraph.settings import load_settings
from eval.propagation import claim_rows, evaluate, main
from eval.propagation_systems import GraphSet, Output, System, accept_all, make_systems, out_of_fold, score_file, tune_threshold

CONTRADICT, NEUTRAL, UNSURE = [0.05, 0.9, 0.05], [0.05, 0.05, 0.9], [0.3, 0.4, 0.3]


def question(number: int, *, label=(1.0, 0.0, 1.0, torch.nan), relevance=(0.9, 0.9, 0.9, 0.9), relations=(CONTRADICT, NEUTRAL)):
    """Claims 0 and 1 contradict, 1 and 2 do not, 3 stands alone; claim 0 has two sources more."""
    return EvidenceGraph.build(
        torch.full((4,), 0.5, dtype=torch.float64),
        torch.tensor([[0, 1], [1, 2]]),
        torch.tensor(relations),
        relevance=torch.tensor(relevance),
        similarity=torch.tensor([0.8, 0.8]),
        source_index=torch.tensor([[0, 0, 0, 1, 2, 3], [0, 1, 2, 3, 4, 5]]),
        num_sources=6,
        label=torch.tensor(label, dtype=torch.float64),
        name=f"q{number}",
        claims=[Claim.of(f"Claim {row} of question {number}.", ()) for row in range(4)],
    )


@pytest.fixture
def data() -> GraphSet:
    return GraphSet(
        "small", [question(0), question(1, relations=(UNSURE, NEUTRAL)), question(2, relevance=(0.1, 0.9, 0.9, 0.9)), question(3)]
    )


def fixed(name: str, score, tau: float = 0.5) -> System:
    """A system with given scores, whose decisions follow the threshold that it is run with."""
    values = torch.tensor(score, dtype=torch.float64)

    def run(data: GraphSet, asked: float | None) -> Output:
        threshold = tau if asked is None else asked
        rows = values.repeat(len(data.graphs))
        return Output(rows, rows >= threshold, torch.ones(len(data.graphs), dtype=torch.bool), threshold)

    return System(name, run, tunable=True)


def test_conflicted_claims_are_ends_of_edges_in_force(data):
    # Question 1's contradiction is below tau_conf, an end of question 2's is below tau_q.
    expected = [True, True, False, False] + [False] * 8 + [True, True, False, False]
    assert data.conflicted.tolist() == expected
    assert data.known.tolist() == [True, True, True, False] * 4
    assert data.edge_counts() == {"in_force": 2, "two_invalid": 0, "valid_and_invalid": 2, "two_valid": 0}


def test_evaluation_by_hand(data):
    outputs = {s.name: s.run(data, None) for s in (fixed("good", [0.9, 0.1, 0.8, 0.5]), fixed("bad", [0.1, 0.9, 0.8, 0.5]))}
    result = evaluate(data, outputs, "bad", draws=200)
    good, bad = (result["scopes"]["conflicted"]["systems"][name] for name in ("good", "bad"))
    assert result["scopes"]["conflicted"]["questions"] == 2
    assert result["scopes"]["all"]["questions"] == 4
    assert (good["claims"], good["f1"], good["auroc"], good["false_rejections"]) == (4, 1.0, 1.0, 0)
    assert (bad["f1"], bad["auroc"], bad["false_rejections"], bad["tau_accept"], bad["not_settled"]) == (0.0, 0.0, 2, 0.5, 0)
    assert bad["against_reference"] is None
    # Two questions: of four exchanges, two are as extreme; three comparisons, each p 1/2.
    against = good["against_reference"]["auroc"]
    assert (against["difference"], against["p_permutation"], against["p_holm"]) == (1.0, 0.5, 1.0)
    everything = result["scopes"]["all"]["systems"]["good"]
    assert (everything["claims"], everything["base_rate"]) == (12, pytest.approx(2 / 3))


def test_the_threshold_is_searched_exactly(data):
    # Conflicted claims have 0.6 (valid) and 0.4 (not): any threshold between separates them, the middle is taken.
    assert tune_threshold(fixed("x", [0.6, 0.4, 0.0, 0.0]), data) == pytest.approx(0.5)
    # No threshold helps: the lowest of the best accepts everything.
    assert tune_threshold(fixed("x", [0.4, 0.6, 0.0, 0.0]), data) == 0.0
    tuned = fixed("x", [0.6, 0.4, 0.0, 0.0], tau=0.9).tuned(data)
    assert tuned.run(data, None).accepted.tolist()[:4] == [True, False, False, False]
    assert tuned.name == "x"


def test_tuning_of_algorithm_1_runs_it_with_every_threshold(data):
    (system,) = make_systems(["default"], load_settings("default"))
    tuned = system.tuned(data)
    assert tuned.name == "default, tuned"
    output = tuned.run(data, None)
    rows = data.conflicted
    assert output.accepted[rows].tolist() == [True, False, True, False]
    assert output.tau_accept is not None
    assert output.score[0] > output.tau_accept > output.score[1]


def test_out_of_fold_thresholds_do_not_see_their_questions(data):
    seen: list[int] = []

    def run(part: GraphSet, tau: float | None) -> Output:
        seen.append(len(part.graphs))
        rows = torch.tensor([0.6, 0.4, 0.0, 0.0], dtype=torch.float64).repeat(len(part.graphs))
        return Output(rows, rows >= (0.0 if tau is None else tau), torch.zeros(len(part.graphs), dtype=torch.bool), tau)

    both = GraphSet("two", [data.graphs[0], data.graphs[3]])
    output = out_of_fold(System("x", run, tunable=True), both, 2, 0)
    assert output.accepted.tolist() == [True, False, False, False] * 2
    assert output.settled.tolist() == [False, False]
    assert set(seen[1:]) == {1}
    with pytest.raises(InputError, match="cut into 9 folds"):
        out_of_fold(fixed("x", [0.0] * 4), both, 9, 0)


def test_every_rival_scores_every_claim(data):
    names = ["all"]
    systems = make_systems(names, load_settings("default"))
    assert len(systems) >= 15
    assert [s.name for s in systems][:3] == ["as_released", "default", "accept_all"]
    for system in systems:
        output = system.run(data, None)
        assert output.score.shape == output.accepted.shape == (16,), system.name
        assert bool(((output.score >= 0) & (output.score <= 1)).all()), system.name
        assert system.name == "accept_all" or not output.accepted[8], system.name  # below tau_q


def test_accept_all_accepts_irrelevant_claims_too(data):
    assert accept_all(data, None).accepted.all()


def test_scores_from_a_file(data, tmp_path):
    ids = [[claim.id for claim in graph.claims] for graph in data.graphs]
    rows = [
        {"question": f"q{q}", "claim": ids[q][row] if q else row, "score": 0.1 * row, "accepted": row == 2}
        for q in range(4)
        for row in range(3)
    ]
    path = tmp_path / "fold.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    output = score_file(path).run(data, None)
    assert output.score[data.known].tolist() == pytest.approx([0.0, 0.1, 0.2] * 4)
    assert output.accepted.tolist() == [False, False, True, False] * 4
    path.write_text("\n".join(map(json.dumps, rows[:-1])), encoding="utf-8")
    with pytest.raises(InputError, match="1 labelled claims of small have no score"):
        score_file(path).run(data, None)
    path.write_text(json.dumps({**rows[0], "score": 2}), encoding="utf-8")
    with pytest.raises(InputError, match=r"line 1: score 2.0"):
        score_file(path)


def test_claim_rows_show_text_label_and_scores(data):
    rows = claim_rows(data, {"all": accept_all(data, None)})
    assert len(rows) == 16
    assert rows[1]["text"] == "Claim 1 of question 0."
    assert (rows[1]["label"], rows[3]["label"], rows[1]["conflicted"]) == (0.0, None, True)
    assert rows[1]["systems"] == {"all": {"score": 0.5, "accepted": True}}


def test_the_command(data, tmp_path, capsys):
    path, out = tmp_path / "small.safetensors", tmp_path / "out.json"
    save_graphs(data.graphs, path, {"split": "dev"})
    arguments = ["--graphs", str(path), "--systems", "as_released", "default", "majority", "--tune", str(path), "--draws", "50"]
    main([*arguments, "--json", str(out), "--plots", str(tmp_path / "plots"), "--claims", str(tmp_path / "claims.jsonl")])
    result = json.loads(out.read_text(encoding="utf-8"))
    assert list(result["scopes"]["conflicted"]["systems"]) == [
        "as_released",
        "as_released, tuned",
        "default",
        "default, tuned",
        "majority",
    ]
    assert result["metadata"] == {"split": "dev"}
    assert "small, conflicted claims: 4 with labels in 2 questions" in capsys.readouterr().out
    pictures = sorted(file.name for file in (tmp_path / "plots").iterdir())
    assert pictures == ["small_reliability.png", "small_risk_coverage.png", "small_scores.png"]
    assert all((tmp_path / "plots" / name).read_bytes()[:4] == b"\x89PNG" for name in pictures)
    assert len((tmp_path / "claims.jsonl").read_text(encoding="utf-8").splitlines()) == 16
    main([*arguments[:-4], "--draws", "50", "--tune_folds", "4", "--reference", "as_released", "--json", str(out)])
    assert json.loads(out.read_text(encoding="utf-8"))["tuned_on"] == "the other folds of 4"


def test_refusals(data, tmp_path):
    settings = load_settings("default")
    with pytest.raises(InputError, match="neither one of all, as_released"):
        make_systems(["nonsense"], settings)
    with pytest.raises(InputError, match="named twice"):
        make_systems(["all", "majority"], settings)
    with pytest.raises(InputError, match="reference 'default' is none"):
        evaluate(data, {"all": accept_all(data, None)}, "default")
    with pytest.raises(InputError, match="cannot be tuned"):
        tune_threshold(fixed("x", [0.5] * 4), GraphSet("calm", [question(0, relations=(NEUTRAL, NEUTRAL))]))
    save_graphs([question(0, label=(torch.nan,) * 4)], tmp_path / "unlabelled")
    with pytest.raises(GraphSetError, match="no claim has a label"):
        GraphSet.load(tmp_path / "unlabelled")
    graph = question(0)
    del graph.label
    save_graphs([graph], tmp_path / "bare")
    with pytest.raises(GraphSetError, match="graphs without labels"):
        GraphSet.load(tmp_path / "bare")
