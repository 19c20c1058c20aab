"""Golden sentences: every construction the extractor takes apart, and every frame it must leave whole."""

from __future__ import annotations

import pytest

from arbgraph.extraction.sentences import leading_title

SPLIT = {
    "relative clause, subject": (
        "The act, which was passed in 1977, banned smoking in schools.",
        ["The act banned smoking in schools.", "The act was passed in 1977."],
    ),
    "relative clause, object": (
        "The harbour, which the Romans built, was closed in 1950.",
        ["The Romans built the harbour.", "The harbour was closed in 1950."],
    ),
    "relative clause, possessive": (
        "Anna Berg, whose father was a painter, moved to Oslo.",
        ["Anna Berg moved to Oslo.", "Anna Berg's father was a painter."],
    ),
    "apposition": (
        "Leonie Marsden, an architect, designed the bridge in 1902.",
        ["Leonie Marsden designed the bridge in 1902.", "Leonie Marsden is an architect."],
    ),
    "coordinated predicates": (
        "The company was founded in 1974 and moved to Leeds in 1980.",
        ["The company moved to Leeds in 1980.", "The company was founded in 1974."],
    ),
    "shared modal": (
        "The museum will open in May and close in October.",
        ["The museum will close in October.", "The museum will open in May."],
    ),
    "shared negation": (
        "The firm did not open the mine and close the quarry.",
        ["The firm did not close the quarry.", "The firm did not open the mine."],
    ),
    "own negation": (
        "The firm does not make boats and does not sell engines.",
        ["The firm does not make boats.", "The firm does not sell engines."],
    ),
    "leading time adverbial goes with both": (
        "In 1974, the company moved to Leeds and hired forty people.",
        ["In 1974, the company hired forty people.", "In 1974, the company moved to Leeds."],
    ),
    "attribution goes with both": (
        "According to the mayor, the bridge was built in 1902 and repaired in 1950.",
        ["According to the mayor, the bridge was built in 1902.", "According to the mayor, the bridge was repaired in 1950."],
    ),
    "coordinated clauses, possessive resolved within the sentence": (
        "Anna Berg was born in Oslo, and her brother lives in Bergen.",
        ["Anna Berg was born in Oslo.", "Anna Berg's brother lives in Bergen."],
    ),
    "modality stays with its clause": (
        "The harbour may be closed, but the airport is open.",
        ["The airport is open.", "The harbour may be closed."],
    ),
    "hedge and pronoun": (
        "The vaccine probably does not cause fever, and it is rarely given to children.",
        ["The vaccine is rarely given to children.", "The vaccine probably does not cause fever."],
    ),
    "distributed subject": (
        "The United States and Russia both joined the summit in 2011.",
        ["Russia joined the summit in 2011.", "The United States joined the summit in 2011."],
    ),
    "past participle": (
        "Built in 1899, the Larne funicular climbs 410 metres in nine minutes.",
        ["The Larne funicular climbs 410 metres in nine minutes.", "The Larne funicular was built in 1899."],
    ),
    "stative participle keeps the present": (
        "Located in the hills, the town has two schools.",
        ["The town has two schools.", "The town is located in the hills."],
    ),
    "attribute with a participle": (
        "Marina High School was a public school located in Washington Manor.",
        ["Marina High School was a public school located in Washington Manor.", "Marina High School was located in Washington Manor."],
    ),
    "semicolon": (
        "The river was closed in May; the canal was opened in June.",
        ["The canal was opened in June.", "The river was closed in May."],
    ),
    "life dates": (
        "Ivo Strand (14 May 1902 – 3 June 1980) was a Danish painter.",
        ["Ivo Strand died on 3 June 1980.", "Ivo Strand was a Danish painter.", "Ivo Strand was born on 14 May 1902."],
    ),
    "birth": (
        "Ivo Strand (born 14 May 1902 in Aarhus) is a Danish painter.",
        ["Ivo Strand is a Danish painter.", "Ivo Strand was born on 14 May 1902 in Aarhus."],
    ),
    "attribution after the subject goes with both": (
        "The bridge, according to the mayor, was built in 1902 and repaired in 1950.",
        ["The bridge, according to the mayor, was built in 1902.", "The bridge, according to the mayor, was repaired in 1950."],
    ),
    "reduced relative clause": (
        "The firm, founded in 1974, makes boats.",
        ["The firm makes boats.", "The firm was founded in 1974."],
    ),
    "passive taken for past tense": (
        "Anna Berg was born in Oslo and raised in Bergen.",
        ["Anna Berg was born in Oslo.", "Anna Berg was raised in Bergen."],
    ),
    "active taken for passive": (
        "The fort was built in 1857 and protected the telegraph lines.",
        ["The fort protected the telegraph lines.", "The fort was built in 1857."],
    ),
    "key and values": (
        "Auvra: surface 41 square kilometres, greatest depth 88 m.",
        ["The greatest depth of Auvra is 88 m.", "The surface of Auvra is 41 square kilometres."],
    ),
}

