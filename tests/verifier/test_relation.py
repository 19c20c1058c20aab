from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import pytest
import torch

from arbgraph.checkpoint import CheckpointError, load_checkpoint
from arbgraph.verifier import RelationVerifier
from arbgraph.verifier.calibration import combine_orders
from arbgraph.verifier.model import SegmentHead
from arbgraph.verifier.relation import load_model
from arbgraph.verifier.tokens import PairTokenizer
from tests.verifier.conftest import PAIRS, build_checkpoint, build_classifier, build_tiny_base


@pytest.fixture
def verifier(tiny_checkpoint: Path) -> RelationVerifier:
    return RelationVerifier.load(tiny_checkpoint)


def test_reload_gives_bit_equal_logits(tmp_path: Path, tiny_base: Path) -> None:
    saved = build_checkpoint(tmp_path / "c", tiny_base, seed=3)
    loaded, tokenizer = load_model(load_checkpoint(tmp_path / "c", kind="RelationVerifier"))
    batch = tokenizer.batch(tokenizer.encode(PAIRS), range(len(PAIRS)))
    with torch.inference_mode():
        assert torch.equal(saved(batch), loaded(batch))
    torch.testing.assert_close(RelationVerifier.load(tmp_path / "c").logits(PAIRS), saved(batch).detach(), atol=1e-5, rtol=1e-5)


def test_two_loads_agree_exactly(tiny_checkpoint: Path, verifier: RelationVerifier) -> None:
    assert torch.equal(verifier.relate(PAIRS), RelationVerifier.load(tiny_checkpoint).relate(PAIRS))


def test_the_adapter_matters(tmp_path: Path, tiny_base: Path) -> None:
    model = build_checkpoint(tmp_path / "c", tiny_base)
    verifier = RelationVerifier.load(tmp_path / "c")
    with model.encoder.disable_adapter(), torch.inference_mode():  # pyright: ignore
        bare = model(verifier.tokenizer.batch(verifier.tokenizer.encode(PAIRS), range(len(PAIRS))))
    assert not torch.allclose(verifier.logits(PAIRS), bare, atol=1e-3)


def test_swapping_is_exact(verifier: RelationVerifier) -> None:
    swapped = [(b, a) for a, b in PAIRS]
    assert torch.equal(verifier.relate(PAIRS), verifier.relate(swapped))
    mixed = [pair if row % 2 else (pair[1], pair[0]) for row, pair in enumerate(PAIRS)]
    assert torch.equal(verifier.relate(PAIRS), verifier.relate(mixed))
    assert not torch.allclose(verifier.directed(PAIRS), verifier.directed(swapped), atol=1e-4)


def test_relate_combines_both_calibrated_orders(verifier: RelationVerifier) -> None:
    forward = verifier.log_probabilities(PAIRS)
    backward = verifier.log_probabilities([(b, a) for a, b in PAIRS])
    combined = (combine_orders(forward, backward) / 0.8 + torch.tensor([-0.3, 0.2, 0.0])).softmax(-1)
    torch.testing.assert_close(verifier.relate(PAIRS), combined.float(), atol=1e-5, rtol=0)
    bias = torch.tensor([0.1, -0.2, 0.0])
    torch.testing.assert_close(verifier.directed(PAIRS), (verifier.logits(PAIRS) / 1.5 + bias).softmax(-1))


def test_shapes_and_sums(verifier: RelationVerifier) -> None:
    for probabilities in (verifier.relate(PAIRS), verifier.directed(PAIRS)):
        assert probabilities.dtype == torch.float32
        assert probabilities.shape == (len(PAIRS), 3)
        torch.testing.assert_close(probabilities.sum(-1), torch.ones(len(PAIRS)))
    assert verifier.relate([]).shape == (0, 3)
    assert verifier.directed([]).shape == (0, 3)


@pytest.mark.parametrize("batch_size", [1, 2, 64])
def test_batch_size_does_not_matter(tiny_checkpoint: Path, verifier: RelationVerifier, batch_size: int) -> None:
    other = RelationVerifier.load(tiny_checkpoint, batch_size=batch_size)
    torch.testing.assert_close(other.relate(PAIRS), verifier.relate(PAIRS), atol=1e-5, rtol=0)


