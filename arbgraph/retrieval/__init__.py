"""From a query to documents: a BM25 index in memory, over the documents of one question or over a collection."""

from arbgraph.retrieval.index import DocumentIndex, Hit, excerpt, words

__all__ = ["DocumentIndex", "Hit", "excerpt", "words"]
