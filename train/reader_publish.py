"""Calibrating a trained reader, and turning it into a checkpoint folder with its card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from arbgraph.checkpoint import Checkpoint, CheckpointConfig, save_checkpoint
from arbgraph.encoder import length_sorted_batches
from arbgraph.minimise import minimise
from arbgraph.reader.reader import KIND, Reader, ReaderCalibration
from arbgraph.reader.readings import Reading
from eval.measured import measured
from train.published import base_of, recorded
from train.reader_module import ReaderModule, report, shown

if TYPE_CHECKING:
    from train.data.reading import ReaderCollator, ReaderData

LIMITS = """\
- English, and answers that stand in the passage as a phrase of up to {width} tokens: no yes or no, no counting, no rewording.
- It reads and does not judge: a false passage is read as it stands, and a passage about a namesake is answered for the namesake.
- One passage at a time: an answer that needs two passages is not found.
- Passages beyond {max_tokens} tokens with the question are read in windows that overlap by {overlap}.
- Questions were largely made by rule from Wikipedia-like text; the probabilities were fitted on the dev sets above.
- Unanswerable passages of the same subject are the hard case: read the column `none`."""


def calibrate(model: torch.nn.Module, collator: ReaderCollator, rows: Sequence[Reading]) -> ReaderCalibration:
    """Temperature and no-answer bias that make the answers of dev readings likeliest.

    Args:
        model: the network, in eval mode.
        collator: of the readings.
        rows: dev readings; those whose answer no window can hold are left out.
    """
    scores: list[tuple[Tensor, Tensor, Tensor]] = []
    for numbers in length_sorted_batches([len(row.passage) for row in rows], 32):
        batch = collator([rows[number] for number in numbers])
        gold, known = batch.pop("gold"), batch.pop("known")
        with torch.inference_mode():
            spans, none = model(batch)
        # Only the upper spans matter to the sum, and all of them at once would not fit into memory.
        right = torch.zeros_like(spans, dtype=torch.bool)
        right[gold[:, 0], gold[:, 1], gold[:, 2]] = True
        flat, chosen = spans.flatten(1), right.flatten(1)
        # A finite floor: the gradient of the temperature has none at minus infinity.
        top = flat.topk(min(200, flat.shape[1]), dim=1).values.clamp(min=-1e4)
        gold_score = flat.masked_fill(~chosen, float("-inf")).logsumexp(1)
        for row in known.nonzero().flatten().tolist():
            scores.append((top[row].clone(), none[row].clone(), gold_score[row].clone()))
    width = max(len(top) for top, _, _ in scores)
    top = torch.stack([torch.nn.functional.pad(top, (0, width - len(top)), value=-1e4) for top, _, _ in scores])
    none, right = torch.stack([one for _, one, _ in scores]), torch.stack([one for _, _, one in scores])
    answered = right > float("-inf")
    shift = torch.zeros(2, requires_grad=True)

    def loss() -> Tensor:
        heat, bias = shift[0].exp(), shift[1]
        odds = (top - none.unsqueeze(1)) / heat - bias
        total = torch.cat([odds, torch.zeros(len(odds), 1)], dim=1).logsumexp(1)
        wanted = torch.where(answered, (right.masked_fill(~answered, 0.0) - none) / heat - bias, torch.zeros(()))
        return (total - wanted).mean()

    if not minimise(shift, loss):
        return ReaderCalibration()
    return ReaderCalibration(float(shift[0].detach().exp()), float(shift[1].detach()))


def publish_reader(module: ReaderModule, data: ReaderData, training: Mapping[str, Any]) -> Checkpoint:
    """Calibrates the module on the dev readings of its data, measures it, and writes its checkpoint folder."""
    module.eval()
    everything = [row for rows in data.dev_sets.values() for row in rows]
    calibration = calibrate(module.model, data.collator, everything)
    reader = Reader(module.model, data.collator.tokenizer, calibration)
    reports = {name: report(reader, rows) for name, rows in data.dev_sets.items()}
    tokenizer = data.collator.tokenizer
    head = module.model.head
    config = CheckpointConfig(
        kind=KIND,
        base=base_of(module.resolved),
        max_tokens=tokenizer.max_tokens,
        settings={
            "width": head.width,
            "rank": head.rank,
            "dropout": head.dropout.p,
            "max_question": tokenizer.max_question,
            "overlap": tokenizer.overlap,
            "trained": "whole" if module.full else "adapter",
        },
        calibration={"temperature": calibration.temperature, "bias": calibration.bias},
    )
    metrics = {
        **measured(),
        "readings_seen": module.seen,
        "train_loss": module.smoothed,
        "data": data.counts,
        "dev": reports,
    }
    return save_checkpoint(
        module.output,
        config,
        head=module.model.trained(),
        adapted=None if module.full else module.model.encoder,
        encoder=module.model.encoder.state_dict() if module.full else None,
        card=_card(module, config, metrics, training),
        metrics=metrics,
        training=recorded(training),
    )


def _card(module: ReaderModule, config: CheckpointConfig, metrics: Mapping[str, Any], training: Mapping[str, Any]) -> str:
    assert config.base is not None
    assert config.calibration is not None
    name, recipe = Path(module.output).name, module.settings
    heat, bias = config.calibration["temperature"], config.calibration["bias"]
    data_rows = [f"| {row['set']} | {row['licence']} | {row['answered']} | {row['none']} | {row['lost']} |" for row in metrics["data"]]
    columns = ("readings", "em", "f1", "answered", "none", "auroc_right", "ece")
    dev_rows = [f"| {set_name} | {' | '.join(shown(one[key]) for key in columns)} |" for set_name, one in metrics["dev"].items()]
    if module.full:
        part = f"All layers but the word embeddings trained at rate {recipe['lr']}"
    else:
        encoder: Any = module.model.encoder
        lora = encoder.peft_config["default"]
        part = f"LoRA r {lora.r}, alpha {lora.lora_alpha} on all linear layers, rate {recipe['lr']}"
    batch = training.get("data", {}).get("batch_size", "?")
    lines = [
        f"# {name}",
        "",
        "Short-answer reader of ArbGraph: question and passage -> the phrase that answers it with its offsets and probability, or none.",
        f"`{config.base.name}` (weights sha256 `{config.base.sha256[:16]}`), token features for case and question overlap, span head.",
        "",
        "```python",
        "from arbgraph.reader import Reader",
        f'Reader.load("{name}").read(["When was the tower built?"], ["The tower was built in 1889."])',
        "```",
        "",
        "## Data",
        "",
        "Training parts only; questions are split by their text (`arbgraph.splits`). The target of a false passage is what it states.",
        "",
        "| set | licence | answered | none | documents lost (answer not in their words) |",
        "|---|---|---|---|---|",
        *data_rows,
        "",
        "## Recipe",
        "",
        f"{part}, head rate {recipe['head_lr']}; AdamW, weight decay {recipe['weight_decay']}, {recipe['warmup']:.0%} warm-up, linear "
        f"decay; batch {batch}. Loss: the likelihood of all places of the answer together, against all spans and no answer. "
        "Questions made by rule come mostly first. "
        f"{metrics['readings_seen']} readings. `training.yaml` holds everything.",
        f"Trained {metrics['date']} on {metrics['hardware']}.",
        *([f"Continued from `{module.parent.path.name}`."] if module.parent else []),
        "",
        "## Dev sets (they chose the step and fitted the calibration)",
        "",
        f"Temperature {heat:.3f}, no-answer bias {bias:.3f}. EM and F1: best span on answered "
        "readings; answered, none: share of decisions right on either kind.",
        "",
        "| set | readings | EM | F1 | answered | none | AUROC of right | ECE |",
        "|---|---|---|---|---|---|---|---|",
        *dev_rows,
        "",
        "## Evaluation",
        "",
        "Not recorded yet: `python -m eval.reader --checkpoint DIR --data DATA --record true` fills this section.",
        "",
        "## Limits",
        "",
        LIMITS.format(width=config.settings["width"], max_tokens=config.max_tokens, overlap=config.settings["overlap"]),
        "",
    ]
    return "\n".join(lines)
