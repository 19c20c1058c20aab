"""Variants worked by hand, the command on two questions for every shipped study, resume, refusals; tables from result files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from arbgraph.graph import EvidenceGraph
from arbgraph.graphset import save_graphs
from arbgraph.io import InputError
from arbgraph.propagation.credibility import CredibilityPropagation
from arbgraph.propagation.trace import Verdicts
from arbgraph.schema import Answer, Citation, Claim, Document, Mention, Query
from eval.ablation import answer_values, main, run
from eval.benchmarks.base import Item
from eval.compare import Result, build, cell_text, load_results, on_common_questions, render, rows_of
from eval.compare import main as compare_main
from eval.metrics.credibility import Scored
from eval.propagation_systems import GraphSet
from eval.study import Base, Published, RunSpec, Study
from eval.variants import Decisive, HardElimination, without_pairs

CONTRADICT = [0.05, 0.9, 0.05]
STUDIES = sorted(Path("configs/eval/studies").glob("*.yaml"))
FLOORS = {"tau_q": -1.0, "tau_sim": -1.0}


def chain(verdicts, name: str = "q0", prior=(0.5, 0.5, 0.5)) -> EvidenceGraph:
    """Claims 0 - 1 - 2, each contradicting the next; the document of each is its own source."""
    documents = [Document(id=f"d{row}", text=f"text {row}") for row in range(3)]
    claims = [Claim.of(f"Claim number {row}", (Mention(document_id=f"d{row}", start=0, end=4),)) for row in range(3)]
    return EvidenceGraph.build(
        torch.tensor(prior, dtype=torch.float64),
        torch.tensor([[0, 1], [1, 2]]),
        torch.tensor([CONTRADICT, CONTRADICT]),
        similarity=torch.tensor([0.9, 0.8]),
        verdict=torch.tensor(verdicts, dtype=torch.float32),
        label=torch.tensor([1.0, 0.0, 1.0], dtype=torch.float64),
        document_group=torch.arange(3),
        claims=claims,
        documents=documents,
        query="Which claim?",
        name=name,
    )


A_WINS, B_WINS, UNKNOWN = [0.9, 0.05, 0.05], [0.05, 0.9, 0.05], [0.2, 0.2, 0.6]


def test_hard_elimination_spares_who_meets_a_removed_claim_only():
    # Pair (0, 1) is first by similarity: 1 is removed, so that pair (1, 2), which 1 would have won, is never met.
    trace = HardElimination(rounds=9, budget=3, tau_sim=0.5)(chain([A_WINS, A_WINS]))
    assert trace.accepted.tolist() == [True, False, True]
    assert trace.p[1] == 0
    assert trace.rounds[0].selected.tolist() == [True, False]
    # The other verdict first: 0 is removed, and 1 goes on to remove 2.
    trace = HardElimination(tau_sim=0.5)(chain([B_WINS, A_WINS]))
    assert trace.accepted.tolist() == [False, True, False]
    # Without a verdict that passes the gate nothing is removed.
    assert HardElimination(tau_sim=0.5)(chain([UNKNOWN, UNKNOWN])).accepted.all()


def test_hard_elimination_goes_by_intensity():
    # I(0, 1) = 1.1 / 1.1 and I(1, 2) = 1.4 / 1.2: the second pair is first, and its loser 1 no longer removes 0.
    trace = HardElimination(tau_sim=0.5)(chain([B_WINS, B_WINS], prior=(0.5, 0.6, 0.8)))
    assert trace.accepted.tolist() == [True, False, True]


def test_hard_elimination_gives_every_graph_of_a_batch_what_it_has_alone():
    from torch_geometric.data import Batch

    graphs = [chain([A_WINS, A_WINS]), chain([B_WINS, A_WINS], "q1")]
    batch = Batch.from_data_list(graphs, exclude_keys=["claims", "documents", "query", "name"])
    layer = HardElimination(tau_sim=0.5)
    assert layer(batch).accepted.tolist() == [flag for graph in graphs for flag in layer(graph).accepted.tolist()]


def test_without_pairs_every_kept_claim_keeps_its_prior():
    graph = chain([A_WINS, A_WINS])
    trace = CredibilityPropagation(tau_sim=0.5)(without_pairs(graph))
    assert trace.p.tolist() == [0.5, 0.5, 0.5]
    assert trace.accepted.all()
    assert graph.num_pairs == 2


class Fixed:
    def __init__(self, rows) -> None:
        self.rows = torch.tensor(rows, dtype=torch.float64)

    def arbitrate(self, graph, pairs, support, contradiction) -> Verdicts:
        return Verdicts(self.rows[pairs])


def test_without_a_gate_ties_are_decided():
    rows = [UNKNOWN, [0.3, 0.1, 0.6]]
    pairs = torch.arange(2)
    none = torch.zeros(2, dtype=torch.bool)

    def decided(prior):
        return Decisive(Fixed(rows)).arbitrate(chain([UNKNOWN, UNKNOWN], prior=prior), pairs, none, none).probabilities.tolist()

    assert decided((0.5, 0.5, 0.5)) == [[1, 0, 0], [0.3, 0.1, 0.6]]  # equal priors: the earlier claim
    assert decided((0.5, 0.6, 0.5)) == [[0, 1, 0], [0.3, 0.1, 0.6]]  # the likelier prior
    layer = CredibilityPropagation(rounds=2, tau_gate=0.0, tau_sim=0.5)
    graph = chain([[torch.nan] * 3] * 2)
    assert layer(graph, Decisive(Fixed(rows))).s.tolist() == pytest.approx([1.6, 0.0, -1.6])


def test_answers_are_searched_for_gold_and_wrong_answers():
    answer = Answer(text="She was born in Bern. He lives in Lyon.", citations=(_cite(0, 21), _cite(22, 39)))
    item = Item(Query(id="q", query="?", documents=()), gold=(("Bern", "Berne"), ("Paris",)), wrong=("Lyon",))
    assert answer_values(answer, item) == {
        "answered": 1.0,
        "density": 1000 * 2 / 9,
        "gold stated": 0.5,
        "wrong stated": 1.0,
        "clean": 0.0,
    }
    silent = answer_values(Answer(text="Nothing in Bern.", abstained=True), item)
    assert (silent["answered"], silent["density"], silent["gold stated"], silent["wrong stated"]) == (0.0, 0.0, 0.0, 0.0)
    assert answer_values(answer, None)["gold stated"] is None


def _cite(start: int, end: int) -> Citation:
    return Citation(start=start, end=end, claim_ids=("c",), document_ids=("d",))


def test_a_run_by_hand():
    data = GraphSet("tiny", [chain([A_WINS, B_WINS]), chain([UNKNOWN, UNKNOWN], "q1")])
    study = Study(title="t", reference="full", base=Base(settings="default"))
    result = run("full", RunSpec(settings={"tau_q": 0.4}), study, data, FLOORS, {})
    # 1 loses to 0 and to 2 in the first question; in the second nobody decides.
    assert result["claims"]["all"]["accepted"] == [True, False, True, True, True, True]
    assert result["claims"]["conflicted"]["question"] == [0, 0, 0, 1, 1, 1]
    assert result["counts"]["contradiction"] == 4
    bare = run("bare", RunSpec(variant="no_graph"), study, data, FLOORS, {})
    assert all(bare["claims"]["all"]["accepted"])
    assert bare["counts"]["contradiction"] == 0
    with pytest.raises(InputError, match=r"lies below 0\.6"):
        run("low", RunSpec(settings={"tau_sim": 0.5}), study, data, {"tau_q": -1.0, "tau_sim": 0.6}, {})
    with pytest.raises(InputError, match="prior is decided when the graphs are built"):
        run("prior", RunSpec(settings={"prior": 0.4}), study, data, FLOORS, {})


@pytest.fixture
def graph_file(tmp_path) -> Path:
    path = tmp_path / "tiny.safetensors"
    about = {"set": "tiny", "split": "dev", "data_sha256": "0", "models": {}, "settings": {"tau_q": -1.0, "tau_sim": 0.0}}
    save_graphs([chain([A_WINS, B_WINS]), chain([UNKNOWN, A_WINS], "q1"), chain([B_WINS, B_WINS], "q2")], path, about)
    return path


@pytest.mark.parametrize("study", STUDIES, ids=lambda path: path.stem)
def test_every_shipped_study_runs_on_two_questions(study, graph_file, tmp_path):
    out = tmp_path / "out"
    main(study, [graph_file], out, limit=2, quiet=True)
    results = load_results(out / "tiny")
    assert all(result.questions == ("q0", "q1") for result in results)
    assert len(results) == len({result.name for result in results}) > 1


def test_a_study_goes_on_and_refuses_another_configuration(graph_file, tmp_path, capsys):
    study = tmp_path / "s.yaml"
    study.write_text("title: t\nreference: full\nruns: {full: {}, bare: {variant: no_graph}}\n", encoding="utf-8")
    out = tmp_path / "out"
    main(study, [graph_file], out, quiet=True)
    before = {path.name: path.read_bytes() for path in sorted((out / "tiny").iterdir())}
    (out / "tiny" / "bare.json").unlink()
    stamp = (out / "tiny" / "full.json").stat().st_mtime_ns
    main(study, [graph_file], out)
    assert {path.name: path.read_bytes() for path in sorted((out / "tiny").iterdir())} == before
    assert (out / "tiny" / "full.json").stat().st_mtime_ns == stamp
    assert "tiny against full, 3 questions" in capsys.readouterr().out
    study.write_text("title: t\nreference: full\nruns: {full: {settings: {tau_q: 0.1}}}\n", encoding="utf-8")
    with pytest.raises(InputError, match="another configuration"):
        main(study, [graph_file], out, quiet=True)


def result(path: Path, name: str, values: list[float | None], questions=("a", "b", "c", "d")) -> Path:
    row = {"run": name, "questions": questions, "values": {"em": values}, "claims": {}, "counts": {}}
    row |= {"set": "s", "split": "test", "study": "t", "spec": {}, "base": {}}
    path.write_text(json.dumps(row), encoding="utf-8")
    return path


def test_tables_come_from_result_files(tmp_path, capsys):
    files = [result(tmp_path / "a.json", "a", [0.0, 0.0, None, 1.0]), result(tmp_path / "b_2.json", "b_2", [1.0, 1.0, 1.0, 1.0])]
    loaded = [one for file in files for one in load_results(file)]
    comparison = build(loaded, "a", published=[Published(run="b_2", metric="EM", value=34.4, source="a paper")])
    cell = comparison.cells["b_2"]["em"]
    assert (cell.value, cell.n, cell.difference.difference, cell.difference.n) == (1.0, 4, pytest.approx(2 / 3), 3)
    # Sign flips of (1, 1, 0): 2 of 4 distinct outcomes are as extreme.
    assert cell.p == cell.p_holm == 0.5
    assert comparison.cells["a"]["em"].value == pytest.approx(1 / 3)
    heads, rows = rows_of(comparison)
    assert heads == ["run", "em", "EM (published)"]
    assert rows[0] == ["a", "0.333", "-"]
    assert rows[1][2] == "34.4"
    assert render(comparison, "latex").splitlines()[0] == r"\begin{tabular}{lrr}"
    assert r"b\_2 &" in render(comparison, "latex")
    assert render(comparison, "csv").splitlines()[1] == "a,0.333,-"
    assert render(comparison, "markdown").splitlines()[1] == "| --- | --- | --- |"
    compare_main(files, "a", format="csv")
    assert capsys.readouterr().out.splitlines()[0] == "run,em"


def test_stars_follow_the_corrected_p(tmp_path):
    many = tuple(f"q{i}" for i in range(12))
    files = [result(tmp_path / f"{n}.json", n, [v] * 12, many) for n, v in (("a", 0.0), ("b", 1.0), ("c", 0.0))]
    comparison = build([one for file in files for one in load_results(file)], "a")
    assert comparison.cells["b"]["em"].p == pytest.approx(2 / 2**12)
    assert comparison.cells["b"]["em"].p_holm == pytest.approx(4 / 2**12)
    assert cell_text(comparison.cells["b"]["em"]) == "1.000 +1.000 [+1.000, +1.000]***"
    assert cell_text(comparison.cells["c"]["em"]) == "0.000 +0.000 [+0.000, +0.000]"


def test_what_cannot_be_compared_is_refused(tmp_path):
    a = load_results(result(tmp_path / "a.json", "a", [0.0] * 4))
    b = load_results(result(tmp_path / "b.json", "b", [0.0] * 4, ("a", "b", "c", "e")))
    with pytest.raises(InputError, match="different questions"):
        build([*a, *b], "a")
    with pytest.raises(InputError, match="given twice"):
        build([*a, *a], "a")
    with pytest.raises(InputError, match="reference 'z'"):
        build(a, "z")
    with pytest.raises(InputError, match="metric 'f2'"):
        build(a, "a", ["f2"])
    (tmp_path / "x.json").write_text('{"run": 1}', encoding="utf-8")
    with pytest.raises(InputError, match=r"no result of eval\.ablation"):
        load_results(tmp_path / "x.json")
    with pytest.raises(InputError, match="holds no result file"):
        load_results(_empty(tmp_path))


def _empty(folder: Path) -> Path:
    (folder / "empty").mkdir()
    return folder / "empty"


def test_plots_come_from_result_files(graph_file, tmp_path):
    from eval.plots import draw_study, sweeps_of

    study = tmp_path / "s.yaml"
    study.write_text(
        "title: t\nreference: full\nruns: {full: {}, bare: {variant: no_graph}}\nsweeps: {budget: [2, 1, null]}\n", encoding="utf-8"
    )
    main(study, [graph_file], tmp_path / "out", quiet=True)
    results = load_results(tmp_path / "out" / "tiny")
    assert [value for value, _ in sweeps_of(results)["budget"]] == ["1", "2", "all"]
    files = draw_study(results, "full", tmp_path / "plots", file_format="svg")
    assert [file.name for file in files[:2]] == ["sweeps.svg", "runs.svg"]
    again = draw_study(results, "full", tmp_path / "again", file_format="svg")
    assert [file.read_bytes() for file in files] == [file.read_bytes() for file in again]
    assert "bare" in files[1].read_text(encoding="utf-8")
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in files[2:])


def test_runs_of_a_system_on_a_benchmark_are_compared(tmp_path):
    for name, values in (("one", [0.0, 1.0]), ("two", [1.0, 1.0])):
        (tmp_path / name).mkdir()
        row = {"benchmark": "b", "split": "test", "system": name, "questions": ["x", "y"], "values": {"em_strict": values}}
        (tmp_path / name / "metrics.json").write_text(json.dumps(row, indent=1), encoding="utf-8")
    comparison = build([*load_results(tmp_path / "one"), *load_results(tmp_path / "two")], "one")
    assert comparison.cells["two"]["em_strict"].difference.difference == 0.5
    (tmp_path / "two" / "metrics.json").write_text('{"system": "two"}', encoding="utf-8")
    with pytest.raises(InputError, match="score the run anew"):
        load_results(tmp_path / "two")


def answered(folder: Path, questions: list[str], values: list[float]) -> Result:
    """A run of `eval.answers`."""
    folder.mkdir()
    row = {"benchmark": "b", "split": "test", "system": folder.name, "questions": questions, "values": {"em_strict": values}}
    (folder / "metrics.json").write_text(json.dumps(row), encoding="utf-8")
    return load_results(folder)[0]


def test_derived_questions_meet_those_that_they_derive_from(tmp_path):
    plain = answered(tmp_path / "plain", ["q-1", "q-2", "q-3"], [1.0, 0.0, 1.0])
    copies = answered(tmp_path / "copies", ["q-amp-3", "q-amp-1"], [0.0, 1.0])
    with pytest.raises(InputError, match="--common true"):
        build([plain, copies], "plain")
    cut = on_common_questions([plain, copies], {"q-amp-": "q-"})
    assert [one.questions for one in cut] == [("q-1", "q-3")] * 2
    assert [one.values["em_strict"] for one in cut] == [[1.0, 1.0], [1.0, 0.0]]
    compare_main([tmp_path / "plain", tmp_path / "copies"], "plain", prefixes={"q-amp-": "q-"}, format="csv", out=tmp_path / "out.csv")
    assert "-0.5" in (tmp_path / "out.csv").read_text(encoding="utf-8")
    with pytest.raises(InputError, match="no question in common"):
        on_common_questions([plain, copies], {})
    with pytest.raises(InputError, match="get the same id"):
        on_common_questions([plain], {"q-1": "q-2"})


def test_pooled_claims_cannot_be_cut(tmp_path):
    [one] = load_results(result(tmp_path / "a.json", "a", [0.0] * 4))
    scored = Scored(torch.zeros(1), torch.ones(1, dtype=torch.bool), torch.ones(1), torch.zeros(1, dtype=torch.long))
    with pytest.raises(InputError, match="pooled over questions"):
        on_common_questions([replace(one, claims={"all": scored})], {})
