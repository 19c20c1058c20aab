"""Scores of a run, from what its folder stores: short answers, judged claims, failures and costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from arbgraph.io import InputError
from arbgraph.schema import Answer, Failed
from eval.benchmarks import Item
from eval.checking import Checked, Checker, Response, check_stored
from eval.metrics.table import METRICS, Metric, Scored, Scores, score
from eval.ragchecker_json import record_of, write_ragchecker

JUDGED = {"entailment", "facts", "claims"}  # fields of a scored item that rest on judgements of claims


def needs_judging(names: Sequence[str]) -> bool:
    """Whether any of the metrics rests on judgements of claims."""
    return any(JUDGED & set(METRICS[name].needs) for name in names)


def open_checker(name: str) -> tuple[Checker, Any]:
    """A judge of claims, by the name of a relation verifier or `chat:NAME`, and the extractor of the claims. Raises InputError."""
    from arbgraph.chat.load import open_chat
    from arbgraph.extraction.syntactic import SyntacticExtractor
    from eval.checkers import ChatChecker, VerifierChecker

    kind, _, chat_name = name.partition(":")
    if kind != "chat":
        return VerifierChecker.load(name), SyntacticExtractor()
    chat = open_chat(chat_name)
    if chat is None:
        raise InputError(f"{name} is no judge; name a chat model")
    return ChatChecker(chat), SyntacticExtractor()


def judge(
    items: Sequence[Item], rows: Mapping[str, Mapping[str, Any]], folder: Path, checker: tuple[Checker, Any] | None
) -> dict[str, Checked]:
    """Judgements by question, kept in `checked.jsonl`; without a checker all must be there. Writes `ragchecker.json` beside it.

    That file is in the official tool's own format, for the questions with a reference answer whose judge did not fail. Raises InputError.
    """
    responses = [response_of(item, rows[item.query.id]) for item in items]
    judge_of_claims, extractor = checker or (None, None)
    checked = check_stored(responses, judge_of_claims, folder / "checked.jsonl", extractor)
    pairs = zip(responses, checked, strict=True)
    records = [record_of(response, found) for response, found in pairs if response.reference and not found.failed]
    if records:
        write_ragchecker(folder / "ragchecker.json", records)
    return {found.id: found for found in checked}


def response_of(item: Item, row: Mapping[str, Any]) -> Response:
    """What is judged of a prediction: nothing of a failed or abstained one; evidence are the claims that the system's trace validated."""
    answer = None if row["failed"] is not None else Answer.model_validate(row["answer"])
    validated = answer.trace.get("validated") if answer is not None else None
    return Response(
        id=item.query.id,
        query=item.query.query,
        text="" if answer is None or answer.abstained else answer.text,
        reference=item.reference or "",
        chunks=tuple(document.text for document in item.query.documents),
        evidence=None if validated is None else tuple(claim["text"] for claim in validated),
        facts=item.facts,
    )


def all_scored(items: Sequence[Item], rows: Mapping[str, Mapping[str, Any]], checked: Mapping[str, Checked]) -> list[Scored]:
    """What the metrics see of the questions of a run.

    A system that writes texts only has no short answers to judge: where no prediction of the run holds one, they are missing, not wrong.
    """
    short = any(row["answer"] is not None and row["answer"]["short_answers"] for row in rows.values())
    return [scored(item, rows[item.query.id], checked.get(item.query.id), short=short) for item in items]


def scored(item: Item, row: Mapping[str, Any], checked: Checked | None = None, *, short: bool = True) -> Scored:
    """What the metrics see of a question and its stored prediction; a failed question has no answer."""
    about: dict[str, Any] = {"id": item.query.id, "gold": item.gold, "wrong": item.wrong, "answerable": item.answerable}
    if checked is not None:
        about |= checked.fields()
    if row["failed"] is not None:
        failed = row["failed"]
        return Scored(
            **about, predicted=() if short else None, text="", written=failed["raw"] or "", tokens=0, usage=failed["usage"] or None
        )
    answer = Answer.model_validate(row["answer"])
    more = {"abstained": answer.abstained, "tokens": row["tokens"], "usage": answer.usage}
    return Scored(**about, predicted=answer.short_answers if short else None, text=answer.text, written=answer.text, **more)


def score_with_failures(every: Sequence[Scored], failed: Collection[str], names: Sequence[str]) -> Scores:
    """The metrics, without letting a failure look like a success.

    A failed question counts as unanswered wherever that is the worst outcome, and its cost counts. It is left out, and counted under
    `missing` as `failed`, of metrics by which silence is good: those where lower is better, and the right to abstain.
    """
    fine = [one for one in every if one.id not in failed]
    silent = [name for name in names if name in METRICS and _silence_is_good(METRICS[name])]
    whole, part = score(every, [name for name in names if name not in silent]), score(fine, silent)
    left_out = {
        name: replace(mean, missing={**mean.missing, "failed": len(failed)} if failed else mean.missing)
        for name, mean in part.means.items()
    }
    means = {**whole.means, **left_out}
    return replace(whole, values={**whole.values, **part.values}, means={name: means[name] for name in dict.fromkeys(names)})


def _silence_is_good(metric: Metric) -> bool:
    if metric.name == "rejection":
        return True
    return metric.better == "lower" and not any(need.startswith("usage.") for need in metric.needs)


def failures_of(failures: Sequence[Failed], questions: int) -> dict[str, Any]:
    """Failures as a share of the questions, and by stage and reason, the most frequent first."""
    reasons = Counter(f"{failure.stage}: {failure.reason}" for failure in failures)
    ordered = dict(sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0])))
    return {"count": len(failures), "share": len(failures) / questions, "reasons": ordered}
