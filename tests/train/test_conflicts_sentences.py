"""Real sentences as anchors: what is found in them, how they are reworded, and what an edit changes."""

import gzip
import json
import re
from pathlib import Path
from random import Random

import pytest

from train.data.conflicts.rewording import active, cleft, dropped, fronted, say
from train.data.conflicts.sentences import (
    FINDERS,
    SentenceFile,
    Stock,
    plain,
    read_sentences,
    scene_of,
    stock_up,
    usable,
)


def test_finders_by_hand(nlp):
    found = {
        "year": "Marlow Records released the album in 1994.",
        "place": "Ada Bergson was born in Lisbon.",
        "agent": "Silent Harbour was directed by Ada Bergson.",
        "number": "The Marlow Theatre has 450 seats.",
        "negation": "Ada Bergson plays the violin.",
        "antonym": "Marlow United won the match.",
    }
    for kind, text in found.items():
        assert FINDERS[kind](nlp(text)), text
    left = {
        "year": ["Marlow Records released the album before 1994.", "Marlow Records released albums in 1994 and 1996."],
        "number": ["The Marlow Theatre has more than 450 seats.", "The Marlow Theatre opened in 1994."],
        "place": ["Ada Bergson visited Lisbon."],
        "negation": ["Ada Bergson never plays the violin."],
    }
    for kind, texts in left.items():
        for text in texts:
            assert not FINDERS[kind](nlp(text)), text


def test_rewordings_by_hand(nlp):
    doc = nlp("Silent Harbour was directed by Ada Bergson.")
    assert active(doc, {}) == "Ada Bergson directed Silent Harbour"
    doc = nlp("Marlow Records released the album in 1994.")
    assert say(doc, fronted(doc), {}) == "in 1994 Marlow Records released the album"
    assert say(doc, fronted(doc), {len(doc) - 2: "1990"}) == "in 1990 Marlow Records released the album"
    assert cleft(doc, {}) == "it was Marlow Records that released the album in 1994"
    doc = nlp("Ada Bergson, who lived in Rome, founded the school.")
    order = dropped(doc, set(), Random(0))
    assert order is not None
    assert say(doc, order, {}) == "Ada Bergson founded the school"
    assert dropped(nlp("No pupil who lived in Rome founded the school."), set(), Random(0)) is None


def test_sentence_scene_changes_one_value(nlp):
    docs = [
        nlp("Ada Bergson released the album in 1994."),
        nlp("Ben Castle opened a studio in 1971."),
        nlp("Ada Bergson plays the violin."),
        nlp("Ben Castle plays the piano."),
    ]
    stock = Stock()
    for split_stock in stock_up(docs).values():
        for kind, found in split_stock.edits.items():
            stock.edits[kind] += found
        for label, subjects in split_stock.subjects.items():
            stock.subjects[label] += subjects
        stock.people += split_stock.people
    scene = next(scene for seed in range(20) if (scene := scene_of("year", docs[0], stock, Random(seed))) is not None)
    true, false = scene.propositions["true"].patterns[0], scene.propositions["false"].patterns[0]
    assert true == "Ada Bergson released the album in 1994"
    assert re.sub(r"\d{4}", "", true) == re.sub(r"\d{4}", "", false)
    assert true != false
    assert scene.label("true", "false") == "contradict"
    assert scene.label("true", "subject_false") == "neutral"
    assert not scene.propositions["subject_true"].patterns[0].startswith("Ada Bergson")
    denial = next(scene for seed in range(20) if (scene := scene_of("negation", docs[2], stock, Random(seed))) is not None)
    assert denial.propositions["false"].patterns[0] == "Ada Bergson does not play the violin"


def test_reading_sentences(tmp_path: Path):
    rows = [
        {"premise": "The bank was founded by Ada Berg in 1994 .", "hypothesis": "It closed ."},
        {"premise": "The bank was founded by Ada Berg in 1994 .", "hypothesis": "Why did Ada close the bank in 1994 ?"},
    ]
    with gzip.open(tmp_path / "a.jsonl.gz", "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
    texts, counts = read_sentences([SentenceFile("a.jsonl.gz")], tmp_path)
    assert texts == ["The bank was founded by Ada Berg in 1994."]
    assert counts == {"a.jsonl.gz": 1}
    with pytest.raises(KeyError, match=r"a\.jsonl\.gz, line 1: no column 'claim'"):
        read_sentences([SentenceFile("a.jsonl.gz", ("claim",))], tmp_path)
    with pytest.raises(FileNotFoundError, match="--data"):
        read_sentences([SentenceFile("b.jsonl.gz")], tmp_path)
    assert plain("He did n't leave ( in May ) .") == "He didn't leave (in May)."
    assert not usable("He was born in a small town in May.")
