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
from lightning.pytorch.cli import LightningCLI

from arbgraph.models import ModelNotFoundError
from train.console import say
from train.data.pairs import VerifierData
from train.publish import publish_verifier
from train.verifier_module import TrainingStopped, VerifierModule, calibrate, score_dev


class VerifierCLI(LightningCLI):
    """Links what data and model share, and publishes the best state after `fit`."""

    def add_arguments_to_parser(self, parser: Any) -> None:
        for name in ("base", "max_tokens", "comparison", "offline"):
            parser.link_arguments(f"model.{name}", f"data.{name}")
        parser.link_arguments("seed_everything", "data.seed", compute_fn=int)

    def before_instantiate_classes(self) -> None:
        trainer = self.config[self.subcommand].trainer if self.subcommand else self.config.trainer
        if trainer.precision is None:
            trainer.precision = fast_precision(str(trainer.accelerator))
            say(f"precision {trainer.precision}, the faster one here; set trainer.precision to choose")

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
        config = self.config.fit.as_dict() if "fit" in self.config else self.config.as_dict()
        published = module if trainer.world_size == 1 or best is None else _gathered(module, best)
        publish_verifier(published, data.mix.counts, calibration, reports, config, trained)
        say(f"wrote {module.output}")


def _gathered(module: VerifierModule, state: str) -> VerifierModule:
    """The module anew, outside the strategy that may hold its parameters in shards, with the trained tensors of a training checkpoint."""
    checkpoint = torch.load(state, weights_only=True, map_location="cpu")
    gathered = VerifierModule(**module.arguments)
    gathered.on_load_checkpoint(checkpoint)
    gathered.load_state_dict(checkpoint["state_dict"], strict=False)
    return gathered


def fast_precision(accelerator: str) -> str:
    """`bf16-mixed` where the hardware multiplies in bfloat16, else `32-true`."""
    if accelerator in ("auto", "gpu", "cuda") and torch.cuda.is_available():
        return "bf16-mixed" if torch.cuda.is_bf16_supported(including_emulation=False) else "32-true"
    able = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    return "bf16-mixed" if able.get("avx512_bf16") or able.get("amx_bf16") else "32-true"


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
