"""Arbitration records as batches of token ids for a causal language model: what a batch shares is read once, options are one token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lightning as L
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from arbgraph.arbitrator.causal_lm import OPTIONS
from arbgraph.arbitrator.records import ArbitrationRecord, outcomes, read_arbitration_records
from arbgraph.chat.prompts import DECISION
from arbgraph.chat.transformers_chat import TransformersChat
from train.console import say, show_rows
from train.data.arbitration.build import summary
from train.data.pairs import BucketSampler, Keys, length_order, quiet_loader, share

MIN_SHARED = 16  # tokens from which on reading the common beginning once is worth two passes


@dataclass
class Records:
    """Training records as the sampler sees them: the winner and the file of every row."""

    records: list[ArbitrationRecord] = field(default_factory=list)
    source: list[int] = field(default_factory=list)

    @property
    def labels(self) -> Tensor:
        """The winners, `[N]` long."""
        return outcomes(self.records)


class PromptEncoder:
    """Records -> token ids of the prompt, evidence cut to a budget of tokens; each record and order is encoded once.

    Raises ValueError, naming the option, when two options begin with the same token: then no single position tells them apart.
    """

    def __init__(self, chat: TransformersChat, context_tokens: int) -> None:
        self.chat, self.context_tokens = chat, context_tokens
        self.left_out = 0
        self._kept: dict[tuple[str, bool], list[int]] = {}

    def __call__(self, record: ArbitrationRecord, swapped: bool) -> list[int]:
        """The prompt's ids, with the claims exchanged where asked. Raises ValueError on a prompt that the model has no room for."""
        key = (record.model_dump_json(), swapped)
        if key not in self._kept:
            case = record.case.within(self.context_tokens, self.chat.count_tokens)
            self.left_out += 0 if swapped else case.left_out_a + case.left_out_b
            text = self.chat.render((case.swapped() if swapped else case).messages(DECISION))
            ids = self.chat.tokenizer(text, add_special_tokens=False)["input_ids"]
            if self.chat.context is not None and len(ids) >= self.chat.context:
                raise ValueError(
                    f"the prompt for {record.claim_a[:60]!r} has {len(ids)} tokens, and the model's context is {self.chat.context}; "
                    "lower model.context_tokens or leave the record out"
                )
            self._kept[key] = ids
        return self._kept[key]

    def options(self, record: ArbitrationRecord) -> list[int]:
        """The first token of every option behind a prompt."""
        text = self.chat.render(record.case.within(self.context_tokens, self.chat.count_tokens).messages(DECISION))
        ids = self.chat.tokenizer(text, add_special_tokens=False)["input_ids"]
        tokens = [self.chat.option_tokens(text, ids, option)[0] for option in OPTIONS]
        if len(set(tokens)) < len(tokens):
            raise ValueError(f"two of the options {list(OPTIONS)} begin with the same token in {self.chat.name}: {tokens}")
        return tokens


class VerdictDataset(Dataset[dict[str, Any]]):
    """Items are addressed by `(row, swapped)`; `(row, None)` is a filler, for a process without a record of its own in a batch.

    Rows from N on are the records in the other order. With `paired`, an item brings the prompt of either order.
    """

    def __init__(self, records: Sequence[ArbitrationRecord], encoder: PromptEncoder, *, paired: bool = False) -> None:
        self.records, self.encoder, self.paired = records, encoder, paired
        self.outcomes = outcomes(records).tolist()

    def __len__(self) -> int:
        return 2 * len(self.records)

    def __getitem__(self, key: tuple[int, bool | None]) -> dict[str, Any]:
        row, swapped = key
        other, record = divmod(row, len(self.records))
        turned = bool(swapped) != bool(other)
        outcome = self.outcomes[record]
        orders = (turned, not turned) if self.paired else (turned,)
        return {
            "ids": [self.encoder(self.records[record], order) for order in orders],
            "outcome": 1 - outcome if turned and outcome < 2 else outcome,
            "row": row,
            "read": swapped is not None,
        }


class VerdictCollator:
    """Items -> `shared [P]`, `ids` and `mask` `[B, L]` (left-padded, behind the shared beginning), `outcome`, `row`, `read` `[B]`.

    Of paired items, `ids` and `mask` are `[2B, L]`: all prompts in the first order, then all in the other.
    """

    def __init__(self, pad: int) -> None:
        self.pad = pad

    def __call__(self, items: Sequence[dict[str, Any]]) -> dict[str, Tensor]:
        sequences = [item["ids"][order] for order in range(len(items[0]["ids"])) for item in items]
        common = _common_beginning(sequences)
        rest = [ids[common:] for ids in sequences]
        longest = max(map(len, rest))
        ids = torch.full((len(rest), longest), self.pad, dtype=torch.long)
        mask = torch.zeros_like(ids)
        for row, one in enumerate(rest):
            ids[row, longest - len(one) :] = torch.tensor(one)
            mask[row, longest - len(one) :] = 1
        about = {name: torch.tensor([item[name] for item in items]) for name in ("outcome", "row", "read")}
        return {"shared": torch.tensor(sequences[0][:common], dtype=torch.long), "ids": ids, "mask": mask, **about}


