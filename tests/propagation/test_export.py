from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from arbgraph.export import ExportError, export_checkpoint
from arbgraph.propagation import export
from arbgraph.propagation.credibility import CredibilityPropagation
from arbgraph.propagation.export import OUTPUTS, ExactProgram, check_parity, export_propagation, program_inputs, random_graphs
from arbgraph.propagation.trust import SourceTrust

LAYERS = {
    "released": {},
    "dense": {"tau_sim": 0.6, "tau_conf": 0.4, "rounds": 4},
    "hard_first": {"tau_sim": 0.55, "tau_conf": 0.4, "rounds": 3, "scheduler": "hard_first", "budget": 2, "support_cap": 2},
    "easy_first": {"tau_sim": 0.55, "tau_conf": 0.4, "scheduler": "easy_first", "support_cap": 1, "support_cap_scope": "node"},
    "round_robin": {"tau_sim": 0.6, "tau_conf": 0.4, "rounds": 5, "budget": 1, "scheduler": "round_robin", "early_stop": True},
    "unlimited": {"tau_sim": 0.6, "tau_conf": 0.4, "budget": None, "coupling": 0.2, "support_cap": 3, "tau_q": 0.1},
    "ours": {"tau_sim": 0.6, "tau_conf": 0.4, "prior_bias": 0.3, "prior_sources": 0.5, "prior_relevance": -0.4, "prior_credibility": 1.5},
    "no_rounds": {"rounds": 0},
    "no_budget": {"budget": 0, "tau_sim": 0.6, "tau_conf": 0.4},
}


@pytest.mark.parametrize("name", LAYERS)
def test_program_states_what_the_layer_does(name: str) -> None:
    layer = CredibilityPropagation(**LAYERS[name])
    program, arbitrated = ExactProgram(layer), 0
    for graph in random_graphs(7, 40):
        with torch.no_grad():
            trace = layer(graph)
            found = dict(zip(OUTPUTS, program(**program_inputs(graph)), strict=True))
        torch.testing.assert_close(found["s"], trace.s, atol=1e-12, rtol=0)
        torch.testing.assert_close(found["p"], trace.p, atol=1e-12, rtol=0)
        assert torch.equal(found["accepted"], trace.accepted)
        assert not found["unanswered"].any()
        assert found["selected"].shape == (layer.rounds, graph.num_pairs)
        for number, row in enumerate(found["selected"]):
            expected = trace.rounds[number].selected > 0 if number < len(trace.rounds) else torch.zeros_like(row)
            assert torch.equal(row, expected)
            arbitrated += int(row.sum())
    assert (arbitrated > 0) == (name not in ("no_rounds", "no_budget"))


def test_a_pair_without_verdict_moves_nothing_and_is_named() -> None:
    graph = random_graphs(7, 4)[3]
    layer = CredibilityPropagation(tau_sim=0.5, tau_conf=0.4, tau_gate=0.0)
    inputs = program_inputs(graph)
    inputs["verdict"] = torch.full_like(inputs["verdict"], torch.nan)
    s, _, _, selected, unanswered = ExactProgram(layer)(**inputs)
    assert torch.equal(s, torch.log(inputs["prior"] / (1 - inputs["prior"])))
    assert torch.equal(unanswered, selected.any(0))
    assert unanswered.any()


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (CredibilityPropagation(scheduler="random"), "random scheduler"),
        (CredibilityPropagation(budget=torch.tensor([1, 2])), "budgets by graph"),
        (CredibilityPropagation(source_trust=SourceTrust()), "source trust"),
    ],
)
def test_what_no_program_can_hold(tmp_path: Path, layer: CredibilityPropagation, message: str) -> None:
    with pytest.raises(ExportError, match=message):
        export_propagation(layer, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dense", "hard_first", "round_robin", "unlimited"])
def test_onnx_program(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxscript")
    from arbgraph.verifier.exported import open_session

    layer = CredibilityPropagation(**LAYERS[name])
    report = export_propagation(layer, tmp_path / "out", source="test")
    assert report["parity"]["decisions_equal"]
    assert report["parity"]["largest_difference"]["s"] <= 1e-9
    parameters = json.loads((tmp_path / "out" / "parameters.json").read_text(encoding="utf-8"))
    assert parameters["tau_sim"] == layer.tau_sim.item()
    assert repr(CredibilityPropagation(**parameters)) == repr(layer)
    # Another layer is told apart.
    with pytest.raises(ExportError, match="differs from its layer"):
        check_parity(CredibilityPropagation(**{**LAYERS[name], "step_size": 0.7999}), tmp_path / "out" / "propagation.onnx")
    # One claim, no pairs.
    inputs = program_inputs(random_graphs(1)[0])
    empty = {
        key: tensor[:, :0] if key == "pair_index" else tensor[: 1 if key in export.NODE_INPUTS else 0] for key, tensor in inputs.items()
    }
    s, *_ = open_session(tmp_path / "out" / "propagation.onnx").run(None, {key: tensor.numpy() for key, tensor in empty.items()})
    assert s.tolist() == pytest.approx(torch.logit(empty["prior"]).tolist())


@pytest.mark.slow
def test_checkpoint_of_a_fitted_propagation(tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    from arbgraph.propagation.fitted import save_propagation

    save_propagation(CredibilityPropagation(**LAYERS["dense"]), tmp_path / "fitted", card="#\n", metrics={}, training={})
    report = export_checkpoint(tmp_path / "fitted", tmp_path / "out")
    assert report["source"]["name"] == "fitted"
    with pytest.raises(ExportError, match="nothing to quantise"):
        export_checkpoint(tmp_path / "fitted", tmp_path / "two", format="onnx", int8=True, dev=["x"])
