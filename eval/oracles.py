"""What the documents' own labels would answer: `python -m eval.oracles --root DATA [--benchmark ramdocs] [--json OUT]`.

Bounds that belong beside every system on a benchmark whose documents are labelled and carry an answer: the answers of all correct documents
(the ceiling of arbitration), of all documents but noise (perfect reading, no arbitration), and the one answer that most of those documents
give. On a tie `majority` takes a gold answer where one is among the most frequent, as counting in the order of a file does that lists
correct documents first; `sole majority` answers nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from jsonargparse import auto_cli

from arbgraph.io import InputError, write_json_lines
from eval.benchmarks.base import Item
from eval.benchmarks.registry import UnknownBenchmarkError, open_benchmark
from eval.metrics.answers import normalise_answer
from eval.metrics.table import Scored, score

ORACLES = ("correct documents", "all but noise", "majority", "sole majority")
METRICS = ("em_strict", "em_substring", "em_clean", "set_f1")


def oracle_answers(item: Item) -> dict[str, tuple[str, ...]]:
    """The short answers of every oracle, each once, in the order of document ids. The majority is counted after normalisation."""
    known = sorted(item.labels.keys() & item.answers.keys())
    correct = [item.answers[name] for name in known if item.labels[name] == "correct"]
    told = [item.answers[name] for name in known if item.labels[name] != "noise"]
    votes = Counter(map(normalise_answer, told))
    most = [answer for answer, count in votes.items() if count == max(votes.values())]
    gold = {normalise_answer(alias) for group in item.gold for alias in group}
    favoured = sorted(most, key=lambda answer: (answer not in gold, answer))[:1]
    answers = (correct, told, favoured, most if len(most) == 1 else [])
    return {name: tuple(dict.fromkeys(given)) for name, given in zip(ORACLES, answers, strict=True)}


def evaluate(items: Sequence[Item]) -> dict[str, Any]:
    """Metrics of every oracle over the items. Raises InputError where no document has a label and an answer."""
    given = [(item, oracle_answers(item)) for item in items]
    if not any(answers[ORACLES[1]] for _, answers in given):
        raise InputError("no document of this benchmark has both a label and an answer, so there is no oracle")
    result: dict[str, Any] = {"questions": len(items)}
    for name in ORACLES:
        rows = [Scored(item.query.id, gold=item.gold, wrong=item.wrong, predicted=answers[name]) for item, answers in given]
        result[name] = {metric: {"value": mean.value, "n": mean.n} for metric, mean in score(rows, METRICS).means.items()}
    return result


def main(root: str, benchmark: str = "ramdocs", splits: list[str] | None = None, json: str | None = None) -> None:
    """Scores the oracles of a benchmark.

    Args:
        root: folder of the data.
        benchmark: by name.
        splits: taken together; by default all.
        json: also write the numbers to this file.
    """
    from pathlib import Path

    from rich.console import Console
    from rich.table import Table

    chosen = open_benchmark(benchmark)
    unknown = sorted(set(splits or ()) - set(chosen.splits))
    if unknown:
        raise InputError(f"{benchmark} has no split {unknown[0]!r}; choose among {', '.join(chosen.splits)}")
    items = [item for split in splits or chosen.splits for item in chosen.read(Path(root) / chosen.folder, split)]
    result = {"benchmark": benchmark, "splits": splits or list(chosen.splits), **evaluate(items)}
    if json is not None:
        write_json_lines(json, [result])
    table = Table("oracle", *METRICS, title=f"{benchmark}, {result['questions']} questions")
    for name in ORACLES:
        values = [result[name][metric] for metric in METRICS]
        table.add_row(name, *("-" if one["value"] is None else f"{100 * one['value']:.1f} (n {one['n']})" for one in values))
    Console().print(table)


if __name__ == "__main__":
    import sys

    try:
        auto_cli(main, as_positional=False)
    except (InputError, UnknownBenchmarkError) as error:
        sys.exit(f"error: {error}")
