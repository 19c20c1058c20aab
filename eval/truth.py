"""Truth discovery: `python -m eval.truth --data DIR [--sets NAME ...] [--folds 5] [--json OUT]`.

Every set is a folder with `claims.csv.gz` and `truth.csv.gz`; a column `value_norm` goes before `value`. The labelled items are split into
folds. Source trust is fitted on the items of all folds but one and scored on that one; the claims of all items are visible at all
times (transductive), the labels of the fold that is scored never. Methods that learn nothing from labels are run once. An item counts by
the share of its best-scored values that is true, so a tie among two values of which one is true counts 1/2.
"""

from __future__ import annotations

import gzip
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jsonargparse import auto_cli
from torch import Tensor

from arbgraph.graph import EvidenceGraph
from arbgraph.io import InputError, write_json_lines
from arbgraph.propagation import PROPAGATIONS, propagation_class
from arbgraph.propagation.trust import SourceTrust
from arbgraph.propagation.trust_fit import correct_share, fit_source_trust, score_table, split_items
from arbgraph.tables import ClaimTable, Columns, Row, build_table, read_rows
from arbgraph.values import Kind, normalise
from eval.metrics.significance import paired_bootstrap

SETS = ["td_book", "td_flight", "td_population", "td_weather", "td_restaurant"]
SETS += ["td_crowd_product", "td_crowd_dog", "td_crowd_face", "td_snow_rte", "td_snow_temp"]
# Author lists cannot be told from other text.
KINDS: dict[str, Kind] = {"td_book": "names"}
# Methods that spread a prior rather than count sources start from the smoothed share of votes.
FROM_PRIOR = ("dfquad", "quadratic_energy", "euler", "mlp", "mean_field", "not_both", "signed_pagerank")
# Iterations of the one-coin model of crowd-kit, which takes Python time per worker and label, where there are many of them.
MANY_CELLS, FEW_ITERATIONS = 1000, 10
# With many labels fewer inner folds are as good, and take less time.
MANY_LABELS = 2000
OURS = ("source trust, untrained", "ArbGraph, learned scalars", "ArbGraph, learned")
LEARNED = OURS[-1]
USES_LABELS = ("ArbGraph, learned", "crowd-kit Dawid-Skene + labels")


@dataclass(frozen=True)
class DataSet:
    """A table as its sources wrote it (`asserted`), and with every category as a candidate of every item (`complete`)."""

    name: str
    rows: list[Row]
    asserted: ClaimTable
    complete: ClaimTable

    @property
    def categorical(self) -> bool:
        """Whether all attributes have a label vocabulary."""
        return all(kind == "category" for kind in self.asserted.kinds.values())


def load_set(folder: Path) -> DataSet:
    """Raises InputError on files that cannot be read or hold no truth for any item."""
    claims = folder / "claims.csv.gz"
    columns = Columns(value="value_norm" if _has_column(claims, "value_norm") else "value")
    rows = read_rows(claims, columns)
    truth = read_rows(folder / "truth.csv.gz", columns, truth=True)
    kinds = KINDS.get(folder.name)
    asserted = build_table(rows, truth, kinds=kinds)
    if not asserted.labelled.any():
        raise InputError(f"{folder}: the truth table names no item of the claims; check the object and attribute columns")
    return DataSet(folder.name, rows, asserted, build_table(rows, truth, kinds=kinds, all_categories=True))


def _has_column(path: Path, name: str) -> bool:
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            return name in file.readline().strip().split(",")
    except (OSError, EOFError):
        return False  # The reader that comes next says what is wrong with the file.


# Methods without labels


def rival_shares(data: DataSet) -> tuple[dict[str, Tensor], list[str]]:
    """Correct share `[I]` of every propagation but Algorithm 1, and the names of those that did not converge."""
    found, unsettled = {}, []
    for name in PROPAGATIONS:
        if name != "arbgraph":
            found[name], settled = _rival(data.asserted, name)
            unsettled += [] if settled else [name]
    if not data.categorical:
        similar = with_partial_agreement(data.asserted)
        found["truthfinder, similar values support"], settled = _rival(similar, "truthfinder")
        unsettled += [] if settled else ["truthfinder, similar values support"]
    return found, unsettled


