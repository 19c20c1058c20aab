"""Tables of results with intervals and tests, from result files alone: `python -m eval.compare RESULT... --reference NAME`.

A RESULT is a result file of `eval.ablation`, a folder of them, or the output folder of `eval.answers`. All must be about the same
questions. A metric is either a mean of one value per question (paired bootstrap interval, paired permutation test on the
questions where both have a value) or a pooled number over claims (F1 of the accepted set, AUROC, Brier; both tests take the
question as the unit). The p are Holm-corrected over all comparisons of one table; stars: * p < 0.05, ** p < 0.01, *** p < 0.001.
Published numbers stand beside ours and take part in no test.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import torch

from arbgraph.io import BadRecord, InputError, read_records, write_json_lines
from eval.metrics.calibration import brier_score
from eval.metrics.credibility import COMPARED, Scored, accepted_set, compare
from eval.metrics.ranking import auroc
from eval.metrics.significance import DRAWS, Difference, bootstrap_weights, compare_questions, holm, sign_flips
from eval.study import Published

Format = Literal["terminal", "markdown", "csv", "latex"]
POOLED = {"f1": "F1", "auroc": "AUROC", "brier": "Brier"}
STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))


@dataclass(frozen=True)
class Result:
    """One run: values per question (None where undefined), and scored claims by scope where there are any."""

    name: str
    questions: tuple[str, ...]
    values: dict[str, list[float | None]]
    claims: dict[str, Scored] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def metrics(self) -> list[str]:
        """Names of everything that can be shown: pooled numbers first."""
        return [*(f"{POOLED[m]} ({scope})" for scope in self.claims for m in COMPARED), *self.values]

    def by_question(self, metric: str) -> dict[str, float | None]:
        """Question id -> value."""
        return dict(zip(self.questions, self.values[metric], strict=True))


@dataclass(frozen=True)
class Cell:
    """A number of a run, how many questions it is over, and its difference from the reference with the corrected p."""

    value: float | None
    n: int
    difference: Difference | None = None
    p: float | None = None
    p_holm: float | None = None

    @property
    def stars(self) -> str:
        return next((stars for limit, stars in STARS if self.p_holm is not None and self.p_holm < limit), "")


@dataclass(frozen=True)
class Comparison:
    """All cells of a table: `cells[run][metric]`."""

    reference: str
    runs: tuple[str, ...]
    metrics: tuple[str, ...]
    cells: dict[str, dict[str, Cell]]
    questions: int
    published: tuple[Published, ...] = ()


def load_results(source: str | Path) -> list[Result]:
    """The results of a file or folder, in the order of their names. Raises InputError on anything else."""
    path = Path(source)
    if (path / "metrics.json").is_file():
        return [_of_answers(path)]
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not files:
        raise InputError(f"{path}: holds no result file")
    return [_of_run(file) for file in files]


def _of_answers(folder: Path) -> Result:
    """The output folder of `eval.answers`; the run is named after the folder."""
    for where, row in read_records(folder / "metrics.json"):
        try:
            about = {"set": row["benchmark"], "split": row["split"], "system": row["system"]}
            return Result(folder.name, tuple(row["questions"]), row["values"], about=about)
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{where}: no scores of eval.answers ({error!r}); score the run anew with --rescore") from None
    raise InputError(f"{folder / 'metrics.json'}: is empty")


def _of_run(path: Path) -> Result:
    for where, row in read_records(path):
        try:
            if isinstance(row, BadRecord):
                raise InputError(str(row))
            claims = {
                scope: Scored(
                    torch.tensor(part["score"], dtype=torch.float64),
                    torch.tensor(part["accepted"], dtype=torch.bool),
                    torch.tensor(part["label"], dtype=torch.float64),
                    _numbered(part["question"]),
                )
                for scope, part in row["claims"].items()
            }
            about = {name: row[name] for name in ("set", "split", "study", "spec", "base", "counts")}
            return Result(row["run"], tuple(row["questions"]), row["values"], claims, about)
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{where}: no result of eval.ablation ({error!r})") from None
    raise InputError(f"{path}: is empty")


def _numbered(question: list[int]) -> torch.Tensor:
    """Question numbers 0..Q-1 without gaps, in order."""
    return torch.unique(torch.tensor(question, dtype=torch.long), return_inverse=True)[1]


def build(
    results: Sequence[Result],
    reference: str,
    metrics: Sequence[str] | None = None,
    published: Sequence[Published] = (),
    draws: int = DRAWS,
    seed: int = 0,
) -> Comparison:
    """Every run against the reference on every metric. Raises InputError when the runs are about different questions."""
    by_name = {result.name: result for result in results}
    if len(by_name) != len(results):
        twice = next(result.name for result in results if sum(r.name == result.name for r in results) > 1)
        raise InputError(f"run {twice!r} is given twice")
    if reference not in by_name:
        raise InputError(f"reference {reference!r} is none of the runs; choose one of {', '.join(by_name)}")
    base = by_name[reference]
    for result in results:
        if result.questions != base.questions:
            raise InputError(
                f"runs {reference!r} and {result.name!r} are about different questions, so they cannot be paired; "
                "--common true compares on those that both have"
            )
    names = tuple(dict.fromkeys(m for r in results for m in r.metrics)) if metrics is None else tuple(metrics)
    unknown = [name for name in names if not any(name in r.metrics for r in results)]
    if unknown:
        raise InputError(f"metric {unknown[0]!r} is in none of the results; they hold {', '.join(base.metrics)}")
    cells = {r.name: {m: _cell(r, None if r is base else base, m, draws, seed) for m in names if m in r.metrics} for r in results}
    places = [(run, metric) for run in cells for metric in cells[run] if cells[run][metric].p is not None]
    for (run, metric), p in zip(places, holm([cells[run][metric].p for run, metric in places]), strict=True):
        cells[run][metric] = Cell(**{**vars(cells[run][metric]), "p_holm": p})
    order = (reference, *(name for name in by_name if name != reference))
    return Comparison(reference, order, names, cells, len(base.questions), tuple(published))


def _cell(result: Result, reference: Result | None, metric: str, draws: int, seed: int) -> Cell:
    if metric in result.values:
        return _mean_cell(result, reference, metric, draws, seed)
    name, _, scope = metric.partition(" (")
    claims, kind = result.claims[scope[:-1]], next(m for m in COMPARED if POOLED[m] == name)
    value = {
        "f1": lambda: accepted_set(claims.accepted, claims.label)["f1"],
        "auroc": lambda: auroc(claims.score, claims.label),
        "brier": lambda: brier_score(claims.score, claims.label),
    }[kind]()
    if reference is None or not claims.questions:
        return Cell(value, claims.questions)
    weights, flips = bootstrap_weights(claims.questions, draws, seed), sign_flips(claims.questions, draws, seed)
    found = compare(claims, reference.claims[scope[:-1]], kind, weights, flips)
    return Cell(value, claims.questions, *(found or (None, None)))


def _mean_cell(result: Result, reference: Result | None, metric: str, draws: int, seed: int) -> Cell:
    values = result.by_question(metric)
    defined = [value for value in values.values() if value is not None]
    mean = sum(defined) / len(defined) if defined else None
    found = None
    if reference is not None and metric in reference.values:
        found = compare_questions(values, reference.by_question(metric), draws=draws, seed=seed)
    return Cell(mean, len(defined), found and found.difference, found and found.p_permutation)


# Tables


def rows_of(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of the table as text."""
    shown = [metric for metric in comparison.metrics if any(metric in comparison.cells[run] for run in comparison.runs)]
    extra = list(dict.fromkeys(row.metric for row in comparison.published))
    heads = ["run", *shown, *(f"{metric} (published)" for metric in extra)]
    given = {(row.run, row.metric): row.value for row in comparison.published}
    rows = []
    for run in comparison.runs:
        cells = [cell_text(comparison.cells[run].get(metric)) for metric in shown]
        rows.append([run, *cells, *(f"{given[run, m]:g}" if (run, m) in given else "-" for m in extra)])
    return heads, rows


