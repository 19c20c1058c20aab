"""Fitting the propagation: planted parameters come back, what is frozen stays, the same seed gives the same fit, bad data is named."""

from __future__ import annotations

import math

import pytest
import torch

from arbgraph.propagation.credibility import CredibilityPropagation
from arbgraph.propagation.fitted import parameters_of
from arbgraph.synthetic import SyntheticWorlds, draw_worlds
from train.propagation_data import LabelledGraphs, TrainingDataError
from train.propagation_fit import Fit, FitSettings, build, descend, fit, score

PLANTED = {
    "rounds": 2,
    "budget": None,
    "step_size": 0.9,
    "tau_accept": 0.35,
    "tau_gate": 0.6,
    "tau_q": 0.45,
    "tau_sim": 0.7,
    "tau_conf": 0.55,
}
START = PLANTED | {"step_size": 0.5, "tau_accept": 0.3, "tau_gate": 0.5, "tau_q": 0.35, "tau_sim": 0.6, "tau_conf": 0.5}
SCALARS = ("step_size", "tau_accept", "tau_gate", "tau_q", "tau_sim", "tau_conf")
QUICK = FitSettings(learn=("step_size", "tau_accept"), steps=30, restarts=1, acceptance=1.0)


def worlds(count=200, **changes):
    return draw_worlds(
        SyntheticWorlds(**{"worlds": count, "seed": 2, "labels": "planted", "planted": PLANTED, "prior_spread": 1.5, **changes})
    )


@pytest.fixture(scope="module")
def few():
    return LabelledGraphs(worlds(30))


def recovered(noise: float) -> dict[str, float]:
    settings = FitSettings(learn=SCALARS, restarts=1, acceptance=1.0, conflict_weight=1.0, decay=0.0, refinements=6)
    return parameters_of(fit(LabelledGraphs(worlds(verdict_noise=noise)), START, settings, None).layer)


@pytest.mark.slow
def test_planted_parameters_are_recovered_from_clean_verdicts():
    """Priors are spread, because a constant prior puts all logits on multiples of the step size: then whole intervals of step size and
    tau_accept give the same labels. Two rounds, because a loser is at the boundary after it lost in every round: with more
    rounds that takes priors that hardly occur."""
    found = recovered(0.0)
    assert found["step_size"] == pytest.approx(0.9, rel=0.05)
    for name in SCALARS[1:]:
        assert found[name] == pytest.approx(PLANTED[name], abs=0.02), name


@pytest.mark.slow
def test_a_tenth_of_the_verdicts_wrong_moves_the_recovered_parameters_little():
    found = recovered(0.1)
    assert found["step_size"] == pytest.approx(0.9, rel=0.15)
    for name in SCALARS[1:]:
        assert found[name] == pytest.approx(PLANTED[name], abs=0.05), name


def test_the_gradient_lowers_the_objective_and_the_fit_is_no_worse_than_the_start(few):
    before, after = descend(few, START, QUICK, None).objective
    assert after < before
    assert fit(few, START, QUICK, None).criterion.key >= score(few, START).key


def test_only_what_is_learned_moves(few):
    settings = FitSettings(learn=("step_size", "tau_gate"), steps=10, restarts=2)
    moved = descend(few, START, settings, None).values
    assert moved.keys() == {"step_size", "tau_gate"}
    assert all(moved[name] != START[name] for name in moved)
    found, given = parameters_of(fit(few, START, settings, None).layer), parameters_of(CredibilityPropagation(**START))
    assert {name for name in given if found[name] != given[name]} <= moved.keys()


def test_the_same_seed_gives_the_same_fit_to_the_last_bit(few):
    settings = FitSettings(learn=("step_size", "tau_accept", "tau_gate"), steps=10, restarts=3)
    one, two = (fit(few, START, settings, None, seed=7) for _ in range(2))
    assert parameters_of(one.layer) == parameters_of(two.layer)
    assert one.candidates == two.candidates
    other = fit(few, START, settings, None, seed=8)
    assert other.candidates[2] != one.candidates[2]


def test_the_result_runs_in_exact_mode_and_reproduces_its_criterion(few):
    found: Fit = fit(few, START, QUICK, None)
    assert found.layer.mode == "exact"
    assert few.criterion(found.layer(few.batch), found.layer.rounds) == found.criterion


def test_the_grid_prefers_fewer_rounds_among_equals(few):
    # Nothing is learned and the verdicts never pass the gate, so every grid point gives the same scores.
    settings = FitSettings(learn=(), rounds=(4, 1, 3), budgets=(None, 3), schedulers=("conflict_aware", "hard_first"))
    found = fit(few, START | {"tau_gate": 1.0, "rounds": 4}, settings, None)
    assert found.layer.rounds == 1
    assert math.isnan(found.objective[0])