def _rival(table: ClaimTable, name: str) -> tuple[Tensor, bool]:
    graph = with_vote_prior(table.graph) if name in FROM_PRIOR else table.graph
    with torch.no_grad():
        trace = propagation_class(name)(tau_q=-1.0, tau_sim=-1.0)(graph)
    return correct_share(table, trace.p), bool(trace.converged.all())


def with_partial_agreement(table: ClaimTable) -> ClaimTable:
    """The table with similar values supporting each other, as `build_table(partial_agreement=True)` makes it."""
    graph: EvidenceGraph = table.graph.clone()
    certainty = 1 - graph.relation[:, 2]
    graph.relation = torch.stack([graph.similarity * certainty, (1 - graph.similarity) * certainty, 1 - certainty], dim=-1)
    return replace(table, graph=graph)


def with_vote_prior(graph: EvidenceGraph) -> EvidenceGraph:
    """The graph with p at round 0 = (n_f + 1) / (n_f + votes of the rivals + 2)."""
    votes = graph.sources.to(graph.prior)
    a, b = graph.pair_index
    against = torch.zeros_like(votes).index_add(0, torch.cat([a, b]), votes[torch.cat([b, a])])
    changed: EvidenceGraph = graph.clone()
    changed.prior = (votes + 1) / (votes + against + 2)
    return changed


def first_listed(data: DataSet) -> float:
    """Accuracy of plurality vote when ties go to the value that is first in the file, for comparison with published numbers."""
    count: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    seen = set()
    for row in data.rows:
        value = normalise(row.value, data.asserted.kinds[row.attribute])
        if value is not None and (row.item, row.source, value) not in seen:
            seen.add((row.item, row.source, value))
            count[row.item][value] += 1
    table = data.asserted
    truth = {int(i): v for i, v, y in zip(table.item, table.value, table.graph["label"], strict=True) if y == 1}
    chosen = table.labelled.nonzero().squeeze(-1).tolist()
    return float(np.mean([count[table.items[i]].most_common(1)[0][0] == truth.get(i) for i in chosen]))


# crowd-kit


def crowd_kit_shares(data: DataSet, folds: Sequence[Tensor]) -> dict[str, Tensor]:
    """Correct share `[I]` of three models of crowd-kit, and of Dawid-Skene given the labels of the other folds.

    Without a label vocabulary a label is the rank of a value among those of its item by votes, single-valued items without a label are
    left out, and only the models that treat labels alike are run. Nothing where crowd-kit is not installed.
    """
    try:
        import pandas as pd
        from crowdkit.aggregation import DawidSkene, MajorityVote, OneCoinDawidSkene
    except ImportError:
        return {}
    table = data.asserted
    label, of = _labels(data)
    claim, source = table.graph.source_index.numpy()
    task = table.item.numpy()[claim]
    several = np.bincount(table.item.numpy(), minlength=len(table.items)) > 1
    used = np.ones(len(claim), dtype=bool) if data.categorical else (several | table.labelled.numpy())[task]
    frame = pd.DataFrame({"task": task[used], "worker": source[used], "label": label[claim[used]]})

    def share(predicted: Any) -> Tensor:
        right = torch.zeros(len(table.items), dtype=torch.float64)
        for item, answer in predicted.items():
            right[item] = float(of.get(int(item)) == answer)
        return right

    cells = len(frame[["worker", "label"]].drop_duplicates())
    one_coin = OneCoinDawidSkene(n_iter=100 if cells < MANY_CELLS else FEW_ITERATIONS)
    found = {"crowd-kit majority": share(MajorityVote().fit_predict(frame)), "crowd-kit one-coin": share(one_coin.fit_predict(frame))}
    if data.categorical:
        found["crowd-kit Dawid-Skene"] = share(DawidSkene(n_iter=100).fit_predict(frame))
        together = torch.zeros(len(table.items), dtype=torch.float64)
        for part in folds:
            given = pd.Series({int(i): of[int(i)] for i in (table.labelled & ~part).nonzero().squeeze(-1) if int(i) in of})
            together[part] = share(DawidSkene(n_iter=100).fit_predict(frame, true_labels=given))[part]
        found["crowd-kit Dawid-Skene + labels"] = together
    return found


