from __future__ import annotations

from pathlib import Path

import pytest
from torch import nn
from transformers import AutoModel

from train.lora import LoraSettings, adapt, parameter_rows, resolve_targets


@pytest.fixture
def encoder(tiny_base: Path) -> nn.Module:
    return AutoModel.from_pretrained(tiny_base)


def test_auto_is_every_linear_layer_the_states_depend_on(encoder: nn.Module) -> None:
    names = resolve_targets(encoder, "auto")
    assert len(names) == 2 * 6
    assert "encoder.layer.1.intermediate.dense" in names
    assert not any("pooler" in name for name in names)


def test_names_match_by_their_last_parts(encoder: nn.Module) -> None:
    assert resolve_targets(encoder, ["self.query"]) == [f"encoder.layer.{layer}.attention.self.query" for layer in (0, 1)]
    assert resolve_targets(encoder, "key") == [f"encoder.layer.{layer}.attention.self.key" for layer in (0, 1)]


def test_a_name_that_matches_nothing_lists_candidates(encoder: nn.Module) -> None:
    with pytest.raises(ValueError, match=r"'q_proj' matches no linear layer; candidates end in dense, key, query, value"):
        resolve_targets(encoder, ["query", "q_proj"])


def test_adapt_freezes_the_base_and_refuses_a_second_time(encoder: nn.Module) -> None:
    adapted = adapt(encoder, LoraSettings(r=2))
    trained = {name for name, parameter in adapted.named_parameters() if parameter.requires_grad}
    assert trained
    assert all("lora_" in name for name in trained)
    assert sum("lora_A" in name for name in trained) == 12
    with pytest.raises(ValueError, match="already carries an adapter"):
        adapt(adapted, LoraSettings())


def test_parameter_table(encoder: nn.Module) -> None:
    model = nn.ModuleDict({"encoder": adapt(encoder, LoraSettings(r=2, targets=["query"])), "head": nn.Linear(32, 3)})
    saved = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    rows = {row["part"]: row for row in parameter_rows(model, saved)}
    assert rows["encoder adapter"] == {"part": "encoder adapter", "trained": 2 * 2 * 64, "frozen": 0, "saved": 256}
    assert rows["encoder"]["trained"] == rows["encoder"]["saved"] == 0
    assert rows["encoder"]["frozen"] > 900_000
    assert rows["head"] == {"part": "head", "trained": 99, "frozen": 0, "saved": 99}
