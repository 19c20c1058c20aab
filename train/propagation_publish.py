"""Turning a fitted propagation and a learned arbitrator into checkpoint folders with their cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from arbgraph.arbitrator import LearnedEvidenceArbitrator
from arbgraph.checkpoint import Checkpoint
from arbgraph.propagation.credibility import LEARNABLE
from arbgraph.propagation.fitted import DISCRETE, parameters_of, save_propagation
from train.propagation_arbitrator import ArbitratorSettings
from train.propagation_fit import Fit

LAYER_LIMITS = """\
- Fitted on graphs of this project's extractor, encoder and verifier; with others, fit again (minutes on a CPU).
- The labels say which claims are valid for a question. Scores are fitted to those sets and are no probabilities of truth elsewhere.
- It weighs what the documents say. Where most independent sources are wrong, so is it.
- Few conflicts have labels, and a weight can follow a chance of the sets: a negative weight of the number of sources, say, does not
  mean that support harms. Where most conflicted claims are valid, accepting everything is hard to beat in F1.
- Read the cross-validated numbers with their claim counts, not the training ones."""

ARBITRATOR_LIMITS = """\
- It sees the graph and no text: what a claim says, and whether a source is a good one, reaches it through the features only.
- Trained on few labelled contradictions: read the cross-validated numbers with their pair counts.
- Probabilities are those of the training sets; on other conflicts they may be too sure."""


def publish_propagation(
    folder: str | Path, fit: Fit, start: Mapping[str, Any], arbitrator: str, metrics: Mapping[str, Any], training: Mapping[str, Any]
) -> Checkpoint:
    """Writes the layer. `start` holds the constructor arguments that the fit began with, `arbitrator` names whose verdicts it used."""
    fitted = parameters_of(fit.layer)
    changed = [name for name in (*LEARNABLE, *DISCRETE) if fitted[name] != start.get(name, 0.0 if name in LEARNABLE else fitted[name])]
    learned = training["recipe"]["layer"]["learn"]
    name = Path(folder).name
    flag = "" if arbitrator == "evidence" else f" --arbitrator {arbitrator}"
    lines = [
        f"# {name}",
        "",
        "Credibility propagation of ArbGraph with parameters fitted to labelled claims; it runs in exact mode, as Algorithm 1 does.",
        f"Fitted with the verdicts of the {arbitrator_words(arbitrator)}: use the two together.",
        "",
        "```",
        f"arbgraph arbitrate queries.jsonl --propagation {name}{flag}",
        "```",
        "",
        *_data(metrics["data"]),
        "## Parameters",
        "",
        "| parameter | start | fitted | |",
        "|---|---|---|---|",
        *(
            f"| {name} | {_setting(start.get(name, 0.0))} | {_setting(fitted[name])} | {'learned' if name in learned else 'grid'} |"
            for name in dict.fromkeys((*learned, *changed))
        ),
        "",
        "All others are those of the start: " + ", ".join(f"{n} {_setting(fitted[n])}" for n in DISCRETE if n not in changed) + ".",
        "",
        "## Recipe",
        "",
        f"Adam on the relaxed layer, temperature falling, {training['recipe']['layer']['restarts']} starting points; then, in exact mode,"
        " a search of tau_accept and a grid over scheduler, budget and rounds. Selected by F1 of the accepted claims among"
        " conflicted ones (mean over sets), then AUROC, then fewer rounds. `training.yaml` holds everything.",
        f"Fitted {metrics['date']} on {metrics['hardware']} in {metrics['seconds']:.0f} s.",
        "",
        *_claims(metrics),
        "## Limits",
        "",
        LAYER_LIMITS,
        "",
    ]
    return save_propagation(fit.layer, folder, card="\n".join(lines), metrics=metrics, training=training)


def publish_arbitrator(
    folder: str | Path,
    arbitrator: LearnedEvidenceArbitrator,
    settings: ArbitratorSettings,
    metrics: Mapping[str, Any],
    training: Mapping[str, Any],
) -> Checkpoint:
    """Writes the perceptron."""
    name, model = Path(folder).name, arbitrator.model
    lines = [
        f"# {name}",
        "",
        "Evidence arbitrator of ArbGraph: a two-layer perceptron on graph features of a contradiction -> which side wins, or abstention.",
        f"{sum(p.numel() for p in model.parameters())} parameters, antisymmetric by construction: swapping the sides swaps the verdict.",
        "",
        "```",
        f"arbgraph arbitrate queries.jsonl --arbitrator {name}",
        "```",
        "",
        *_data(metrics["data"]),
        "## Features",
        "",
        f"Differences of the sides: {', '.join(model.differences)}. Of the pair: {', '.join(model.context) or 'none'}.",
        "`arbgraph.arbitrator.learned.pair_features` defines each.",
        "",
        "## Recipe",
        "",
        "The valid side of a contradiction wins; where both are valid or neither is, the answer is abstention. Pairs have cosine >= "
        f"{settings.similarity} and P(contradict) >= {settings.confidence}. Full-batch Adam, {settings.steps} steps, L2 {settings.decay}, "
        f"{settings.hidden} hidden units; sets count alike. `training.yaml` holds everything.",
        f"Trained {metrics['date']} on {metrics['hardware']} in {metrics['seconds']:.0f} s.",
        "",
        *_verdicts(metrics),
        "## Limits",
        "",
        ARBITRATOR_LIMITS,
        "",
    ]
    return arbitrator.save(folder, card="\n".join(lines), metrics=metrics, training=training)


def arbitrator_words(name: str) -> str:
    """How a card names an arbitrator."""
    return "hand-set evidence arbitrator" if name == "evidence" else f"arbitrator `{name}`"


def _data(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    head = ["## Data", "", "| set | licence | questions | claims | labelled, valid | conflicted, valid |", "|---|---|---|---|---|---|"]
    return (
        head
        + [
            f"| {row['set']} | {row['licence']} | {row['questions']} | {row['claims']} | {row['labelled']}, {row['valid']} "
            f"| {row['conflicted']}, {row['conflicted_valid']} |"
            for row in rows
        ]
        + ["", "A claim is conflicted when it is an end of a contradiction edge in force under the `default` profile.", ""]
    )


def _claims(metrics: Mapping[str, Any]) -> list[str]:
    """Cross-validated rows first, each beside the unfitted profiles on the same claims."""
    cross = metrics.get("cross_validation")
    title = f"## Measured: {cross['folds']}-fold cross-validation over questions" if cross else "## Measured on the training questions"
    reports = {"fitted, out of fold": cross["claims"]} if cross and cross.get("claims") else {}
    reports |= {"fitted, training questions (not a test)": metrics["train"], **metrics["unfitted"]}
    rows = [
        f"| {which} | {name} | {row['claims']} | {_number(row['precision'])} | {_number(row['recall'])} | {_number(row['f1'])} "
        f"| {_number(row['auroc'])} |"
        for which in metrics["train"]
        for name, report in reports.items()
        for row in (report[which],)
    ]
    return [title, "", "| claims of | settings | claims | precision | recall | F1 | AUROC |", "|---|---|---|---|---|---|---|", *rows, ""]


def _verdicts(metrics: Mapping[str, Any]) -> list[str]:
    cross = metrics.get("cross_validation")
    reports = {f"learned, {cross['folds']}-fold": cross["verdicts"]["learned"], "hand-set": cross["verdicts"]["hand-set"]} if cross else {}
    reports["learned, training pairs (not a test)"] = metrics["train_verdicts"]["learned"]
    keys = ("pairs", "decided", "accuracy", "winner_accuracy", "gated_share", "gated_precision", "cross_entropy")
    rows = [f"| {name} | " + " | ".join(_number(row[key]) for key in keys) + " |" for name, row in reports.items()]
    return [
        "## Measured on contradictions between labelled claims",
        "",
        "| arbitrator | " + " | ".join(key.replace("_", " ") for key in keys) + " |",
        "|---" * (len(keys) + 1) + "|",
        *rows,
        "",
        "`decided`: pairs with one valid and one invalid side. `winner accuracy`: likelier side, on those. `gated`: verdicts with a side"
        " of at least 0.5.",
        "",
    ]


def _setting(value: Any) -> str:
    return "none" if value is None else _number(value)


def _number(value: Any) -> str:
    return "-" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)
