"""MCTS-RAG: Monte Carlo tree search over reasoning steps, some of which retrieve; sampled answers that agree are the reward.

Hu et al., MCTS-RAG: Enhancing Retrieval-Augmented Generation with Monte Carlo Tree Search, 2025; on rStar (Qi et al., 2024).
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from arbgraph.chat.base import ChatModel, Completion
from arbgraph.chat.prompts import Prompt
from arbgraph.chat.quoting import Block
from arbgraph.retrieval import DocumentIndex
from arbgraph.schema import Answer, Failed, Query, content_id
from arbgraph.systems.base import Ask, Step, StepFailed, Steps
from arbgraph.systems.document_system import DocumentSystem, at_least
from arbgraph.systems.example_prompts import EXAMPLE_QUESTION, KNOWN, ONE_DOCUMENT, Example, ExamplePrompt
from arbgraph.systems.forms import read_field, same_set
from arbgraph.systems.readings import normal_form, usable_answers, usable_text
from arbgraph.systems.replies import ANSWER_FORM

Kind: TypeAlias = Literal["question", "answer", "thought", "subquestion", "reanswer", "rephrase", "retrieve", "search"]

# What may follow what. A question is rephrased and retrieved for at the beginning; a sub-question is answered again right after it.
FOLLOWS: dict[Kind, tuple[Kind, ...]] = {
    "question": ("answer", "thought", "subquestion", "rephrase", "retrieve", "search"),
    "rephrase": ("answer", "thought", "subquestion", "retrieve", "search"),
    "retrieve": ("answer", "thought", "subquestion", "search"),
    "thought": ("answer", "thought", "search"),
    "subquestion": ("answer", "thought", "subquestion", "reanswer", "search"),
    "reanswer": ("answer", "thought", "subquestion", "search"),
    "search": ("answer", "thought", "subquestion", "search"),
    "answer": (),
}

_RULES = "You answer a question in small steps. You see the steps that were taken and the documents that were found, if any."

ANSWER = ExamplePrompt(
    id="mcts-answer",
    version=2,
    rules=_RULES,
    task=f"Answer the question now. {ANSWER_FORM}",
    examples=(KNOWN, ONE_DOCUMENT),
)
THOUGHT = Prompt(id="mcts-thought", version=1, rules=_RULES, task="Write the next step of thought in one sentence. Do not answer yet.")
SUBQUESTION = ExamplePrompt(
    id="mcts-subquestion",
    version=3,
    rules=_RULES,
    task=(
        "Which smaller question must be answered next? When nothing else is needed, repeat the question itself. "
        "Reply with one line in this form:\nQuestion: the smaller question"
    ),
    examples=(Example((EXAMPLE_QUESTION,), "Question: Which bridge is in Lindau?"),),
)
REPHRASE = ExamplePrompt(
    id="mcts-rephrase",
    version=3,
    rules="You make questions clear.",
    task="Ask the same in other words. Do not answer. Reply with one line in this form:\nQuestion: the same question in other words",
    examples=(Example((EXAMPLE_QUESTION,), "Question: In which year did the bridge of Lindau open?"),),
)
SEARCH = ExamplePrompt(
    id="mcts-search",
    version=3,
    rules=_RULES,
    task="What must be looked up next? Reply with one line in this form:\nSearch: words to search for",
    examples=(Example((EXAMPLE_QUESTION,), "Search: bridge of Lindau opened"),),
)
FINDING = Prompt(
    id="mcts-finding",
    version=1,
    rules=_RULES,
    task="In one sentence: what do the documents say about the search that helps to answer the question?",
)


class MctsRag(DocumentSystem):
    r"""Rollouts from the question: a child that was never visited is tried at random, else the one of the largest

    .. math::
        \frac{Q}{N} + c \sqrt{\frac{\ln N_{parent}}{N}}

    A node is expanded when a rollout first leaves it, by every action that may follow (`FOLLOWS`); a rollout ends at an answer. The answer
    to a question is the most common of `votes` sampled ones, and its share is the reward, which is added along the path. "Unknown" earns
    nothing. In the end the answer of the most answer nodes wins; ties go to the larger sum of rewards, then to the first.

    A node is an answer when it answers directly or when its sub-question is the question; on the last level, only direct answers are
    expanded. A sample that cannot be read is counted, lowers the share and votes for nothing.

    Args:
        chat: the model. index: what is searched; None is the documents of the query.
        rollouts, depth: at most so many, and so deep (the question has depth 0). exploration: c. votes: samples of an answer.
        subquestions, thoughts: sampled children of a node. hits: documents per retrieval. temperature: of every sample.
        seed: of the random choices among children. The rest: `DocumentSystem`.
    """

    name = "mcts-rag"
    prompts = (ANSWER, THOUGHT, SUBQUESTION, REPHRASE, SEARCH, FINDING)

    def __init__(
        self,
        chat: ChatModel,
        *,
        index: DocumentIndex | None = None,
        rollouts: int = 15,
        depth: int = 5,
        exploration: float = 2.0,
        votes: int = 10,
        subquestions: int = 2,
        thoughts: int = 3,
        hits: int = 5,
        temperature: float = 0.4,
        seed: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(chat, **options)
        at_least(1, rollouts=rollouts, depth=depth, votes=votes, hits=hits)
        at_least(0, subquestions=subquestions, thoughts=thoughts)
        if exploration < 0 or temperature <= 0:
            raise ValueError(f"exploration is {exploration} and temperature {temperature}; give at least 0 and more than 0")
        self.index, self.rollouts, self.depth, self.exploration, self.votes = index, rollouts, depth, exploration, votes
        self.subquestions, self.thoughts, self.hits, self.temperature, self.seed = subquestions, thoughts, hits, temperature, seed

    def options(self) -> dict[str, Any]:
        names = ("rollouts", "depth", "exploration", "votes", "subquestions", "thoughts", "hits", "temperature", "seed")
        return {**{name: getattr(self, name) for name in names}, "index": None if self.index is None else self.index.digest}

    def solve(self, query: Query) -> Steps:
        tree = Tree(self, query)
        for _ in range(self.rollouts):
            yield from tree.rollout()
        return tree.answer()


@dataclass(eq=False)
class Node:
    """A state of the search: the question as it is put here, the steps taken, the rows of the documents found, and the statistics.

    `answers` is set on answer nodes (empty: unknown), with the `text` of one sample that gives them and the `reward`, their share.
    """

    kind: Kind
    question: str
    depth: int = 0
    steps: tuple[Block, ...] = ()
    found: tuple[int, ...] = ()
    answers: tuple[str, ...] | None = None
    text: str = ""
    reward: float = 0.0
    children: list[Node] | None = None
    visits: int = 0
    total: float = 0.0

    def after(self, kind: Kind, **changes: Any) -> Node:
        """A child of this state."""
        state = {"question": self.question, "steps": self.steps, "found": self.found, **changes}
        return Node(kind, depth=self.depth + 1, **state)


@dataclass
class _Vote:
    """The most common answers of several samples, a text that gives them, and their share of all samples."""

    answers: tuple[str, ...]
    text: str
    share: float


@dataclass
class _Growth:
    """What one action wants to ask first, and how children come of the replies."""

    asks: list[Ask]
    grow: Callable[[list[Completion]], Generator[Step, list[Any], list[Node]]]


class Tree:
    """The search for one query."""

    def __init__(self, system: MctsRag, query: Query) -> None:
        self.system, self.query = system, query
        self.index = DocumentIndex(query.documents) if system.index is None else system.index
        self.root = Node("question", query.query)
        self.counts: Counter[str] = Counter(documents_cut=0, documents_dropped=0, replies_unreadable=0)
        self.answers: list[Node] = []
        self._random = random.Random(content_id("mcts-rag", system.seed, query.digest))

    def rollout(self) -> Generator[Step, list[Any], None]:
        """One path from the question to an answer or a dead end, and its reward added along it."""
        path = [self.root]
        while path[-1].answers is None:
            node = path[-1]
            if node.children is None:
                yield from self._expand(node)
            if not node.children:
                self.counts["dead_ends"] += 1
                break
            path.append(self.choose(node))
        for node in path:
            node.visits += 1
            node.total += path[-1].reward

    def choose(self, node: Node) -> Node:
        """A random child among those never visited, else the one with the largest bound; the first of equals."""
        assert node.children
        fresh = [child for child in node.children if child.visits == 0]
        if fresh:
            return self._random.choice(fresh)
        return max(node.children, key=lambda child: bound(child, node, self.system.exploration))

    def answer(self) -> Answer:
        """The answer of the most answer nodes. Raises StepFailed when no rollout reached an answer that can be read."""
        if not self.answers:
            raise StepFailed(Failed(stage=self.system.name, reason=f"no answer was read in {self.system.rollouts} rollouts"))
        groups: dict[frozenset[str], list[Node]] = {}
        for node in self.answers:
            if node.answers:
                groups.setdefault(same_set(node.answers), []).append(node)
        ranked = sorted(groups.values(), key=lambda nodes: (-len(nodes), -sum(node.reward for node in nodes)))
        best = ranked[0][0] if ranked else self.answers[0]
        votes = [{"answers": nodes[0].answers, "nodes": len(nodes), "reward": sum(node.reward for node in nodes)} for nodes in ranked]
        return Answer(
            text=best.text,
            short_answers=best.answers or (),
            abstained=not best.answers,
            usage={**self.counts, "rollouts": self.root.visits, "answer_nodes": len(self.answers)},
            trace={"votes": votes},
        )

    def _expand(self, node: Node) -> Generator[Step, list[Any], None]:
        """All children of a node, in the order of the actions; the first requests of all actions share a step."""
        last = node.depth + 1 >= self.system.depth
        actions = [kind for kind in FOLLOWS[node.kind] if not last or kind == "answer"]
        growths = [getattr(self, f"_{kind}")(node) for kind in actions]
        replies = iter((yield [ask for growth in growths for ask in growth.asks]))
        children: list[Node] = []
        for growth in growths:
            children += yield from growth.grow([next(replies) for _ in growth.asks])
        node.children = children
        self.answers += [child for child in children if child.answers is not None]

    def _answer(self, node: Node) -> _Growth:
        def grow(replies: list[Completion]) -> Generator[Step, list[Any], list[Node]]:
            yield from ()
            vote = self._vote(replies)
            return [] if vote is None else [self._answered(node.after("answer"), vote)]

        return _Growth(self._draws(ANSWER, node, self.system.votes), grow)

    def _thought(self, node: Node) -> _Growth:
        def grow(replies: list[Completion]) -> Generator[Step, list[Any], list[Node]]:
            yield from ()
            texts = dict.fromkeys(text for reply in replies if (text := usable_text(reply, self.counts)))
            return [node.after("thought", steps=(*node.steps, Block("thought", text))) for text in texts]

        return _Growth(self._draws(THOUGHT, node, self.system.thoughts), grow)

    def _subquestion(self, node: Node) -> _Growth:
        def grow(replies: list[Completion]) -> Generator[Step, list[Any], list[Node]]:
            asked = list(dict.fromkeys(self._fields(replies, "Question")))
            answers = iter((yield [ask for one in asked for ask in self._draws(ANSWER, node, self.system.votes, question=one)]))
            votes = [self._vote([next(answers) for _ in range(self.system.votes)]) for _ in asked]
            return [self._subanswered(node, "subquestion", one, vote) for one, vote in zip(asked, votes, strict=True) if vote is not None]

        return _Growth(self._draws(SUBQUESTION, node, self.system.subquestions), grow)

    def _reanswer(self, node: Node) -> _Growth:
        """Other draws for the last sub-question, before its answer was known."""
        asked, before = node.steps[-1].about["question"], node.after("reanswer", steps=node.steps[:-1])

        def grow(replies: list[Completion]) -> Generator[Step, list[Any], list[Node]]:
            yield from ()
            vote = self._vote(replies)
            again = [] if vote is None else [Block("step", _listed(vote.answers), {"question": asked})]
            return [node.after("reanswer", steps=(*before.steps, step)) for step in again if step != node.steps[-1]]

        return _Growth(self._draws(ANSWER, before, self.system.votes, question=asked, first=self.system.votes), grow)

    def _rephrase(self, node: Node) -> _Growth:
        def grow(replies: list[Completion]) -> Generator[Step, list[Any], list[Node]]:
            yield from ()
            put = [one for one in self._fields(replies, "Question") if normal_form(one) != normal_form(node.question)]
            return [node.after("rephrase", question=one) for one in put]

        return _Growth(self._draws(REPHRASE, node, 1), grow)

    def _retrieve(self, node: Node) -> _Growth:
        def grow(_: list[Completion]) -> Generator[Step, list[Any], list[Node]]:
            yield from ()
            found = self._found(node, node.question)
            return [node.after("retrieve", found=found)] if found != node.found else []

        return _Growth([], grow)

    def _search(self, node: Node) -> _Growth:
        def grow(replies: list[Completion]) -> Generator[Step, list[Any], list[Node]]:
            wanted = self._fields(replies, "Search")
            states = [node.after("search", found=self._found(node, one)) for one in wanted]
            blocks = [[*self._blocks(state), Block("search", one)] for one, state in zip(wanted, states, strict=True)]
            findings = yield [self._ask(FINDING, part, number=0) for part in blocks]
            for one, state, reply in zip(wanted, states, findings, strict=True):
                text = usable_text(reply, self.counts)
                state.steps = state.steps if text is None else (*state.steps, Block("step", text, {"search": one}))
            return [state for state in states if (state.steps, state.found) != (node.steps, node.found)]

        return _Growth(self._draws(SEARCH, node, 1), grow)

    def _answered(self, child: Node, vote: _Vote) -> Node:
        child.answers, child.text, child.reward = vote.answers, vote.text, vote.share if vote.answers else 0.0
        return child

    def _subanswered(self, node: Node, kind: Kind, asked: str, vote: _Vote) -> Node:
        """A sub-question with its answer; an answer node where it is the question itself."""
        child = node.after(kind, steps=(*node.steps, Block("step", _listed(vote.answers), {"question": asked})))
        same = normal_form(asked) in (normal_form(node.question), normal_form(self.query.query))
        return self._answered(child, vote) if same else child

    def _vote(self, replies: Sequence[Completion]) -> _Vote | None:
        """None when no sample can be read. Of equally common answers the first wins."""
        groups: dict[frozenset[str], list[tuple[tuple[str, ...], str]]] = {}
        for reply in replies:
            answers = usable_answers(usable_text(reply, self.counts), self.counts)
            if answers is not None:
                groups.setdefault(same_set(answers), []).append((answers, reply.text.strip()))
        if not groups:
            return None
        members = max(groups.values(), key=len)
        return _Vote(*members[0], share=len(members) / len(replies))

    def _fields(self, replies: Sequence[Completion], name: str) -> list[str]:
        """The named field of every reply that has it; the others are counted."""
        texts = [text for reply in replies if (text := usable_text(reply, self.counts)) is not None]
        fields = [read_field(text, (name,)) for text in texts]
        self.counts["replies_unreadable"] += sum(one is None for one in fields)
        return [one.value for one in fields if one is not None]

    def _found(self, node: Node, wanted: str) -> tuple[int, ...]:
        """The documents found so far and those that a search adds, each once."""
        return tuple(dict.fromkeys([*node.found, *(hit.row for hit in self.index.search(wanted, self.system.hits))]))

    def _blocks(self, node: Node, question: str = "") -> list[Block]:
        shown = self.system.show([self.index.documents[row] for row in node.found])
        self.counts.update(shown.usage)
        return [Block("question", question or node.question), *shown.blocks, *node.steps]

    def _draws(self, prompt: Prompt, node: Node, count: int, question: str = "", first: int = 0) -> list[Ask]:
        blocks = self._blocks(node, question)
        return [self._ask(prompt, blocks, number) for number in range(first, first + count)]

    def _ask(self, prompt: Prompt, blocks: Sequence[Block], number: int) -> Ask:
        [messages] = prompt.messages(blocks).drawn(self.system.temperature, 1, number)
        return Ask(messages, self.system.max_tokens if prompt is ANSWER else self.system.step_tokens)


def bound(child: Node, parent: Node, exploration: float) -> float:
    """Q/N + c sqrt(ln N_parent / N) of a child that was visited."""
    return child.total / child.visits + exploration * math.sqrt(math.log(parent.visits) / child.visits)


def _listed(answers: Sequence[str]) -> str:
    return "; ".join(answers) or "unknown"
