"""`arbgraph verify`: labels claim pairs."""

from __future__ import annotations

from typing import Any

from arbgraph.commands.common import console, escape, write_lines
from arbgraph.io import BadRecord, InputError, read_pairs


def options(parser: Any) -> None:
    parser.add_argument(
        "pairs", type=str, help='rows {"claim_a","claim_b"} or {"premise","hypothesis"}: .json or .jsonl, gzipped or not, or -'
    )
    parser.add_argument("--json", type=str | None, default=None, help="write the rows with label and probabilities; - for standard output")
    parser.add_argument(
        "--checkpoint", type=str, default="verifier-minilm", help="verifier checkpoint folder, or the name of a shipped one"
    )
    parser.add_argument("--quiet", action="store_true", help="no table")


def run(pairs: str, json: str | None, checkpoint: str, quiet: bool) -> int:
    """Labels claim pairs: adds `label` and `probabilities` to every row; both orders of a pair give the same."""
    rows, bad = [], []
    for item in read_pairs(pairs):
        (bad if isinstance(item, BadRecord) else rows).append(item)
    messages = console(stderr=True)
    for record in bad:
        messages.print(f"[yellow]skipped[/] {escape(record)}", soft_wrap=True)
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
    if json is not None:
        write_lines(json, results)
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
    console().print(table)
