"""The whole system with a fitted propagation and a learned arbitrator, by object and by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from arbgraph.arbitrator.learned import LearnedEvidenceArbitrator, PairPerceptron
from arbgraph.checkpoint import CheckpointError
from arbgraph.cli import main
from arbgraph.io import read_queries
from arbgraph.pipeline import ArbGraph
from arbgraph.propagation.credibility import CredibilityPropagation
from arbgraph.propagation.fitted import load_propagation, save_propagation
from arbgraph.schema import Query

EXAMPLE = str(next(iter(sorted((Path(__file__).parent.parent / "examples").glob("*.json")))))
STRICT = {"rounds": 1, "budget": None, "tau_q": 0.35, "tau_sim": 0.6, "prior_relevance": -20.0}


@pytest.fixture
def folders(tmp_path):
    """A propagation that believes nothing, and an untrained arbitrator."""
    torch.manual_seed(0)
    save_propagation(CredibilityPropagation(**STRICT), tmp_path / "layer", card="#\n", metrics={}, training={})
    LearnedEvidenceArbitrator(PairPerceptron()).save(tmp_path / "judge", card="#\n", metrics={}, training={})
    return str(tmp_path / "layer"), str(tmp_path / "judge")


def test_a_fitted_propagation_replaces_the_settings_and_decides(system, folders):
    layer, judge = folders
    (query,) = read_queries(EXAMPLE)
    assert isinstance(query, Query)
    fitted = ArbGraph("default", encoder=system.encoder, verifier=system.verifier, propagation=layer, arbitrator=judge)
    assert (fitted.settings.tau_q, fitted.settings.tau_sim, fitted.settings.rounds) == (0.35, 0.6, 1)
    (result,), (usual,) = fitted.arbitrate([query]), system.arbitrate([query])
    assert not result.validated
    assert usual.validated
    assert result.settings["tau_sim"] == 0.6
    assert {"propagation", "arbitrator"} <= result.diagnostics["models"].keys() - usual.diagnostics["models"].keys()
    same = ArbGraph("default", encoder=system.encoder, verifier=system.verifier, propagation=load_propagation(layer), arbitrator=judge)
    assert same.models == fitted.models


def test_the_command_takes_both_by_name(tmp_path, folders, capsys):
    layer, judge = folders
    out = tmp_path / "out.jsonl"
    assert main(["arbitrate", EXAMPLE, "--json", str(out), "--quiet", "--propagation", layer, "--arbitrator", judge]) == 0
    row = json.loads(out.read_text(encoding="utf-8"))
    assert row["settings"]["tau_q"] == 0.35
    assert all(claim["status"] != "validated" for claim in row["claims"])
    assert main(["arbitrate", EXAMPLE, "--propagation", "nobody"]) == 2
    assert "checkpoint 'nobody'" in capsys.readouterr().err


def test_a_name_that_is_no_checkpoint_is_refused(system):
    with pytest.raises(CheckpointError, match="holds a RelationVerifier; give a LearnedEvidenceArbitrator"):
        ArbGraph("default", encoder=system.encoder, verifier=system.verifier, arbitrator="verifier-minilm")
