"""RAGChecker: `python -m eval.ragchecker --data DIR [--checker NAME] [--sample N] [--matrices FILE] [--json OUT]`.

Two checks. First, all eleven metrics from the stored labels of the tool's example pair against what the tool wrote. Second, how well our
scores agree with people: on pairs of answers that two annotators compared, the difference of our scores, answer 2 minus answer 1, is
correlated with the mean of their labels, as the paper does: precision with correctness, recall with completeness, F1 with the overall one.
Beside ours stand those that average the judge's probabilities of entailment in place of its labels, where it gives any, and the tool's own,
which a model of 70 B parameters gave, all on the same instances.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jsonargparse import auto_cli

from arbgraph.io import BadRecord, InputError, read_records, write_json_lines
from eval.checking import Checked, Checker, Response, check, check_stored
from eval.metrics.ragchecker import ragchecker
from eval.metrics.ranking import pearson, resampled_pearson, spearman
from eval.metrics.significance import bootstrap_weights
from eval.ragchecker_json import overall, read_ragchecker
from eval.scoring import open_checker

# What people judged -> the metric that stands for it.
ASPECTS = {"correctness_label": "precision", "completeness_label": "recall", "overall_label": "f1"}


@dataclass(frozen=True)
class Instance:
    """Two answers to one question; `human` holds the mean label by aspect, `published` the tool's two scores by aspect."""

    id: str
    dataset: str
    query: str
    gold: str
    answers: tuple[str, str]
    human: Mapping[str, float]
    published: Mapping[str, tuple[float, float]]


def reference_pair(folder: Path) -> dict[str, Any]:
    """Largest difference of our metrics from those of the tool's example, per question and of the rounded means."""
    records = read_ragchecker(folder / "checking_outputs.json")
    ours = [ragchecker(found) for record in records if (found := record.entailment()) is not None]
    if len(ours) != len(records) or not records:
        raise InputError(f"{folder / 'checking_outputs.json'}: {len(records) - len(ours)} of {len(records)} results have no labels")
    rows = list(zip(records, ours, strict=True))
    differences = [abs(mine[name] - value) for record, mine in rows for name, value in (record.metrics or {}).items()]
    theirs = overall([record.metrics for record in records if record.metrics is not None])
    blocks = overall(ours)
    means = [abs(blocks[block][name] - value) for block, values in theirs.items() for name, value in values.items()]
    return {"questions": len(records), "values": len(differences), "largest_difference": max(differences), "largest_of_means": max(means)}


def read_instances(folder: Path) -> list[Instance]:
    """The compared answers, sorted by id. Raises InputError on missing files or records of another form."""
    labels: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for _, row in _rows(folder / "human_labels.jsonl.gz"):
        labels[str(row["instance_id"])].append(row)
    scores = {str(row["instance_id"]): row for _, row in _rows(folder / "ragchecker_scores.jsonl.gz")}
    instances = []
    for name, rows in sorted(labels.items(), key=lambda item: int(item[0])):
        first, tool = rows[0], scores[name]
        human = {aspect: sum(row[aspect] for row in rows) / len(rows) for aspect in ASPECTS}
        published = {aspect: tuple(tool[model]["ragchecker"][aspect] for model in ("model1", "model2")) for aspect in ASPECTS}
        answers = tuple(first[model]["response"] for model in ("model1", "model2"))
        instances.append(Instance(name, first["dataset"], first["query"], first["gt_answer"], answers, human, published))
    return instances


def _rows(path: Path) -> list[tuple[str, dict[str, Any]]]:
    rows = list(read_records(path))
    for _, row in rows:
        if isinstance(row, BadRecord):
            raise InputError(str(row))
    return rows


Pairs = list[dict[str, tuple[float, float]]]


def score_instances(
    instances: Sequence[Instance], checker: Checker | None, extractor: Any, matrices: Path | None = None
) -> tuple[Pairs, Pairs | None]:
    """Two scores by aspect for every instance, from labels and from probabilities (None where the judge gives none).

    With a file of matrices, what it holds is not judged again. Raises InputError where the judge failed on an answer.
    """
    responses = [
        Response(f"{one.id}-{place}", one.query, text, one.gold) for one in instances for place, text in enumerate(one.answers, start=1)
    ]
    if matrices is not None:
        checked = check_stored(responses, checker, matrices, extractor)
    else:
        assert checker is not None
        checked = check(responses, checker, extractor)
    hard = []
    for row in checked:
        entailment = row.entailment()
        if entailment is None:
            raise InputError(f"response {row.id}: the judge failed on {row.failed} cells; run again, or choose another judge")
        hard.append(ragchecker(entailment))
    soft = [expected_scores(row) for row in checked]
    return _pairs(hard), _pairs([row for row in soft if row]) if all(soft) else None


def _pairs(values: Sequence[Mapping[str, float]]) -> Pairs:
    both = zip(values[::2], values[1::2], strict=True)
    return [{aspect: (first[metric], second[metric]) for aspect, metric in ASPECTS.items()} for first, second in both]


