"""The comparison of two claims as a feature vector for a classifier head."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from arbgraph.comparison.compare import (
    comparable,
    compare,
    conflicting_quantities,
    entities_shared,
    exchanged_words,
    lone_names,
    one_in_other,
    participants_reversed,
    quantifiers_exclude,
    unmatched_names,
)
from arbgraph.comparison.facts import ClaimFacts, describe
from arbgraph.comparison.lexicon import same_superlative

if TYPE_CHECKING:
    from torch import Tensor

COMPARISON_FEATURES: tuple[str, ...] = (
    # Fields of `Comparison`.
    "years_differ",
    "dates_differ",
    "times_disjoint",
    "quantities_conflict",
    "quantities_agree",
    "entities_differ",
    "places_disjoint",
    "negation_differs",
    "polarity_differs",
    "antonym_pair",
    "converse_pair",
    "antonym_or_polarity",
    "quantifier_differs",
    "roles_swapped",
    "order_inversion",
    "overlap",
    "a_in_b",
    "b_in_a",
    # Times. year_gap: log(1 + smallest distance in years) / log(101), at most 1.
    "years_shared",
    "years_only_a",
    "years_only_b",
    "dates_agree",
    "year_gap",
    "times_equal",
    # Numbers. quantity_gap: smallest relative distance of conflicting values; values_shared: Jaccard of stated values.
    "measure_conflict",
    "count_conflict",
    "quantity_gap",
    "numbers_only_a",
    "numbers_only_b",
    "values_shared",
    "values_differ",
    "quantities_incomparable",
    # Names. names_lone: names that the other side lacks, divided by 3, at most 1; names_shared: share of the longer list.
    "names_lone_a",
    "names_lone_b",
    "names_shared",
    "names_none_shared",
    "place_inside_place",
    "first_name_shared",
    # Negation, quantifiers, superlatives, hedges. negated_against_stated: negated words that the other states, / 3, at most 1.
    "negated_a",
    "negated_b",
    "denied_a",
    "denied_b",
    "negated_against_stated",
    "quantifiers_exclude",
    "quantifier_shared",
    "quantifier_one_sided",
    "only_one_sided",
    "superlative_shared",
    "superlatives_unlike",
    "superlative_one_sided",
    "comparative_one_sided",
    "hedged_a",
    "hedged_b",
    # Status of what is claimed (opened, closed, held, planned; membership, events) and participants.
    "status_opposed",
    "event_against_status",
    "planned_one_sided",
    "past_one_sided",
    "passive_differs",
    "participants_reversed",
    # Words. pair_overlap: Jaccard of adjacent content stems; words_only: content stems that the other lacks, / 10, at most 1.
    "pair_overlap",
    "length_ratio",
    "words_only_a",
    "words_only_b",
    "one_word_exchanged",
    "first_stem_shared",
    "last_stem_shared",
    "text_equal",
    "a_in_b_or_synonym",
    "b_in_a_or_synonym",
)
"""The columns of `comparison_features`. All values lie in [0, 1]; without another word they are 0 or 1.

Columns that end in `_a` or `_b` or start with `a_in_b` or `b_in_a` change places when the claims do; all others are symmetric.
A trained checkpoint depends on this list: columns are only ever appended.
"""


def _other_side(name: str) -> str:
    """The column that takes this one's place when the claims change places."""
    for one, other in (("a_in_b", "b_in_a"), ("b_in_a", "a_in_b")):
        if name.startswith(one):
            return name.replace(one, other)
    return name[:-1] + {"a": "b", "b": "a"}[name[-1]] if name.endswith(("_a", "_b")) else name


_SWAPPED = [COMPARISON_FEATURES.index(_other_side(name)) for name in COMPARISON_FEATURES]

# Statuses that cannot both be the last word on one thing.
_OPPOSED_STATUS = (("start", "end"), ("holds", "past"), ("member", "end"), ("holds", "planned"))


