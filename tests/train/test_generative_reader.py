"""Training the generative reader: whole runs on a tiny model, learning by heart, resuming, and what is refused."""

from __future__ import annotations

from pathlib import Path

import lightning as L
import pytest
import torch
from lightning.pytorch.cli import LightningArgumentParser

from arbgraph.checkpoint import CheckpointError, load_checkpoint
from arbgraph.reader.generative import KIND, GenerativeReader, Packed, reply_logprobs
from arbgraph.reader.readings import Reading
from tests.chat.tiny import save_tiny
from tests.reader.sets import question_sets
from train.generative_module import GenerativeReaderModule
from train.generative_reader import GenerativeReaderData, ReplyCollator, main
from train.lora import LoraSettings

CONFIGS = Path(__file__).parents[2] / "configs" / "train" / "generative_reader"
ASKED = (["When was tower 1 built?"], ["Tower 1 was built in 1889."], [["1889", "Tower 1"]])


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("causal"), context=1024)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return question_sets(tmp_path_factory.mktemp("sets"))


def arguments(root: Path, base: Path, out: Path, *more: str, command: str = "fit") -> list[str]:
    return [
        command, "--config", str(CONFIGS / "smollm2_general.yaml"), "--model.base", str(base), "--model.output", str(out),
        "--model.first_layer", "0", "--data.root", str(root), "--data.copies", "0.1", "--data.dev_cap", "1", "--data.batch_size", "16",
        "--trainer.max_steps", "4", "--trainer.default_root_dir", str(out.parent / f"{out.name}-run"),
        "--trainer.logger.save_dir", str(out.parent / f"{out.name}-run"), *more,
    ]  # fmt: skip


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_configurations_parse(path: Path) -> None:
    parser = LightningArgumentParser(exit_on_error=False)
    parser.add_argument("--config", action="config")
    parser.add_argument("--seed_everything", type=int)
    parser.add_lightning_class_args(GenerativeReaderModule, "model")
    parser.add_lightning_class_args(GenerativeReaderData, "data")
    parser.add_lightning_class_args(L.Trainer, "trainer")
    parsed = parser.parse_args(["--config", str(path)])
    assert parsed.data.ramdocs == (2 if path.stem == "smollm2_ramdocs" else 0)
    assert any(one.init_args.save_last for one in parsed.trainer.callbacks)


def test_a_published_reader_scores_as_the_trained_one_did(root: Path, base: Path, tmp_path: Path) -> None:
    cli = main(arguments(root, base, tmp_path / "reader"))
    reader = GenerativeReader.load(tmp_path / "reader", device="cpu")
    trained = GenerativeReader(cli.model.model.float(), cli.model.prompt)
    assert reader.score(*ASKED)[0].tolist() == pytest.approx(trained.score(*ASKED)[0].tolist(), abs=1e-3)
    assert cli.model.seen == 64
    card = (tmp_path / "reader" / "README.md").read_text(encoding="utf-8")
    assert "poisonedrag/nq" in card
    continued = main(arguments(root, base, tmp_path / "second", "--model.init_from", str(tmp_path / "reader"), "--trainer.max_steps", "1"))
    assert continued.model.parent.path == tmp_path / "reader"
    assert load_checkpoint(tmp_path / "second", kind=KIND).config.settings["continued_from"]["name"] == "reader"


def test_a_resumed_run_ends_as_an_uninterrupted_one(root: Path, base: Path, tmp_path: Path) -> None:
    keep = ["--trainer.callbacks.init_args.every_n_train_steps", "2", "--trainer.callbacks.init_args.save_top_k", "-1"]
    keep += ["--trainer.callbacks.init_args.filename", "at-{step}", "--trainer.callbacks.init_args.dirpath"]
    whole = main(arguments(root, base, tmp_path / "whole", *keep, str(tmp_path / "states")))
    half = tmp_path / "states" / "at-step=2.ckpt"
    again = main(arguments(root, base, tmp_path / "again", *keep, str(tmp_path / "other"), "--ckpt_path", str(half)))
    resumed = dict(again.model.named_parameters())
    for name, parameter in whole.model.named_parameters():
        if parameter.requires_grad:
            assert torch.equal(parameter, resumed[name]), name
    assert again.model.seen == whole.model.seen


def test_it_learns_a_few_readings_by_heart(base: Path) -> None:
    torch.manual_seed(0)
    module = GenerativeReaderModule(base=str(base), lora=LoraSettings(r=8, alpha=16))
    rows = [Reading(f"When was tower {n} built?", f"It was {1800 + 7 * n}.", ((7, 11),), "t") for n in range(4)]
    rows.append(Reading("Who?", "Nobody.", (), "t"))
    batch = Packed(**ReplyCollator(module.prompt)(rows))
    optimizer = torch.optim.Adam([one for one in module.parameters() if one.requires_grad], lr=0.02)
    first = None
    for _ in range(60):
        loss = -reply_logprobs(module.model, batch).mean()
        first = first or float(loss.detach())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert first is not None
    assert float(loss.detach()) < first / 3


def test_another_base_is_refused(root: Path, base: Path, tmp_path: Path) -> None:
    main(arguments(root, base, tmp_path / "reader", "--trainer.max_steps", "1"))
    other = save_tiny(tmp_path / "other", context=512, seed=1)
    with pytest.raises(CheckpointError, match="was trained on"):
        GenerativeReaderModule(base=str(other), init_from=str(tmp_path / "reader"))
    with pytest.raises(ValueError, match="no LoRA target is in layer 99"):
        GenerativeReaderModule(base=str(base), first_layer=99)


def test_another_version_of_the_prompt_is_refused(root: Path, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    main(arguments(root, base, tmp_path / "reader", "--trainer.max_steps", "1"))
    monkeypatch.setattr("arbgraph.reader.generative.PROMPT", "reading/9")
    with pytest.raises(CheckpointError, match="prompt 'reading/1'"):
        GenerativeReader.load(tmp_path / "reader")
