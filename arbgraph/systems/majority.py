"""Majority vote: one answer per document, each document one vote, and the answers with enough votes win."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from arbgraph.chat.base import ChatModel
from arbgraph.chat.prompts import Prompt
from arbgraph.chat.quoting import Block
from arbgraph.schema import Document, Failed, Query
from arbgraph.systems.base import Ask, StepFailed, Steps
from arbgraph.systems.document_system import DocumentSystem, at_least
from arbgraph.systems.examples import EVIDENCE_FORM, after_examples, examples_of_one_document
from arbgraph.systems.readings import listed, normal_form, show_each, usable_answers, usable_text

VOTE = Prompt(
    id="majority-vote",
    version=1,
    rules="You answer a question from one document. Use what the document says and nothing else.",
    task=f"Answer the question from the document. {EVIDENCE_FORM}",
)
EXAMPLES = examples_of_one_document(VOTE)


@dataclass
class Cluster:
    """Answers of one normal form: the spellings with their counts, and the documents that voted for them."""

    spellings: Counter[str] = field(default_factory=Counter)
    document_ids: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The most frequent spelling; the first of several."""
        return self.spellings.most_common(1)[0][0]

    @property
    def votes(self) -> int:
        return len(self.document_ids)


def count_votes(documents: Sequence[Document], answers: Sequence[tuple[str, ...] | None]) -> list[Cluster]:
    """The clusters, most votes first, then in order of appearance. A document votes once for each of its answers, if it has any."""
    clusters: dict[str, Cluster] = {}
    for document, given in zip(documents, answers, strict=True):
        forms: dict[str, str] = {}
        for answer in given or ():
            forms.setdefault(normal_form(answer), answer)
        for form, spelling in forms.items():
            cluster = clusters.setdefault(form, Cluster())
            cluster.spellings[spelling] += 1
            cluster.document_ids.append(document.id)
    return sorted(clusters.values(), key=lambda cluster: -cluster.votes)


class MajorityVote(DocumentSystem):
    """Per-document answers, clustered by normal form.

    Args:
        chat: the model. theta: None returns the answers with the most votes (all of them when several tie); a number returns every
            answer with at least so many votes, so that 1 returns all answers. shared: `DocumentSystem`.
    """

    name = "majority-vote"
    prompts = (VOTE,)

    def __init__(self, chat: ChatModel, *, theta: int | None = None, **shared: int) -> None:
        super().__init__(chat, **shared)
        at_least(1, theta=1 if theta is None else theta)
        self.theta = theta

    def options(self) -> dict[str, Any]:
        return {"theta": self.theta}

    def solve(self, query: Query) -> Steps:
        shown, counts = show_each(query.documents, self.document_tokens, self.chat.count_tokens)
        question = Block("question", query.query)
        replies = yield [Ask(after_examples(VOTE.messages([question, block]), EXAMPLES), self.step_tokens) for _, block in shown]
        answers = [usable_answers(usable_text(reply, counts), counts) for reply in replies]
        if answers and all(given is None for given in answers):
            reason = f"none of the {len(answers)} documents got a reply that can be read"
            raise StepFailed(Failed(stage=self.name, reason=reason, raw=replies[0].text[:2000]))
        clusters = count_votes([document for document, _ in shown], answers)
        least = self.theta if self.theta is not None else max((cluster.votes for cluster in clusters), default=0)
        chosen = [cluster for cluster in clusters if cluster.votes >= least]
        votes = {cluster.name: cluster.votes for cluster in clusters}
        trace = {"answers": [given if given is None else list(given) for given in answers], "votes": votes}
        return listed([cluster.name for cluster in chosen], [cluster.document_ids for cluster in chosen], usage=counts, trace=trace)
