"""Chain-of-Note: a note on every document, then the answer, in one call.

Yu et al., Chain-of-Note: Enhancing Robustness in Retrieval-Augmented Language Models, 2023.
"""

from __future__ import annotations

from arbgraph.chat.quoting import Block
from arbgraph.schema import Query
from arbgraph.systems.base import Ask, Steps, text_of
from arbgraph.systems.document_system import DocumentSystem
from arbgraph.systems.example_prompts import ONE_ANSWER, Example, ExamplePrompt
from arbgraph.systems.forms import read_list
from arbgraph.systems.replies import ANSWER_FORM, MARK, answer_of

NOTES = ExamplePrompt(
    id="chain-of-note",
    version=2,
    rules=(
        "You answer a question from retrieved documents and take notes first. On a document that gives the answer, note the answer. On one "
        "that is related but does not give it, note what follows from it and from what you know. On any other, note that it is irrelevant."
    ),
    task=f"Write one numbered note of one sentence on every document, in order. Then answer the question from your notes. {ANSWER_FORM}",
    examples=(Example(ONE_ANSWER.blocks, f"1. It gives the year of the opening, 1884.\n2. It is irrelevant.\n{MARK} 1884"),),
)


class ChainOfNote(DocumentSystem):
    """One call: question, documents, notes, answer. `Answer.trace` holds the notes.

    Args: `DocumentSystem`.
    """

    name = "chain-of-note"
    prompts = (NOTES,)

    def solve(self, query: Query) -> Steps:
        shown = self.show(query.documents)
        [reply] = yield [Ask(NOTES.messages([Block("question", query.query), *shown.blocks]), self.max_tokens)]
        answer = answer_of(text_of(reply), self.name, usage=shown.usage)
        notes = read_list(answer.text.rpartition(MARK)[0], len(shown.blocks))
        return answer.model_copy(update={"trace": {"notes": notes}})
