import numpy as np
import pytest

from arbgraph.comparison.lexicon import rows
from arbgraph.reader import Answers, Span
from arbgraph.schema import Document
from arbgraph.systems.readings import normal_form
from arbgraph.systems.small import evidence
from arbgraph.systems.small.kinds import HEAD, PART, WHOLE, kind_asked, lists, of_kind
from arbgraph.systems.small.phrases import FEATURES as GRAMMAR_FEATURES
from arbgraph.systems.small.phrases import PhraseReader, passage_features
from arbgraph.systems.small.rescoring import FEATURES, features


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What sport is Ann Lee associated with?", "sport"),
        ("Ann Lee plays which sport?", "sport"),
        ("What type of sport does Ann Lee play?", "sport"),
        ("What is the profession of Ann Lee?", "occupation"),
        ("What was Ann Lee's occupation?", "occupation"),
        ("What is the Prince of Wales' occupation?", "occupation"),
        ("What did Ann Lee do for a living?", "occupation"),
        ('What is the genre of the film "The Sport"?', "genre"),
        ("What kind of music did the band play?", "genre"),
        ("What gender is the student body of the school?", "gender"),
        ("What is the gender composition of Hill School?", "gender"),
        ("In which state is the school located?", "state"),
        ("Which U.S. state was Ann Lee born in?", "state"),
        ("What country does Ann Lee represent?", "country"),
        ("What's the nationality of Ann Lee?", "nationality"),
        ("What political party was Ann Lee affiliated with?", "party"),
        ("What is the primary political ideology of the movement?", "ideology"),
        ("What is the political position of the movement?", "ideology"),
        ("What position did Ann Lee play?", "position"),
        ("What languages are spoken there?", "language"),
        ("What religion did Ann Lee follow?", "religion"),
        ("Which instrument does Ann Lee play?", "instrument"),
        ("In which branch of the military did Ann Lee serve?", "service"),
        ("What type of aircraft was involved in the crash?", "aircraft"),
        ("What species of bird is the jako?", "animal"),
        ("What is another common name for the plant Ilex?", "plant"),
        ("What type of institution is the SLC?", "institution"),
        ('What is the medium of "Hill"?', "medium"),
        ('What is "Hill Song"?', "medium"),
    ],
)
def test_a_question_asks_for_a_kind(question, kind):
    assert kind_asked(question) == kind


@pytest.mark.parametrize(
    "question",
    [
        "When was the party founded?",
        "Who is the main character in the film?",
        "Which school did Ann Lee attend?",
        "How many languages are spoken there?",
        "What is the Labour Party?",
        "What is the population of State College?",
        "Which state capital lies on the river?",
        "What is the name of the city in which the sport was invented?",
        'Who wrote "What Sport"?',
        "What did he say?",
        "",
    ],
)
def test_a_question_without_a_kind_asks_for_none(question):
    assert kind_asked(question) is None


@pytest.mark.parametrize(
    ("phrase", "kind", "value"),
    [
        ("American football", "sport", WHOLE),
        ("Rugby union", "sport", WHOLE),
        ("cricketer", "sport", 0.0),
        ("football club", "sport", PART),
        ("footballer", "occupation", WHOLE),
        ("Former footballers", "occupation", HEAD),
        ("Politician and lawyer", "occupation", WHOLE),
        ("Policemen", "occupation", WHOLE),
        ("his uncle", "occupation", 0.0),
        ("Film noir", "genre", WHOLE),
        ("documentary film", "genre", WHOLE),
        ("science fiction", "genre", WHOLE),
        ("a film", "genre", 0.0),
        ("1986 documentary", "genre", HEAD),
        ("all-boys", "gender", WHOLE),
        ("Boys' school", "gender", WHOLE),
        ("co-educational", "gender", WHOLE),
        ("Texas", "state", WHOLE),
        ("Houston, Texas", "state", HEAD),
        ("France", "state", 0.0),
        ("France", "country", WHOLE),
        ("Paris", "country", 0.0),
        ("American", "nationality", WHOLE),
        ("Telugu-language", "language", 0.0),
        ("the Telugu language", "language", WHOLE),
        ("Republican", "party", WHOLE),
        ("Janata Party", "party", HEAD),
        ("studio albums", "medium", WHOLE),
        ("2015 film", "medium", HEAD),
        ("African grey parrot", "animal", HEAD),
        ("wild cherries", "plant", HEAD),
        ("", "plant", 0.0),
    ],
)
def test_phrases_are_of_a_kind_as_a_whole_by_their_head_or_in_part(phrase, kind, value):
    assert of_kind(normal_form(phrase), kind) == value


def test_the_words_of_the_table_are_in_normal_form_and_occur_once():
    table = [tuple(row) for row in rows("kinds.tsv")]
    assert len(table) == len(set(table))
    assert table == sorted(table)
    assert all(word == " ".join(word.split()) == word.lower() for _, word in table)
    assert all(len(words) >= 5 for words in lists().values())


@pytest.mark.parametrize(("question", "asks"), [("What is the profession of Ann Lee?", 1.0), ("When was Ann Lee born?", 0.0)])
def test_features_tell_the_kind_only_where_one_is_asked_for(question, asks):
    texts = "Ann Lee is a novelist.", "Ann Lee was born in Leeds."
    answers = [Answers((Span("novelist", 13, 21, 0.5),), 0.5), Answers((Span("Leeds", 20, 25, 0.5),), 0.5)]
    documents = [Document(text=text, id=text) for text in texts]
    first, second = features(question, evidence.testimonies(documents, answers, [Answers((), 1.0)] * 2, 0.9, ()))
    columns = [FEATURES.index(name) for name in ("of_kind", "not_of_kind", "none_has_kind")]
    assert first[0, columns].tolist() == [0, 0, 0]
    assert second[0, columns].tolist() == [0, 0, asks]
    assert first[-1, columns].tolist() == [asks, 0, 0]
    assert second[-1, columns].tolist() == [0, asks, 0]


def test_the_reader_by_grammar_sees_the_kind():
    [doc] = PhraseReader({}).parse(["Ann Lee is a British novelist."])
    places, matrix = passage_features("What is the profession of Ann Lee?", doc)
    seen = {doc.text[start:end]: row for (start, end), row in zip(places, matrix[1:], strict=True)}
    columns = [GRAMMAR_FEATURES.index(name) for name in ("of_kind", "not_of_kind")]
    assert seen["novelist"][columns].tolist() == [1, 0]
    assert seen["British"][columns].tolist() == [0, 1]
    assert seen["British novelist"][columns].tolist() == pytest.approx([0.8, 0])
    assert not matrix[0, columns].any()
    assert not passage_features("Who is she?", doc)[1][:, columns].any()
    assert np.isfinite(matrix).all()
