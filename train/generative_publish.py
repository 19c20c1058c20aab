"""Turning a trained generative reader into a checkpoint folder with its card."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arbgraph.checkpoint import Checkpoint, CheckpointConfig, save_checkpoint
from arbgraph.reader.generative import KIND, PROMPT
from eval.card import table
from eval.measured import measured
from train.generative_module import GenerativeReaderModule
from train.lora import halve_adapter
from train.published import base_of, continued_from, recorded
from train.reader_module import shown

LIMITS = """\
- English, and answers that stand in the passage as a phrase.
- It reads and does not judge: a false passage is read as it stands, and a passage about a namesake is answered for the namesake.
- Passages beyond {max_tokens} tokens with the question are cut.
- Its probabilities are not calibrated: use them as a score beside others.
- A language model of this size reads some ten times slower than `reader-minilm`."""


def publish_generative_reader(module: GenerativeReaderModule, data: Any, training: Mapping[str, Any]) -> Checkpoint:
    """Writes the module's checkpoint folder.

    Args:
        module: trained, its dev reports at hand. data: with the counts of what it was trained on. training: the whole configuration.
    """
    config = CheckpointConfig(
        kind=KIND,
        base=base_of(module.resolved),
        max_tokens=module.prompt.max_tokens,
        settings={"prompt": PROMPT} | continued_from(module.parent),
    )
    metrics = {
        **measured(),
        "readings_seen": module.seen,
        "train_loss": module.smoothed,
        "data": data.counts,
        "dev": module.dev_reports,
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


def _card(module: GenerativeReaderModule, config: CheckpointConfig, metrics: Mapping[str, Any], training: Mapping[str, Any]) -> str:
    assert config.base is not None
    name, recipe = Path(module.output).name, module.settings
    lora = module.model.peft_config["default"]
    adapted = sum(part.endswith(".lora_A") for part, _ in module.model.named_modules())
    batch = training.get("data", {}).get("batch_size", "?")
    columns = ("readings", "em", "f1", "answered", "none")
    dev = [[set_name, *(shown(one[key]) for key in columns)] for set_name, one in metrics["dev"].items()]
    data = [[row["set"], row["licence"], str(row["answered"]), str(row["none"]), str(row["lost"])] for row in metrics["data"]]
    lines = [
        f"# {name}",
        "",
        "Generative reader of ArbGraph: how likely each phrase of a passage is as the answer to a question, or none.",
        f"LoRA adapter on `{config.base.name}` (weights sha256 `{config.base.sha256[:16]}`) for the prompt `{PROMPT}`.",
        *([f"Continued from `{module.parent.path.name}`."] if module.parent else []),
        "",
        "```python",
        "from arbgraph.reader.generative import GenerativeReader",
        f'reader = GenerativeReader.load("{name}")',
        'reader.score(["When was the tower built?"], ["The tower was built in 1889."], [["1889", "tower"]])',
        "```",
        "",
        "## Data",
        "",
        "Training parts only; questions are split by their text (`arbgraph.splits`). The target of a false passage is what it states.",
        "",
        *table(["set", "licence", "answered", "none", "documents lost (answer not in their words)"], data),
        "",
        "## Recipe",
        "",
        f"LoRA r {lora.r}, alpha {lora.lora_alpha} on {adapted} linear layers; AdamW, peak rate {recipe['lr']}, weight decay "
        f"{recipe['weight_decay']}, {recipe['warmup']:.0%} warm-up then linear decay; batch {batch}. "
        f"Loss: the negative log-likelihood of the reply. {metrics['readings_seen']} readings. `training.yaml` holds everything.",
        f"Trained {metrics['date']} on {metrics['hardware']}.",
        "",
        "## Dev sets",
        "",
        "By greedy generation. EM and F1: of the reply on answered readings; answered, none: share of decisions right on either kind.",
        "",
        *table(["set", "readings", "EM", "F1", "answered", "none"], dev),
        "",
        "## Limits",
        "",
        LIMITS.format(max_tokens=config.max_tokens),
        "",
    ]
    return "\n".join(lines)
