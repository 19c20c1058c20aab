"""A recorded conversation: the replies to every prompt by its id, in order, and what was asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from arbgraph.schema import Answer, Document, Failed, Query
from arbgraph.systems import System
from tests.systems.conversations import Conversation, cut


class RecordedChat(Conversation):
    """Plays a conversation back: replies and option scores by prompt id, each in the order of asking.

    A text that begins with `CUT:` is one that was cut at its limit.
    """

    def __init__(self, replies: Mapping[str, Sequence[str]], scores: Mapping[str, Sequence[Sequence[float]]] | None = None) -> None:
        said = {stage: [cut(text[4:]) if text.startswith("CUT:") else text for text in texts] for stage, texts in replies.items()}
        super().__init__(said, scores=lambda messages, _: self.scores_left[messages.stage].pop(0))
        self.scores_left = {stage: list(rows) for stage, rows in (scores or {}).items()}

    def prompts(self, stage: str) -> list[str]:
        """The last user turns of a prompt, in the order in which they were asked."""
        return [[turn.content for turn in messages.turns if turn.role == "user"][-1] for messages in self.asked_of(stage)]

    def finished(self) -> bool:
        """Whether everything that was recorded was asked for."""
        return not any(self.replies.values()) and not any(self.scores_left.values())


def query(question: str, *texts: str, credibility: Sequence[float | None] = ()) -> Query:
    """A query with documents d1, d2 and so on."""
    known = [*credibility, *[None] * len(texts)]
    documents = [Document(id=f"d{number}", text=text, credibility=known[number - 1]) for number, text in enumerate(texts, 1)]
    return Query(id="q", query=question, documents=tuple(documents))


def answered(system: System, one: Query) -> Answer:
    """The answer to one query; a failure is shown."""
    [outcome] = system.answer([one])
    assert isinstance(outcome, Answer), outcome
    return outcome


def failed(system: System, one: Query) -> Failed:
    """The failure of one query."""
    [outcome] = system.answer([one])
    assert isinstance(outcome, Failed), outcome
    return outcome