def expected_scores(row: Checked) -> dict[str, float] | None:
    """Precision, recall and their harmonic mean with the probability of entailment in place of the label; None without probabilities."""
    shares = []
    for name in ("answer2response", "response2answer"):
        matrix = row.matrices[name]
        cells = [cell for line in matrix.probabilities or () for cell in line]
        if matrix.labels and any(cell is None for cell in cells or [None]):
            # An empty answer entails nothing for certain, and was not judged.
            if not all(label == "neutral" for line in matrix.labels for label in line):
                return None
            cells = []
        shares.append(sum(cell[0] for cell in cells if cell) / len(cells) if cells else 0.0)
    precision, recall = shares
    f1 = 2 * precision * recall / (precision + recall) if precision and recall else 0.0
    return {"precision": precision, "recall": recall, "f1": f1}


def correlation(scores: Sequence[tuple[float, float]], human: Sequence[float], draws: int = 2000) -> dict[str, Any]:
    """Pearson's and Spearman's correlation of score differences with labels, with a 95% bootstrap interval of Pearson's over instances."""
    difference = torch.tensor([second - first for first, second in scores], dtype=torch.float64)
    label = torch.tensor(human, dtype=torch.float64)
    samples = resampled_pearson(difference, label, bootstrap_weights(len(label), draws))
    defined = samples[~samples.isnan()]
    quantiles = torch.tensor([0.025, 0.975], dtype=torch.float64)
    interval = torch.quantile(defined, quantiles).tolist() if defined.numel() else None
    return {"pearson": pearson(difference, label), "interval": interval, "spearman": spearman(difference, label)}


def human_agreement(instances: Sequence[Instance], scores: Mapping[str, Pairs | None]) -> dict[str, Any]:
    """By aspect and name of the scores: their correlations with people; the tool's own scores join as `tool`."""
    agreement: dict[str, Any] = {}
    for aspect, metric in ASPECTS.items():
        human = [one.human[aspect] for one in instances]
        found = {name: correlation([row[aspect] for row in rows], human) for name, rows in scores.items() if rows is not None}
        agreement[aspect] = {"metric": metric, **found, "tool": correlation([one.published[aspect] for one in instances], human)}
    return agreement


def main(
    data: str,
    checker: str = "verifier-minilm",
    sample: int | None = None,
    seed: int = 0,
    matrices: str | None = None,
    rescore: bool = False,
    json: str | None = None,
) -> None:
    """Checks our RAGChecker metrics against the tool's, and our scores against people.

    Args:
        data: folder with `checking_outputs.json`, `human_labels.jsonl.gz` and `ragchecker_scores.jsonl.gz`.
        checker: relation verifier, or `chat:NAME` for a chat model such as `chat:smollm2`.
        sample: take so many instances at random, by default all. A larger sample of one seed holds the smaller ones.
        seed: of the sample.
        matrices: keep the judgements in this file, and do not judge again what it holds.
        rescore: ask no model; every judgement must be in the file of matrices.
        json: also write the numbers to this file.
    """
    folder = Path(data)
    pair = reference_pair(folder)
    instances = read_instances(folder)
    if sample is not None:
        random.Random(seed).shuffle(instances)
        instances = instances[:sample]
    if rescore and matrices is None:
        raise InputError("--rescore needs --matrices FILE, the judgements to score")
    judge, extractor = (None, None) if rescore else open_checker(checker)
    ours, expected = score_instances(instances, judge, extractor, Path(matrices) if matrices else None)
    result = {
        "checker": checker,
        "reference_pair": pair,
        "instances": len(instances),
        "seed": seed if sample is not None else None,
        "agreement": human_agreement(instances, {"ours": ours, "ours, probabilities": expected}),
    }
    if json is not None:
        write_json_lines(json, [result])
    _print(result)


def _print(result: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console, pair = Console(), result["reference_pair"]
    console.print(
        f"reference pair: {pair['values']} values of {pair['questions']} questions, largest difference {pair['largest_difference']:.1e}, "
        f"of the means {pair['largest_of_means']:.1e}"
    )
    title = f"correlation with people, {result['instances']} pairs of answers, judge {result['checker']}"
    table = Table("label", "metric", "scores", "Pearson", "95% interval", "Spearman", title=title)
    for aspect, row in result["agreement"].items():
        for who in (name for name in row if name != "metric"):
            table.add_row(aspect.removesuffix("_label"), row["metric"], who, *_cells(row[who]))
    console.print(table)


def _cells(row: Mapping[str, Any]) -> list[str]:
    interval = "-" if row["interval"] is None else "{:.3f} to {:.3f}".format(*row["interval"])
    return [
        "-" if row["pearson"] is None else f"{row['pearson']:.3f}",
        interval,
        "-" if row["spearman"] is None else f"{row['spearman']:.3f}",
    ]


if __name__ == "__main__":
    import sys

    from arbgraph.chat.base import ChatError
    from arbgraph.checkpoint import CheckpointError

    try:
        auto_cli(main, as_positional=False)
    except (InputError, CheckpointError, ChatError) as error:
        sys.exit(f"error: {error}")
