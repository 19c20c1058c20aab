"""What several commands share: consoles, reading queries, chat models by name, progress."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from arbgraph.io import BadRecord, InputError, read_queries, to_json_line, write_json_lines
from arbgraph.settings import CHAT_STAGES, PROFILES, ChatStage, Settings, load_settings

if TYPE_CHECKING:
    from rich.console import Console

    from arbgraph.chat import ChatModel
    from arbgraph.schema import Arbitration, Query

CHUNK = 16  # queries per call of a system: enough to batch a round, small enough for steady progress


def console(*, stderr: bool = False) -> Console:
    """A console for people; messages go to standard error, results to standard output."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)


def escape(value: object) -> str:
    """Text in which rich sees no markup."""
    from rich.markup import escape as escape_markup

    return escape_markup(str(value))


def fail(error: object) -> int:
    """Says what is wrong in one line; returns the exit code of wrong usage or data."""
    console(stderr=True).print(f"[bold red]error[/]: {escape(' '.join(str(error).split()))}", soft_wrap=True)
    return 2


def print_view(arbitration: Arbitration, limit: int = 12) -> None:
    """The terminal view of one arbitration."""
    from arbgraph.view import render

    console().print(render(arbitration, limit=limit))


def write_lines(target: str, rows: Sequence[dict[str, Any]]) -> None:
    """Writes one JSON line per row to a file, whole or not at all; `-` is standard output."""
    if target == "-":
        sys.stdout.writelines(to_json_line(row) + "\n" for row in rows)
    else:
        write_json_lines(target, rows)


# Queries


def query_options(parser: Any) -> None:
    """The flags of a command that works through a file of queries."""
    parser.add_argument("input", type=str, help="queries with documents: .json or .jsonl, either gzipped, or - for standard input")
    parser.add_argument("--json", type=str | None, default=None, help="write one JSON line per query to this file; - for standard output")
    parser.add_argument("--quiet", action="store_true", help="no terminal view and no progress")
    parser.add_argument("--strict", action="store_true", help="stop at the first bad record instead of reporting it and going on")


def usable_queries(source: str, *, max_document_chars: int, strict: bool) -> tuple[list[Query], int]:
    """The queries of a file and the number of records refused, each of which is reported.

    Raises InputError when nothing can be used, and with `strict` at the first bad record.
    """
    queries, refused, messages = [], 0, console(stderr=True)
    for item in read_queries(source, max_document_chars=max_document_chars):
        if isinstance(item, BadRecord):
            if strict:
                raise InputError(str(item))
            refused += 1
            messages.print(f"[yellow]skipped[/] {escape(item)}", soft_wrap=True)
        else:
            queries.append(item)
    if not queries:
        raise InputError(f"{source}: no usable record ({refused} refused)")
    return queries, refused


def report_refused(refused: int, usable: int) -> int:
    """Repeats at the end that records were refused, where it is not scrolled away; returns the exit code."""
    if refused:
        console(stderr=True).print(f"[yellow]{refused} of {refused + usable} records were refused; see above[/]")
    return 2 if refused else 0


def chunks(queries: Sequence[Query]) -> Iterator[Sequence[Query]]:
    """The queries in runs of `CHUNK`."""
    return (queries[start : start + CHUNK] for start in range(0, len(queries), CHUNK))


@contextmanager
def progress(label: str, total: int, *, show: bool) -> Iterator[Any]:
    """Yields `advance(count)` of a progress bar on standard error; a spinner where there is only one query."""
    messages = console(stderr=True)
    if show and total == 1:
        with messages.status(label) as spinner:
            yield lambda count: spinner.stop()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    with Progress(*columns, console=messages, disable=not show) as bar:
        task = bar.add_task(label, total=total)
        yield lambda count: bar.advance(task, count)


def peak_memory() -> str:
    """The peak memory of this process, as the end of a sentence; empty where the system does not tell."""
    try:
        import resource
    except ImportError:  # not on Windows
        return ""
    unit = 1 if sys.platform == "darwin" else 1024
    return f"; peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30:.2f} GiB"


# Models


def model_options(parser: Any) -> None:
    """The flags that say what the pipeline's stages run on."""
    parser.add_argument("--settings", type=str, default="default", help=f"profile ({', '.join(PROFILES)}) or YAML file")
    parser.add_argument("--propagation", type=str | None, default=None, help="fitted propagation: name or folder; replaces the thresholds")
    parser.add_argument(
        "--arbitrator",
        type=str | None,
        default=None,
        help="learned arbitrator: name or folder of an evidence or a language model arbitrator",
    )
    parser.add_argument(
        "--chat",
        type=str,
        default="none",
        help="chat model: hf:NAME_OR_FOLDER, openai:MODEL@URL, none, or smollm2, which only arbitrates",
    )
    parser.add_argument(
        "--chat_options", type=dict[str, Any], default={}, help='its options as JSON, such as {"adapter": "folder"} or {"concurrency": 4}'
    )
    parser.add_argument(
        "--chat_stages",
        type=ChatStage,
        nargs="+",
        default=None,
        help=f"stages it takes over, in place of the settings': {', '.join(CHAT_STAGES)}",
    )
    parser.add_argument("--cache", type=str | None, default=None, help="file that keeps every reply, so that no call is made twice")


def settings_of(source: str, chat_stages: Sequence[ChatStage] | None, chat: str) -> Settings:
    """The settings that the flags name. The packaged model is too small to write JSON, so unless told otherwise it only arbitrates."""
    if chat_stages is not None:
        return load_settings(source, chat_stages=tuple(chat_stages))
    settings = load_settings(source)
    if chat == "smollm2" and settings.chat_stages == CHAT_STAGES:
        settings = load_settings(settings, chat_stages=("arbitration",), chat_judgements="scores")
    return settings


def chat_of(name: str, options: dict[str, Any], cache: str | None, settings: Settings) -> ChatModel | None:
    """The chat model that the flags name, on the device of the settings; None for `none`. Raises ChatError."""
    from arbgraph.chat.load import is_local, open_chat

    if name == "none" and (options or cache):
        raise InputError("--cache and --chat_options are for a chat model; name one with --chat")
    placed = {"device": settings.device, "offline": settings.offline} if is_local(name) and "device_map" not in options else {}
    return open_chat(name, cache=cache, **{**placed, **options})


def chat_line(chat: ChatModel, usage: Mapping[str, int]) -> str:
    """What the model was asked, for the closing line; `usage` sums what the queries of this run cost."""
    cached = f", {chat.counts['cache_hits']} replies from the cache" if chat.counts["cache_hits"] else ""
    return f"{chat.name}: {usage['calls']} calls, {usage['prompt_tokens']} tokens read, {usage['completion_tokens']} written{cached}"