def test_equal_pairs_get_equal_rows(verifier: RelationVerifier) -> None:
    rows = verifier.relate([PAIRS[0], PAIRS[1], PAIRS[0]])
    assert torch.equal(rows[0], rows[2])
    assert not torch.equal(rows[0], rows[1])


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_label_order_is_data(tmp_path: Path, tiny_base: Path, verifier: RelationVerifier, order: tuple[int, ...]) -> None:
    names = ["entailment", "refutes", "not enough info"]
    build_checkpoint(tmp_path / "c", tiny_base, id2label={position: names[label] for position, label in enumerate(order)})
    permuted = RelationVerifier.load(tmp_path / "c")
    # Same head, other names: the project's column `label` is the raw column that carries its name.
    raw = verifier.logits(PAIRS)
    assert torch.equal(permuted.logits(PAIRS), raw[:, [order.index(label) for label in range(3)]])


@pytest.mark.parametrize(
    "id2label", [{0: "support", 1: "contradict"}, {0: "a", 1: "b", 2: "c"}, {0: "support", 1: "entailment", 2: "neutral"}]
)
def test_bad_label_maps_name_the_checkpoint(tmp_path: Path, tiny_base: Path, id2label: dict[int, str]) -> None:
    build_checkpoint(tmp_path / "broken-map", tiny_base, id2label=id2label)
    with pytest.raises(CheckpointError, match="broken-map"):
        RelationVerifier.load(tmp_path / "broken-map")


def test_truncation_is_counted_and_cuts_the_longer_text(verifier: RelationVerifier) -> None:
    long = "word " * 100
    assert verifier.truncated == 0
    short_first = verifier.logits([("A short claim.", long), PAIRS[0]])
    assert verifier.truncated == 1
    assert torch.equal(short_first, verifier.logits([("A short claim.", long + " and an end that is cut off"), PAIRS[0]]))
    encoded = verifier.tokenizer.encode([("A short claim.", long)])
    assert encoded.lengths == [32]
    assert encoded.kept[0].tolist() == [4, 25]


@pytest.mark.parametrize("pair", [("", "B."), ("A.", "  ")])
def test_empty_text(verifier: RelationVerifier, pair: tuple[str, str]) -> None:
    for read in (verifier.relate, verifier.directed):
        with pytest.raises(ValueError, match="is empty"):
            read([pair])


def test_bf16_is_close(tiny_checkpoint: Path, verifier: RelationVerifier) -> None:
    fast = RelationVerifier.load(tiny_checkpoint, precision="bf16")
    torch.testing.assert_close(fast.relate(PAIRS), verifier.relate(PAIRS), atol=0.05, rtol=0)
    with pytest.raises(ValueError, match="fp32 or bf16"):
        RelationVerifier.load(tiny_checkpoint, precision="int8")  # pyright: ignore


def test_other_base_is_refused(tmp_path: Path, tiny_checkpoint: Path, tiny_base: Path) -> None:
    other = build_tiny_base(tmp_path / "other", seed=1)
    with pytest.raises(CheckpointError, match="give the base that it was trained on"):
        RelationVerifier.load(tiny_checkpoint, base=str(other))
    moved = shutil.copytree(tiny_base, tmp_path / "moved")
    relocated = RelationVerifier.load(tiny_checkpoint, base=str(moved))
    assert torch.equal(relocated.relate(PAIRS), RelationVerifier.load(tiny_checkpoint).relate(PAIRS))


def test_other_features_are_refused(tmp_path: Path, tiny_checkpoint: Path) -> None:
    folder = shutil.copytree(tiny_checkpoint, tmp_path / "c")
    text = (folder / "config.json").read_text(encoding="utf-8")
    (folder / "config.json").write_text(text.replace('"features": []', '"features": ["no_such_feature"]'), encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"other comparison features.*no_such_feature"):
        RelationVerifier.load(folder)


def test_describe(verifier: RelationVerifier, tiny_base: Path) -> None:
    described = verifier.describe()
    assert described["name"] == "tiny-verifier"
    assert described["base"] == str(tiny_base)
    assert described["labels"] == ["support", "contradict", "neutral"]
    assert described["calibration"]["directed"]["temperature"] == 1.5
    assert set(described["sha256"]) == {"head.safetensors", "adapter_model.safetensors", "adapter_config.json"}


def test_models_without_token_types(tmp_path: Path) -> None:
    base = build_tiny_base(tmp_path / "roberta", architecture="roberta")
    config = (base / "tokenizer_config.json").read_text(encoding="utf-8")
    (base / "tokenizer_config.json").write_text(
        config.replace("{", '{"model_input_names": ["input_ids", "attention_mask"], ', 1), encoding="utf-8"
    )
    build_checkpoint(tmp_path / "c", base)
    verifier = RelationVerifier.load(tmp_path / "c")
    assert "token_type_ids" not in verifier.tokenizer.inputs
    assert not torch.allclose(verifier.directed(PAIRS), verifier.directed([(b, a) for a, b in PAIRS]), atol=1e-5)


