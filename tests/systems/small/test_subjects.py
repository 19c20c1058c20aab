import pytest

from arbgraph.schema import Document
from arbgraph.systems.small.subjects import Subject, heading, same_subject, subject_of


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Manic (2001 film) Manic is a 2001 American drama film", "Manic (2001 film)"),
        ("Cuba, Illinois Cuba is a city in Fulton County", "Cuba, Illinois"),
        ("Burgess Gunbus The Burgess Type O Gunbus was a biplane", "Burgess Gunbus"),
        ("Cove Fort is a fort in Utah", ""),
        ("in 1994 and in 1995 the band played", ""),
        ("", ""),
        ("...", ""),
    ],
)
def test_a_heading_is_what_stands_before_the_text_begins_anew(text, found):
    assert heading(text) == found


def test_namesakes_differ_by_what_their_headings_add():
    drama, other = Document(text="Manic (2001 film) Manic is a drama."), Document(text="Manic (2017 film) Manic is a documentary.")
    copy, bare = Document(text="Manic (2001 film) Manic is a comedy."), Document(text="It was shown at festivals.")
    assert subject_of(drama) == Subject("manic", "2001 film") == subject_of(copy)
    assert same_subject(subject_of(drama), subject_of(copy)) is True
    assert same_subject(subject_of(drama), subject_of(other)) is False
    assert same_subject(subject_of(drama), subject_of(bare)) is None


def test_a_given_title_serves_where_the_text_has_no_heading():
    assert subject_of(Document(text="It was shown at festivals.", title="Manic (film)")) == Subject("manic", "film")
