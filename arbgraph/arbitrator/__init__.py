"""Arbitrators: they decide which side of a contradiction the evidence favours, or that it does not decide."""

from arbgraph.arbitrator.evidence import EvidenceArbitrator, EvidenceWeights
from arbgraph.arbitrator.learned import LearnedEvidenceArbitrator

__all__ = ["EvidenceArbitrator", "EvidenceWeights", "LearnedEvidenceArbitrator"]
