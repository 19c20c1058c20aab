from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from arbgraph.checkpoint import describe, load_checkpoint
from arbgraph.schema import RELATION_LABELS
from arbgraph.verifier import RelationVerifier
from arbgraph.verifier.relation import load_model
from arbgraph.verifier.tokens import PairTokenizer
from tests.train.runs import ROWS, arguments
from tests.verifier.conftest import MINILM
from train.data.pairs import BucketSampler, Keys, PairCollator, PairDataset, PairSource, VerifierData
from train.lora import LoraSettings
from train.verifier import main
from train.verifier_module import VerifierModule, relation_loss


def test_loss_by_hand() -> None:
    logits = torch.tensor([[0.0, 0.0, math.log(2.0)]])  # probabilities 1/4, 1/4, 1/2
    one, weights = torch.tensor([[False, False, True]]), torch.ones(3)
    assert float(relation_loss(logits, one, weights, 0.0)) == pytest.approx(math.log(2))
    # Smoothing 0.3: 0.7 ln 2 + 0.1 (ln 4 + ln 4 + ln 2)
    assert float(relation_loss(logits, one, weights, 0.3)) == pytest.approx(1.2 * math.log(2))
    # Two allowed labels: -ln(1/4 + 1/2), never smoothed
    assert float(relation_loss(logits, torch.tensor([[True, False, True]]), weights, 0.3)) == pytest.approx(math.log(4 / 3))


def test_class_weights_by_hand() -> None:
    logits = torch.tensor([[0.0, 0.0, 0.0], [0.0, 0.0, math.log(2.0)]])
    allowed = torch.tensor([[True, False, False], [False, False, True]])
    expected = (3 * math.log(3) + 1 * math.log(2)) / 4
    assert float(relation_loss(logits, allowed, torch.tensor([3.0, 1.0, 1.0]), 0.0)) == pytest.approx(expected)


@pytest.fixture(scope="module")
def minilm_module() -> VerifierModule:
    torch.manual_seed(0)
    return VerifierModule(base=MINILM, max_tokens=32, dropout=0.0, label_smoothing=0.0)


def overfit(module: VerifierModule, rows: list[tuple[str, str, str]], steps: int) -> float:
    from transformers import AutoTokenizer

    from arbgraph.verifier.pairs import LabelledPair

    tokenizer = PairTokenizer(AutoTokenizer.from_pretrained(module.resolved.path), 32)
    dataset = PairDataset([LabelledPair(a, b, label) for a, b, label in rows])  # pyright: ignore[reportArgumentType]
    batch = PairCollator(tokenizer, comparison=False)([dataset[row, False] for row in range(len(rows))])
    gold = torch.tensor([RELATION_LABELS.index(label) for _, _, label in rows])
    optimizer = torch.optim.AdamW([p for p in module.parameters() if p.requires_grad], lr=2e-3)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = relation_loss(module(batch), batch["allowed"], torch.ones(3), 0.0)
        loss.backward()
        optimizer.step()
        if loss < 0.1:
            break
    with torch.no_grad():
        return float((module(batch).argmax(-1) == gold).double().mean())


def test_overfits_32_pairs(minilm_module: VerifierModule) -> None:
    frozen = {name: p.clone() for name, p in minilm_module.named_parameters() if not p.requires_grad}
    head = {name: p.clone() for name, p in minilm_module.model.head.named_parameters()}
    assert overfit(minilm_module, ROWS[:32], steps=30) == 1.0
    assert all(torch.equal(p, frozen[name]) for name, p in minilm_module.named_parameters() if name in frozen)
    assert all(not torch.equal(p, head[name]) for name, p in minilm_module.model.head.named_parameters())
    assert len(frozen) == 103


def test_fit_writes_a_checkpoint(data_root: Path, tiny_base: Path) -> None:
    cli = main(arguments(data_root, tiny_base, "run", epochs=3))
    folder = data_root / "run" / "checkpoint"
    module: VerifierModule = cli.model
    checkpoint = load_checkpoint(folder, kind="RelationVerifier")
    saved = checkpoint.head()
    assert saved.keys() == module.model.head.state_dict().keys()
    assert all(torch.equal(tensor, module.model.head.state_dict()[name]) for name, tensor in saved.items())
    assert any(tensor.abs().sum() > 0 for name, tensor in load_file(folder / "adapter_model.safetensors").items() if "lora_B" in name)

    reloaded, tokenizer = load_model(checkpoint)
    batch = tokenizer.batch(tokenizer.encode([(a, b) for a, b, _ in ROWS]), range(len(ROWS)))
    with torch.inference_mode():
        assert torch.equal(reloaded(batch), module.model.eval()(batch))

    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "| data | CC0 | 24 | 8 / 8 / 8 |" in card
    metrics = describe(folder)["metrics"]
    assert metrics["pairs_trained"] == 72
    best = torch.load(cli.trainer.checkpoint_callback.best_model_path, weights_only=True)  # pyright: ignore
    assert metrics["pairs_seen"] == best["verifier"]["pairs_seen"]
    assert all(torch.equal(tensor, best["state_dict"][f"model.head.{name}"]) for name, tensor in saved.items())
    assert metrics["dev"]["calibrated"].keys() == {"dev", "both"}
    # The card's dev scores are those of the saved weights.
    verifier = RelationVerifier.load(folder)
    predicted = verifier.directed([(a, b) for a, b, _ in ROWS[24:]]).argmax(-1).tolist()
    gold = [RELATION_LABELS.index(label) for _, _, label in ROWS[24:]]
    right = sum(p == g for p, g in zip(predicted, gold, strict=True))
    assert metrics["dev"]["calibrated"]["dev"]["accuracy"] == pytest.approx(right / len(gold))


