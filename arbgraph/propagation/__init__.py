"""Credibility propagation: Algorithm 1 of ArbGraph and its rivals, one interface, chosen by name."""

from __future__ import annotations

import difflib
import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arbgraph.propagation.base import Rival
    from arbgraph.propagation.credibility import CredibilityPropagation

# Import paths and not classes: reading the table, as the command line does, loads no torch.
PROPAGATIONS: dict[str, str] = {
    "arbgraph": "arbgraph.propagation.credibility:CredibilityPropagation",
    "dfquad": "arbgraph.propagation.argumentation:DFQuAD",
    "quadratic_energy": "arbgraph.propagation.argumentation:QuadraticEnergy",
    "euler": "arbgraph.propagation.argumentation:EulerBased",
    "mlp": "arbgraph.propagation.argumentation:MLPBased",
    "truthfinder": "arbgraph.propagation.truth:TruthFinder",
    "sums": "arbgraph.propagation.truth:Sums",
    "average_log": "arbgraph.propagation.truth:AverageLog",
    "investment": "arbgraph.propagation.truth:Investment",
    "pooled_investment": "arbgraph.propagation.truth:PooledInvestment",
    "crh": "arbgraph.propagation.truth:CRH",
    "two_estimates": "arbgraph.propagation.truth:TwoEstimates",
    "mean_field": "arbgraph.propagation.belief:MeanField",
    "not_both": "arbgraph.propagation.belief:NotBothBeliefPropagation",
    "signed_pagerank": "arbgraph.propagation.belief:SignedPageRank",
    "majority": "arbgraph.propagation.truth:MajorityVote",
}


def propagation_class(name: str) -> type[CredibilityPropagation] | type[Rival]:
    """The propagation of that name: `from_settings(settings)` makes one, `forward(graph, arbitrator=None)` gives a `CredibilityTrace`.

    Raises ValueError, with the closest names, where there is none.
    """
    if name not in PROPAGATIONS:
        close = difflib.get_close_matches(name, PROPAGATIONS, n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else f"choose one of {', '.join(PROPAGATIONS)}"
        raise ValueError(f"propagation {name!r} is not known; {hint}")
    module, _, attribute = PROPAGATIONS[name].partition(":")
    return getattr(importlib.import_module(module), attribute)
