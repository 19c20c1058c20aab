"""Values and families of the conflict generator, against oracles written apart from it and by hand."""

import re
from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from train.data.conflicts.engine import (
    LABELS,
    MAX_WORDS,
    MIN_WORDS,
    Plan,
    draw_triples,
    fill,
    sentence,
)
from train.data.conflicts.families import FAMILIES, dates, entities, location, negation, numbers, quantifiers, roles, temporal
from train.data.conflicts.families.stories import Story, cast_of, play
from train.data.conflicts.names import Names
from train.data.conflicts.values import Day, Quantity, century_part, in_decade, in_month, in_year, number, on_day, ordinal, spell


@pytest.mark.parametrize(
    ("n", "words"),
    [(0, "zero"), (13, "thirteen"), (40, "forty"), (99, "ninety-nine"), (305, "three hundred and five"), (700, "seven hundred")],
)
def test_spell(n: int, words: str):
    assert spell(n) == words


def test_spell_refuses_a_thousand():
    with pytest.raises(ValueError, match="got 1000"):
        spell(1000)


def test_ordinals_and_numbers():
    assert [ordinal(n) for n in (1, 2, 3, 11, 12, 13, 21, 102)] == ["1st", "2nd", "3rd", "11th", "12th", "13th", "21st", "102nd"]
    assert [number(1234567), number(1.50, 2), number(42195, 1)] == ["1,234,567", "1.5", "42,195"]


MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"]
SEASON_MONTHS = {"spring": (3, 5), "summer": (6, 8), "autumn": (9, 11)}


def period(text: str) -> tuple[int, int]:
    """First and last day (as 372-day-year ordinals) of the period a date phrase names: an oracle written apart from the generator."""
    years = [int(y) for y in re.findall(r"\b(\d{4})(?=\b|s)", text)]
    at = lambda y, m, d: (y * 12 + m - 1) * 31 + d  # noqa: E731
    if text.startswith("between"):
        return at(years[0], 1, 1), at(years[1], 12, 31)
    year = years[0]
    if re.search(r"\d{4}s", text):
        low, high = (
            (year, year + 3)
            if "early" in text
            else (year + 7, year + 9)
            if "late" in text
            else (year + 3, year + 7)
            if "mid" in text
            else (year, year + 9)
        )
        return at(low, 1, 1), at(high, 12, 31)
    month = next((i for i, name in enumerate(MONTHS, 1) if name in text), None)
    season = next((m for s, m in SEASON_MONTHS.items() if s in text), None)
    if month and (day := re.search(r"\b(\d{1,2})(?:st|nd|rd|th)?\b(?!\d)", re.sub(r"\d{4}", "", text))):
        return at(year, month, int(day[1])), at(year, month, int(day[1]))
    if month:
        low, high = (1, 10) if "early" in text else (20, 31) if "late" in text else (9, 20) if "mid" in text else (1, 31)
        return at(year, month, low), at(year, month, high)
    if season:
        return at(year, season[0], 1), at(year, season[1], 31)
    spans = {"start of": (1, 1), "very end": (12, 12), "early": (1, 3), "late": (10, 12), "first half": (1, 6), "second half": (7, 12)}
    low, high = next((span for word, span in spans.items() if word in text), (1, 12))
    return at(year, low, 1), at(year, high, 31)


@given(st.integers(1700, 2019), st.integers(1, 12), st.integers(1, 28), st.integers(0, 10**6))
@settings(max_examples=300, deadline=None)
def test_date_phrases_contain_the_day(year: int, month: int, day: int, seed: int):
    date = Day(year, month, day)
    exact = (year * 12 + month - 1) * 31 + day
    for phrase in (on_day, in_month, in_year, in_decade):
        low, high = period(phrase(date, Random(seed)))
        assert low <= exact <= high, phrase(date, Random(seed))
    assert period(on_day(date, Random(seed))) == (exact, exact)


def test_century_thirds():
    assert century_part(Day(1904, 1, 1)) == "in the early 20th century"
    assert century_part(Day(1850, 1, 1)) == "in the middle of the 19th century"
    assert century_part(Day(1999, 1, 1)) == "in the late 20th century"


