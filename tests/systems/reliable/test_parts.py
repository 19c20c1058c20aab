"""Triples, evaluation, chains, alpha: each by hand."""

from __future__ import annotations

import math
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from arbgraph.chat.quoting import Block
from arbgraph.schema import Answer, Document, Failed
from arbgraph.systems.base import System
from arbgraph.systems.reliable.alpha import fit_alpha
from arbgraph.systems.reliable.chains import (
    EXEMPLARS,
    STOP,
    Chain,
    grown,
    most_confident,
    option_probabilities,
    option_texts,
    reliability,
    selection,
    synthesis_by_sources,
    synthesis_by_triples,
    top_candidates,
)
from arbgraph.systems.reliable.evaluator import read_score
from arbgraph.systems.reliable.triples import ANNOTATED, Triple, read_triples, request, sentences
from tests.systems.conversations import blocks, query

DOCUMENT = Document(title="Velm Bridge", text="The bridge over the Aske was built in 1931. It was designed by Ida Roth.")


def test_triples_are_read_when_their_entities_are_words_of_the_document():
    reply = """1. Velm Bridge | was built in | 1931
- <Velm Bridge> | "designed by" | Ida Roth.
Velm Bridge | was opened by | Queen Ada
Velm Bridge | 1931
Here are the facts:
Velm Bridge | was built in | 1931
the  bridge | crosses | Aske"""
    counts: Counter[str] = Counter()
    triples = read_triples(reply, DOCUMENT, 3, counts)
    assert [str(triple) for triple in triples] == [
        "(Velm Bridge; was built in; 1931)",
        "(Velm Bridge; designed by; Ida Roth.)",
        "(the  bridge; crosses; Aske)",
    ]
    assert {triple.document for triple in triples} == {3}
    assert counts == {"triples_ungrounded": 1, "triples_unreadable": 2}
    read_triples(f"Velm Bridge | {'x' * 400} | 1931", DOCUMENT, 0, counts)
    assert counts["triples_long"] == 1


def test_parentheses_belong_to_a_part_when_they_close_in_it():
    document = Document(text="Velm (town) lies in Orren (district).")
    triples = read_triples("(Velm (town) | lies in | Orren (district))", document, 0, Counter())
    assert [str(triple) for triple in triples] == ["(Velm (town); lies in; Orren (district))"]


def test_sentences_by_splitter_and_by_period():
    text = "Dr. Roth came at 5 p.m. on Monday. She left."
    assert sentences(text, "sentences") == ["Dr. Roth came at 5 p.m. on Monday.", "She left."]
    assert sentences(text, "period") == ["Dr", "Roth came at 5 p", "m", "on Monday", "She left"]


def test_exemplars_are_earlier_turns_in_the_form_that_is_read():
    messages = request(Block("document", "One is. Two is."), "sentences", ANNOTATED[:2])
    assert [turn.role for turn in messages.turns] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert blocks(messages, "document") == ["One is.\nTwo is."]
    for exemplar in ANNOTATED:
        counts: Counter[str] = Counter()
        document = Document(title=exemplar.title, text=exemplar.text)
        assert len(read_triples(exemplar.solved()[1], document, 0, counts)) == len(exemplar.triples)
        assert not counts


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ("Step 1: fine.\nScore: 7", 0.7),
        ("**Score:** 10", 1.0),
        ("Score: 2\nno, Score: 3.5/10", 0.35),
        ("8", 0.8),
        (" 8/10. ", 0.8),
        ("Score: 11", None),
        ("Score: high", None),
        ("It was built in 1931.", None),
        ("", None),
    ],
)
def test_reading_scores(reply, score):
    assert read_score(reply) == (None if score is None else pytest.approx(score))


def test_reliability_joins_relevance_and_credibility():
    phi, eta = torch.tensor([0.9, 0.2, -0.5]), torch.tensor([0.1, 1.0, 0.5])
    assert reliability(phi, eta, 0.4).tolist() == pytest.approx([0.42, 0.68, 0.1])
    assert reliability(phi, eta, 1.0).tolist() == pytest.approx(phi.tolist())
    assert reliability(phi, eta, 0.0).tolist() == pytest.approx(eta.tolist())
    assert reliability(phi, eta, 1.0, scale="minmax").tolist() == pytest.approx([1.0, 0.5, 0.0])
    assert reliability(torch.ones(2), eta[:2], 0.5, scale="minmax").tolist() == pytest.approx([0.05, 0.5])


