"""Runs a study on graphs that were built once: `python -m eval.ablation --study FILE --graphs FILE... [--root DATA] --out DIR`.

A study file (`eval.study`) expands to runs: the paper's variants, schedulers, sweeps, rivals, other verifiers. No run calls a model: the
graph sets hold all candidate pairs with their probabilities, and thresholds act inside the propagation. Every run of every set becomes
one result file, `DIR/SET/RUN.json`, with its values per question; tables, tests and plots are made from these files alone
(`eval.compare`, `eval.plots`). A killed study goes on where it stopped.

Measured per run:
- claims with a label: precision, recall and F1 of the accepted set, AUROC and Brier of the credibility, over all claims and over the
  conflicted ones (ends of a contradiction in force under the `default` thresholds, the same claims for every run);
- answers, where the questions have gold answers: the quoted validated claims (without the sentences on disputes) are searched for them.
  `gold stated` is the share of gold answers found, `wrong stated` whether a wrong one is found, `clean` whether all gold and no wrong
  answers are found, `density` quoted claims per 1,000 words, `answered` whether anything is quoted.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from jsonargparse import auto_cli

from arbgraph.checkpoint import CheckpointError
from arbgraph.generation import ExtractiveWriter
from arbgraph.graph import EvidenceGraph
from arbgraph.graphset import GraphSetError, graph_set_metadata
from arbgraph.io import InputError, write_json_lines
from arbgraph.pipeline import arbitration_of
from arbgraph.propagation import PROPAGATIONS, propagation_class
from arbgraph.propagation.base import Propagation
from arbgraph.propagation.credibility import CredibilityPropagation
from arbgraph.propagation.fitted import load_propagation
from arbgraph.propagation.trace import Arbitrator
from arbgraph.schema import Answer, Query, content_id
from arbgraph.settings import Settings, SettingsError, load_settings
from eval.benchmarks.base import Item
from eval.benchmarks.registry import benchmarks
from eval.metrics.answers import contained
from eval.propagation import SCOPES
from eval.propagation_systems import GraphSet, load_arbitrator
from eval.study import Base, RunSpec, Study, load_study
from eval.variants import Decisive, HardElimination, without_pairs

# What can change without building the graphs again.
ADJUSTABLE = (*CredibilityPropagation.from_settings_names, "answer_sentences")
FLOORS = ("tau_q", "tau_sim")


def layer_of(spec: RunSpec, base: Base, settings: Settings) -> Propagation:
    """The propagation of a run. A fitted one keeps its parameters but for the settings that the run names."""
    name = spec.propagation or base.propagation
    if spec.variant == "no_soft":
        return HardElimination.from_settings(settings)
    if name is None:
        return CredibilityPropagation.from_settings(settings)
    if name in PROPAGATIONS:
        return propagation_class(name).from_settings(settings)
    layer = copy.deepcopy(load_propagation(name))
    for field, value in _changes(spec).items():
        if isinstance(getattr(layer, field, None), torch.nn.Parameter):
            getattr(layer, field).data.fill_(value)
        elif field != "answer_sentences":
            setattr(layer, field, value)
    return layer


def _changes(spec: RunSpec) -> dict[str, Any]:
    return {**spec.settings, "tau_gate": 0.0} if spec.variant == "no_gate" else dict(spec.settings)


def settings_of(name: str, spec: RunSpec, base: Base, floors: dict[str, float]) -> Settings:
    """The settings of a run. Raises InputError when a setting is decided where the graphs are built, or lies below their floors."""
    fixed = sorted(set(spec.settings) - set(ADJUSTABLE))
    if fixed:
        raise InputError(f"run {name!r}: {fixed[0]} is decided when the graphs are built; build another set and name it with `graphs`")
    settings = load_settings(base.settings, **_changes(spec))
    for field in FLOORS:
        if getattr(settings, field) < floors[field]:
            raise InputError(
                f"run {name!r}: {field} = {getattr(settings, field)} lies below {floors[field]}, from which the graphs hold pairs; "
                f"build them with a lower --{field}"
            )
    return settings


def arbitrator_of(spec: RunSpec, base: Base) -> Arbitrator:
    """The arbitrator of a run; without the gate it has to decide."""
    arbitrator = load_arbitrator(spec.arbitrator or base.arbitrator)
    return Decisive(arbitrator) if spec.variant == "no_gate" else arbitrator


@torch.no_grad()
def run(name: str, spec: RunSpec, study: Study, data: GraphSet, floors: dict[str, float], items: dict[str, Item]) -> dict[str, Any]:
    """One run on one graph set, as its result file holds it."""
    settings = settings_of(name, spec, study.base, floors)
    graphs = [without_pairs(graph) for graph in data.graphs] if spec.variant == "no_graph" else data.graphs
    batch = GraphSet(data.name, graphs).batch
    batch.graphs, batch.claims = graphs, [claim for graph in graphs for claim in graph.claims]
    trace = layer_of(spec, study.base, settings)(batch, arbitrator_of(spec, study.base))
    result: dict[str, Any] = {"claims": {}}
    for scope in SCOPES:
        rows = data.scope(scope)
        result["claims"][scope] = {
            "score": [round(float(p), 9) for p in trace.p[rows]],
            "accepted": trace.accepted[rows].tolist(),
            "label": data.batch.label[rows].tolist(),
            "question": data.batch.batch[rows].tolist(),
        }
    writer = ExtractiveWriter(settings.answer_sentences, disputes=0)
    drafts = [
        arbitration_of(Query(id=str(graph.name), query=graph.query, documents=tuple(graph.documents)), graph, part, {}, (), settings)
        for graph, part in zip(graphs, trace.split(graphs), strict=True)
    ]
    answers = writer.write(drafts)
    rows = [answer_values(answer, items.get(draft.id)) for answer, draft in zip(answers, drafts, strict=True)]
    result["values"] = {metric: [row[metric] for row in rows] for metric in rows[0]}
    result["counts"] = {
        "kept": int(trace.edges.kept.sum()),
        "accepted": int(trace.accepted.sum()),
        "support": int(trace.edges.support.sum()),
        "contradiction": int(trace.edges.contradiction.sum()),
        "asked": trace.calls,
        "rounds": int(trace.rounds_run.max()) if trace.rounds_run.numel() else 0,
    }
    return result


def answer_values(answer: Answer, item: Item | None) -> dict[str, float | None]:
    """Values of one answer; None where the question has no gold or no wrong answers. A claim is a quoted sentence."""
    text = "" if answer.abstained else answer.text
    values: dict[str, float | None] = {"answered": float(not answer.abstained)}
    words = len(text.split())
    values["density"] = 1000 * len(answer.citations) / words if words else 0.0
    found = [contained(text, group) for group in item.gold] if item else []
    wrong = [contained(text, [answer]) for answer in item.wrong] if item else []
    values["gold stated"] = sum(found) / len(found) if found else None
    values["wrong stated"] = float(any(wrong)) if wrong else None
    values["clean"] = float(all(found) and not any(wrong)) if found else None
    return values


def items_for(graphs: Sequence[EvidenceGraph], metadata: dict[str, Any], root: Path | None) -> dict[str, Item]:
    """The benchmark items of a graph set by question id; empty without data, or where the questions have no gold answers."""
    known = benchmarks()
    if root is None or metadata.get("set") not in known:
        return {}
    benchmark = known[metadata["set"]]
    items = {item.query.id: item for item in benchmark.read(root / benchmark.folder, metadata["split"])}
    lost = [str(graph.name) for graph in graphs if str(graph.name) not in items]
    if lost:
        raise InputError(f"{root / benchmark.folder}: has no question {lost[0]!r}, which the graph set holds; build the graphs anew")
    return items


def main(study: Path, graphs: list[Path], out: Path, root: Path | None = None, limit: int | None = None, quiet: bool = False) -> None:
    """Runs a study on graph sets and compares its runs.

    Args:
        study: the study file.
        graphs: labelled graph sets (`eval.graphs`). A run that names another set `x` takes `SET.x.safetensors` beside it.
        out: folder of the results.
        root: folder of the data, for questions with gold answers; without it only claims are scored.
        limit: only the first questions of every set.
        quiet: no progress and no tables.
    """
    from rich.progress import track

    from eval.compare import load_results, print_comparison

    plan = load_study(study)
    for path in graphs:
        sets: dict[str | None, tuple[GraphSet, dict[str, Any]]] = {None: _load(path, limit)}
        data, metadata = sets[None]
        items = items_for(data.graphs, metadata, root)
        folder = out / data.name
        for name, spec in track(plan.expanded().items(), description=data.name, disable=quiet):
            if spec.graphs not in sets:
                sets[spec.graphs] = _other(path, spec.graphs, limit, data)
            chosen, about = sets[spec.graphs]
            _write(folder / f"{_file_name(name)}.json", name, spec, plan, chosen, about, items)
        if not quiet:
            print_comparison(load_results(folder), plan.reference, plan.published)


def _load(path: Path, limit: int | None) -> tuple[GraphSet, dict[str, Any]]:
    data = GraphSet.load(path)
    return GraphSet(data.name, data.graphs[:limit]), graph_set_metadata(path)


def _other(path: Path, suffix: str | None, limit: int | None, plain: GraphSet) -> tuple[GraphSet, dict[str, Any]]:
    other = path.with_name(f"{path.stem}.{suffix}{path.suffix}")
    data, metadata = _load(other, limit)
    if [str(graph.name) for graph in data.graphs] != [str(graph.name) for graph in plain.graphs]:
        raise InputError(f"{other}: holds other questions than {path}; build both from the same split")
    return GraphSet(plain.name, data.graphs), metadata


def _file_name(run_name: str) -> str:
    return run_name.replace("/", "_")


def _write(path: Path, name: str, spec: RunSpec, plan: Study, data: GraphSet, about: dict[str, Any], items: dict[str, Item]) -> None:
    """Runs and writes one result, unless the file holds it already. Raises InputError when the file holds another run."""
    key = content_id(
        "run",
        name,
        spec.model_dump_json(),
        plan.base.model_dump_json(),
        about["data_sha256"],
        json.dumps(about["settings"]),
        len(data.graphs),
    )
    if path.is_file():
        if json.loads(path.read_text(encoding="utf-8")).get("key") != key:
            raise InputError(f"{path}: holds a run with another configuration; remove the folder or give another --out")
        return
    result = run(name, spec, plan, data, {field: about["settings"][field] for field in FLOORS}, items)
    head = {"key": key, "run": name, "set": data.name, "split": about.get("split"), "study": plan.title}
    head |= {"spec": spec.model_dump(mode="json"), "base": plan.base.model_dump(mode="json")}
    head |= {"questions": [str(graph.name) for graph in data.graphs]}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json_lines(path, [{**head, **result}])


if __name__ == "__main__":
    import sys

    try:
        auto_cli(main, as_positional=False)
    except (InputError, GraphSetError, SettingsError, CheckpointError) as error:
        sys.exit(f"error: {error}")
