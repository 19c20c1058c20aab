"""ArbGraph: query + documents -> claims -> evidence graph -> credibility -> validated claims -> answer."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from torch import Tensor
from torch_geometric.data import Batch

from arbgraph.alignment import Aligner
from arbgraph.arbitrator import EvidenceArbitrator
from arbgraph.arbitrator.causal_lm import CausalArbitrator
from arbgraph.arbitrator.chat import ChatArbitrator
from arbgraph.arbitrator.load import load_arbitrator
from arbgraph.chat.base import ChatModel
from arbgraph.construction import ClaimSet, Verifier, build_graph
from arbgraph.encoder import SentenceEncoder
from arbgraph.extraction.generative import GenerativeExtractor
from arbgraph.extraction.syntactic import Extraction, SyntacticExtractor
from arbgraph.generation import ExtractiveWriter
from arbgraph.generation.generative import GenerativeWriter
from arbgraph.graph import EvidenceGraph
from arbgraph.propagation.credibility import CredibilityPropagation
from arbgraph.propagation.edges import graph_of
from arbgraph.propagation.fitted import load_propagation, parameters_of
from arbgraph.propagation.trace import Arbitrator, CredibilityTrace, Verdicts
from arbgraph.retellings import Retellings
from arbgraph.schema import (
    RELATION_LABELS,
    Answer,
    ArbitratedClaim,
    Arbitration,
    Decision,
    Document,
    Failed,
    Query,
    Relation,
    RelationLabel,
    SourceDocument,
    Status,
    content_id,
)
from arbgraph.settings import ChatStage, Settings, load_settings
from arbgraph.verifier import RelationVerifier
from arbgraph.verifier.chat import ChatVerifier

# What a stage with a chat model counts.
SPENT = ("calls", "prompt_tokens", "completion_tokens", "statements_left_out")
DIGITS = 6  # decimals kept of every number in an Arbitration


class Extractor(Protocol):
    """Documents of several queries -> one Extraction per query."""

    def extract(self, batches: Sequence[Sequence[Document]]) -> list[Extraction]: ...


class Writer(Protocol):
    """Arbitrations -> one Answer each."""

    def write(self, arbitrations: Sequence[Arbitration]) -> list[Answer]: ...


class ArbGraph:
    """The whole system. Every stage takes a batch of queries; a query gives the same result alone and in any batch.

    Stages are replaced by passing objects; those left out are built from the settings when they are first needed.

    Args:
        settings: profile name, YAML file, or Settings.
        extractor, encoder, verifier, arbitrator, writer: replacements of the stages. The arbitrator may also be the name or folder of a
            learned one.
        chat: a chat model that takes over the stages `settings.chat_stages`, except those for which an object is passed.
        propagation: a layer, or the name or folder of a fitted one; its thresholds and budgets take the place of the settings'.
    """

    def __init__(
        self,
        settings: str | Settings | None = None,
        *,
        extractor: Extractor | None = None,
        encoder: SentenceEncoder | None = None,
        verifier: Verifier | None = None,
        arbitrator: Arbitrator | str | None = None,
        writer: Writer | None = None,
        chat: ChatModel | None = None,
        propagation: CredibilityPropagation | str | None = None,
    ) -> None:
        self.settings = options = load_settings(settings)
        if propagation is not None:
            self.propagation = load_propagation(propagation) if isinstance(propagation, str) else propagation
            fitted = parameters_of(self.propagation)
            # They decide which pairs are mined, too, and a result records what it was made with.
            self.settings = options = load_settings(options, **{name: fitted[name] for name in fitted if name in Settings.model_fields})
        else:
            self.propagation = CredibilityPropagation.from_settings(options)
        self.encoder = encoder or SentenceEncoder(
            options.encoder, batch_size=options.batch_size, device=options.device, offline=options.offline
        )
        self.retellings = Retellings(options.retold_cosine, options.retold_words, self.encoder)
        given = _ChatStages(chat, options)
        self.verifier = (
            verifier
            or given.verifier()
            or RelationVerifier.load(options.verifier, offline=options.offline, device=options.device, batch_size=options.batch_size)
        )
        learned = load_arbitrator(arbitrator, offline=options.offline, device=options.device) if isinstance(arbitrator, str) else arbitrator
        self.arbitrator = learned or given.arbitrator() or EvidenceArbitrator()
        self.writer = writer or given.writer() or ExtractiveWriter(options.answer_sentences)
        self.aligner = Aligner(options.tau_merge)
        self._extractor = extractor or given.extractor()
        self._fitted = propagation is not None

    @property
    def models(self) -> dict[str, str]:
        """Names of the encoder, verifier, other stages with a model, fitted propagation, each with a hash of what it computes with."""
        about = self.verifier.describe()
        models = {
            "encoder": f"{self.encoder.resolved.name}@{self.encoder.resolved.sha256[:16]}",
            "verifier": f"{about.get('name', type(self.verifier).__name__)}@{content_id(json.dumps(about, sort_keys=True, default=str))}",
        }
        # Stages without a model have nothing to describe.
        for stage, part in (("extractor", self._extractor), ("arbitrator", self.arbitrator), ("writer", self.writer)):
            if describe := getattr(part, "describe", None):
                about = describe()
                models[stage] = f"{about.get('name', type(part).__name__)}@{content_id(json.dumps(about, sort_keys=True, default=str))}"
        if self._fitted:
            models["propagation"] = f"fitted@{content_id(json.dumps(parameters_of(self.propagation), sort_keys=True))}"
        return models

    @property
    def extractor(self) -> Extractor:
        """The extractor; a query that brings its claims never needs it, so it loads late."""
        if self._extractor is None:
            self._extractor = SyntacticExtractor(self.settings.spacy_model)
        return self._extractor

    def arbitrate(self, queries: Sequence[Query]) -> list[Arbitration]:
        """Extract, align, construct, arbitrate, validate and write, for every query."""
        return self.conclude(queries, *self.construct(queries))

    def conclude(
        self, queries: Sequence[Query], graphs: Sequence[EvidenceGraph], diagnostics: Sequence[dict[str, Any]], failures: Sequence[tuple]
    ) -> list[Arbitration]:
        """Arbitrate, validate and write on graphs that were constructed before; a sweep constructs once and concludes often."""
        arbitrator = _Ledger(self.arbitrator, len(graphs))
        traces = self.propagate(graphs, arbitrator)
        drafts = [
            arbitration_of(query, graph, trace, _with_usage(counts, "arbitration", spent), (*failed, *lost), self.settings)
            for query, graph, trace, counts, failed, spent, lost in zip(
                queries, graphs, traces, diagnostics, failures, arbitrator.usage, arbitrator.failures, strict=True
            )
        ]
        answers = self.writer.write(drafts)
        return [_answered(draft, answer) for draft, answer in zip(drafts, answers, strict=True)]

    def construct(self, queries: Sequence[Query]) -> tuple[list[EvidenceGraph], list[dict[str, Any]], list[tuple]]:
        """The evidence graph of every query, with what was counted and what failed on the way."""
        open_queries = [query for query in queries if query.claims is None]
        extracted = iter(self.extractor.extract([query.documents for query in open_queries]) if open_queries else [])
        graphs, diagnostics, failures = [], [], []
        for query in queries:
            extraction = next(extracted) if query.claims is None else None
            claim_set, counts = self._claims(query, extraction)
            before = _so_far(self.verifier)
            graphs.append(build_graph(claim_set, self.verifier, self.settings))
            spent, lost = _since(self.verifier, before)
            diagnostics.append(
                {"input": query.digest, "models": self.models, "documents": len(query.documents)}
                | _with_usage(counts, "verification", spent)
            )
            failures.append((*(extraction.failures if extraction else ()), *lost))
        return graphs, diagnostics, failures

    def _claims(self, query: Query, extraction: Extraction | None) -> tuple[ClaimSet, dict[str, Any]]:
        """Canonical claims, sorted by id. Claims that the caller brought stand as they are."""
        claims = query.claims if extraction is None else extraction.claims
        assert claims is not None
        claims = tuple(sorted(claims, key=lambda claim: claim.id))
        # One encoder call per query: which texts share a batch then depends on this query alone.
        vectors = self.encoder.encode([query.query, *(claim.text for claim in claims)])
        embedding, counts = vectors[1:], {}
        if extraction is not None:
            alignment = self.aligner.align(claims, embedding)
            order = sorted(range(len(alignment.claims)), key=lambda row: alignment.claims[row].id)
            claims, embedding = tuple(alignment.claims[row] for row in order), alignment.embedding[order]
            extracted = {name: count for name, count in extraction.counts.items() if name not in SPENT}
            counts = {"extraction": extracted, "merged": alignment.merged, "merge_vetoes": dict(alignment.vetoes)}
            counts = _with_usage(counts, "extraction", extraction.counts)
        documents = tuple(sorted(query.documents, key=lambda document: document.id))
        return ClaimSet(query.query, documents, claims, embedding, vectors[0], self.retellings.of(documents)), counts

    def propagate(self, graphs: Sequence[EvidenceGraph], arbitrator: Arbitrator | None = None) -> list[CredibilityTrace]:
        """Credibility over all graphs at once (the arbitrator sees a whole round in one batch), one trace per graph.

        `arbitrator` stands in for the system's own.
        """
        if not graphs:
            return []
        batch: Any = Batch.from_data_list(list(graphs), exclude_keys=["claims", "documents", "query"])
        batch.graphs, batch.claims = list(graphs), [claim for graph in graphs for claim in graph.claims]
        return self.propagation(batch, arbitrator or self.arbitrator).split(graphs)


class _ChatStages:
    """Builds the stages that the settings give to a chat model; None for the others, and for all where there is no model."""

    def __init__(self, chat: ChatModel | None, settings: Settings) -> None:
        self.chat, self.settings = chat, settings
        self.by_scores = settings.chat_judgements == "scores"

    def _chat(self, stage: ChatStage) -> ChatModel | None:
        return self.chat if stage in self.settings.chat_stages else None

    def extractor(self) -> Extractor | None:
        chat = self._chat("extraction")
        return None if chat is None else GenerativeExtractor(chat)

    def verifier(self) -> Verifier | None:
        chat = self._chat("verification")
        return None if chat is None else ChatVerifier(chat, scoring="options" if self.by_scores else "reply")

    def arbitrator(self) -> Arbitrator | None:
        chat = self._chat("arbitration")
        return None if chat is None else CausalArbitrator(chat) if self.by_scores else ChatArbitrator(chat)

    def writer(self) -> Writer | None:
        chat = self._chat("writing")
        return None if chat is None else GenerativeWriter(chat, self.settings.answer_sentences)


class _Ledger:
    """An arbitrator that books, for every graph of a batch, what another one spends and what fails in it."""

    def __init__(self, arbitrator: Arbitrator, graphs: int) -> None:
        self.arbitrator = arbitrator
        self.usage: list[Counter[str]] = [Counter() for _ in range(graphs)]
        self.failures: list[list[Failed]] = [[] for _ in range(graphs)]

    def arbitrate(self, graph: EvidenceGraph, pairs: Tensor, support: Tensor, contradiction: Tensor) -> Verdicts:
        verdicts = self.arbitrator.arbitrate(graph, pairs, support, contradiction)
        homes = graph_of(graph)[graph.pair_index[0, pairs]].tolist()
        for home, spent in zip(homes, verdicts.usage, strict=False):  # empty where no chat model is asked
            self.usage[home].update(spent)
        for home, lost in zip(homes, verdicts.failures, strict=False):
            self.failures[home] += lost
        return verdicts


def _so_far(stage: Any) -> tuple[Counter[str], int]:
    """What a stage has spent and how many failures it has listed; nothing where it asks no chat model."""
    return Counter(getattr(stage, "usage", {})), len(getattr(stage, "failures", ()))


def _since(stage: Any, before: tuple[Counter[str], int]) -> tuple[Counter[str], tuple[Failed, ...]]:
    return _so_far(stage)[0] - before[0], tuple(getattr(stage, "failures", ())[before[1] :])


def _with_usage(counts: Mapping[str, Any], stage: ChatStage, spent: Mapping[str, int]) -> dict[str, Any]:
    """The diagnostics with what a stage spent on a chat model; unchanged where it asked none."""
    if not spent.get("calls"):
        return dict(counts)
    return {**counts, "usage": {**counts.get("usage", {}), stage: {name: spent[name] for name in SPENT if name in spent}}}


def _answered(draft: Arbitration, answer: Answer) -> Arbitration:
    """The arbitration with its answer; a writer that fell back on another answer says why in the answer's trace."""
    failures = draft.failures
    if "failure" in answer.trace:
        failures = (*failures, Failed(**answer.trace["failure"]))
    diagnostics = _with_usage(draft.diagnostics, "writing", answer.usage)
    return draft.model_copy(update={"answer": answer, "failures": failures, "diagnostics": diagnostics})


