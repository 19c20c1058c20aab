"""Answers of a system to a benchmark, scored: `python -m eval.answers --config configs/eval/ramdocs.yaml --system NAME --out DIR`.

A killed run goes on where it stopped. `accelerate launch -m eval.answers ...` spreads the questions over processes, GPUs and nodes.
`--rescore DIR` scores a stored run again and calls no model. `docs/evaluate.md` describes formats and files.

Exit status: 0; 3 where more questions failed than `max_failed` allows (the results are written); 1 or 2 on an error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from jsonargparse import ArgumentParser, Namespace

from arbgraph.chat.base import ChatError
from arbgraph.checkpoint import CheckpointError
from arbgraph.io import InputError, write_json_lines
from arbgraph.models import ModelNotFoundError
from arbgraph.settings import SettingsError
from arbgraph.systems import UnknownSystemError
from eval.benchmarks import UnknownBenchmarkError
from eval.metrics.table import UnknownMetricError
from eval.runner import Outcome, RunConfig, config_of, rescore, run

USER_ERRORS = (
    InputError, SettingsError, CheckpointError, ChatError, ModelNotFoundError,
    UnknownSystemError, UnknownBenchmarkError, UnknownMetricError,
)  # fmt: skip
TOO_MANY_FAILED = 3
REASONS_SHOWN = 10


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line, or `arguments` in its place; returns the exit status."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    again = any(argument.split("=")[0] == "--rescore" for argument in arguments)
    try:
        options = (_rescore_parser() if again else _parser()).parse_args(arguments)
        outcome = _rescore(options) if again else _run(options)
    except USER_ERRORS as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    if outcome is None:
        return 0
    if options.json is not None:
        write_json_lines(options.json, [outcome.metrics])
    if not options.quiet:
        show(outcome)
    return TOO_MANY_FAILED if outcome.too_many_failed else 0


def _parser() -> ArgumentParser:
    parser = ArgumentParser(prog="python -m eval.answers", description="Runs a system on a benchmark and scores its answers.")
    parser.add_argument("--config", action="config", help="YAML file of the flags below, such as those in configs/eval")
    parser.add_class_arguments(RunConfig, as_group=False)
    parser.add_argument("--out", required=True, metavar="DIR", help="folder of the run; one of a killed run is gone on with")
    parser.add_argument("--overwrite", action="store_true", help="start anew in the folder of another run")
    parser.add_argument("--retry_failed", action="store_true", help="ask again what failed in an earlier sitting")
    return _output_options(parser)


def _rescore_parser() -> ArgumentParser:
    parser = ArgumentParser(prog="python -m eval.answers", description="Scores a stored run again; no model is called.")
    parser.add_argument("--rescore", required=True, metavar="DIR", help="folder of a finished run")
    parser.add_argument("--metrics", type=list[str] | None, default=None, help="names of metrics; by default those of the run")
    parser.add_argument("--root", type=str | None, default=None, help="folder of the benchmark data; by default that of the run")
    return _output_options(parser)


def _output_options(parser: ArgumentParser) -> ArgumentParser:
    parser.add_argument("--json", type=str | None, default=None, metavar="OUT", help="write the scores here as well, on one line")
    parser.add_argument("--quiet", action="store_true", help="neither progress nor tables")
    return parser


def _run(options: Namespace) -> Outcome | None:
    values = options.as_dict()
    config = config_of({name: values[name] for name in RunConfig.__dataclass_fields__}, "command line")
    with _progress(config, quiet=options.quiet) as progress:
        return run(config, options.out, overwrite=options.overwrite, retry_failed=options.retry_failed, progress=progress)


def _rescore(options: Namespace) -> Outcome:
    return rescore(options.rescore, metrics=options.metrics, root=options.root)


@contextmanager
def _progress(config: RunConfig, *, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on standard error with the time that is left; silent on all processes but the first, whose share it shows."""
    if quiet or int(os.environ.get("RANK", "0")):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(f"{config.system} on {config.benchmark}", total=None)
        yield lambda answered, count: bar.update(task, completed=answered, total=count)


def show(outcome: Outcome) -> None:
    """Prints scores, failures and speed."""
    from rich.console import Console
    from rich.table import Table

    found, console = outcome.metrics, Console()
    title = f"{found['system']} on {found['benchmark']}, {found['split']}: {found['items']} questions"
    table = Table("metric", "value", "questions", "undefined", "missing", title=title)
    for name, mean in found["means"].items():
        value = "-" if mean["value"] is None else f"{mean['value']:.4f}"
        missing = ", ".join(f"{field} {count}" for field, count in mean["missing"].items())
        table.add_row(
            f"[bold]{name}[/bold]" if name == found["main_metric"] else name, value, str(mean["n"]), str(mean["undefined"]), missing
        )
    console.print(table)
    failed = found["failed"]
    if failed["count"]:
        console.print(f"{failed['count']} questions failed ({failed['share']:.1%}); they count as unanswered")
        for reason, count in list(failed["reasons"].items())[:REASONS_SHOWN]:
            console.print(f"  {count} x {reason}", markup=False)
    speed = "" if outcome.seconds is None else f", {outcome.seconds:.2f} s per question"
    console.print(f"results in {outcome.folder}{speed}", markup=False, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
