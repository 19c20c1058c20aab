"""Pairs for training the verifier: mixing sources, dropping duplicates and leaks, batching by length."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lightning as L
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from arbgraph.models import resolve_model
from arbgraph.schema import RELATION_LABELS, RelationLabel
from arbgraph.verifier.backbone import load_tokenizer
from arbgraph.verifier.pairs import LabelledPair
from arbgraph.verifier.tokens import EncodedPairs, PairTokenizer
from train.console import say, show_rows
from train.data.sources import PairSource


def pair_key(pair: LabelledPair) -> tuple[str, str]:
    """A pair regardless of order, case and spacing: two rows with one key hold the same two texts."""
    a, b = (" ".join(text.lower().split()) for text in (pair.a, pair.b))
    return (min(a, b), max(a, b))


@dataclass
class Mix:
    """A training mix: the pairs, which source each came from, their labels backwards, and what was dropped on the way, per source."""

    pairs: list[LabelledPair] = field(default_factory=list)
    source: list[int] = field(default_factory=list)
    backwards: list[list[bool]] = field(default_factory=list)
    counts: list[dict[str, Any]] = field(default_factory=list)

    @property
    def labels(self) -> Tensor:
        """`[N]` long, in column order."""
        return label_tensor(self.pairs)


def build_mix(sources: Sequence[PairSource], root: str | Path, held_out: set[tuple[str, str]], *, offline: bool = True) -> Mix:
    """Reads all sources; drops pairs that are held out, repeated, or labelled in two ways, and counts each kind per source.

    Args:
        sources: the sets; of a repeated pair the first is kept.
        root: data root.
        held_out: keys (`pair_key`) of every dev and test pair.
        offline: never touch the network.
    """
    read = [source.read(root, offline=offline) for source in sources]
    # The ordered texts decide here: a pair and its reverse may rightly differ in label.
    labels: dict[tuple[str, str], set[RelationLabel]] = {}
    for pairs in read:
        for pair in pairs:
            labels.setdefault((pair.a, pair.b), set()).add(pair.label)
    mix, seen = Mix(), set()
    for number, (source, pairs) in enumerate(zip(sources, read, strict=True)):
        count = Counter(leaked=0, conflicting=0, duplicate=0)
        kept: Counter[str] = Counter()
        for pair in pairs:
            texts = (pair.a, pair.b)
            if pair_key(pair) in held_out:
                count["leaked"] += 1
            elif len(labels[texts]) > 1:
                count["conflicting"] += 1
            elif texts in seen:
                count["duplicate"] += 1
            else:
                seen.add(texts)
                kept[pair.label.value] += 1
                mix.pairs.append(pair)
                mix.source.append(number)
                mix.backwards.append(source.allowed_backwards(pair))
        row = {
            "name": source.name,
            "licence": source.licence,
            "read": len(pairs),
            "unlabelled": source.dropped,
            **count,
            "kept": kept.total(),
        }
        mix.counts.append(row | {label: kept[label] for label in RELATION_LABELS} | {"weight": source.weight})
    return mix


class PairDataset(Dataset[dict[str, Any]]):
    """Items are addressed by `(row, swapped)`, so the sampler decides the reading order and a resumed epoch repeats it.

    `allowed` is a `[3]` mask of the labels that the item may have: its own, or what `backwards` says when swapped. A key
    `(row, None)` is a filler, for a process without a pair of its own in a batch: it allows no label and weighs nothing.
    """

    def __init__(self, pairs: Sequence[LabelledPair], backwards: Sequence[list[bool]] | None = None) -> None:
        self.pairs, self.backwards = pairs, backwards

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, key: tuple[int, bool | None]) -> dict[str, Any]:
        row, swapped = key
        pair = self.pairs[row]
        if swapped is None:
            return {"texts": (pair.a, pair.b), "allowed": [False] * len(RELATION_LABELS), "row": row}
        if not swapped:
            return {"texts": (pair.a, pair.b), "allowed": [name == pair.label for name in RELATION_LABELS], "row": row}
        if self.backwards is None:
            raise ValueError("these pairs are read forwards only")
        return {"texts": (pair.b, pair.a), "allowed": self.backwards[row], "row": row}


class PairCollator:
    """Items -> padded batch for `RelationModel`, with `allowed` `[B, 3]` and `row` `[B]`; comparison features where asked.

    Features are kept once computed: rules over two texts cost a tenth of a training step, and dev pairs come again and again.
    """

    def __init__(self, tokenizer: PairTokenizer, *, comparison: bool) -> None:
        self.tokenizer, self.comparison = tokenizer, comparison
        self._features: dict[tuple[str, str], Tensor] = {}

    def __call__(self, items: Sequence[dict[str, Any]]) -> dict[str, Tensor]:
        texts = [item["texts"] for item in items]
        encoded: EncodedPairs = self.tokenizer.encode(texts)
        batch = self.tokenizer.batch(encoded, range(len(texts)))
        if self.comparison:
            from arbgraph.comparison import comparison_features

            new = [pair for pair in dict.fromkeys(texts) if pair not in self._features]
            self._features.update(zip(new, comparison_features(new), strict=True))
            batch["features"] = torch.stack([self._features[pair] for pair in texts])
        batch["allowed"] = torch.tensor([item["allowed"] for item in items])
        batch["row"] = torch.tensor([item["row"] for item in items])
        return batch


Keys = list[tuple[int, bool | None]]


class BucketSampler(Sampler[Keys]):
    """Batches of similar length: shuffle, sort by length inside windows, shuffle the batches. Padding is what costs on a CPU.

    The plan of an epoch is a function of seed and epoch alone, and `position` makes an interrupted epoch continue where it was.
    Several processes walk through one plan, each taking its share of every batch, so that together they take the steps
    that one process would take.

    Args:
        mix: pairs with their sources.
        lengths: tokens per pair.
        weights: by source, how often a pair is seen per epoch.
        batch_size: pairs per batch, of all processes together.
        swap: by label in column order, the chance that a pair is read backwards.
        window: batches per sorting window.
        seed: of everything random here.
        rank, processes: which of how many processes this one is.
    """

    def __init__(
        self,
        mix: Mix,
        lengths: Sequence[int],
        *,
        weights: Sequence[float],
        batch_size: int,
        swap: Sequence[float] = (0.0, 0.0, 0.0),
        window: int = 20,
        seed: int = 0,
        rank: int = 0,
        processes: int = 1,
    ) -> None:
        self.rank, self.processes = rank, processes
        self.lengths, self.batch_size, self.window, self.seed = torch.tensor(lengths), batch_size, window, seed
        self.swap_chance = torch.tensor([swap[label] for label in mix.labels.tolist()])
        source = torch.tensor(mix.source)
        self.groups = [(source == number).nonzero().flatten() for number in range(len(weights))]
        self.weights = list(weights)
        self.epoch, self.position = 0, 0

    def __len__(self) -> int:
        return math.ceil(self.pairs_per_epoch / self.batch_size)

    @property
    def pairs_per_epoch(self) -> int:
        """Pairs drawn in one epoch, after weighting."""
        return sum(round(weight * len(rows)) for weight, rows in zip(self.weights, self.groups, strict=True))

    def set_epoch(self, epoch: int) -> None:
        """Says which epoch `__iter__` walks through next."""
        self.epoch = epoch

    def plan(self, epoch: int) -> list[Keys]:
        """All batches of an epoch, in order, of all processes together."""
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + epoch)
        drawn = []
        for weight, rows in zip(self.weights, self.groups, strict=True):
            copies = math.ceil(weight)
            shuffled = torch.cat([rows[torch.randperm(len(rows), generator=generator)] for _ in range(copies)])
            drawn.append(shuffled[: round(weight * len(rows))])
        rows = torch.cat(drawn)
        rows = rows[torch.randperm(len(rows), generator=generator)]
        swapped = torch.rand(len(rows), generator=generator) < self.swap_chance[rows]
        batches: list[Keys] = []
        for start in range(0, len(rows), self.window * self.batch_size):
            block = slice(start, start + self.window * self.batch_size)
            order = self.lengths[rows[block]].argsort(stable=True)
            ordered = list(zip(rows[block][order].tolist(), swapped[block][order].tolist(), strict=True))
            batches += [ordered[first : first + self.batch_size] for first in range(0, len(ordered), self.batch_size)]
        return [batches[number] for number in torch.randperm(len(batches), generator=generator).tolist()]

    def __iter__(self) -> Iterator[Keys]:
        start, batches = self.position, self.plan(self.epoch)
        for number, batch in enumerate(batches[start:], start=start + 1):
            self.position = number % len(batches)
            yield share(batch, self.rank, self.processes)


def share(batch: Keys, rank: int, processes: int) -> Keys:
    """The part of a batch that one process takes: every `processes`-th pair, or a filler where the batch is smaller than that."""
    return batch[rank::processes] or [(batch[0][0], None)]


def quiet_loader(dataset: PairDataset, batches: Any, collate: PairCollator) -> DataLoader:
    """A loader with its own generator: drawing from the global one at every epoch would make a resumed run differ from a whole one."""
    return DataLoader(dataset, batch_sampler=batches, collate_fn=collate, generator=torch.Generator())


def length_order(lengths: Sequence[int], batch_size: int) -> list[Keys]:
    """Every row once, unswapped, longest first: the batches of an evaluation."""
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    return [[(row, False) for row in order[start : start + batch_size]] for start in range(0, len(order), batch_size)]


class VerifierData(L.LightningDataModule):
    """The training mix, the dev sets, and the pairs that must not be trained on.

    Args:
        train: sets of the mix; `fit` needs them.
        dev: sets that choose the checkpoint and calibrate it.
        test: sets that the `test` command scores. Their pairs are never trained on.
        held_out: more sets (files, or sources as above) whose pairs are removed from the mix, in either order.
        root: folder that all paths are relative to.
        offline: read hub datasets from folders and the local cache only.
        batch_size: pairs per training batch and process.
        eval_batch_size: pairs per dev batch.
        window: batches per length-sorting window.
        swap: chance that a training pair is read backwards, by label (support, contradict, neutral); what its label then says
            is the source's `reversible`.
        seed: of mixing, order and swaps.
        base, max_tokens, comparison: taken from the model.
    """

    def __init__(
        self,
        train: list[PairSource] | None = None,
        dev: list[PairSource] | None = None,
        test: list[PairSource] | None = None,
        held_out: list[str | PairSource] | None = None,
        root: str = "data",
        offline: bool = True,
        batch_size: int = 32,
        eval_batch_size: int = 64,
        window: int = 20,
        swap: list[float] | None = None,
        seed: int = 0,
        base: str = "sentence-transformers/all-MiniLM-L6-v2",
        max_tokens: int = 96,
        comparison: bool = False,
    ) -> None:
        super().__init__()
        self.train, self.dev, self.test, self.root, self.offline = train or [], dev or [], test or [], root, offline
        self.held_out = [PairSource(source) if isinstance(source, str) else source for source in held_out or []]
        self.batch_size, self.eval_batch_size, self.window, self.seed = batch_size, eval_batch_size, window, seed
        self.swap = swap or [0.2, 0.5, 0.5]
        if len(self.swap) != 3 or not all(0 <= chance <= 1 for chance in self.swap):
            raise ValueError(f"swap {self.swap}: give three chances in [0, 1]: support, contradict, neutral")
        self.base, self.max_tokens, self.comparison = base, max_tokens, comparison
        self.mix = Mix()
        self.dev_pairs: list[list[LabelledPair]] = []
        self.test_pairs: list[list[LabelledPair]] = []

    def setup(self, stage: str | None = None) -> None:
        """Reads what the stage needs, once, and reports what was dropped. Raises ValueError when the stage has no sets."""
        stage = None if stage is None else str(getattr(stage, "value", stage))
        needed = {"fit": ("train", "dev"), "validate": ("dev",), "test": ("test",)}.get(stage or "", ())
        for kind in needed:
            if not getattr(self, kind):
                raise ValueError(f"{stage} needs data.{kind}: give at least one set")
        if not hasattr(self, "collator"):
            resolved = resolve_model(self.base, offline=self.offline)
            self.tokenizer = PairTokenizer(load_tokenizer(resolved), self.max_tokens)
            self.collator = PairCollator(self.tokenizer, comparison=self.comparison)
        if not self.dev_pairs and stage != "test":
            self.dev_pairs = [self._read(source) for source in self.dev]
            self._report_missing_labels()
        if not self.test_pairs and stage in ("fit", "test"):
            self.test_pairs = [self._read(source) for source in self.test]
        if stage == "fit" and not self.mix.pairs:
            held_out = (*self.dev_pairs, *self.test_pairs, *(self._read(source) for source in self.held_out))
            keys = {pair_key(pair) for pairs in held_out for pair in pairs}
            self.mix = build_mix(self.train, self.root, keys, offline=self.offline)
            if not self.mix.pairs:
                raise ValueError(f"the training mix is empty: all pairs were dropped ({self.mix.counts})")
            encoded = self.tokenizer.encode([(pair.a, pair.b) for pair in self.mix.pairs])
            self.lengths, self.truncated = encoded.lengths, int(encoded.truncated.sum())
            show_rows("training mix", self.mix.counts)
            if self.truncated:
                say(f"{self.truncated} of {len(self.mix.pairs)} training pairs are longer than {self.max_tokens} tokens and lose their end")

    def _read(self, source: PairSource) -> list[LabelledPair]:
        return source.read(self.root, offline=self.offline)

    def _report_missing_labels(self) -> None:
        for source, pairs in zip(self.dev, self.dev_pairs, strict=True):
            missing = [name for name in RELATION_LABELS if not any(pair.label == name for pair in pairs)]
            if missing:
                say(f"dev set {source.name} has no {' and no '.join(missing)} pair: its macro-F1 is over the labels it has")

    @property
    def dev_labels(self) -> list[Tensor]:
        """Per dev set, the labels `[N]` in column order."""
        return [label_tensor(pairs) for pairs in self.dev_pairs]

    def label_counts(self) -> Tensor:
        """Pairs per label and epoch, `[3]`, after weighting."""
        weights = torch.tensor([self.train[number].weight for number in self.mix.source])
        return torch.zeros(3).index_add_(0, self.mix.labels, weights)

    @property
    def _place(self) -> tuple[int, int]:
        return (self.trainer.global_rank, self.trainer.world_size) if self.trainer is not None else (0, 1)

    def train_dataloader(self) -> DataLoader:
        rank, processes = self._place
        sampler = BucketSampler(
            self.mix,
            self.lengths,
            weights=[source.weight for source in self.train],
            batch_size=self.batch_size * processes,
            swap=self.swap,
            window=self.window,
            seed=self.seed,
            rank=rank,
            processes=processes,
        )
        return quiet_loader(PairDataset(self.mix.pairs, self.mix.backwards), sampler, self.collator)

    def val_dataloader(self) -> list[DataLoader]:
        return self._loaders(self.dev, self.dev_pairs)

    def test_dataloader(self) -> list[DataLoader]:
        return self._loaders(self.test, self.test_pairs)

    def _loaders(self, sources: Sequence[PairSource], sets: Sequence[list[LabelledPair]]) -> list[DataLoader]:
        loaders = []
        rank, processes = self._place
        for source, pairs in zip(sources, sets, strict=True):
            # An undirected set is read in both orders: the reversed pairs follow the given ones.
            backwards = [LabelledPair(pair.b, pair.a, pair.label) for pair in pairs] if source.undirected else []
            both = [*pairs, *backwards]
            batches = length_order([len(pair.a) + len(pair.b) for pair in both], self.eval_batch_size)
            # Every process takes its share of every batch, so that all make equally many forward passes.
            shares = [share(batch, rank, processes) for batch in batches]
            loaders.append(quiet_loader(PairDataset(both), shares, self.collator))
        return loaders


def label_tensor(pairs: Sequence[LabelledPair]) -> Tensor:
    """The labels of pairs, `[N]` long, in column order."""
    return torch.tensor([RELATION_LABELS.index(pair.label) for pair in pairs])
