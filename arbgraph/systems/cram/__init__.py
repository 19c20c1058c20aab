"""CrAM: attention to a document scaled by the document's credibility, inside a Hugging Face causal model."""

from arbgraph.systems.cram.attention import ReweightedChat, reweighted
from arbgraph.systems.cram.heads import HeadExample, best_heads, indirect_effects
from arbgraph.systems.cram.system import CrAM

__all__ = ["CrAM", "HeadExample", "ReweightedChat", "best_heads", "indirect_effects", "reweighted"]
