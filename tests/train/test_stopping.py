"""A loss or gradient that is not a number ends training with the weights before it, and names the batch."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.train.runs import ROWS, arguments
from train.verifier import main
from train.verifier_module import TrainingStopped, VerifierModule


def spoil(monkeypatch: pytest.MonkeyPatch, row: int, *, loss: bool) -> list[dict[str, torch.Tensor]]:
    """Makes the pair `row` give NaN logits, or a NaN gradient only; returns a list that will hold the weights before every batch."""
    before: list[dict[str, torch.Tensor]] = []
    forward = VerifierModule.forward

    def spoiled(self: VerifierModule, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        logits = forward(self, batch)
        if not self.training:
            return logits
        before.append({name: p.detach().clone() for name, p in self.named_parameters() if p.requires_grad})
        hit = (batch["row"] == row)[:, None]
        if loss:
            return torch.where(hit, logits * float("nan"), logits)
        if hit.any():
            logits.register_hook(lambda gradient: gradient * float("nan"))
        return logits

    monkeypatch.setattr(VerifierModule, "forward", spoiled)
    return before


@pytest.mark.parametrize("loss", [True, False])
def test_the_last_good_weights_are_kept(data_root: Path, tiny_base: Path, monkeypatch: pytest.MonkeyPatch, loss: bool) -> None:
    before = spoil(monkeypatch, 7, loss=loss)
    with pytest.raises(TrainingStopped) as stopped:
        main(arguments(data_root, tiny_base, "run", epochs=1))
    message = str(stopped.value)
    batch = len(before) - 1
    assert f"in batch {batch} of epoch 0" in message
    assert ("loss is nan" if loss else "gradient norm is nan") in message
    assert "of data: " in message
    if loss:  # the pair itself is named
        assert "1 pairs" in message
        assert ROWS[7][1] in message
    state = torch.load(data_root / "run" / "last_good.ckpt", weights_only=True)["state_dict"]
    assert all(torch.equal(state[name], tensor) for name, tensor in before[-1].items())
    assert all(torch.isfinite(tensor).all() for tensor in state.values())


def test_a_kept_state_can_be_scored(data_root: Path, tiny_base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        spoil(patch, 7, loss=True)
        line = arguments(data_root, tiny_base, "run", epochs=1)
        with pytest.raises(TrainingStopped):
            main(line)
    scored = main(["validate", *line[1:], "--ckpt_path", str(data_root / "run" / "last_good.ckpt")])
    assert 0 <= float(scored.trainer.callback_metrics["dev/macro_f1"]) <= 1


def test_a_label_missing_in_dev_is_said_and_survived(data_root: Path, tiny_base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = (data_root / "data" / "dev.jsonl").read_text(encoding="utf-8").splitlines()
    (data_root / "data" / "two.jsonl").write_text("\n".join(line for line in lines if "neutral" not in line) + "\n", encoding="utf-8")
    dev = [{"path": "data/two.jsonl", "name": "two"}]
    main(arguments(data_root, tiny_base, "run", epochs=1, data={"dev": dev}))
    shown = " ".join(capsys.readouterr().out.split())
    assert "dev set two has no neutral pair" in shown
    from arbgraph.checkpoint import load_checkpoint

    calibration = load_checkpoint(data_root / "run" / "checkpoint", kind="RelationVerifier").config.calibration
    assert calibration is not None
    assert all(abs(value) < 10 for value in calibration["directed"]["bias"].values())


def test_sets_read_in_part_are_refused(data_root: Path, tiny_base: Path) -> None:
    line = arguments(data_root, tiny_base, "run", epochs=1, data={"eval_batch_size": 4}, trainer={"limit_val_batches": 1})
    with pytest.raises(ValueError, match="a set was read in part"):
        main(line)


def test_a_source_whose_pairs_all_leak(data_root: Path, tiny_base: Path) -> None:
    line = arguments(data_root, tiny_base, "run", data={"held_out": ["data/train.jsonl"]})
    with pytest.raises(ValueError, match=r"training mix is empty.*'leaked': 24"):
        main(line)
