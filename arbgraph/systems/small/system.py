"""The system arbgraph-small: read every document, make claims of the answers, arbitrate within an entity, return what is validated."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arbgraph.checkpoint import load_checkpoint
from arbgraph.reader import KIND as READER
from arbgraph.reader.generative import KIND as GENERATIVE
from arbgraph.retellings import Retellings
from arbgraph.schema import Answer, Failed, Query, content_id
from arbgraph.systems.base import System
from arbgraph.systems.readings import listed
from arbgraph.systems.small.credibility import Judged, Weights, judge
from arbgraph.systems.small.evidence import Testimony, testimonies, with_language
from arbgraph.systems.small.phrases import PhraseReader
from arbgraph.systems.small.reading import CachedReading, CachedScoring, ReadsPassages, ScoresPhrases


def open_reading(reader: str | ReadsPassages, cache: str | Path | None) -> CachedReading:
    """Cached reading by a checkpoint's name, known by the hashes of its weight files, or by a reader at hand."""
    if not isinstance(reader, str):
        return CachedReading(reader, type(reader).__name__, cache)
    files = load_checkpoint(reader, kind=READER).config
    return CachedReading(reader, f"{sorted(files.files.items())} {files.calibration}", cache)


def open_scoring(reader: str | ScoresPhrases | None, cache: str | Path | None) -> CachedScoring | None:
    """Cached scoring by a generative reader's checkpoint or by one at hand; None where there is none."""
    if reader is None:
        return None
    if not isinstance(reader, str):
        return CachedScoring(reader, type(reader).__name__, cache)
    return CachedScoring(reader, str(sorted(load_checkpoint(reader, kind=GENERATIVE).config.files.items())), cache)


def add_language(scoring: CachedScoring | None, questions: Sequence[str], found: Sequence[Sequence[Testimony]]) -> None:
    """Has a generative reader, where there is one, score the phrases of all documents of all questions."""
    if scoring is not None:
        flat = [(question, testimony) for question, some in zip(questions, found, strict=True) for testimony in some]
        for (_, testimony), scores in zip(flat, scoring.score([q for q, _ in flat], [t for _, t in flat]), strict=True):
            with_language(testimony, scores)


class ArbGraphSmall(System):
    """ArbGraph without a large language model: readers of small size and a few learned scalars.

    Every document is read with the question, by a network and by grammar, and, where the weights were fitted with one, a generative reader
    says how likely each phrase found is as an answer; the phrases are rescored beside the other documents; likely answers become claims
    "entity, attribute, answer"; claims about one entity that exclude each other are arbitrated by Algorithm 1 on learned priors and
    verdicts; the accepted ones are the answer. Documents that share their text, or retell it
    where the weights were fitted so, are one source throughout.

    Args:
        reader: a reader, or the name or folder of its checkpoint.
        generative_reader: likewise; None takes the one that the weights were fitted with.
        weights: the learned scalars, or the name or folder of their checkpoint.
        cache: a JSON Lines file that keeps what the readers found.

    `Answer.usage` counts documents, sources, claims, contradictions and characters cut; nothing is generated, so no tokens.
    """

    name = "arbgraph-small"

    def __init__(
        self,
        *,
        reader: str | ReadsPassages = "reader-minilm",
        generative_reader: str | ScoresPhrases | None = None,
        weights: str | Weights = "arbgraph-small",
        cache: str | Path | None = None,
    ) -> None:
        self.reading = open_reading(reader, cache)
        self.weights, checkpoint = Weights.load(weights) if isinstance(weights, str) else (weights, None)
        self._learned = checkpoint.config.files if checkpoint is not None else None
        self.scoring = open_scoring(generative_reader or self.weights.generative_reader, cache)
        settings = self.weights.settings
        self.retellings = Retellings(settings.retold_cosine, settings.retold_words)
        grammar = self.weights.parts["grammar"]
        self.grammar = CachedReading(PhraseReader(grammar), content_id("grammar", sorted(grammar.items())), cache)

    def describe(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "reader": self.reading.identity,
            "generative_reader": self.scoring and self.scoring.identity,
            "weights": self._learned,
            "settings": vars(self.weights.settings),
        }

    def answer(self, batch: Sequence[Query]) -> list[Answer | Failed]:
        read, parsed = self.reading.read(batch), self.grammar.read(batch)
        found = [
            testimonies(query.documents, answers, by_grammar, self.weights.settings.copy_overlap, self.retellings.of(query.documents))
            for query, answers, by_grammar in zip(batch, read, parsed, strict=True)
        ]
        add_language(self.scoring, [query.query for query in batch], found)
        return [self._answer(query, some) for query, some in zip(batch, found, strict=True)]

    def _answer(self, query: Query, found: Sequence[Testimony]) -> Answer:
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
