"""Continuing from a published verifier, scoring one, and training the whole base."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from arbgraph.checkpoint import CheckpointError, load_checkpoint
from arbgraph.schema import RELATION_LABELS
from arbgraph.verifier import RelationVerifier
from arbgraph.verifier.relation import load_model
from tests.train.runs import ROWS, arguments
from tests.verifier.conftest import build_tiny_base
from train.verifier import main
from train.verifier_module import VerifierModule


def logits(model, tokenizer) -> torch.Tensor:
    batch = tokenizer.batch(tokenizer.encode([(a, b) for a, b, _ in ROWS]), list(range(len(ROWS))))
    with torch.inference_mode():
        return model.eval()(batch)


def test_a_continued_module_starts_where_the_checkpoint_ended(tiny_base: Path, tiny_checkpoint: Path) -> None:
    module = VerifierModule(base=str(tiny_base), init_from=str(tiny_checkpoint), max_tokens=32)
    published, tokenizer = load_model(load_checkpoint(tiny_checkpoint, kind="RelationVerifier"))
    assert torch.equal(logits(module.model, tokenizer), logits(published, tokenizer))
    trained = [name for name, parameter in module.model.named_parameters() if parameter.requires_grad]
    assert sum("lora_" in name for name in trained) == 2 * 2 * 2
    assert all("lora_" in name or name.startswith("head.") for name in trained)


def test_a_continued_checkpoint_moves_on_and_says_from_where(data_root: Path, tiny_base: Path, tiny_checkpoint: Path) -> None:
    module = main(arguments(data_root, tiny_base, "run", lora=None, init_from=str(tiny_checkpoint))).model
    folder = data_root / "run" / "checkpoint"
    for name in ("head.safetensors", "adapter_model.safetensors"):
        before, after = load_file(tiny_checkpoint / name), load_file(folder / name)
        assert before.keys() == after.keys()
        assert any(not torch.equal(before[key], after[key]) for key in before)
    checkpoint = load_checkpoint(folder, kind="RelationVerifier")
    assert checkpoint.config.settings["continued_from"]["name"] == "tiny-verifier"
    assert "Continued from `tiny-verifier`" in (folder / "README.md").read_text(encoding="utf-8")
    reloaded, tokenizer = load_model(checkpoint)
    assert torch.equal(logits(reloaded, tokenizer), logits(module.model, tokenizer))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"comparison": True}, "was trained without comparison features; set model.comparison: false"),
        ({"lora": {"r": 2, "alpha": 4}}, "its adapter has r 4, alpha 8, not r 2, alpha 4"),
    ],
)
def test_settings_that_the_checkpoint_does_not_have(
    tiny_base: Path, tiny_checkpoint: Path, options: dict[str, object], message: str
) -> None:
    from train.lora import LoraSettings

    if "lora" in options:
        options = {"lora": LoraSettings(**options["lora"])}  # pyright: ignore
    with pytest.raises(ValueError, match=message):
        VerifierModule(base=str(tiny_base), init_from=str(tiny_checkpoint), max_tokens=32, **options)  # pyright: ignore


def test_a_checkpoint_of_another_base(tmp_path: Path, tiny_checkpoint: Path) -> None:
    other = build_tiny_base(tmp_path / "other", seed=1)
    with pytest.raises(CheckpointError, match="give the base that it was trained on"):
        VerifierModule(base=str(other), init_from=str(tiny_checkpoint), max_tokens=32)


@pytest.mark.parametrize("command", ["validate", "test"])
def test_scoring_a_published_checkpoint(
    data_root: Path, tiny_base: Path, tiny_checkpoint: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    sets = {"test": [{"path": "data/train.jsonl", "name": "held"}]}
    line = arguments(data_root, tiny_base, "run", lora=None, init_from=str(tiny_checkpoint), data=sets)
    cli = main([command, *line[1:]])
    rows, name = (ROWS[24:], "dev/dev") if command == "validate" else (ROWS[:24], "test/held")
    verifier = RelationVerifier.load(tiny_checkpoint)
    predicted = verifier.directed([(a, b) for a, b, _ in rows]).argmax(-1).tolist()
    right = sum(RELATION_LABELS[p] == label for p, (_, _, label) in zip(predicted, rows, strict=True))
    assert float(cli.trainer.callback_metrics[f"{name}/accuracy"]) == pytest.approx(right / len(rows))
    if command == "validate":  # the undirected set too is scored as the verifier itself would
        verdict = verifier.relate([(a, b) for a, b, _ in rows]).argmax(-1).tolist()
        right = sum(RELATION_LABELS[p] == label for p, (_, _, label) in zip(verdict, rows, strict=True))
        assert float(cli.trainer.callback_metrics["dev/both/accuracy"]) == pytest.approx(right / len(rows))
    assert f"{'dev' if command == 'validate' else 'test'} sets" in capsys.readouterr().out


def test_scoring_a_training_state(data_root: Path, tiny_base: Path) -> None:
    line = arguments(data_root, tiny_base, "run", epochs=1)
    trained = main(line)
    state = data_root / "run" / "states" / "last.ckpt"
    scored = main(["validate", *line[1:], "--ckpt_path", str(state)])
    assert scored.trainer.callback_metrics["dev/dev/macro_f1"] == trained.trainer.callback_metrics["dev/dev/macro_f1"]


@pytest.mark.parametrize(("command", "kind"), [("test", "test"), ("validate", "dev"), ("fit", "train")])
def test_a_stage_without_sets(data_root: Path, tiny_base: Path, command: str, kind: str) -> None:
    line = arguments(data_root, tiny_base, "run", data={kind: []})
    with pytest.raises(ValueError, match=f"{command} needs data.{kind}"):
        main([command, *line[1:]])


def test_the_whole_base_trained_and_continued(data_root: Path, tiny_base: Path) -> None:
    module = main(arguments(data_root, tiny_base, "run", lora=None, full=True)).model
    folder = data_root / "run" / "checkpoint"
    base, trained = load_file(tiny_base / "model.safetensors"), load_file(folder / "encoder.safetensors")
    moved = [name for name in base if not torch.equal(base[name], trained[name])]
    assert not any("pooler" in name for name in moved)
    assert any("word_embeddings" in name for name in moved)
    assert not (folder / "adapter_model.safetensors").exists()
    reloaded, tokenizer = load_model(load_checkpoint(folder, kind="RelationVerifier"))
    assert torch.equal(logits(reloaded, tokenizer), logits(module.model, tokenizer))
    probabilities = RelationVerifier.load(folder).relate([(a, b) for a, b, _ in ROWS])
    assert torch.isfinite(probabilities).all()
    assert "The whole base trained" in (folder / "README.md").read_text(encoding="utf-8")

    with pytest.raises(ValueError, match=r"has no adapter to continue; set model\.full: true"):
        VerifierModule(base=str(tiny_base), init_from=str(folder), max_tokens=32)
    again = VerifierModule(base=str(tiny_base), init_from=str(folder), full=True, max_tokens=32)
    assert torch.equal(logits(again.model, tokenizer), logits(reloaded, tokenizer))


def test_an_adapter_is_merged_before_the_whole_base_is_trained(tiny_base: Path, tiny_checkpoint: Path) -> None:
    module = VerifierModule(base=str(tiny_base), init_from=str(tiny_checkpoint), full=True, max_tokens=32)
    adapted, tokenizer = load_model(load_checkpoint(tiny_checkpoint, kind="RelationVerifier"))
    assert torch.allclose(logits(module.model, tokenizer), logits(adapted, tokenizer), atol=1e-5)
    assert not any("lora_" in name for name, _ in module.named_parameters())
    assert all(p.requires_grad for name, p in module.model.named_parameters() if "pooler" not in name)
