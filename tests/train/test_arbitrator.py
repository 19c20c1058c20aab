"""Training the arbitrator: whole runs on a tiny model, the shared beginning, what a record must not tell, the published folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from arbgraph.arbitrator.calibration import VerdictCalibration
from arbgraph.arbitrator.cases import Statement
from arbgraph.arbitrator.causal_lm import CausalArbitrator
from arbgraph.arbitrator.records import ArbitrationRecord, write_arbitration_records
from arbgraph.chat.transformers_chat import TransformersChat
from arbgraph.checkpoint import CheckpointError, describe, load_checkpoint
from arbgraph.io import InputError
from tests.chat.tiny import byte_tokenizer, save_tiny
from train.arbitrator import main
from train.arbitrator_module import ArbitratorModule, verdict_report
from train.data.verdicts import PromptEncoder, VerdictCollator, VerdictDataset
from train.lora import LoraSettings

TOWNS = ["Brenk", "Lofte", "Marn", "Ostel", "Pirra", "Quade", "Rusk", "Selm", "Tarn", "Ulve", "Varde", "Wick"]


def record(town: str, winner: str, kind: str = "majority") -> ArbitrationRecord:
    """Two sources against one for the winner, one against one without."""
    counts = {"a": (2, 1), "b": (1, 2), "unknown": (1, 1)}[winner]
    contexts = [
        tuple(Statement(text=f"{value} m", title=f"Paper {side}{n}", group=10 * side + n) for n in range(count))
        for side, (value, count) in enumerate(zip((90, 80), counts, strict=True))
    ]
    return ArbitrationRecord(
        query=f"How long is the pier of {town}?",
        claim_a="It is 90 m.",
        claim_b="It is 80 m.",
        context_a=contexts[0],
        context_b=contexts[1],
        winner=winner,  # pyright: ignore[reportArgumentType]
        type=kind,
        origin="own",
    )


RECORDS = [record(town, winner) for town, winner in zip(TOWNS, ("a", "b", "unknown") * 4, strict=True)]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("causal"), context=4096)


@pytest.fixture(scope="module")
def chat(base: Path) -> TransformersChat:
    return TransformersChat(str(base), device="cpu", precision="fp32")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_arbitration_records(tmp_path / "train.jsonl", RECORDS[:9])
    write_arbitration_records(tmp_path / "dev.jsonl", RECORDS[9:])
    return tmp_path


def arguments(root: Path, base: Path, name: str, command: str = "fit", *, epochs: int = 2, data=None, trainer=None, **model) -> list[str]:
    """Command line of a run into `root / name`."""
    config: dict[str, Any] = {
        "seed_everything": 3,
        "model": {"base": str(base), "output": str(root / name / "checkpoint"), "lora": {"r": 2, "alpha": 4}, "lr": 0.01, **model},
        "data": {"root": str(root), "train": ["train.jsonl"], "dev": ["dev.jsonl"], "test": ["dev.jsonl"], "batch_size": 3, **(data or {})},
        "trainer": {
            "accelerator": "cpu",
            "devices": 1,
            "precision": "32-true",
            "max_epochs": epochs,
            "num_sanity_val_steps": 0,
            "enable_progress_bar": False,
            "enable_model_summary": False,
            "log_every_n_steps": 1,
            "default_root_dir": str(root / name),
            "logger": {"class_path": "lightning.pytorch.loggers.CSVLogger", "init_args": {"save_dir": str(root / name)}},
            "callbacks": [
                {"class_path": "train.verifier_module.Throughput", "init_args": {"every": 2}},
                {
                    "class_path": "lightning.pytorch.callbacks.ModelCheckpoint",
                    "init_args": {"dirpath": str(root / name / "states"), "monitor": "dev/nll", "save_last": True, "save_top_k": -1},
                },
            ],
            **(trainer or {}),
        },
    }
    path = root / f"{name}-{command}.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return [command, "--config", str(path)]


def _same_preference(arbitrator: torch.Tensor, module: torch.Tensor) -> None:
    """One token tells A from B; "unknown" has two in these tests, which the arbitrator sums and the module does not."""
    torch.testing.assert_close(arbitrator[..., 0] - arbitrator[..., 1], module[..., 0] - module[..., 1], atol=1e-3, rtol=0)


def test_a_published_arbitrator_scores_as_the_trained_one_did(root: Path, base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cli = main(arguments(root, base, "run"))
    checkpoint = load_checkpoint(root / "run" / "checkpoint", kind="CausalArbitrator")
    assert checkpoint.config.settings == CausalArbitrator.checkpoint_settings(300)
    arbitrator = CausalArbitrator.load(checkpoint.path, device="cpu")
    _same_preference(arbitrator.order_scores([one.case for one in RECORDS[9:]]), cli.model.dev_scores)
    assert arbitrator.calibration == VerdictCalibration.from_dict(checkpoint.config.calibration or {})
    metrics = describe(checkpoint.path)["metrics"]
    assert metrics["records_trained"] == 18
    assert metrics["data"]["by_origin"] == {"own": 9}
    assert metrics["dev"]["calibrated"]["nll"] <= metrics["dev"]["uncalibrated"]["nll"] + 1e-9
    card = (checkpoint.path / "README.md").read_text(encoding="utf-8")
    assert "| majority | 3 | 3 | 3 |" in card
    assert "LoRA r 2, alpha 4 on 14 linear layers" in card
    assert "step 6/6" in capsys.readouterr().out


def test_the_adapter_is_published_in_half_precision(root: Path, base: Path) -> None:
    from safetensors.torch import load_file

    main(arguments(root, base, "run", epochs=1))
    tensors = load_file(root / "run" / "checkpoint" / "adapter_model.safetensors")
    assert {tensor.dtype for tensor in tensors.values()} == {torch.float16}
    assert not any("lm_head" in name or "embed" in name for name in tensors)


def test_training_lowers_the_loss(root: Path, base: Path) -> None:
    import csv

    main(arguments(root, base, "run", epochs=8, lr=0.02, label_smoothing=0.0, trainer={"check_val_every_n_epoch": 8}))
    with next((root / "run").rglob("metrics.csv")).open(encoding="utf-8") as stream:
        losses = [float(row["train/loss"]) for row in csv.DictReader(stream) if row["train/loss"]]
    assert losses[-1] < 0.8 * losses[0]


def test_a_run_that_broke_off_inside_an_epoch_ends_where_a_whole_one_does(root: Path, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"lora": {"r": 2, "alpha": 4, "dropout": 0.2}, "trainer": {"val_check_interval": 2}}
    whole = main(arguments(root, base, "whole", **options))
    step = ArbitratorModule.training_step

    def breaks(module: ArbitratorModule, batch: dict[str, torch.Tensor], batch_idx: int) -> torch.Tensor:
        if module.pairs_seen == 15:
            raise OSError("power cut")
        return step(module, batch, batch_idx)

    monkeypatch.setattr(ArbitratorModule, "training_step", breaks)
    with pytest.raises(OSError, match="power cut"):
        main(arguments(root, base, "part", **options))
    monkeypatch.undo()
    resumed = main([*arguments(root, base, "part", **options), "--ckpt_path", str(root / "part" / "states" / "last.ckpt")])
    assert resumed.model.pairs_seen == whole.model.pairs_seen
    torch.testing.assert_close(resumed.model.dev_scores, whole.model.dev_scores, atol=1e-6, rtol=0)


def test_continuing_starts_from_the_published_adapter(root: Path, base: Path) -> None:
    first = main(arguments(root, base, "first"))
    folder = str(root / "first" / "checkpoint")
    scored = main(arguments(root, base, "scored", "validate", init_from=folder))
    torch.testing.assert_close(scored.model.dev_scores, first.model.dev_scores, atol=1e-5, rtol=0)
    assert scored.model.dev_report["nll"] == pytest.approx(describe(folder)["metrics"]["dev"]["calibrated"]["nll"], abs=1e-4)
    main(arguments(root, base, "second", init_from=folder, epochs=1))
    assert describe(root / "second" / "checkpoint")["settings"]["continued_from"]["name"] == "checkpoint"


def test_validate_and_test_without_training_score_the_base(root: Path, base: Path, chat: TransformersChat, capsys) -> None:
    cli = main(arguments(root, base, "zero", "validate"))
    _same_preference(CausalArbitrator(chat, context_tokens=300).order_scores([one.case for one in RECORDS[9:]]), cli.model.dev_scores)
    main(arguments(root, base, "zero", "test"))
    assert "test records" in capsys.readouterr().out


def test_records_of_dev_are_not_trained_on(root: Path, base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_arbitration_records(root / "train.jsonl", [*RECORDS[:9], RECORDS[9].swapped()])
    cli = main(arguments(root, base, "run", epochs=1))
    assert len(cli.datamodule.mix.records) == 9
    assert "1 records are in the dev or test files" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("model", "data", "error", "message"),
    [
        ({"first_layer": 2}, {}, ValueError, "no LoRA target is in layer 2 or above"),
        ({"lora": {"targets": "none_such"}}, {}, ValueError, "matches no linear layer"),
        ({"init_from": "none_such"}, {}, CheckpointError, "no such folder"),
        ({}, {"train": []}, ValueError, "fit needs data.train"),
        ({}, {"dev": ["train.jsonl"]}, ValueError, "no training record is left"),
        ({}, {"train": ["missing.jsonl"]}, InputError, "missing.jsonl: no such file"),
    ],
)
def test_faults_of_the_configuration(root: Path, base: Path, model, data, error, message) -> None:
    with pytest.raises(error, match=message):
        main(arguments(root, base, "run", data=data, **model))


def test_only_layers_from_the_first_on_are_adapted(base: Path) -> None:
    module = ArbitratorModule(str(base), lora=LoraSettings(r=2, alpha=4), first_layer=1)
    trained = [name for name, parameter in module.named_parameters() if parameter.requires_grad]
    assert trained
    assert all(".layers.1." in name for name in trained)


def batch_of(chat: TransformersChat, records: list[ArbitrationRecord]) -> dict[str, torch.Tensor]:
    dataset = VerdictDataset(records, PromptEncoder(chat, 300))
    return VerdictCollator(chat.tokenizer.pad_token_id)([dataset[(row, row % 2 == 1)] for row in range(len(records))])


def test_reading_the_common_beginning_once_changes_neither_scores_nor_gradients(base: Path) -> None:
    found = []
    for shared in (True, False):
        torch.manual_seed(0)
        module = ArbitratorModule(str(base), lora=LoraSettings(r=2, alpha=4), share_beginning=shared)
        module.options = module.encoder.options(RECORDS[0])
        for parameter in module.parameters():
            if parameter.requires_grad:
                torch.nn.init.normal_(parameter, std=0.1)
        batch = batch_of(module.chat, RECORDS[:4])
        assert len(batch["shared"]) > 300
        scores = module(batch)
        scores[torch.arange(4), batch["outcome"]].mean().backward()
        found.append((scores, [p.grad for p in module.parameters() if p.requires_grad]))
    torch.testing.assert_close(found[0], found[1], atol=1e-4, rtol=1e-3)


def test_logits_are_not_rounded_in_mixed_precision(base: Path) -> None:
    module = ArbitratorModule(str(base), lora=LoraSettings(r=2, alpha=4))
    module.options = module.encoder.options(RECORDS[0])
    head: Any = module.model.get_output_embeddings()  # pyright: ignore[reportCallIssue]
    states = torch.randn(3, 32)
    exact = head(states)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = head(states)
    assert mixed.dtype == torch.float32
    torch.testing.assert_close(mixed, exact)


def test_a_batch_pads_on_the_left_behind_what_is_shared() -> None:
    beginning = list(range(100, 120))
    items = [{"ids": [[*beginning, *rest]], "outcome": 0, "row": 0, "read": True} for rest in ([1, 2, 3], [1, 4])]
    batch = VerdictCollator(pad=9)(items)
    assert batch["shared"].tolist() == [*beginning, 1]
    assert batch["ids"].tolist() == [[2, 3], [9, 4]]
    assert batch["mask"].tolist() == [[1, 1], [0, 1]]
    # A prompt that is the beginning of another keeps its last token, where the reply is read.
    assert VerdictCollator(9)([{**items[0], "ids": [beginning]}, items[0]])["ids"].tolist() == [[9, 9, 9, 119], [119, 1, 2, 3]]
    assert VerdictCollator(9)(items[:1])["shared"].tolist() == []


def test_swapping_an_item_exchanges_the_claims_and_the_outcome(chat: TransformersChat) -> None:
    encoder = PromptEncoder(chat, 300)
    dataset = VerdictDataset(RECORDS[:3], encoder)
    for row, (plain, turned) in enumerate([(0, 1), (1, 0), (2, 2)]):
        assert (dataset[(row, False)]["outcome"], dataset[(row, True)]["outcome"]) == (plain, turned)
        assert dataset[(row + 3, False)]["ids"] == dataset[(row, True)]["ids"] == [encoder(RECORDS[row].swapped(), False)]
    assert dataset[(0, None)]["read"] is False
    paired = VerdictDataset(RECORDS[:3], encoder, paired=True)
    assert paired[(0, True)]["ids"] == [*dataset[(0, True)]["ids"], *dataset[(0, False)]["ids"]]


def test_the_prompt_is_the_one_that_the_arbitrator_asks(chat: TransformersChat) -> None:
    (messages,) = CausalArbitrator(chat, context_tokens=40).prompts([RECORDS[0].case])
    encoder = PromptEncoder(chat, 40)
    assert chat.tokenizer.decode(encoder(RECORDS[0], False)) == chat.render(messages)
    assert encoder.left_out > 0


def test_a_prompt_beyond_the_context_is_an_error(tmp_path: Path) -> None:
    small = TransformersChat(str(save_tiny(tmp_path, context=512)), device="cpu", precision="fp32")
    with pytest.raises(ValueError, match=r"the prompt for 'It is 90 m.' has \d+ tokens, and the model's context is 512"):
        PromptEncoder(small, 300)(RECORDS[0], False)


def test_options_that_begin_alike_are_an_error(chat: TransformersChat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("train.data.verdicts.OPTIONS", ("un", "unknown", "A"))
    with pytest.raises(ValueError, match="begin with the same token"):
        PromptEncoder(chat, 300).options(RECORDS[0])


def test_the_report_by_hand() -> None:
    records = [record("Brenk", "a"), record("Lofte", "b", "copied"), record("Marn", "unknown")]
    p = torch.tensor(
        [
            [[0.8, 0.1, 0.1], [0.6, 0.3, 0.1]],  # a: right, gated
            [[0.5, 0.4, 0.1], [0.5, 0.4, 0.1]],  # b: wrong, gated at one half
            [[0.3, 0.3, 0.4], [0.3, 0.3, 0.4]],  # unknown: right, not gated
        ],
        dtype=torch.float64,
    )
    report = verdict_report(records, p.log(), VerdictCalibration())
    assert report["accuracy"] == pytest.approx(2 / 3)
    assert report["position_bias"] == pytest.approx(0.2 / 3)
    assert report["gated"] == pytest.approx(2 / 3)
    assert report["gated_accuracy"] == pytest.approx(0.5)
    assert report["by_type"] == {"copied": {"n": 1, "accuracy": 0.0}, "majority": {"n": 2, "accuracy": 1.0}}
    # Geometric means of the orders: a is sqrt(.48) of (sqrt(.48) + sqrt(.03) + .1).
    first = 0.48**0.5 / (0.48**0.5 + 0.03**0.5 + 0.1)
    expected = -(torch.tensor([first, 0.4, 0.4], dtype=torch.float64).log()).mean()
    assert report["nll"] == pytest.approx(float(expected))


def test_the_shipped_recipe_is_accepted_and_names_only_licences_that_permit_shipping() -> None:
    from jsonargparse import ArgumentParser

    from train.data.arbitration.build import ArbitrationRecipe

    folder = Path(__file__).parents[2] / "configs" / "train" / "arbitrator"
    parser = ArgumentParser()
    parser.add_class_arguments(ArbitrationRecipe, "recipe")
    recipe = parser.instantiate(parser.parse_path(str(folder / "records.yaml"))).recipe
    assert all("NC" not in source.licence and source.licence != "not stated" for source in recipe.sources)


def test_the_tokenizer_of_the_tests_splits_unknown() -> None:
    assert len(byte_tokenizer()("unknown")["input_ids"]) == 2