def cell_text(cell: Cell | None) -> str:
    """`0.812 +0.013 [-0.002, +0.028]*`: value, difference from the reference with its 95% interval, stars."""
    if cell is None or cell.value is None:
        return "-"
    digits = 3 if abs(cell.value) < 10 else 1
    text = f"{cell.value:.{digits}f}"
    if cell.difference is None:
        return text
    d = cell.difference
    return f"{text} {d.difference:+.{digits}f} [{d.low:+.{digits}f}, {d.high:+.{digits}f}]{cell.stars}"


def render(comparison: Comparison, form: Format) -> str:
    """The table as Markdown, CSV or LaTeX."""
    heads, rows = rows_of(comparison)
    if form == "csv":
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerows([heads, *rows])
        return buffer.getvalue()
    if form == "latex":
        lines = [" & ".join(_latex(text) for text in row) + r" \\" for row in [heads, *rows]]
        spec = "l" + "r" * (len(heads) - 1)
        return "\n".join(
            [rf"\begin{{tabular}}{{{spec}}}", r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule", r"\end{tabular}", ""]
        )
    bars = ["| " + " | ".join(text.replace("|", r"\|") for text in row) + " |" for row in [heads, ["---"] * len(heads), *rows]]
    return "\n".join([*bars, ""])


def _latex(text: str) -> str:
    return "".join({"_": r"\_", "%": r"\%", "&": r"\&", "#": r"\#", "$": r"\$"}.get(c, c) for c in text)


def print_comparison(
    results: Sequence[Result], reference: str, published: Sequence[Published] = (), metrics: Sequence[str] | None = None
) -> None:
    """The table on the terminal, a block of metrics at a time."""
    from rich.console import Console
    from rich.table import Table

    comparison = build(results, reference, metrics, published)
    heads, rows = rows_of(comparison)
    console = Console()
    name = results[0].about.get("set", "")
    for start in range(1, len(heads), 3):
        table = Table(heads[0], *heads[start : start + 3], title=f"{name} against {reference}, {comparison.questions} questions")
        for row in rows:
            table.add_row(row[0], *row[start : start + 3])
        console.print(table)
    console.print("Differences with 95% bootstrap intervals over questions; * p < 0.05, ** p < 0.01, *** p < 0.001 (permutation, Holm).")


def on_common_questions(results: Sequence[Result], prefixes: Mapping[str, str]) -> list[Result]:
    """The results cut to the questions that all of them have, in the order of the first; ids are put in terms of each other by `prefixes`.

    For runs on questions and on questions derived from them: `{"ramdocs-amp-": "ramdocs-"}` reads `ramdocs-amp-7` as `ramdocs-7`.
    Raises InputError on results with pooled claims, where two ids become one, and where no question is common.
    """
    renamed = []
    for result in results:
        if result.claims:
            raise InputError(f"run {result.name!r} holds claims pooled over questions, which cannot be cut; give outputs of eval.answers")
        ids = [next((new + one.removeprefix(old) for old, new in prefixes.items() if one.startswith(old)), one) for one in result.questions]
        if len(set(ids)) < len(ids):
            raise InputError(f"run {result.name!r}: two questions get the same id by {dict(prefixes)}")
        renamed.append(replace(result, questions=tuple(ids)))
    everywhere = set[str].intersection(*(set(result.questions) for result in renamed))
    common = [one for one in renamed[0].questions if one in everywhere]
    if not common:
        raise InputError("the runs have no question in common; --prefixes says how ids of derived questions begin")
    values = [{name: [by_id[one] for one in common] for name in r.values for by_id in [r.by_question(name)]} for r in renamed]
    return [replace(result, questions=tuple(common), values=cut) for result, cut in zip(renamed, values, strict=True)]


def to_records(comparison: Comparison) -> list[dict[str, Any]]:
    """Every cell as a JSON record."""
    return [
        {"run": run, "metric": metric, "reference": comparison.reference, **asdict(cell)}
        for run in comparison.runs
        for metric, cell in comparison.cells[run].items()
    ]


def main(
    results: list[Path],
    reference: str,
    metrics: list[str] | None = None,
    common: bool = False,
    prefixes: dict[str, str] | None = None,
    format: Format = "terminal",
    out: Path | None = None,
    json: Path | None = None,
) -> None:
    """Compares runs with a reference run.

    Args:
        results: result files, folders of them, or output folders of `eval.answers`.
        reference: the run that the others are compared with.
        metrics: which metrics; all by default.
        common: compare on the questions that all runs have, where they are about different ones.
        prefixes: beginnings of question ids to read as others, so that derived questions meet those that they derive from.
        format: of the table.
        out: write the table to this file.
        json: write every cell as a JSON line to this file.
    """
    loaded = [result for source in results for result in load_results(source)]
    if common or prefixes:
        loaded = on_common_questions(loaded, prefixes or {})
    if json is not None:
        write_json_lines(json, to_records(build(loaded, reference, metrics)))
    if format == "terminal":
        print_comparison(loaded, reference, metrics=metrics)
        return
    text = render(build(loaded, reference, metrics), format)
    if out is not None:
        out.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    from jsonargparse import auto_cli

    try:
        auto_cli(main, as_positional=False)
    except InputError as error:
        sys.exit(f"error: {error}")
