"""Several processes take the steps that one process takes."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import torch
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonargparse import ArgumentParser
from lightning.pytorch.strategies import FSDPStrategy

from arbgraph.schema import RelationLabel
from arbgraph.verifier.pairs import LabelledPair
from tests.train.runs import arguments
from train.data.pairs import BucketSampler, Mix, share
from train.verifier_module import row_losses

CONFIGS = Path(__file__).parents[2] / "configs" / "train" / "verifier"


def sampler(rows: int, batch_size: int, rank: int, processes: int) -> BucketSampler:
    labels = list(RelationLabel)
    mix = Mix([LabelledPair(f"a{row}", "b", labels[row % 3]) for row in range(rows)], [0] * rows)
    lengths = [row * 7 % 11 for row in range(rows)]
    return BucketSampler(mix, lengths, weights=[1.0], batch_size=batch_size, window=3, seed=5, rank=rank, processes=processes)


@settings(deadline=None)
@given(st.integers(1, 50), st.integers(1, 4), st.integers(1, 4))
def test_processes_share_every_batch_of_one_plan(rows: int, each: int, processes: int) -> None:
    one = list(sampler(rows, each * processes, 0, 1))
    several = [list(sampler(rows, each * processes, rank, processes)) for rank in range(processes)]
    assert {len(batches) for batches in several} == {len(one)}
    for number, batch in enumerate(one):
        shares = [batches[number] for batches in several]
        taken = Counter(key for part in shares for key in part if key[1] is not None)
        assert taken == Counter(batch)
        assert all(shares)
        assert all(len(part) == 1 for part in shares if part[0][1] is None)


def test_a_process_without_a_pair_takes_a_filler() -> None:
    assert share([(4, True), (2, False), (9, False)], 1, 2) == [(2, False)]
    assert share([(4, True)], 1, 2) == [(4, None)]


def test_a_filler_weighs_nothing_and_has_no_gradient() -> None:
    logits = torch.randn(2, 3, requires_grad=True)
    losses, weights = row_losses(logits, torch.tensor([[False, False, False], [True, False, False]]), torch.tensor([2.0, 1.0, 1.0]), 0.1)
    assert weights.tolist() == [0.0, 2.0]
    (losses * weights).sum().backward()
    assert logits.grad is not None
    assert torch.equal(logits.grad[0], torch.zeros(3))
    assert torch.isfinite(logits.grad).all()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_two_processes_train_as_one(data_root: Path, tiny_base: Path) -> None:
    """24 pairs in batches of 16 and 8 or, with 21 pairs, 16 and 5: uneven shares, unequal class weights, undirected sets."""
    lines = (data_root / "data" / "train.jsonl").read_text(encoding="utf-8").splitlines()[:21]
    (data_root / "data" / "train.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    options = {"epochs": 3, "dropout": 0.0, "class_weights": [1.0, 3.0, 0.5]}
    runs = {
        "one": arguments(data_root, tiny_base, "one", data={"batch_size": 16}, **options),
        "two": arguments(data_root, tiny_base, "two", data={"batch_size": 8}, trainer={"strategy": "ddp", "devices": 2}, **options),
    }
    for line in runs.values():
        subprocess.run([sys.executable, "-m", "train.verifier", *line], check=True, timeout=600, cwd=Path(__file__).parents[2])
    one, two = (torch.load(data_root / name / "states" / "last.ckpt", weights_only=True) for name in runs)
    assert one["verifier"]["pairs_seen"] == two["verifier"]["pairs_seen"] == 63
    assert one["verifier"]["smoothed"] == pytest.approx(two["verifier"]["smoothed"], abs=1e-5)
    assert one["state_dict"].keys() == two["state_dict"].keys()
    for name, tensor in one["state_dict"].items():
        assert torch.allclose(tensor, two["state_dict"][name], atol=1e-6), name
    # The first process published; dev scores come from both.
    metrics = [yaml.safe_load((data_root / name / "checkpoint" / "metrics.json").read_text(encoding="utf-8")) for name in runs]
    assert metrics[0]["pairs_trained"] == metrics[1]["pairs_trained"] == 63
    assert metrics[0]["dev"]["calibrated"]["both"]["confusion"] == metrics[1]["dev"]["calibrated"]["both"]["confusion"]


def test_the_fsdp_configuration_is_complete() -> None:
    """As far as a CPU goes: the strategy is built and wraps the layers of the base that it names; the rest parses as a `fit` does."""
    config = yaml.safe_load((CONFIGS / "fsdp_large.yaml").read_text(encoding="utf-8"))
    parser = ArgumentParser()
    parser.add_argument("--strategy", type=FSDPStrategy)
    strategy = parser.instantiate_classes(parser.parse_object({"strategy": config["trainer"]["strategy"]})).strategy
    assert strategy._state_dict_type == "full"  # a training checkpoint is one file that publishing reads
    assert strategy.kwargs["use_orig_params"]  # frozen and trained parameters lie side by side in a layer
    assert {kind.__name__ for kind in strategy.kwargs["auto_wrap_policy"]._module_classes} == {"LlamaDecoderLayer"}
    assert config["trainer"]["use_distributed_sampler"] is False
    assert config["trainer"].get("gradient_clip_val") is None  # Lightning cannot clip the norm of sharded gradients
