"""Multi-hop questions with distractor paragraphs: MuSiQue and HotpotQA. Both are samples of training questions."""

from __future__ import annotations

from eval.benchmarks.base import Benchmark
from eval.benchmarks.kinds import ONE_METRICS
from eval.benchmarks.records import aliases, named_reader


def _row(name: str, title: str, paper: str, licence: str) -> Benchmark:
    return Benchmark(
        name=f"multihop_{name}",
        title=f"{title}, 100 training questions with distractors",
        paper=f"{paper}; sampled by Gutierrez et al. 2024, HippoRAG, NeurIPS",
        licence=licence,
        splits=("train",),
        behaviour="Gives the answer that joins the supporting paragraphs. For tuning, not for reporting.",
        wanted="one",
        folder="multihop_train",
        files=(f"{name}.jsonl",),
        read=named_reader({"train": f"{name}.jsonl"}, aliases),
        metrics=ONE_METRICS,
    )


BENCHMARKS = (
    _row("musique", "MuSiQue", "Trivedi et al. 2022, MuSiQue, TACL", "CC BY 4.0"),
    _row("hotpotqa", "HotpotQA", "Yang et al. 2018, HotpotQA, EMNLP", "CC BY-SA 4.0"),
)
