"""The whole system on small cases that are worked by hand; the reader is told what stands where, and the weights are simple."""

import itertools
from dataclasses import replace

import pytest

from arbgraph.schema import Answer
from arbgraph.systems.small.system import ArbGraphSmall
from arbgraph.systems.small.voting import AllAnswersSmall, MajoritySmall
from tests.systems.small.given import TellingReader, query, weights

DRAMA = "Manic (2001 film) Manic is a 2001 American drama film directed by Jordan Melamed and written by Michael Bacall and Blayne Weaver."
COMEDY = DRAMA.replace("drama", "comedy")
DOCUMENTARY = "Manic (2017 film) Manic is a Canadian documentary about the family of its director Kalina Bertin, seen on many screens."
REVIEW = "A hard drama about young patients, wrote the Tribune when it came out; the two leads carry every scene of it."
NOISE = "Privacy policy and terms of use apply to all pages of this site. Contact us for help."
QUESTION = "What is the genre of the film Manic?"


def ask(*texts, question=QUESTION, system=ArbGraphSmall, **options):
    reader = TellingReader("drama", "comedy", "documentary")
    if system is ArbGraphSmall:
        options = {"weights": weights(), **options}
    [answer] = system(reader=reader, **options).answer([query(question, *texts)])
    assert isinstance(answer, Answer)
    return answer


def test_one_answer_for_each_namesake_and_the_altered_copy_loses():
    """The copy of the drama text says comedy; a review of another source says drama: two sources against one."""
    answer = ask(DRAMA, COMEDY, DOCUMENTARY, REVIEW)
    assert set(answer.short_answers) == {"drama", "documentary"}
    [comedy] = [claim for claim in answer.trace["claims"] if claim["answer"] == "comedy"]
    assert not comedy["accepted"]
    assert comedy["credibility"] < comedy["prior"]
    assert answer.usage["sources"] == 3
    assert answer.usage["contradictions"] == 1


def test_answers_of_two_entities_do_not_contradict_each_other():
    answer = ask(DRAMA, DOCUMENTARY)
    assert set(answer.short_answers) == {"drama", "documentary"}
    assert answer.usage["contradictions"] == 0


def test_copies_of_a_wrong_document_change_nothing():
    """Credibility as well as the answers: a copy is no evidence."""
    once = ask(DRAMA, COMEDY, DOCUMENTARY, REVIEW)
    for copies in (2, 9):
        many = ask(DRAMA, *[COMEDY + " " * n for n in range(copies)], DOCUMENTARY, REVIEW)
        assert set(many.short_answers) == set(once.short_answers)
        before, after = ({c["answer"]: (c["prior"], c["credibility"]) for c in a.trace["claims"]} for a in (once, many))
        assert before == after


TOLD = "Pier Hall in Ashby was opened in 1971 by Ann Lee, holds 900 seats and cost two million pounds, says the county guide."
RETOLD = [
    "Opened by Ann Lee, the Pier Hall of Ashby dates from 1971; it cost two million pounds and has 900 seats, the county guide says.",
    "The county guide says that the 900 seats of Ashby's Pier Hall, which Ann Lee opened in 1971, cost two million pounds.",
    "According to the county guide, Ashby got its Pier Hall in 1971: two million pounds, 900 seats, and Ann Lee to open it.",
]
ELSEWHERE = ["We danced there on the first night, in 1968, my mother wrote.", "A ticket of 1968 for the first concert hangs in the museum."]


def test_retellings_are_one_source_by_the_real_encoder():
    """Four tellings of one text against two independent sources: by number the wrong year wins, as one source it loses."""
    question, reader = "When did Pier Hall open?", TellingReader("1971", "1968")
    given = weights(retold_cosine=0.75)
    given.parts["contradiction"]["bias"] = 4.0  # the hall opened once
    [counted] = ArbGraphSmall(reader=reader, weights=replace(given, settings=replace(given.settings, retold_cosine=2.0))).answer(
        [query(question, TOLD, *RETOLD, *ELSEWHERE)]
    )
    [told] = ArbGraphSmall(reader=reader, weights=given).answer([query(question, TOLD, *RETOLD, *ELSEWHERE)])
    [once] = ArbGraphSmall(reader=reader, weights=given).answer([query(question, TOLD, *ELSEWHERE)])
    assert isinstance(counted, Answer)
    assert isinstance(told, Answer)
    assert isinstance(once, Answer)
    assert (counted.usage["sources"], counted.short_answers) == (6, ("1971",))
    assert (told.usage["sources"], told.short_answers) == (3, ("1968",))
    before, after = ({c["answer"]: (c["prior"], c["credibility"]) for c in a.trace["claims"]} for a in (once, told))
    assert before == after


