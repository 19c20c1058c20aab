"""CRITIC: an answer, criticised with the help of searches and improved, until it stays the same.

Gou et al., CRITIC: Large Language Models Can Self-Correct with Tool-Interactive Critiquing, 2024.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from typing import Any

from arbgraph.chat.base import ChatModel
from arbgraph.chat.quoting import Block
from arbgraph.retrieval import DocumentIndex, excerpt
from arbgraph.schema import Query
from arbgraph.systems.base import Ask, Step, StepFailed, Steps, text_of
from arbgraph.systems.cot import COT
from arbgraph.systems.document_system import DocumentSystem, at_least
from arbgraph.systems.documents import about_document
from arbgraph.systems.example_prompts import EXAMPLE_ANSWER, EXAMPLE_EVIDENCE, EXAMPLE_QUESTION, Example, ExamplePrompt
from arbgraph.systems.forms import needed_text, read_field, same_set, unreadable
from arbgraph.systems.readings import usable_text
from arbgraph.systems.replies import ANSWER_FORM, MARK, answer_of, read_answers

SEARCH, CRITIQUE = "Search", "Critique"

_EXAMPLE = f"{CRITIQUE}: A year is what the question asks for. The evidence says that it was opened in 1884, so 1950 is wrong."

CRITICISE = ExamplePrompt(
    id="critic-criticise",
    version=3,
    rules=(
        "You check a proposed answer to a question in two ways. Plausible: is it the kind of thing that the question asks for? Truthful: "
        "does the evidence that was found support it?"
    ),
    task=(
        f"If more evidence is needed, search for it. Otherwise say whether the answer is plausible and truthful, and what is wrong. "
        f"Reply with one line in one of these two forms:\n{SEARCH}: words to search for\n{CRITIQUE}: one or two sentences"
    ),
    examples=(Example((EXAMPLE_QUESTION, EXAMPLE_ANSWER, EXAMPLE_EVIDENCE), _EXAMPLE),),
)

LAST = ExamplePrompt(
    id="critic-last",
    version=3,
    rules=CRITICISE.rules,
    task=(
        "No more searches are possible. Say whether the answer is plausible and truthful, and what is wrong with it. "
        f"Reply with one line in this form:\n{CRITIQUE}: one or two sentences"
    ),
    examples=(Example((EXAMPLE_QUESTION, EXAMPLE_ANSWER, EXAMPLE_EVIDENCE), _EXAMPLE),),
)

IMPROVE = ExamplePrompt(
    id="critic-improve",
    version=2,
    rules="You answer a question with the evidence that was found. A first answer has been criticised.",
    task=f"Write the best answer, with the critique and the evidence in mind. Keep the first answer where it is right. {ANSWER_FORM}",
    examples=(Example((EXAMPLE_QUESTION, EXAMPLE_ANSWER, EXAMPLE_EVIDENCE, Block("critique", _EXAMPLE)), f"{MARK} 1884"),),
)


class Critic(DocumentSystem):
    """A chain-of-thought answer, then at most `rounds` rounds of critique and improvement.

    In every round, the documents are searched for the question and for the question with the proposed answer; the critic may then search
    on, and criticises. It ends when two rounds in a row have left the answers as they were. An improvement that knows no answer leaves the
    last one in place; one that cannot be read is counted, leaves it in place, and is not taken for agreement. Without any answer that can
    be read the query fails.

    Args:
        chat: the model. index: what is searched; None is the documents of the query. rounds: at most so many. searches: at most so many
            in a round, at least 2. characters: of a piece of evidence. The rest: `DocumentSystem`.
    """

    name = "critic"
    prompts = (COT, CRITICISE, LAST, IMPROVE)

    def __init__(
        self,
        chat: ChatModel,
        *,
        index: DocumentIndex | None = None,
        rounds: int = 3,
        searches: int = 7,
        characters: int = 400,
        **options: Any,
    ) -> None:
        super().__init__(chat, **options)
        at_least(0, rounds=rounds)
        at_least(1, characters=characters)
        at_least(2, searches=searches)
        self.index, self.rounds, self.searches, self.characters = index, rounds, searches, characters

    def options(self) -> dict[str, Any]:
        searched = None if self.index is None else self.index.digest
        return {"rounds": self.rounds, "searches": self.searches, "characters": self.characters, "index": searched}

    def solve(self, query: Query) -> Steps:
        shown = self.show(query.documents)
        index = DocumentIndex(query.documents) if self.index is None else self.index
        counts: Counter[str] = Counter(shown.usage)
        question = Block("question", query.query)
        [reply] = yield [Ask(COT.messages([question, *shown.blocks]), self.max_tokens)]
        text = text_of(reply)
        best, first = read_answers(text), text
        trace: list[dict[str, Any]] = [{"text": text, "answers": best}]
        unchanged = 0
        while len(trace) <= self.rounds and unchanged < 2:
            evidence = _Evidence(index, self.characters, counts)
            critique = yield from self._critique(query.query, text, best, evidence, counts)
            blocks = [question, Block("answer", text), *evidence.blocks, Block("critique", critique)]
            [reply] = yield [Ask(IMPROVE.messages(blocks), self.max_tokens)]
            improved = usable_text(reply, counts)
            now = None if improved is None else read_answers(improved)
            counts["replies_unreadable"] += improved is not None and now is None
            trace.append({"searches": evidence.searched, "critique": critique, "text": improved, "answers": now})
            unchanged = unchanged + 1 if now is not None and best is not None and same_set(now) == same_set(best) else 0
            if improved is not None and now is not None and (now or best is None):
                text, best = improved, now
        if best is None:
            raise StepFailed(unreadable(self.name, "an answer in any round", first).failed)
        return answer_of(text, self.name, usage={**counts, "rounds": len(trace) - 1}, trace={"rounds": trace})

    def _critique(
        self, question: str, text: str, answers: tuple[str, ...] | None, evidence: _Evidence, counts: Counter[str]
    ) -> Generator[Step, list[Any], str]:
        """Searches and the critique that they lead to. Raises StepFailed when the critic writes neither."""
        evidence.search(question)
        evidence.search(" ".join([question, *(answers or ())]))
        while True:
            prompt = CRITICISE if len(evidence.searched) < self.searches else LAST
            blocks = [Block("question", question), Block("answer", text), *evidence.blocks]
            [reply] = yield [Ask(prompt.messages(blocks), self.step_tokens)]
            said = needed_text(reply, counts)
            field = read_field(said, (SEARCH, CRITIQUE) if prompt is CRITICISE else (CRITIQUE,))
            if field is None:
                raise unreadable(prompt.id, f"a line that begins with {CRITIQUE}:", said)
            if field.name == CRITIQUE:
                return field.value
            evidence.search(field.value)


class _Evidence:
    """What the searches of one round have found: the best document that was not shown yet, cut to what bears on the search."""

    def __init__(self, index: DocumentIndex, characters: int, counts: Counter[str]) -> None:
        self.searched: list[str] = []
        self.blocks: list[Block] = []
        self._index, self._characters, self._counts = index, characters, counts
        self._seen: set[int] = set()

    def search(self, wanted: str) -> None:
        self.searched.append(wanted)
        self._counts["searches"] += 1
        hits = [hit for hit in self._index.search(wanted, len(self._seen) + 1) if hit.row not in self._seen]
        if not hits:
            self._counts["searches_empty"] += 1
            return
        self._seen.add(hits[0].row)
        about = about_document(hits[0].document, len(self.blocks) + 1)
        self.blocks.append(Block("evidence", excerpt(hits[0].document.text, wanted, self._characters), about))
