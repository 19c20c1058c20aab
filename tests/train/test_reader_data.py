from __future__ import annotations

import gzip
import json
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbgraph.reader.readings import Reading, find_spans
from arbgraph.reader.tokens import ReaderTokenizer
from train.data.attributes import attribute_questions, kind_of
from train.data.cloze import Passage, cloze_questions, parsed, plain_title, stands_in
from train.data.questions import repeated_title
from train.data.reading import Crop, Order, ReaderCollator, cropped, framed, gold_tokens, made_by_rule, spaced
from train.data.records import record_bank, record_readings

TEXT = (
    "Henry Moseley (23 November 1887 – 10 August 1915) was an English physicist. He was born in Weymouth, Dorset. "
    "He studied at the University of Oxford and moved to Manchester in 1910. Moseley died in 1915."
)


@pytest.fixture(scope="module")
def doc():
    return next(parsed([Passage("Henry Moseley", TEXT, "test")]))[1]


def test_cloze_answers_stand_where_they_say_and_not_in_the_question(doc) -> None:
    questions = cloze_questions(doc, "Henry Moseley")
    assert len(questions) >= 4
    for one in questions:
        answer = TEXT[one.start : one.end]
        assert answer.strip() == answer != ""
        assert one.sentence[0] <= one.start < one.end <= one.sentence[1]
        assert not stands_in(answer, one.question)
    assert cloze_questions(doc, "Henry Moseley") == questions


def test_attributes_are_asked_in_plain_words(doc) -> None:
    sentences = [(sentence.start_char, sentence.end_char) for sentence in doc.sents]
    found = {(one.question, TEXT[one.start : one.end]) for one in attribute_questions("Henry Moseley", TEXT, sentences)}
    answers = {}
    for question, answer in found:
        answers.setdefault(answer, []).append(question)
    assert {"23 November 1887", "10 August 1915", "physicist", "English", "Weymouth, Dorset", "University of Oxford"} <= set(answers)
    assert all(re.search("born|birth", question) for question in answers["23 November 1887"])
    assert all("die" in question or "death" in question for question in answers["10 August 1915"])


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("Big Girl is a Canadian short film directed by a writer.", ("work", "film")),
        ("He was a French writer and film director born in Aix.", ("person", "director")),
        ("Pilzno is a town in Poland.", ("place", "town")),
        ("It is an award-winning idea.", ("", "")),
    ],
)
def test_the_kind_is_the_head_noun(sentence: str, kind: tuple[str, str]) -> None:
    assert kind_of(sentence) == kind


def test_titles() -> None:
    assert plain_title("Big Girl (film)") == "Big Girl"
    assert repeated_title("Brazos River The Brazos River is long.") == "Brazos River"
    assert repeated_title("Freedom Suite (album) Freedom Suite is an album.") == "Freedom Suite (album)"
    assert repeated_title("It rained all day.") == ""


def test_records_state_what_is_asked_or_nothing_of_it() -> None:
    rows = record_readings(600, 3)
    assert rows == record_readings(600, 3) != record_readings(600, 4)
    answered = [one for one in rows if one.spans]
    assert 0.5 < len(answered) / len(rows) < 0.8
    for one in answered:
        assert all(one.passage[start:end].strip() == one.passage[start:end] != "" for start, end in one.spans)
    for one in rows:
        assert "{" not in one.question + one.passage


def test_no_page_without_an_answer_states_one() -> None:
    """A page asked for a population that it does not hold has no sentence about one."""
    for one in record_readings(1500, 5):
        if not one.spans and "population of" in one.question:
            assert not re.search(r"population was [\d,]+ at|had a population of|inhabitants\.", one.passage), one


def test_the_bank_names_only_what_it_has() -> None:
    bank = record_bank()
    for kind, about in bank["kinds"].items():
        table = bank["attributes"][about["table"]]
        assert set(about["without"]) <= set(table), kind
    for table in bank["attributes"].values():
        for name, one in table.items():
            assert all("{v}" in text for text in one["said"]), name
            assert all("{x}" in text for text in one["asked"]), name


words = st.lists(
    st.sampled_from(["Anna", "was", "born", "in", "1889", ",", "Ohio", "St.", "x-y", "(", ")", "é", "ran."]), min_size=3, max_size=80
)


