"""ArbGraph: conflict-aware evidence arbitration for retrieval-augmented generation.

`import arbgraph` is cheap: torch and the models load when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from arbgraph.arbitrator.causal_lm import CausalArbitrator
    from arbgraph.arbitrator.chat import ChatArbitrator
    from arbgraph.chat.base import ChatError, ChatModel
    from arbgraph.chat.cached import CachedChat
    from arbgraph.chat.load import open_chat
    from arbgraph.chat.openai_chat import OpenAIChat
    from arbgraph.chat.replay import ReplayChat
    from arbgraph.chat.transformers_chat import TransformersChat
    from arbgraph.extraction.generative import GenerativeExtractor
    from arbgraph.generation.generative import GenerativeWriter
    from arbgraph.graph import EvidenceGraph
    from arbgraph.pipeline import ArbGraph
    from arbgraph.schema import Answer, Arbitration, Claim, Decision, Document, Failed, Mention, Query, Relation
    from arbgraph.settings import Settings, load_settings
    from arbgraph.systems import System, open_system
    from arbgraph.verifier import RelationVerifier
    from arbgraph.verifier.chat import ChatVerifier

_HOMES = {
    "ArbGraph": "arbgraph.pipeline",
    "CachedChat": "arbgraph.chat.cached",
    "CausalArbitrator": "arbgraph.arbitrator.causal_lm",
    "ChatArbitrator": "arbgraph.arbitrator.chat",
    "ChatError": "arbgraph.chat.base",
    "ChatModel": "arbgraph.chat.base",
    "ChatVerifier": "arbgraph.verifier.chat",
    "EvidenceGraph": "arbgraph.graph",
    "GenerativeExtractor": "arbgraph.extraction.generative",
    "GenerativeWriter": "arbgraph.generation.generative",
    "OpenAIChat": "arbgraph.chat.openai_chat",
    "RelationVerifier": "arbgraph.verifier",
    "ReplayChat": "arbgraph.chat.replay",
    "Settings": "arbgraph.settings",
    "System": "arbgraph.systems",
    "TransformersChat": "arbgraph.chat.transformers_chat",
    "load_settings": "arbgraph.settings",
    "open_chat": "arbgraph.chat.load",
    "open_system": "arbgraph.systems",
    **dict.fromkeys(
        ["Answer", "Arbitration", "Claim", "Decision", "Document", "Failed", "Mention", "Query", "Relation"], "arbgraph.schema"
    ),
}

__all__ = [
    "Answer",
    "ArbGraph",
    "Arbitration",
    "CachedChat",
    "CausalArbitrator",
    "ChatArbitrator",
    "ChatError",
    "ChatModel",
    "ChatVerifier",
    "Claim",
    "Decision",
    "Document",
    "EvidenceGraph",
    "Failed",
    "GenerativeExtractor",
    "GenerativeWriter",
    "Mention",
    "OpenAIChat",
    "Query",
    "Relation",
    "RelationVerifier",
    "ReplayChat",
    "Settings",
    "System",
    "TransformersChat",
    "__version__",
    "load_settings",
    "open_chat",
    "open_system",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'arbgraph' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
