"""The judges of `eval.checking`: the relation verifier over windows of a text, and a chat model with a structured reply."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from arbgraph.chat.base import ChatModel
from arbgraph.chat.prompts import Prompt
from arbgraph.chat.quoting import Block
from arbgraph.extraction.cleaning import blocks, pieces_of
from arbgraph.extraction.sentences import split
from arbgraph.schema import CONTRADICT, NEUTRAL, RELATION_LABELS, SUPPORT, Failed
from arbgraph.verifier import RelationVerifier
from eval.checking import SENTENCE_CHARS, Judgement, Label

_WORD = re.compile(r"\w+")


class VerifierChecker:
    """A text entails a claim when one of its windows does.

    A window is a run of consecutive sentences. For every claim those that share most words with it are read, since the verifier was
    trained on short texts. The judgement is that of the most supporting window among those labelled support; without any, of the most
    contradicting among those labelled so; without any, of the one nearest to support.

    Args:
        verifier: read in one order, from window to claim.
        sentences: of a window. windows: read per claim at most.
    """

    def __init__(self, verifier: RelationVerifier, *, sentences: int = 3, windows: int = 3) -> None:
        if sentences < 1 or windows < 1:
            raise ValueError(f"sentences = {sentences} and windows = {windows} must be at least 1")
        self.verifier, self.sentences, self.windows = verifier, sentences, windows

    @classmethod
    def load(cls, checkpoint: str = "verifier-minilm", **options: Any) -> VerifierChecker:
        """From a checkpoint by folder or name. Raises CheckpointError."""
        return cls(RelationVerifier.load(checkpoint), **options)

    def identity(self) -> dict[str, Any]:
        return {"kind": "verifier", **self.verifier.describe(), "sentences": self.sentences, "windows": self.windows}

    def judge(self, requests: Sequence[tuple[str, Sequence[str]]]) -> list[list[Judgement]]:
        windows = {text: windows_of(text, self.sentences) for text in dict.fromkeys(text for text, _ in requests)}
        chosen = [[self._chosen(windows[text], claim) for claim in claims] for text, claims in requests]
        pairs = [
            (window, claim)
            for (_, claims), rows in zip(requests, chosen, strict=True)
            for claim, row in zip(claims, rows, strict=True)
            for window in row
        ]
        distinct = {pair: place for place, pair in enumerate(dict.fromkeys(pairs))}
        scores = self.verifier.directed(list(distinct)).tolist()
        return [
            [_best([scores[distinct[window, claim]] for window in row]) for claim, row in zip(claims, rows, strict=True)]
            for (_, claims), rows in zip(requests, chosen, strict=True)
        ]

    def _chosen(self, windows: Sequence[tuple[str, frozenset[str]]], claim: str) -> list[str]:
        words = _words(claim)
        ranked = sorted(range(len(windows)), key=lambda place: (-len(words & windows[place][1]), place))
        return [windows[place][0] for place in sorted(ranked[: self.windows])]


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


def windows_of(text: str, size: int) -> list[tuple[str, frozenset[str]]]:
    """Every run of `size` consecutive sentences with its words; the whole text where it has no more."""
    runs = [run.text.text for block in blocks(pieces_of(text)[0], SENTENCE_CHARS) for run in split(block, SENTENCE_CHARS)]
    texts = [" ".join(runs[start : start + size]) for start in range(max(1, len(runs) - size + 1))]
    return [(part, _words(part)) for part in texts if part.strip()]


def _best(rows: Sequence[Sequence[float]]) -> Judgement:
    if not rows:  # Markup without text entails nothing.
        return Judgement("neutral")
    supporting = [row for row in rows if row[SUPPORT] == max(row)]
    contradicting = [row for row in rows if row[CONTRADICT] == max(row)]
    column = CONTRADICT if contradicting and not supporting else SUPPORT
    row = max(supporting or contradicting or rows, key=lambda row: row[column])
    label: Any = RELATION_LABELS[SUPPORT if supporting else CONTRADICT if contradicting else NEUTRAL]
    return Judgement(label, (row[0], row[1], row[2]))


CHECKING = Prompt(
    id="checking",
    version=1,
    rules=(
        "You decide what a text says about numbered claims. Work only with the text, not with what you know. "
        "supported: the text states the claim or it follows from the text. partial: the text states a part of the claim and says nothing "
        "against the rest. contradicted: by the text the claim is false. missing: anything else."
    ),
    task=(
        'What does the block "text-{code}" say about each of the {count} claims?\n'
        'Reply with one JSON object: "verdicts" is a list with one object per claim, with the keys "number" and "verdict", which is '
        "supported, partial, contradicted or missing."
    ),
)  # fmt: skip


class WrittenVerdict(BaseModel):
    """One verdict of the reply."""

    model_config = ConfigDict(extra="forbid")

    number: int
    verdict: Literal["supported", "partial", "contradicted", "missing"]


class WrittenVerdicts(BaseModel):
    """The reply to the checking prompt."""

    model_config = ConfigDict(extra="forbid")

    verdicts: list[WrittenVerdict]


_LABELS: dict[str, Label] = {"supported": "support", "partial": "partial", "contradicted": "contradict", "missing": "neutral"}


class ChatChecker:
    """Asks a chat model about a few claims of a text at a time.

    A reply that cannot be used, or a claim on which it gives no or two verdicts, is a judgement without a label: it is counted, listed
    under `failures`, and never scored.

    Args:
        chat: the model. claims: asked about in one prompt. max_tokens: of a reply, per claim.
    """

    def __init__(self, chat: ChatModel, *, claims: int = 5, max_tokens: int = 40) -> None:
        if claims < 1 or max_tokens < 1:
            raise ValueError(f"claims = {claims} and max_tokens = {max_tokens} must be at least 1")
        self.chat, self.claims, self.max_tokens = chat, claims, max_tokens
        self.failures: list[Failed] = []

    def identity(self) -> dict[str, Any]:
        return {"kind": "chat", **self.chat.identity(), "prompt": CHECKING.name, "claims": self.claims, "max_tokens": self.max_tokens}

    def judge(self, requests: Sequence[tuple[str, Sequence[str]]]) -> list[list[Judgement]]:
        parts = [
            (place, text, tuple(claims[start : start + self.claims]))
            for place, (text, claims) in enumerate(requests)
            for start in range(0, len(claims), self.claims)
        ]
        prompts = [
            CHECKING.messages(
                [Block("text", text), *(Block("claim", claim, {"number": str(number)}) for number, claim in enumerate(claims, 1))],
                count=len(claims),
            )
            for _, text, claims in parts
        ]
        judged: list[list[Judgement]] = [[] for _ in requests]
        replies = self.chat.complete(prompts, WrittenVerdicts, self.max_tokens * self.claims)
        for (place, _, claims), reply in zip(parts, replies, strict=True):
            if reply.failure is not None:
                self.failures.append(reply.failure)
            judged[place] += self._read(reply.value.verdicts if reply.value is not None else [], len(claims), reply.failure is None)
        return judged

    def _read(self, verdicts: Sequence[WrittenVerdict], count: int, usable: bool) -> list[Judgement]:
        labels: list[Label | None] = []
        for number in range(1, count + 1):
            given = {verdict.verdict for verdict in verdicts if verdict.number == number}
            labels.append(_LABELS[given.pop()] if len(given) == 1 else None)
        without = labels.count(None)
        if usable and without:
            self.failures.append(Failed(stage=CHECKING.id, reason=f"{without} of {count} claims got no verdict, or two"))
        return [Judgement(label) for label in labels]