def test_claims_without_a_label_do_not_count(few):
    graphs = worlds(30)
    for graph in graphs[:15]:
        graph.label[:] = torch.nan
    half = LabelledGraphs(graphs)
    wrong = worlds(30)
    for graph in wrong[:15]:
        graph.label = torch.where(torch.arange(graph.label.numel()) >= 0, torch.nan, graph.label)
    layer = build(START)
    assert half.criterion(layer(half.batch), 2) == LabelledGraphs(wrong).criterion(layer(half.batch), 2)
    assert half.weight(3.0)[~half.known].sum() == 0
    assert half.weight(3.0).sum() == pytest.approx(1)


def test_conflicted_claims_weigh_more_and_sets_weigh_alike():
    data = LabelledGraphs(worlds(20) + worlds(5, seed=3), ["big"] * 20 + ["small"] * 5)
    weight = data.weight(3.0)
    assert weight[data.set_of == 0].sum() == pytest.approx(0.5)
    inside = data.set_of == 0
    assert weight[inside & data.conflicted][0] == pytest.approx(3 * float(weight[inside & ~data.conflicted][0]))


def test_pairs_that_are_most_probably_neutral_change_nothing():
    graphs = worlds(10)
    data, layer = LabelledGraphs(graphs), CredibilityPropagation(**START)
    assert data.batch.num_pairs < sum(graph.num_pairs for graph in graphs)
    assert torch.equal(layer(data.batch).s, torch.cat([layer(graph).s for graph in graphs]))


def test_folds_part_the_questions_of_every_set():
    data = LabelledGraphs(worlds(11) + worlds(7, seed=3), ["a"] * 11 + ["b"] * 7)
    folds = data.folds(3, seed=0)
    assert sorted(row for fold in folds for row in fold) == list(range(18))
    assert {sum(row < 11 for row in fold) for fold in folds} == {3, 4}
    assert data.folds(3, seed=0) == folds != data.folds(3, seed=1)
    with pytest.raises(TrainingDataError, match="set b: 7 questions do not fill 8 folds"):
        data.folds(8, seed=0)


def spoiled(change):
    graphs = worlds(6)
    for graph in graphs:
        change(graph)
    return graphs


def drop_label(graph):
    del graph.label


def no_conflict(graph):
    graph.relation[:] = torch.tensor([0.8, 0.1, 0.1], dtype=torch.float64)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (drop_label, r"has no label; give every claim 1, 0 or NaN"),
        (lambda g: g.label.fill_(torch.nan), "no claim has a label"),
        (lambda g: g.label.fill_(1.0), "every labelled claim is 1; both classes are needed"),
        (lambda g: g.label.fill_(0.5), r"label\[0\] is 0.5"),
        (no_conflict, "there is no conflict to learn from"),
        (lambda g: setattr(g, "label", g.label[:-1]), "entries for"),
    ],
)
def test_graphs_that_cannot_be_learned_from_are_named(change, message):
    with pytest.raises(TrainingDataError, match=message):
        LabelledGraphs(spoiled(change))


def test_conflicts_without_labels_and_no_graphs_are_named():
    graphs = worlds(6)
    conflicted = LabelledGraphs(graphs).conflicted.split([graph.num_nodes for graph in graphs])
    for graph, rows in zip(graphs, conflicted, strict=True):
        graph.label[rows] = torch.nan
    # Both classes are there, so that it is the missing conflict that is complained of.
    free = next(graph for graph, rows in zip(graphs, conflicted, strict=True) if int((~rows).sum()) > 1)
    rows = (~conflicted[next(i for i, graph in enumerate(graphs) if graph is free)]).nonzero().squeeze(-1)
    free.label[rows[0]], free.label[rows[1]] = 0.0, 1.0
    with pytest.raises(TrainingDataError, match="no conflicted claim has a label"):
        LabelledGraphs(graphs)
    with pytest.raises(TrainingDataError, match="no graph to learn from"):
        LabelledGraphs([])


def test_missing_verdicts_need_an_arbitrator():
    data = LabelledGraphs(draw_worlds(SyntheticWorlds(worlds=10, verdicts=False)))
    with pytest.raises(ValueError, match="have no verdict; name an arbitrator"):
        fit(data, START, QUICK, None)


def test_settings_are_checked():
    with pytest.raises(ValueError, match="'eta' is not known"):
        FitSettings(learn=("eta",))
    with pytest.raises(ValueError, match="restarts >= 1"):
        FitSettings(restarts=0)
    with pytest.raises(ValueError, match="shares within"):
        FitSettings(acceptance=2.0)
