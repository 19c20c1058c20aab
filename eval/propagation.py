"""Measures credibility propagation on labelled graphs: `python -m eval.propagation --graphs FILE... --systems NAME... [--tune FILE]`.

A system is one of
- `all`: the two profiles, `accept_all` and every rival;
- a settings profile or YAML file (`as_released`, `default`): Algorithm 1 with those settings;
- a name out of `arbgraph.propagation.PROPAGATIONS`: a rival, on the edges that `--settings` leave;
- `accept_all`: every claim accepted with its prior, whatever its relevance;
- a checkpoint folder or shipped checkpoint: a fitted propagation;
- a `.jsonl` file of scores: out-of-fold or foreign ones, `{"question", "claim", "score", "accepted"}` per line, a claim by id or row.

`SYSTEM@ARBITRATOR` gives one system an arbitrator of its own, else `--arbitrator` decides: `fixed` or a checkpoint.
With `--tune FILE`, every rival gets the tau_accept with the best F1 on the conflicted claims of that graph set (exact search), and the
profiles appear a second time, tuned. Labels that are NaN are left out. A claim is conflicted when it is an end of a contradiction
edge in force under the thresholds of the `default` profile, for every system alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from jsonargparse import ArgumentParser
from torch import Tensor
from torch_geometric.data import Batch

from arbgraph.arbitrator import EvidenceArbitrator, LearnedEvidenceArbitrator
from arbgraph.checkpoint import CheckpointError
from arbgraph.graph import EvidenceGraph
from arbgraph.graphset import GraphSetError, graph_set_metadata, load_graphs
from arbgraph.io import BadRecord, InputError, read_records, write_json_lines
from arbgraph.propagation import PROPAGATIONS, propagation_class
from arbgraph.propagation.credibility import CredibilityPropagation
from arbgraph.propagation.edges import select_edges
from arbgraph.propagation.fitted import load_propagation
from arbgraph.propagation.trace import Arbitrator
from arbgraph.settings import PROFILES, Settings, SettingsError, load_settings
from eval.metrics.credibility import COMPARED, Scored, accepted_set, compare, quality
from eval.metrics.significance import DRAWS, bootstrap_weights, holm, sign_flips

SCOPES = ("all", "conflicted")
_TEXT = ("claims", "documents", "query", "name", "embedding", "document_group")  # what no propagation reads


@dataclass(frozen=True)
class GraphSet:
    """A labelled graph set as one batch."""

    name: str
    graphs: list[EvidenceGraph]

    @classmethod
    def load(cls, path: str | Path) -> GraphSet:
        """Raises GraphSetError on a bad file, or where no claim has a label."""
        graphs = load_graphs(path)
        if not graphs or not all("label" in graph for graph in graphs):
            raise GraphSetError(f"{path}: {'graphs without' if graphs else 'no graph, and no'} labels; build it with eval.graphs")
        result = cls(Path(path).stem, graphs)
        if not result.known.any():
            raise GraphSetError(f"{path}: no claim has a label; build it with eval.graphs")
        return result

    @cached_property
    def batch(self) -> Any:
        """All graphs, without text."""
        return Batch.from_data_list(list(self.graphs), exclude_keys=list(_TEXT))

    @cached_property
    def known(self) -> Tensor:
        """`[N]` boolean: the claim has a label."""
        return ~self.batch.label.isnan()

    @cached_property
    def contradictions(self) -> Tensor:
        """`[2, C]`: the contradiction edges in force under the `default` profile."""
        options = load_settings("default")
        names = ("tau_q", "tau_sim", "tau_conf", "support_cap", "support_cap_scope")
        edges = select_edges(self.batch, **{name: getattr(options, name) for name in names})
        return self.batch.pair_index[:, edges.contradiction]

    @cached_property
    def conflicted(self) -> Tensor:
        """`[N]` boolean: an end of such an edge, with a label."""
        ends = torch.zeros_like(self.known)
        ends[self.contradictions.flatten()] = True
        return ends & self.known

    def edge_counts(self) -> dict[str, int]:
        """How many contradictions are in force, and how many of them join claims of which labels: what a perfect arbitrator could use."""
        labels = self.batch.label[self.contradictions]
        valid = labels[:, ~labels.isnan().any(0)].sum(0)
        names = ("two_invalid", "valid_and_invalid", "two_valid")
        return {"in_force": labels.shape[1], **{name: int((valid == number).sum()) for number, name in enumerate(names)}}

    def scope(self, name: str) -> Tensor:
        return self.conflicted if name == "conflicted" else self.known


@dataclass(frozen=True)
class Output:
    """One system on a set: `score [N]`, `accepted [N]`, `settled [B]` (empty where the system does not iterate), its tau_accept."""

    score: Tensor
    accepted: Tensor
    settled: Tensor
    tau_accept: float | None = None

    def scored(self, data: GraphSet, scope: str) -> Scored:
        """The labelled claims of a scope, questions without any left out."""
        rows = data.scope(scope)
        question = torch.unique(data.batch.batch[rows], return_inverse=True)[1]
        return Scored(self.score[rows].double(), self.accepted[rows], data.batch.label[rows].double(), question)


@dataclass(frozen=True)
class System:
    """A named way to score a set; `run(data, tau_accept)` with None for the system's own threshold.

    `tunable`: the threshold may be chosen on a dev set; `reruns`: it changes the scores too, so every candidate needs a run.
    """

    name: str
    run: Callable[[GraphSet, float | None], Output]
    tunable: bool = False
    reruns: bool = False

    def tuned(self, data: GraphSet) -> System:
        """The system with the tau_accept that has the best F1 on the conflicted claims of `data`."""
        tau = tune_threshold(self, data)
        return System(f"{self.name}, tuned" if self.reruns else self.name, lambda other, _: self.run(other, tau))


def tune_threshold(system: System, data: GraphSet) -> float:
    """tau_accept with the best F1 on the conflicted claims: 0, 1, and the middles between neighbouring scores are tried.

    Of equally good ones the lowest is taken, which rejects least.
    """
    rows = data.conflicted
    if not rows.any():
        raise InputError(f"{data.name}: has no conflicted claim with a label, so tau_accept cannot be tuned on it; give another set")
    output = system.run(data, None)
    scores = torch.unique(output.score[rows].double())
    middles = ((scores[1:] + scores[:-1]) / 2).tolist()
    best = (-1.0, 0.0)
    everything = None if system.reruns else system.run(data, 0.0)
    for tau in [0.0, *middles, 1.0]:
        accepted = everything.accepted & (everything.score >= tau) if everything else system.run(data, tau).accepted
        f1 = accepted_set(accepted[rows], data.batch.label[rows])["f1"]
        best = max(best, (f1 or 0.0, tau), key=lambda found: found[0])
    return best[1]


def layer_system(name: str, make: Callable[[float | None], Any], arbitrator: Arbitrator, *, tunable: bool, reruns: bool) -> System:
    """A system of a propagation layer; `make(tau_accept)` builds the layer."""

    @torch.no_grad()
    def run(data: GraphSet, tau: float | None) -> Output:
        layer = make(tau)
        trace = layer(data.batch, arbitrator)
        return Output(trace.p, trace.accepted, trace.converged, float(layer.tau_accept))

    return System(name, run, tunable, reruns)


def accept_all(data: GraphSet, tau: float | None) -> Output:
    """Every claim accepted, with its prior as the score."""
    prior = data.batch.prior
    return Output(prior, torch.ones_like(prior, dtype=torch.bool), torch.zeros(0, dtype=torch.bool))


def score_file(path: Path) -> System:
    """A system whose scores were computed elsewhere. Raises InputError, naming the line, on a bad or missing row."""
    table: dict[tuple[str, str], tuple[float, bool]] = {}
    for where, row in read_records(path):
        if isinstance(row, BadRecord):
            raise InputError(str(row))
        try:
            score, accepted = float(row["score"]), row["accepted"]
            table[str(row["question"]), str(row["claim"])] = score, accepted
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f'{where}: expected {{"question", "claim", "score", "accepted"}}, got {str(row)[:80]} ({error!r})') from None
        if not 0 <= score <= 1 or not isinstance(accepted, bool):
            raise InputError(f"{where}: score {score} with accepted {accepted!r}; a score lies in [0, 1], accepted is true or false")

    def run(data: GraphSet, tau: float | None) -> Output:
        found = [table.get((question, claim), table.get((question, row))) for question, claim, row in claim_keys(data)]
        missing = [number for number, value in enumerate(found) if value is None and data.known[number]]
        if missing:
            question, claim, _ = claim_keys(data)[missing[0]]
            what = f"{len(missing)} labelled claims of {data.name} have no score"
            raise InputError(f"{path}: {what}, the first is claim {claim!r} of question {question!r}; add a line for each")
        values = [value or (0.0, False) for value in found]
        score = torch.tensor([score for score, _ in values], dtype=torch.float64)
        return Output(score, torch.tensor([accepted for _, accepted in values]), torch.zeros(0, dtype=torch.bool))

    return System(path.stem, run)


def claim_keys(data: GraphSet) -> list[tuple[str, str, str]]:
    """(question, claim id, row) of every claim of a set; where there are no claim texts, the row is the id."""
    keys = []
    for number, graph in enumerate(data.graphs):
        rows = [str(row) for row in range(graph.prior.numel())]
        ids = [claim.id for claim in graph.claims] if "claims" in graph else rows
        keys += [(str(graph.get("name", number)), claim, row) for claim, row in zip(ids, rows, strict=True)]
    return keys


def load_arbitrator(name: str) -> Arbitrator:
    """`fixed`, or a checkpoint of a learned evidence arbitrator."""
    return EvidenceArbitrator() if name == "fixed" else LearnedEvidenceArbitrator.load(name)


def make_systems(names: Sequence[str], settings: Settings, arbitrator: str) -> list[System]:
    """The systems named on the command line, `all` replaced. Raises ValueError, SettingsError, CheckpointError or InputError."""
    systems: list[System] = []
    for name in names:
        if name == "all":
            names_of_all = [*PROFILES, "accept_all", *(rival for rival in PROPAGATIONS if rival != "arbgraph")]
            systems += make_systems(names_of_all, settings, arbitrator)
        else:
            systems.append(_system(name, settings, arbitrator))
    repeated = sorted({s.name for s in systems if sum(s.name == other.name for other in systems) > 1})
    if repeated:
        raise InputError(f"system {repeated[0]!r} is named twice; name every system once")
    return systems


def _system(name: str, settings: Settings, arbitrator: str) -> System:
    base, _, own = name.partition("@")
    if base == "accept_all":
        return System(name, accept_all)
    if Path(base).suffix == ".jsonl":
        return score_file(Path(base))
    judge = load_arbitrator(own or arbitrator)
    if base in PROFILES or Path(base).suffix in (".yaml", ".yml"):
        profile = load_settings(base)
        return layer_system(name, lambda t: CredibilityPropagation.from_settings(_with(profile, t)), judge, tunable=True, reruns=True)
    if base in PROPAGATIONS:
        kind, reruns = propagation_class(base), base == "arbgraph"
        return layer_system(name, lambda t: kind.from_settings(_with(settings, t)), judge, tunable=True, reruns=reruns)
    try:
        layer = load_propagation(base)
    except CheckpointError as error:
        if Path(base).exists():
            raise
        known = ", ".join(("all", *PROFILES, "accept_all", *PROPAGATIONS))
        raise InputError(f"system {base!r}: neither one of {known}, nor a file or checkpoint ({error})") from None
    label = Path(base).name + (f"@{Path(own).name}" if own else "")
    return layer_system(label, lambda _: layer, judge, tunable=False, reruns=False)


def _with(settings: Settings, tau_accept: float | None) -> Settings:
    return settings if tau_accept is None else load_settings(settings, tau_accept=tau_accept)


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
    parser.add_argument("--reference", default="default", help="system that the others are compared with")
    parser.add_argument("--draws", type=int, default=DRAWS, help="resamples and permutations")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", metavar="OUT", help="write all numbers here, one line per set")
    parser.add_argument("--claims", metavar="OUT", help="write every claim with all scores here (.jsonl)")
    parser.add_argument("--plots", metavar="DIR", help="write reliability, risk-coverage and histogram plots here (PNG)")
    options = parser.parse_args(arguments)
    sets = [GraphSet.load(path) for path in options.graphs]
    systems = make_systems(options.systems, load_settings(options.settings), options.arbitrator)
    if options.tune:
        tuning = GraphSet.load(options.tune)
        systems = [t for s in systems for t in ([s, s.tuned(tuning)] if s.reruns else [s.tuned(tuning)] if s.tunable else [s])]
    results, claims = [], []
    for data, path in zip(sets, options.graphs, strict=True):
        outputs = {system.name: system.run(data, None) for system in systems}
        about = {"graphs": str(path), "metadata": graph_set_metadata(path), "tuned_on": options.tune}
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
