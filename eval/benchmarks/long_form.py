"""Answers of several paragraphs: LongFact's prompts, RAGChecker's inputs, and arbitration cases with their valid claims as facts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel

from eval.benchmarks.base import Benchmark, Item, look_for
from eval.benchmarks.kinds import LONG_METRICS, RAGCHECKER_METRICS
from eval.benchmarks.records import Record, SourceText, aliases, parse, read_file, to_item

POSTAMBLE = "Give as many specific details and examples as possible, such as names, dates, places and figures."


class _Prompt(BaseModel):
    id: str
    question: str
    topic: str = ""


class _Facts(BaseModel):
    id: str
    facts: list[str]


class _Passages(BaseModel):
    id: str
    documents: list[SourceText]


def _optional(folder: Path, name: str, model: type[Any]) -> dict[str, Any]:
    """Records of a file that need not be there, by id."""
    if look_for(folder, name) is None:
        return {}
    records = [parse(model, value, where) for where, value in read_file(folder, name) if not _is_header(value)]
    return {record.id: record for record in records}


def _is_header(value: Any) -> bool:
    """The first line of a fact list says how it was made (`eval.fact_lists`)."""
    return isinstance(value, dict) and "made_by" in value


def read_longfact(folder: Path, _split: str) -> list[Item]:
    """`test.jsonl` holds the prompts; `documents.jsonl` the passages that systems see, `facts.jsonl` the reference facts, where given."""
    passages, facts = _optional(folder, "documents.jsonl", _Passages), _optional(folder, "facts.jsonl", _Facts)
    items = []
    for where, value in read_file(folder, "test.jsonl"):
        prompt = parse(_Prompt, value, where)
        documents = passages[prompt.id].documents if prompt.id in passages else []
        record = Record(id=prompt.id, question=f"{prompt.question} {POSTAMBLE}", documents=documents, meta={"topic": prompt.topic})
        listed = tuple(facts[prompt.id].facts) if prompt.id in facts else ()
        items.append(to_item(record, where, group=aliases, order="given", facts=listed))
    return items


class _Retrieved(BaseModel):
    doc_id: str | None = None
    text: str


class _Result(BaseModel):
    query_id: str
    query: str
    gt_answer: str
    retrieved_context: list[_Retrieved] = []


class _Results(BaseModel):
    results: list[_Result]


def read_ragchecker(folder: Path, _split: str) -> list[Item]:
    """`checking_inputs.json`, the tool's own input: queries, reference answers and retrieved passages."""
    [(where, value)] = read_file(folder, "checking_inputs.json")
    items = []
    for number, result in enumerate(parse(_Results, value, where).results):
        documents = [SourceText(text=passage.text) for passage in result.retrieved_context if passage.text.strip()]
        empty = len(result.retrieved_context) - len(documents)
        record = Record(id=result.query_id, question=result.query, documents=documents, meta={"empty_passages": empty})
        place = f"{where}: results[{number}]"
        items.append(to_item(record, place, group=aliases, order="given", reference=result.gt_answer))
    return items


class _CaseClaim(BaseModel):
    text: str
    verdict: str


class _Case(BaseModel):
    id: str
    query: str
    documents: list[SourceText]
    claims: list[_CaseClaim]
    expected_answer: str
    type: str = ""


def read_arbcases(folder: Path, _split: str) -> list[Item]:
    """`dev.jsonl`, arbitration cases; the claims that are valid are the reference facts, and no system sees a claim."""
    items = []
    for where, value in read_file(folder, "dev.jsonl"):
        case = parse(_Case, value, where)
        facts = tuple(claim.text for claim in case.claims if claim.verdict == "valid")
        invalid = [claim.text for claim in case.claims if claim.verdict == "invalid"]
        record = Record(id=case.id, question=case.query, documents=case.documents, meta={"type": case.type, "invalid_claims": invalid})
        items.append(to_item(record, where, group=aliases, reference=case.expected_answer, facts=facts))
    return items


BENCHMARKS = (
    Benchmark(
        name="longfact",
        title="LongFact: prompts for long answers on 38 topics",
        paper="Wei et al. 2024, Long-form Factuality in Large Language Models, NeurIPS, arXiv 2403.18802",
        licence="CC BY 4.0; carries a canary, never to be trained on",
        splits=("test",),
        behaviour="States many facts on the topic, all of them true.",
        wanted="all",
        folder="longfact",
        files=("test.jsonl",),
        optional=("documents.jsonl", "facts.jsonl"),
        read=read_longfact,
        metrics=LONG_METRICS,
    ),
    Benchmark(
        name="ragchecker",
        title="RAGChecker: long answers against reference answers and retrieved passages",
        paper="Ru et al. 2024, RAGChecker, NeurIPS, arXiv 2408.08067",
        licence="Apache-2.0",
        splits=("test",),
        behaviour="States what the reference answer states, all of it supported by the passages.",
        wanted="all",
        folder="ragchecker",
        files=("checking_inputs.json",),
        read=read_ragchecker,
        metrics=RAGCHECKER_METRICS,
    ),
    Benchmark(
        name="arbcases",
        title="Arbitration cases: majorities, copies, updates, homonyms, altered figures",
        paper="written for this project",
        licence="CC0-1.0",
        splits=("dev",),
        behaviour="States the claims that the evidence leaves standing, and neither refuted nor unrelated ones.",
        wanted="all",
        folder="arbcases",
        files=("dev.jsonl",),
        read=read_arbcases,
        metrics=LONG_METRICS,
    ),
)
