"""Training the reader: `python -m train.reader fit --config configs/train/reader/minilm_lora.yaml --data.root DATA`.

`fit` trains, keeps the step with the best dev score, calibrates it on the dev readings, and writes a checkpoint folder
(`--model.output`). `validate` scores the dev readings with a training checkpoint (`--ckpt_path FILE`) or a published reader
(`--model.init_from DIR`). The questions made by rule come from `python -m train.data.synthetic_questions`.
"""

from __future__ import annotations

import warnings
from typing import Any

from lightning.pytorch.callbacks import ModelCheckpoint

from arbgraph.models import ModelNotFoundError
from train.cli import TrainingCLI
from train.console import say
from train.data.reading import ReaderData
from train.reader_module import ReaderModule
from train.reader_publish import publish_reader


class ReaderCLI(TrainingCLI):
    """Links what data and model share, and publishes the best state after `fit`."""

    def add_arguments_to_parser(self, parser: Any) -> None:
        for name in ("base", "max_tokens", "width", "offline"):
            parser.link_arguments(f"model.{name}", f"data.{name}")
        super().add_arguments_to_parser(parser)

    def after_fit(self) -> None:
        keeper = next((one for one in self.trainer.callbacks if isinstance(one, ModelCheckpoint)), None)  # pyright: ignore[reportAttributeAccessIssue]
        best = (keeper.best_model_path if keeper else "") or None
        self.trainer.validate(self.model, datamodule=self.datamodule, ckpt_path=best, verbose=False, weights_only=True)
        publish_reader(self.model, self.datamodule, self.fitted_config)
        say(f"wrote {self.model.output}")


def main(args: list[str] | None = None) -> ReaderCLI:
    """Runs the command line, or `args` in its place."""
    warnings.filterwarnings("ignore", message=".*your dataloader is not resumable.*")
    warnings.filterwarnings("ignore", message=".*does not have many workers.*")
    return ReaderCLI(
        ReaderModule, ReaderData, save_config_kwargs={"overwrite": True}, trainer_defaults={"use_distributed_sampler": False}, args=args
    )


if __name__ == "__main__":
    try:
        main()
    except (ValueError, ModelNotFoundError) as error:
        raise SystemExit(f"error: {error}") from error
