"""Relation verifier: a pair of claims -> support, contradiction or neutrality, with calibrated probabilities."""

from arbgraph.verifier.relation import RelationVerifier

__all__ = ["RelationVerifier"]
