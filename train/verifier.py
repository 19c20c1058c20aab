"""Training the relation verifier: `python -m train.verifier fit|validate|test --config configs/train/verifier/minilm_lora.yaml`.

`fit` trains, keeps the epoch or step with the best mean dev macro-F1, calibrates it on the dev sets, and writes a checkpoint folder
(`--model.output`). `validate` and `test` score the dev and test sets with a training checkpoint (`--ckpt_path FILE`) or a published
one (`--model.init_from DIR`). Precedence: defaults < file < flag. Resume with `--ckpt_path last`.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch
from lightning.pytorch.callbacks import ModelCheckpoint

from arbgraph.models import ModelNotFoundError
from train.cli import TrainingCLI
from train.console import say
from train.data.pairs import VerifierData
from train.publish import publish_verifier
from train.verifier_module import TrainingStopped, VerifierModule, calibrate, score_dev


class VerifierCLI(TrainingCLI):
    """Links what data and model share, and publishes the best state after `fit`."""

    def add_arguments_to_parser(self, parser: Any) -> None:
        for name in ("base", "max_tokens", "comparison", "offline"):
            parser.link_arguments(f"model.{name}", f"data.{name}")
        super().add_arguments_to_parser(parser)

    def after_fit(self) -> None:
        module, data, trainer = self.model, self.datamodule, self.trainer
        trained = module.pairs_seen
        keeper = next((callback for callback in trainer.callbacks if isinstance(callback, ModelCheckpoint)), None)  # pyright: ignore[reportAttributeAccessIssue]
        best = (keeper.best_model_path if keeper else "") or None
        trainer.validate(module, datamodule=data, ckpt_path=best, verbose=False, weights_only=True)
        if not trainer.is_global_zero:
            return
        calibration = calibrate(data, module.dev_logits)
        reports = {"uncalibrated": module.dev_reports, "calibrated": score_dev(data, module.dev_logits, calibration)}
        published = module if trainer.world_size == 1 or best is None else _gathered(module, best)
        publish_verifier(published, data.mix.counts, calibration, reports, self.fitted_config, trained)
        say(f"wrote {module.output}")


def _gathered(module: VerifierModule, state: str) -> VerifierModule:
    """The module anew, outside the strategy that may hold its parameters in shards, with the trained tensors of a training checkpoint."""
    checkpoint = torch.load(state, weights_only=True, map_location="cpu")
    gathered = VerifierModule(**module.arguments)
    gathered.on_load_checkpoint(checkpoint)
    gathered.load_state_dict(checkpoint["state_dict"], strict=False)
    return gathered


def main(args: list[str] | None = None) -> VerifierCLI:
    """Runs the command line, or `args` in its place."""
    # The order sampler's place is restored by the module itself, where the trainer does not look for it.
    warnings.filterwarnings("ignore", message=".*your dataloader is not resumable.*")
    # The sampler splits batches over processes itself; the trainer would replace it.
    defaults = {"use_distributed_sampler": False}
    return VerifierCLI(VerifierModule, VerifierData, save_config_kwargs={"overwrite": True}, trainer_defaults=defaults, args=args)


if __name__ == "__main__":
    try:
        main()
    except (ValueError, ModelNotFoundError, TrainingStopped) as error:  # pair files, checkpoints and bases raise ValueErrors of their own
        raise SystemExit(f"error: {error}") from error
