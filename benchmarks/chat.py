"""Decisions a second of a local language model as arbitrator: options scored in one pass, against verdicts written as JSON.

    python -m benchmarks.chat [--model smollm2] [--precision fp32] [--cases 24] [--written 4] [--verdict_tokens 45] [--json OUT]

Every decision reads a contradiction in both orders. `scored` is `CausalArbitrator`: the logits of A, B and unknown behind the prompt;
`scored, nothing kept` reads the system turn anew for every prompt. `written` is `ChatArbitrator`: the model writes its verdict, with the
second try that a faulty or cut reply gets, as small models need it. `written, N tokens` is the best case of a written verdict: one try of
N tokens, about the length of a JSON object with a one-sentence reason. The same model, prompts and process for all rows.

Seconds are the processor's, so that other work on the machine does not count; with `--clock wall` they are the clock's, as on a GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import time
from collections.abc import Callable
from typing import Any

WORDS = ("bridge", "harbour", "museum", "railway", "library", "theatre", "canal", "reservoir", "chapel", "airfield", "stadium", "brewery")


def cases(count: int, seed: int = 0) -> list[Any]:
    """Contradictions over a year, each side with two to four statements from named sources."""
    from arbgraph.arbitrator.cases import ArbitrationCase, Statement

    generator = random.Random(seed)

    def side(thing: str, year: int) -> tuple[Statement, ...]:
        wordings = (
            f"The {thing} was opened in {year} after a ceremony at which the mayor spoke for an hour.",
            f"Records of the town council show that work ended in the autumn of {year}, and that visitors came at once.",
            f"Opened in {year}, the {thing} is among the oldest of the region.",
            f"Local papers of {year} print photographs of the opening.",
        )
        chosen = generator.sample(wordings, generator.randint(2, 4))
        return tuple(
            Statement(text=text, title=f"{thing} {n}", source=f"Source {generator.randint(1, 99)}", group=n)
            for n, text in enumerate(chosen)
        )

    made = []
    for number in range(count):
        thing, year = f"{generator.choice(WORDS)} of Vik {number}", generator.randint(1800, 1980)
        other = year + generator.randint(1, 30)
        made.append(
            ArbitrationCase(
                query=f"When was the {thing} opened?",
                claim_a=f"The {thing} was opened in {year}.",
                claim_b=f"The {thing} was opened in {other}.",
                context_a=side(thing, year),
                context_b=side(thing, other),
            )
        )
    return made


def measured(work: Callable[[], object], clock: Callable[[], float]) -> float:
    """Seconds of one call."""
    started = clock()
    work()
    return clock() - started


def scored_row(chat: Any, some: list[Any], batch_size: int, kept: bool, clock: Callable[[], float]) -> dict[str, Any]:
    from arbgraph.arbitrator.causal_lm import CausalArbitrator

    chat.batch_size, chat._prefixes.usable = batch_size, kept
    arbitrator = CausalArbitrator(chat)
    arbitrator.decide(some[:1])
    seconds = measured(lambda: arbitrator.decide(some), clock)
    return {"what": "scored" if kept else "scored, nothing kept", "batch": batch_size, "decisions": len(some), "seconds": seconds}


def written_row(chat: Any, some: list[Any], batch_size: int, clock: Callable[[], float]) -> dict[str, Any]:
    from arbgraph.arbitrator.chat import ChatArbitrator

    chat.batch_size = batch_size
    before = dict(chat.counts)
    seconds = measured(lambda: ChatArbitrator(chat).decide(some), clock)
    counts = {name: chat.counts[name] - before.get(name, 0) for name in ("completion_tokens", "requests", "failed")}
    return {"what": "written", "batch": batch_size, "decisions": len(some), "seconds": seconds, **counts}


def fixed_row(chat: Any, some: list[Any], batch_size: int, tokens: int, clock: Callable[[], float]) -> dict[str, Any]:
    from arbgraph.chat.base import Request
    from arbgraph.chat.prompts import ARBITRATION

    chat.batch_size = batch_size
    requests = [Request(each.messages(ARBITRATION), None, tokens) for case in some for each in (case, case.swapped())]
    replies = []
    seconds = measured(lambda: replies.extend(reply for _, reply in chat.generate(requests)), clock)
    written = sum(reply.completion_tokens for reply in replies)
    what = f"written, {tokens} tokens"
    return {"what": what, "batch": batch_size, "decisions": len(some), "seconds": seconds, "completion_tokens": written}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--precision", default="fp32", choices=["fp32", "bf16"])
    parser.add_argument("--cases", type=int, default=24, help="decisions of every scored row")
    parser.add_argument("--written", type=int, default=4, help="decisions of every written row; 0 leaves those with second tries out")
    parser.add_argument("--verdict_tokens", type=int, default=45)
    parser.add_argument("--clock", default="cpu", choices=["cpu", "wall"])
    parser.add_argument("--json")
    options = parser.parse_args()
    import torch
    from rich.console import Console
    from rich.table import Table

    from arbgraph.chat.load import open_chat
    from arbgraph.chat.prompts import DECISION

    clock = time.process_time if options.clock == "cpu" else time.perf_counter
    chat: Any = open_chat(options.model, precision=options.precision)
    some = cases(options.cases)
    lengths = [len(chat._encode(chat.render(case.messages(DECISION)))) for case in some]
    shared = len(chat._prefix(some[0].messages(DECISION), chat._encode(chat.render(some[0].messages(DECISION)))))
    few = some[: max(options.written, 4)]
    rows = [scored_row(chat, some, size, kept, clock) for kept in (True, False) for size in (8, 1)]
    chat._prefixes.usable = True
    rows += [fixed_row(chat, few, size, options.verdict_tokens, clock) for size in (8, 1)]
    if options.written:
        rows.append(written_row(chat, some[: options.written], 8, clock))
    about = {
        "model": chat.name,
        "precision": options.precision,
        "threads": torch.get_num_threads(),
        "cpus": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "clock": options.clock,
        "prompt_tokens": sum(lengths) / len(lengths),
        "shared_tokens": shared,
    }
    table = Table("how", "batch", "decisions", "seconds each", "decisions/s", "tokens written", "failed")
    for row in rows:
        each = row["seconds"] / row["decisions"]
        failed = f"{row['failed']} of {2 * row['decisions']}" if "failed" in row else ""
        table.add_row(
            row["what"],
            str(row["batch"]),
            str(row["decisions"]),
            f"{each:.2f}",
            f"{1 / each:.3f}",
            str(row.get("completion_tokens", "")),
            failed,
        )
    console = Console()
    console.print(
        ", ".join(
            f"{name.replace('_', ' ')} {value:.0f}" if isinstance(value, float) else f"{name.replace('_', ' ')} {value}"
            for name, value in about.items()
        )
    )
    console.print(table)
    speed = {(row["what"], row["batch"]): row["decisions"] / row["seconds"] for row in rows}
    for size in (8, 1):
        for what in (f"written, {options.verdict_tokens} tokens", "written"):
            if (what, size) in speed:
                console.print(f"batch {size}: scored is {speed['scored', size] / speed[what, size]:.1f} times as fast as {what}")
    for what in ("scored", f"written, {options.verdict_tokens} tokens"):
        console.print(f"{what}: batch 8 is {speed[what, 8] / speed[what, 1]:.2f} times as fast as batch 1")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as stream:
            json.dump({"about": about, "rows": rows}, stream, indent=2)


if __name__ == "__main__":
    main()
