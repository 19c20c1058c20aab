"""Training the generative reader: `python -m train.generative_reader fit --config FILE --data.root DATA`.

Configurations: `configs/train/generative_reader/`.
A LoRA of a causal language model learns to reply with the phrase that a passage answers a question with, or "none", from the readings
that the span reader is trained on (`train.data.reading`). `fit` writes a checkpoint folder (`--model.output`); `validate` scores the dev
readings with a training checkpoint (`--ckpt_path FILE`) or a published reader (`--model.init_from DIR`). Resume with `--ckpt_path last`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import torch

from arbgraph.chat.base import ChatError
from arbgraph.models import ModelNotFoundError
from arbgraph.reader.generative import NO_ANSWER, ReadingPrompt, pack
from arbgraph.reader.readings import Reading
from train.cli import TrainingCLI
from train.console import say
from train.data.reading import ReaderData
from train.generative_module import GenerativeReaderModule
from train.generative_publish import publish_generative_reader


class ReplyCollator:
    """Readings -> prompts with their reply, packed. A text that stands several times in a passage is one reply."""

    def __init__(self, prompt: ReadingPrompt) -> None:
        self.prompt = prompt

    def __call__(self, rows: Sequence[Reading]) -> dict[str, torch.Tensor]:
        prompts = [self.prompt.prompt(row.question, row.passage) for row in rows]
        replies = [[self.prompt.reply(row.answers[0] if row.spans else NO_ANSWER)] for row in rows]
        return vars(pack(prompts, replies, self.prompt.end))


class GenerativeReaderData(ReaderData):
    """The readings of `ReaderData`, for a model that replies; the prompt comes from the module."""

    def make_collator(self, base: str, max_tokens: int, width: int, offline: bool) -> Any:
        return None

    def use(self, prompt: ReadingPrompt) -> None:
        """Takes the prompt that the model is trained on."""
        self.collator = ReplyCollator(prompt)


class GenerativeReaderCLI(TrainingCLI):
    """Hands the prompt to the data, and publishes the last state after `fit`."""

    def instantiate_classes(self) -> None:
        super().instantiate_classes()
        self.datamodule.use(self.model.prompt)

    def after_fit(self) -> None:
        self.model.round_adapter()
        self.trainer.validate(self.model, datamodule=self.datamodule, verbose=False)
        publish_generative_reader(self.model, self.datamodule, self.fitted_config)
        say(f"wrote {self.model.output}")


def main(args: list[str] | None = None) -> GenerativeReaderCLI:
    """Runs the command line, or `args` in its place."""
    warnings.filterwarnings("ignore", message=".*your dataloader is not resumable.*")
    warnings.filterwarnings("ignore", message=".*does not have many workers.*")
    warnings.filterwarnings("ignore", message=".*tie_word_embeddings.*")
    return GenerativeReaderCLI(
        GenerativeReaderModule,
        GenerativeReaderData,
        save_config_kwargs={"overwrite": True},
        trainer_defaults={"use_distributed_sampler": False},
        args=args,
    )


if __name__ == "__main__":
    try:
        main()
    except (ValueError, ModelNotFoundError, ChatError) as error:
        raise SystemExit(f"error: {error}") from error