def _labels(data: DataSet) -> tuple[np.ndarray, dict[int, int]]:
    """Label number of every claim `[N]`, and of the truth of every item whose truth is known and a label."""
    table = data.asserted
    if data.categorical:
        label, complete = table.graph["category"].numpy(), data.complete
        true = (complete.graph["label"] == 1).nonzero().squeeze(-1)
        return label, {int(complete.item[c]): int(complete.graph["category"][c]) for c in true}
    order = torch.argsort(table.graph.sources, descending=True, stable=True)
    order = order[torch.argsort(table.item[order], stable=True)]
    sizes = torch.bincount(table.item)
    label = torch.empty_like(order)
    label[order] = torch.arange(order.numel()) - torch.repeat_interleave(torch.cumsum(sizes, 0) - sizes, sizes)
    true = (table.graph["label"] == 1).nonzero().squeeze(-1)
    return label.numpy(), {int(table.item[c]): int(label[c]) for c in true}


# Learned


def learned_shares(table: ClaimTable, folds: Sequence[Tensor], use_labels: bool, **options: Any) -> tuple[Tensor, list[dict[str, Any]]]:
    """Correct share `[I]` of every item by the fit that did not see its label, and what every fit chose.

    `options` go to `fit_source_trust`.
    """
    together, chosen = torch.zeros(len(table.items), dtype=torch.float64), []
    for part in folds:
        train = table.labelled & ~part
        settings = {"folds": 5 if int(train.sum()) < MANY_LABELS else 3, **options}
        fit = fit_source_trust(table, train, use_labels=use_labels, **settings)
        score = score_table(table, fit.layer, train if use_labels else None)
        together[part] = correct_share(table, score)[part]
        chosen.append({"structure": fit.structure.name, "layer": fit.layer.extra_repr(), "tried": fit.tried})
    return together, chosen


def paired_interval(ours: Tensor, theirs: Tensor) -> tuple[float, float, float]:
    """Mean difference of two correct shares `[n]`, n > 0, and its 95% percentile bootstrap interval over items."""
    found = paired_bootstrap(ours, theirs)
    assert found is not None
    return found.difference, found.low, found.high


def evaluate(data: DataSet, folds: int = 5, seed: int = 0, log: Callable[[str], None] = lambda _: None, **options: Any) -> dict[str, Any]:
    """All numbers of one set; `options` go to `fit_source_trust`."""
    table = data.asserted
    parts = split_items(table.labelled, folds, seed)
    shares, unsettled = rival_shares(data)
    log(f"{data.name}: rivals done")
    shares |= crowd_kit_shares(data, parts)
    log(f"{data.name}: crowd-kit done")
    shares[OURS[0]] = correct_share(data.complete, score_table(data.complete, SourceTrust()))
    shares[OURS[1]], scalars = learned_shares(data.complete, parts, use_labels=False, **options)
    shares[OURS[2]], chosen = learned_shares(data.complete, parts, use_labels=True, **options)
    log(f"{data.name}: learned done")
    of = {name: share[table.labelled] for name, share in shares.items()}
    accuracy = {name: float(share.mean()) for name, share in of.items()}
    # Dawid-Skene with labels is no rival of the literature's tables, but the fair one for what uses labels as evidence.
    rivals = [name for name in accuracy if name not in OURS and name not in USES_LABELS]
    best = max(rivals, key=lambda name: accuracy[name])
    best_of_all = max([*rivals, *(name for name in USES_LABELS[1:] if name in accuracy)], key=lambda name: accuracy[name])
    return {
        "set": data.name,
        "items": int(table.labelled.sum()),
        "claims": table.graph.prior.numel(),
        "assertions": table.graph.source_index.shape[1],
        "sources": len(table.sources),
        "kinds": sorted(set(table.kinds.values())),
        "diagnostics": table.diagnostics,
        "accuracy": accuracy,
        "plurality_ties_to_first_row": first_listed(data),
        "unsettled": unsettled,
        "best_rival": best,
        "best_rival_labels_or_not": best_of_all,
        "learned_minus_best_labels_or_not": paired_interval(of[LEARNED], of[best_of_all]),
        "learned_minus_plurality": paired_interval(of[LEARNED], of["majority"]),
        "learned_minus_best_rival": paired_interval(of[LEARNED], of[best]),
        "scalars_minus_best_rival": paired_interval(of[OURS[1]], of[best]),
        "chosen": chosen,
        "chosen_scalars": scalars,
    }


