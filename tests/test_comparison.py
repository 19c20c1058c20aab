"""Facts, differences and features of claim pairs, against values worked out by hand."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from arbgraph.comparison import COMPARISON_FEATURES, compare, comparison_features, describe
from arbgraph.comparison.compare import exchanged_words
from arbgraph.comparison.lexicon import antonyms, converses, enclosing_places, is_superlative, stem


def both_ways(a: str, b: str, field: str) -> bool:
    """The field of the comparison, after checking that it does not depend on the order."""
    forth, back = getattr(compare(a, b), field), getattr(compare(b, a), field)
    assert bool(forth) == bool(back), (field, a, b)
    return bool(forth)


def only_quantity(text: str):
    (quantity,) = describe(text).quantities
    return quantity


# Quantities


@pytest.mark.parametrize(
    ("text", "value", "dimension"),
    [
        ("The park covers 41 square kilometres.", 41e6, "[length] ** 2"),
        ("The park covers 4,100 hectares.", 41e6, "[length] ** 2"),
        ("It was 16.5 °C at noon.", 289.65, "[temperature]"),
        ("It was -5 °C at noon.", 268.15, "[temperature]"),
        ("It was minus 5 degrees Celsius at noon.", 268.15, "[temperature]"),
        ("The tower is 5 feet 10 inches tall.", 1.778, "[length]"),
        ("It takes eight minutes and twenty seconds.", 500.0, "[time]"),
        ("The train ran at 90 km/h.", 25.0, "[length] / [time]"),
        ("The train ran at 90 kilometres per hour.", 25.0, "[length] / [time]"),
        ("It cost $5 million.", 5e6, "USD"),
        ("It cost 5 million dollars.", 5e6, "USD"),
        ("It cost 250 dollars a tonne.", 0.25, "USD / [mass]"),
        ("12 percent voted.", 12.0, "percent"),
        ("20 per cent voted.", 20.0, "percent"),
        ("A third of voters stayed at home.", 100 / 3, "percent"),
        ("Nine out of ten recruits finished.", 90.0, "percent"),
        ("The film was rated 7.5/10.", 75.0, "rating"),
        ("It fell by 1.7 percentage points.", 1.7, "percentage points"),
        ("The gate opens at 9:30 p.m.", 21.5 * 60, "time of day"),
        ("Two hundred and fifty ships sailed.", 250.0, "count"),
        ("Three thousand two hundred men died.", 3200.0, "count"),
        ("Half a million people fled.", 5e5, "count"),
        ("A dozen eggs broke.", 12.0, "count"),
        ("20 000 people came.", 20000.0, "count"),
        ("He wrote the 3rd edition.", 3.0, "ordinal"),
        ("He wrote the third edition.", 3.0, "ordinal"),
    ],
)
def test_quantities_are_read_and_converted(text, value, dimension):
    quantity = only_quantity(text)
    assert quantity.value == pytest.approx(value, rel=1e-9)
    assert quantity.dimension == dimension


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("Between 300 and 350 dogs ran.", 292.5, 357.5),  # 2.5 percent of the first end
        ("Four to six dogs ran.", 4.0, 6.0),
        ("Between 4 and 6 million dogs ran.", 3.9e6, 6.1e6),
        ("At least 40 dogs ran.", 40.0, math.inf),
        ("No more than 40 dogs ran.", -math.inf, 40.0),
        ("Fewer than 40 dogs ran.", -math.inf, 40.0),
        ("About 300 dogs ran.", 270.0, 330.0),
        ("About 320 dogs ran.", 310.0, 330.0),
        ("Almost 300 dogs ran.", 270.0, 307.5),
        ("312 dogs ran.", 312.0, 312.0),
        ("12 dogs ran.", 12.0, 12.0),
        ("3,000 dogs ran.", 2925.0, 3075.0),
    ],
)
def test_words_around_a_number_widen_its_interval(text, low, high):
    quantity = only_quantity(text)
    assert quantity.low == pytest.approx(low, abs=8)
    assert (quantity.low, quantity.high) == (pytest.approx(low, rel=0.026), pytest.approx(high, rel=0.026))
    assert math.isinf(quantity.low) == math.isinf(low)
    assert math.isinf(quantity.high) == math.isinf(high)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The park covers 41 square kilometres.", "The park covers 4,100 hectares."),
        ("It was 16.5 °C at noon.", "It was 62 °F at noon."),
        ("The trail is 5 miles long.", "The trail is 8 km long."),
        ("Oxhill brewed 12,000 hectolitres.", "Oxhill brewed 1.2 million litres."),
        ("Light takes about eight minutes and twenty seconds.", "Light takes roughly 500 seconds."),
        ("The course is a little over 26.2 miles long.", "The course is 42.195 km long."),
        ("A third of houses have slate roofs.", "33 percent of houses have slate roofs."),
        ("More than 40 people died.", "41 people died."),
        ("At least 40 people died.", "40 people died."),
        ("The town has 12,000 inhabitants.", "The town has 12,034 people."),
        ("The town has a population of 3,400.", "The population is 3,400."),
    ],
)
def test_quantities_that_agree(a, b):
    assert both_ways(a, b, "quantities_agree")
    assert not both_ways(a, b, "quantities_conflict")


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("12 percent of voters stayed at home.", "21 percent of voters stayed at home."),
        ("The park covers 41 square kilometres.", "The park covers 410 hectares."),
        ("Water boils there at 93 °C.", "Water boils there at 212 °F."),
        ("Twelve dogs ran.", "Thirteen dogs ran."),
        ("More than 74 critics came.", "74 critics came."),
        ("Fewer than 200 guests came.", "Between 300 and 350 guests came."),
        ("At least 40,000 copies were struck.", "No more than 25,000 copies were struck."),
        ("The second novel was burned.", "The first novel was burned."),
        ("Wheat cost 210 dollars a tonne.", "Wheat cost 165 dollars a tonne."),
        ("The shop opens at 9:00 am.", "The shop opens at 9:00 pm."),
        ("He is 1.80 m tall.", "He is 5 feet 2 inches tall."),
    ],
)
def test_quantities_that_conflict(a, b):
    assert both_ways(a, b, "quantities_conflict")
    assert any(reason.startswith("numbers differ") for reason in compare(a, b).reasons)


def test_quantities_of_other_things_do_not_conflict():
    assert not both_ways("The stadium seats 32,000 spectators.", "The stadium takes 3,200 cars.", "quantities_conflict")
    assert not both_ways("The bridge is 300 metres long.", "The bridge weighs 900 tonnes.", "quantities_conflict")
    assert both_ways("The bridge is 300 metres long.", "The bridge is long.", "numbers_one_sided")


def test_names_and_models_are_no_quantities():
    assert describe("Apollo 11 landed on the Moon.").quantities == ()
    assert describe("One of them was the Boeing 787 Dreamliner.").quantities == ()
    assert [name.usual for name in describe("Apollo 11 landed.").names] == ["apollo 11"]


# Times


@pytest.mark.parametrize(
    ("text", "year", "month", "day"),
    [
        ("It happened on 20 July 1969.", 1969, 7, 20),
        ("It happened on July 20, 1969.", 1969, 7, 20),
        ("It happened on the first of May 2011.", 2011, 5, 1),
        ("It happened on 1969-07-20.", 1969, 7, 20),
        ("It happened in July 1969.", 1969, 7, None),
        ("It happened on 4 July.", None, 7, 4),
        ("It happened in May.", None, 5, None),
        ("It happened in 1969.", 1969, None, None),
        ("The 1987 summit was short.", 1987, None, None),
        ("It happened in mid 2010.", 2010, None, None),
    ],
)
def test_dates_are_read(text, year, month, day):
    (span,) = describe(text).times
    assert (span.year, span.month, span.day) == (year, month, day)


def test_numbers_that_look_like_years_are_counts():
    assert describe("1200 soldiers died.").years == frozenset()
    assert describe("He ran the 1500 metres.").years == frozenset()
    assert describe("He may march on.").times == ()


@pytest.mark.parametrize(
    ("a", "b", "differ"),
    [
        ("It joined in 2011.", "It joined in 2013.", True),
        ("It joined in 2011.", "It joined in 2011, after talks in 2009.", False),
        ("It joined in 2011.", "It joined.", False),
        ("It was built in 1904.", "It was built in the 1900s.", False),
        ("It was built in 1904.", "It was built in the twentieth century.", False),
        ("It was released in 2016.", "It was released before 2017.", False),
        ("It was released in 2017.", "It was released before 2017.", False),
        ("It was released in 2018.", "It was released before 2017.", True),
        ("It was released in 2012.", "It was released after 2000.", False),
    ],
)
def test_years_differ(a, b, differ):
    assert both_ways(a, b, "years_differ") is differ
    assert ("years differ" in " ".join(compare(a, b).reasons)) is differ


def test_reason_names_both_years():
    assert compare("It joined in 2011.", "It joined in 2013.").reasons == ("years differ: 2011 against 2013",)


@pytest.mark.parametrize(
    ("a", "b", "differ"),
    [
        ("It landed on 20 July 1969.", "It landed on 16 July 1969.", True),
        ("It landed on 20 July 1969.", "It landed in July 1969.", False),
        ("It landed on 20 July.", "It landed on 20 July 1969.", False),
        ("It landed on 20 July.", "It landed on 21 July 1969.", True),
        ("The spire fell in February 1861.", "The spire fell early in 1861.", False),
    ],
)
def test_dates_differ(a, b, differ):
    assert both_ways(a, b, "dates_differ") is differ


def test_times_disjoint_uses_bounds():
    assert both_ways("It was open in 1980.", "It opened after 1985.", "times_disjoint")
    assert not both_ways("It was open in 1990.", "It has been open since 1985.", "times_disjoint")
    assert both_ways("It stood in 1980.", "It was built in the 1990s.", "times_disjoint")


# Names


def test_names_are_found_beyond_the_sentence_start():
    assert [name.usual for name in describe("Insulin lowers blood sugar.").names] == []
    assert [name.usual for name in describe("Visitors came to Calder Quay.").names] == ["calder quay"]
    assert [name.usual for name in describe("Mrs. J. R. Lowell of the Bank of England met Mayor Quint.").names] == [
        "j r lowell of bank of england",
        "quint",
    ]
    assert [name.usual for name in describe("American troops left the U.S. in 2011.").names] == ["united states", "united states"]


@pytest.mark.parametrize(
    ("a", "b", "differ"),
    [
        ("The picture is by Rosa Belmonte.", "The picture is by Harold Venn.", True),
        ("Barack Obama won.", "Obama won.", False),
        ("The World Health Organization met.", "WHO met.", False),
        ("The Dutch team lost to Spain.", "The Netherlands lost to Spain.", False),
        ("Colby Bank pays 4 percent on an individual retirement account.", "An IRA at Colby Bank pays 4 percent.", False),
        ("Switzerland joined.", "switzerland joined.", False),
        ("The wreck lies off Wales.", "The wreck lies off Europe.", False),
        ("Kilimanjaro lies in Kenya.", "Mount Kilimanjaro stands in Tanzania.", True),
        ("Matt Bomer was born in Texas.", "Matthew Staton Bomer was born in Texas.", False),
        ("Ada Bomer was born in Texas.", "Matthew Bomer was born in Texas.", True),
    ],
)
def test_entities_differ(a, b, differ):
    assert both_ways(a, b, "entities_differ") is differ


def test_places_disjoint_needs_two_known_places():
    assert both_ways("Kilimanjaro lies in Kenya.", "Mount Kilimanjaro stands in Tanzania.", "places_disjoint")
    assert not both_ways("The mill is in Elmsby.", "The mill is in Brunnfeld.", "places_disjoint")
    assert "united kingdom" in enclosing_places("scotland")
    assert "united states" not in enclosing_places("europe")


# Negation, opposites, quantifiers, roles


@pytest.mark.parametrize(
    ("text", "negative"),
    [
        ("Pluto is a planet.", False),
        ("Pluto is not a planet.", True),
        ("Pluto isn't a planet.", True),
        ("Nobody visited the hill.", True),
        ("The trust refused the offer.", True),
        ("The treasurer did not fail to file the accounts.", False),
        ("Neither of the twins failed.", False),
        ("It was not until 2002 that Switzerland entered.", False),
        ("They did not finish it before 1926.", False),
        ("No fewer than forty came.", False),
        ("Not only Spain signed.", False),
        ("He absently ate a banana.", False),
    ],
)
def test_negation(text, negative):
    assert describe(text).negative is negative


def test_negation_differs():
    assert both_ways("Pluto is a planet.", "Pluto is not a planet.", "negation_differs")
    assert not both_ways("Pluto is not a planet.", "Pluto is no planet.", "negation_differs")
    assert not both_ways("The trust refused it.", "The trust accepted it.", "negation_differs")
    assert both_ways("The trust refused it.", "The trust accepted it.", "polarity_differs")


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Prices rose in Sarno.", "Prices fell in Sarno."),
        ("The road is open.", "The road was closed."),
        ("The council accepted the plan.", "The council rejected the plan."),
        ("The deposit was profitable.", "The deposit was uneconomic."),
        ("He was guilty.", "He was innocent."),
        ("The release was authorised.", "The release was unauthorised."),
    ],
)
def test_antonyms(a, b):
    assert both_ways(a, b, "antonym_pair")
    assert compare(a, b).antonym_pair == tuple(reversed(compare(b, a).antonym_pair or ()))


def test_converses_are_no_antonyms():
    comparison = compare("Crane bought Odell.", "Odell sold Crane.")
    assert comparison.converse_pair == ("bought", "sold")
    assert comparison.antonym_pair is None
    assert converses()[stem("buy")] <= {stem(word) for word in ("sell",)}
    assert stem("sell") not in antonyms().get(stem("buy"), frozenset())


@pytest.mark.parametrize(
    ("a", "b", "differ"),
    [
        ("All members voted.", "None of the members voted.", True),
        ("Most of the islands are inhabited.", "Few of the islands are inhabited.", True),
        ("Every speaker came.", "Each speaker came.", False),
        ("It is the largest lake.", "It is the smallest lake.", True),
        ("It is the largest lake.", "It is the biggest lake.", False),
        ("Bees were the first.", "Bees were the last.", True),
    ],
)
def test_quantifiers(a, b, differ):
    assert both_ways(a, b, "quantifier_differs") is differ


def test_superlatives_by_form():
    assert is_superlative("tallest")
    assert not is_superlative("forest")
    assert not is_superlative("west")


@pytest.mark.parametrize(
    ("a", "b", "swapped"),
    [
        ("Spain beat Italy in the final.", "Italy beat Spain in the final.", True),
        ("Spain beat Italy in the final.", "Italy was beaten by Spain in the final.", False),
        ("Spain beat Italy in the final.", "Spain beat Italy in the final.", False),
        ("Mbeki passed to Rossi.", "Rossi passed to Mbeki.", True),
        ("Aune ceded Sker to Rothmark.", "Rothmark gained Sker from Aune.", False),
    ],
)
def test_roles_swapped(a, b, swapped):
    assert both_ways(a, b, "roles_swapped") is swapped


def test_status_words():
    assert describe("He is no longer the mayor.").status >= {"past"}
    assert "planned" in describe("The bridge will be opened.").status
    assert "member" in describe("Norland is a member.").status
    assert "past" in describe("He used to be the mayor.").status
    assert "past" not in describe("The hammer is used to break stone.").status
    assert "past" not in describe("The trust refused to sell.").status
    assert describe("The bridge reportedly fell.").hedged
    assert describe("The bridge may fall.").hedged
    assert not describe("The bridge fell on May 19, 2013.").hedged


def test_overlap_and_synonyms():
    comparison = compare("The bakery closed.", "The old bakery closed.")
    assert comparison.overlap == pytest.approx(2 / 3)
    assert (comparison.a_in_b, comparison.b_in_a) == (1.0, pytest.approx(2 / 3))
    assert exchanged_words(describe("The club was founded."), describe("The club was established.")) == ([], [])
    assert exchanged_words(describe("The animal is a seal."), describe("The animal is a harrier.")) == (["seal"], ["harrier"])


@pytest.mark.parametrize(
    ("word", "stemmed"),
    [("cities", "city"), ("evacuated", "evacuation"), ("won", "win"), ("stopped", "stop"), ("children", "child"), ("died", "die")],
)
def test_forms_of_a_word_share_a_stem(word, stemmed):
    assert stem(word) == stem(stemmed)


@pytest.mark.parametrize(("a", "b"), [("early", "ear"), ("nation", "nate"), ("string", "str"), ("passing", "pas"), ("founded", "find")])
def test_different_words_keep_different_stems(a, b):
    assert stem(a) != stem(b)


def test_tokenised_and_typographic_text_reads_the_same():
    plain = describe("Korn's album wasn't released on June 16, 1989.")
    spaced = describe("Korn ’s album was n’t released on June 16 , 1989 .[12]")
    assert (plain.times, plain.negations, plain.stems) == (spaced.times, spaced.negations, spaced.stems)


# Features

MIRROR = {"a_in_b": "b_in_a", "b_in_a": "a_in_b", "a_in_b_or_synonym": "b_in_a_or_synonym", "b_in_a_or_synonym": "a_in_b_or_synonym"}
PAIRS = [
    ("Spain beat Italy 3-1 in 2010.", "Italy was beaten by Spain."),
    ("No more than 40 dogs ran on 4 May 2011.", "About 300 cats slept in mid 2010 in Kenya."),
    ("The treasurer refused to file the accounts.", "All of the largest accounts may be filed at 9:30 p.m."),
    ("", "Insulin lowers the level of glucose."),
]


def mirrored(name: str) -> str:
    if name in MIRROR:
        return MIRROR[name]
    return f"{name[:-1]}{'ab'['ab'.index(name[-1]) - 1]}" if name.endswith(("_a", "_b")) else name


def test_features_have_the_documented_shape_and_range():
    features = comparison_features(PAIRS)
    assert features.shape == (len(PAIRS), len(COMPARISON_FEATURES))
    assert features.dtype == torch.float32
    assert comparison_features([]).shape == (0, len(COMPARISON_FEATURES))
    assert len(set(COMPARISON_FEATURES)) == len(COMPARISON_FEATURES)


def check_mirror(a: str, b: str) -> None:
    forth, back = comparison_features([(a, b)])[0], comparison_features([(b, a)])[0]
    assert torch.equal(comparison_features([(a, b), (b, a), (a, b)]), torch.stack([forth, back, forth]))
    assert ((forth >= 0) & (forth <= 1)).all()
    columns = [COMPARISON_FEATURES.index(mirrored(name)) for name in COMPARISON_FEATURES]
    differing = [COMPARISON_FEATURES[i] for i in (forth != back[columns]).nonzero().flatten().tolist()]
    assert not differing


@pytest.mark.parametrize("pair", PAIRS)
def test_features_change_places_with_the_claims(pair):
    check_mirror(*pair)


VOCABULARY = """Spain Italy Kenya Africa US WHO beat beaten lost won not no never by was the of in on to all most few first
    largest rose fell 12 21 1969 2011 percent km miles people about than more at least May July % $ 3-1 9:30 million and half , . ' ( )"""
