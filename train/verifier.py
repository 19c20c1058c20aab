"""Training the relation verifier: `python -m train.verifier fit|validate|test --config configs/train/verifier/minilm_lora.yaml`.

`fit` trains, keeps the epoch or step with the best mean dev macro-F1, calibrates it on the dev sets, and writes a checkpoint folder
(`--model.output`). Precedence: defaults < file < flag. Resume with `--ckpt_path last`.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.cli import LightningCLI

from train.console import console
from train.data.pairs import VerifierData
from train.publish import publish_verifier
from train.verifier_module import VerifierModule, calibrate, score_dev


class VerifierCLI(LightningCLI):
    """Links what data and model share, and publishes the best state after `fit`."""

    def add_arguments_to_parser(self, parser: Any) -> None:
        for name in ("base", "max_tokens", "comparison"):
            parser.link_arguments(f"model.{name}", f"data.{name}")
        parser.link_arguments("seed_everything", "data.seed", compute_fn=int)

    def after_fit(self) -> None:
        module, data, trainer = self.model, self.datamodule, self.trainer
        trained = module.pairs_seen
        keeper = next((callback for callback in trainer.callbacks if isinstance(callback, ModelCheckpoint)), None)  # pyright: ignore[reportAttributeAccessIssue]
        if keeper is not None and keeper.best_model_path:
            state = torch.load(keeper.best_model_path, weights_only=True)
            module.load_state_dict(state["state_dict"], strict=False)
            module.pairs_seen = state["verifier"]["pairs_seen"]
        trainer.validate(module, datamodule=data, verbose=False)
        logits = [torch.stack([rows[row] for row in range(len(rows))]) for rows in module.dev_logits]
        calibration = calibrate(data, logits)
        reports = {"uncalibrated": module.dev_reports, "calibrated": score_dev(data, logits, **calibration)}
        config = self.config.fit.as_dict() if "fit" in self.config else self.config.as_dict()
        publish_verifier(module, data.mix.counts, calibration, reports, config, trained)
        console.print(f"wrote {module.output}")


def main(args: list[str] | None = None) -> VerifierCLI:
    """Runs the command line, or `args` in its place."""
    # The order sampler's place is restored by the module itself, where the trainer does not look for it.
    warnings.filterwarnings("ignore", message=".*your dataloader is not resumable.*")
    return VerifierCLI(VerifierModule, VerifierData, save_config_kwargs={"overwrite": True}, args=args)


if __name__ == "__main__":
    main()