def test_training_states_keep_trained_tensors_only(data_root: Path, tiny_base: Path) -> None:
    main(arguments(data_root, tiny_base, "run", epochs=1))
    state = torch.load(data_root / "run" / "states" / "last.ckpt", weights_only=True)["state_dict"]
    assert all("lora_" in name or name.startswith("model.head.") or name == "label_weights" for name in state)
    assert sum("lora_" in name for name in state) == 24


@pytest.mark.parametrize("interval", [{}, {"val_check_interval": 2}])
def test_resumed_run_equals_an_uninterrupted_one(data_root: Path, tiny_base: Path, interval: dict[str, int]) -> None:
    flags = [part for key, value in interval.items() for part in (f"--trainer.{key}", str(value))]
    main([*arguments(data_root, tiny_base, "whole", epochs=2), *flags])
    # The first state that was kept: after the first epoch, or in the middle of it.
    state = min((data_root / "whole" / "states").glob("epoch=*.ckpt"), key=lambda path: int(path.stem.rsplit("=", 1)[1]))
    assert state.stem == ("epoch=0-step=2" if interval else "epoch=0-step=3")
    main([*arguments(data_root, tiny_base, "resumed", epochs=2), *flags, "--ckpt_path", str(state)])
    whole, resumed = (torch.load(data_root / name / "states" / "last.ckpt", weights_only=True) for name in ("whole", "resumed"))
    assert whole["verifier"]["pairs_seen"] == resumed["verifier"]["pairs_seen"] == (40 if interval else 48)
    assert all(torch.equal(tensor, resumed["state_dict"][name]) for name, tensor in whole["state_dict"].items())


def test_every_epoch_has_its_own_order(data_root: Path, tiny_base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, list[int]]] = []
    step = VerifierModule.training_step

    def spy(self: VerifierModule, batch: dict[str, torch.Tensor], batch_idx: int) -> torch.Tensor:
        seen.append((self.current_epoch, batch["row"].tolist()))
        return step(self, batch, batch_idx)

    monkeypatch.setattr(VerifierModule, "training_step", spy)
    main(arguments(data_root, tiny_base, "run", epochs=2))
    first, second = ([row for epoch, rows in seen if epoch == number for row in rows] for number in (0, 1))
    assert sorted(first) == sorted(second) == list(range(24))
    assert first != second


def test_two_runs_with_one_seed_are_equal(data_root: Path, tiny_base: Path) -> None:
    first, second = (main(arguments(data_root, tiny_base, name, epochs=1)).model for name in ("one", "two"))
    assert all(torch.equal(one, other) for one, other in zip(first.parameters(), second.parameters(), strict=True))


def test_accumulated_gradients_equal_one_larger_batch(data_root: Path, tiny_base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = main(arguments(data_root, tiny_base, "whole", dropout=0.0)).model
    plan = BucketSampler.plan

    def halves(self: BucketSampler, epoch: int) -> list[Keys]:
        self.batch_size = 8
        batches = plan(self, epoch)
        self.batch_size = 4
        return [half for batch in batches for half in (batch[:4], batch[4:])]

    monkeypatch.setattr(BucketSampler, "plan", halves)
    cli = main(arguments(data_root, tiny_base, "halves", dropout=0.0, data={"batch_size": 4}, trainer={"accumulate_grad_batches": 2}))
    assert cli.trainer.global_step == 6
    trained = dict(whole.named_parameters())
    for name, tensor in cli.model.named_parameters():
        assert torch.allclose(tensor, trained[name], atol=2e-5), name


def test_collapse_is_an_error(data_root: Path, tiny_base: Path) -> None:
    with pytest.raises(RuntimeError, match="collapsed: smoothed loss"):
        main(arguments(data_root, tiny_base, "run", guard_pairs=16, guard_loss=0.1))


def test_balanced_class_weights() -> None:
    data = VerifierData([PairSource("x/a.jsonl", weight=2.0), PairSource("x/b.jsonl")], [])
    data.mix.pairs = _pairs("support", "support", "contradict", "neutral")
    data.mix.source = [0, 1, 1, 1]
    assert data.label_counts().tolist() == [3.0, 1.0, 1.0]


def _pairs(*labels: str):
    from arbgraph.verifier.pairs import LabelledPair

    return [LabelledPair(f"a{row}", "b", label) for row, label in enumerate(labels)]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("swap", [[0.1], [0.0, 0.0, 1.5]])
def test_bad_swap(swap: list[float]) -> None:
    with pytest.raises(ValueError, match="three chances"):
        VerifierData([], [], swap=swap)


def test_too_long_for_the_base(tiny_base: Path) -> None:
    with pytest.raises(ValueError, match="reads at most 512"):
        VerifierModule(base=str(tiny_base), max_tokens=1000, lora=LoraSettings(r=2))