def _points(facts: ClaimFacts) -> set[tuple[object, ...]]:
    return {(span.year, span.month, span.day) if math.isnan(span.start) else span.point for span in facts.times}


def _times(a: ClaimFacts, b: ClaimFacts) -> dict[str, float]:
    gaps = [abs(x - y) for x in a.years for y in b.years]
    exact_a = [span for span in a.times if span.month is not None]
    exact_b = [span for span in b.times if span.month is not None]
    return {
        "years_shared": bool(a.years & b.years),
        "years_only_a": bool(a.times) and not b.times,
        "years_only_b": bool(b.times) and not a.times,
        "dates_agree": any(x.compatible(y) for x in exact_a for y in exact_b),
        "year_gap": min(1.0, math.log1p(min(gaps)) / math.log1p(100)) if gaps else 0.0,
        "times_equal": bool(a.times) and _points(a) == _points(b),
    }


def _gap(x: float, y: float) -> float:
    largest = max(abs(x), abs(y))
    return min(1.0, abs(x - y) / largest) if largest else 0.0


def _numbers(a: ClaimFacts, b: ClaimFacts) -> dict[str, float]:
    conflicts = conflicting_quantities(a, b)
    kinds = {x.dimension in ("count", "ordinal") for x, _ in conflicts}
    values_a, values_b = {f"{x.value:.6g}" for x in a.quantities}, {f"{y.value:.6g}" for y in b.quantities}
    both = bool(values_a and values_b)
    return {
        "measure_conflict": False in kinds,
        "count_conflict": True in kinds,
        "quantity_gap": min((_gap(x.value, y.value) for x, y in conflicts), default=0.0),
        "numbers_only_a": bool(values_a) and not values_b,
        "numbers_only_b": bool(values_b) and not values_a,
        "values_shared": len(values_a & values_b) / len(values_a | values_b) if both else 0.0,
        "values_differ": both and bool(values_a - values_b) and bool(values_b - values_a),
        "quantities_incomparable": both and not any(comparable(x, y) for x in a.quantities for y in b.quantities),
    }


def _names(a: ClaimFacts, b: ClaimFacts) -> dict[str, float]:
    lone_a, lone_b = lone_names(a, b), lone_names(b, a)
    shared = entities_shared(a, b)
    return {
        "names_lone_a": min(1.0, len(lone_a) / 3),
        "names_lone_b": min(1.0, len(lone_b) / 3),
        "names_shared": shared / max(len(a.names), len(b.names)) if shared else 0.0,
        "names_none_shared": bool(a.names) and bool(b.names) and not shared,
        "place_inside_place": any(one_in_other(x.usual, y.usual) for x in unmatched_names(a, b) for y in unmatched_names(b, a)),
        "first_name_shared": bool(a.names and b.names) and a.names[0].usual == b.names[0].usual,
    }


def _logic(a: ClaimFacts, b: ClaimFacts) -> dict[str, float]:
    crossed = len(a.negated & b.content - b.negated) + len(b.negated & a.content - a.negated)
    return {
        "negated_a": a.negations > 0,
        "negated_b": b.negations > 0,
        "denied_a": a.denials > 0,
        "denied_b": b.denials > 0,
        "negated_against_stated": min(1.0, crossed / 3),
        "quantifiers_exclude": quantifiers_exclude(a, b),
        "quantifier_shared": bool(a.quantifiers & b.quantifiers),
        "quantifier_one_sided": bool(a.quantifiers) != bool(b.quantifiers),
        "only_one_sided": ("only" in a.quantifiers) != ("only" in b.quantifiers),
        "superlative_shared": same_superlative(a.superlatives, b.superlatives),
        "superlatives_unlike": bool(a.superlatives and b.superlatives) and not same_superlative(a.superlatives, b.superlatives),
        "superlative_one_sided": bool(a.superlatives) != bool(b.superlatives),
        "comparative_one_sided": a.comparative != b.comparative,
        "hedged_a": a.hedged,
        "hedged_b": b.hedged,
    }


