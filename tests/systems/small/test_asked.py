import pytest

from arbgraph.systems.small.asked import asked_for, names_in, stems_in
from arbgraph.systems.small.rescoring import shape_of


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("When was Judge Howe born?", "date"),
        ("Where is the UPRA located?", "place"),
        ("What is the profession of C. Mayer?", "kind"),
        ("What is the population of Pilzno?", "number"),
        ("How many libraries are part of the LCLS?", "number"),
        ("Who designed the Gunbus?", "person"),
        ("In which state is Van Horn High School located?", "place"),
        ("94 Squadron was formed in which year?", "date"),
        ("What did he say?", "other"),
        ("", "other"),
    ],
)
def test_the_words_of_a_question_tell_what_it_wants(question, asked):
    assert asked_for(question) == asked


def test_names_are_capitals_after_the_first_word_and_quotes():
    assert names_in('Who is the artist of the "Freedom suite" by Ware?') == {"freedom", "suite", "ware"}
    assert "popul" in stems_in("What is the population of Pilzno?")


@pytest.mark.parametrize(
    ("phrase", "shape"),
    [
        ("5 January 1884", "full_date"),
        ("1884", "year"),
        ("4,411", "number"),
        ("887 people", "amount"),
        ("Miami", "capitals"),
        ("film", "lower"),
    ],
)
def test_shapes(phrase, shape):
    assert shape_of(phrase) == shape