def main(data: str, sets: list[str] | None = None, folds: int = 5, seed: int = 0, json: str | None = None) -> None:
    """Accuracy of learned source trust, of every rival propagation and of crowd-kit on truth-discovery sets.

    Args:
        data: folder that holds the sets.
        sets: names of sets; by default the ten standard ones.
        folds: folds over the labelled items.
        seed: seed of the folds.
        json: also write one JSON line per set to this file.
    """
    from rich.console import Console

    console = Console(width=150)
    results = []
    for name in sets or SETS:
        results.append(evaluate(load_set(Path(data) / name), folds, seed, lambda text: console.log(text)))
        if json is not None:
            write_json_lines(json, results)
    _print(console, results)


def _print(console: Any, results: Sequence[dict[str, Any]]) -> None:
    from rich.table import Table

    table = Table("set", "items", "plurality", "to first", "best rival", title="accuracy on held-out items")
    for column in (*(name.removeprefix("ArbGraph, ") for name in OURS[1:]), "learned - plurality", "learned - best rival"):
        table.add_column(column)
    for row in results:
        a = row["accuracy"]
        differences = (row[f"learned_minus_{other}"] for other in ("plurality", "best_rival"))
        table.add_row(
            row["set"].removeprefix("td_"),
            str(row["items"]),
            f"{a['majority']:.3f}",
            f"{row['plurality_ties_to_first_row']:.3f}",
            f"{a[row['best_rival']]:.3f} {row['best_rival'].removeprefix('crowd-kit ')}",
            *(f"{a[name]:.3f}" for name in OURS[1:]),
            *("{:+.3f} \\[{:+.3f}, {:+.3f}]".format(*values) for values in differences),
        )
    console.print(table)
    means = Table("method", "mean", *(row["set"].removeprefix("td_").removeprefix("crowd_").removeprefix("snow_") for row in results))
    everywhere = {name for name in results[0]["accuracy"] if all(name in row["accuracy"] for row in results)}
    names = sorted(dict.fromkeys(name for row in results for name in row["accuracy"]))
    for name in sorted(names, key=lambda name: -np.mean([row["accuracy"].get(name, 0) for row in results])):
        cells = [f"{row['accuracy'][name]:.3f}{'*' * (name in row['unsettled'])}" if name in row["accuracy"] else "-" for row in results]
        mean = f"{np.mean([row['accuracy'][name] for row in results]):.3f}" if name in everywhere else "-"
        means.add_row(name, mean, *cells)
    console.print(means)
    console.print(
        "to first: plurality with ties to the first row. * did not converge. "
        f"{' and '.join(USES_LABELS)}: the labels of the other folds are evidence; for the other learned one they fit scalars only."
    )


if __name__ == "__main__":
    import sys

    try:
        auto_cli(main, as_positional=False)
    except InputError as error:
        sys.exit(f"error: {error}")
