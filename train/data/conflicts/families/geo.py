"""Real geography for containment: country -> regions -> cities, and facts that names of places share."""

from __future__ import annotations

from train.data.conflicts.banks import bank

BANK = bank("geo")

COUNTRIES: dict[str, dict[str, tuple[str, ...]]] = BANK["COUNTRIES"]
CONTINENTS = {
    "Europe": ("Germany", "France", "Italy", "Spain", "Poland", "Switzerland", "Austria", "England", "Sweden"),
    "Asia": ("India", "Japan", "China"),
    "Africa": ("Nigeria", "South Africa"),
    "South America": ("Brazil", "Chile"),
    "North America": ("Canada", "the United States", "Mexico"),
    "Oceania": ("Australia", "New Zealand"),
}
DEMONYMS = BANK["DEMONYMS"]
AMBIGUOUS = set(BANK["AMBIGUOUS"])


def continent(country: str) -> str | None:
    """The continent, or None for a country on two."""
    return next((name for name, members in CONTINENTS.items() if country in members), None)


def cities(country: str) -> list[tuple[str, str]]:
    """(city, region) pairs of a country, without city names that several countries share."""
    return [(city, region) for region, names in COUNTRIES[country].items() for city in names if city not in AMBIGUOUS]


# real things: name, statement verb, the place it is in, wider places that contain it, disjoint places
LANDMARKS: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...] = BANK["LANDMARKS"]