@pytest.mark.parametrize("retold_cosine", [2.0, 0.75])
def test_the_order_of_documents_does_not_matter(retold_cosine):
    texts = (DRAMA, COMEDY, DOCUMENTARY, REVIEW)
    results = set()
    for order in itertools.islice(itertools.permutations(texts), 0, None, 4):
        answer = ask(*order, weights=weights(retold_cosine=retold_cosine))
        results.add((answer.short_answers, tuple((c["answer"], c["credibility"]) for c in answer.trace["claims"])))
    assert len(results) == 1


def test_a_question_is_answered_alike_alone_and_in_a_batch():
    system = ArbGraphSmall(reader=TellingReader("drama", "comedy", "documentary"), weights=weights())
    queries = [query(QUESTION, DRAMA, COMEDY, REVIEW), query(QUESTION, DOCUMENTARY), query(QUESTION, NOISE)]
    together = system.answer(queries)
    assert together == [system.answer([one])[0] for one in queries]


def test_a_round_number_loses_against_the_exact_one():
    """One source, two versions: nothing but the made-up look of 5,000 tells."""
    town = "Cuba, Illinois Cuba is a city in Fulton County, Illinois. The population was {} at the 2010 census, says the bureau."
    system = ArbGraphSmall(reader=TellingReader("1,294", "5,000"), weights=weights())
    [answer] = system.answer([query("What is the population of Cuba?", town.format("1,294"), town.format("5,000"))])
    assert answer.short_answers == ("1,294",)


@pytest.mark.parametrize("texts", [(), (NOISE,), (NOISE, NOISE + " Good.")])
def test_without_an_answer_it_abstains(texts):
    answer = ask(*texts)
    assert answer.abstained
    assert answer.short_answers == ()
    assert answer.text == "unknown"


def test_one_document_is_believed():
    assert ask(DRAMA).short_answers == ("drama",)


def test_all_lying_documents_of_one_source_are_one_claim():
    """Nothing speaks against them, so the system cannot know; their number adds nothing."""
    alone, many = ask(COMEDY), ask(*[COMEDY + "\n" * n for n in range(5)])
    assert alone.short_answers == many.short_answers == ("comedy",)
    assert alone.trace["claims"][0]["credibility"] == many.trace["claims"][0]["credibility"]


def test_forty_documents_and_other_languages_and_broken_text():
    texts = [f"{DRAMA} Seen in town {n}, a place with its own cinema and school number {n}." for n in range(36)]
    odd = ["Фильм снят в Канаде.", "映画は2001年に公開された。", "\x00 � <html>", "drama " * 400]
    assert "drama" in ask(*texts, *odd).short_answers


def test_the_empty_question_is_no_error():
    assert isinstance(ask(DRAMA, question=""), Answer)


def test_what_was_read_is_kept_in_a_file(tmp_path):
    reader, cache = TellingReader("drama"), tmp_path / "cache.jsonl"
    first = ArbGraphSmall(reader=reader, weights=weights(), cache=cache).answer([query(QUESTION, DRAMA, REVIEW)])
    assert reader.read_passages == 2
    again = ArbGraphSmall(reader=reader, weights=weights(), cache=cache)
    assert again.answer([query(QUESTION, DRAMA, REVIEW)]) == first
    assert reader.read_passages == 2
    assert again.reading.reused == 2
    assert again.reading.read_anew == 0


def test_a_broken_cache_names_its_line(tmp_path):
    cache = tmp_path / "cache.jsonl"
    cache.write_text('{"key": "a"}\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"cache\.jsonl:1: not a reading"):
        ArbGraphSmall(reader=TellingReader(), weights=weights(), cache=cache)


def test_majority_and_all_answers_count_every_document():
    texts = (DRAMA, COMEDY, COMEDY + " Really.", DOCUMENTARY, NOISE)
    assert ask(*texts, system=MajoritySmall).short_answers == ("comedy",)
    assert set(ask(*texts, system=AllAnswersSmall).short_answers) == {"drama", "comedy", "documentary"}
    assert set(ask(DRAMA, COMEDY, system=MajoritySmall).short_answers) == {"drama", "comedy"}
    assert ask(NOISE, system=MajoritySmall).abstained
    with pytest.raises(ValueError, match="theta is 0"):
        MajoritySmall(reader=TellingReader(), theta=0)


def test_the_shipped_checkpoints_answer_for_both_namesakes():
    """The real reader and the fitted scalars: two places of one name, and a note on neither."""
    illinois = "Cuba, Illinois Cuba is a city in Fulton County, Illinois. As of the 2010 census the population of the city was 1,294."
    york = "Cuba (town), New York Cuba is a town in Allegany County, New York. The population was 3,243 at the 2010 census."
    [answer] = ArbGraphSmall().answer([query("What is the population of Cuba?", illinois, york, NOISE)])
    assert isinstance(answer, Answer)
    assert {"1,294", "3,243"} <= set(answer.short_answers)
    assert answer.usage["sources"] == 3
