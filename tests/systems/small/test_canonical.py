import pytest

from arbgraph.systems.small.canonical import canonical, same_answer


@pytest.mark.parametrize(
    ("answer", "key"),
    [
        ("4,411", "4411"),
        ("4411", "4411"),
        ("5 January 1884", "1884-01-05"),
        ("January 5 , 1884", "1884-01-05"),
        ("1884", "1884"),
        ("March 1949", "march 1949"),
        ("The Burgess Company", "burgess company"),
        ("887 people", "887 people"),
    ],
)
def test_spellings_of_one_value_share_a_key(answer, key):
    assert canonical(answer) == key


@pytest.mark.parametrize(
    ("a", "b"), [("Girls", "All-girls"), ("887", "887 people"), ("short film", "Canadian short film"), ("a film", "Film")]
)
def test_the_more_specific_spelling_says_the_same(a, b):
    assert same_answer(a, b)
    assert same_answer(b, a)


@pytest.mark.parametrize(
    ("a", "b"), [("Boys", "All-girls"), ("428", "42,800"), ("York", "Yorkshire"), ("5 January 1884", "6 January 1884")]
)
def test_other_values_are_other_answers(a, b):
    assert not same_answer(a, b)
