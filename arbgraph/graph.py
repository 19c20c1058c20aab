"""EvidenceGraph: claims and signed candidate pairs of one query, as torch_geometric data."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from arbgraph.schema import Claim, Document

NODE_FIELDS = ("embedding", "relevance", "prior", "sources", "source_credibility", "agreement", "specificity", "published")
PAIR_FIELDS = ("similarity", "relation", "verdict")


class EvidenceGraph(Data):
    """One query's evidence. Undirected pairs are stored once, with `pair_index[0] < pair_index[1]`.

    Shapes (N claims, E candidate pairs, L claim-source links, S independent sources):
        embedding: `[N, D]` unit vectors. relevance: `[N]` cosine with the query, in [-1, 1].
        prior: `[N]` p at round 0, in (0, 1). sources: `[N]` long, independent sources per claim.
        source_credibility: `[N]` mean given credibility of the claim's sources, in [0, 1]; NaN where none is known.
        agreement: `[N]` share of the copies of the claim's sources that state it too, in (0, 1]; 1 where nothing was copied.
        specificity: `[N]` checkable details (numbers, dates, names) in the claim, >= 0.
        published: `[N]` latest publication date of the claim's documents, in years (2011.5 is mid 2011); NaN where unknown.
        source_index: `[2, L]` long, (claim, independent source) links.
        pair_index: `[2, E]` long. similarity: `[E]` cosine of the two claims.
        relation: `[E, 3]` calibrated probabilities of support, contradict, neutral.
        verdict: `[E, 3]` P(a wins), P(b wins), P(abstain); NaN where the arbitrator was not asked.
        label: `[N]` 1 = valid, 0 = not, NaN = unknown (training only).

    The graph keeps all candidate pairs; thresholds, caps and budgets are applied by the propagation layer, so that one
    graph serves a whole sweep. `claims` and `documents` carry the text for arbitrators that read it; `query` too.
    """

    claims: list[Claim]
    documents: list[Document]
    query: str

    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        if key == "pair_index":
            return self.num_nodes
        if key == "source_index":
            return torch.tensor([[self.num_nodes], [self.num_sources]])
        return 0 if key in NODE_FIELDS or key in PAIR_FIELDS else super().__inc__(key, value, *args, **kwargs)

    def __cat_dim__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        return -1 if key in ("pair_index", "source_index") else super().__cat_dim__(key, value, *args, **kwargs)

    @property
    def num_pairs(self) -> int:
        """E, the number of candidate pairs."""
        return self["pair_index"].shape[1]

    @classmethod
    def build(
        cls,
        prior: Tensor,
        pair_index: Tensor,
        relation: Tensor,
        *,
        similarity: Tensor | None = None,
        relevance: Tensor | None = None,
        verdict: Tensor | None = None,
        source_index: Tensor | None = None,
        num_sources: int | None = None,
        **fields: Any,
    ) -> EvidenceGraph:
        """A graph from its essential tensors; the rest take neutral values.

        Without `source_index` every claim has one source of its own. Raises ValueError, naming the field, on a wrong shape,
        a self-pair, a repeated pair, an index out of range, a prior outside (0, 1), or probabilities that are not finite.
        """
        n, e = prior.shape[0], pair_index.shape[1]
        if source_index is None:
            source_index = torch.arange(n).repeat(2, 1)
            num_sources = n
        if num_sources is None:
            num_sources = int(source_index[1].max()) + 1 if source_index.numel() else 0
        graph = cls(
            num_nodes=n,
            prior=prior,
            pair_index=pair_index,
            relation=relation,
            similarity=torch.ones(e, dtype=relation.dtype) if similarity is None else similarity,
            relevance=torch.ones(n, dtype=relation.dtype) if relevance is None else relevance,
            verdict=torch.full((e, 3), torch.nan, dtype=relation.dtype) if verdict is None else verdict,
            source_index=source_index,
            num_sources=num_sources,
            sources=torch.bincount(source_index[0], minlength=n),
            source_credibility=fields.pop("source_credibility", torch.full((n,), torch.nan)),
            agreement=fields.pop("agreement", torch.ones(n, dtype=prior.dtype)),
            specificity=fields.pop("specificity", torch.zeros(n)),
            published=fields.pop("published", torch.full((n,), torch.nan)),
            **fields,
        )
        graph.check()
        return graph

    def check(self) -> None:
        """Raises ValueError, naming the field and the first offending row, when the graph breaks its contract."""
        n, e = self["prior"].shape[0], self.num_pairs
        sizes = {"relevance": n, "sources": n, "similarity": e, "relation": e, "verdict": e}
        for name, size in sizes.items():
            if self[name].shape[0] != size:
                raise ValueError(f"EvidenceGraph.{name} has {self[name].shape[0]} rows, expected {size}")
        prior, pairs = self["prior"], self["pair_index"]
        bad = ~((prior > 0) & (prior < 1))
        if bad.any():
            row = int(bad.nonzero()[0])
            raise ValueError(f"EvidenceGraph.prior[{row}] is {float(prior[row])}; a prior lies strictly between 0 and 1")
        for name in ("relevance", "similarity", "relation", "verdict"):
            # A verdict of NaN is one that is not known.
            bad = self[name].isinf() if name == "verdict" else ~self[name].isfinite()
            if bad.any():
                row = int(bad.nonzero()[0, 0])
                raise ValueError(f"EvidenceGraph.{name}[{row}] is {self[name][row].tolist()}; NaN and infinite values mean nothing here")
        if e == 0:
            return
        if int(pairs.min()) < 0 or int(pairs.max()) >= n:
            raise ValueError(f"EvidenceGraph.pair_index refers to a claim outside 0..{n - 1}")
        bad = pairs[0] >= pairs[1]
        if bad.any():
            row = int(bad.nonzero()[0])
            raise ValueError(f"EvidenceGraph.pair_index[:, {row}] is {pairs[:, row].tolist()}; write every pair once, smaller index first")
        if torch.unique(pairs[0] * n + pairs[1]).numel() != e:
            raise ValueError("EvidenceGraph.pair_index repeats a pair; every pair is stored once")
