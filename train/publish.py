"""Turning a trained verifier into a checkpoint folder with its card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arbgraph.checkpoint import Checkpoint, CheckpointConfig, save_checkpoint
from arbgraph.schema import RELATION_LABELS
from arbgraph.verifier.calibration import VerifierCalibration
from arbgraph.verifier.relation import KIND
from eval.measured import measured
from train.published import base_of, continued_from, recorded

if TYPE_CHECKING:
    from train.verifier_module import VerifierModule

# What a reader must know before trusting the probabilities; true of any verifier trained this way.
LIMITS = """\
- English, single sentences up to {max_tokens} tokens a pair; longer pairs lose the end of the longer text.
- It compares two texts. It knows nothing about the world and cannot say which of two conflicting claims is true.
- Calibration was fitted on the dev sets above; on other text the probabilities may be too sure.
- Guessing among three labels has macro-F1 0.33: a set with a score near that is one it cannot judge.
- Sets that the mix was drawn from are easier for it than unseen ones: read the unseen rows of the evaluation."""


def publish_verifier(
    module: VerifierModule,
    counts: Sequence[Mapping[str, Any]],
    calibration: VerifierCalibration,
    reports: Mapping[str, Any],
    training: Mapping[str, Any],
    trained: int,
) -> Checkpoint:
    """Writes the module's checkpoint folder.

    Args:
        module: the trained module; its `output` is the folder.
        counts: rows of the training mix (`Mix.counts`).
        calibration: fitted on dev.
        reports: dev reports by set, `uncalibrated` and `calibrated`.
        training: the complete training configuration, as plain data.
        trained: pairs that the whole run read; the module's own `pairs_seen` is where it was best.
    """
    features: tuple[str, ...] = ()
    if module.comparison:
        from arbgraph.comparison import COMPARISON_FEATURES

        features = tuple(COMPARISON_FEATURES)
    config = CheckpointConfig(
        kind=KIND,
        base=base_of(module.resolved),
        id2label=dict(enumerate(RELATION_LABELS)),
        max_tokens=module.max_tokens,
        features=features,
        settings=_settings(module),
        calibration=calibration.to_dict(),
    )
    metrics = {
        **measured(),
        "pairs_seen": module.pairs_seen,
        "pairs_trained": trained,
        "train_loss": module.smoothed,
        "data": [dict(row) for row in counts],
        "dev": {kind: {name: dict(report) for name, report in sets.items()} for kind, sets in reports.items()},
    }
    card = _card(module, config, metrics, training)
    return save_checkpoint(
        module.output,
        config,
        head=module.model.head.state_dict(),
        adapted=None if module.full else module.model.encoder,
        encoder=module.model.encoder.state_dict() if module.full else None,
        card=card,
        metrics=metrics,
        training=recorded(training),
    )


def _settings(module: VerifierModule) -> dict[str, Any]:
    head = module.model.head
    settings = {"head": "segment", "dropout": head.dropout.p, "anchor": head.anchor, "trained": "whole" if module.full else "adapter"}
    return settings | continued_from(module.parent)


def _parent_lines(module: VerifierModule) -> list[str]:
    if module.parent is None:
        return []
    return [f"Continued from `{module.parent.path.name}`: the data and limits on its card apply here too."]


def _trained_part(module: VerifierModule) -> str:
    """What of the base was trained, for the recipe."""
    if module.full:
        return f"The whole base trained, head rate {module.head_lr}"
    encoder: Any = module.model.encoder
    lora = encoder.peft_config["default"]
    adapted = sum(name.endswith(".lora_A") for name, _ in encoder.named_modules())
    return f"LoRA r {lora.r}, alpha {lora.lora_alpha} on {adapted} linear layers"


def _card(module: VerifierModule, config: CheckpointConfig, metrics: Mapping[str, Any], training: Mapping[str, Any]) -> str:
    trained = metrics["pairs_trained"]
    assert config.base is not None
    data_rows = [
        f"| {row['name']} | {row['licence']} | {row['kept']} | {' / '.join(str(row[label]) for label in RELATION_LABELS)} "
        f"| {row['weight']} | {row['leaked']} / {row['conflicting']} / {row['duplicate']} |"
        for row in metrics["data"]
    ]
    before, after = metrics["dev"]["uncalibrated"], metrics["dev"]["calibrated"]
    dev_rows = [
        f"| {name} | {report['n']} | {report['accuracy']:.3f} | {report['macro_f1']:.3f} "
        f"| {before[name]['ece']:.3f} | {report['ece']:.3f} |"
        for name, report in after.items()
    ]
    recipe, name = module.settings, Path(module.output).name
    batch = training.get("data", {}).get("batch_size", "?")
    features = f"{len(config.features)} comparison features beside the text" if config.features else "no comparison features"
    lines = [
        f"# {name}",
        "",
        "Relation verifier of ArbGraph: two claims -> support, contradict, neutral, with calibrated probabilities.",
        f"{'Whole encoder' if module.full else 'LoRA adapter'} and segment head on `{config.base.name}` "
        f"(weights sha256 `{config.base.sha256[:16]}`), {features}.",
        "",
        "```python",
        "from arbgraph.verifier import RelationVerifier",
        f'RelationVerifier.load("{name}").relate([("The tower is 300 m tall.", "The tower is 200 m tall.")])',
        "```",
        "",
        "## Data",
        "",
        "| set | licence | pairs | support / contradict / neutral | weight | dropped: in dev or test / two labels / repeated |",
        "|---|---|---|---|---|---|",
        *data_rows,
        "",
        "## Recipe",
        "",
        f"{_trained_part(module)}; AdamW, peak rate {recipe['lr']}, weight decay "
        f"{recipe['weight_decay']}, {recipe['warmup']:.0%} warm-up then linear decay; batch {batch}, "
        f"label smoothing {recipe['label_smoothing']}, class weights {module.class_weights}; "
        f"saved after {metrics['pairs_seen']} of {trained} pairs, where mean dev macro-F1 was best. `training.yaml` holds everything.",
        f"Trained {metrics['date']} on {metrics['hardware']}.",
        *_parent_lines(module),
        "",
        "## Dev sets (they chose the step and fitted the calibration)",
        "",
        "| set | pairs | accuracy | macro-F1 | ECE before | ECE after |",
        "|---|---|---|---|---|---|",
        *dev_rows,
        "",
        "## Evaluation",
        "",
        "Not recorded yet: `python -m eval.verifier --checkpoint DIR --data FILE... --record true` fills this section.",
        "",
        "## Limits",
        "",
        LIMITS.format(max_tokens=config.max_tokens),
        "",
    ]
    return "\n".join(lines)