@given(words, st.data())
def test_varying_a_passage_keeps_the_answers(tokens: list[str], data) -> None:
    passage = " ".join(tokens)
    answer = data.draw(st.sampled_from([token for token in tokens if token[0].isalnum()] or ["none"]))
    reading = Reading("Who?", passage, find_spans(passage, [answer]), "test")
    crop = Crop(words=(5, 20))
    made = cropped(reading, random.Random(data.draw(st.integers(0, 99))), crop)
    assert made.passage in passage
    assert bool(made.spans) == bool(reading.spans)
    assert set(made.answers) <= set(reading.answers)
    apart = spaced(made)
    assert re.sub(r"\s", "", apart.passage) == re.sub(r"\s", "", made.passage)
    assert [re.sub(r"\s", "", text) for text in apart.answers] == [re.sub(r"\s", "", text) for text in made.answers]


def test_a_frame_moves_the_answers() -> None:
    reading = Reading("When?", "Built in 1889.", ((9, 13),), "test")
    made = [framed(reading, random.Random(seed)) for seed in range(20)]
    assert all(one.answers == ["1889"] and len(one.passage) > len(reading.passage) for one in made)
    assert len({one.passage for one in made}) > 10


def test_punctuation_is_set_apart() -> None:
    reading = Reading("Where?", "in Burbank, California.[9]", ((3, 22),), "test")
    made = spaced(reading)
    assert made.passage == "in Burbank , California . [ 9 ]"
    assert made.answers == ["Burbank , California"]


def test_questions_without_their_sentence_are_unanswered(tmp_path) -> None:
    first = "The tower was built in 1889 by a company of engineers from Paris."
    rest = " It has three floors and a restaurant that many people visit every year."
    record = {
        "title": "Tower",
        "text": first + rest,
        "source": "test",
        "questions": [{"question": "When was it built?", "start": 23, "end": 27, "sentence": [0, len(first)], "style": "inverted"}] * 200,
    }
    other = {**record, "title": "Bridge", "text": "A bridge of stone.", "questions": []}
    path = tmp_path / "made.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(one) + "\n" for one in (record, other))
    rows = made_by_rule([str(path)], seed=1, limit=1000)
    assert {(one.passage, tuple(one.answers)) for one in rows if one.passage != f"Tower {first}{rest}"} == {
        (first + rest, ("1889",)),
        (rest.strip(), ()),
        ("A bridge of stone.", ()),
    }
    assert made_by_rule([str(path)], seed=1, limit=10) == rows[:10]


def test_gold_tokens_hold_the_answer(words_tokenizer) -> None:
    passage = "The tower, built in 1889, is 330 m tall."
    tokenizer = ReaderTokenizer(words_tokenizer)
    window = tokenizer.windows("When?", passage)[0]
    (first, width), *_ = gold_tokens(window, find_spans(passage, ["built in 1889"]), 30)
    assert passage[window.offsets[first][0] : window.offsets[first + width][1]] == "built in 1889"
    assert gold_tokens(window, find_spans(passage, ["built in 1889"]), 2) == []
    batch = ReaderCollator(tokenizer, 2)(
        [Reading("When?", passage, find_spans(passage, ["built in 1889"]), "t"), Reading("Who?", passage, (), "t")]
    )
    assert batch["gold"].tolist() == []
    assert batch["known"].tolist() == [False, True]


@pytest.fixture(scope="module")
def words_tokenizer():
    from transformers import AutoTokenizer

    from arbgraph.models import resolve_model

    return AutoTokenizer.from_pretrained(resolve_model("sentence-transformers/all-MiniLM-L6-v2").path)


def test_the_order_reads_everything_once_and_rules_first() -> None:
    lengths, ruled = [number % 50 for number in range(4000)], [number % 2 == 0 for number in range(4000)]
    order = Order(lengths, ruled, batch_size=32, seed=1)
    rows = [row for batch in order for row in batch]
    assert sorted(rows) == list(range(4000))
    assert len(order) == 125
    first, last = rows[:1000], rows[-1000:]
    assert sum(ruled[row] for row in first) > 700 > 300 > sum(ruled[row] for row in last)
    assert list(Order(lengths, ruled, batch_size=32, seed=1)) == list(order)
    mixed = [row for batch in Order(lengths, ruled, batch_size=32, seed=1, mixed=True) for row in batch]
    assert 400 < sum(ruled[row] for row in mixed[:1000]) < 600