SIZES = {
    **dict.fromkeys(("metres", "meters", "m", "kilometres", "kilometers", "km", "kilograms", "kg", "kilos"), 1.0),
    **{"feet": 0.3048, "ft": 0.3048, "yards": 0.9144, "miles": 1.609344, "nautical miles": 1.852, "pounds": 0.45359237, "lb": 0.45359237},
}


def amount(text: str) -> float:
    """The size in base units of a quantity phrase: an oracle that reads digits, 'thousand', 'million' and number words."""
    unit = next(u for u in sorted(SIZES, key=len, reverse=True) if text.endswith(" " + u))
    said = text[: -len(unit) - 1].split(" ")
    scale = 10**6 if said[-1] == "million" else 1000 if said[-1] == "thousand" else 1
    said = [w for w in said if w not in ("million", "thousand")]
    words = {spell(n): n for n in range(100)}
    value = float(said[-1].replace(",", "")) if said[-1][0].isdigit() else words[said[-1]]
    return value * scale * SIZES[unit]


@given(st.sampled_from(["length", "distance", "mass"]), st.floats(5, 9e5), st.integers(0, 10**6))
@settings(max_examples=300, deadline=None)
def test_quantities_convert(family: str, raw: float, seed: int):
    quantity = Quantity(float(f"{raw:.3g}"), family)
    if quantity.value / 1.852 >= 100:  # above that, digits after the point are not said
        quantity = Quantity(float(round(quantity.value)), family)
    assert amount(quantity.exact(Random(seed))) == pytest.approx(quantity.value, rel=0.006)
    said = quantity.approx(Random(seed))
    assert amount(said) == pytest.approx(quantity.value, rel=0.035)
    if said.startswith(("just under", "nearly")):
        assert amount(said) > quantity.value * 0.999
    if said.startswith("a little over"):
        assert amount(said) < quantity.value * 1.001


def test_quantity_by_hand():
    marathon = {Quantity(42.195, "distance").approx(Random(seed)) for seed in range(200)}
    assert {m for m in marathon if m.endswith("miles") and "nautical" not in m} >= {"about 26 miles"}
    assert Quantity(25.0, "area")._unit(Random(0)).name
    assert {Quantity(500.0, "time").exact(Random(s)) for s in range(200)} >= {"8 hours and 20 minutes", "30,000 seconds", "500 minutes"}


ALL_FAMILIES = [(category, i) for category, families in FAMILIES.items() for i in range(len(families))]


@pytest.mark.parametrize(("category", "i"), ALL_FAMILIES)
def test_every_family_gives_full_triples(category: str, i: int):
    """Each scene offers all three labels for most anchors, renders everything, and its twelve draws give triples of the right category."""
    family = FAMILIES[category][i][0]
    rng = Random(7)
    names = Names(rng, "dev")
    triples = 0
    for _ in range(12):
        names.reset()
        scene = family(names, rng)
        assert scene.category == category
        assert sum(all(scene.partners(key, label) for label in LABELS) for key in scene.anchors) >= 2
        for key, proposition in scene.propositions.items():
            for pattern in proposition.patterns:
                text = sentence(fill(pattern, proposition.fields, rng))
                assert not re.search(r"[{}\[\]|]|  ", text), (key, pattern)
        for anchor, partners in draw_triples(scene, rng, "dev", Plan()):
            triples += 1
            for text in (anchor.text, *(claim.text for claim in partners.values())):
                assert MIN_WORDS <= len(text.split()) <= MAX_WORDS
    assert triples >= 12


# family, two contradicting propositions, and the only fields in which they may differ
TYPED = [
    (dates.dates, "true", "false", {"when"}),
    (numbers.quantities, "true", "false", {"v"}),
    (numbers.yearly, "now_true", "now_false", {"v"}),
    (numbers.temperatures, "true", "false", {"v"}),
    (entities.works, "year_0", "year_1", {"y"}),
    (location.landmarks, "in_0", "out", {"p"}),
    (location.invented_places, "whole", "elsewhere", {"p"}),
    (roles.makers, None, None, {"e"}),
    (temporal.holders, "a_inside", "b_inside", {"e"}),
    (numbers.changes, "up_levels", "down_levels", {"b"}),
]


