from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import lightning as L
import pytest
import torch
from lightning.pytorch.cli import LightningArgumentParser

from arbgraph.checkpoint import load_checkpoint
from arbgraph.reader import KIND, Reader
from arbgraph.reader.reader import load_reader
from arbgraph.reader.readings import Reading, find_spans
from tests.reader.sets import document, question_sets, row, write
from train.data.reading import ReaderData
from train.reader_module import ReaderModule, span_loss
from train.reader_publish import calibrate

CONFIGS = Path(__file__).parents[2] / "configs" / "train" / "reader"


def test_loss_by_hand() -> None:
    """Two spans can be (scores 1 and 2), no answer scores 0: the answer stands at both, at one, nowhere."""
    spans = torch.full((3, 2, 2), float("-inf"))
    spans[:, 0, 0], spans[:, 1, 0] = 1.0, 2.0
    gold = torch.tensor([[0, 0, 0], [0, 1, 0], [1, 1, 0]])
    losses = span_loss(spans, torch.zeros(3), gold)
    total = math.log(math.e + math.e**2 + 1)
    assert losses.tolist() == pytest.approx([total - math.log(math.e + math.e**2), total - 2, total], abs=1e-5)


def test_loss_has_gradients_where_spans_are_impossible() -> None:
    scores = torch.zeros(1, 2, 2, requires_grad=True)
    spans = scores.masked_fill(torch.tensor([[[False, True], [False, True]]]), float("-inf"))
    span_loss(spans, torch.zeros(1), torch.tensor([[0, 1, 0]])).sum().backward()
    assert scores.grad is not None
    assert torch.isfinite(scores.grad).all()
    assert scores.grad[0, :, 1].tolist() == [0, 0]
    assert scores.grad[0, 1, 0] < 0 < scores.grad[0, 0, 0]


class Scores(torch.nn.Module):
    """Five times too sure of a span where the passage has the word, and as sure of it in one passage of four that has no answer."""

    def forward(self, batch):
        rows, length = batch["input_ids"].shape
        spans = torch.full((rows, length, 1), float("-inf"))
        place = batch["starts"].long().argmax(1)
        spans[torch.arange(rows), place, 0] = 10.0
        return spans, torch.zeros(rows)


def test_calibration_finds_the_share_of_answered(words_tokenizer) -> None:
    from arbgraph.reader.tokens import ReaderTokenizer
    from train.data.reading import ReaderCollator

    collator = ReaderCollator(ReaderTokenizer(words_tokenizer), 1)
    rows = [Reading("Who?", "zebra", find_spans("zebra", ["zebra"]) if number % 4 else (), "t") for number in range(40)]
    calibration = calibrate(Scores(), collator, rows)
    odds = 10.0 / calibration.temperature - calibration.bias
    assert 1 / (1 + math.exp(-odds)) == pytest.approx(0.75, abs=0.01)


@pytest.fixture(scope="module")
def words_tokenizer():
    from transformers import AutoTokenizer

    from arbgraph.models import resolve_model

    return AutoTokenizer.from_pretrained(resolve_model("sentence-transformers/all-MiniLM-L6-v2").path)


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_configurations_parse_and_keep_ramdocs_for_measuring(path: Path) -> None:
    parser = LightningArgumentParser(exit_on_error=False)
    parser.add_argument("--config", action="config")
    parser.add_argument("--seed_everything", type=int)
    parser.add_lightning_class_args(ReaderModule, "model")
    parser.add_lightning_class_args(ReaderData, "data")
    parser.add_lightning_class_args(L.Trainer, "trainer")
    parsed = parser.parse_args(["--config", str(path)])
    assert parsed.data.ramdocs == (3 if path.stem == "minilm_fourth" else 0)
    assert any(one.init_args.monitor == "dev/score" for one in parsed.trainer.callbacks)


@pytest.mark.slow
def test_training_writes_a_reader_that_reads(tmp_path) -> None:
    from train.reader import main

    question_root = question_sets(tmp_path / "sets")
    out = tmp_path / "reader"
    main(
        [
            "fit", "--config", "configs/train/reader/minilm_lora.yaml", "--model.output", str(out), "--data.root", str(question_root),
            "--data.synthetic", "[]", "--data.records", "32", "--data.copies", "1", "--data.batch_size", "8", "--data.dev_cap", "4",
            "--trainer.max_steps", "3", "--trainer.val_check_interval", "2", "--trainer.default_root_dir", str(tmp_path / "run"),
            "--trainer.logger.save_dir", str(tmp_path / "run"), "--trainer.precision", "32-true",
        ]
    )  # fmt: skip
    reader = Reader.load(out, device="cpu")
    answers = reader.read(["When was tower 1 built?"], ["Tower 1 was built in 1889."])[0]
    assert len(answers)
    assert math.isfinite(answers.no_answer)
    apart, tokenizer = load_reader(load_checkpoint(out, kind=KIND), trainable=True)
    batch = tokenizer.batch(tokenizer.windows("When was tower 1 built?", "Tower 1 was built in 1889."))
    with torch.inference_mode():
        for merged, unmerged in zip(reader.model(batch), apart.eval()(batch), strict=True):
            assert torch.allclose(merged.exp(), unmerged.exp(), rtol=1e-4, atol=1e-5)
    metrics = json.loads((out / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["readings_seen"] in (16, 24)
    assert {row["set"] for row in metrics["data"]} >= {"made by rule: record", "poisonedrag/nq"}
    card = (out / "README.md").read_text(encoding="utf-8")
    assert "poisonedrag/nq" in card
    assert "ramdocs/dev" in card
    size = sum(file.stat().st_size for file in out.iterdir())
    assert size < 20_000_000


def test_a_held_fold_of_ramdocs_is_measured_and_not_trained_on(tmp_path) -> None:
    root = question_sets(tmp_path / "sets")
    rows = [row(f"When was number {n} born?", [document(f"Born in {1800 + n}.", "correct", str(1800 + n))], [], []) for n in range(30)]
    write(root / "ramdocs/data.jsonl.gz", rows)
    (root / "ramdocs/splits.json").write_text(json.dumps({"dev": list(range(30)), "test": []}))

    def asked(**options: Any) -> tuple[set[str], set[str]]:
        data = ReaderData(str(root), records=0, copies=0, **options)
        data.setup("fit")
        trained = {one.question for one in data.train_rows if one.source == "ramdocs/data"}
        return trained, {one.question for one in data.dev_sets.get("ramdocs/dev", [])}

    everything = asked()[1]
    assert len(everything) == 30
    assert asked(ramdocs=2) == (everything, set())
    held = [asked(ramdocs=1, ramdocs_held=fold)[1] for fold in range(5)]
    assert set.union(*held) == everything
    assert sum(map(len, held)) == 30
    for fold, measured in enumerate(held):
        assert asked(ramdocs=1, ramdocs_held=fold)[0] == everything - measured
    with pytest.raises(ValueError, match="ramdocs_held is 5"):
        ReaderData(str(root), ramdocs=1, ramdocs_held=5)