# A statement inside these is not asserted on its own, so the sentence stays whole.
WHOLE = {
    "denial": "The minister denied that the bridge was unsafe and left the room.",
    "report": "Officials said that the bridge was unsafe and the road was closed.",
    "report after the fact": "The bridge is unsafe and the road is closed, officials said.",
    "quotation of two sentences": '"The bridge is unsafe. It will be closed," the mayor said.',
    "condition": "If it rains, the match is cancelled and tickets are refunded.",
    "trailing condition": "The club opens the pool and heats the sauna if ten members sign up.",
    "disjunction": "The lake freezes in winter or dries up in summer.",
    "no": "No ships arrived in May and left in June.",
    "restrictive relative clause": "The students who passed the test received a prize.",
    "relative clause inside an intention": "The mayor hopes to open the bridge, which was closed in 1950.",
    "clause about the whole sentence": "He sold the mill, which pleased the bank.",
    "two possible heads": "The daughter of Anna Berg, who was a painter, died in 1950.",
    "shared agent": "The mill was designed and built by Anna Berg.",
    "object of the first predicate": "The Tyne flows through the city and separates it from Gateshead.",
    "time": "The school is closed on Mondays in winter.",
    "place followed by a person": "Otto moved to Bergen, the son of a baker.",
    "term of office": "Roads were built under Lars Holm (1934–1940).",
    "participle taken for a verb": "The people referenced in each section are listed below.",
    "hedge before the first predicate": "The town allegedly paid the mayor and lost millions.",
    "condition after the subject": "The law, if passed, would ban smoking and raise taxes.",
    "attribution before two clauses": "According to the mayor, the bridge is safe and the road is open.",
    "only": "Only members may enter the hall and use the library.",
    "denied truth": "It is not true that the bridge was closed in 1950.",
    "plan": "The company plans to build a mill and hire forty people.",
    "noun complement": "Rumours that the mill would close and move abroad were denied.",
    "concession": "She refused to sign the treaty, although Austria and Lowland signed it.",
    "cleft": "It is Anna Berg who designed the bridge.",
}


@pytest.mark.parametrize(("text", "expected"), SPLIT.values(), ids=list(SPLIT))
def test_split(claims_of, text: str, expected: list[str]) -> None:
    assert claims_of(text) == expected


@pytest.mark.parametrize("text", WHOLE.values(), ids=list(WHOLE))
def test_kept_whole(claims_of, text: str) -> None:
    assert claims_of(text) == [text]


def test_connectives_are_dropped_and_sentences_finished(claims_of) -> None:
    assert claims_of("However, the bridge was rebuilt in 1950!") == ["The bridge was rebuilt in 1950."]


def test_pronoun_of_the_main_entity(claims_of) -> None:
    text = "Varga Hall is a concert hall in Leeds. It was built in 1902. Its organ was restored in 1990."
    assert claims_of(text, "Varga Hall") == [
        "Varga Hall is a concert hall in Leeds.",
        "Varga Hall was built in 1902.",
        "Varga Hall's organ was restored in 1990.",
    ]


def test_bare_class_noun_of_the_main_entity(claims_of) -> None:
    text = "Marina High School was a public school in San Leandro. The school closed in 1982."
    assert "Marina High School closed in 1982." in claims_of(text, "Marina High School")


def test_competing_person_leaves_the_pronoun(extractor, claims_of, counts_of) -> None:
    text = "Karl Brandt met Otto Weber in 1950. He became mayor in 1960."
    assert "He became mayor in 1960." in claims_of(text)
    assert counts_of(text)["unresolved_pronouns"] == 1
    assert counts_of(text)["resolved_pronouns"] == 0


def test_gender_must_agree(claims_of) -> None:
    text = "Karl Brandt was a German painter. He moved to Oslo in 1950. She became mayor in 1960."
    assert claims_of(text, "Karl Brandt") == [
        "Karl Brandt moved to Oslo in 1950.",
        "Karl Brandt was a German painter.",
        "She became mayor in 1960.",
    ]


def test_headline_is_no_antecedent(claims_of) -> None:
    assert claims_of("He skipped the meeting in 2017.", "Empty chair in Manila") == ["He skipped the meeting in 2017."]


def test_expletive_it_is_left_alone(claims_of) -> None:
    text = "Varga Hall is a concert hall. It is known that the roof leaks."
    assert "It is known that the roof leaks." in claims_of(text, "Varga Hall")


def test_title_running_into_the_text(claims_of) -> None:
    text = "Alan Reed (architect) Alan Reed was an English architect. He designed the town hall."
    assert claims_of(text) == ["Alan Reed designed the town hall.", "Alan Reed was an English architect."]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Alan Reed Alan Reed was a painter.", "Alan Reed"),
        ("Alan Reed General Sir Alan John Reed was a painter.", "Alan Reed"),
        ("Keyes, Oklahoma Keyes is a town.", "Keyes, Oklahoma"),
        ("Ognissanti, Mantua The Ognissanti is a church.", "Ognissanti, Mantua"),
        ("Alan Reed (born 1950) was a painter.", ""),
        ("The bridge is closed. The bridge is old.", ""),
        ("New York is bigger than New York State was.", ""),
        ("Anna Berg was a painter.", ""),
    ],
)
def test_leading_title(text: str, title: str) -> None:
    found, start = leading_title(text)
    assert found == title
    assert text[start:] == text[len(title) :].strip()


def test_section_heading_is_skipped(claims_of) -> None:
    assert claims_of("Career Anna Berg moved to Oslo in 1920.") == ["Anna Berg moved to Oslo in 1920."]


def test_second_passage_starts_anew(claims_of) -> None:
    text = "Alan Reed was a painter. He died in 1950. Otto Weber Otto Weber is a German singer. He lives in Bonn."
    assert claims_of(text) == [
        "Alan Reed died in 1950.",
        "Alan Reed was a painter.",
        "Otto Weber is a German singer.",
        "Otto Weber lives in Bonn.",
    ]


def test_value_line_takes_the_title_as_context(claims_of) -> None:
    assert claims_of("Weight: 3.1 kilograms.", "Marula M2") == ["The weight of Marula M2 is 3.1 kilograms."]
    assert claims_of("Single ticket: 7.00 euros.", "Fares from 1 January") == ["Fares from 1 January: Single ticket: 7.00 euros."]


def test_brackets_that_are_no_statement_stay(claims_of) -> None:
    text = "The density was 74 people per square mile (28.7/km2)."
    assert claims_of(text) == [text]
