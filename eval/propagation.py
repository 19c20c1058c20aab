"""Measures credibility propagation on labelled graphs: `python -m eval.propagation --graphs FILE... --systems NAME... [--tune FILE]`.

A system is one of
- `all`: the two profiles, `accept_all` and every rival;
- a settings profile or YAML file (`as_released`, `default`): Algorithm 1 with those settings;
- a name out of `arbgraph.propagation.PROPAGATIONS`: a rival, on the edges that `--settings` leave;
- `accept_all`: every claim accepted with its prior, whatever its relevance;
- a checkpoint folder or shipped checkpoint: a fitted propagation;
- a `.jsonl` file of scores: out-of-fold or foreign ones, `{"question", "claim", "score", "accepted"}` per line, a claim by id or row.

`SYSTEM@ARBITRATOR` gives one system an arbitrator of its own, else `--arbitrator` decides: `fixed` or a checkpoint.
With `--tune FILE`, every rival gets the tau_accept with the best F1 on the conflicted claims of that graph set (exact search);
profiles and checkpoints appear a second time, tuned. With `--tune_folds K` it is chosen within each evaluated set, for every fold of
questions on the others. `--rival_prior CHECKPOINT` starts the rivals from the fitted prior of a checkpoint in place of the graphs' own.

Labels that are NaN are left out. A claim is conflicted when it is an end of a contradiction edge in force under the thresholds of the
`default` profile, for every system alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser
from torch import Tensor

from arbgraph.checkpoint import CheckpointError
from arbgraph.graphset import GraphSetError, graph_set_metadata
from arbgraph.io import InputError, write_json_lines
from arbgraph.settings import SettingsError, load_settings
from eval.metrics.credibility import COMPARED, Scored, compare, quality
from eval.metrics.significance import DRAWS, bootstrap_weights, holm, sign_flips
from eval.propagation_systems import GraphSet, Output, System, claim_keys, make_systems

SCOPES = ("all", "conflicted")


def evaluate(data: GraphSet, outputs: Mapping[str, Output], reference: str, draws: int = DRAWS, seed: int = 0) -> dict[str, Any]:
    """Every system on one set: quality in both scopes, comparisons with the reference, Holm-corrected within a scope.

    The family of Holm's correction holds all comparisons of a scope; the p that it corrects is that of the permutation test.
    """
    if reference not in outputs:
        raise InputError(f"reference {reference!r} is none of the systems; choose one of {', '.join(outputs)}")
    result: dict[str, Any] = {"set": data.name, "questions": len(data.graphs), "reference": reference, "draws": draws}
    result |= {"contradictions": data.edge_counts(), "scopes": {}}
    for scope in SCOPES:
        scored = {name: output.scored(data, scope) for name, output in outputs.items()}
        questions = scored[reference].questions
        rows = {name: quality(s.score, s.accepted, s.label) for name, s in scored.items()}
        comparisons = _compare_all(scored, reference, bootstrap_weights(questions, draws, seed), sign_flips(questions, draws, seed))
        for name, row in rows.items():
            settled = outputs[name].settled
            row["tau_accept"] = outputs[name].tau_accept
            row["not_settled"] = int((~settled).sum()) if settled.numel() else None
            row["against_reference"] = comparisons.get(name)
        result["scopes"][scope] = {"questions": questions, "systems": rows}
    return result


def _compare_all(scored: dict[str, Scored], reference: str, weights: Tensor, flips: Tensor) -> dict[str, dict[str, Any]]:
    found: dict[tuple[str, str], dict[str, Any] | None] = {}
    for name, system in scored.items():
        for metric in COMPARED if name != reference else ():
            pair = compare(system, scored[reference], metric, weights, flips) if system.questions else None
            found[name, metric] = {**asdict(pair[0]), "p_permutation": pair[1]} if pair else None
    corrected = holm([row["p_permutation"] if row else None for row in found.values()])
    result: dict[str, dict[str, Any]] = {}
    for ((name, metric), row), p in zip(found.items(), corrected, strict=True):
        result.setdefault(name, {})[metric] = row and {**row, "p_holm": p}
    return result


def claim_rows(data: GraphSet, outputs: Mapping[str, Output]) -> list[dict[str, Any]]:
    """One row per claim: where it stands, its text, label, and every system's score and decision, so that errors can be read."""
    texts = [claim.text for graph in data.graphs for claim in graph.get("claims", ())]
    rows = []
    for number, (question, claim, _) in enumerate(claim_keys(data)):
        label = float(data.batch.label[number])
        rows.append(
            {
                "question": question,
                "claim": claim,
                "text": texts[number] if texts else None,
                "label": None if label != label else label,
                "conflicted": bool(data.conflicted[number]),
                "systems": {n: {"score": float(o.score[number]), "accepted": bool(o.accepted[number])} for n, o in outputs.items()},
            }
        )
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line, or `arguments` in its place."""
    parser = ArgumentParser(prog="python -m eval.propagation", description="Scores credibility propagation on labelled graph sets.")
    parser.add_argument("--graphs", required=True, nargs="+", metavar="FILE", help="graph sets with labels (eval.graphs)")
    parser.add_argument("--systems", nargs="+", default=["all"], metavar="NAME", help="what to score; see the top of this module")
    parser.add_argument("--settings", default="default", help="profile or YAML file: edges and thresholds of the rivals")
    parser.add_argument("--arbitrator", default="fixed", help="`fixed`, or a checkpoint of a learned evidence arbitrator")
    parser.add_argument("--tune", metavar="FILE", help="graph set on which tau_accept of the rivals and profiles is chosen")
    parser.add_argument("--tune_folds", type=int, metavar="K", help="choose it in every set out of fold instead")
    parser.add_argument("--rival_prior", metavar="CHECKPOINT", help="fitted propagation whose prior the rivals start from")
    parser.add_argument("--reference", default="default", help="system that the others are compared with")
    parser.add_argument("--draws", type=int, default=DRAWS, help="resamples and permutations")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", metavar="OUT", help="write all numbers here, one line per set")
    parser.add_argument("--claims", metavar="OUT", help="write every claim with all scores here (.jsonl)")
    parser.add_argument("--plots", metavar="DIR", help="write reliability, risk-coverage and histogram plots here (PNG)")
    options = parser.parse_args(arguments)
    sets = [GraphSet.load(path) for path in options.graphs]
    systems = make_systems(options.systems, load_settings(options.settings), options.arbitrator, options.rival_prior)
    if options.tune or options.tune_folds:
        systems = _tuned(systems, options)
    results, claims = [], []
    for data, path in zip(sets, options.graphs, strict=True):
        outputs = {system.name: system.run(data, None) for system in systems}
        about = {"graphs": str(path), "metadata": graph_set_metadata(path), "rival_prior": options.rival_prior}
        about["tuned_on"] = options.tune or (f"the other folds of {options.tune_folds}" if options.tune_folds else None)
        about |= {"arbitrator": options.arbitrator, "settings": options.settings}
        results.append({**about, **evaluate(data, outputs, options.reference, options.draws, options.seed)})
        claims += [{"set": data.name, **row} for row in claim_rows(data, outputs)] if options.claims else []
        _print(results[-1])
        if options.plots:
            from eval.propagation_plots import draw_all

            draw_all({name: (o.scored(data, "conflicted"), o.tau_accept) for name, o in outputs.items()}, Path(options.plots), data.name)
    if options.json:
        write_json_lines(options.json, results)
    if options.claims:
        write_json_lines(options.claims, claims)


def _tuned(systems: Sequence[System], options: Any) -> list[System]:
    """Rivals tuned; profiles and checkpoints as they are, and tuned."""
    if options.tune and options.tune_folds:
        raise InputError("--tune and --tune_folds exclude each other; give one")
    tuning = GraphSet.load(options.tune) if options.tune else None
    result: list[System] = []
    for system in systems:
        if system.reruns or not system.tunable:
            result.append(system)
        if system.tunable:
            result.append(system.tuned(tuning, options.tune_folds or 0, options.seed))
    return result


_COLUMNS = ("precision", "recall", "specificity", "f1", "balanced_accuracy", "auroc", "auprc_valid", "auprc_invalid")
_COLUMNS += ("brier", "ece", "log_loss", "aurc")
_HEADS = ("tau", "P", "R", "spec.", "F1", "bal. acc.", "AUROC", "AP valid", "AP inv.", "Brier", "ECE", "log loss", "AURC")
_HEADS += ("scores", "false rej.", "false acc.", "not settled")


def _print(result: dict[str, Any]) -> None:
    from rich.console import Console

    console = Console(width=190)
    for scope, part in result["scopes"].items():
        console.print(_quality_table(result["set"], scope, part))
        if len(part["systems"]) > 1:
            console.print(_comparison_table(result, scope, part))
    edges = result["contradictions"]
    console.print(
        f"Contradictions in force under the default thresholds: {edges['in_force']}; between labelled claims: {edges['valid_and_invalid']} "
        f"valid against invalid, {edges['two_valid']} between two valid claims, {edges['two_invalid']} between two invalid ones.\n"
        f"tau_accept of the rivals, and of systems named `tuned`, chosen on: {result['tuned_on'] or 'nothing (as in the settings)'}."
    )


def _quality_table(name: str, scope: str, part: dict[str, Any]) -> Any:
    from rich.table import Column, Table

    first = next(iter(part["systems"].values()))
    rate = "" if first["base_rate"] is None else f", {first['base_rate']:.1%} valid"
    table = Table(
        Column("system", no_wrap=True),
        *_HEADS,
        title=f"{name}, {scope} claims: {first['claims']} with labels in {part['questions']} questions{rate}",
    )
    for system, row in part["systems"].items():
        counts = (row["distinct_scores"], row["false_rejections"], row["false_acceptances"], row["not_settled"])
        numbers = (_number(row[column]) for column in _COLUMNS)
        table.add_row(system, _number(row["tau_accept"]), *numbers, *("-" if count is None else str(count) for count in counts))
    return table


def _comparison_table(result: dict[str, Any], scope: str, part: dict[str, Any]) -> Any:
    from rich.table import Table

    title = f"{result['set']}, {scope} claims: system minus {result['reference']} [95% bootstrap over questions], permutation p after Holm"
    table = Table("system", "F1", "AUROC", "Brier (lower is better)", title=f"{title}, {result['draws']:,} draws")
    for system, row in part["systems"].items():
        if row["against_reference"]:
            table.add_row(system, *(_difference(row["against_reference"][metric]) for metric in COMPARED))
    return table


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _difference(row: dict[str, Any] | None) -> str:
    return "-" if row is None else f"{row['difference']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}] p {row['p_holm']:.3f}"


if __name__ == "__main__":
    import sys

    try:
        main()
    except (InputError, GraphSetError, SettingsError, CheckpointError) as error:
        sys.exit(f"error: {error}")
