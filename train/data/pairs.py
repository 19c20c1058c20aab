"""Pairs for training the verifier: mixing sources, dropping duplicates and leaks, batching by length."""

from __future__ import annotations

import hashlib
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
from arbgraph.verifier.labels import parse_label
from arbgraph.verifier.model import EncodedPairs, PairTokenizer
from arbgraph.verifier.pairs import LabelledPair, read_pairs
from train.console import show_rows


@dataclass
class PairSource:
    """One file of pairs in the mix.

    Args:
        path: `.jsonl`, `.jsonl.gz` or `.parquet`, relative to the data root.
        name: shown in logs and on the card; by default the folder's name.
        weight: how often each pair is seen per epoch; 0.5 draws half of them anew every epoch.
        cap: at most this many pairs, chosen by a hash of the text, so a smaller cap is a subset of a larger one.
        columns: which column holds `a`, `b` and `label`; null finds the usual names.
        licence: of the data, for the card.
        reversible: labels that still hold when a pair is read backwards. Contradiction always does; neutral does where the second
            text is about something else, not where it only says more than the first.
        undirected: all labels hold for both orders, and dev scores are taken after combining them.
        calibrate: whether a dev set takes part in calibration.
    """

    path: str
    name: str = ""
    weight: float = 1.0
    cap: int | None = None
    columns: dict[str, str] | None = None
    licence: str = "not stated"
    reversible: list[str] = field(default_factory=lambda: ["contradict"])
    undirected: bool = False
    calibrate: bool = True

    def __post_init__(self) -> None:
        self.name = self.name or Path(self.path).parent.name or Path(self.path).stem
        if self.weight <= 0:
            raise ValueError(f"{self.path}: weight {self.weight} must be above 0; leave the file out instead")
        self._holds_backwards = set(RelationLabel) if self.undirected else {parse_label(label) for label in self.reversible}

    def allowed_backwards(self, pair: LabelledPair) -> list[bool]:
        """Which labels `[3]` the pair may have when read backwards.

        Where the label need not hold, one thing is still known: the reverse of a support or neutral pair is no contradiction.
        """
        if pair.label in self._holds_backwards or pair.equivalent:
            return [name == pair.label for name in RELATION_LABELS]
        return [name != RelationLabel.CONTRADICT for name in RELATION_LABELS]

    def read(self, root: str | Path) -> list[LabelledPair]:
        """The pairs of the file, cut to `cap`, in file order."""
        pairs = read_pairs(Path(root) / self.path, self.columns)
        if self.cap is None or len(pairs) <= self.cap:
            return pairs
        chosen = sorted(range(len(pairs)), key=lambda row: (_digest(pairs[row]), row))[: self.cap]
        return [pairs[row] for row in sorted(chosen)]


def _digest(pair: LabelledPair) -> str:
    return hashlib.sha256(f"{pair.a}\x1f{pair.b}\x1f{pair.label}".encode()).hexdigest()


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
        return torch.tensor([RELATION_LABELS.index(pair.label) for pair in self.pairs])


def build_mix(sources: Sequence[PairSource], root: str | Path, held_out: set[tuple[str, str]]) -> Mix:
    """Reads all sources; drops pairs that are held out, repeated, or labelled in two ways, and counts each kind per source.

    Args:
        sources: the files; of a repeated pair the first is kept.
        root: data root.
        held_out: keys (`pair_key`) of every dev and test pair.
    """
    read = [source.read(root) for source in sources]
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
        row = {"name": source.name, "licence": source.licence, "read": len(pairs), **count, "kept": kept.total()}
        mix.counts.append(row | {label: kept[label] for label in RELATION_LABELS} | {"weight": source.weight})
    return mix


class PairDataset(Dataset[dict[str, Any]]):
    """Items are addressed by `(row, swapped)`, so the sampler decides the reading order and a resumed epoch repeats it.

    `allowed` is a `[3]` mask of the labels that the item may have: its own, or what `backwards` says when swapped.
    """

    def __init__(self, pairs: Sequence[LabelledPair], backwards: Sequence[list[bool]] | None = None) -> None:
        self.pairs, self.backwards = pairs, backwards

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, key: tuple[int, bool]) -> dict[str, Any]:
        row, swapped = key
        pair = self.pairs[row]
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


