"""Training the arbitrator: `python -m train.arbitrator fit|validate|test --config configs/train/arbitrator/smollm2_lora.yaml`.

`fit` trains a LoRA of any causal language model on arbitration records, keeps the step with the best dev accuracy, fits the calibration
of the verdict on dev, and writes a checkpoint folder (`--model.output`) that `CausalArbitrator.load` reads. `validate` and `test` score
the dev and test files with a training checkpoint (`--ckpt_path FILE`) or a published one (`--model.init_from DIR`); without either they
score the base as it is. Precedence: defaults < file < flag. Resume with `--ckpt_path last`.
"""

from __future__ import annotations

import warnings
from typing import Any

from lightning.pytorch.callbacks import ModelCheckpoint

from arbgraph.arbitrator.calibration import fit_verdict_calibration
from arbgraph.arbitrator.records import outcomes
from arbgraph.chat.base import ChatError
from arbgraph.models import ModelNotFoundError
from train.arbitrator_module import ArbitratorModule, verdict_report
from train.arbitrator_publish import publish_arbitrator
from train.cli import TrainingCLI
from train.console import say
from train.data.verdicts import VerdictData
from train.verifier_module import TrainingStopped


class ArbitratorCLI(TrainingCLI):
    """Chooses the precision, and publishes the best state after `fit`."""

    def after_fit(self) -> None:
        module, data, trainer = self.model, self.datamodule, self.trainer
        trained = module.pairs_seen
        callbacks: list[Any] = trainer.callbacks  # pyright: ignore[reportAttributeAccessIssue]
        # Another one may keep the running state, without looking at dev.
        best = [one.best_model_path for one in callbacks if isinstance(one, ModelCheckpoint) and one.monitor]
        if best and best[0]:
            module.load_best(best[0])
        module.round_adapter()
        trainer.validate(module, datamodule=data, verbose=False)
        if not trainer.is_global_zero:
            return
        calibration = fit_verdict_calibration(module.dev_scores.mean(1), outcomes(data.dev_records))
        reports = {"uncalibrated": module.dev_report, "calibrated": verdict_report(data.dev_records, module.dev_scores, calibration)}
        publish_arbitrator(module, data, calibration, reports, self.fitted_config, trained)
        say(f"wrote {module.output}")


def main(args: list[str] | None = None) -> ArbitratorCLI:
    """Runs the command line, or `args` in its place."""
    # The order sampler's place is restored by the module itself, where the trainer does not look for it.
    warnings.filterwarnings("ignore", message=".*your dataloader is not resumable.*")
    # The adapter leaves the embedding, which the output layer is tied to, alone.
    warnings.filterwarnings("ignore", message=".*tie_word_embeddings.*")
    # The sampler splits batches over processes itself; the trainer would replace it.
    defaults = {"use_distributed_sampler": False}
    return ArbitratorCLI(ArbitratorModule, VerdictData, save_config_kwargs={"overwrite": True}, trainer_defaults=defaults, args=args)


if __name__ == "__main__":
    try:
        main()
    except (ValueError, ModelNotFoundError, ChatError, TrainingStopped) as error:  # record files and checkpoints raise ValueErrors
        raise SystemExit(f"error: {error}") from error
