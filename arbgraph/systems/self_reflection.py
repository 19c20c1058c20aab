"""Single agent with self-reflection: an answer from all documents, then rounds of naming its faults and improving it.

The single-agent peer of MADAM-RAG in Wang et al., 2025; after Madaan et al., Self-Refine, 2023.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from arbgraph.chat.base import ChatModel
from arbgraph.chat.prompts import Prompt
from arbgraph.chat.quoting import Block
from arbgraph.schema import Failed, Query
from arbgraph.systems.base import Ask, StepFailed, Steps
from arbgraph.systems.document_system import DocumentSystem, at_least
from arbgraph.systems.readings import same_answers, usable_answers, usable_text
from arbgraph.systems.replies import ANSWER_FORM, answer_of

_RULES = "You answer a question from retrieved documents, some of which may be wrong. Use what the documents say and nothing else."

FIRST = Prompt(id="reflection-answer", version=1, rules=_RULES, task=f"Answer the question from the documents. {ANSWER_FORM}")

CRITIQUE = Prompt(
    id="reflection-critique",
    version=1,
    rules="You check an answer to a question against documents, some of which may be wrong.",
    task=(
        "Name the faults of the answer in at most three sentences: what contradicts the documents, what rests on a document that others "
        'contradict, and which right answers are missing. Write "No faults." where there are none.'
    ),
)

IMPROVE = Prompt(
    id="reflection-improve",
    version=1,
    rules=_RULES,
    task=f"Improve the answer with the critique in mind, and keep what is right. {ANSWER_FORM}",
)


class SelfReflection(DocumentSystem):
    """One agent, all documents, up to `rounds` rounds of critique and improvement; it stops when the answers stay the same.

    A critique or an improvement that cannot be used is counted and leaves the answer as it was; it never counts as agreement.

    Args:
        chat: the model. rounds: 0 is the first answer alone. shared: `DocumentSystem`; step_tokens are a critique's.
    """

    name = "self-reflection"
    prompts = (FIRST, CRITIQUE, IMPROVE)

    def __init__(self, chat: ChatModel, *, rounds: int = 3, **shared: int) -> None:
        super().__init__(chat, **shared)
        at_least(0, rounds=rounds)
        self.rounds = rounds

    def options(self) -> dict[str, Any]:
        return {"rounds": self.rounds}

    def solve(self, query: Query) -> Steps:
        shown = self.show(query.documents)
        counts: Counter[str] = Counter(shown.usage)
        material = [Block("question", query.query), *shown.blocks]
        [reply] = yield [Ask(FIRST.messages(material), self.max_tokens)]
        text = usable_text(reply, counts)
        answers = usable_answers(text, counts)
        best = text if answers is not None else None
        trace: list[dict] = [{"text": text, "answers": _plain(answers)}]
        while len(trace) <= self.rounds and text is not None:
            [reply] = yield [Ask(CRITIQUE.messages([*material, Block("answer", text)]), self.step_tokens)]
            critique = usable_text(reply, counts)
            if critique is None:
                break
            [reply] = yield [Ask(IMPROVE.messages([*material, Block("answer", text), Block("critique", critique)]), self.max_tokens)]
            improved = usable_text(reply, counts)
            now = usable_answers(improved, counts)
            trace.append({"critique": critique, "text": improved, "answers": _plain(now)})
            settled = same_answers(answers, now)
            if now is not None:
                best, text, answers = improved, improved, now
            if settled:
                break
        if best is None:
            reason = f"none of the {len(trace)} answers can be read"
            raise StepFailed(Failed(stage=self.name, reason=reason, raw=(text or reply.text)[:2000]))
        return answer_of(best, self.name, usage={**counts, "rounds": len(trace) - 1}, trace={"rounds": trace})


def _plain(answers: tuple[str, ...] | None) -> list[str] | None:
    return None if answers is None else list(answers)
