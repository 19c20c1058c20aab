"""ReliableRAG and TRACE: triples, their credibility, and reasoning chains that a beam search builds from them."""

from arbgraph.systems.reliable.alpha import AlphaFit, fit_alpha
from arbgraph.systems.reliable.system import ReliableRAG, TraceRAG

__all__ = ["AlphaFit", "ReliableRAG", "TraceRAG", "fit_alpha"]