def arbitration_of(
    query: Query, graph: EvidenceGraph, trace: CredibilityTrace, counts: dict[str, Any], failures: tuple, settings: Settings
) -> Arbitration:
    """What a propagation decided about one query, with what was counted and what failed on the way to its graph."""
    ids = [claim.id for claim in graph.claims]
    groups = dict(zip((d.id for d in graph.documents), graph.document_group.tolist(), strict=True))
    claims = tuple(
        ArbitratedClaim(
            **claim.model_dump(),
            status=_status(kept, accepted),
            credibility=round(p, DIGITS),
            relevance=round(relevance, DIGITS),
            sources=sources,
        )
        for claim, kept, accepted, p, relevance, sources in zip(
            graph.claims,
            trace.edges.kept.tolist(),
            trace.accepted.tolist(),
            trace.p.tolist(),
            graph.relevance.tolist(),
            graph.sources.tolist(),
            strict=True,
        )
    )
    return Arbitration(
        id=query.id,
        query=query.query,
        claims=claims,
        relations=_relations(graph, ids),
        decisions=_decisions(graph, trace, ids),
        documents=tuple(
            SourceDocument(
                id=d.id, title=d.title, source=d.source, published=d.published, credibility=d.credibility, source_group=groups[d.id]
            )
            for d in graph.documents
        ),
        failures=failures,
        diagnostics=counts
        | {
            "sources": graph.num_sources,
            "claims": len(claims),
            "claims_filtered": int((~trace.edges.kept).sum()),
            "candidate_pairs": graph.num_pairs,
            "support_edges": int(trace.edges.support.sum()),
            "support_edges_capped": int(trace.edges.capped.sum()),
            "contradiction_edges": int(trace.edges.contradiction.sum()),
            "rounds": int(trace.rounds_run.sum()),
            "arbitrator_calls": trace.calls,
            "arbitrator_failures": trace.failed,
        },
        settings=settings.model_dump(mode="json"),
    )


