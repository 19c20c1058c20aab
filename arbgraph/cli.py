"""The command line: `arbgraph arbitrate | show | verify | export`.

Exit codes: 0 success, 1 an unexpected failure, 2 wrong usage or data (bad records of a batch included).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from arbgraph.io import BadRecord, InputError, open_text, read_pairs, read_queries, read_records, to_json_line, whole_file, write_json_lines
from arbgraph.settings import PROFILES, Settings, SettingsError, load_settings

if TYPE_CHECKING:
    from rich.console import Console

    from arbgraph.pipeline import ArbGraph
    from arbgraph.schema import Arbitration, Query

CHUNK = 16  # queries per call of the pipeline: enough to batch a round, small enough for steady progress


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit code. Errors in usage and data go to standard error, one line each."""
    from jsonargparse import ArgumentParser

    parser = ArgumentParser(prog="arbgraph", description="Conflict-aware evidence arbitration for retrieval-augmented generation.")
    commands = parser.add_subcommands(dest="command")
    for command, (_, options, description) in COMMANDS.items():
        sub = ArgumentParser(description=description)
        options(sub)
        commands.add_subcommand(command, sub, help=description)
    given = list(sys.argv[1:] if arguments is None else arguments)
    values = parser.parse_args(given)
    run = COMMANDS[values.command][0]
    try:
        return run(**values[values.command].as_dict())
    except (InputError, SettingsError) as error:
        return _fail(error)
    except LookupError as error:
        from arbgraph.models import ModelNotFoundError

        if isinstance(error, ModelNotFoundError):
            return _fail(error)
        raise
    except ValueError as error:
        from arbgraph.checkpoint import CheckpointError

        if isinstance(error, CheckpointError):
            return _fail(error)
        raise
    except BrokenPipeError:  # the reader of a pipe has gone, as in `arbgraph show x | head`
        sys.stderr.close()
        return 0


def _fail(error: object) -> int:
    _console(stderr=True).print(f"[bold red]error[/]: {_escape(error)}", soft_wrap=True)
    return 2


def _escape(value: object) -> str:
    from rich.markup import escape

    return escape(str(value))


def _console(*, stderr: bool = False) -> Console:
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)


# arbitrate


def _arbitrate_options(parser: Any) -> None:
    parser.add_argument("input", type=str, help="queries with documents: .json or .jsonl, either gzipped, or - for standard input")
    parser.add_argument("--settings", type=str, default="default", help=f"profile ({', '.join(PROFILES)}) or YAML file")
    parser.add_argument("--json", type=str | None, default=None, help="write one JSON line per query to this file; - for standard output")
    parser.add_argument("--quiet", action="store_true", help="no terminal view and no progress")
    parser.add_argument("--strict", action="store_true", help="stop at the first bad record instead of reporting it and going on")
    parser.add_argument("--propagation", type=str | None, default=None, help="fitted propagation: name or folder; replaces the thresholds")
    parser.add_argument("--arbitrator", type=str | None, default=None, help="learned arbitrator: name or folder")


def arbitrate(
    input: str, settings: str, json: str | None, quiet: bool, strict: bool, propagation: str | None, arbitrator: str | None
) -> int:
    """Arbitrates every query of a file. Results appear under their name when all are written; a killed run resumes."""
    options = load_settings(settings)
    messages = _console(stderr=True)
    queries, bad = [], []
    for item in read_queries(input, max_document_chars=options.max_document_chars):
        if isinstance(item, BadRecord):
            if strict:
                raise InputError(str(item))
            bad.append(item)
            messages.print(f"[yellow]skipped[/] {_escape(item)}", soft_wrap=True)
        else:
            queries.append(item)
    if not queries:
        raise InputError(f"{input}: no usable record ({len(bad)} refused)")
    show = not quiet and json != "-"
    total = _Totals()
    from arbgraph.pipeline import ArbGraph

    system = ArbGraph(options, propagation=propagation, arbitrator=arbitrator)
    with _Sink(json, queries, {"settings": system.settings.model_dump(mode="json"), "models": system.models}) as sink:
        todo = [query for query in queries if query.id not in sink.done]
        if sink.done and not quiet:
            messages.print(f"resuming: {len(sink.done)} of {len(queries)} queries are done")
        for arbitration in _run(system, todo, progress=not quiet and len(todo) > 1):
            sink.write(arbitration)
            total.add(arbitration)
            if show and (len(queries) == 1 or json is None):
                _print_view(arbitration)
    if not quiet and len(queries) > 1:
        messages.print(total.text())
    if bad:
        messages.print(f"[yellow]{len(bad)} of {len(bad) + len(queries)} records were refused; see above[/]")
    return 2 if bad else 0


