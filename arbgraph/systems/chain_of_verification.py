"""Chain-of-Verification, factored: a draft, questions that check it, each answered without sight of the draft, a comparison, a rewrite.

Dhuliawala et al., Chain-of-Verification Reduces Hallucination in Large Language Models, 2023.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from arbgraph.chat.base import ChatModel
from arbgraph.chat.quoting import Block
from arbgraph.schema import Query
from arbgraph.systems.base import Ask, Steps, text_of
from arbgraph.systems.document_system import DocumentSystem, at_least
from arbgraph.systems.example_prompts import EXAMPLE_DOCUMENT, EXAMPLE_QUESTION, Example, ExamplePrompt
from arbgraph.systems.forms import needed_text, read_label, read_list, unreadable
from arbgraph.systems.readings import usable_text
from arbgraph.systems.replies import ANSWER_FORM, MARK, answer_of
from arbgraph.systems.standard import STANDARD

CONSISTENT, INCONSISTENT = "consistent", "inconsistent"

PLAN = ExamplePrompt(
    id="verification-plan",
    version=3,
    rules="You plan how to check an answer.",
    task=(
        "Do not answer the question. Write at most {limit} short questions whose answers show whether the draft is right. "
        "Reply with one question a line in this form:\n1. first question?\n2. second question?"
    ),
    examples=(
        Example(
            (EXAMPLE_QUESTION, Block("draft", "Answer: 1950")),
            "1. In which year was the bridge of Lindau opened?\n2. What happened to it in 1950?",
            {"limit": 3},
        ),
    ),
)

CHECK = ExamplePrompt(
    id="verification-check",
    version=2,
    rules="You answer a question in one sentence.",
    task='Answer the question in one sentence. Where documents are given, use them. Say "unknown" when you cannot tell.',
    examples=(Example((EXAMPLE_QUESTION, EXAMPLE_DOCUMENT), "The bridge of Lindau was opened in 1884."),),
)

COMPARE = ExamplePrompt(
    id="verification-compare",
    version=2,
    rules="You compare a proposed answer with what a check found.",
    task=f"Is the proposed answer {CONSISTENT} or {INCONSISTENT} with the check? Reply with that one word.",
    examples=(
        Example(
            (EXAMPLE_QUESTION, Block("draft", "Answer: 1950"), Block("check", "When was it opened?"), Block("finding", "In 1884.")),
            INCONSISTENT,
        ),
        Example(
            (EXAMPLE_QUESTION, Block("draft", "Answer: 1884"), Block("check", "When was it opened?"), Block("finding", "In 1884.")),
            CONSISTENT,
        ),
    ),
)

_CHECKED = Block("check", "It was opened in 1884.", {"question": "When was it opened?", "verdict": INCONSISTENT})

REWRITE = ExamplePrompt(
    id="verification-rewrite",
    version=2,
    rules="You write the final answer to a question after a draft has been checked. Keep what the checks confirm and correct the rest.",
    task=f"Answer the question again, with the checks in mind. {ANSWER_FORM}",
    examples=(
        Example(
            (EXAMPLE_QUESTION, Block("draft", "Answer: 1950"), _CHECKED),
            f"{MARK} 1884",
        ),
    ),
)


class ChainOfVerification(DocumentSystem):
    """Draft, plan, independent checks, comparison, rewrite: 3 calls and 2 for each of the questions.

    A check that cannot be used is left out and counted (`replies_failed`); a comparison that is not one of its two labels leaves the check
    without a verdict and is counted (`replies_unreadable`). A plan without a question fails.

    Args:
        chat: the model. questions: at most so many checks. documents: whether checks may read the documents; the draft always does.
        The rest: `DocumentSystem`.
    """

    name = "chain-of-verification"
    prompts = (STANDARD, PLAN, CHECK, COMPARE, REWRITE)

    def __init__(self, chat: ChatModel, *, questions: int = 3, documents: bool = True, **options: Any) -> None:
        super().__init__(chat, **options)
        at_least(1, questions=questions)
        self.questions, self.documents = questions, documents

    def options(self) -> dict[str, Any]:
        return {"questions": self.questions, "documents": self.documents}

    def solve(self, query: Query) -> Steps:
        shown = self.show(query.documents)
        counts: Counter[str] = Counter(shown.usage)
        question = Block("question", query.query)
        [reply] = yield [Ask(STANDARD.messages([question, *shown.blocks]), self.max_tokens)]
        draft = Block("draft", text_of(reply))
        [reply] = yield [Ask(PLAN.messages([question, draft], limit=self.questions), self.step_tokens)]
        text = needed_text(reply, counts)
        checks = read_list(text, self.questions)
        if not checks:
            raise unreadable(PLAN.id, "a numbered list of questions", text)
        material = shown.blocks if self.documents else ()
        replies = yield [Ask(CHECK.messages([Block("question", check), *material]), self.step_tokens) for check in checks]
        found = [(check, text) for check, reply in zip(checks, replies, strict=True) if (text := usable_text(reply, counts)) is not None]
        compared = [[question, draft, Block("check", check), Block("finding", finding)] for check, finding in found]
        replies = yield [Ask(COMPARE.messages(blocks), self.step_tokens) for blocks in compared]
        verdicts = [self._verdict(reply, counts) for reply in replies]
        notes = [_note(check, finding, verdict) for (check, finding), verdict in zip(found, verdicts, strict=True)]
        [reply] = yield [Ask(REWRITE.messages([question, draft, *notes]), self.max_tokens)]
        trace = {"draft": draft.text, "checks": [{**note.about, "finding": note.text} for note in notes]}
        return answer_of(text_of(reply), self.name, usage={**counts, "checks": len(checks)}, trace=trace)

    def _verdict(self, reply: Any, counts: Counter[str]) -> str | None:
        text = usable_text(reply, counts)
        label = None if text is None else read_label(text, (CONSISTENT, INCONSISTENT))
        counts["replies_unreadable"] += text is not None and label is None
        return label


def _note(check: str, finding: str, verdict: str | None) -> Block:
    return Block("check", finding, {"question": check, **({"verdict": verdict} if verdict else {})})
