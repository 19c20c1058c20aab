from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbgraph.schema import RelationLabel
from arbgraph.verifier.pairs import LabelledPair
from train.data.pairs import BucketSampler, Mix, PairDataset, PairSource, build_mix, length_order, pair_key


def write(root: Path, name: str, rows: list[tuple[str, str, str]]) -> None:
    (root / name).parent.mkdir(exist_ok=True)
    lines = (json.dumps({"premise": a, "hypothesis": b, "label": label}) for a, b, label in rows)
    (root / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def mix_of(rows: int, source: list[int] | None = None) -> Mix:
    labels = list(RelationLabel)
    return Mix([LabelledPair(f"a{row}", "b", labels[row % 3]) for row in range(rows)], source or [0] * rows)


def sampler_of(mix: Mix, **options) -> BucketSampler:
    defaults = {"weights": [1.0], "batch_size": 4, "window": 2}
    return BucketSampler(mix, [row * 7 % 11 for row in range(len(mix.pairs))], **{**defaults, **options})


def test_drops_are_counted_by_reason(tmp_path: Path) -> None:
    write(tmp_path, "one/train.jsonl", [("a", "b", "support"), ("a", "b", "support"), ("c", "d", "neutral"), ("e", "f", "support")])
    write(tmp_path, "two/train.jsonl", [("a", "b", "support"), ("e", "f", "neutral"), ("D ", "C", "neutral"), ("f", "e", "neutral")])
    mix = build_mix([PairSource("one/train.jsonl", licence="CC0"), PairSource("two/train.jsonl")], tmp_path, {("c", "d")})
    counts = [{key: row[key] for key in ("name", "read", "leaked", "conflicting", "duplicate", "kept")} for row in mix.counts]
    # (c, d) and (D, C) are held out in either order; (e, f) has two labels, its reverse only one.
    assert counts == [
        {"name": "one", "read": 4, "leaked": 1, "conflicting": 1, "duplicate": 1, "kept": 1},
        {"name": "two", "read": 4, "leaked": 1, "conflicting": 1, "duplicate": 1, "kept": 1},
    ]
    assert [(pair.a, pair.b) for pair in mix.pairs] == [("a", "b"), ("f", "e")]
    assert mix.source == [0, 1]
    assert [row["licence"] for row in mix.counts] == ["CC0", "not stated"]


def test_key_ignores_order_case_and_spacing() -> None:
    assert pair_key(LabelledPair("A  b", "C", RelationLabel.NEUTRAL)) == pair_key(LabelledPair("c", "a B", RelationLabel.SUPPORT))


def test_caps_are_nested(tmp_path: Path) -> None:
    write(tmp_path, "one/train.jsonl", [(f"a{row}", "b", "support") for row in range(30)])
    small, large = (set(PairSource("one/train.jsonl", cap=cap).read(tmp_path)) for cap in (5, 12))
    assert len(small) == 5
    assert len(large) == 12
    assert small < large


def test_what_a_label_says_backwards() -> None:
    def allowed(label: str, **options) -> list[bool]:
        source = PairSource("x/train.jsonl", **{key: value for key, value in options.items() if key != "equivalent"})
        return source.allowed_backwards(LabelledPair("a", "b", RelationLabel(label), equivalent=options.get("equivalent", False)))

    assert allowed("contradict") == [False, True, False]
    assert allowed("support") == [True, False, True]
    assert allowed("support", equivalent=True) == [True, False, False]
    assert allowed("neutral") == [True, False, True]
    assert allowed("neutral", reversible=["contradict", "neutral"]) == [False, False, True]
    assert allowed("support", undirected=True) == [True, False, False]


def test_items_read_backwards() -> None:
    dataset = PairDataset([LabelledPair("a", "b", RelationLabel.SUPPORT)], [[True, False, True]])
    assert dataset[0, False] == {"texts": ("a", "b"), "allowed": [True, False, False], "row": 0}
    assert dataset[0, True] == {"texts": ("b", "a"), "allowed": [True, False, True], "row": 0}
    with pytest.raises(ValueError, match="forwards only"):
        PairDataset(dataset.pairs)[0, True]


@settings(deadline=None)
@given(st.integers(1, 60), st.integers(1, 7), st.integers(0, 5), st.integers(0, 3))
def test_every_pair_once_per_epoch(rows: int, batch_size: int, seed: int, epoch: int) -> None:
    sampler = sampler_of(mix_of(rows), batch_size=batch_size, seed=seed)
    batches = sampler.plan(epoch)
    assert len(batches) == len(sampler)
    assert sorted(row for batch in batches for row, _ in batch) == list(range(rows))
    assert batches == sampler_of(mix_of(rows), batch_size=batch_size, seed=seed).plan(epoch)


def test_epochs_and_seeds_differ() -> None:
    mix = mix_of(40)
    assert sampler_of(mix).plan(0) != sampler_of(mix).plan(1)
    assert sampler_of(mix).plan(0) != sampler_of(mix, seed=1).plan(0)


def test_batches_hold_similar_lengths() -> None:
    mix = mix_of(64)
    lengths = [row * 37 % 64 for row in range(64)]
    batches = BucketSampler(mix, lengths, weights=[1.0], batch_size=8, window=8).plan(0)
    assert all(max(lengths[row] for row, _ in batch) - min(lengths[row] for row, _ in batch) == 7 for batch in batches)


def test_weights_set_how_often_a_source_is_seen() -> None:
    mix = mix_of(30, source=[0] * 20 + [1] * 10)
    sampler = sampler_of(mix, weights=[0.5, 2.0])
    seen = Counter(row for batch in sampler.plan(0) for row, _ in batch)
    assert sum(seen[row] for row in range(20)) == 10
    assert all(seen[row] == 2 for row in range(20, 30))
    assert sampler.pairs_per_epoch == 30


def test_swaps_follow_the_label() -> None:
    mix = mix_of(300)
    swapped = {row for batch in sampler_of(mix, swap=[0.0, 0.5, 1.0]).plan(0) for row, swap in batch if swap}
    by_label = Counter(mix.pairs[row].label for row in swapped)
    assert by_label["support"] == 0
    assert 30 < by_label["contradict"] < 70
    assert by_label["neutral"] == 100


def test_an_interrupted_epoch_continues() -> None:
    mix = mix_of(30)
    whole = list(sampler_of(mix))
    interrupted, resumed = sampler_of(mix), sampler_of(mix)
    iterator = iter(interrupted)
    first = [next(iterator) for _ in range(3)]
    resumed.position = interrupted.position
    assert first + list(resumed) == whole
    assert resumed.position == 0


def test_evaluation_order_covers_all_rows() -> None:
    assert length_order([3, 9, 5, 9], 2) == [[(1, False), (3, False)], [(2, False), (0, False)]]


def test_bad_weight() -> None:
    with pytest.raises(ValueError, match="must be above 0"):
        PairSource("x/train.jsonl", weight=0)
