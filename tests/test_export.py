from __future__ import annotations

import itertools
import json
import pickle
import shutil
from pathlib import Path

import pytest
import torch

from arbgraph.checkpoint import CheckpointError
from arbgraph.cli import main
from arbgraph.export import ExportError, check_parity, export_checkpoint, load_reference, probe, probe_pairs
from arbgraph.verifier import RelationVerifier, quantise
from arbgraph.verifier.exported import OnnxModel, external_files, read_export
from tests.verifier.conftest import PAIRS, build_checkpoint, build_classifier, build_tiny_base

NAMES = ("entailment", "contradiction", "neutral")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export")
    build_checkpoint(folder / "verifier", build_tiny_base(folder / "base"), id2label={0: "neutral", 1: "support", 2: "contradict"})
    return folder / "verifier"


@pytest.fixture(scope="module")
def merged(checkpoint: Path) -> Path:
    export_checkpoint(checkpoint, checkpoint.parent / "merged")
    return checkpoint.parent / "merged"


@pytest.fixture(scope="module")
def programs(checkpoint: Path) -> Path:
    pytest.importorskip("onnxscript")
    pytest.importorskip("onnxruntime")
    export_checkpoint(checkpoint, checkpoint.parent / "onnx", format="onnx")
    return checkpoint.parent / "onnx"


@pytest.fixture
def copied(merged: Path, tmp_path: Path) -> Path:
    return shutil.copytree(merged, tmp_path / "copied")


def same(first: RelationVerifier, second: RelationVerifier) -> None:
    torch.testing.assert_close(first.logits(PAIRS), second.logits(PAIRS), atol=1e-5, rtol=0)
    torch.testing.assert_close(first.directed(PAIRS), second.directed(PAIRS), atol=1e-5, rtol=0)
    torch.testing.assert_close(first.relate(PAIRS), second.relate(PAIRS), atol=1e-5, rtol=0)


def test_probes_hold_every_kind_of_conflict_once_in_both_orders() -> None:
    pairs = probe_pairs()
    assert len(pairs) == 128
    assert len(set(pairs)) == 127  # one pair of equal texts
    assert pairs[64:] == [(b, a) for a, b in pairs[:64]]


def test_merged_gives_what_the_adapter_gives(checkpoint: Path, merged: Path) -> None:
    reference, *_ = load_reference(checkpoint)
    assert hasattr(reference.model.encoder, "merge_and_unload")  # pyright: ignore
    loaded = RelationVerifier.load(merged)
    same(reference, loaded)
    assert loaded.calibration == reference.calibration
    assert loaded.describe()["max_tokens"] == 32
    assert loaded.describe()["export"]["format"] == "merged"


def test_merged_is_a_plain_folder(checkpoint: Path, merged: Path) -> None:
    from transformers import AutoModel, AutoTokenizer

    encoder, tokenizer = AutoModel.from_pretrained(merged).eval(), AutoTokenizer.from_pretrained(merged)
    assert not any("lora" in name for name in encoder.state_dict())
    inputs = tokenizer(*PAIRS[0], return_tensors="pt")
    with torch.inference_mode():
        expected = RelationVerifier.load(checkpoint).model.encoder(**inputs).last_hidden_state  # pyright: ignore
        torch.testing.assert_close(encoder(**inputs).last_hidden_state, expected, atol=1e-5, rtol=1e-5)


def test_report(merged: Path) -> None:
    report = json.loads((merged / "export.json").read_text(encoding="utf-8"))
    assert report["parity"]["probe_pairs"] == 64
    assert 0 <= max(report["parity"]["largest_difference"].values()) <= 1e-4
    assert report["versions"]["torch"] == torch.__version__
    assert report["bytes"]["model.safetensors"] == (merged / "model.safetensors").stat().st_size
    assert set(report["source"]["sha256"]) == {"head.safetensors", "adapter_model.safetensors", "adapter_config.json"}


def test_same_checkpoint_gives_same_bytes_and_replaces(checkpoint: Path, merged: Path, tmp_path: Path) -> None:
    out = tmp_path / "merged"
    for _ in range(2):  # the second run replaces the first
        export_checkpoint(checkpoint, out)
    assert {path.name for path in out.iterdir()} == {path.name for path in merged.iterdir()}
    for path in out.iterdir():
        assert path.read_bytes() == (merged / path.name).read_bytes(), path.name


