"""The system arbgraph-small: read every document, make claims of the answers, arbitrate within an entity, return what is validated."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arbgraph.checkpoint import load_checkpoint
from arbgraph.reader import KIND as READER
from arbgraph.reader import Answers
from arbgraph.schema import Answer, Failed, Query, content_id
from arbgraph.systems.base import System
from arbgraph.systems.readings import listed
from arbgraph.systems.small.credibility import Judged, Weights, judge
from arbgraph.systems.small.evidence import Testimony, testimonies
from arbgraph.systems.small.phrases import PhraseReader
from arbgraph.systems.small.reading import CachedReading, ReadsPassages


def open_reading(reader: str | ReadsPassages, cache: str | Path | None) -> CachedReading:
    """Cached reading by a checkpoint's name, known by the hashes of its weight files, or by a reader at hand."""
    if not isinstance(reader, str):
        return CachedReading(reader, type(reader).__name__, cache)
    files = load_checkpoint(reader, kind=READER).config
    return CachedReading(reader, f"{sorted(files.files.items())} {files.calibration}", cache)


class ArbGraphSmall(System):
    """ArbGraph without a language model: a reader and a few learned scalars.

    Every document is read with the question, by a network and by grammar; the phrases that it may answer with are rescored beside the other
    documents; likely answers become claims "entity, attribute, answer"; claims about one entity that exclude each other are arbitrated by
    Algorithm 1 on learned priors and verdicts; the accepted ones are the answer. Documents that share their text are one source throughout.

    Args:
        reader: a reader, or the name or folder of its checkpoint. weights: the learned scalars, or the name or folder of their checkpoint.
        cache: a JSON Lines file that keeps what the reader found.

    `Answer.usage` counts documents, sources, claims, contradictions and characters cut; nothing is generated, so no tokens.
    """

    name = "arbgraph-small"

    def __init__(
        self, *, reader: str | ReadsPassages = "reader-minilm", weights: str | Weights = "arbgraph-small", cache: str | Path | None = None
    ) -> None:
        self.reading = open_reading(reader, cache)
        self.weights, checkpoint = Weights.load(weights) if isinstance(weights, str) else (weights, None)
        self._learned = checkpoint.config.files if checkpoint is not None else None
        grammar = self.weights.parts["grammar"]
        self.grammar = CachedReading(PhraseReader(grammar), content_id("grammar", sorted(grammar.items())), cache)

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "reader": self.reading.identity, "weights": self._learned, "settings": vars(self.weights.settings)}

    def answer(self, batch: Sequence[Query]) -> list[Answer | Failed]:
        read, parsed = self.reading.read(batch), self.grammar.read(batch)
        return [self._answer(query, answers, by_grammar) for query, answers, by_grammar in zip(batch, read, parsed, strict=True)]

    def _answer(self, query: Query, answers: Sequence[Answers], by_grammar: Sequence[Answers]) -> Answer:
        found = testimonies(query.documents, answers, by_grammar, self.weights.settings.copy_overlap)
        judged = judge(query.query, found, self.weights)
        chosen = judged.answers()
        documents = [[found[number].document.id for number in sorted(claim.givers)] for claim in chosen]
        return listed([claim.text for claim in chosen], documents, usage=_usage(found, judged), trace={"claims": _trace(found, judged)})


def _usage(found: Sequence[Testimony], judged: Judged) -> dict[str, int]:
    return {
        "documents": len(found),
        "sources": len({testimony.group for testimony in found}),
        "phrases": sum(len(testimony.phrases) for testimony in found),
        "claims": len(judged.claims),
        "contradictions": judged.contradictions,
    }


def _trace(found: Sequence[Testimony], judged: Judged) -> list[dict[str, Any]]:
    """Every claim with its credibility, before and after arbitration, and who gives it."""
    return [
        {
            "answer": claim.text,
            "entities": sorted({f"{subject.name} ({subject.qualifier})".removesuffix(" ()") for subject in claim.subjects}),
            "prior": round(prior, 4),
            "credibility": round(p, 4),
            "accepted": accepted,
            "documents": [found[number].document.id for number in sorted(claim.givers)],
        }
        for claim, prior, p, accepted in zip(judged.claims, judged.prior, judged.p, judged.accepted, strict=True)
    ]
