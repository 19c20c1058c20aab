from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch

from arbgraph.checkpoint import describe, load_checkpoint
from arbgraph.verifier import RelationVerifier
from arbgraph.verifier.calibration import VerifierCalibration, likelihood
from arbgraph.verifier.exported import EXPORT
from eval.pair_sets import read_both_orders, read_sets
from tests.verifier.conftest import PAIRS, tiny_checkpoint
from train.calibrate import left_out, main

__all__ = ["tiny_checkpoint"]

LABELS = ["contradict", "support", "neutral", "neutral", "support"]


def write(path: Path, labels: list[str]) -> str:
    rows = ({"premise": a, "hypothesis": b, "label": label} for (a, b), label in zip(PAIRS, labels, strict=True))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.fixture
def dev(tmp_path: Path) -> list[str]:
    return [write(tmp_path / "one" / "dev.jsonl", LABELS), write(tmp_path / "two" / "dev.jsonl", LABELS[::-1])]


@pytest.mark.parametrize("method", ["temperature", "vector"])
def test_writes_a_new_folder_with_the_same_weights(tmp_path: Path, tiny_checkpoint: Path, dev: list[str], method: str) -> None:
    out = tmp_path / "out"
    main(["--checkpoint", str(tiny_checkpoint), "--dev", *dev, "--out", str(out), "--method", method, "--learn_spread", "true"])
    before, after = RelationVerifier.load(tiny_checkpoint), RelationVerifier.load(out)
    assert torch.equal(before.logits(PAIRS), after.logits(PAIRS))
    assert after.calibration != before.calibration
    assert torch.equal(after.relate(PAIRS), after.relate([(b, a) for a, b in PAIRS]))
    assert (
        load_checkpoint(out, kind="RelationVerifier").config.files == load_checkpoint(tiny_checkpoint, kind="RelationVerifier").config.files
    )

    # The block on disk is at least as likely as none, over the sets that it was fitted on, for one order.
    sets = [read_both_orders(after, one) for one in read_sets(dev)]
    labels, forward = torch.cat([one.labels for one in sets]), torch.cat([one.forward for one in sets])
    fitted, none = (block.directed.log_probabilities(forward) for block in (after.calibration, VerifierCalibration()))
    assert likelihood(fitted, labels) >= likelihood(none, labels) - 1e-9

    assert after.calibration.decision is not None
    recorded = describe(out)["metrics"]["calibration"]
    assert recorded["method"] == method
    assert recorded["before"].keys() == recorded["after"].keys() == recorded["left_out"].keys() == {"one/dev", "two/dev"}
    card = (out / "README.md").read_text(encoding="utf-8")
    assert "## Calibration" in card
    assert f"{after.calibration.decision.tau_conf:.2f}" in card


def test_in_place_and_without_out(tmp_path: Path, tiny_checkpoint: Path, dev: list[str]) -> None:
    folder = shutil.copytree(tiny_checkpoint, tmp_path / "copy")
    metrics = {"n": 1, "evaluation": {"limit": 3}}
    (folder / "metrics.json").write_text(json.dumps(metrics), encoding="utf-8")
    (folder / "README.md").write_text("# copy\n\n## Evaluation\n\nold numbers\n\n## Limits\n\n- some\n", encoding="utf-8")
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    main(["--checkpoint", str(folder), "--dev", *dev])
    assert files == {path.name: path.read_bytes() for path in folder.iterdir()}
    main(["--checkpoint", str(folder), "--dev", *dev, "--out", str(folder)])
    changed = {name for name, data in files.items() if (folder / name).read_bytes() != data}
    assert changed == {"config.json", "metrics.json", "README.md"}
    assert not folder.with_name("copy.partial").exists()
    # Numbers that were measured with the calibration before are gone, everything else stays.
    kept = describe(folder)["metrics"]
    assert kept["n"] == 1
    assert "evaluation" not in kept
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "old numbers" not in card
    assert card.index("## Calibration") < card.index("## Evaluation") < card.index("## Limits")


def test_left_out_uses_the_other_sets_alone(tiny_checkpoint: Path, dev: list[str]) -> None:
    verifier = RelationVerifier.load(tiny_checkpoint)
    sets = [read_both_orders(verifier, one) for one in read_sets(dev)]
    reports = left_out(sets, {"method": "temperature"})
    assert reports is not None
    assert reports.keys() == {"one/dev", "two/dev"}
    assert left_out(sets[:1], {"method": "temperature"}) is None


def test_a_missing_label(tmp_path: Path, tiny_checkpoint: Path) -> None:
    two_way = write(tmp_path / "s" / "dev.jsonl", ["contradict", "support", "support", "support", "contradict"])
    with pytest.raises(SystemExit, match=r"error: dev has no neutral pair; add dev pairs of every label, or use method temperature"):
        main(["--checkpoint", str(tiny_checkpoint), "--dev", two_way, "--method", "vector"])
    main(["--checkpoint", str(tiny_checkpoint), "--dev", two_way])


def test_user_errors_are_one_line(tmp_path: Path, tiny_checkpoint: Path, dev: list[str]) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "notes.txt").write_text("keep", encoding="utf-8")
    (tmp_path / "export").mkdir()
    (tmp_path / "export" / EXPORT).write_text("{}", encoding="utf-8")
    for arguments, message in (
        (["--checkpoint", str(tmp_path / "export"), "--dev", *dev], "recalibrate its checkpoint and export again"),
        (["--checkpoint", str(tiny_checkpoint), "--dev", "none.jsonl"], "none.jsonl: no such file"),
        (["--checkpoint", "nowhere", "--dev", *dev], "no such folder"),
        (["--checkpoint", str(tiny_checkpoint), "--dev", *dev, "--out", str(tmp_path / "precious")], "would be lost"),
    ):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert message in str(caught.value)
    assert (tmp_path / "precious" / "notes.txt").read_text(encoding="utf-8") == "keep"
