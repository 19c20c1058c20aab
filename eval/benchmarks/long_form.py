"""Answers of several paragraphs: LongFact's prompts, RAGChecker's inputs, and arbitration cases with their valid claims as facts."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel

from arbgraph.schema import Document, Query
from eval.benchmarks.base import Benchmark, Item, find_file, look_for
from eval.benchmarks.kinds import LONG_METRICS, RAGCHECKER_METRICS
from eval.benchmarks.records import Record, SourceText, aliases, parse, read_file, read_lines, to_item

POSTAMBLE = "Give as many specific details and examples as possible, such as names, dates, places and figures."


class Prompt(BaseModel):
    """A prompt for a long answer."""

    id: str
    question: str
    topic: str = ""


class _Facts(BaseModel):
    id: str
    facts: list[str]


class _Passages(BaseModel):
    id: str
    documents: list[SourceText]


def read_prompts(path: str | Path) -> list[Prompt]:
    """`{"id", "question", "topic"?}` per line. Raises InputError."""
    return [parse(Prompt, value, where) for where, value in read_lines(Path(path))]


def read_passages(path: str | Path) -> dict[str, tuple[Document, ...]]:
    """Documents by the id of their prompt, out of `{"id", "documents"}` per line. Raises InputError."""
    found = {}
    for where, value in read_lines(Path(path)):
        listed = parse(_Passages, value, where)
        record = Record(id=listed.id, question="-", documents=listed.documents)
        found[listed.id] = to_item(record, where, group=aliases, order="given").query.documents
    return found


def read_facts(path: str | Path) -> dict[str, tuple[str, ...]]:
    """Facts by the id of their prompt, out of a list that `eval.fact_lists` or a person made. Raises InputError."""
    rows = [(where, value) for where, value in read_lines(Path(path)) if not (isinstance(value, dict) and "made_by" in value)]
    parsed = [parse(_Facts, value, where) for where, value in rows]
    return {row.id: tuple(row.facts) for row in parsed}


def read_longfact(folder: Path, _split: str) -> list[Item]:
    """`test.jsonl` holds the prompts; `documents.jsonl` the passages that systems see, `facts.jsonl` the reference facts, where given."""
    documents, facts = (look_for(folder, name) for name in ("documents.jsonl", "facts.jsonl"))
    passages, listed = read_passages(documents) if documents else {}, read_facts(facts) if facts else {}
    return [
        Item(
            query=Query(id=prompt.id, query=f"{prompt.question} {POSTAMBLE}", documents=passages.get(prompt.id, ())),
            facts=listed.get(prompt.id, ()),
            metadata={"topic": prompt.topic},
        )
        for prompt in read_prompts(find_file(folder, "test.jsonl"))
    ]


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