def test_other_folders_are_not_overwritten(checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("keep", encoding="utf-8")
    with pytest.raises(ExportError, match="would be lost"):
        export_checkpoint(checkpoint, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("name", ["model.safetensors", "head.safetensors"])
def test_a_perturbed_weight_is_refused(checkpoint: Path, copied: Path, name: str) -> None:
    from safetensors.torch import load_file, save_file

    tensors = load_file(copied / name)
    key = "classify.bias" if name == "head.safetensors" else "encoder.layer.1.output.LayerNorm.bias"
    tensors[key][0] += 0.01
    save_file(tensors, copied / name, metadata={"format": "pt"})
    with pytest.raises(CheckpointError, match=rf"{name} is damaged or was changed"):
        RelationVerifier.load(copied)
    # The same change made while exporting is seen by the parity check.
    config = json.loads((copied / "arbgraph.json").read_text(encoding="utf-8"))
    with pytest.raises(ExportError, match=r"differs from its checkpoint by .* nothing was written"):
        check_parity(copied, config, probe(load_reference(checkpoint)[0]))


def test_a_failed_export_leaves_nothing(checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arbgraph.export.LOGIT_LIMIT", -1.0)
    with pytest.raises(ExportError, match="nothing was written"):
        export_checkpoint(checkpoint, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_damaged_and_foreign_folders(copied: Path) -> None:
    (copied / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"model.safetensors is missing"):
        RelationVerifier.load(copied)
    description = json.loads((copied / "arbgraph.json").read_text(encoding="utf-8"))
    for change, message in (
        ({"arbgraph_export": 9}, "schema 9, but this version reads 1"),
        ({"format": "pickle"}, "format"),
        ({"files": {}}, "lists no config.json"),
        ({"files": description["files"] | {"../secret": "0"}}, "outside the folder"),
    ):
        (copied / "arbgraph.json").write_text(json.dumps(description | change), encoding="utf-8")
        with pytest.raises(CheckpointError, match=message):
            read_export(copied)
    (copied / "arbgraph.json").write_text("{", encoding="utf-8")
    with pytest.raises(CheckpointError, match="not valid JSON"):
        read_export(copied)


class Explosive:
    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self):
        return Path.touch, (self.marker,)


def test_nothing_in_a_folder_runs(copied: Path, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    before = RelationVerifier.load(copied).logits(PAIRS)
    for name in ("pytorch_model.bin", "model.pt", "head.bin"):
        (copied / name).write_bytes(pickle.dumps(Explosive(marker)))
    (copied / "modeling_evil.py").write_text(f"open({str(marker)!r}, 'w').close()\nclass Model: ...\n", encoding="utf-8")
    assert torch.equal(RelationVerifier.load(copied).logits(PAIRS), before)
    # Named by the configuration, and with the hash corrected, custom code still stays where it is.
    config = json.loads((copied / "config.json").read_text(encoding="utf-8"))
    (copied / "config.json").write_text(json.dumps(config | {"auto_map": {"AutoModel": "modeling_evil.Model"}}), encoding="utf-8")
    from arbgraph.export import seal

    seal(copied, json.loads((copied / "arbgraph.json").read_text(encoding="utf-8")))
    assert torch.equal(RelationVerifier.load(copied).logits(PAIRS), before)
    assert not marker.exists()


def test_label_orders_of_ready_classifiers(tmp_path: Path) -> None:
    for number, order in enumerate(itertools.permutations(NAMES)):
        architecture = ("bert", "roberta")[number % 2]
        build_classifier(tmp_path / f"nli{number}", order, architecture)
        export_checkpoint(tmp_path / f"nli{number}", tmp_path / f"out{number}")
        same(RelationVerifier.load(tmp_path / f"nli{number}"), RelationVerifier.load(tmp_path / f"out{number}"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"int8": True}, "add --format onnx"),
        ({"int8": True, "format": "onnx"}, "add --dev FILE"),
        ({"dev": ["x.jsonl"]}, "serves --int8 alone"),
        ({"int8": True, "format": "onnx", "dev": ["missing.jsonl"]}, "no such file"),
    ],
)
def test_wrong_usage(checkpoint: Path, tmp_path: Path, options: dict, message: str) -> None:
    with pytest.raises(CheckpointError, match=message):
        export_checkpoint(checkpoint, tmp_path / "out", **options)


def test_command_line(checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["export", str(checkpoint), str(tmp_path / "out")]) == 0
    assert "logits: largest difference" in capsys.readouterr().out
    assert main(["export", str(checkpoint), str(tmp_path / "out"), "--int8"]) == 2
    assert "add --format onnx" in capsys.readouterr().err
    assert main(["export", "no-such-checkpoint", str(tmp_path / "two")]) == 2


@pytest.mark.slow
def test_programs_give_what_the_checkpoint_gives(checkpoint: Path, programs: Path) -> None:
    loaded = RelationVerifier.load(programs)
    assert isinstance(loaded.model, OnnxModel)
    same(load_reference(checkpoint)[0], loaded)
    for batch_size in (1, 2):  # rows and tokens are free
        torch.testing.assert_close(
            RelationVerifier.load(programs, batch_size=batch_size).relate(PAIRS), loaded.relate(PAIRS), atol=1e-5, rtol=0
        )
    with pytest.raises(ValueError, match="leave out precision"):
        RelationVerifier.load(programs, precision="bf16")


@pytest.mark.slow
def test_programs_run_in_onnxruntime_alone(checkpoint: Path, programs: Path) -> None:
    import numpy as np
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(programs / "tokenizer.json"))
    assert tokenizer.truncation is None
    assert tokenizer.padding is None
    session, combine = (onnxruntime.InferenceSession(str(programs / name)) for name in ("model.onnx", "combine.onnx"))
    logits, directed = [], []
    for a, b in (PAIRS[1], PAIRS[1][::-1]):
        one = tokenizer.encode(a, b)
        feed = {"input_ids": one.ids, "attention_mask": one.attention_mask, "token_type_ids": one.type_ids}
        feed["segments"] = [-1 if part is None else part for part in one.sequence_ids]
        found = session.run(["probabilities", "logits"], {name: np.array([row], dtype=np.int64) for name, row in feed.items()})
        directed.append(found[0])
        logits.append(found[1])
    verifier = RelationVerifier.load(checkpoint)
    expected = verifier.directed([PAIRS[1], PAIRS[1][::-1]]).numpy()
    np.testing.assert_allclose(np.concatenate(directed), expected, atol=1e-5)
    (relation,) = combine.run(None, {"forward": logits[0], "backward": logits[1]})
    np.testing.assert_allclose(relation, verifier.relate([PAIRS[1]]).numpy(), atol=1e-5)


@pytest.mark.slow
def test_eight_bits_are_held_to_dev_pairs(checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxscript")
    texts = sorted({text for pair in probe_pairs() for text in pair})[:24]
    pairs = list(itertools.pairwise(texts))
    gold = RelationVerifier.load(checkpoint).relate(pairs).argmax(-1).tolist()
    dev = tmp_path / "dev.jsonl"
    rows = [
        {"claim_a": a, "claim_b": b, "label": ("support", "contradict", "neutral")[label]}
        for (a, b), label in zip(pairs, gold, strict=True)
    ]
    dev.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    report = export_checkpoint(checkpoint, tmp_path / "int8", format="onnx", int8=True, dev=[dev])["int8"]
    assert report["accuracy_fp32"] == 1.0
    assert report["tried"][report["recipe"]]["accuracy"] >= 1 - quantise.LIMIT
    assert not (tmp_path / "int8" / "full.onnx").exists()
    assert RelationVerifier.load(tmp_path / "int8").describe()["export"]["precision"] == "int8"

    def ruin(source: Path, target: Path) -> None:
        """A program that always says the same."""
        import onnx

        model = onnx.load(str(source))
        for tensor in model.graph.initializer:
            if tensor.data_type == onnx.TensorProto.FLOAT and tensor.dims:
                tensor.CopyFrom(onnx.numpy_helper.from_array(0 * onnx.numpy_helper.to_array(tensor), tensor.name))
        onnx.save(model, str(target))

    monkeypatch.setattr(quantise, "RECIPES", {"ruin": ruin})
    with pytest.raises(ExportError, match=r"eight bits cost more than 0.5 points of accuracy on 23 dev pairs .*ruin"):
        export_checkpoint(checkpoint, tmp_path / "other", format="onnx", int8=True, dev=[dev])
    assert not (tmp_path / "other").exists()


def test_missing_onnxruntime_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(CheckpointError, match=r"pip install 'arbgraph\[onnx\]'"):
        OnnxModel(tmp_path / "model.onnx", torch.device("cpu"))


def external_model(location: str) -> bytes:
    onnx = pytest.importorskip("onnx")
    tensor = onnx.TensorProto(name="w", data_type=1, dims=[1], data_location=onnx.TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    inner = onnx.helper.make_node("Constant", [], ["c"], value=tensor)
    then = onnx.helper.make_graph([inner], "inner", [], [onnx.helper.make_tensor_value_info("c", 1, [1])])
    node = onnx.helper.make_node("If", ["i"], ["o"], then_branch=then, else_branch=then)
    graph = onnx.helper.make_graph(
        [node], "g", [onnx.helper.make_tensor_value_info("i", 9, [])], [onnx.helper.make_tensor_value_info("o", 1, [1])]
    )
    return onnx.helper.make_model(graph).SerializeToString()


def test_external_data_is_found_at_any_depth(tmp_path: Path) -> None:
    assert external_files(external_model("../../etc/passwd")) == ["../../etc/passwd"]
    (tmp_path / "model.onnx").write_bytes(external_model("weights.bin"))
    pytest.importorskip("onnxruntime")
    with pytest.raises(CheckpointError, match=r"in other files \(weights.bin\), which are not read"):
        OnnxModel(tmp_path / "model.onnx", torch.device("cpu"))
    for broken in (b"\x3a\xff\x01", b"\x3f", b"\xff"):
        with pytest.raises(CheckpointError, match="no valid protocol buffer"):
            external_files(broken)