def _run(system: ArbGraph, queries: list[Query], *, progress: bool) -> Iterator[Arbitration]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("arbitrating"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    with Progress(*columns, console=_console(stderr=True), disable=not progress) as bar:
        task = bar.add_task("arbitrating", total=len(queries))
        remaining = iter(queries)
        while chunk := list(islice(remaining, CHUNK)):
            yield from system.arbitrate(chunk)
            bar.advance(task, len(chunk))


class _Sink:
    """The JSON output: lines are flushed to a `.resume` file and written under the final name, in input order, at the end.

    A run that was killed leaves the `.resume` file; the next run of the same queries with the same settings and models keeps
    its whole lines.
    """

    def __init__(self, target: str | None, queries: list[Query], made_by: dict[str, Any]) -> None:
        self.path = None if target in (None, "-") else Path(str(target))
        self.to_stdout = target == "-"
        self.done: set[str] = set()
        self._made_by = made_by
        self._queries = {query.id: query for query in queries}
        self._order = [query.id for query in queries]

    def __enter__(self) -> _Sink:
        if self.path is not None:
            self.resume = self.path.with_name(self.path.name + ".resume")
            kept = self._kept_lines()
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self.stream = open_text(self.resume, "w", compressed=False)
            except OSError as error:
                raise InputError(f"{self.path}: cannot be written: {error.strerror}") from error
            self.stream.writelines(kept)
            self.stream.flush()
        return self

    def _kept_lines(self) -> list[str]:
        """Whole lines of an earlier run that this run would write again, byte for byte."""
        if not self.resume.exists():
            return []
        kept = []
        for line in self.resume.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True):
            try:
                row = json.loads(line)
            except ValueError:
                continue  # the line that was being written when the run was killed
            query = self._queries.get(row.get("id"))
            if query is not None and line.endswith("\n") and self._same(row, query):
                self.done.add(query.id)
                kept.append(line)
        return kept

    def _same(self, row: dict[str, Any], query: Query) -> bool:
        counts = row.get("diagnostics", {})
        return counts.get("input") == query.digest and {"settings": row.get("settings"), "models": counts.get("models")} == self._made_by

    def write(self, arbitration: Arbitration) -> None:
        line = to_json_line(arbitration.model_dump(mode="json")) + "\n"
        if self.to_stdout:
            sys.stdout.write(line)
        elif self.path is not None:
            self.stream.write(line)
            self.stream.flush()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self.path is None:
            return
        self.stream.close()
        if kind is None:
            lines = {json.loads(line)["id"]: line for line in self.resume.read_text(encoding="utf-8").splitlines(keepends=True)}
            with whole_file(self.path) as stream:  # in the order of the input, compressed when the name says so
                stream.writelines(lines[identifier] for identifier in self._order)
            self.resume.unlink()


class _Totals:
    """What a batch amounted to, for the closing line."""

    def __init__(self) -> None:
        import time

        self.started, self.queries = time.monotonic(), 0
        self.counts = dict.fromkeys(("documents", "claims", "candidate_pairs", "contradiction_edges", "arbitrator_calls"), 0)

    def add(self, arbitration: Arbitration) -> None:
        self.queries += 1
        for name in self.counts:
            self.counts[name] += arbitration.diagnostics.get(name, 0)

    def text(self) -> str:
        import time

        minutes = (time.monotonic() - self.started) / 60
        counted = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in self.counts.items())
        return f"{self.queries} queries in {minutes:.1f} min: {counted}{_peak_memory()}"


def _peak_memory() -> str:
    try:
        import resource
    except ImportError:  # not on Windows
        return ""
    unit = 1 if sys.platform == "darwin" else 1024
    return f"; peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30:.2f} GiB"


# show


def _show_options(parser: Any) -> None:
    parser.add_argument("arbitration", type=str | None, nargs="?", default=None, help="what `arbgraph arbitrate --json` wrote; - for stdin")
    parser.add_argument("--schema", action="store_true", help="print the JSON Schema of an arbitration")
    parser.add_argument("--settings", action="store_true", help="print every setting with its meaning and the profiles' values")
    parser.add_argument("--limit", type=int, default=12, help="claims shown per status")


def show(arbitration: str | None, schema: bool, settings: bool, limit: int) -> int:
    """Renders arbitrations that were written earlier."""
    from pydantic import ValidationError

    from arbgraph.schema import Arbitration

    if schema:
        sys.stdout.write(json.dumps(Arbitration.model_json_schema(), indent=2) + "\n")
    if settings:
        _print_settings()
    if arbitration is None:
        if schema or settings:
            return 0
        raise InputError("name a file that `arbgraph arbitrate --json` wrote, or use --schema or --settings")
    for where, record in read_records(arbitration):
        if isinstance(record, BadRecord):
            raise InputError(str(record))
        try:
            _print_view(Arbitration.model_validate(record), limit)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(part) for part in first["loc"])
            raise InputError(f"{where}: not an arbitration: {field}: {first['msg']}; see `arbgraph show --schema`") from None
    return 0


def _print_view(arbitration: Arbitration, limit: int = 12) -> None:
    from arbgraph.view import render

    _console().print(render(arbitration, limit=limit))


