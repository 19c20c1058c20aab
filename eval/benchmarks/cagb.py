"""CAGB: fake news against genuine news, outdated against current documents, and multi-hop questions with distractors."""

from __future__ import annotations

from eval.benchmarks.base import Benchmark
from eval.benchmarks.kinds import ONE_METRICS, main_first
from eval.benchmarks.records import HASHED, hashed_reader

PAPER = "Pan et al. 2024, Not All Contexts Are Equal: Teaching LLMs Credibility-aware Generation, arXiv 2404.06809"
# Words with which the published data marks its own fakes inside their texts.
LEAKED = "Low credibility of text: "


def _row(name: str, title: str, licence: str, behaviour: str, main: str = "exact_match") -> Benchmark:
    return Benchmark(
        name=f"cagb_{name}",
        title=f"CAGB, {title}",
        paper=PAPER,
        licence=licence,
        splits=HASHED,
        behaviour=behaviour,
        wanted="one",
        folder="cagb",
        files=(f"{name}.jsonl",),
        read=hashed_reader(f"{name}.jsonl", clean=lambda text: text.replace(LEAKED, ""), loose_dates=True),
        metrics=main_first(main, ONE_METRICS),
    )


BENCHMARKS = (
    _row(
        "newspolluted", "one genuine news text against three fakes", "MIT", "Gives the answer of the one genuine text against the majority."
    ),
    _row("evotemp", "current and outdated news", "MIT", "Gives the answer of the current documents.", main="em_substring"),
    _row("hotpotqa", "HotpotQA with distractors", "MIT (texts: CC BY-SA 4.0)", "Gives the answer that joins two supporting documents."),
    _row("2wiki", "2WikiMultiHopQA with distractors", "MIT (texts: Apache-2.0)", "Gives the answer that joins the supporting documents."),
)
