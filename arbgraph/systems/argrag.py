"""ArgRAG: documents argue for and against an answer and each other; the answer holds when its strength passes its base score.

Zhu et al., ArgRAG: Explainable Retrieval Augmented Generation using Quantitative Bipolar Argumentation, 2025.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from itertools import combinations
from typing import Any, Literal, TypeAlias

from arbgraph.chat.base import ChatModel
from arbgraph.chat.prompts import Prompt
from arbgraph.chat.quoting import Block
from arbgraph.schema import Answer, Document, Failed, Query
from arbgraph.systems.base import Ask, Score, Step, StepFailed, Steps, scores_of
from arbgraph.systems.document_system import DocumentSystem, at_least
from arbgraph.systems.example_prompts import EXAMPLE_DOCUMENT, EXAMPLE_QUESTION, NOT_IN_DOCUMENT, ONE_DOCUMENT, Example, ExamplePrompt
from arbgraph.systems.forms import read_label
from arbgraph.systems.readings import listed, normal_form, show_each, usable_answers, usable_text
from arbgraph.systems.replies import ANSWER_FORM

LABELS = ("support", "contradict", "irrelevant")
SUPPORT, CONTRADICT, IRRELEVANT = LABELS
_ONE_A_LINE = "\n".join(LABELS)
Pair: TypeAlias = tuple[int, int]


def _claim(answer: str) -> Block:
    return Block("claim", f"The answer is: {answer}")


CANDIDATE = ExamplePrompt(
    id="argrag-answer",
    version=2,
    rules="You answer a question from one document. Use what the document says and nothing else.",
    task=f"Answer the question from the document. {ANSWER_FORM}",
    examples=(NOT_IN_DOCUMENT, ONE_DOCUMENT),
)
STANCE = ExamplePrompt(
    id="argrag-stance",
    version=3,
    rules="You say what a document has to do with a claim.",
    task=(
        "Does the document support the claim, does it contradict the claim, or is it irrelevant to it? "
        f"Reply with one of these three words and nothing else:\n{_ONE_A_LINE}"
    ),
    examples=(
        Example((EXAMPLE_QUESTION, _claim("1884"), Block("document", "Lindau has a football club.", {"number": "1"})), IRRELEVANT),
        Example((EXAMPLE_QUESTION, _claim("1950"), EXAMPLE_DOCUMENT), CONTRADICT),
        Example((EXAMPLE_QUESTION, _claim("1884"), EXAMPLE_DOCUMENT), SUPPORT),
    ),
)
RELATION = ExamplePrompt(
    id="argrag-relation",
    version=3,
    rules="You say what two documents have to do with each other.",
    task=(
        "In what they say on the question, do the documents support each other, do they contradict each other, or is one irrelevant to the "
        f"other? Reply with one of these three words and nothing else:\n{_ONE_A_LINE}"
    ),
    examples=(
        Example((EXAMPLE_QUESTION, EXAMPLE_DOCUMENT, Block("document", "Lindau has a football club.", {"number": "2"})), IRRELEVANT),
        Example((EXAMPLE_QUESTION, EXAMPLE_DOCUMENT, Block("document", "The bridge was opened in 1890.", {"number": "2"})), CONTRADICT),
        Example((EXAMPLE_QUESTION, EXAMPLE_DOCUMENT, Block("document", "In 1884 the bridge was opened.", {"number": "2"})), SUPPORT),
    ),
)


class ArgRag(DocumentSystem):
    """Candidate answers from the documents, each accepted when its final strength is above its base score.

    Every candidate has a graph of its own: it and the documents that support or contradict it, all with the same base score, and symmetric
    edges between the documents; strengths by quadratic energy. A label that cannot be read is counted and gives no edge; when no label
    of any document can be read, the query fails.

    Args:
        chat: the model.
        task: "question" takes the answers of the single documents as candidates and returns those accepted, the strongest first; "claim"
            takes the query itself as the claim and answers true or false.
        labels: "reply" reads them from replies; "scores" takes the likeliest label (needs option scores).
        relations: whether documents argue with each other. base: the base score of every node, in (0, 1).
        documents: at most so many of the first documents are read; more are counted as `documents_left_out`.
        document_tokens: of one document. The rest: `DocumentSystem`.
    """

    name = "argrag"
    prompts = (CANDIDATE, STANCE, RELATION)

    def __init__(
        self,
        chat: ChatModel,
        *,
        task: Literal["question", "claim"] = "question",
        labels: Literal["reply", "scores"] = "reply",
        relations: bool = True,
        base: float = 0.5,
        documents: int = 10,
        document_tokens: int = 1000,
        step_tokens: int = 32,
        **options: Any,
    ) -> None:
        super().__init__(chat, document_tokens=document_tokens, step_tokens=step_tokens, **options)
        at_least(1, documents=documents)
        if task not in ("question", "claim") or labels not in ("reply", "scores"):
            raise ValueError(f"task is {task!r} and labels {labels!r}; choose question or claim, and reply or scores")
        if not 0 < base < 1:
            raise ValueError(f"base is {base}; a base score lies in (0, 1)")
        self.task, self.labels, self.relations, self.base, self.documents = task, labels, relations, base, documents

    def options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("task", "labels", "relations", "base", "documents")}

    def solve(self, query: Query) -> Steps:
        shown, counts = show_each(query.documents[: self.documents], self.document_tokens, self.chat.count_tokens)
        counts.update(documents_left_out=len(query.documents[self.documents :]), labels=0, labels_unreadable=0, unconverged=0)
        documents, blocks = [document for document, _ in shown], [block for _, block in shown]
        if not shown:
            return listed([], [], usage=counts)
        if self.task == "claim":
            candidates, claims = [query.query], [[Block("claim", query.query)]]
        else:
            candidates = yield from self._candidates(query.query, blocks, counts)
            claims = [[Block("question", query.query), _claim(answer)] for answer in candidates]
        stances = yield from self._labels(STANCE, [[*claim, block] for claim in claims for block in blocks], counts)
        if candidates and not any(stances):
            raise StepFailed(Failed(stage=STANCE.id, reason=f"none of the {len(stances)} labels of documents can be read"))
        by_claim = [stances[len(blocks) * at : len(blocks) * (at + 1)] for at in range(len(claims))]
        relations = yield from self._relations(query.query, blocks, by_claim, counts)
        strengths = [self._strength(labels, relations, counts) for labels in by_claim]
        trace = {
            "candidates": [
                {"answer": answer, "strength": strength, "stances": dict(zip([one.id for one in documents], labels, strict=True))}
                for answer, strength, labels in zip(candidates, strengths, by_claim, strict=True)
            ],
            "relations": [[documents[a].id, documents[b].id, label] for (a, b), label in relations.items()],
        }
        return self._answer(candidates, strengths, by_claim, documents, {"usage": counts, "trace": trace})

    def _candidates(self, question: str, blocks: Sequence[Block], counts: Counter[str]) -> Generator[Step, list[Any], list[str]]:
        """Every answer that a single document gives, each once. Raises StepFailed when no reply can be read."""
        replies = yield [Ask(CANDIDATE.messages([Block("question", question), block]), self.max_tokens) for block in blocks]
        given = [usable_answers(usable_text(reply, counts), counts) for reply in replies]
        if all(answers is None for answers in given):
            reason = f"none of the {len(blocks)} documents got a reply that can be read"
            raise StepFailed(Failed(stage=CANDIDATE.id, reason=reason, raw=replies[0].text[:2000]))
        forms: dict[str, str] = {}
        for answer in (answer for answers in given for answer in answers or ()):
            forms.setdefault(normal_form(answer), answer)
        return list(forms.values())

    def _relations(
        self, question: str, blocks: Sequence[Block], stances: Sequence[Sequence[str | None]], counts: Counter[str]
    ) -> Generator[Step, list[Any], dict[Pair, str]]:
        """Labels of the pairs of documents that argue about a claim together; irrelevant ones are left out."""
        sides = [[row for row, label in enumerate(labels) if label in (SUPPORT, CONTRADICT)] for labels in stances]
        pairs = sorted({pair for rows in sides for pair in combinations(rows, 2)}) if self.relations else []
        asked = [[Block("question", question), blocks[a], blocks[b]] for a, b in pairs]
        labels = yield from self._labels(RELATION, asked, counts)
        return {pair: label for pair, label in zip(pairs, labels, strict=True) if label in (SUPPORT, CONTRADICT)}

    def _labels(
        self, prompt: Prompt, asked: Sequence[Sequence[Block]], counts: Counter[str]
    ) -> Generator[Step, list[Any], list[str | None]]:
        """One label for each; None, and counted, where the reply gives none."""
        counts["labels"] += len(asked)
        if self.labels == "scores":
            scores = yield [Score(prompt.messages(blocks), LABELS) for blocks in asked]
            return [LABELS[int(scores_of(one).argmax())] for one in scores]
        replies = yield [Ask(prompt.messages(blocks), self.step_tokens) for blocks in asked]
        texts = [usable_text(reply, counts) for reply in replies]
        labels = [None if text is None else read_label(text, LABELS) for text in texts]
        counts["labels_unreadable"] += sum(label is None for label in labels)
        return labels

    def _strength(self, stances: Sequence[str | None], relations: Mapping[Pair, str], counts: Counter[str]) -> float:
        """The final strength of a claim from the documents' labels: node 0 is the claim, document row r is node r + 1."""
        import torch

        from arbgraph.propagation.argumentation import final_strength

        arcs = [(row + 1, 0, label) for row, label in enumerate(stances) if label in (SUPPORT, CONTRADICT)]
        taking_part = {row for row, _, _ in arcs}
        for (a, b), label in relations.items():
            if {a + 1, b + 1} <= taking_part:
                arcs += [(a + 1, b + 1, label), (b + 1, a + 1, label)]

        def index(wanted: str) -> torch.Tensor:
            return torch.tensor([[arc[0], arc[1]] for arc in arcs if arc[2] == wanted], dtype=torch.long).view(-1, 2).T

        base = torch.full((len(stances) + 1,), self.base, dtype=torch.float64)
        solution = final_strength(base, index(CONTRADICT), index(SUPPORT), semantics="quadratic_energy")
        counts["unconverged"] += int(not solution.converged.all())
        return float(solution.p[0])

    def _answer(
        self,
        candidates: Sequence[str],
        strengths: Sequence[float],
        stances: Sequence[Sequence[str | None]],
        documents: Sequence[Document],
        more: dict[str, Any],
    ) -> Answer:
        def sources(at: int, wanted: str) -> list[str]:
            return [document.id for document, label in zip(documents, stances[at], strict=True) if label == wanted]

        if self.task == "claim":
            holds = strengths[0] > self.base
            return listed(["true" if holds else "false"], [sources(0, SUPPORT if holds else CONTRADICT)], **more)
        accepted = sorted((at for at, strength in enumerate(strengths) if strength > self.base), key=lambda at: -strengths[at])
        return listed([candidates[at] for at in accepted], [sources(at, SUPPORT) for at in accepted], **more)
