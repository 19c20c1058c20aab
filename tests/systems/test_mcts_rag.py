"""MCTS-RAG: expansion, rollouts, the bound, rewards and the final vote, worked by hand."""

from __future__ import annotations

import math
from collections.abc import Generator

import pytest

from arbgraph.chat import Sampling
from arbgraph.systems.mcts_rag import FOLLOWS, MctsRag, Node, Tree, bound
from tests.systems.recorded import RecordedChat, answered, failed, query

ASKED = query("Who built the bridge?", "Weber built the bridge.", "Tea comes from China.")
SMALL = {"votes": 2, "subquestions": 1, "thoughts": 1, "hits": 1}
ROOT = {
    "mcts-answer": ["Answer: Weber", "Answer: Lang", "Answer: 1931", "Answer: 1931"],
    "mcts-thought": ["It must be an engineer."],
    "mcts-subquestion": ["Question: When was it built?"],
    "mcts-rephrase": ["Question: By whom was the bridge built?"],
    "mcts-search": ["Search: tea"],
    "mcts-finding": ["Nothing of use."],
}


def drive(system: MctsRag, steps: Generator) -> object:
    """Runs the steps of one query to their end."""
    outcomes = None
    while True:
        try:
            step = steps.send(outcomes)
        except StopIteration as end:
            return end.value
        outcomes = list(system._ask(step))


def expanded(replies: dict[str, list[str]], node: Node | None = None, **options) -> tuple[Tree, list[Node], RecordedChat]:
    chat = RecordedChat(replies)
    system = MctsRag(chat, **{**SMALL, **options})
    tree = Tree(system, ASKED)
    node = node or tree.root
    drive(system, tree._expand(node))
    assert chat.finished()
    return tree, node.children or [], chat


def test_the_question_is_expanded_by_six_actions():
    tree, children, chat = expanded(ROOT)
    assert [child.kind for child in children] == list(FOLLOWS["question"])
    direct, thought, sub, rephrase, retrieve, search = children
    assert (direct.answers, direct.reward, direct.text) == (("Weber",), 0.5, "Answer: Weber")
    assert tree.answers == [direct]
    assert [(block.kind, block.text) for block in thought.steps] == [("thought", "It must be an engineer.")]
    assert [(block.text, block.about) for block in sub.steps] == [("1931", {"question": "When was it built?"})]
    assert (rephrase.question, rephrase.steps) == ("By whom was the bridge built?", ())
    assert (retrieve.found, search.found) == ((0,), (1,))
    assert [(block.text, block.about) for block in search.steps] == [("Nothing of use.", {"search": "tea"})]
    assert all(child.depth == 1 for child in children)
    drawn = [request.messages.sampling for request in chat.asked if request.messages.stage == "mcts-answer"]
    assert drawn == [Sampling(0.4, 0), Sampling(0.4, 1)] * 2
    assert "Weber built" not in chat.prompts("mcts-answer")[0]
    assert "Tea comes from China." in chat.prompts("mcts-finding")[0]
    assert "Who built the bridge?" not in chat.prompts("mcts-answer")[2]


def test_rollouts_by_hand(monkeypatch):
    # Where chance decides, the first child is taken.
    monkeypatch.setattr("arbgraph.systems.mcts_rag.random.Random.choice", lambda self, children: children[0])
    chat = RecordedChat(
        {
            **ROOT,
            "mcts-answer": [
                *ROOT["mcts-answer"],  # 1: the direct answer, Weber, 1 of 2
                *["Answer: Lang", "Answer: lang."],  # 2: after the thought, 2 of 2
                *["Answer: unknown", "Answer: unknown"],  # 3: after the sub-question: unknown earns nothing
                *["Answer: Weber", "Answer: Weber"],  # 4: after the rephrased question, 2 of 2
                *["It is hard\nto say.", "Answer: Weber"],  # 5: after the retrieval: Weber, 1 of 2
                *["It is hard\nto say.", "It is\nhard."],  # 6: after the search: a dead end
            ],
        }
    )
    system = MctsRag(chat, rollouts=8, depth=2, **SMALL)
    tree = Tree(system, ASKED)
    for _ in range(8):
        drive(system, tree.rollout())
    assert chat.finished()
    root = tree.root
    # 7: of 0.5, 1, 0, 1, 0.5, 0 with one visit each, the first of the largest: the thought. 8: 1 + 2 sqrt(ln 7 / 2) < 1 + 2 sqrt(ln 7).
    assert [(child.visits, child.total) for child in root.children or []] == [(1, 0.5), (2, 2.0), (1, 0.0), (2, 2.0), (1, 0.5), (1, 0.0)]
    assert (root.visits, root.total) == (8, 5.0)
    answer = tree.answer()
    assert (answer.short_answers, answer.text) == (("Weber",), "Answer: Weber")
    assert answer.trace["votes"] == [
        {"answers": ("Weber",), "nodes": 3, "reward": 2.0},
        {"answers": ("Lang",), "nodes": 1, "reward": 1.0},
    ]
    assert {key: answer.usage[key] for key in ("rollouts", "answer_nodes", "dead_ends", "replies_unreadable")} == {
        "rollouts": 8,
        "answer_nodes": 5,
        "dead_ends": 1,
        "replies_unreadable": 3,
    }
    prompts = chat.prompts("mcts-answer")
    assert "It must be an engineer." in prompts[4]
    assert 'question="When was it built?">\n1931' in prompts[6]
    assert "By whom was the bridge built?" in prompts[8]
    assert "Weber built the bridge." in prompts[10]
    assert "Nothing of use." in prompts[12]


