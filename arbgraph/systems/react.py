"""ReAct: thought, action, observation, in a loop over searches of the documents.

Yao et al., ReAct: Synergizing Reasoning and Acting in Language Models, 2023.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from arbgraph.chat.base import ChatModel
from arbgraph.chat.quoting import Block
from arbgraph.retrieval import DocumentIndex
from arbgraph.retrieval.index import sentences, words
from arbgraph.schema import Answer, Document, Query
from arbgraph.systems.base import Ask, Steps
from arbgraph.systems.document_system import DocumentSystem, at_least
from arbgraph.systems.documents import show_documents
from arbgraph.systems.example_prompts import EXAMPLE_DOCUMENT, EXAMPLE_QUESTION, Example, ExamplePrompt
from arbgraph.systems.forms import Field, needed_text, read_field, unreadable
from arbgraph.systems.replies import UNKNOWN, answer_of

SEARCH, LOOKUP, FINISH, ANSWER = "Search", "Lookup", "Finish", "Answer"
OBSERVATION = "observation"

_FIRST = f"Thought: I must find when it was opened.\nAction: {SEARCH}[bridge Lindau opened]"

STEP = ExamplePrompt(
    id="react",
    version=3,
    rules=(
        "You answer a question in steps. In each step you think, then take one action. There are three actions.\n"
        f"{SEARCH}[words] finds documents that hold these words.\n"
        f"{LOOKUP}[word] gives the next sentence with this word in the documents that were found last.\n"
        f"{FINISH}[answer] ends with the answer in as few words as possible; several right answers are separated by semicolons."
    ),
    task=(
        f"Write step {{step}} of at most {{steps}}, and nothing after it. The action is {SEARCH}[...], {LOOKUP}[...] or {FINISH}[...]. "
        f"Reply in this form:\nThought: what is needed now\nAction: {SEARCH}[words]"
    ),
    examples=(
        Example((EXAMPLE_QUESTION,), _FIRST, {"step": 1, "steps": 7}),
        Example(
            (EXAMPLE_QUESTION, Block("step", _FIRST, {"number": "1"}), Block(OBSERVATION, EXAMPLE_DOCUMENT.text, {"number": "1"})),
            f"Thought: The document says 1884.\nAction: {FINISH}[1884]",
            {"step": 2, "steps": 7},
        ),
    ),
)


class ReAct(DocumentSystem):
    """At most `steps` thoughts and actions; after the last one without Finish there is no answer (`unfinished` in `Answer.usage`).

    Only the first action of a reply counts: what a model writes after it, it has made up. A reply without an action fails.

    Args:
        chat: the model. index: what is searched; None is the documents of the query. steps: at most so many. hits: documents per search.
        observation_tokens: of what a search shows. document_tokens: of all observations in a prompt; the oldest that do not fit are left
            out, and counted as `observations_left_out`. step_tokens: of one thought and action. The rest: `DocumentSystem`.
    """

    name = "react"
    prompts = (STEP,)

    def __init__(
        self,
        chat: ChatModel,
        *,
        index: DocumentIndex | None = None,
        steps: int = 7,
        hits: int = 5,
        observation_tokens: int = 1000,
        step_tokens: int = 100,
        **options: Any,
    ) -> None:
        super().__init__(chat, step_tokens=step_tokens, **options)
        at_least(1, steps=steps, hits=hits, observation_tokens=observation_tokens)
        self.index, self.steps, self.hits, self.observation_tokens = index, steps, hits, observation_tokens

    def options(self) -> dict[str, Any]:
        searched = None if self.index is None else self.index.digest
        return {"steps": self.steps, "hits": self.hits, "observation_tokens": self.observation_tokens, "index": searched}

    def solve(self, query: Query) -> Steps:
        desk = _Desk(self, query)
        history: list[Block] = []
        for step in range(1, self.steps + 1):
            messages = STEP.messages([Block("question", query.query), *desk.fitting(history)], step=step, steps=self.steps)
            [reply] = yield [Ask(messages, self.step_tokens)]
            text = needed_text(reply, desk.counts)
            action = read_field(text, (SEARCH, LOOKUP, FINISH, ANSWER))
            if action is None:
                raise unreadable(STEP.id, f"an action ({SEARCH}, {LOOKUP} or {FINISH})", text)
            thought = (read_field(text, ("Thought",)) or Field("Thought", "")).value
            taken = f"{action.name}[{action.value}]"
            desk.trace.append({"thought": thought, "action": taken})
            if action.name in (FINISH, ANSWER):
                answer = answer_of(f"Answer: {action.value}", self.name)
                return answer.model_copy(update={"usage": {**desk.counts, "unfinished": 0}, "trace": {"steps": desk.trace}})
            history.append(Block("step", f"Thought: {thought}\nAction: {taken}", {"number": str(step)}))
            history += desk.search(action.value) if action.name == SEARCH else [desk.lookup(action.value)]
        return Answer(text=UNKNOWN, abstained=True, usage={**desk.counts, "unfinished": 1}, trace={"steps": desk.trace})


class _Desk:
    """What one query has searched: the documents found last, and where the last look-up stopped."""

    def __init__(self, system: ReAct, query: Query) -> None:
        self.index = DocumentIndex(query.documents) if system.index is None else system.index
        self.system = system
        self.counts: Counter[str] = Counter(searches=0, searches_empty=0, lookups=0)
        self.trace: list[dict[str, Any]] = []
        self._found: list[Document] = []
        self._keyword, self._next = "", 0

    def search(self, wanted: str) -> list[Block]:
        hits = self.index.search(wanted, self.system.hits)
        self._found, self._keyword = [hit.document for hit in hits], ""
        self.counts.update(searches=1, searches_empty=not hits)
        self.trace[-1]["found"] = [document.id for document in self._found]
        if not hits:
            return [Block(OBSERVATION, "No document holds these words.")]
        budget = min(self.system.observation_tokens, self.system.document_tokens)
        shown = show_documents(self._found, budget, self.system.chat.count_tokens, kind=OBSERVATION)
        self.counts.update(shown.usage)
        return list(shown.blocks)

    def fitting(self, history: Sequence[Block]) -> list[Block]:
        """The history without the oldest observations that the budget does not hold beside the newer ones."""
        left, full, kept = self.system.document_tokens, False, []
        for block in reversed(history):
            if block.kind == OBSERVATION:
                left -= self.system.chat.count_tokens(block.text)
                full = full or left < 0
                if full:
                    self.counts["observations_left_out"] += 1
                    continue
            kept.append(block)
        return kept[::-1]

    def lookup(self, keyword: str) -> Block:
        """The next sentence that holds all words of the keyword; a new keyword or search begins anew."""
        wanted = set(words(keyword))
        held = [sentence for document in self._found for sentence in sentences(document.text) if wanted <= set(words(sentence))]
        if keyword.casefold() != self._keyword:
            self._keyword, self._next = keyword.casefold(), 0
        self.counts["lookups"] += 1
        if not wanted or self._next >= len(held):
            return Block(OBSERVATION, "No more sentences." if self._next and wanted else "No sentence holds this word.")
        self._next += 1
        return Block(OBSERVATION, held[self._next - 1], {"result": f"{self._next} of {len(held)}"})