@pytest.mark.parametrize(("family", "a", "b", "changed"), TYPED)
def test_typed_change_changes_exactly_what_it_says(family, a: str | None, b: str | None, changed: set[str]):
    rng = Random(11)
    for _ in range(15):
        scene = family(Names(rng, "train"), rng)
        pair = next(sorted(p) for p, label in scene.relations.items() if label == "contradict") if a is None else [a, b]
        first, second = (scene.propositions[key] for key in pair)
        assert scene.label(*pair) == "contradict"
        differing = {
            name
            for name in first.fields
            if (first.fields[name] != second.fields[name])
            and not (callable(first.fields[name]) and first.fields[name](Random(0)) == second.fields[name](Random(0)))
        }
        assert differing == changed, pair


def test_dates_scene_against_the_oracle():
    """Whatever the wording, two contradicting dates of one event never meet, and two supporting ones always do."""
    rng = Random(5)
    checked = Counter()
    for _ in range(150):
        scene = dates.dates(Names(rng, "train"), rng)
        keys = [key for key in ("true", "false", "true_coarse", "false_coarse") if key in scene.propositions]
        for a in keys:
            for b in keys:
                label = scene.label(a, b)
                phrases = [scene.propositions[key].fields["when"](rng) for key in (a, b)]
                if any("century" in phrase for phrase in phrases) or label in (None, "neutral"):
                    continue
                (low, high), (start, end) = map(period, phrases)
                meet = low <= end and start <= high
                assert meet == (label == "support"), (label, phrases)
                checked[label] += 1
    assert min(checked["support"], checked["contradict"]) > 300


def test_anniversaries_add_up():
    rng = Random(2)
    seen = 0
    for _ in range(200):
        scene = dates.dates(Names(rng, "train"), rng)
        if "jubilee_true" in scene.propositions:
            jubilee = scene.propositions["jubilee_true"].fields
            low, high = period(scene.propositions["true"].fields["when"](rng))
            assert (low - 1) // 372 <= int(jubilee["year"]) - int(jubilee["n"]) <= high // 372
            seen += 1
    assert seen > 10


def test_quantifier_table_by_hand():
    rng = Random(0)
    for _ in range(40):
        scene = quantifiers.quantified(Names(rng, "train"), rng)
        expected = {
            **dict.fromkeys([("all", "none"), ("all", "notall"), ("most", "few"), ("some", "none")], "contradict"),
            **dict.fromkeys([("all", "most"), ("few", "notall")], "support"),
            ("most", "notall"): None,
        }
        for (a, b), label in expected.items():
            if a in scene.propositions and b in scene.propositions:
                assert scene.label(a, b) == label
                assert scene.label(a, f"pred_{b}") == "neutral"
                assert scene.label(f"place_{a}", b) == "neutral"


def test_counts_against_arithmetic():
    """'Exactly', 'at least' and 'at most' checked as intervals: disjoint contradicts, nested supports."""
    rng = Random(4)
    for _ in range(60):
        scene = quantifiers.counts(Names(rng, "train"), rng)
        value = {key: int(p.fields["v"][0]) for key, p in scene.propositions.items()}
        span = {
            key: (value[key], 10**6) if key.startswith("least") else (0, value[key]) if key.startswith("most") else (value[key], value[key])
            for key in ("exact", "more", "least", "most", "least_low", "most_high")
        }
        for a in span:
            for b in span:
                (low, high), (start, end) = span[a], span[b]
                label = scene.label(a, b)
                if low > end or start > high:
                    assert label == "contradict", (a, b)
                elif (low >= start and high <= end) or (start >= low and end <= high):
                    assert label == "support", (a, b)
                else:
                    assert label == "neutral", (a, b)


def test_sums_and_changes_add_up():
    rng = Random(9)
    for _ in range(40):
        scene = numbers.sums(Names(rng, "train"), rng)
        for suffix in ("", "_wrong"):
            parts, total = scene.propositions[f"parts{suffix}"].fields, scene.propositions[f"total{suffix}"].fields
            assert int(parts["m"][0]) + int(parts["n"][0]) == int(total["t"][0])
        scene = numbers.changes(Names(rng, "train"), rng)
        for name, sign in (("up", 1), ("down", -1)):
            levels, points = scene.propositions[f"{name}_levels"].fields, scene.propositions[f"{name}_points"].fields
            assert float(levels["b"]) - float(levels["a"]) == pytest.approx(sign * float(points["d"]), abs=0.05)


