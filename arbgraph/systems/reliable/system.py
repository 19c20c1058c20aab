"""ReliableRAG: triples with credibility, chains by beam search, and an answer from the chains' triples or source documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any, Literal

import torch

from arbgraph.chat.base import ChatModel
from arbgraph.chat.prompts import Prompt
from arbgraph.chat.quoting import Block
from arbgraph.encoder import SentenceEncoder
from arbgraph.schema import Document, Failed, Query
from arbgraph.systems.base import Ask, Score, Step, StepFailed, Steps, scores_of, text_of
from arbgraph.systems.document_system import DocumentSystem, at_least
from arbgraph.systems.readings import listed, show_each, usable_text
from arbgraph.systems.reliable import chains as beam_search
from arbgraph.systems.reliable.alpha import PAPER_ALPHA
from arbgraph.systems.reliable.chains import EXEMPLARS, LABELS, SELECT, Chain
from arbgraph.systems.reliable.evaluator import EVALUATE, evaluation, read_score
from arbgraph.systems.reliable.triples import ANNOTATED, EXTRACT, Split, Triple, read_triples, request
from arbgraph.systems.replies import ANSWER_FORM, answer_of

FROM_FACTS = Prompt(
    id="reliable-facts",
    version=1,
    rules="You answer a question from facts of the form (subject; relation; object). Use these facts and nothing else.",
    task=f"Answer the question from the facts. {ANSWER_FORM}",
)

FROM_SOURCES = Prompt(
    id="reliable-sources",
    version=1,
    rules="You answer a question from documents, the most useful first. Use what the documents say and nothing else.",
    task=f"Answer the question from the documents. {ANSWER_FORM}",
)

CHOICES = {
    "synthesis": ("sources", "triples"),
    "credibility": ("evaluator", "document"),
    "mask": ("chain", "global"),
    "relevance": ("raw", "minmax"),
    "split": ("sentences", "period"),
}


class ReliableRAG(DocumentSystem):
    """Extraction, evaluation, beam search, synthesis.

    A document whose triples cannot be read, and a triple whose score cannot be read, are left out and counted; a query left without
    triples fails.

    Args:
        chat: the model; it must offer option scores. encoder: of queries, triples and exemplars; None takes MiniLM.
        alpha: weight of relevance against credibility, in [0, 1]; with 1, credibility is neither needed nor asked for.
        hops, candidates, beam, kept: L steps at most, K options besides "enough" (at most 25), B options followed, F chains kept.
        chains: the best chains that make the context. exemplars: shown with every extraction and selection, those nearest to it.
        synthesis: context by "sources" (SBS) or by "triples" (TBS).
        credibility: scores of triples from the "evaluator", or inherited from `Document.credibility` (the paper's ideal setting).
        mask: a triple is offered once per "chain", or once in all chains ("global").
        relevance: the cosine as it is ("raw"), or brought to [0, 1] per query ("minmax").
        by_mean: rank chains by the geometric mean of their probabilities instead of the product, which favours short ones.
        split: sentences by a splitter that knows abbreviations, or at every period.
        shared: `DocumentSystem`; step_tokens are those of an extraction and of an evaluation.

    Raises ValueError on an option out of its range.
    """

    name = "reliable-rag"
    prompts = (EXTRACT, EVALUATE, SELECT, FROM_FACTS, FROM_SOURCES)

    def __init__(
        self,
        chat: ChatModel,
        *,
        encoder: SentenceEncoder | None = None,
        alpha: float = PAPER_ALPHA,
        hops: int = 4,
        candidates: int = 20,
        beam: int = 5,
        kept: int = 20,
        chains: int = 5,
        exemplars: int = 3,
        synthesis: Literal["sources", "triples"] = "sources",
        credibility: Literal["evaluator", "document"] = "evaluator",
        mask: Literal["chain", "global"] = "chain",
        relevance: Literal["raw", "minmax"] = "raw",
        by_mean: bool = False,
        split: Split = "sentences",
        step_tokens: int = 256,
        **shared: int,
    ) -> None:
        super().__init__(chat, step_tokens=step_tokens, **shared)
        at_least(1, hops=hops, candidates=candidates, beam=beam, kept=kept, chains=chains)
        at_least(0, exemplars=exemplars)
        if not 0 <= alpha <= 1 or candidates >= len(LABELS):
            raise ValueError(f"alpha is {alpha} and candidates {candidates}; alpha lies in [0, 1], candidates in [1, {len(LABELS) - 1}]")
        self.alpha, self.hops, self.candidates, self.beam, self.kept = alpha, hops, candidates, beam, kept
        self.chains, self.exemplars, self.synthesis, self.credibility = chains, exemplars, synthesis, credibility
        self.mask, self.by_mean = mask, by_mean
        self.relevance: Literal["raw", "minmax"] = relevance
        self.split: Split = split
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} is {getattr(self, name)!r}; choose one of {', '.join(allowed)}")
        self.encoder = encoder or SentenceEncoder()
        self._annotated = self.encoder.encode([one.described for one in ANNOTATED])
        self._steps = self.encoder.encode([one.question for one in EXEMPLARS])

    def options(self) -> dict[str, Any]:
        numbers = ("alpha", "hops", "candidates", "beam", "kept", "chains", "exemplars", "by_mean", *CHOICES)
        return {**{name: getattr(self, name) for name in numbers}, "encoder": self.encoder.resolved.sha256}

    def solve(self, query: Query) -> Steps:
        counts: Counter[str] = Counter()
        if not query.documents:
            return listed([], [])
        triples = yield from self._triples(query.documents, counts)
        counts["triples"] = len(triples)
        triples = yield from self._rated(triples, query.documents, counts)
        if not triples:
            reason = f"no usable triple was found in {len(query.documents)} documents; {dict(sorted(counts.items()))}"
            raise StepFailed(Failed(stage=EXTRACT.id, reason=reason))
        found = yield from self._search(query.query, triples)
        best = beam_search.most_confident(found, self.chains, by_mean=self.by_mean)
        question = Block("question", query.query)
        sources = beam_search.synthesis_by_sources(best, triples)
        if self.synthesis == "triples":
            facts = beam_search.synthesis_by_triples(best, triples)
            messages = FROM_FACTS.messages([question, Block("facts", "\n".join(facts) or "none")])
        else:
            shown = self.show([query.documents[row] for row in sources])
            counts.update(shown.usage)
            messages = FROM_SOURCES.messages([question, *shown.blocks])
        [reply] = yield [Ask(messages, self.max_tokens)]
        trace = {
            "triples": [{"text": str(triple), "document": triple.document, "credibility": triple.credibility} for triple in triples],
            "chains": [{"triples": list(c.triples), "probabilities": list(c.probabilities), "stopped": c.stopped} for c in best],
            "sources": sources,
        }
        return answer_of(text_of(reply), self.name, usage=counts, trace=trace)

    def _triples(self, documents: Sequence[Document], counts: Counter[str]) -> Generator[Step, list[Any], list[Triple]]:
        """The triples of all documents, in their order."""
        shown, lost = show_each(documents, self.document_tokens, self.chat.count_tokens)
        counts.update(lost)
        near = self._nearest(self._annotated, [f"{document.title} {document.text}" for document, _ in shown])
        asked = [request(block, self.split, [ANNOTATED[row] for row in rows]) for (_, block), rows in zip(shown, near, strict=True)]
        replies = yield [Ask(messages, self.step_tokens) for messages in asked]
        triples: list[Triple] = []
        for (document, block), reply in zip(shown, replies, strict=True):
            text = usable_text(reply, counts)
            found = [] if text is None else read_triples(text, document, int(block.about["number"]) - 1, counts)
            counts["documents_without_triples"] += not found
            triples += found
        return triples

    def _rated(
        self, triples: Sequence[Triple], documents: Sequence[Document], counts: Counter[str]
    ) -> Generator[Step, list[Any], list[Triple]]:
        """The triples with their credibility; those without a readable score are left out and counted as `triples_unrated`."""
        if self.alpha == 1:
            return list(triples)
        if self.credibility == "document":
            for document in documents:
                if document.credibility is None:
                    reason = f"document {document.id} has no credibility; give one, or take credibility='evaluator'"
                    raise StepFailed(Failed(stage=EVALUATE.id, reason=reason))
            return [replace(triple, credibility=documents[triple.document].credibility) for triple in triples]
        replies = yield [Ask(evaluation(triple), self.step_tokens) for triple in triples]
        texts = [usable_text(reply, counts) for reply in replies]
        scores = [None if text is None else read_score(text) for text in texts]
        rated = [replace(t, credibility=score) for t, score in zip(triples, scores, strict=True) if score is not None]
        counts["triples_unrated"] += len(triples) - len(rated)
        return rated

    def _search(self, question: str, triples: Sequence[Triple]) -> Generator[Step, list[Any], list[Chain]]:
        """The beam search: at most F chains, each of at most L options (Eq. 2-7)."""
        texts = [str(triple) for triple in triples]
        encoded = [triple.encoded for triple in triples]
        vectors = self.encoder.encode(encoded)
        credibility = torch.tensor([triple.credibility or 0.0 for triple in triples])
        [near] = self._nearest(self._steps, [question])
        exemplars = [EXEMPLARS[row] for row in near]
        chains = [Chain()]
        for _ in range(self.hops):
            used = {row for chain in chains for row in chain.triples}
            done = [chain for chain in chains if chain.stopped]
            offers: list[tuple[Chain, list[int]]] = []
            for chain in (chain for chain in chains if not chain.stopped):
                asked = " ".join([*(encoded[row] for row in chain.triples), question])
                phi = vectors @ self.encoder.encode([asked])[0]
                scores = beam_search.reliability(phi, credibility, self.alpha, scale=self.relevance)
                offer = beam_search.top_candidates(scores, used if self.mask == "global" else chain.triples, self.candidates)
                # Without a triple left, there is nothing to choose.
                done += [] if offer else [replace(chain, stopped=True)]
                offers += [(chain, offer)] if offer else []
            if not offers:
                return done
            outcomes = yield [
                Score(
                    beam_search.selection(question, [texts[row] for row in chain.triples], [texts[row] for row in offer], exemplars),
                    beam_search.option_texts(len(offer)),
                )
                for chain, offer in offers
            ]
            extended = list(done)
            for (chain, offer), outcome in zip(offers, outcomes, strict=True):
                probabilities = beam_search.option_probabilities(scores_of(outcome))
                extended += beam_search.grown(chain, offer, probabilities, self.beam)
            chains = beam_search.most_confident(extended, self.kept, by_mean=self.by_mean)
        return chains

    def _nearest(self, known: torch.Tensor, texts: Sequence[str]) -> list[list[int]]:
        """The numbers of the exemplars nearest to each text, the nearest last, where it is read last."""
        order = (self.encoder.encode(texts) @ known.T).sort(dim=1, descending=True, stable=True).indices[:, : self.exemplars]
        return order.flip(1).tolist()


class TraceRAG(ReliableRAG):
    """TRACE: the same search without credibility, R = cosine (alpha = 1). Synthesis by triples is TRACE-Triple, by sources TRACE-Doc.

    Args: `ReliableRAG`, but for alpha.
    """

    name = "trace-rag"
    prompts = (EXTRACT, SELECT, FROM_FACTS, FROM_SOURCES)

    def __init__(self, chat: ChatModel, **options: Any) -> None:
        super().__init__(chat, alpha=1.0, **options)
