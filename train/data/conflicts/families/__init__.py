"""The families of typed conflicts, by the category they belong to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from random import Random

from train.data.conflicts.engine import Scene
from train.data.conflicts.families import (
    acronyms,
    causal,
    dates,
    entities,
    location,
    negation,
    numbers,
    paraphrase,
    quantifiers,
    roles,
    status,
    temporal,
)
from train.data.conflicts.families.stories import Story, play
from train.data.conflicts.names import Names

Family = Callable[[Names, Random], Scene]


def _told(category: str, stories: Sequence[Story], names: Names, rng: Random) -> Scene:
    return play(category, rng.choice(stories), names, rng)


def _stories(category: str, stories: Sequence[Story]) -> Family:
    return partial(_told, category, stories)


# category -> (family, weight)
FAMILIES: dict[str, tuple[tuple[Family, float], ...]] = {
    "dates_years": ((dates.dates, 5), (dates.spans, 2), (dates.ages, 1)),
    "numbers_units": (
        (numbers.quantities, 5),
        (numbers.yearly, 2),
        (numbers.fractions, 1.5),
        (numbers.sums, 1),
        (numbers.changes, 1.2),
        (numbers.temperatures, 0.8),
    ),
    "entity_ambiguity": (
        (entities.namesakes, 2),
        (entities.towns, 2),
        (entities.plain_names, 1),
        (entities.works, 1),
        (entities.real_towns, 1),
    ),
    "status_vs_event": ((_stories("status_vs_event", status.STATUS), 1),),
    "negation_antonyms": ((negation.acts, 2), (negation.opposites, 2), (_stories("negation_antonyms", negation.DECISIONS), 2)),
    "location_containment": (
        (location.real_places, 3),
        (location.invented_places, 2),
        (location.landmarks, 1),
        (_stories("location_containment", location.PLACES), 1),
    ),
    "temporal_validity": ((temporal.holders, 3), (temporal.states, 3), (_stories("temporal_validity", temporal.PRESENT), 2)),
    "roles_agents": ((roles.converses, 4), (roles.makers, 2), (_stories("roles_agents", roles.TIES), 1)),
    "superlatives_quantifiers": (
        (quantifiers.quantified, 3),
        (quantifiers.superlatives, 2),
        (quantifiers.counts, 1.5),
        (_stories("superlatives_quantifiers", quantifiers.ONLY), 2),
    ),
    "paraphrase_overlap": ((_stories("paraphrase_overlap", paraphrase.REWORDING), 1),),
    "causal_scientific": ((causal.effects, 3), (causal.causes, 2), (_stories("causal_scientific", causal.SCIENCE), 3)),
    "acronyms_aliases": ((acronyms.bodies, 3), (acronyms.aliases, 2), (acronyms.known, 1)),
}


def draw_scene(category: str, names: Names, rng: Random) -> Scene:
    """A scene of the category, by one of its families in proportion to their weights. Raises KeyError for an unknown category."""
    families = FAMILIES[category]
    family = rng.choices([f for f, _ in families], [w for _, w in families])[0]
    names.reset()
    return family(names, rng)