def test_in_the_ideal_setting_a_false_triple_needs_an_impossible_cosine():
    # eta is 1 and 0.1 and alpha 0.4: the cosines would have to differ by more than 0.6 * 0.9 / 0.4 = 1.35.
    eta = torch.tensor([1.0, 0.1])
    assert top_candidates(reliability(torch.tensor([-0.3, 1.0]), eta, 0.4), (), 1) == [0]
    assert top_candidates(reliability(torch.tensor([-0.36, 1.0]), eta, 0.4), (), 1) == [1]


def test_candidates_leave_out_what_is_used_and_keep_ties_in_order():
    scores = torch.tensor([0.5, 0.9, 0.5, 0.7])
    assert top_candidates(scores, (), 3) == [1, 3, 0]
    assert top_candidates(scores, (1, 0), 3) == [3, 2]


def test_options_are_lettered_and_the_first_stops():
    messages = selection("Who?", ["(a; b; c)"], ["(d; e; f)", "(g; h; i)"], EXEMPLARS[:1])
    assert blocks(messages, "options") == [f"A. {STOP}\nB. (d; e; f)\nC. (g; h; i)"]
    assert option_texts(2) == ("A", " A", "B", " B", "C", " C")
    for exemplar in EXEMPLARS:
        assert exemplar.choice in "ABCDEFG"[: len(exemplar.options) + 1]


def test_option_probabilities_join_both_spellings():
    scores = torch.tensor([0.1, 0.2, 0.05, 0.15, 0.25, 0.25], dtype=torch.float64).log()
    assert option_probabilities(scores).tolist() == pytest.approx([0.3, 0.2, 0.5])


def test_a_chain_grows_by_its_most_probable_options():
    chain = Chain((7,), (0.5,))
    chains = grown(chain, [3, 9, 4], torch.tensor([0.3, 0.1, 0.5, 0.1], dtype=torch.float64), 3)
    assert chains == [
        Chain((7, 9), (0.5, 0.5)),
        Chain((7,), (0.5, pytest.approx(0.3)), stopped=True),
        Chain((7, 3), (0.5, pytest.approx(0.1))),
    ]
    assert chains[0].confidence == 0.25
    assert len(grown(chain, [3], torch.tensor([1 - 5e-5, 5e-5]), 5)) == 1  # below 1e-4


@given(st.lists(st.floats(0.01, 1.0), max_size=5))
def test_confidence_is_the_product_of_the_option_probabilities(probabilities):
    chain = Chain((), tuple(probabilities))
    assert chain.confidence == pytest.approx(math.prod(probabilities))
    assert chain.mean_confidence == pytest.approx(math.prod(probabilities) ** (1 / max(len(probabilities), 1)))


def test_the_product_favours_short_chains_and_the_mean_does_not():
    short, long = Chain((1,), (0.5,)), Chain((1, 2), (0.6, 0.6))
    assert most_confident([long, short], 1, by_mean=False) == [short]
    assert most_confident([short, long], 1, by_mean=True) == [long]


def test_syntheses():
    triples = [Triple("s", "p", str(n), document=n // 2) for n in range(6)]
    chains = [Chain((4, 0)), Chain((0, 1)), Chain((5,))]
    assert synthesis_by_triples(chains, triples) == ["(s; p; 4)", "(s; p; 0)", "(s; p; 1)", "(s; p; 5)"]
    # Document 0 has three votes (0, 0, 1), document 2 two (4, 5).
    assert synthesis_by_sources(chains, triples) == [0, 2]


class Fixed(System):
    name = "fixed"

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha

    def answer(self, batch):
        return [Answer(text=str(self.alpha)) if self.alpha < 0.9 else Failed(stage="s", reason="r") for _ in batch]


def test_alpha_is_the_best_on_the_questions_and_ties_go_to_the_papers():
    def score(_, outcome) -> float:
        return 0.0 if isinstance(outcome, Failed) else float(0.25 < float(outcome.text) < 0.65)

    fit = fit_alpha(Fixed, [query("a"), query("b")], score)
    assert fit.alpha == 0.4
    assert [alpha for alpha, value in fit.scores.items() if value == 1] == [0.3, 0.4, 0.5, 0.6]
    assert fit_alpha(Fixed, [query("a")], score, grid=(0.3, 0.5)).alpha == 0.3
    with pytest.raises(ValueError, match="at least one question"):
        fit_alpha(Fixed, [], score)
