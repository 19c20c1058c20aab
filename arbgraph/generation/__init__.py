"""Writers: validated claims -> a cited answer."""

from arbgraph.generation.extractive import ExtractiveWriter

__all__ = ["ExtractiveWriter"]
