"""Turning a trained arbitrator into a checkpoint folder with its card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arbgraph.arbitrator.calibration import VerdictCalibration
from arbgraph.arbitrator.causal_lm import KIND, CausalArbitrator
from arbgraph.checkpoint import Checkpoint, CheckpointConfig, save_checkpoint
from eval.card import table
from eval.measured import measured
from train.arbitrator_module import ArbitratorModule
from train.data.arbitration.build import summary
from train.data.verdicts import VerdictData
from train.lora import halve_adapter
from train.published import base_of, continued_from, recorded

LIMITS = """\
- English; prompts with up to {context_tokens} tokens of evidence, the rest of it is left out and counted.
- It weighs the evidence that it is shown and knows nothing beyond it: with wrong evidence on the stronger side it decides wrongly.
- It was trained on situations that are mostly invented: short statements, each by one source. Calibration was fitted on the dev records
  above; on other text the probabilities may be too sure.
- It reads both orders of the claims; either order alone prefers a side by the bias above."""


def publish_arbitrator(
    module: ArbitratorModule,
    data: VerdictData,
    calibration: VerdictCalibration,
    reports: Mapping[str, Mapping[str, Any]],
    training: Mapping[str, Any],
    trained: int,
) -> Checkpoint:
    """Writes the module's checkpoint folder.

    Args:
        module: the trained module at its best state; its `output` is the folder.
        data: with the training and dev records.
        calibration: fitted on dev.
        reports: of dev, `uncalibrated` and `calibrated`.
        training: the complete training configuration, as plain data.
        trained: records that the whole run read; the module's own `pairs_seen` is where it was best.
    """
    config = CheckpointConfig(
        kind=KIND,
        base=base_of(module.chat.resolved),
        settings=dict(CausalArbitrator.checkpoint_settings(module.context_tokens)) | continued_from(module.parent),
        calibration=calibration.to_dict(),
    )
    origins = Counter(record.origin or "not stated" for record in data.mix.records)
    metrics = {
        **measured(),
        "records_seen": module.pairs_seen,
        "records_trained": trained,
        "train_loss": module.smoothed,
        "data": {"by_origin": dict(sorted(origins.items())), **summary(data.mix.records)},
        "dev": {name: dict(report) for name, report in reports.items()},
    }
    if module.in_half:
        halve_adapter(module)
    return save_checkpoint(
        module.output,
        config,
        head={},
        adapted=module.model,
        card=_card(module, config, metrics, training),
        metrics=metrics,
        training=recorded(training),
    )


def _card(module: ArbitratorModule, config: CheckpointConfig, metrics: Mapping[str, Any], training: Mapping[str, Any]) -> str:
    assert config.base is not None
    name, recipe = Path(module.output).name, module.settings
    model: Any = module.model
    lora = model.peft_config["default"]
    adapted = sum(part.endswith(".lora_A") for part, _ in model.named_modules())
    batch = training.get("data", {}).get("batch_size", "?")
    before, after = metrics["dev"]["uncalibrated"], metrics["dev"]["calibrated"]
    counts = metrics["data"]["by_type"]
    lines = [
        f"# {name}",
        "",
        "Arbitrator of ArbGraph: two contradicting claims with their support context -> A, B or unknown, from the logits of one pass.",
        f"LoRA adapter on `{config.base.name}` (weights sha256 `{config.base.sha256[:16]}`) for the prompt `{config.settings['prompt']}`.",
        *([f"Continued from `{module.parent.path.name}`: the data and limits on its card apply here too."] if module.parent else []),
        "",
        "```python",
        "from arbgraph.arbitrator.causal_lm import CausalArbitrator",
        f'CausalArbitrator.load("{name}")',
        "```",
        "",
        "## Data",
        "",
        *table(["situation", "a", "b", "unknown"], [[kind, *(str(count) for count in counts[kind].values())] for kind in counts]),
        "",
        "By origin: " + ", ".join(f"{origin} {count}" for origin, count in metrics["data"]["by_origin"].items()) + ".",
        "The sides of a record were exchanged at random in training.",
        "",
        "## Recipe",
        "",
        f"LoRA r {lora.r}, alpha {lora.lora_alpha} on {adapted} linear layers; AdamW, peak rate {recipe['lr']}, weight decay "
        f"{recipe['weight_decay']}, {recipe['warmup']:.0%} warm-up then linear decay; batch {batch}, "
        f"label smoothing {recipe['label_smoothing']}; loss over the three options where the reply begins; saved after "
        f"{metrics['records_seen']} of {metrics['records_trained']} records, where dev accuracy was best. `training.yaml` holds it all.",
        f"Trained {metrics['date']} on {metrics['hardware']}.",
        "",
        "## Dev records (they chose the step and fitted the calibration)",
        "",
        *table(
            ["situation", "records", "accuracy"],
            [
                *([kind, str(row["n"]), f"{row['accuracy']:.3f}"] for kind, row in after["by_type"].items()),
                ["all", str(after["n"]), f"{after['accuracy']:.3f}"],
            ],
        ),
        "",
        f"ECE {before['ece']:.3f} before and {after['ece']:.3f} after calibration; a side reaches one half on {after['gated']:.1%} of the "
        f"records. P(A wins) differs by {before['position_bias']:+.3f} between the orders before averaging, by 0 after it.",
        "",
        "## Evaluation",
        "",
        "Not recorded yet.",
        "",
        "## Limits",
        "",
        LIMITS.format(context_tokens=module.context_tokens),
        "",
    ]
    return "\n".join(lines)
