"""Turning the fitted scalars of `arbgraph-small` into a checkpoint folder with its card."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from arbgraph.checkpoint import CheckpointConfig, save_checkpoint
from arbgraph.systems.small.credibility import KIND, PARTS, CredibilitySettings


def save(
    out: str | Path,
    parts: Mapping[str, Mapping[str, float]],
    settings: CredibilitySettings,
    metrics: Mapping[str, Any],
    training: Mapping[str, Any],
    card: str,
) -> None:
    """Writes the checkpoint folder."""
    head = {part: torch.tensor([parts[part][name] for name in names], dtype=torch.float64) for part, names in PARTS.items()}
    config = CheckpointConfig(
        kind=KIND,
        settings=asdict(settings) | {"generative_reader": training["generative_reader"]},
        features=tuple(f"{part}.{n}" for part, names in PARTS.items() for n in names),
    )
    save_checkpoint(out, config, head=head, card=_card(Path(out).name, parts, settings, metrics, card), metrics=metrics, training=training)


def _card(name: str, parts: Mapping[str, Mapping[str, float]], settings: CredibilitySettings, metrics: Mapping[str, Any], more: str) -> str:
    scored = metrics["cross_validated"]
    lines = [
        f"# {name}",
        "",
        "Learned scalars of the system `arbgraph-small` (`docs/ramdocs.md`): log-linear weights and the scalars of the propagation.",
        "",
    ]
    lines += [
        f"Fitted {metrics['date']} on {metrics['hardware']} on {metrics['questions']} questions:",
        "RAMDocs dev (MIT) and the dev parts of the sets in",
        "`training.yaml`, none of which is a test question.",
    ]
    lines += [
        "",
        f"Cross-validated on RAMDocs dev ({metrics['folds']} folds over 100 questions): list EM "
        f"{100 * scored['em']:.1f}, {scored['answers']:.2f} answers a question.",
        more,
        "",
    ]
    lines += ["## Settings", "", "| setting | value |", "|---|---|", *(f"| {key} | {value} |" for key, value in asdict(settings).items())]
    for part, weights in parts.items():
        lines += [
            "",
            f"## Weights: {part}",
            "",
            "| feature | weight |",
            "|---|---|",
            *(f"| {key} | {value:.3f} |" for key, value in weights.items()),
        ]
    return "\n".join(lines) + "\n"
