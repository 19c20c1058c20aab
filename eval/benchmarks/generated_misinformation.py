"""Real passages against passages written to mislead: CrAM's NQ and TriviaQA, ConflictNQ, and counterfactual rewrites."""

from __future__ import annotations

from pathlib import Path

from arbgraph.splits import split_of
from eval.benchmarks.base import Benchmark, Item
from eval.benchmarks.kinds import ONE_METRICS, main_first
from eval.benchmarks.records import HASHED, aliases, hashed_reader, named_reader, read_questions, to_item

AGAINST_ONE = "Gives the answer that the retrieved passages support, not that of the generated passage."
OF_THE_ORIGINAL = "Gives the answer of the original passage, not that of its near-identical rewrite."
FAITHFUL_RAG = "Zhang et al. 2025, FaithfulRAG, ACL"


def _cram(name: str, title: str) -> Benchmark:
    return Benchmark(
        name=f"cram_{name}",
        title=f"CrAM, {title}: four retrieved passages and a generated false one",
        paper="Deng et al. 2025, CrAM: Credibility-Aware Attention Modification, AAAI, arXiv 2406.11497",
        licence="not stated",
        splits=HASHED,
        behaviour=AGAINST_ONE,
        wanted="one",
        folder="cram_misinfo",
        files=(f"{name}.jsonl",),
        read=hashed_reader(f"{name}.jsonl"),
        metrics=ONE_METRICS,
    )


def _pairs(name: str, title: str, paper: str, licence: str) -> Benchmark:
    return Benchmark(
        name=f"counterfactual_{name}",
        title=title,
        paper=f"{FAITHFUL_RAG}; {paper}",
        licence=licence,
        splits=HASHED,
        behaviour=OF_THE_ORIGINAL,
        wanted="one",
        folder="counterfactual_pairs",
        files=(f"{name}.jsonl",),
        read=hashed_reader(f"{name}.jsonl"),
        metrics=ONE_METRICS,
    )


def read_realtimeqa_nota(folder: Path, split: str) -> list[Item]:
    """Where the option "I don't know" is gold, no answer is right and abstaining is."""
    items = []
    for where, record in read_questions(folder, "realtimeqa_nota.jsonl"):
        if split_of(record.question) == split:
            answerable = bool(record.meta.get("answerable", True))
            gold = aliases(record.gold_answers) if answerable else ()
            items.append(to_item(record, where, group=aliases, gold=gold, answerable=answerable))
    return items


BENCHMARKS = (
    _cram("nq", "Natural Questions"),
    _cram("trivia", "TriviaQA"),
    Benchmark(
        name="conflict_nq",
        title="ConflictNQ: one genuine passage against five fabricated ones",
        paper="no paper; questions from Kwiatkowski et al. 2019, Natural Questions, TACL",
        licence="Apache-2.0 (questions: CC BY-SA 3.0)",
        splits=("dev", "test"),
        behaviour="Gives the answer of the genuine passage, although five passages that agree with each other say something else.",
        wanted="one",
        folder="conflict_nq",
        files=("val.jsonl", "test.jsonl"),
        # Titles of genuine passages are names of pages, those of fabricated ones are sentences.
        read=named_reader({"dev": "val.jsonl", "test": "test.jsonl"}, titles=False),
        # Short answers are whole sentences.
        metrics=main_first("token_f1", ONE_METRICS),
    ),
    _pairs(
        "musique",
        "MuSiQue passages against counterfactual rewrites",
        "Trivedi et al. 2022, MuSiQue, TACL",
        "not stated (MuSiQue: CC BY 4.0)",
    ),
    _pairs("squad", "SQuAD passages against counterfactual rewrites", "Rajpurkar et al. 2016, EMNLP", "not stated (SQuAD: CC BY-SA 4.0)"),
    Benchmark(
        name="faitheval_counterfactual",
        title="FaithEval, counterfactual: one document that asserts something false",
        paper="Ming et al. 2025, FaithEval, ICLR, arXiv 2410.03727",
        licence="Apache-2.0, for research purposes only",
        splits=HASHED,
        behaviour="Follows the document, although what it says is false.",
        wanted="one",
        folder="counterfactual_pairs",
        files=("faitheval_counterfactual.jsonl",),
        read=hashed_reader("faitheval_counterfactual.jsonl"),
        metrics=ONE_METRICS,
    ),
    Benchmark(
        name="realtimeqa_nota",
        title="RealtimeQA with documents that may hold no answer",
        paper="Kasai et al. 2023, RealtimeQA, NeurIPS",
        licence="not stated",
        splits=HASHED,
        behaviour="Gives the answer where the document holds it and abstains where it does not.",
        wanted="one",
        folder="counterfactual_pairs",
        files=("realtimeqa_nota.jsonl",),
        read=read_realtimeqa_nota,
        metrics=(*ONE_METRICS, "rejection"),
    ),
)
