"""Fitting credibility propagation and the evidence arbitrator: `python -m train.propagation fit --config configs/train/propagation/FILE`.

Graph sets come from `python -m eval.graphs`; synthetic worlds from the configuration itself. With `--folds K` the same recipe first
runs K times on all questions but a part and reports what it says of the parts; then it runs on everything.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jsonargparse import auto_cli

from arbgraph.arbitrator import LearnedEvidenceArbitrator
from arbgraph.checkpoint import CheckpointError
from arbgraph.graphset import GraphSetError, load_graphs
from arbgraph.io import InputError, write_json_lines
from arbgraph.propagation.fitted import parameters_of
from arbgraph.settings import SettingsError
from arbgraph.synthetic import SyntheticWorlds, draw_worlds
from eval.measured import measured
from train.console import console, show_rows
from train.propagation_data import LabelledGraphs, TrainingDataError
from train.propagation_learn import (
    Learned,
    OutOfFold,
    Recipe,
    claim_report,
    cross_validate,
    learn,
    training_verdicts,
    unfitted_reports,
    verdict_reports,
)
from train.propagation_publish import publish_arbitrator, publish_propagation
from train.published import plain


@dataclass(frozen=True)
class GraphFile:
    """A set of labelled graphs: `path` under the data folder, a `name` for reports, the `licence` of its texts for the card."""

    path: str
    name: str
    licence: str = "not stated"


def fit(
    recipe: Recipe,
    sets: Sequence[GraphFile] = (),
    worlds: SyntheticWorlds | None = None,
    data: str = ".",
    folds: int = 0,
    seed: int = 0,
    output: str | None = None,
    arbitrator_output: str | None = None,
    predictions: str | None = None,
    fold_arbitrators: str | None = None,
    json: str | None = None,
) -> None:
    """Learns what the recipe says, prints how good it is, and writes checkpoints.

    Args:
        recipe: what is learned, and how.
        sets: graph sets with claim labels.
        worlds: synthetic worlds, as one more set.
        data: folder of the graph sets.
        folds: cross-validation folds; 0 for none.
        seed: of folds, starting points and weights.
        output: checkpoint folder of the propagation.
        arbitrator_output: checkpoint folder of the arbitrator.
        predictions: JSON lines, one claim each: what the fold that did not see its question says (needs folds).
        fold_arbitrators: folder for the arbitrators of the folds, with the questions that each did not see (needs folds); `eval.arbitrator`
            judges every question with the one that did not see it.
        json: JSON of all numbers.
    """
    graphs = _load(sets, worlds, Path(data))
    table = _data_rows(graphs, sets)
    show_rows("labelled claims", table)
    began = time.monotonic()
    metrics: dict[str, Any] = {**measured(), "seed": seed, "data": table}
    if folds:
        outside = cross_validate(graphs, recipe, folds, seed)
        metrics["cross_validation"] = _cross_report(graphs, recipe, outside, folds)
        if predictions:
            write_json_lines(predictions, _prediction_rows(graphs, outside))
        if fold_arbitrators:
            _save_folds(Path(fold_arbitrators), graphs, outside)
    learned = learn(graphs, recipe, seed)
    metrics |= _train_report(graphs, recipe, learned) | {"seconds": time.monotonic() - began}
    _show(metrics, recipe, learned, worlds)
    training = plain({"recipe": recipe, "sets": list(sets), "worlds": worlds, "folds": folds, "seed": seed})
    if json:
        write_json_lines(json, [metrics])
    _publish(recipe, learned, metrics, training, output, arbitrator_output)


def _load(sets: Sequence[GraphFile], worlds: SyntheticWorlds | None, root: Path) -> LabelledGraphs:
    graphs, names = [], []
    for file in sets:
        found = load_graphs(root / file.path)
        graphs, names = graphs + found, names + [file.name] * len(found)
    if worlds is not None:
        drawn = draw_worlds(worlds)
        graphs, names = graphs + drawn, names + ["synthetic"] * len(drawn)
    if not graphs:
        raise TrainingDataError("nothing to learn from; give graph sets (`sets`) or synthetic worlds (`worlds`)")
    return LabelledGraphs(graphs, names)


def _data_rows(graphs: LabelledGraphs, sets: Sequence[GraphFile]) -> list[dict[str, Any]]:
    licence = {file.name: file.licence for file in sets}
    rows = []
    for number, name in enumerate(graphs.names):
        here = graphs.set_of == number
        known, conflicted = here & graphs.known, here & graphs.known & graphs.conflicted
        rows.append(
            {
                "set": name,
                "licence": licence.get(name, "generated"),
                "questions": sum(other == name for other in graphs.sets),
                "claims": int(here.sum()),
                "labelled": int(known.sum()),
                "valid": int(graphs.label[known].sum()),
                "conflicted": int(conflicted.sum()),
                "conflicted_valid": int(graphs.label[conflicted].sum()),
            }
        )
    return rows


def _cross_report(graphs: LabelledGraphs, recipe: Recipe, outside: OutOfFold, folds: int) -> dict[str, Any]:
    report: dict[str, Any] = {"folds": folds}
    if recipe.part != "arbitrator":
        report["claims"] = claim_report(graphs, outside.p, outside.accepted)
    if recipe.part != "propagation":
        report["verdicts"] = verdict_reports(graphs, recipe.pairs, outside.verdict, outside.outcome)
    return report


def _train_report(graphs: LabelledGraphs, recipe: Recipe, learned: Learned) -> dict[str, Any]:
    report: dict[str, Any] = {"unfitted": unfitted_reports(graphs)}
    if learned.fit is not None:
        with torch.no_grad():
            trace = learned.fit.layer(graphs.batch, learned.arbitrator)
        report["train"] = claim_report(graphs, trace.p, trace.accepted)
        report["objective"] = dict(zip(("before", "after"), learned.fit.objective, strict=True))
        report["candidates"] = learned.fit.candidates
    if recipe.part != "propagation":
        report["train_verdicts"] = verdict_reports(graphs, recipe.pairs, *training_verdicts(graphs, recipe.pairs, learned.arbitrator))
    return report


def _save_folds(folder: Path, graphs: LabelledGraphs, outside: OutOfFold) -> None:
    """The learned arbitrators as checkpoints `fold-N`, and `folds.jsonl` with the fold of every question."""
    card = "Arbitrator of one cross-validation fold; for measuring only.\n"
    for number, arbitrator in enumerate(outside.arbitrators):
        if isinstance(arbitrator, LearnedEvidenceArbitrator):
            arbitrator.save(folder / f"fold-{number}", card=card, metrics={}, training={"fold": number})
    first = [int((graphs.batch.batch == row).nonzero()[0]) for row in range(len(graphs.graphs))]
    rows = zip(graphs.graphs, graphs.sets, first, strict=True)
    write_json_lines(folder / "folds.jsonl", [{"set": n, "question": g.get("name"), "fold": int(outside.fold[row])} for g, n, row in rows])


def _prediction_rows(graphs: LabelledGraphs, outside: OutOfFold) -> list[dict[str, Any]]:
    rows, place = [], 0
    for graph, name in zip(graphs.graphs, graphs.sets, strict=True):
        claims = graph.get("claims") or [None] * graph.prior.numel()
        for claim in claims:
            label = float(graphs.label[place])
            rows.append(
                {
                    "set": name,
                    "question": graph.get("name"),
                    "claim": claim and claim.id,
                    "score": float(outside.p[place]),
                    "accepted": bool(outside.accepted[place]),
                    "label": None if label != label else label,
                    "conflicted": bool(graphs.conflicted[place]),
                    "fold": int(outside.fold[place]),
                }
            )
            place += 1
    return rows


def _show(metrics: Mapping[str, Any], recipe: Recipe, learned: Learned, worlds: SyntheticWorlds | None) -> None:
    cross = metrics.get("cross_validation", {})
    reports = {"out of fold": cross["claims"]} if "claims" in cross else {}
    reports |= ({"training questions": metrics["train"]} if "train" in metrics else {}) | metrics["unfitted"]
    rows = [{"claims of": which, "settings": name, **_rounded(row)} for name, report in reports.items() for which, row in report.items()]
    show_rows("accepted claims and scores", sorted(rows, key=lambda row: row["claims of"]))
    verdicts = {f"{name}, out of fold": row for name, row in cross.get("verdicts", {}).items()}
    verdicts |= {f"{name}, training pairs": row for name, row in metrics.get("train_verdicts", {}).items()}
    if verdicts:
        show_rows("verdicts", [{"arbitrator": name, **_rounded(row)} for name, row in verdicts.items()])
    if learned.fit is not None:
        planted = worlds.planted if worlds else {}
        start, fitted = recipe.arguments(), parameters_of(learned.fit.layer)
        names = [name for name in fitted if name in recipe.layer.learn or fitted[name] != start.get(name, 0.0)]
        rows = [{"parameter": name, "start": start.get(name, 0.0), "fitted": fitted[name]} for name in names]
        show_rows("parameters", [_rounded(row | ({"planted": planted.get(row["parameter"])} if planted else {})) for row in rows])


def _rounded(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: "-" if value is None else f"{value:.4f}" if isinstance(value, float) else value for key, value in row.items()}


def _publish(
    recipe: Recipe, learned: Learned, metrics: dict[str, Any], training: dict[str, Any], output: str | None, arbitrator_output: str | None
) -> None:
    judge = learned.arbitrator
    if arbitrator_output is not None:
        if recipe.part == "propagation" or not isinstance(judge, LearnedEvidenceArbitrator):
            raise InputError("arbitrator_output is given, but the recipe trains no arbitrator; choose another part")
        publish_arbitrator(arbitrator_output, judge, recipe.pairs, metrics, training)
        console.print(f"wrote {arbitrator_output}")
    if output is not None:
        if learned.fit is None:
            raise InputError("output is given, but the recipe fits no propagation; choose another part")
        if recipe.part != "propagation" and arbitrator_output is None:
            raise InputError("the propagation was fitted with an arbitrator that is written nowhere; give arbitrator_output too")
        name = recipe.arbitrator if recipe.part == "propagation" else Path(str(arbitrator_output)).name
        publish_propagation(output, learned.fit, recipe.arguments(), name, metrics, training)
        console.print(f"wrote {output}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line; what a user can cause ends in one line."""
    try:
        auto_cli({"fit": fit}, args=list(arguments) if arguments is not None else None, as_positional=False)
    except (TrainingDataError, GraphSetError, CheckpointError, SettingsError, InputError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