class BucketSampler(Sampler[list[tuple[int, bool]]]):
    """Batches of similar length: shuffle, sort by length inside windows, shuffle the batches. Padding is what costs on a CPU.

    The plan of an epoch is a function of seed and epoch alone, and `position` makes an interrupted epoch continue where it was.

    Args:
        mix: pairs with their sources.
        lengths: tokens per pair.
        weights: by source, how often a pair is seen per epoch.
        batch_size: pairs per batch.
        swap: by label in column order, the chance that a pair is read backwards.
        window: batches per sorting window.
        seed: of everything random here.
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
    ) -> None:
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

    def plan(self, epoch: int) -> list[list[tuple[int, bool]]]:
        """All batches of an epoch, in order."""
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + epoch)
        drawn = []
        for weight, rows in zip(self.weights, self.groups, strict=True):
            copies = math.ceil(weight)
            shuffled = torch.cat([rows[torch.randperm(len(rows), generator=generator)] for _ in range(copies)])
            drawn.append(shuffled[: round(weight * len(rows))])
        rows = torch.cat(drawn)
        rows = rows[torch.randperm(len(rows), generator=generator)]
        swapped = torch.rand(len(rows), generator=generator) < self.swap_chance[rows]
        batches: list[list[tuple[int, bool]]] = []
        for start in range(0, len(rows), self.window * self.batch_size):
            block = slice(start, start + self.window * self.batch_size)
            order = self.lengths[rows[block]].argsort(stable=True)
            ordered = list(zip(rows[block][order].tolist(), swapped[block][order].tolist(), strict=True))
            batches += [ordered[first : first + self.batch_size] for first in range(0, len(ordered), self.batch_size)]
        return [batches[number] for number in torch.randperm(len(batches), generator=generator).tolist()]

    def __iter__(self) -> Iterator[list[tuple[int, bool]]]:
        start, batches = self.position, self.plan(self.epoch)
        for number, batch in enumerate(batches[start:], start=start + 1):
            self.position = number % len(batches)
            yield batch


def quiet_loader(dataset: PairDataset, batches: Any, collate: PairCollator) -> DataLoader:
    """A loader with its own generator: drawing from the global one at every epoch would make a resumed run differ from a whole one."""
    return DataLoader(dataset, batch_sampler=batches, collate_fn=collate, generator=torch.Generator())


def length_order(lengths: Sequence[int], batch_size: int) -> list[list[tuple[int, bool]]]:
    """Every row once, unswapped, longest first: the batches of an evaluation."""
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    return [[(row, False) for row in order[start : start + batch_size]] for start in range(0, len(order), batch_size)]


class VerifierData(L.LightningDataModule):
    """The training mix, the dev sets, and the pairs that must not be trained on.

    Args:
        train: files of the mix.
        dev: files that choose the checkpoint and calibrate it.
        held_out: more files (test sets) whose pairs are removed from the mix, in either order.
        root: folder that all paths are relative to.
        batch_size: pairs per training batch.
        eval_batch_size: pairs per dev batch.
        window: batches per length-sorting window.
        swap: chance that a training pair is read backwards, by label (support, contradict, neutral); what its label then says
            is the source's `reversible`.
        seed: of mixing, order and swaps.
        base, max_tokens, comparison: taken from the model.
    """

    def __init__(
        self,
        train: list[PairSource],
        dev: list[PairSource],
        held_out: list[str] | None = None,
        root: str = "data",
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
        self.train, self.dev, self.held_out, self.root = train, dev, held_out or [], root
        self.batch_size, self.eval_batch_size, self.window, self.seed = batch_size, eval_batch_size, window, seed
        self.swap = swap or [0.2, 0.5, 0.5]
        if len(self.swap) != 3 or not all(0 <= chance <= 1 for chance in self.swap):
            raise ValueError(f"swap {self.swap}: give three chances in [0, 1]: support, contradict, neutral")
        self.base, self.max_tokens, self.comparison = base, max_tokens, comparison
        self.mix = Mix()
        self.dev_pairs: list[list[LabelledPair]] = []

    def setup(self, stage: str | None = None) -> None:
        """Reads all files once and reports what was dropped."""
        if self.dev_pairs:
            return
        from transformers import AutoTokenizer

        path = resolve_model(self.base).path
        self.tokenizer = PairTokenizer(AutoTokenizer.from_pretrained(path, local_files_only=True), self.max_tokens)
        self.collator = PairCollator(self.tokenizer, comparison=self.comparison)
        self.dev_pairs = [source.read(self.root) for source in self.dev]
        if stage != "fit":
            return
        keys = {pair_key(pair) for pairs in self.dev_pairs for pair in pairs}
        for path in self.held_out:
            keys |= {pair_key(pair) for pair in PairSource(path).read(self.root)}
        self.mix = build_mix(self.train, self.root, keys)
        self.lengths = self.tokenizer.encode([(pair.a, pair.b) for pair in self.mix.pairs]).lengths
        show_rows("training mix", self.mix.counts)

    @property
    def dev_labels(self) -> list[Tensor]:
        """Per dev set, the labels `[N]` in column order."""
        return [torch.tensor([RELATION_LABELS.index(pair.label) for pair in pairs]) for pairs in self.dev_pairs]

    def label_counts(self) -> Tensor:
        """Pairs per label and epoch, `[3]`, after weighting."""
        weights = torch.tensor([self.train[number].weight for number in self.mix.source])
        return torch.zeros(3).index_add_(0, self.mix.labels, weights)

    def train_dataloader(self) -> DataLoader:
        sampler = BucketSampler(
            self.mix,
            self.lengths,
            weights=[source.weight for source in self.train],
            batch_size=self.batch_size,
            swap=self.swap,
            window=self.window,
            seed=self.seed,
        )
        return quiet_loader(PairDataset(self.mix.pairs, self.mix.backwards), sampler, self.collator)

    def val_dataloader(self) -> list[DataLoader]:
        loaders = []
        for source, pairs in zip(self.dev, self.dev_pairs, strict=True):
            # An undirected set is read in both orders: the reversed pairs follow the given ones.
            backwards = [LabelledPair(pair.b, pair.a, pair.label) for pair in pairs] if source.undirected else []
            both = [*pairs, *backwards]
            batches = length_order([len(pair.a) + len(pair.b) for pair in both], self.eval_batch_size)
            loaders.append(quiet_loader(PairDataset(both), batches, self.collator))
        return loaders

    def test_dataloader(self) -> list[DataLoader]:
        return self.val_dataloader()
