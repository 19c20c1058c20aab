"""The fitting command: what it prints, writes and refuses; cross-validation that never sees what it predicts."""

from __future__ import annotations

import json

import pytest
import torch
import yaml

from arbgraph.arbitrator import EvidenceArbitrator, LearnedEvidenceArbitrator
from arbgraph.graphset import save_graphs
from arbgraph.propagation.fitted import load_propagation
from arbgraph.synthetic import SyntheticWorlds, draw_worlds
from train.propagation import main
from train.propagation_arbitrator import ArbitratorSettings, JointArbitrator, train_arbitrator
from train.propagation_data import LabelledGraphs
from train.propagation_fit import FitSettings, descend
from train.propagation_learn import Recipe, claim_report, cross_fitted, cross_validate, learn

WORLDS = SyntheticWorlds(worlds=16, verdicts=False, off_topic=0.0)
LAYER = {"learn": ["step_size", "tau_accept", "prior_sources"], "steps": 5, "restarts": 1}
PAIRS = {"steps": 10, "hidden": 4}
QUICK = Recipe(
    part="both", cross_fit=2, layer=FitSettings(learn=("step_size", "tau_accept"), steps=3, restarts=1), pairs=ArbitratorSettings(**PAIRS)
)


@pytest.fixture
def config(tmp_path):
    """A configuration file over a graph set of its own; keyword arguments replace entries."""

    def write(part="both", **changes):
        save_graphs(draw_worlds(WORLDS), tmp_path / "worlds.safetensors")
        values = {
            "recipe": {"part": part, "layer": LAYER, "pairs": PAIRS},
            "sets": [{"path": "worlds.safetensors", "name": "worlds", "licence": "CC0-1.0"}],
            "data": str(tmp_path),
            **changes,
        }
        path = tmp_path / "config.yaml"
        path.write_text(yaml.safe_dump(values), encoding="utf-8")
        return str(path)

    return write


def run(*arguments):
    main(["fit", *arguments])