def _print_settings() -> None:
    from rich.table import Table

    profiles = {profile: load_settings(profile) for profile in PROFILES}
    table = Table("setting", "value", "meaning", box=None, padding=(0, 2, 0, 0))
    for name, field in Settings.model_fields.items():
        values = {profile: str(getattr(settings, name)) for profile, settings in profiles.items()}
        same = len(set(values.values())) == 1
        shown = values["default"] if same else "\n".join(f"{value} ({profile})" for profile, value in values.items())
        table.add_row(name, shown, field.description or "")
    _console().print(table)


# verify


def _verify_options(parser: Any) -> None:
    parser.add_argument(
        "pairs", type=str, help='rows {"claim_a","claim_b"} or {"premise","hypothesis"}: .json or .jsonl, gzipped or not, or -'
    )
    parser.add_argument("--json", type=str | None, default=None, help="write the rows with label and probabilities; - for standard output")
    parser.add_argument(
        "--checkpoint", type=str, default="verifier-minilm", help="verifier checkpoint folder, or the name of a shipped one"
    )
    parser.add_argument("--quiet", action="store_true", help="no table")


def verify(pairs: str, json: str | None, checkpoint: str, quiet: bool) -> int:
    """Labels claim pairs: adds `label` and `probabilities` to every row; both orders of a pair give the same."""
    rows, bad = [], []
    for item in read_pairs(pairs):
        (bad if isinstance(item, BadRecord) else rows).append(item)
    messages = _console(stderr=True)
    for record in bad:
        messages.print(f"[yellow]skipped[/] {_escape(record)}", soft_wrap=True)
    if not rows:
        raise InputError(f"{pairs}: no usable pair ({len(bad)} refused)")
    from arbgraph.schema import RELATION_LABELS
    from arbgraph.verifier import RelationVerifier

    verifier = RelationVerifier.load(checkpoint)
    probabilities = verifier.relate([pair for _, pair in rows])
    best = probabilities.argmax(dim=-1).tolist()
    results = [
        {**row, "label": RELATION_LABELS[label], "probabilities": {n: round(p, 6) for n, p in zip(RELATION_LABELS, values, strict=True)}}
        for (row, _), label, values in zip(rows, best, probabilities.tolist(), strict=True)
    ]
    if json == "-":
        sys.stdout.writelines(to_json_line(row) + "\n" for row in results)
    elif json is not None:
        write_json_lines(json, results)
    if not quiet and json != "-":
        _print_pairs([pair for _, pair in rows], results)
    return 2 if bad else 0


def _print_pairs(pairs: list[tuple[str, str]], results: list[dict[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    colours = {"support": "green", "contradict": "red", "neutral": "bright_black"}
    table = Table("claim a", "claim b", "label", "probability")
    for (a, b), row in zip(pairs, results, strict=True):
        label = row["label"]
        table.add_row(Text(a), Text(b), Text(label, style=colours[label]), f"{row['probabilities'][label]:.2f}")
    _console().print(table)


# export


def _export_options(parser: Any) -> None:
    parser.add_argument(
        "checkpoint", type=str, help="checkpoint folder, name of a shipped one, or folder of a Hugging Face pair classifier"
    )
    parser.add_argument("out", type=str, help="new folder to write; an earlier export there is replaced")
    parser.add_argument(
        "--format", type=Literal["merged", "onnx"], default="merged", help="of a verifier; a propagation is always JSON and ONNX"
    )
    parser.add_argument("--int8", action="store_true", help="quantise the ONNX program where that keeps its decisions")
    parser.add_argument("--dev", type=str, nargs="*", default=[], help="labelled pairs (.jsonl, .jsonl.gz, .parquet) that int8 is held to")


def export(checkpoint: str, out: str, format: Literal["merged", "onnx"], int8: bool, dev: list[str]) -> int:
    """Exports a checkpoint for use elsewhere; refuses when outputs differ from the checkpoint's own."""
    from arbgraph.export import export_checkpoint

    report = export_checkpoint(checkpoint, out, format=format, int8=int8, dev=dev)
    console = _console()
    for name, value in report["parity"]["largest_difference"].items():
        console.print(f"{name}: largest difference {value:.2g}")
    if "int8" in report:
        chosen = report["int8"]["tried"][report["int8"]["recipe"]]
        console.print(
            f"int8 ({report['int8']['recipe']}): accuracy {chosen['accuracy']:.3f}, float32 {report['int8']['accuracy_fp32']:.3f}, "
            f"{chosen['decisions_kept']:.1%} of decisions kept on {report['int8']['pairs']} pairs"
        )
    console.print(f"wrote {_escape(out)}: {sum(report['bytes'].values()) / 2**20:.1f} MiB", soft_wrap=True)
    return 0


COMMANDS = {
    "arbitrate": (arbitrate, _arbitrate_options, "settle the conflicts in the documents of each query, and answer from what survives"),
    "show": (show, _show_options, "render arbitrations that were written as JSON"),
    "verify": (verify, _verify_options, "label claim pairs as support, contradict or neutral"),
    "export": (export, _export_options, "write a checkpoint as a Hugging Face folder or ONNX program, parity measured"),
}

if __name__ == "__main__":
    raise SystemExit(main())
