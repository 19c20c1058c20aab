from hypothesis import given
from hypothesis import strategies as st

from arbgraph.systems.small.copies import overlap, variations, within


def texts(a, b):
    return [(a[v.first[0] : v.first[1]], b[v.second[0] : v.second[1]]) for v in variations(a, b)]


def test_a_changed_value_is_found_whole():
    original = "Harland Howe (February 19, 1873 – April 22, 1946) was a judge. The population was 3,171 people."
    altered = "Harland Howe (July 15, 1875 – April 22, 1946) was a judge. The population was 12,456 people."
    assert texts(original, altered) == [("February 19, 1873", "July 15, 1875"), ("3,171", "12,456")]


def test_a_part_that_stays_is_no_part_of_the_value():
    assert texts("born 11 June 1955 in London", "born 11 June 1975 in London") == [("1955", "1975")]


def test_case_and_additions_are_no_other_value():
    assert variations("The film is a drama.", "the FILM is a drama, made in 1990.") == []


def test_other_passages_are_no_values():
    a, b = " ".join(f"a{n}" for n in range(30)), " ".join(f"b{n}" for n in range(30))
    assert variations(f"start {a} end", f"start {b} end") == []


@given(st.lists(st.sampled_from(["the", "film", "was", "made", "in", "1990", "by", "Ann", ",", "Bob", "."]), max_size=20))
def test_a_text_does_not_differ_from_itself(words):
    text = " ".join(words)
    assert variations(text, text) == []


def test_places():
    assert overlap((0, 4), (3, 6))
    assert not overlap((0, 4), (4, 6))
    assert within((1, 3), (1, 3))
    assert within((1, 3), (0, 4))
    assert not within((0, 4), (1, 3))
