"""Canonical claims -> EvidenceGraph: query relevance (Eq. 1), candidate pairs (Eq. 2), verified relations for every pair."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from arbgraph.comparison import describe
from arbgraph.graph import EvidenceGraph
from arbgraph.independence import claim_sources, copy_agreement, source_groups
from arbgraph.mining import similar_pairs
from arbgraph.schema import Claim, Document
from arbgraph.settings import Settings

_YEAR = re.compile(r"(?<![\d.,])(1[5-9]\d\d|20\d\d)(?![\d]|[.,]\d)")


class Verifier(Protocol):
    """Calibrated probabilities of support, contradict, neutral `[P, 3]` for P pairs of texts, the same when a pair is swapped.

    `describe` names the verifier and its weights, so that a result says what made it.
    """

    def describe(self) -> dict[str, Any]: ...

    def relate(self, pairs: Sequence[tuple[str, str]]) -> Tensor: ...


@dataclass(frozen=True)
class ClaimSet:
    """The canonical claims of one query, sorted by id, with their unit vectors `[N, D]`, and the query's vector `[D]`.

    `retold` are pairs of rows of `documents` that are one source in other words (`arbgraph.retellings`).
    """

    query: str
    documents: tuple[Document, ...]
    claims: tuple[Claim, ...]
    embedding: Tensor
    query_embedding: Tensor
    retold: Sequence[tuple[int, int]] = ()


def publication_year(document: Document) -> float | None:
    """When a document was published, in years (2011.5 is mid 2011).

    Without a date, a single year named by the source or else by the title is taken ("Road atlas index, 2001"); several
    different years there say nothing.
    """
    if document.published is not None:
        return document.published.year + (document.published.timetuple().tm_yday - 1) / 366
    for text in (document.source, document.title):
        years = {int(year) for year in _YEAR.findall(text)}
        if len(years) == 1:
            return float(years.pop())
    return None


def specificity(text: str) -> int:
    """How many checkable details a claim holds: quantities, times and names."""
    facts = describe(text)
    return len(facts.quantities) + len(facts.times) + len(facts.names)


def build_graph(claim_set: ClaimSet, verifier: Verifier, settings: Settings) -> EvidenceGraph:
    """The evidence graph of one query.

    Pairs are mined among claims with relevance >= tau_q and kept with similarity >= tau_sim, whatever their relation; a graph
    that is to serve a sweep is built with the smallest thresholds of the sweep.
    """
    claims, documents = claim_set.claims, claim_set.documents
    relevance = claim_set.embedding @ claim_set.query_embedding
    kept = (relevance >= settings.tau_q).nonzero().squeeze(-1)
    pairs, similarity = similar_pairs(claim_set.embedding[kept], settings.tau_sim, block=settings.pair_block)
    pair_index = kept[pairs]
    relation = verifier.relate([(claims[a].text, claims[b].text) for a, b in pair_index.T.tolist()])
    ids = [document.id for document in documents]
    groups = dict(zip(ids, source_groups(documents, settings.copy_overlap, claim_set.retold), strict=True))
    # A retelling may leave a claim out without disputing it, a copy that lacks it was altered.
    copied = dict(zip(ids, source_groups(documents, settings.copy_overlap), strict=True)) if claim_set.retold else groups
    copies = Counter(copied.values())
    links = [(row, group) for row, claim in enumerate(claims) for group in claim_sources(claim.mentions, groups)]
    by_id = {document.id: document for document in documents}
    return EvidenceGraph.build(
        torch.full((len(claims),), settings.prior, dtype=torch.float64),
        pair_index,
        relation,
        similarity=similarity,
        relevance=relevance,
        source_index=torch.tensor(links, dtype=torch.long).view(-1, 2).T.contiguous(),
        num_sources=max(groups.values(), default=-1) + 1,
        embedding=claim_set.embedding,
        source_credibility=_mean_over_documents(claims, {i: d.credibility for i, d in by_id.items()}),
        published=_latest(claims, {i: publication_year(d) for i, d in by_id.items()}),
        agreement=torch.tensor([copy_agreement(claim.mentions, copied, copies) for claim in claims], dtype=torch.float64),
        specificity=torch.tensor([specificity(claim.text) for claim in claims], dtype=torch.float32),
        document_group=torch.tensor([groups[document.id] for document in documents], dtype=torch.long),
        claims=list(claims),
        documents=list(documents),
        query=claim_set.query,
    )


def _known(claim: Claim, values: dict[str, float | None]) -> list[float]:
    return [value for document in claim.document_ids if (value := values[document]) is not None]


def _mean_over_documents(claims: Sequence[Claim], values: dict[str, float | None]) -> Tensor:
    known = [_known(claim, values) for claim in claims]
    return torch.tensor([sum(v) / len(v) if v else torch.nan for v in known], dtype=torch.float32)


def _latest(claims: Sequence[Claim], values: dict[str, float | None]) -> Tensor:
    return torch.tensor([max(_known(claim, values), default=torch.nan) for claim in claims], dtype=torch.float64)
