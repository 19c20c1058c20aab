"""What differs between two claims, by rules and lexicons, without a model.

`describe(text)` reads the facts of one claim, `compare(a, b)` says what differs and why, and `comparison_features(pairs)`
gives the same to a classifier as numbers.
"""

from arbgraph.comparison.compare import Comparison, compare
from arbgraph.comparison.facts import ClaimFacts, Name, describe
from arbgraph.comparison.features import COMPARISON_FEATURES, comparison_features
from arbgraph.comparison.numbers import Quantity
from arbgraph.comparison.times import TimeSpan

__all__ = [
    "COMPARISON_FEATURES",
    "ClaimFacts",
    "Comparison",
    "Name",
    "Quantity",
    "TimeSpan",
    "compare",
    "comparison_features",
    "describe",
]