def test_spans_add_up():
    rng = Random(1)
    for _ in range(40):
        scene = dates.spans(Names(rng, "train"), rng)
        for suffix in ("n", "wrong"):
            dated, span = scene.propositions[f"dates_{suffix}"].fields, scene.propositions[f"span_{suffix}"].fields
            assert int(dated["y2"]) - int(dated["y1"]) == int(span["n"])


def test_denials_come_in_both_polarities():
    """An affirmation and its denial contradict; each is neutral to the same of another act; 'did not fail to' affirms."""
    scene = negation.acts(Names(Random(3), "train"), Random(3))
    assert scene.label("did", "didnt") == "contradict"
    assert scene.label("did", "other_act_didnt") == scene.label("didnt", "other_agent_didnt") == "neutral"
    assert any("did not fail to" in p for p in scene.propositions["did"].patterns)
    assert not any("not fail" in p for p in scene.propositions["didnt"].patterns)


def test_reversed_roles_contradict_and_other_occasions_do_not():
    rng = Random(8)
    seen = 0
    for _ in range(80):
        scene = roles.converses(Names(rng, "train"), rng)
        ab, ba = scene.propositions["ab"].fields, scene.propositions["ba"].fields
        assert (ab["a"], ab["b"], ab["c"]) == (ba["b"], ba["a"], ba["c"])
        assert scene.label("ab", "not_ab") == "contradict"
        if scene.label("ab", "ba") == "contradict":
            assert scene.label("ab", "not_ba") == "support"
        if "other_ab" in scene.propositions:
            assert scene.label("ab", "other_ba") == "neutral"
            assert scene.propositions["other_ab"].fields["c"] != ab["c"] or scene.propositions["other_ab"].fields["x"] != ab["x"]
            seen += 1
    assert seen > 10


def test_holders_exclude_each_other_only_at_one_time():
    scene = temporal.holders(Names(Random(0), "train"), Random(0))
    assert scene.label("a_inside", "b_inside") == scene.label("a_period", "b_inside") == "contradict"
    assert scene.label("a_inside", "b_after") == scene.label("a_before", "b_inside") == "neutral"
    assert scene.label("a_period", "a_inside") == "support"


def test_containment_is_support_and_disjoint_is_contradict():
    rng = Random(6)
    for _ in range(30):
        scene = location.real_places(Names(rng, "train"), rng)
        if {"true_city", "true_region"} <= set(scene.propositions):
            assert scene.label("true_city", "true_region") == "support"
            assert scene.label("true_city", "false_region") == "contradict"
            assert scene.label("true_city", "other_false_city") == "neutral"
            assert scene.label("true_city", "loose_false") == "neutral"


def test_namesakes_are_neutral_to_each_other():
    rng = Random(6)
    for _ in range(20):
        scene = entities.namesakes(Names(rng, "train"), rng)
        for a in scene.propositions:
            for b in scene.propositions:
                if a.startswith("namesake_") != b.startswith("namesake_"):
                    assert scene.label(a, b) == "neutral"


def test_story_twin_differs_in_the_twin_fields_only():
    story = Story(
        "s",
        {"e": "person", "t": "town", "k,kk": [["mill", "mills"], ["inn", "inns"]]},
        {"yes": ["{e} owns the {k} in {t}"], "no": ["{e} owns no {kk} in {t}"]},
        ["yes ! no"],
        ["t"],
    )
    rng = Random(1)
    names = Names(rng, "train")
    base = cast_of(story, names, rng)
    twin = cast_of(story, names, rng, base)
    assert {key for key in base if base[key] != twin[key]} == {"t"}
    scene = play("status_vs_event", story, names, rng)
    assert scene.label("yes", "no") == scene.label("twin_yes", "twin_no") == "contradict"
    assert scene.label("yes", "twin_no") == "neutral"
