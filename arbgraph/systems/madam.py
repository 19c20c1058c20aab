"""MADAM-RAG: one agent per document, a debate of at most three rounds, and an aggregator that lists every right answer.

Wang et al., Retrieval-Augmented Generation with Conflicting Evidence, 2025.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from arbgraph.chat.base import ChatModel
from arbgraph.chat.prompts import Prompt
from arbgraph.chat.quoting import Block
from arbgraph.schema import Document, Failed, Query
from arbgraph.systems.base import Ask, Step, StepFailed, Steps, text_of
from arbgraph.systems.document_system import DocumentSystem, at_least
from arbgraph.systems.documents import show_documents
from arbgraph.systems.examples import ANSWERED_REPLY, EVIDENCE_FORM, UNKNOWN_REPLY, after_examples, examples_of_one_document
from arbgraph.systems.readings import listed, same_answers, show_each, usable_text
from arbgraph.systems.replies import ANSWER_FORM, MARK, answer_of, read_answers

AGENT = Prompt(
    id="madam-agent",
    version=1,
    rules="You answer a question from one document. Use what the document says and nothing else.",
    task=f"Answer the question from the document. {EVIDENCE_FORM}",
)

DEBATE = Prompt(
    id="madam-debate",
    version=1,
    rules=(
        "You answer a question from one document. Others have read other documents, and you see their answers. They may be right, wrong, "
        "or speak of something else of the same name. Keep your answer where your document supports it; change it only for a good reason."
    ),
    task=f"Answer the question again from your document, with the other answers in mind. {EVIDENCE_FORM}",
)

AGGREGATE = Prompt(
    id="madam-aggregate",
    version=1,
    rules=(
        "Several agents answered a question, each from a document of its own. You decide which answers are right. A name may belong to "
        "several people, places or things: then each may have a right answer of its own. An answer that contradicts well supported ones "
        "about the same thing is wrong. An agent that does not know is no evidence.\n"
        "Example. Question: In which year was the engineer Paul Weber born? Agent 1: 1902, the bridge builder from Basel. Agent 2: 1902, "
        "the builder of bridges. Agent 3: 1957, the designer of engines from Linz. Agent 4: 1911, the bridge builder from Basel. "
        "Agent 5: unknown.\n"
        "Reply: Two engineers have this name. For the bridge builder two agents agree on 1902, so that 1911 is wrong; the designer of "
        f"engines was born in 1957.\n{MARK} 1902; 1957"
    ),
    task=f"Which answers are right? Explain in one or two sentences. {ANSWER_FORM}",
)

AGENT_EXAMPLES = examples_of_one_document(AGENT)
DEBATE_EXAMPLES = examples_of_one_document(
    DEBATE,
    beside_unknown=[Block("message", ANSWERED_REPLY, {"number": "1", "source": "agent 2"})],
    beside_answered=[Block("message", UNKNOWN_REPLY, {"number": "1", "source": "agent 1"})],
)

# An explanation that follows the answer may name other answers to refute them.
_EXPLANATION = re.compile(r"\n\s*[*_]*explanation[*_]*\s*:(?!.*\banswers?[*_\s]*:).*\Z", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Message:
    """What an agent said in a round: its whole reply, and its answers (empty: unknown)."""

    text: str
    answers: tuple[str, ...]


Said: TypeAlias = list[Message | None]  # one per agent; None where the reply could not be read


class MadamRAG(DocumentSystem):
    """Agents, debate, aggregation.

    The debate ends when every agent keeps its answer; then the aggregation of the round before is final. A reply that cannot be read is
    a failure: it is nobody's answer, it is shown to nobody, and it never counts as an answer kept.

    Args:
        chat: the model.
        rounds: at most so many; 1 is no debate.
        history: what an agent sees from round 2 on: "raw", the messages of all other agents, or "summary", the aggregator's last reply.
        message_tokens: tokens of all messages in one prompt; longer ones are cut, and counted.
        shared: `DocumentSystem`; step_tokens are an agent's, max_tokens the aggregator's.
    """

    name = "madam-rag"
    prompts = (AGENT, DEBATE, AGGREGATE)

    def __init__(
        self,
        chat: ChatModel,
        *,
        rounds: int = 3,
        history: Literal["raw", "summary"] = "raw",
        message_tokens: int = 3000,
        **shared: int,
    ) -> None:
        super().__init__(chat, **shared)
        at_least(1, rounds=rounds, message_tokens=message_tokens)
        if history not in ("raw", "summary"):
            raise ValueError(f"history is {history!r}; choose raw or summary")
        self.rounds, self.history, self.message_tokens = rounds, history, message_tokens

    def options(self) -> dict[str, Any]:
        return {"rounds": self.rounds, "history": self.history, "message_tokens": self.message_tokens}

    def solve(self, query: Query) -> Steps:
        shown, counts = show_each(query.documents, self.document_tokens, self.chat.count_tokens)
        if not shown:
            return listed([], [], usage=counts)
        question = Block("question", query.query)
        documents = [document for document, _ in shown]
        blocks = [[question, block] for _, block in shown]
        replies = yield [Ask(after_examples(AGENT.messages(one), AGENT_EXAMPLES), self.step_tokens) for one in blocks]
        debate = [[_message(reply, counts) for reply in replies]]
        summary = ""
        if self.history == "summary":
            summary = yield from self._aggregated(question, documents, debate[-1], counts)
        converged = False
        # One agent has nobody to debate with.
        while not converged and len(debate) < self.rounds and len(shown) > 1:
            views = [self._view(documents, debate[-1], agent, summary, counts) for agent in range(len(shown))]
            asked = [after_examples(DEBATE.messages([*one, *view]), DEBATE_EXAMPLES) for one, view in zip(blocks, views, strict=True)]
            replies = yield [Ask(messages, self.step_tokens) for messages in asked]
            debate.append([_message(reply, counts) for reply in replies])
            converged = all(_kept(before, after) for before, after in zip(debate[-2], debate[-1], strict=True))
            if self.history == "summary" and not converged:
                summary = yield from self._aggregated(question, documents, debate[-1], counts)
        final = debate[-2] if converged else debate[-1]
        text = summary if self.history == "summary" else (yield from self._aggregated(question, documents, final, counts))
        trace = {"rounds": [[None if m is None else {"text": m.text, "answers": list(m.answers)} for m in said] for said in debate]}
        return answer_of(text, self.name, usage={**counts, "rounds": len(debate)}, trace={**trace, "converged": converged})

    def _view(self, documents: Sequence[Document], said: Said, agent: int, summary: str, counts: Counter[str]) -> list[Block]:
        """What an agent sees beside its document: the messages of all others, or the summary."""
        if self.history == "summary":
            return [Block("summary", summary)]
        return self._messages(documents, [message if other != agent else None for other, message in enumerate(said)], counts)

    def _messages(self, documents: Sequence[Document], said: Said, counts: Counter[str]) -> list[Block]:
        spoken = [
            Document(text=message.text, title=document.title, source=f"agent {agent}")
            for agent, (document, message) in enumerate(zip(documents, said, strict=True), 1)
            if message is not None
        ]
        shown = show_documents(spoken, self.message_tokens, self.chat.count_tokens, kind="message")
        counts.update(messages_cut=shown.cut, messages_dropped=shown.dropped)
        return list(shown.blocks)

    def _aggregated(
        self, question: Block, documents: Sequence[Document], said: Said, counts: Counter[str]
    ) -> Generator[Step, list[Any], str]:
        """The aggregator's reply to the messages of a round. Raises StepFailed when no agent said anything that can be read."""
        blocks = self._messages(documents, said, counts)
        if not blocks:
            raise StepFailed(Failed(stage="madam-agent", reason=f"none of the {len(said)} agents gave a reply that can be read"))
        [reply] = yield [Ask(AGGREGATE.messages([question, *blocks]), self.max_tokens)]
        return text_of(reply)


def _message(reply: Any, counts: Counter[str]) -> Message | None:
    """What an agent said; None, and counted, where its reply cannot be read."""
    text = usable_text(reply, counts)
    answers = None if text is None else read_answers(_EXPLANATION.sub("", text))
    if text is None or answers is None:
        counts["replies_unreadable"] += text is not None
        return None
    counts["replies_unknown"] += not answers
    return Message(text, answers)


def _kept(before: Message | None, after: Message | None) -> bool:
    return before is not None and after is not None and same_answers(before.answers, after.answers)
