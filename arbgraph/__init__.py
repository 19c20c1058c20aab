"""ArbGraph: conflict-aware evidence arbitration for retrieval-augmented generation.

`import arbgraph` is cheap: torch and the models load when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from arbgraph.graph import EvidenceGraph
    from arbgraph.pipeline import ArbGraph
    from arbgraph.schema import Answer, Arbitration, Claim, Decision, Document, Failed, Mention, Query, Relation
    from arbgraph.settings import Settings, load_settings
    from arbgraph.verifier import RelationVerifier

_HOMES = {
    "ArbGraph": "arbgraph.pipeline",
    "EvidenceGraph": "arbgraph.graph",
    "RelationVerifier": "arbgraph.verifier",
    "Settings": "arbgraph.settings",
    "load_settings": "arbgraph.settings",
    **dict.fromkeys(
        ["Answer", "Arbitration", "Claim", "Decision", "Document", "Failed", "Mention", "Query", "Relation"], "arbgraph.schema"
    ),
}

__all__ = [
    "Answer",
    "ArbGraph",
    "Arbitration",
    "Claim",
    "Decision",
    "Document",
    "EvidenceGraph",
    "Failed",
    "Mention",
    "Query",
    "Relation",
    "RelationVerifier",
    "Settings",
    "__version__",
    "load_settings",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'arbgraph' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