@pytest.mark.parametrize("architecture", ["bert", "roberta"])
@pytest.mark.parametrize("order", list(itertools.permutations(["entailment", "contradiction", "neutral"])))
def test_ready_classifier(tmp_path: Path, order: tuple[str, ...], architecture: str) -> None:
    model, tokenizer = build_classifier(tmp_path / "nli", order, architecture)
    verifier = RelationVerifier.load(tmp_path / "nli")
    assert ("token_type_ids" in verifier.tokenizer.inputs) == (architecture == "bert")
    with torch.inference_mode():
        raw = model(**tokenizer(*map(list, zip(*PAIRS, strict=True)), padding=True, return_tensors="pt")).logits
    columns = [order.index(name) for name in ("entailment", "contradiction", "neutral")]
    torch.testing.assert_close(verifier.logits(PAIRS), raw[:, columns], atol=1e-5, rtol=0)
    assert torch.equal(verifier.relate(PAIRS), verifier.relate([(b, a) for a, b in PAIRS]))


def test_pickled_classifier_is_refused(tmp_path: Path, tiny_base: Path) -> None:
    from transformers import AutoModelForSequenceClassification

    model = AutoModelForSequenceClassification.from_pretrained(tiny_base, num_labels=3)
    model.config.architectures = ["BertForSequenceClassification"]
    model.config.save_pretrained(tmp_path / "nli")
    torch.save(model.state_dict(), tmp_path / "nli" / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match="pickled weights are never read"):
        RelationVerifier.load(tmp_path / "nli")


def test_segment_head_by_hand() -> None:
    head = SegmentHead(2, dropout=0.0).eval()
    states = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0], [9.0, 9.0]]])
    segments = torch.tensor([[-1, 0, 0, 1, -1]])
    # first token, mean of rows 1 and 2, row 3, their absolute difference, their product
    joint = torch.tensor([[1.0, 2.0, 4.0, 5.0, 7.0, 8.0, 3.0, 3.0, 28.0, 40.0]])
    expected = head.classify(torch.nn.functional.gelu(head.mix(head.norm(joint))))
    torch.testing.assert_close(head(states, segments), expected)


def test_segment_head_features() -> None:
    torch.manual_seed(0)
    head = SegmentHead(2, features=3).eval()
    sample = torch.tensor([[0.0, 1.0, 5.0], [2.0, 1.0, 7.0]])
    head.standardise(sample)
    assert head.feature_mean.tolist() == [1.0, 1.0, 6.0]
    assert head.feature_scale.tolist() == [1.0, 1.0, 1.0]
    states, segments = torch.randn(2, 4, 2), torch.tensor([[-1, 0, 1, -1]]).expand(2, 4)
    with pytest.raises(ValueError, match="none were given"):
        head(states, segments)
    assert not torch.equal(head(states, segments, sample), head(states, segments, sample.flip(0)))


def test_left_padding_keeps_segments(tiny_base: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny_base, padding_side="left")
    pairs = PairTokenizer(tokenizer, 32)
    batch = pairs.batch(pairs.encode(PAIRS), range(len(PAIRS)))
    real = batch["attention_mask"].bool()
    assert (batch["segments"][~real] == -1).all()
    # BERT's token types mark the second text too, plus its closing separator.
    assert torch.equal((batch["segments"] == 1), (batch["token_type_ids"] == 1) & (batch["input_ids"] != tokenizer.sep_token_id))


def test_older_calibration_blocks_load(tiny_checkpoint: Path, verifier: RelationVerifier) -> None:
    assert set(load_checkpoint(tiny_checkpoint, kind="RelationVerifier").config.calibration or {}) == {"directed", "combined"}
    assert verifier.calibration.spread == (1.0, 0.0, 0.0)
    assert verifier.describe()["calibration"]["decision"] is None


def test_a_malformed_calibration_names_the_checkpoint(tmp_path: Path, tiny_checkpoint: Path) -> None:
    folder = shutil.copytree(tiny_checkpoint, tmp_path / "broken-block")
    text = (folder / "config.json").read_text(encoding="utf-8")
    (folder / "config.json").write_text(text.replace('"temperature": 1.5', '"heat": 1.5'), encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"broken-block: calibration: missing or malformed entry.*temperature"):
        RelationVerifier.load(folder)
