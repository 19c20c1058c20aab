import numpy as np
import pytest

from arbgraph.systems.small.phrases import FEATURES, PhraseReader, answers_of, passage_features, phrases_of

PASSAGE = "Ann Lee (born 4 March 1952 in Leeds) is a British novelist. She has written 11 books about Clay County, Iowa."


@pytest.fixture(scope="module")
def reader():
    return PhraseReader({"date:full_date": 3.0, "full_date": 1.0, "number:amount": 3.0, "kind:predicate": 2.0, "kind:chunk_tail": 2.0})


def test_phrases_of_every_kind_are_found(reader):
    [doc] = reader.parse([PASSAGE])
    kinds = {doc.text[start:end]: names for (start, end), names in phrases_of(doc).items()}
    assert "full_date" in kinds["4 March 1952"]
    assert "place_pair" in kinds["Clay County, Iowa"]
    assert "chunk_tail" in kinds["novelist"]
    assert "chunk" in kinds["British novelist"]
    assert "name" in kinds["Ann Lee"]
    assert all(text == text.strip(" .,") for text in kinds)


def test_the_first_row_is_no_answer_and_every_phrase_has_one(reader):
    [doc] = reader.parse([PASSAGE])
    places, matrix = passage_features("When was Ann Lee born?", doc)
    assert matrix.shape == (1 + len(places), len(FEATURES))
    assert np.isfinite(matrix).all()
    assert matrix[0, FEATURES.index("none")] == 1
    assert not matrix[1:, FEATURES.index("none")].any()
    born = places.index((PASSAGE.index("4 March"), PASSAGE.index("4 March") + len("4 March 1952")))
    row = dict(zip(FEATURES, matrix[1 + born].tolist(), strict=True))
    assert row["date:full_date"] == row["after_born"] == row["first_sentence"] == row["names_near"] == 1
    assert row["kind:full_date"] == 0


def test_weights_choose_by_the_kind_that_is_asked_for(reader):
    when, what = reader.read(["When was Ann Lee born?", "What is the profession of Ann Lee?"], [PASSAGE, PASSAGE], n_best=1)
    assert when.best.text == "4 March 1952"
    assert PASSAGE[when[0].start : when[0].end] == "4 March 1952"
    assert "novelist" in what[0].text


def test_probabilities_sum_to_one_over_phrases_of_one_form():
    found = answers_of("Leeds and Leeds", [(0, 5), (10, 15)], np.array([0.0, 1.0, 1.0]), 5)
    [span] = found
    assert span.text == "Leeds"
    assert span.start == 0
    assert span.score + found.no_answer == pytest.approx(1.0)
    assert found.no_answer == pytest.approx(1 / (1 + 2 * np.e))


@pytest.mark.parametrize("passage", ["", " ", "...", "映画は2001年に公開された。", "x" * 5000])
def test_odd_passages_are_read(reader, passage):
    [found] = reader.read(["When was Ann Lee born?"], [passage])
    assert 0 <= found.no_answer <= 1
