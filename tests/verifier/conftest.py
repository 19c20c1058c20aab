"""A tiny random BERT with MiniLM's tokenizer, and a checkpoint on it: everything a verifier does, in milliseconds."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch

from arbgraph.models import resolve_model

MINILM = "sentence-transformers/all-MiniLM-L6-v2"


def build_tiny_base(folder: Path, *, seed: int = 0, architecture: str = "bert") -> Path:
    """Writes a random two-layer encoder and MiniLM's tokenizer into a folder."""
    from transformers import BertConfig, BertModel, RobertaConfig, RobertaModel

    torch.manual_seed(seed)
    sizes = {"vocab_size": 30522, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    model = BertModel(BertConfig(**sizes)) if architecture == "bert" else RobertaModel(RobertaConfig(**sizes, pad_token_id=0))
    model.save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json"):
        shutil.copy(resolve_model(MINILM).path / name, folder / name)
    return folder


def build_checkpoint(folder: Path, base: Path, *, seed: int = 0, id2label: dict[int, str] | None = None, max_tokens: int = 32):
    """A checkpoint with a random adapter and head on `base`; returns the model that was saved."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModel

    from arbgraph.checkpoint import Base, CheckpointConfig, save_checkpoint
    from arbgraph.models import weights_sha256
    from arbgraph.verifier.model import RelationModel, SegmentHead

    torch.manual_seed(seed)
    encoder = get_peft_model(AutoModel.from_pretrained(base), LoraConfig(r=4, target_modules=["query", "value"]))
    with torch.no_grad():
        for name, parameter in encoder.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.5)
    model = RelationModel(encoder, SegmentHead(32)).eval()
    config = CheckpointConfig(
        kind="RelationVerifier",
        base=Base(name=str(base), sha256=weights_sha256(base)),
        id2label=id2label or {0: "support", 1: "contradict", 2: "neutral"},
        max_tokens=max_tokens,
        settings={"head": "segment", "dropout": 0.1},
        calibration={
            "directed": {"temperature": 1.5, "bias": {"support": 0.1, "contradict": -0.2, "neutral": 0.0}},
            "combined": {"temperature": 0.8, "bias": {"support": -0.3, "contradict": 0.2, "neutral": 0.0}},
        },
    )
    save_checkpoint(folder, config, head=model.head.state_dict(), adapted=encoder, card="# card\n", metrics={"n": 1}, training={"lr": 0.1})
    return model


def build_classifier(folder: Path, order: tuple[str, ...], architecture: str = "bert"):
    """A random pair classifier whose logits have the labels of `order`; returns it and its tokenizer."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    build_tiny_base(folder, architecture=architecture)
    if architecture == "roberta":  # reads no token types, and puts two separators between the texts
        _lay_out_as_roberta(folder)
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=3, id2label=dict(enumerate(order))).eval()
    model.save_pretrained(folder)
    return model, AutoTokenizer.from_pretrained(folder)


def _lay_out_as_roberta(folder: Path) -> None:
    for name in ("tokenizer_config.json", "tokenizer.json"):
        values = json.loads((folder / name).read_text(encoding="utf-8"))
        if name == "tokenizer.json":
            ids = values["added_tokens"]
            special = {token["content"]: token["id"] for token in ids if token["content"] in ("[CLS]", "[SEP]")}
            values["post_processor"] = {
                "type": "RobertaProcessing",
                "sep": ["[SEP]", special["[SEP]"]],
                "cls": ["[CLS]", special["[CLS]"]],
                "trim_offsets": True,
                "add_prefix_space": False,
            }
        else:
            values |= {"model_input_names": ["input_ids", "attention_mask"], "tokenizer_class": "PreTrainedTokenizerFast"}
        (folder / name).write_text(json.dumps(values), encoding="utf-8")


@pytest.fixture(scope="session")
def tiny_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_tiny_base(tmp_path_factory.mktemp("base") / "tiny")


@pytest.fixture(scope="session")
def tiny_checkpoint(tmp_path_factory: pytest.TempPathFactory, tiny_base: Path) -> Path:
    folder = tmp_path_factory.mktemp("checkpoint") / "tiny-verifier"
    build_checkpoint(folder, tiny_base)
    return folder


PAIRS = [
    ("The tower is 300 metres tall.", "The tower is 200 metres tall."),
    ("A man plays the guitar on a stage in front of a large crowd.", "A man makes music."),
    ("Lima is the capital of Peru.", "Cats sleep most of the day, and dogs do not."),
    ("It rained.", "The meeting was held in 2011."),
    ("It rained.", "It rained."),
]