WORDS = st.sampled_from(VOCABULARY.split())
SENTENCES = st.lists(WORDS, max_size=14).map(" ".join)


@settings(max_examples=150, deadline=None)
@given(SENTENCES, SENTENCES)
def test_features_mirror_on_any_words(a, b):
    check_mirror(a, b)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=80), st.text(max_size=80))
def test_any_text_is_accepted(a, b):
    check_mirror(a, b)


def test_equal_claims_have_no_difference():
    for text in ("Spain beat Italy 3-1 in 2010, by no means the largest of 12 wins.", "About 300 people may have left in May."):
        comparison = compare(text, text)
        assert comparison.reasons == ()
        assert (comparison.overlap, comparison.order_inversion) == (1.0, 0.0)


def nonzero(a: str, b: str) -> dict[str, float]:
    row = comparison_features([(a, b)])[0].tolist()
    return {name: round(value, 4) for name, value in zip(COMPARISON_FEATURES, row, strict=True) if value}


def test_features_worked_by_hand():
    """Content stems: 5 and 7, 4 shared; of their 6 orders 3 are reversed; ln 3 / ln 101 for two years apart."""
    a = "Spain beat Italy 3-1 in the 2010 final in Kenya."
    b = "Italy was never beaten by Spain in the first final of 2012 in Tanzania."
    ones = """years_differ times_disjoint entities_differ places_disjoint negation_differs polarity_differs antonym_or_polarity
    values_differ quantities_incomparable negated_b negated_against_stated quantifier_one_sided superlative_one_sided passive_differs
    participants_reversed"""
    assert nonzero(a, b) == dict.fromkeys(ones.split(), 1.0) | {
        "order_inversion": 0.5,
        "overlap": 0.5,
        "a_in_b": 0.8,
        "b_in_a": 0.5714,
        "year_gap": 0.238,
        "names_lone_a": 0.3333,
        "names_lone_b": 0.3333,
        "names_shared": 0.6667,
        "length_ratio": 0.7143,
        "words_only_a": 0.1,
        "words_only_b": 0.3,
        "a_in_b_or_synonym": 0.8,
        "b_in_a_or_synonym": 0.5714,
    }


def test_feature_columns_are_pinned():
    """A checkpoint depends on the order: a new column may only be appended."""
    assert len(COMPARISON_FEATURES) == 69
    assert COMPARISON_FEATURES[0] == "years_differ"
    assert COMPARISON_FEATURES[24] == "measure_conflict"
    assert COMPARISON_FEATURES[66:] == ("text_equal", "a_in_b_or_synonym", "b_in_a_or_synonym")


def test_a_hyphenated_scale_after_a_number_is_not_read_as_a_small_number():
    comparison = compare("They built two thousand five-hundred homes.", "They built 2,000 homes.")
    assert comparison is not None
    assert comparison_features([("Two hundred five-hundred-seat halls.", "Two hundred twenty-five halls.")]).isfinite().all()
