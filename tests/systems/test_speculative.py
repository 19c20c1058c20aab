from __future__ import annotations

import math

import pytest
import torch

from arbgraph.schema import Answer, Failed
from arbgraph.systems.speculative import SpeculativeRAG, cluster
from tests.systems.conversations import Conversation, blocks, query, refused


class Letters:
    """Vectors by the last letter of a text: a and b point one way, y and z another."""

    def encode(self, texts):
        return torch.tensor([[1.0, 0.0] if text[-1] in "ab" else [0.0, 1.0] for text in texts])


def test_clusters_of_points():
    vectors = torch.tensor([[0.0, 0.0], [5.0, 5.0], [0.1, 0.0], [5.0, 5.1], [9.0, 0.0]])
    assert cluster(vectors, 3) == [[0, 2], [1, 3], [4]]
    assert cluster(vectors, 1) == [[0, 1, 2, 3, 4]]
    assert cluster(vectors[:2], 9) == [[0], [1]]
    assert cluster(torch.ones(3, 2), 2) == [[0, 1, 2]]


def draft(messages) -> str:
    return "With z.\nAnswer: 1980" if "z" in blocks(messages, "document") else "With y.\nAnswer: 1975"


def system(chat, **options) -> SpeculativeRAG:
    return SpeculativeRAG(chat, encoder=Letters(), **options)  # type: ignore[arg-type]


def test_a_subset_holds_one_document_of_each_cluster_and_no_subset_comes_twice():
    chat = Conversation({"speculative-draft": draft}, scores=lambda _, options: [-1.0] * len(options))
    system(chat, drafts=9).answer([query("a", "b", "y", "z")])
    subsets = sorted(tuple(blocks(messages, "document")) for messages in chat.asked_of("speculative-draft"))
    assert subsets == [("a", "y"), ("a", "z"), ("b", "y"), ("b", "z")]
    fewer = Conversation({"speculative-draft": draft}, scores=lambda _, options: [-1.0] * len(options))
    system(fewer, drafts=2).answer([query("a", "b", "y", "z")])
    assert len(fewer.asked_of("speculative-draft")) == 2


def test_the_score_is_the_product_of_three_parts_by_hand():
    def scores(messages, options):
        if messages.stage == "speculative-draft":
            # "With y." has 2 tokens, "With y.\nAnswer: 1975" has 4: rationale, then both together.
            assert options == ("With y.", "With y.\nAnswer: 1975") or options == ("With z.", "With z.\nAnswer: 1980")
            return [2 * math.log(0.5), 2 * math.log(0.5) + 2 * math.log(0.25)]
        if messages.stage == "speculative-alone":
            assert blocks(messages, "document") == []
            return [4 * math.log(0.1)] if "1975" in options[0] else [4 * math.log(0.2)]
        assert options == ("Yes", "No")
        return [math.log(0.3), math.log(0.1)] if blocks(messages, "answer") == ["1975"] else [math.log(0.1), math.log(0.3)]

    chat = Conversation({"speculative-draft": draft}, scores=scores)
    [answer] = system(chat).answer([query("a", "y", "z")])
    assert isinstance(answer, Answer)
    by_text = {one["text"]: one["scores"] for one in answer.trace["drafts"]}
    assert by_text["With y.\nAnswer: 1975"] == pytest.approx([0.75, 0.1, 0.75])  # product 0.05625
    assert by_text["With z.\nAnswer: 1980"] == pytest.approx([0.75, 0.2, 0.25])  # product 0.0375
    assert answer.short_answers == ("1975",)
    assert answer.usage["calls"] == 2 + 2 * 3


def test_a_draft_without_rationale_is_scored_by_its_answer():
    def scores(messages, options):
        if messages.stage == "speculative-draft":
            assert options == ("Answer: 1975",)
            return [2 * math.log(0.5)]
        return [0.0] * len(options)

    [answer] = system(Conversation({"speculative-draft": "1975"}, scores=scores)).answer([query("a")])
    assert isinstance(answer, Answer)
    assert answer.trace["drafts"][0]["scores"] == pytest.approx([0.5, 1.0, 0.5])


def test_all_drafts_go_to_the_aggregator():
    chat = Conversation({"speculative-draft": draft, "speculative-collect": "Both.\nAnswer: 1975; 1980"})
    [answer] = system(chat, select="all").answer([query("a", "y", "z")])
    assert isinstance(answer, Answer)
    assert answer.short_answers == ("1975", "1980")
    [asked] = chat.asked_of("speculative-collect")
    assert sorted(blocks(asked, "draft")) == ["With y.\nAnswer: 1975", "With z.\nAnswer: 1980"]
    assert chat.scored == []


def test_lost_unknown_and_missing_drafts():
    def some(messages):
        return refused() if "z" in blocks(messages, "document") else "Nothing here.\nAnswer: unknown"

    [unknown] = system(Conversation({"speculative-draft": some})).answer([query("a", "y", "z")])
    assert isinstance(unknown, Answer)
    assert unknown.abstained
    assert unknown.usage["replies_failed"] == 1
    assert unknown.usage["replies_unknown"] == 1
    [failed] = system(Conversation({"speculative-draft": "one line\nanother"})).answer([query("a", "y")])
    assert isinstance(failed, Failed)
    [nothing] = system(Conversation({})).answer([query()])
    assert isinstance(nothing, Answer)
    assert nothing.abstained
    nan = Conversation({"speculative-draft": draft}, scores=lambda _, options: [math.nan] * len(options))
    [unscored] = system(nan).answer([query("a", "y")])
    assert isinstance(unscored, Failed)
    with pytest.raises(ValueError, match="clusters"):
        system(Conversation({}), clusters=0)
    with pytest.raises(ValueError, match="select"):
        system(Conversation({}), select="most")