def _status(kept: bool, accepted: bool) -> Status:
    return "filtered" if not kept else "validated" if accepted else "suppressed"


def _relations(graph: EvidenceGraph, ids: list[str]) -> tuple[Relation, ...]:
    """Every candidate pair with its probabilities, the kept and the neutral ones alike."""
    best = graph.relation.argmax(dim=-1).tolist()
    rows = zip(graph.pair_index.T.tolist(), best, graph.relation.tolist(), graph.similarity.tolist(), strict=True)
    return tuple(
        Relation(
            a=ids[a],
            b=ids[b],
            label=RelationLabel(RELATION_LABELS[label]),
            probabilities={RelationLabel(name): round(p, DIGITS) for name, p in zip(RELATION_LABELS, probabilities, strict=True)},
            similarity=round(similarity, DIGITS),
        )
        for (a, b), label, probabilities, similarity in rows
    )


def _decisions(graph: EvidenceGraph, trace: CredibilityTrace, ids: list[str]) -> tuple[Decision, ...]:
    """One decision per selected pair and round. An abstention, a tie and a failure have no winner."""
    decisions = []
    for number, step in enumerate(trace.rounds, 1):
        for e in step.selected.nonzero().squeeze(-1).tolist():
            a, b = (ids[node] for node in graph.pair_index[:, e].tolist())
            verdict = trace.verdict[e]
            failed = bool(verdict[0].isnan())
            outcome = 2 if failed or verdict[0] == verdict[1] else int(verdict.argmax())
            decisions.append(
                Decision(
                    a=a,
                    b=b,
                    winner=(a, b, None)[outcome],
                    confidence=0.0 if failed else round(float(verdict[outcome]), DIGITS),
                    gate=float(step.gate[e]),
                    round=number,
                    rationale="the arbitrator failed on this pair" if failed else trace.rationales.get(e, ""),
                )
            )
    return tuple(decisions)
