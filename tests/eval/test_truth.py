"""Truth-discovery evaluation on a small crowd that is written here."""

from __future__ import annotations

import csv
import gzip
import json

import pytest
import torch

from arbgraph.io import InputError
from arbgraph.propagation.trust import SourceTrust
from arbgraph.propagation.trust_fit import correct_share, fit_source_trust, known_claims, score_table, split_items, structures
from arbgraph.tables import Row, build_table
from eval.truth import OURS, evaluate, first_listed, load_set, main, paired_interval, with_vote_prior

QUICK = {"folds": 2, "steps": 3, "rounds": ()}


def write(path, header, records):
    with gzip.open(path, "wt", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *records])


def crowd(folder, items=60, seed=0):
    """Yes/no questions: one source is always right, four are right half of the time. Vote fails, trust does not."""
    draw = torch.Generator().manual_seed(seed)
    truth = torch.randint(0, 2, (items,), generator=draw).tolist()
    noise = torch.randint(0, 2, (items, 4), generator=draw).tolist()
    answers = [[t, *row] for t, row in zip(truth, noise, strict=True)]
    claims = [(f"q{i:03d}", "label", f"s{s}", str(a)) for i, row in enumerate(answers) for s, a in enumerate(row)]
    folder.mkdir()
    write(folder / "claims.csv.gz", ("object", "attribute", "source", "value"), claims)
    write(folder / "truth.csv.gz", ("object", "attribute", "value"), [(f"q{i:03d}", "label", str(t)) for i, t in enumerate(truth)])
    votes = [sum(row) for row in answers]
    return sum((v > 2) == bool(t) for v, t in zip(votes, truth, strict=True)) / items


@pytest.mark.slow
def test_learned_trust_finds_the_reliable_source(tmp_path):
    vote = crowd(tmp_path / "td_small")
    result = evaluate(load_set(tmp_path / "td_small"), folds=2, steps=3, rounds=())
    accuracy = result["accuracy"]
    assert accuracy["majority"] == result["plurality_ties_to_first_row"] == pytest.approx(vote)
    assert vote < 0.8
    assert accuracy["ArbGraph, learned"] > 0.95
    assert result["learned_minus_plurality"][1] > 0
    assert result["best_rival"] not in OURS
    assert len(result["chosen"]) == 2


def test_labels_of_the_scored_fold_are_not_seen(tmp_path):
    crowd(tmp_path / "td_small", items=30)
    table = load_set(tmp_path / "td_small").complete
    part = split_items(table.labelled, 3, 0)[0]
    before = _predict(table, part)
    graph = table.graph
    graph["label"] = torch.where(part[table.item], 1 - graph["label"], graph["label"])
    assert torch.equal(before, _predict(table, part))
    # The labels of the other folds are seen.
    graph["label"] = torch.where(part[table.item], graph["label"], 1 - graph["label"])
    assert not torch.equal(before, _predict(table, part))


def _predict(table, part):
    train = table.labelled & ~part
    return score_table(table, fit_source_trust(table, train, **QUICK).layer, train)


def test_correct_share_divides_ties():
    rows = [Row("x", "n", "a", "p"), Row("x", "n", "b", "q"), Row("y", "n", "a", "p"), Row("y", "n", "b", "p"), Row("y", "n", "c", "q")]
    table = build_table(rows, [Row("x", "n", "", "q"), Row("y", "n", "", "p")], kinds="plain")
    votes = table.graph.sources.double()
    assert correct_share(table, votes).tolist() == [0.5, 1]
    assert correct_share(table, -votes).tolist() == [0.5, 0]
    assert known_claims(table, torch.tensor([True, False])).nan_to_num(-1).tolist() == [0, 1, -1, -1]
    # n + 1 over n + rivals + 2: 2/4, 2/4 and 3/5, 2/5.
    assert with_vote_prior(table.graph).prior.tolist() == pytest.approx([0.5, 0.5, 0.6, 0.4])


def test_ties_to_the_first_row(tmp_path):
    folder = tmp_path / "td_ties"
    folder.mkdir()
    write(folder / "claims.csv.gz", ("object", "attribute", "source", "value"), [("x", "n", "b", "q"), ("x", "n", "a", "p")])
    write(folder / "truth.csv.gz", ("object", "attribute", "value"), [("x", "n", "q")])
    assert first_listed(load_set(folder)) == 1.0


def test_a_fit_prefers_what_cross_validation_prefers():
    # One object per item, three sources: a is right throughout, b and c agree on what is wrong in two of three items.
    truth = [f"v{i}" for i in range(30)]
    rows = [Row(str(i), "n", "a", v) for i, v in enumerate(truth)]
    rows += [Row(str(i), "n", s, v if i % 3 == 0 else f"w{i}") for i, v in enumerate(truth) for s in "bc"]
    table = build_table(rows, [Row(str(i), "n", "", v) for i, v in enumerate(truth)])
    assert [s.name for s in structures(table)] == ["vote", "one_coin", "one_coin_values"]
    fit = fit_source_trust(table, folds=3, steps=5, rounds=(2,))
    assert fit.structure.name != "vote"
    assert fit.tried["vote, 0 rounds"][0] == pytest.approx(1 / 3)
    assert fit.tried[f"{fit.structure.name}, {fit.layer.rounds} rounds"][0] == max(accuracy for accuracy, _ in fit.tried.values())
    assert not any(parameter.requires_grad for parameter in fit.layer.parameters())
    # Untrained and without labels the two that agree are believed.
    assert correct_share(table, score_table(table, SourceTrust())).mean() < 0.5


def test_paired_interval():
    ours, theirs = torch.tensor([1.0, 1, 1, 0] * 25), torch.tensor([1.0, 0, 1, 0] * 25)
    mean, low, high = paired_interval(ours, theirs)
    assert mean == 0.25
    assert 0.1 < low < 0.25 < high < 0.4
    assert paired_interval(ours, ours) == (0, 0, 0)


@pytest.mark.slow
def test_command(tmp_path, capsys):
    crowd(tmp_path / "td_small", items=20)
    main(str(tmp_path), sets=["td_small"], folds=2, json=str(tmp_path / "out.json"))
    assert "plurality" in capsys.readouterr().out
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["set"] == "td_small"


def test_bad_input(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        load_set(tmp_path)
    crowd(tmp_path / "td_small", items=4)
    write(tmp_path / "td_small" / "truth.csv.gz", ("object", "attribute", "value"), [("nobody", "label", "1")])
    with pytest.raises(InputError, match="names no item of the claims"):
        load_set(tmp_path / "td_small")
    table = build_table([Row("x", "n", "a", "p")], [Row("x", "n", "", "p")])
    with pytest.raises(ValueError, match="1 labelled items"):
        fit_source_trust(table)
