"""Learned arbitrators by name: the class that a checkpoint names decides what is loaded."""

from __future__ import annotations

from pathlib import Path

from arbgraph.arbitrator import causal_lm, learned
from arbgraph.arbitrator.causal_lm import CausalArbitrator
from arbgraph.arbitrator.export import is_export, load_export
from arbgraph.arbitrator.learned import LearnedEvidenceArbitrator
from arbgraph.checkpoint import CheckpointError, describe


def load_arbitrator(name: str | Path, *, offline: bool = True, device: str | None = None) -> LearnedEvidenceArbitrator | CausalArbitrator:
    """A checkpoint folder, a shipped checkpoint by name, or an exported causal arbitrator. Raises CheckpointError when it holds none."""
    if is_export(name):
        return load_export(name, offline=offline, device=device)
    about = describe(name)
    if about["kind"] == learned.KIND:
        return LearnedEvidenceArbitrator.load(name)
    if about["kind"] == causal_lm.KIND:
        return CausalArbitrator.load(name, offline=offline, device=device)
    raise CheckpointError(f"{about['path']}: holds a {about['kind']}; give a {learned.KIND} or {causal_lm.KIND}")
