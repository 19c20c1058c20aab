"""`arbgraph answer`: answers every query with citations, by ArbGraph or any other system of the table."""

from __future__ import annotations

import json as jsonlib
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from arbgraph.commands import common
from arbgraph.commands.common import console
from arbgraph.commands.sink import Sink
from arbgraph.io import InputError
from arbgraph.settings import ChatStage

if TYPE_CHECKING:
    from arbgraph.schema import Answer, Failed, Query
    from arbgraph.systems import System

ASKING = frozenset({"chat", "option scores", "white box"})  # needs that only a chat model can meet


def options(parser: Any) -> None:
    common.query_options(parser)
    parser.add_argument("--system", type=str, default="arbgraph", help="who answers; `arbgraph systems` lists them")
    parser.add_argument(
        "--options", type=dict[str, Any], default={}, help='options of the system as JSON, such as {"document_tokens": 2000}'
    )
    common.model_options(parser)


def run(
    input: str,
    json: str | None,
    quiet: bool,
    strict: bool,
    system: str,
    options: dict[str, Any],
    settings: str,
    propagation: str | None,
    arbitrator: str | None,
    chat: str,
    chat_options: dict[str, Any],
    chat_stages: list[ChatStage] | None,
    cache: str | None,
) -> int:
    """Answers every query of a file. Results appear under their name when all are written; a killed run resumes."""
    chosen = common.settings_of(settings, chat_stages, chat)
    queries, refused = common.usable_queries(input, max_document_chars=chosen.max_document_chars, strict=strict)
    given = {name: value for name, value in (("propagation", propagation), ("arbitrator", arbitrator)) if value is not None}
    check_system(system, chat, {*given, *options})
    model = common.chat_of(chat, chat_options, cache, chosen)
    answering = _open(system, {"chat": model, "settings": chosen, **given}, options)
    made_by = jsonlib.loads(jsonlib.dumps(answering.describe(), default=str))

    def same(row: dict[str, Any], query: Query) -> bool:
        return row.get("input") == query.digest and row.get("system") == made_by

    show = not quiet and json != "-"
    started, kinds, usage = time.monotonic(), Counter(), Counter()
    with Sink(json, queries, same) as sink:
        todo = [query for query in queries if query.id not in sink.done]
        if sink.done and not quiet:
            console(stderr=True).print(f"resuming: {len(sink.done)} of {len(queries)} queries are done")
        with common.progress("answering", len(todo), show=not quiet) as advance:
            for chunk in common.chunks(todo):
                outcomes = answering.answer(chunk)
                advance(len(chunk))
                for query, outcome in zip(chunk, outcomes, strict=True):
                    sink.write(row_of(query, outcome, made_by))
                    kinds.update([_kind(outcome)])
                    usage.update(outcome.usage)
                    if show and (len(queries) == 1 or json is None):
                        _print_answer(query, outcome)
    if not quiet:
        summary = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        asked = "" if model is None else f"; {common.chat_line(model, usage)}"
        seconds = f"{time.monotonic() - started:.1f} s"
        console(stderr=True).print(common.escape(f"{summary or 'nothing to do'} in {seconds}{asked}{common.peak_memory()}"), soft_wrap=True)
    return common.report_refused(refused, len(queries))


def row_of(query: Query, outcome: Answer | Failed, made_by: dict[str, Any]) -> dict[str, Any]:
    """One line of the output: the query, who answered, and either `answer` or `failed`."""
    from arbgraph.schema import Failed

    failed = isinstance(outcome, Failed)
    value = outcome.model_dump(mode="json")
    return {
        "id": query.id,
        "query": query.query,
        "input": query.digest,
        "answer": None if failed else value,
        "failed": value if failed else None,
        "system": made_by,
    }


def check_system(name: str, chat: str, given: set[str]) -> None:
    """Refuses, before any model is loaded, a system that lacks its chat model or does not take what was given for it."""
    from arbgraph.systems import UnknownSystemError, systems

    known = systems()
    if name not in known:
        raise UnknownSystemError(f"system {name!r} is not known; choose one of {', '.join(known)}")
    taken = known[name].options()
    if chat == "none" and ASKING & set(known[name].needs):
        raise InputError(f"system {name!r} asks a chat model: give one with --chat, such as --chat smollm2 or --chat openai:MODEL@URL")
    if chat != "none" and "chat" not in taken:
        raise InputError(f"system {name!r} asks no chat model; leave --chat out")
    if foreign := sorted(given - set(taken)):
        offered = ", ".join(option for option in taken if option != "chat") or "none"
        raise InputError(f"system {name!r} has no option {foreign[0]!r}; its options: {offered}")


def _open(name: str, parts: dict[str, Any], options: dict[str, Any]) -> System:
    """The system with those of the parts that it takes."""
    from arbgraph.systems import open_system, systems

    taken = systems()[name].options()
    arguments = {part: value for part, value in parts.items() if part in taken} | options
    try:
        return open_system(name, **arguments)
    except (TypeError, ValueError) as error:
        raise InputError(f"system {name!r} cannot be built: {error}") from error


def _kind(outcome: Answer | Failed) -> str:
    from arbgraph.schema import Failed

    return "failed" if isinstance(outcome, Failed) else "abstained" if outcome.abstained else "answered"


def _print_answer(query: Query, outcome: Answer | Failed) -> None:
    from arbgraph.view import render_answer

    console().print(render_answer(query, outcome))
