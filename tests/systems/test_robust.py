from __future__ import annotations

import pytest

from arbgraph.schema import Answer, Failed
from arbgraph.systems.robust import RobustRAG, keywords
from tests.systems.conversations import Conversation, blocks, query, refused


class Token:
    def __init__(self, lemma: str, pos: str, stop: bool = False) -> None:
        self.lemma_, self.pos_, self.is_stop, self.is_space = lemma, pos, stop, False


def robust(replies, final="Answer: Linz", **options) -> tuple[Answer | Failed, Conversation]:
    chat = Conversation({"robust-isolated": list(replies), "robust-keywords": final})
    return RobustRAG(chat, **options).answer([query(*"abcdefghijklmnop"[: len(replies)])])[0], chat


def test_keywords_are_lemmas_and_runs_of_content_words():
    tokens = [Token("the", "DET", True), Token("Old", "ADJ"), Token("bridge", "NOUN"), Token("be", "AUX"), Token("open", "VERB")]
    assert keywords(tokens) == {"old", "bridge", "old bridge", "open"}
    assert keywords([Token("1975", "NUM"), Token(".", "PUNCT"), Token("linz", "PROPN")]) == {"1975", "linz"}


def test_keywords_below_the_threshold_never_reach_the_final_prompt():
    # Five answers, two of them abstain: n = 4 of 6, and min(3, 0.3 * 4) = 1.2, so that two votes are needed.
    said = ["Berlin.", "It lies in Linz.", "Answer: unknown", "Linz.", "The document does not say where it is.", "Hamburg."]
    answer, chat = robust(said)
    assert isinstance(answer, Answer)
    assert answer.trace["least"] == pytest.approx(1.2)
    assert answer.trace["keywords"] == {"linz": 2}
    [asked] = chat.asked_of("robust-keywords")
    assert blocks(asked, "keywords") == ["linz"]
    assert blocks(asked, "document") == []
    assert answer.short_answers == ("Linz",)
    assert answer.usage["replies_unknown"] == 2


def test_beta_bounds_the_threshold():
    said = ["Linz."] * 3 + ["Berlin."] * 2 + [f"{name}." for name in ("Rome", "Oslo", "Bern", "Riga", "Kiev", "Bonn", "Lyon")]
    answer, _ = robust(said)
    assert isinstance(answer, Answer)
    assert answer.trace["least"] == 3.0  # 0.3 * 12 = 3.6
    assert list(answer.trace["keywords"]) == ["linz"]


def test_keywords_come_from_the_answer_and_not_from_the_sentence_before_it():
    answer, _ = robust(["The document says that it lies in Austria.\nAnswer: Linz", "It is clear.\nAnswer: Linz; Bern"])
    assert isinstance(answer, Answer)
    assert answer.trace["keywords"] == {"linz": 2, "bern": 1}  # the threshold is 0.6


def test_one_answer_keeps_its_keywords():
    answer, _ = robust(["Linz."])
    assert isinstance(answer, Answer)
    assert answer.trace["keywords"] == {"linz": 1}


def test_nothing_shared_and_nothing_known_are_no_answer():
    apart, chat = robust(["Rome.", "Oslo.", "Bern.", "Riga."])
    assert isinstance(apart, Answer)
    assert apart.abstained
    assert chat.asked_of("robust-keywords") == []
    unknown, _ = robust(["Answer: unknown", "I do not know."])
    assert isinstance(unknown, Answer)
    assert unknown.abstained
    nothing, _ = robust([])
    assert isinstance(nothing, Answer)
    assert nothing.abstained


def test_failures():
    lost, _ = robust([refused(), refused()])
    assert isinstance(lost, Failed)
    one, _ = robust([refused(), "Linz."])
    assert isinstance(one, Answer)
    assert one.usage["replies_failed"] == 1
    with pytest.raises(ValueError, match="alpha"):
        RobustRAG(Conversation({}), alpha=2)
