"""Terminal views: of an arbitration (the answer, the claims by status, every conflict with its reason) and of an answer alone."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from rich import box
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from arbgraph.schema import Answer, ArbitratedClaim, Arbitration, Decision, Document, Failed, Query, RelationLabel, SourceDocument, Status

SECTIONS: dict[Status, tuple[str, str, str]] = {
    "validated": ("Credible claims", "green", "survived arbitration; the answer rests on these"),
    "suppressed": ("Rejected claims", "red", "lost against better supported claims"),
    "filtered": ("Not about the question", "bright_black", "too far from the query to be weighed"),
}
STATUS_WORDS = {"validated": "credible claims", "suppressed": "rejected"}
FAILURES = 10  # different failures listed
BAR = 10
QUOTE = 220  # characters of a claim shown


def render(arbitration: Arbitration, *, limit: int = 12) -> RenderableType:
    """The view of one arbitration; `limit` claims are shown per status (and as many conflicts), the rest is counted."""
    numbers = {document.id: number for number, document in enumerate(arbitration.documents, 1)}
    parts: list[RenderableType] = [_answer(arbitration.query, arbitration.answer, numbers)]
    for status in SECTIONS:
        claims = list(arbitration.with_status(status))
        if claims:
            parts.append(_claims(status, claims, numbers, limit if status != "filtered" else min(limit, 5)))
    parts += [_conflicts(arbitration, limit), _sources(arbitration, numbers), _summary(arbitration)]
    return Group(*parts)


def _marks(document_ids: tuple[str, ...], numbers: dict[str, int]) -> str:
    return "".join(f"[{number}]" for number in sorted(numbers[d] for d in document_ids if d in numbers))


def _answer(query: str, answer: Answer | None, numbers: dict[str, int]) -> Panel:
    text = Text()
    if answer is None:
        text.append("No answer was written.", style="italic")
    elif not answer.citations:
        text.append(answer.text, style="italic" if answer.abstained else "")
    else:
        for citation in answer.citations:
            text.append(f"{' ' if len(text) else ''}{answer.text[citation.start : citation.end]} ")
            text.append(_marks(citation.document_ids, numbers), style="cyan")
    return Panel(text, title=escape(query), title_align="left", border_style="bold", padding=(1, 2))


def render_answer(query: Query, outcome: Answer | Failed) -> RenderableType:
    """The view of one answer: the text with its citations, the short answers, the documents cited, what it cost and what failed."""
    if isinstance(outcome, Failed):
        reason = Text.assemble(("No answer: ", "bold red"), f"{outcome.stage}: {outcome.reason}")
        said = [Text(f"the model wrote: {outcome.raw[:QUOTE]}", style="bright_black")] if outcome.raw else []
        return Group(Panel(Group(reason, *said), title=escape(query.query), title_align="left", padding=(1, 2)), _cost(outcome.usage))
    documents = sorted(query.documents, key=lambda document: document.id)
    numbers = {document.id: number for number, document in enumerate(documents, 1)}
    parts: list[RenderableType] = [_answer(query.query, outcome, numbers)]
    if outcome.short_answers:
        parts.append(Text.assemble(("In short: ", "bold"), "; ".join(outcome.short_answers)))
    cited = {identifier for citation in outcome.citations for identifier in citation.document_ids}
    if cited:
        lines = [Text.assemble((f"  [{numbers[d.id]}] ", "cyan"), _name(d)) for d in documents if d.id in cited]
        parts.append(Group(Text("\nSources", style="bold"), *lines))
    steps = [f"{len(outcome.trace[status])} {word}" for status, word in STATUS_WORDS.items() if status in outcome.trace]
    if steps:
        decided = len({(decision["a"], decision["b"]) for decision in outcome.trace.get("decisions", ())})
        parts.append(Text(f"\n{', '.join(steps)}, {decided} conflicts arbitrated", style="bright_black"))
    parts.append(_cost(outcome.usage))
    parts += _failures(Failed(**failure) for failure in outcome.trace.get("failures", ()))
    return Group(*parts)


def _cost(usage: dict[str, int]) -> RenderableType:
    """What was spent on a chat model, and everything else that was counted."""
    if not usage.get("calls"):
        return Text("")
    spent = f"{usage['calls']} calls, {usage.get('prompt_tokens', 0)} tokens read, {usage.get('completion_tokens', 0)} written"
    others = "".join(
        f", {count} {name.replace('_', ' ')}"
        for name, count in sorted(usage.items())
        if count and name not in ("calls", "prompt_tokens", "completion_tokens")
    )
    return Text(spent + others, style="bright_black")


def _failures(failures: Iterable[Failed]) -> list[RenderableType]:
    """One line per stage and reason, with how often it happened."""
    counted = Counter((failure.stage, failure.reason) for failure in failures)
    lines: list[RenderableType] = []
    for (stage, reason), count in list(counted.items())[:FAILURES]:
        lines.append(Text(f"! {stage}: {reason}{f' ({count} times)' if count > 1 else ''}", style="yellow"))
    if len(counted) > FAILURES:
        lines.append(Text(f"! and {sum(list(counted.values())[FAILURES:])} more failures", style="yellow"))
    return lines


def _bar(credibility: float) -> Text:
    filled = round(credibility * BAR)
    colour = "green" if credibility > 0.5 else "yellow" if credibility >= 0.3 else "red"
    return Text.assemble(("█" * filled, colour), ("░" * (BAR - filled), "bright_black"), f" {credibility:.2f}")


def _claims(status: Status, claims: list[ArbitratedClaim], numbers: dict[str, int], limit: int) -> RenderableType:
    title, colour, meaning = SECTIONS[status]
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False, expand=True)
    table.add_column("credibility", no_wrap=True, width=BAR + 6)
    table.add_column("claim", ratio=1)
    table.add_column("sources", no_wrap=True, justify="right")
    for claim in claims[:limit]:
        text = claim.text if len(claim.text) <= QUOTE else f"{claim.text[:QUOTE]}…"
        bar = Text(f"relevance {claim.relevance:.2f}") if status == "filtered" else _bar(claim.credibility)
        table.add_row(bar, Text(text), Text(_marks(claim.document_ids, numbers), style="cyan"))
    more = f"… and {len(claims) - limit} more" if len(claims) > limit else ""
    heading = Text.assemble((f"\n{title} ({len(claims)})", f"bold {colour}"), (f"  {meaning}", "bright_black"))
    return Group(heading, Padding(table, (0, 0, 0, 2)), *([Text(f"  {more}", style="bright_black")] if more else []))


def _conflicts(arbitration: Arbitration, limit: int) -> RenderableType:
    claims = {claim.id: claim for claim in arbitration.claims}
    history: dict[tuple[str, str], list[Decision]] = defaultdict(list)
    for decision in arbitration.decisions:
        history[decision.a, decision.b].append(decision)
    asked = set(history)
    tau_conf = arbitration.settings.get("tau_conf", 0.5)
    waiting = [
        r
        for r in arbitration.relations
        if r.label == RelationLabel.CONTRADICT and r.probabilities[r.label] >= tau_conf and (r.a, r.b) not in asked
    ]
    if not history and not waiting:
        return Text.assemble(("\nConflicts (0)", "bold"), ("  no two claims contradict each other", "bright_black"))
    heading = Text.assemble(
        (f"\nConflicts ({len(history) + len(waiting)})", "bold yellow"), ("  pairs of claims that cannot both be true", "bright_black")
    )
    table = Table(box=box.SIMPLE, show_header=False, expand=True, padding=(0, 1))
    table.add_column("outcome", no_wrap=True)
    table.add_column("claim", ratio=1)
    for (a, b), decisions in sorted(history.items(), key=lambda item: (-len(item[1]), item[0]))[:limit]:
        for row in _conflict(claims[a], claims[b], decisions):
            table.add_row(*row)
        table.add_section()
    notes = []
    if len(history) > limit:
        notes.append(f"… and {len(history) - limit} more conflicts")
    if waiting:
        notes.append(f"{len(waiting)} contradictions were not arbitrated (budget, or one side already rejected)")
    return Group(heading, table, *(Text(f"  {note}", style="bright_black") for note in notes))


def _conflict(a: ArbitratedClaim, b: ArbitratedClaim, decisions: list[Decision]) -> list[tuple[Text, Text]]:
    last, moved = decisions[-1], sum(d.gate > 0 for d in decisions)
    if last.winner is None or not moved:
        reason = Text(f"the evidence does not decide ({last.rationale})", style="bright_black")
        return [(Text("?", style="yellow"), Text(a.text)), (Text("?", style="yellow"), Text(b.text)), (Text("reason"), reason)]
    winner, loser = (a, b) if last.winner == a.id else (b, a)
    rounds = f"{moved} round{'s' if moved > 1 else ''}"
    reason = Text(f"{last.rationale} (confidence {last.confidence:.2f}, {rounds})", style="bright_black")
    outcome = "rejected" if loser.status == "suppressed" else "weakened"
    return [
        (Text("✓ kept", style="green"), Text(winner.text)),
        (Text(f"✗ {outcome}", style="red"), Text(loser.text)),
        (Text("  reason", style="bright_black"), reason),
    ]


def _name(document: Document | SourceDocument) -> str:
    return " · ".join(part for part in (document.title, document.source, str(document.published or "")) if part) or document.id


def _sources(arbitration: Arbitration, numbers: dict[str, int]) -> RenderableType:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    first: dict[int, int] = {}
    for document in arbitration.documents:
        number = numbers[document.id]
        original = first.setdefault(document.source_group, number)
        name = _name(document)
        copy = f"same source as [{original}]: counted once" if original != number else ""
        table.add_row(Text(f"[{number}]", style="cyan"), Text(name), Text(copy, style="yellow"))
    return Group(Text("\nSources", style="bold"), Padding(table, (0, 0, 0, 2)))


def _summary(arbitration: Arbitration) -> RenderableType:
    counts = arbitration.diagnostics
    names = ("documents", "sources", "claims", "candidate_pairs", "support_edges", "contradiction_edges", "arbitrator_calls", "rounds")
    text = ", ".join(f"{counts[name]} {name.replace('_', ' ')}" for name in names if name in counts)
    return Group(Text(f"\n{text}", style="bright_black"), *_failures(arbitration.failures))
