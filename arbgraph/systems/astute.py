"""Astute RAG: what the model itself knows joins the documents; consistent passages are grouped, conflicts set apart, then answered.

Wang et al., Astute RAG: Overcoming Imperfect Retrieval Augmentation and Knowledge Conflicts, 2024.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import Any

from arbgraph.chat.base import ChatModel
from arbgraph.chat.prompts import Prompt
from arbgraph.chat.quoting import Block
from arbgraph.schema import Document, Query
from arbgraph.systems.base import Ask, Steps, text_of
from arbgraph.systems.document_system import DocumentSystem, at_least
from arbgraph.systems.documents import show_documents
from arbgraph.systems.readings import usable_text
from arbgraph.systems.replies import ANSWER_FORM, answer_of

RECALL = Prompt(
    id="astute-recall",
    version=1,
    rules=(
        "You write down what you know about a question, before anything is looked up. Be accurate: leave out what you are not sure of, "
        "and invent nothing."
    ),
    task=(
        "Write at most {passages} short passages with facts that help to answer the question, each of one to three sentences and with an "
        'empty line between passages. Write "none" if you know nothing reliable.'
    ),
)

CONSOLIDATE = Prompt(
    id="astute-consolidate",
    version=1,
    rules="You put passages about a question in order. Internal passages come from a model's memory, external ones were retrieved.",
    task=(
        "Group the passages that agree, keep those that conflict in separate groups, and leave out what does not bear on the question. "
        "Write one short paragraph for each group: what it says, and the numbers and kinds of its passages."
    ),
)

ANSWER = Prompt(
    id="astute-answer",
    version=1,
    rules=(
        "You answer a question from passages. Internal passages come from a model's memory, external ones were retrieved; both may be "
        "wrong."
    ),
    task=(
        "Group the passages that agree, and say in a few words which answer each group gives. Then choose: prefer reliable sources, "
        f"answers that several passages confirm, and thorough passages. {ANSWER_FORM}"
    ),
)

_NONE = re.compile(r"none\W*", re.IGNORECASE)


class AstuteRAG(DocumentSystem):
    """Internal passages, `rounds - 1` consolidations, and a last one that also answers.

    Args:
        chat: the model. passages: internal passages at most; the model decides how many it writes. rounds: of consolidation; with 1,
            grouping and answering are one call. shared: `DocumentSystem`; step_tokens are those of the internal passages, max_tokens those
            of a consolidation too.
    """

    name = "astute-rag"
    prompts = (RECALL, CONSOLIDATE, ANSWER)

    def __init__(self, chat: ChatModel, *, passages: int = 1, rounds: int = 1, **shared: int) -> None:
        super().__init__(chat, **shared)
        at_least(0, passages=passages)
        at_least(1, rounds=rounds)
        self.passages, self.rounds = passages, rounds

    def options(self) -> dict[str, Any]:
        return {"passages": self.passages, "rounds": self.rounds}

    def solve(self, query: Query) -> Steps:
        question = Block("question", query.query)
        shown = self.show(query.documents)
        counts: Counter[str] = Counter(shown.usage)
        internal: list[str] = []
        if self.passages:
            [reply] = yield [Ask(RECALL.messages([question], passages=self.passages), self.step_tokens)]
            internal = self._internal(usable_text(reply, counts) or "")
        known = [Block("internal", text, {"number": str(n)}) for n, text in enumerate(internal, len(query.documents) + 1)]
        external = [replace(block, kind="external") for block in shown.blocks]
        material = [*external, *known]
        consolidations = []
        for _ in range(self.rounds - 1):
            [reply] = yield [Ask(CONSOLIDATE.messages([question, *material]), self.max_tokens)]
            groups = usable_text(reply, counts)
            if groups is None:
                break
            consolidations.append(groups)
            fitting = show_documents([Document(text=groups)], self.document_tokens, self.chat.count_tokens, kind="groups")
            material = list(fitting.blocks)
        [reply] = yield [Ask(ANSWER.messages([question, *material]), self.max_tokens)]
        usage = {**counts, "internal_passages": len(internal)}
        return answer_of(text_of(reply), self.name, usage=usage, trace={"internal": internal, "consolidations": consolidations})

    def _internal(self, reply: str) -> list[str]:
        """The passages of a reply, as many as were asked for at most; a reply that says "none" holds none."""
        passages = [" ".join(part.split()) for part in re.split(r"\n\s*\n", reply)]
        return [passage for passage in passages if passage and not _NONE.fullmatch(passage)][: self.passages]