def _status(a: ClaimFacts, b: ClaimFacts) -> dict[str, float]:
    def crossed(first: str, second: str) -> bool:
        only_a, only_b = a.status - b.status, b.status - a.status
        return (first in only_a and second in only_b) or (second in only_a and first in only_b)

    return {
        "status_opposed": any(crossed(*pair) for pair in _OPPOSED_STATUS),
        "event_against_status": crossed("event", "member") or crossed("event", "start"),
        "planned_one_sided": ("planned" in a.status) != ("planned" in b.status),
        "past_one_sided": ("past" in a.status) != ("past" in b.status),
        "passive_differs": a.passive != b.passive,
        "participants_reversed": participants_reversed(a, b) is not None,
    }


def _overlap(a: ClaimFacts, b: ClaimFacts) -> dict[str, float]:
    only_a, only_b = len(a.content - b.content), len(b.content - a.content)
    lone_a, lone_b = exchanged_words(a, b)
    pairs_a, pairs_b = set(pairwise(a.stems)), set(pairwise(b.stems))
    pairs = pairs_a | pairs_b
    longest = max(len(a.content), len(b.content))
    return {
        "pair_overlap": len(pairs_a & pairs_b) / len(pairs) if pairs else 0.0,
        "length_ratio": min(len(a.content), len(b.content)) / longest if longest else 1.0,
        "words_only_a": min(1.0, only_a / 10),
        "words_only_b": min(1.0, only_b / 10),
        "one_word_exchanged": only_a == 1 and only_b == 1,
        "first_stem_shared": bool(a.stems and b.stems) and a.stems[0] == b.stems[0],
        "last_stem_shared": bool(a.stems and b.stems) and a.stems[-1] == b.stems[-1],
        "text_equal": a.text.lower() == b.text.lower(),
        "a_in_b_or_synonym": 1 - len(lone_a) / len(a.content) if a.content else 0.0,
        "b_in_a_or_synonym": 1 - len(lone_b) / len(b.content) if b.content else 0.0,
    }


def _features(a: str, b: str) -> dict[str, float]:
    comparison = compare(a, b)
    x, y = describe(a), describe(b)
    antonym = comparison.antonym_pair is not None
    whole = {
        "years_differ": comparison.years_differ,
        "dates_differ": comparison.dates_differ,
        "times_disjoint": comparison.times_disjoint,
        "quantities_conflict": comparison.quantities_conflict,
        "quantities_agree": comparison.quantities_agree,
        "entities_differ": comparison.entities_differ,
        "places_disjoint": comparison.places_disjoint,
        "negation_differs": comparison.negation_differs,
        "polarity_differs": comparison.polarity_differs,
        "antonym_pair": antonym,
        "converse_pair": comparison.converse_pair is not None,
        "antonym_or_polarity": antonym != comparison.polarity_differs,
        "quantifier_differs": comparison.quantifier_differs,
        "roles_swapped": comparison.roles_swapped,
        "order_inversion": comparison.order_inversion,
        "overlap": comparison.overlap,
        "a_in_b": comparison.a_in_b,
        "b_in_a": comparison.b_in_a,
    }
    return whole | _times(x, y) | _numbers(x, y) | _names(x, y) | _logic(x, y) | _status(x, y) | _overlap(x, y)


def comparison_features(pairs: Sequence[tuple[str, str]]) -> Tensor:
    """The features of claim pairs (a, b), `[P, F]` float32 in [0, 1], with the columns of COMPARISON_FEATURES.

    A pair that occurs in both orders is compared once.
    """
    import torch

    rows: dict[tuple[str, str], list[float]] = {}
    for a, b in pairs:
        if (a, b) in rows:
            continue
        if (back := rows.get((b, a))) is not None:
            rows[a, b] = [back[column] for column in _SWAPPED]
        else:
            features = _features(a, b)
            rows[a, b] = [features[name] for name in COMPARISON_FEATURES]
    return torch.tensor([rows[pair] for pair in pairs], dtype=torch.float32).reshape(len(pairs), len(COMPARISON_FEATURES))
