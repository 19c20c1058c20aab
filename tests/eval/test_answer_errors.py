import pytest

from arbgraph.schema import Document, Query
from eval.answer_errors import stage_of
from eval.benchmarks.base import Item

QUERY = Query(id="q", query="What is the genre of Manic?", documents=(Document(text="Manic is a short drama film. A copy says comedy."),))


def item(*gold, wrong=("comedy",)):
    return Item(query=QUERY, gold=tuple((text,) for text in gold), wrong=wrong)


def answer(given, claims):
    return {"short_answers": given, "trace": {"claims": [{"answer": text} for text in claims]}}


@pytest.mark.parametrize(
    ("gold", "given", "claims", "stage"),
    [
        (["drama"], ["Drama"], ["Drama", "comedy"], "right"),
        (["drama"], ["drama", "comedy"], ["drama", "comedy"], "misinformation accepted"),
        (["drama"], ["comedy"], ["drama", "comedy"], "truth rejected"),
        (["drama film"], ["drama"], ["drama"], "span"),
        (["drama"], ["comedy"], ["comedy"], "reader"),
        (["opera"], ["drama"], ["drama"], "not in the documents"),
    ],
)
def test_a_question_is_put_down_to_the_first_stage_that_explains_it(gold, given, claims, stage):
    assert stage_of(item(*gold), answer(given, claims)) == stage
