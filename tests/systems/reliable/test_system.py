"""ReliableRAG and TRACE in recorded conversations: every branch, with the chains worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch

from arbgraph.schema import Answer, Failed
from arbgraph.systems.reliable import ReliableRAG, TraceRAG
from tests.systems.conversations import Conversation, blocks, query, refused

# Three documents, one triple each; the vector of a text is the sum over the names that it holds.
NAMES = {"alpha": 0, "beta": 1, "gamma": 2}
TEXTS = ("Alpha is red.", "Beta is green.", "Gamma is blue.")
TRIPLES = {"Alpha": "Alpha | is | red", "Beta": "Beta | is | green", "Gamma": "Gamma | is | blue"}


class Names:
    """Unit vectors: one axis per name, in falling weight for a question that names none."""

    def encode(self, texts):
        rows = torch.zeros(len(texts), 3)
        for row, text in enumerate(texts):
            found = [axis for name, axis in NAMES.items() if name in text.lower()]
            rows[row, found or [0, 1, 2]] = 1.0
            if not found:
                rows[row] = torch.tensor([3.0, 2.0, 1.0])
        return torch.nn.functional.normalize(rows, dim=-1)


def extract(messages) -> str:
    return next(line for name, line in TRIPLES.items() if name in blocks(messages, "document")[0])


def lines(messages) -> list[str]:
    return blocks(messages, "options")[0].splitlines()


def prefer(order: str):
    """Scores by the word that an option holds: letters of `order` from most to least probable, `.` for stopping."""

    def scores(messages, options):
        weights = []
        for line in lines(messages):
            key = next((name[0] for name in NAMES if name in line.lower()), ".")
            weights.append(math.log(2.0 ** -order.index(key)))
        return [weight for weight in weights for _ in range(2)][: len(options)]

    return scores


def reliable(order=".abg", evaluate="Score: 5", answer="Answer: red", system=ReliableRAG, documents=None, **options):
    replies = {"reliable-extract": extract, "reliable-evaluate": evaluate, "reliable-sources": answer, "reliable-facts": answer}
    chat = Conversation(replies, scores=prefer(order))
    outcome = system(chat, encoder=Names(), **options).answer([documents or query(*TEXTS, question="What colour?")])[0]
    return outcome, chat


def triples_of(answer: Answer) -> list[tuple[list[int], list[float], bool]]:
    return [(chain["triples"], chain["probabilities"], chain["stopped"]) for chain in answer.trace["chains"]]


def test_one_hop_by_hand():
    answer, chat = reliable("ab.g", hops=1, beam=3, chains=2)
    assert isinstance(answer, Answer)
    # Weights 1, 1/2, 1/4, 1/8 of alpha, beta, stop, gamma: probabilities 8/15, 4/15, 2/15, 1/15.
    assert triples_of(answer) == [([0], [pytest.approx(8 / 15)], False), ([1], [pytest.approx(4 / 15)], False)]
    assert answer.trace["sources"] == [0, 1]
    assert blocks(chat.asked_of("reliable-sources")[0], "document") == [TEXTS[0], TEXTS[1]]
    # Three extractions, three evaluations, one selection, one answer.
    assert answer.usage["calls"] == 8
    assert answer.usage["triples"] == 3


def test_stopped_chains_are_carried_and_never_asked_again():
    answer, chat = reliable(".abg", hops=3, beam=2, kept=2)
    assert isinstance(answer, Answer)
    # Hop 1: stop 8/15, alpha 4/15. Hop 2, three options left (weights 1, 1/4, 1/8): stop 8/11, beta 2/11, so alpha stops at 32/165,
    # alpha-beta stays behind. Then all have stopped.
    assert triples_of(answer) == [
        ([], [pytest.approx(8 / 15)], True),
        ([0], [pytest.approx(4 / 15), pytest.approx(8 / 11)], True),
    ]
    assert len(chat.scored) == 2
    assert blocks(chat.scored[1], "facts") == ["(Alpha; is; red)"]


def test_masked_triples_never_repeat_in_a_chain_and_f_and_b_bound_the_beam():
    for mask in ("chain", "global"):
        for beam, kept in ((1, 1), (2, 3), (4, 20)):
            answer, chat = reliable("abg.", hops=4, beam=beam, kept=kept, chains=20, mask=mask)
            assert isinstance(answer, Answer)
            chains = triples_of(answer)
            assert all(len(set(triples)) == len(triples) for triples, _, _ in chains)
            assert len(chains) <= kept
            # One chain at hop 1, then at most F chains are asked about in each hop, each of which gives at most B.
            assert len(chat.scored) <= 1 + 3 * kept
            assert len({tuple(triples) for triples, _, _ in chains}) <= beam * kept


def test_a_global_mask_offers_a_triple_in_one_chain_only():
    _, chat = reliable("abg.", hops=2, beam=2, kept=2, mask="global")
    # Hop 1 follows alpha and beta; both chains are then offered gamma alone.
    assert [len(lines(messages)) for messages in chat.scored] == [4, 2, 2]
    _, chat = reliable("abg.", hops=2, beam=2, kept=2, mask="chain")
    assert [len(lines(messages)) for messages in chat.scored] == [4, 3, 3]


def test_a_chain_that_used_every_triple_stops():
    answer, chat = reliable("abg.", hops=4, beam=1, kept=1)
    assert isinstance(answer, Answer)
    [(triples, probabilities, stopped)] = triples_of(answer)
    assert (triples, stopped) == ([0, 1, 2], True)
    assert math.prod(probabilities) == pytest.approx(8 / 15 * 4 / 7 * 2 / 3)
    assert len(chat.scored) == 3


@pytest.mark.parametrize(
    ("alpha", "question", "first"),
    [
        (1.0, "Is beta green?", "Beta"),  # by cosine
        (1.0, "What colour?", "Alpha"),
        (0.0, "Is beta green?", "Gamma"),  # by credibility
        (0.4, "Is beta green?", "Beta"),  # 0.4 * 1 + 0.6 * 0.5 = 0.7 against 0.6 * 1
    ],
)
def test_alpha_1_ranks_by_cosine_and_alpha_0_by_credibility(alpha, question, first):
    asked = query(*TEXTS, question=question, credibility=[0.1, 0.5, 1.0])
    answer, chat = reliable("abg.", alpha=alpha, hops=1, candidates=1, credibility="document", documents=asked)
    assert isinstance(answer, Answer)
    assert lines(chat.scored[0])[1].startswith(f"B. ({first};")
    assert len(lines(chat.scored[0])) == 2
    assert [triple["credibility"] for triple in answer.trace["triples"]] == ([None] * 3 if alpha == 1 else [0.1, 0.5, 1.0])
    assert chat.asked_of("reliable-evaluate") == []


def test_the_evaluator_rates_and_what_it_cannot_rate_is_left_out():
    answer, chat = reliable("abg.", evaluate=["Step 3.\nScore: 9", "no number\nat all", refused()], hops=1)
    assert isinstance(answer, Answer)
    assert answer.trace["triples"] == [{"text": "(Alpha; is; red)", "document": 0, "credibility": 0.9}]
    assert answer.usage["triples"] == 3
    assert answer.usage["triples_unrated"] == 2
    assert answer.usage["replies_failed"] == 1
    assert blocks(chat.asked_of("reliable-evaluate")[0], "fact") == ["(Alpha; is; red)"]


def test_synthesis_by_triples():
    answer, chat = reliable("abg.", hops=2, beam=1, synthesis="triples")
    assert isinstance(answer, Answer)
    assert blocks(chat.asked_of("reliable-facts")[0], "facts") == ["(Alpha; is; red)\n(Beta; is; green)"]
    empty, chat = reliable(".abg", hops=1, beam=1, synthesis="triples")
    assert isinstance(empty, Answer)
    assert blocks(chat.asked_of("reliable-facts")[0], "facts") == ["none"]


def test_trace_is_the_search_by_relevance_alone():
    trace, chat = reliable("abg.", system=TraceRAG, hops=2)
    same, _ = reliable("abg.", alpha=1.0, hops=2)
    assert isinstance(trace, Answer)
    assert isinstance(same, Answer)
    assert trace.trace == same.trace
    assert chat.asked_of("reliable-evaluate") == []


def test_exemplars_are_the_nearest_with_the_nearest_last():
    _, chat = reliable("abg.", hops=1, exemplars=2)
    assert len(chat.scored[0].turns) == 2 + 2 * 2
    _, chat = reliable("abg.", hops=1, exemplars=0)
    assert len(chat.scored[0].turns) == 2


def test_failures():
    lost = Conversation({"reliable-extract": ["No triples here", refused(), "Alpha | is | purple"]})
    [failed] = ReliableRAG(lost, encoder=Names()).answer([query(*TEXTS)])  # type: ignore[arg-type]
    assert isinstance(failed, Failed)
    assert "no usable triple" in failed.reason
    assert "'documents_without_triples': 3" in failed.reason
    assert "'triples_ungrounded': 1" in failed.reason
    unknown, _ = reliable(credibility="document")
    assert isinstance(unknown, Failed)
    assert "has no credibility" in unknown.reason
    [nothing] = ReliableRAG(Conversation({}), encoder=Names()).answer([query()])  # type: ignore[arg-type]
    assert isinstance(nothing, Answer)
    assert nothing.abstained
    nan = Conversation({"reliable-extract": extract}, scores=lambda _, options: [math.nan] * len(options))
    [unscored] = TraceRAG(nan, encoder=Names()).answer([query(*TEXTS)])
    assert isinstance(unscored, Failed)


def test_copies_of_a_document_keep_their_own_triples():
    answer, _ = reliable("abg.", hops=1, documents=query(TEXTS[0], TEXTS[0]))
    assert isinstance(answer, Answer)
    assert [triple["document"] for triple in answer.trace["triples"]] == [0, 1]


@pytest.mark.parametrize(
    "options", [{"alpha": 1.5}, {"candidates": 26}, {"beam": 0}, {"mask": "none"}, {"synthesis": "both"}, {"split": "comma"}]
)
def test_options_out_of_range(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        ReliableRAG(Conversation({}), encoder=Names(), **options)  # type: ignore[arg-type]