def test_the_bound_and_the_choice():
    parent = Node("question", "q", visits=7)
    once, twice = Node("answer", "q", visits=1, total=0.2), Node("answer", "q", visits=2, total=2.0)
    assert bound(once, parent, 2.0) == pytest.approx(0.2 + 2 * math.sqrt(math.log(7)))
    assert bound(twice, parent, 2.0) == pytest.approx(1.0 + 2 * math.sqrt(math.log(7) / 2))
    tree = Tree(MctsRag(RecordedChat({})), ASKED)
    parent.children = [twice, once]
    assert tree.choose(parent) is once
    assert Tree(MctsRag(RecordedChat({}), exploration=0.0), ASKED).choose(parent) is twice
    fresh = Node("answer", "q")
    parent.children = [twice, fresh, once]
    assert tree.choose(parent) is fresh


def test_chance_follows_the_seed_and_the_query():
    parent = Node("question", "q", children=[Node("thought", str(row)) for row in range(50)])

    def choices(seed: int, asked=ASKED) -> list[str]:
        tree = Tree(MctsRag(RecordedChat({}), seed=seed), asked)
        return [tree.choose(parent).question for _ in range(3)]

    assert choices(0) == choices(0)
    assert len({tuple(row) for row in (choices(0), choices(1), choices(0, query("Who?")))}) == 3


def test_a_sub_question_that_is_the_question_is_an_answer():
    replies = {**ROOT, "mcts-subquestion": ["Question: who built the bridge"]}
    tree, children, _ = expanded(replies)
    sub = children[2]
    assert (sub.kind, sub.answers, sub.reward) == ("subquestion", ("1931",), 1.0)
    assert tree.answers == [children[0], sub]


def test_a_sub_question_is_answered_again_with_other_draws():
    _, before, _ = expanded(ROOT)
    replies = {
        "mcts-answer": ["Answer: Weber", "Answer: Weber", "Answer: 1950", "Answer: 1950", "Answer: 1", "Answer: 1"],
        "mcts-thought": ["Hm."],
        "mcts-subquestion": ["Question: Where?"],
        "mcts-search": ["Search: zebra"],
        "mcts-finding": [""] * 2,
    }
    _, children, chat = expanded(replies, before[2])
    # The search found nothing and said nothing: no child.
    assert [child.kind for child in children] == ["answer", "thought", "subquestion", "reanswer"]
    assert [(block.text, block.about) for block in children[3].steps] == [("1950", {"question": "When was it built?"})]
    again = [request.messages for request in chat.asked if request.messages.sampling == Sampling(0.4, 2)]
    assert len(again) == 1
    assert "1931" not in chat.prompts("mcts-answer")[2], "the first answer was shown to the second"


def test_what_leads_nowhere_new_makes_no_child():
    replies = {
        "mcts-answer": ["Hm.\nHm.", "Hm.\nHm."],
        "mcts-thought": [""] * 2,
        "mcts-subquestion": ["I would ask when."],
        "mcts-rephrase": ["Question: Who built the bridge"],
        "mcts-search": ["Let me see."],
    }
    tree, children, _ = expanded(replies, Node("question", "Who built the bridge?", found=(0,)))
    assert children == []
    assert tree.counts["replies_unreadable"] == 4
    assert tree.counts["replies_failed"] == 1


def test_on_the_last_level_only_answers_are_tried():
    chat = RecordedChat({"mcts-answer": ["Answer: Weber"] * 3 + ["Answer: Lang"]})
    answer = answered(MctsRag(chat, rollouts=3, depth=1, votes=4), ASKED)
    assert (answer.short_answers, answer.usage["calls"], answer.usage["rollouts"]) == (("Weber",), 4, 3)
    assert answer.trace["votes"] == [{"answers": ("Weber",), "nodes": 1, "reward": 0.75}]


def test_without_a_readable_answer_the_query_fails_and_unknown_is_no_failure():
    lost = failed(MctsRag(RecordedChat({"mcts-answer": ["Hm.\nHm."] * 2}), rollouts=2, depth=1, votes=2), ASKED)
    assert (lost.stage, lost.usage["calls"]) == ("mcts-rag", 2)
    nothing = answered(MctsRag(RecordedChat({"mcts-answer": ["Answer: unknown"] * 2}), rollouts=1, depth=1, votes=2), ASKED)
    assert (nothing.short_answers, nothing.abstained) == ((), True)


def test_options_are_checked():
    for option in ({"rollouts": 0}, {"depth": 0}, {"votes": 0}, {"temperature": 0.0}, {"exploration": -1.0}, {"thoughts": -1}):
        with pytest.raises(ValueError, match=next(iter(option))):
            MctsRag(RecordedChat({}), **option)
