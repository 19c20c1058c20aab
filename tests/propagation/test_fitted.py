"""Fitted propagation as a checkpoint."""

from __future__ import annotations

import json

import pytest
import torch

from arbgraph.checkpoint import CheckpointError
from arbgraph.propagation.credibility import LEARNABLE, CredibilityPropagation
from arbgraph.propagation.fitted import load_propagation, parameters_of, save_propagation
from arbgraph.synthetic import SyntheticWorlds, draw_worlds

# Values without a short decimal form: a checkpoint that rounds would not give them back.
LAYER = {"rounds": 3, "budget": 2, "scheduler": "round_robin", "step_size": 0.1 + 0.2, "tau_accept": 1 / 3, "prior_relevance": 2 / 7}


@pytest.fixture
def saved(tmp_path):
    save_propagation(CredibilityPropagation(**LAYER), tmp_path / "fitted", card="# card\n", metrics={}, training={})
    return tmp_path / "fitted"


def test_a_round_trip_keeps_every_bit(saved):
    before, after = CredibilityPropagation(**LAYER), load_propagation(saved)
    assert parameters_of(before) == parameters_of(after)
    for name in LEARNABLE:
        assert torch.equal(before.get_parameter(name), after.get_parameter(name))
    for graph in draw_worlds(SyntheticWorlds(worlds=5, prior_spread=1.0)):
        assert torch.equal(before(graph).s, after(graph).s)


def test_options_replace_stored_values(saved):
    layer = load_propagation(saved, mode="soft", rounds=1)
    assert (layer.mode, layer.rounds, layer.budget) == ("soft", 1, 2)


def test_an_edited_configuration_is_refused(saved):
    config = json.loads((saved / "config.json").read_text(encoding="utf-8"))
    config["settings"]["tau_accept"] = 0.5
    (saved / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"config.json gives tau_accept = 0.5"):
        load_propagation(saved)


def test_an_unknown_setting_and_a_missing_scalar_are_named(saved):
    config = json.loads((saved / "config.json").read_text(encoding="utf-8"))
    path, settings = saved / "config.json", dict(config["settings"])
    path.write_text(json.dumps(config | {"settings": settings | {"momentum": 1}}), encoding="utf-8")
    with pytest.raises(CheckpointError, match="unknown setting 'momentum'"):
        load_propagation(saved)
    del settings["step_size"]
    path.write_text(json.dumps(config | {"settings": settings}), encoding="utf-8")
    with pytest.raises(CheckpointError, match="'step_size' is missing"):
        load_propagation(saved)


def test_a_foreign_checkpoint_is_refused():
    with pytest.raises(CheckpointError, match="holds a RelationVerifier, not a CredibilityPropagation"):
        load_propagation("verifier-minilm")