def test_the_command_writes_checkpoints_that_load_and_say_what_they_are(tmp_path, config, capsys):
    out, judge, numbers, lines = (str(tmp_path / name) for name in ("layer", "judge", "numbers.json", "lines.jsonl"))
    flags = ["--config", config(), "--folds", "2", "--output", out, "--arbitrator_output", judge, "--json", numbers, "--predictions", lines]
    run(*flags)
    shown = capsys.readouterr().out
    assert "out of fold" in shown
    assert "step_size" in shown
    layer, arbitrator = load_propagation(out), LearnedEvidenceArbitrator.load(judge)
    metrics = json.loads((tmp_path / "numbers.json").read_text(encoding="utf-8"))
    assert metrics["cross_validation"]["folds"] == 2
    data = LabelledGraphs(draw_worlds(WORLDS), ["worlds"] * 16)
    trace = layer(data.batch, arbitrator)
    assert claim_report(data, trace.p.detach(), trace.accepted) == metrics["train"]
    card = (tmp_path / "layer" / "README.md").read_text(encoding="utf-8")
    assert "--arbitrator judge" in card
    assert "| worlds | CC0-1.0 | 16 |" in card
    training = yaml.safe_load((tmp_path / "layer" / "training.yaml").read_text(encoding="utf-8"))
    assert training["recipe"]["layer"]["learn"] == LAYER["learn"]
    rows = [json.loads(line) for line in (tmp_path / "lines.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) == data.label.numel()
    assert {row["fold"] for row in rows} == {0, 1}
    assert all(0 < row["score"] < 1 for row in rows)


def test_the_arbitrator_alone_and_the_propagation_alone(tmp_path, config):
    run("--config", config("arbitrator"), "--arbitrator_output", str(tmp_path / "judge"))
    run("--config", config("propagation"), "--recipe.arbitrator", str(tmp_path / "judge"), "--output", str(tmp_path / "layer"))
    assert "judge" in (tmp_path / "layer" / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("part", "flags", "message"),
    [
        ("arbitrator", ["--output", "x"], "fits no propagation"),
        ("propagation", ["--arbitrator_output", "x"], "trains no arbitrator"),
        ("both", ["--output", "x"], "give arbitrator_output too"),
        ("both", ["--data", "nowhere"], "nowhere"),
        ("both", ["--sets", "[]"], "nothing to learn from"),
        ("propagation", ["--recipe.arbitrator", "nobody"], "checkpoint 'nobody'"),
    ],
)
def test_mistakes_end_in_one_line(tmp_path, monkeypatch, config, part, flags, message):
    path = config(part)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=message):
        run("--config", path, *flags)


def test_predictions_of_a_fold_do_not_depend_on_its_labels():
    graphs = draw_worlds(WORLDS)
    before = cross_validate(LabelledGraphs(graphs), QUICK, 4, seed=0)
    changed = LabelledGraphs(graphs).folds(4, seed=0)[2]
    for row in changed:
        graphs[row].label = 1 - graphs[row].label
    data = LabelledGraphs(graphs)
    after = cross_validate(data, QUICK, 4, seed=0)
    rows = torch.isin(data.batch.batch, torch.tensor(changed))
    assert torch.equal(before.p[rows], after.p[rows])
    assert torch.equal(before.accepted[rows], after.accepted[rows])
    assert not torch.equal(before.p[~rows], after.p[~rows])
    assert not before.p.isnan().any()
    assert len(before.outcome) == len(before.verdict) > 0


def test_cross_fitted_verdicts_come_from_perceptrons_that_did_not_see_the_question():
    graphs = draw_worlds(WORLDS)
    data = LabelledGraphs(graphs)
    before = cross_fitted(data, QUICK, seed=0).batch.verdict
    assert not before.isnan().any()
    part = data.folds(2, seed=0)[0]
    for row in part:
        graphs[row].label = 1 - graphs[row].label
    after = cross_fitted(LabelledGraphs(graphs), QUICK, seed=0).batch.verdict
    seen = torch.isin(data.batch.batch[data.batch.pair_index[0]], torch.tensor(part))
    assert torch.equal(before[seen], after[seen])
    assert not torch.equal(before[~seen], after[~seen])
    assert data.batch.verdict.isnan().all()


def test_joint_training_moves_the_arbitrator_and_leaves_its_start_alone():
    data, pairs = LabelledGraphs(draw_worlds(WORLDS)), ArbitratorSettings(**PAIRS)
    alone = train_arbitrator(data, pairs)
    before = alone.model.inner.weight.detach().clone()
    settings = FitSettings(learn=("step_size",), steps=5, restarts=1, acceptance=0.0)
    start = Recipe().arguments()
    joint = descend(data, start, settings, alone, lambda layer: JointArbitrator(alone, data, pairs, layer))
    assert isinstance(joint.arbitrator, LearnedEvidenceArbitrator)
    assert not torch.equal(joint.arbitrator.model.inner.weight, before)
    assert torch.equal(alone.model.inner.weight, before)
    assert data.batch.verdict.isnan().all()
    learned = learn(data, Recipe(part="joint", layer=settings, pairs=pairs))
    assert learned.fit is not None
    assert learned.arbitrator is learned.fit.arbitrator


def test_the_report_by_hand():
    data = LabelledGraphs(draw_worlds(WORLDS), ["worlds"] * 16)
    everything = torch.ones_like(data.known)
    report = claim_report(data, data.label, everything)["worlds all"]
    valid = float(data.label[data.known].mean())
    assert report["precision"] == pytest.approx(valid)
    assert (report["recall"], report["auroc"]) == (1.0, 1.0)
    assert report["f1"] == pytest.approx(2 * valid / (1 + valid))
    nothing = claim_report(data, torch.full_like(data.label, 0.5), ~everything)["worlds conflicted"]
    assert (nothing["precision"], nothing["recall"], nothing["f1"], nothing["auroc"]) == (None, 0.0, 0.0, 0.5)
    assert isinstance(learn(data, Recipe(part="propagation", layer=FitSettings(learn=(), restarts=1))).arbitrator, EvidenceArbitrator)
