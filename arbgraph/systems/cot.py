"""Chain of thought: reasoning over the documents first, then the answer.

Wei et al., Chain-of-Thought Prompting Elicits Reasoning in Large Language Models, 2022.
"""

from __future__ import annotations

from arbgraph.chat.quoting import Block
from arbgraph.schema import Query
from arbgraph.systems.base import Ask, Steps, text_of
from arbgraph.systems.document_system import DocumentSystem
from arbgraph.systems.example_prompts import ONE_ANSWER, TWO_ANSWERS, ExamplePrompt
from arbgraph.systems.replies import ANSWER_FORM, answer_of

COT = ExamplePrompt(
    id="cot",
    version=2,
    rules="You answer a question from retrieved documents. Use what the documents say and nothing else.",
    task=f"Think step by step about what the documents say. Write your steps in a few short sentences. {ANSWER_FORM}",
    examples=(TWO_ANSWERS, ONE_ANSWER),
)


class ChainOfThought(DocumentSystem):
    """One call: question, documents, reasoning, answer. Only what follows the answer's mark is scored.

    Args: `DocumentSystem`.
    """

    name = "cot"
    prompts = (COT,)

    def solve(self, query: Query) -> Steps:
        shown = self.show(query.documents)
        [reply] = yield [Ask(COT.messages([Block("question", query.query), *shown.blocks]), self.max_tokens)]
        return answer_of(text_of(reply), self.name, usage=shown.usage)