def _common_beginning(sequences: Sequence[list[int]]) -> int:
    """How many first tokens all sequences share, the last token of each left out; 0 where it is too little to be worth it."""
    if len(sequences) < 2:
        return 0
    first, last = min(sequences), max(sequences)
    common = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    common = min(common, *(len(ids) - 1 for ids in sequences))
    return common if common >= MIN_SHARED else 0


class VerdictData(L.LightningDataModule):
    """Arbitration records for training, choosing and testing.

    Args:
        train: record files of the training mix; `fit` needs them.
        dev: record files that choose the checkpoint and calibrate it, read in both orders.
        test: record files that the `test` command scores. Questions of dev and test files are never trained on.
        root: folder that all paths are relative to.
        cap: at most this many training records, the first of each file in turn; null takes all.
        batch_size: records per training batch and process. eval_batch_size: prompts per dev batch.
        window: batches per length-sorting window. seed: of order and swaps.
    """

    def __init__(
        self,
        train: list[str] | None = None,
        dev: list[str] | None = None,
        test: list[str] | None = None,
        root: str = "data",
        cap: int | None = None,
        batch_size: int = 8,
        eval_batch_size: int = 16,
        window: int = 20,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.train, self.dev, self.test, self.root, self.cap = train or [], dev or [], test or [], root, cap
        self.batch_size, self.eval_batch_size, self.window, self.seed = batch_size, eval_batch_size, window, seed
        self.mix = Records()
        self.dev_records: list[ArbitrationRecord] = []
        self.test_records: list[ArbitrationRecord] = []
        self.dropped = 0

    def setup(self, stage: str | None = None) -> None:
        """Reads what the stage needs, once. Raises ValueError when the stage has no files, InputError on a faulty record."""
        stage = None if stage is None else str(getattr(stage, "value", stage))
        for kind in {"fit": ("train", "dev"), "validate": ("dev",), "test": ("test",)}.get(stage or "", ()):
            if not getattr(self, kind):
                raise ValueError(f"{stage} needs data.{kind}: give at least one file of arbitration records")
        module: Any = self.trainer.lightning_module  # pyright: ignore[reportOptionalMemberAccess]
        self.encoder: PromptEncoder = module.encoder
        if not self.dev_records and stage != "test":
            self.dev_records = self._read(self.dev)
        if not self.test_records and stage in ("fit", "test"):
            self.test_records = self._read(self.test)
        if stage == "fit" and not self.mix.records:
            self._read_training()

    def _read(self, files: Sequence[str]) -> list[ArbitrationRecord]:
        return [record for file in files for record in read_arbitration_records(Path(self.root) / file)]

    def _read_training(self) -> None:
        held_out = {record.key for record in (*self.dev_records, *self.test_records)}
        for number, file in enumerate(self.train):
            kept = [record for record in self._read([file]) if record.key not in held_out]
            self.dropped += len(self._read([file])) - len(kept)
            self.mix.records += kept[: self.cap]
            self.mix.source += [number] * len(kept[: self.cap])
        if not self.mix.records:
            raise ValueError(f"no training record is left: {self.dropped} are in the dev or test files")
        self.lengths = [len(self.encoder(record, False)) for record in self.mix.records]
        counts = summary(self.mix.records)
        show_rows("training records", [{"type": name, **counts["by_type"][name]} for name in sorted(counts["by_type"])])
        say(
            f"{len(self.mix.records)} records, {sum(self.lengths) / len(self.lengths):.0f} tokens on average, at most {max(self.lengths)}; "
            f"{self.encoder.left_out} statements had no room, {self.dropped} records are in the dev or test files"
        )

    def train_dataloader(self) -> DataLoader:
        trainer: Any = self.trainer
        sampler = BucketSampler(
            self.mix,  # pyright: ignore[reportArgumentType]  (all that it reads of a mix is labels and source)
            self.lengths,
            weights=[1.0] * len(self.train),
            batch_size=self.batch_size * trainer.world_size,
            swap=[0.5, 0.5, 0.5],
            window=self.window,
            seed=self.seed,
            rank=trainer.global_rank,
            processes=trainer.world_size,
        )
        module: Any = trainer.lightning_module
        return self._loader(self.mix.records, sampler, paired=module.orders == "both")

    def val_dataloader(self) -> DataLoader:
        return self._both_orders(self.dev_records)

    def test_dataloader(self) -> DataLoader:
        return self._both_orders(self.test_records)

    def _both_orders(self, records: list[ArbitrationRecord]) -> DataLoader:
        trainer: Any = self.trainer
        lengths = [len(self.encoder(record, turned)) for turned in (False, True) for record in records]
        # Every process takes its share of every batch, so that all make equally many forward passes.
        batches: list[Keys] = [
            share(batch, trainer.global_rank, trainer.world_size) for batch in length_order(lengths, self.eval_batch_size)
        ]
        return self._loader(records, batches)

    def _loader(self, records: Sequence[ArbitrationRecord], batches: Any, *, paired: bool = False) -> DataLoader:
        collate: Any = VerdictCollator(self.encoder.chat.tokenizer.pad_token_id)
        dataset: Any = VerdictDataset(records, self.encoder, paired=paired)
        return quiet_loader(dataset, batches, collate)
