"""ArbGraph as one of the systems: arbitration, then an answer from the validated claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from arbgraph.schema import Answer, Arbitration, Failed, Query
from arbgraph.settings import Settings
from arbgraph.systems.base import System

if TYPE_CHECKING:
    from arbgraph.chat.base import ChatModel
    from arbgraph.pipeline import ArbGraph


class ArbGraphSystem(System):
    """The pipeline with its writer. Without a chat model the answer quotes validated claims; with one, the model takes over the stages
    that `settings.chat_stages` names.

    Args:
        chat, settings, propagation, arbitrator: as in `ArbGraph`. pipeline: one that is already built, in place of all others.

    `Answer.usage` sums calls and tokens of all stages. `Answer.trace` holds validated and suppressed claims with their credibility, the
    arbitrator's decisions, what failed, and the diagnostics.
    """

    name = "arbgraph"

    def __init__(
        self,
        chat: ChatModel | None = None,
        *,
        settings: str | Settings | None = None,
        propagation: str | None = None,
        arbitrator: str | None = None,
        pipeline: ArbGraph | None = None,
    ) -> None:
        from arbgraph.pipeline import ArbGraph

        self.pipeline = pipeline or ArbGraph(settings, chat=chat, propagation=propagation, arbitrator=arbitrator)

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "settings": self.pipeline.settings.model_dump(mode="json"), "models": self.pipeline.models}

    def answer(self, batch: Sequence[Query]) -> list[Answer | Failed]:
        return [answer_of_arbitration(arbitration) for arbitration in self.pipeline.arbitrate(batch)]


def answer_of_arbitration(arbitration: Arbitration) -> Answer:
    """The answer of an arbitration, with the usage of all stages and the steps that led to it."""
    assert arbitration.answer is not None
    stages = arbitration.diagnostics.get("usage", {})
    usage = Counter(calls=0, prompt_tokens=0, completion_tokens=0)
    for spent in stages.values():
        usage.update(spent)
    # The writer's own counts, such as sentences it had to drop, beside the sums.
    own = {name: count for name, count in arbitration.answer.usage.items() if name not in usage}
    trace = {
        **{
            status: [{"id": c.id, "text": c.text, "credibility": c.credibility} for c in arbitration.with_status(status)]
            for status in ("validated", "suppressed")
        },
        "decisions": [decision.model_dump(mode="json") for decision in arbitration.decisions],
        "failures": [failure.model_dump(mode="json", exclude={"usage"}) for failure in arbitration.failures],
        "diagnostics": arbitration.diagnostics,
    }
    return arbitration.answer.model_copy(update={"usage": {**own, **usage}, "trace": trace})
