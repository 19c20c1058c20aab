"""Every system on the same questions with the same model: `python -m eval.side_by_side --config FILE --out DIR` (`configs/systems/`).

Each system becomes a run folder `DIR/NAME`, as `eval.answers` writes it, and can be gone on with, scored anew, or compared with intervals
(`eval.compare`). A system may have fewer questions than the others (evenly spaced among the same ones), which the table shows.
A system that cannot run at all is listed with the reason, and the others go on.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser

from arbgraph.chat.base import ChatError, ChatModel
from arbgraph.checkpoint import CheckpointError
from arbgraph.io import InputError, write_json_lines
from arbgraph.models import ModelNotFoundError
from arbgraph.systems import System, UnknownSystemError, open_system, systems
from eval.answers import USER_ERRORS
from eval.runner import ASKS, RunConfig, run


@dataclass(frozen=True)
class Entry:
    """How one system departs from the rest: its options, its number of questions, what it is told of the documents."""

    options: dict[str, Any] = field(default_factory=dict)
    limit: int | None = None
    credibility: str = "none"


@dataclass(frozen=True)
class SideBySide:
    """What is compared.

    Args:
        benchmark, split, root: the questions.
        limit: how many of them, unless a system has a number of its own.
        chat, chat_options: the model of all systems that ask one.
        systems: name -> what is special about it; the order of the table.
        metrics: names of the quality metrics of the table.
        batch_size: questions that a system gets at once.
    """

    benchmark: str
    systems: dict[str, Entry]
    split: str | None = None
    root: str = "data"
    limit: int | None = None
    chat: str = "smollm2"
    chat_options: dict[str, Any] = field(default_factory=dict)
    metrics: tuple[str, ...] = ("em_strict", "set_f1")
    batch_size: int = 8


COSTS = ("calls", "prompt_tokens", "completion_tokens")


def config_for(plan: SideBySide, name: str) -> RunConfig:
    """The run of one system. Raises InputError."""
    entry = plan.systems[name]
    asks = name in systems() and bool(ASKS & set(systems()[name].needs))
    return RunConfig(
        benchmark=plan.benchmark,
        system=name,
        system_options=entry.options,
        chat=plan.chat if asks else "none",
        chat_options=plan.chat_options if asks else {},
        split=plan.split,
        limit=entry.limit or plan.limit,
        root=plan.root,
        credibility=entry.credibility,  # pyright: ignore[reportArgumentType]
        metrics=[*plan.metrics, *COSTS],
        batch_size=plan.batch_size,
        max_failed=1.0,
    )


def row_of(folder: Path) -> dict[str, Any]:
    """The line of a finished run. Raises InputError where the folder holds none."""
    path = folder / "metrics.json"
    if not path.is_file():
        raise InputError(f"{folder}: holds no finished run")
    found = json.loads(path.read_text(encoding="utf-8"))
    timings = [json.loads(line)["seconds"] for line in (folder / "timings.jsonl").read_text(encoding="utf-8").splitlines()]
    return {
        "system": found["system"],
        "questions": found["items"],
        "failed": found["failed"]["count"],
        "reasons": found["failed"]["reasons"],
        **{name: mean["value"] for name, mean in found["means"].items()},
        "seconds": sum(timings) / len(timings) if timings else None,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line, or `arguments` in its place; returns the exit status: 1 when a system could not run at all."""
    parser = ArgumentParser(prog="python -m eval.side_by_side", description="Every system on the same questions with the same model.")
    parser.add_argument("--config", action="config", help="YAML file of the flags below")
    parser.add_class_arguments(SideBySide, as_group=False)
    parser.add_argument("--only", type=list[str] | None, default=None, help="run these systems of the plan and show all that are done")
    parser.add_argument("--out", required=True, metavar="DIR", help="one run folder per system")
    parser.add_argument("--json", type=str | None, default=None, metavar="OUT", help="write the table here, one line per system")
    values = parser.parse_args(arguments).as_dict()
    entries = {name: Entry(**entry) for name, entry in values["systems"].items()}
    plan = SideBySide(**{name: values[name] for name in SideBySide.__dataclass_fields__ if name != "systems"}, systems=entries)
    try:
        refused = run_all(plan, Path(values["out"]), values["only"])
    except USER_ERRORS as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    rows = [row_of(Path(values["out"]) / name) for name in plan.systems if (Path(values["out"]) / name / "metrics.json").is_file()]
    if values["json"]:
        write_json_lines(values["json"], rows)
    show(rows, refused, plan.metrics)
    return 1 if refused else 0


def run_all(plan: SideBySide, out: Path, only: Sequence[str] | None = None) -> dict[str, str]:
    """Runs the systems one after the other; returns those that could not run, with the reason. The chat model is opened once."""
    from rich.console import Console

    unknown = sorted(set(only or ()) - set(plan.systems))
    if unknown:
        raise InputError(f"system {unknown[0]!r} is not in the plan; it holds {', '.join(plan.systems)}")
    console, chats, refused = Console(stderr=True), _Chats(), {}
    for name in only or plan.systems:
        config = config_for(plan, name)
        console.print(f"{name} ...", highlight=False)
        try:
            run(config, out / name, system=_system(config, chats))
        except (ChatError, CheckpointError, ModelNotFoundError, UnknownSystemError, InputError) as error:
            refused[name] = str(error)
    return refused


class _Chats:
    """Chat models by what opens them, so that all systems share one."""

    def __init__(self) -> None:
        self._open: dict[str, ChatModel | None] = {}

    def of(self, config: RunConfig) -> ChatModel | None:
        from arbgraph.chat.load import open_chat

        key = json.dumps([config.chat, config.chat_options], sort_keys=True)
        if key not in self._open:
            self._open[key] = open_chat(config.chat, **config.chat_options)
        return self._open[key]


def _system(config: RunConfig, chats: _Chats) -> System:
    chat = chats.of(config)
    options = dict(config.system_options) | ({} if chat is None else {"chat": chat})
    try:
        return open_system(config.system, **options)
    except (TypeError, ValueError) as error:
        raise InputError(f"system {config.system}: {error}") from error


def show(rows: Sequence[Mapping[str, Any]], refused: Mapping[str, str], metrics: Sequence[str]) -> None:
    """Prints the table: quality, and cost per question."""
    from rich.console import Console
    from rich.table import Column, Table

    console, heads = Console(), ("questions", "failed", *metrics, *COSTS, "seconds")
    table = Table(Column("system", no_wrap=True, min_width=max((len(str(row["system"])) for row in rows), default=6)))
    for head in heads:
        table.add_column(head.replace("_", " "))
    for row in rows:
        quality = (_number(row.get(name), 3) for name in metrics)
        cost = (_number(row.get(name), 1) for name in (*COSTS, "seconds"))
        table.add_row(str(row["system"]), str(row["questions"]), str(row["failed"]), *quality, *cost)
    console.print(table)
    for row in rows:
        for reason, count in list(row["reasons"].items())[:2]:
            console.print(f"{row['system']}: {count} x {reason}", markup=False, soft_wrap=True)
    for name, reason in refused.items():
        console.print(f"{name} could not run: {reason}", markup=False, soft_wrap=True)


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


if __name__ == "__main__":
    sys.exit(main())
