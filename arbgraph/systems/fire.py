"""FIRE: claims checked one by one, where each call either decides or searches on; as a filter after the answer or while it is written.

Xie et al., FIRE: Fact-checking with Iterative Retrieval and Verification, 2025.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from arbgraph.chat.base import ChatModel
from arbgraph.chat.prompts import Prompt
from arbgraph.chat.quoting import Block
from arbgraph.retrieval import DocumentIndex, Hit, excerpt
from arbgraph.schema import Answer, Query
from arbgraph.systems.base import Ask, Step, Steps, text_of
from arbgraph.systems.document_system import DocumentSystem, at_least
from arbgraph.systems.documents import about_document
from arbgraph.systems.example_prompts import EXAMPLE_ANSWER, EXAMPLE_DOCUMENT, EXAMPLE_EVIDENCE, EXAMPLE_QUESTION, Example, ExamplePrompt
from arbgraph.systems.forms import needed_text, read_field, read_label, unreadable
from arbgraph.systems.readings import listed, normal_form
from arbgraph.systems.replies import ANSWER_FORM, MARK, UNKNOWN, answer_of, read_answers
from arbgraph.systems.standard import STANDARD

if TYPE_CHECKING:
    from torch import Tensor

SEARCH, VERDICT = "Search", "Verdict"
Mode: TypeAlias = Literal["posthoc", "repair", "inline"]
LABELS = ("true", "false")

_CLAIM_RULES = "You check whether a proposed answer to a question is true, from the evidence that was found."

DECIDE = ExamplePrompt(
    id="fire-decide",
    version=3,
    rules=_CLAIM_RULES,
    task=(
        "Give a verdict if the evidence decides it. Otherwise search for more evidence. Reply with one line in one of these three forms:\n"
        f"{VERDICT}: true\n{VERDICT}: false\n{SEARCH}: words to search for"
    ),
    examples=(
        Example((EXAMPLE_QUESTION, EXAMPLE_ANSWER), f"{SEARCH}: bridge Lindau opened"),
        Example((EXAMPLE_QUESTION, EXAMPLE_ANSWER, EXAMPLE_EVIDENCE), f"{VERDICT}: false"),
    ),
)

FORCE = Prompt(
    id="fire-force",
    version=2,
    rules=_CLAIM_RULES,
    task=f"Decide from the evidence and from what you know. Reply with one of these two lines:\n{VERDICT}: true\n{VERDICT}: false",
)

REPAIR_ANSWER = ExamplePrompt(
    id="fire-repair",
    version=2,
    rules="You correct an answer to a question after some of its parts were found to be false.",
    task=f"Answer the question from the evidence. Give the true answers, replace the false ones and do not repeat them. {ANSWER_FORM}",
    examples=(Example((EXAMPLE_QUESTION, Block("answer", "1950", {"verdict": "false"}), EXAMPLE_EVIDENCE), f"{MARK} 1884"),),
)

NEXT = ExamplePrompt(
    id="fire-next",
    version=3,
    rules=(
        "You answer a question from retrieved documents, one answer at a time. Every answer that you propose is checked before the next, "
        "and you see what was found to be true and what to be false."
    ),
    task=(
        f'Give the next right answer that is not listed yet, in as few words as possible, or "{UNKNOWN}" where there is none. '
        f"Reply with one line in this form:\n{MARK} the next answer"
    ),
    examples=(Example((EXAMPLE_QUESTION, EXAMPLE_DOCUMENT), f"{MARK} 1884"),),
)


class Encoder(Protocol):
    """What `SentenceEncoder` offers: unit vectors `[n, D]` of n texts."""

    def encode(self, texts: Sequence[str]) -> Tensor: ...


class Fire(DocumentSystem):
    """An answer whose parts are checked. The claim that is checked is one short answer, with the question that it answers.

    Each call of a check gives a verdict or the next search. A search is idle when it or what it finds is close (cosine above `similar`) to
    one of the last `tolerance`, or when it finds nothing. After `tolerance` idle searches and after `steps` calls a last call must decide.
    A reply that is neither a verdict nor a search fails the query.

    Args:
        chat: the model.
        mode: "posthoc" answers as Standard RAG and drops what is false; "repair" then asks for a better answer, once, if anything was
            false; "inline" writes one answer at a time and checks it before the next.
        encoder: for the cosine; None loads all-MiniLM-L6-v2. index: what is searched; None is the documents of the query.
        steps, hits: calls for one claim, and documents for one search. claims: at most so many are checked; more are counted as
            `claims_unchecked`, and not returned. similar, tolerance: see above. characters: of a piece of evidence.
        The rest: `DocumentSystem`.
    """

    name = "fire"
    prompts = (STANDARD, DECIDE, FORCE, REPAIR_ANSWER, NEXT)

    def __init__(
        self,
        chat: ChatModel,
        *,
        mode: Mode = "posthoc",
        encoder: Encoder | None = None,
        index: DocumentIndex | None = None,
        steps: int = 5,
        hits: int = 3,
        claims: int = 10,
        similar: float = 0.9,
        tolerance: int = 2,
        characters: int = 400,
        **options: Any,
    ) -> None:
        super().__init__(chat, **options)
        if mode not in ("posthoc", "repair", "inline"):
            raise ValueError(f"mode is {mode!r}; choose posthoc, repair or inline")
        at_least(1, steps=steps, hits=hits, claims=claims, tolerance=tolerance, characters=characters)
        self.mode, self.index, self._encoder = mode, index, encoder
        self.steps, self.hits, self.claims = steps, hits, claims
        self.similar, self.tolerance, self.characters = similar, tolerance, characters

    def options(self) -> dict[str, Any]:
        names = ("mode", "steps", "hits", "claims", "similar", "tolerance", "characters")
        searched = None if self.index is None else self.index.digest
        return {**{name: getattr(self, name) for name in names}, "encoder": _identity(self.encoder), "index": searched}

    @property
    def encoder(self) -> Encoder:
        """The sentence encoder, loaded when it is first needed."""
        if self._encoder is None:
            from arbgraph.encoder import SentenceEncoder

            self._encoder = SentenceEncoder()
        return self._encoder

    def solve(self, query: Query) -> Steps:
        return self._inline(query) if self.mode == "inline" else self._posthoc(query)

    def _posthoc(self, query: Query) -> Steps:
        shown = self.show(query.documents)
        counts: Counter[str] = Counter({**shown.usage, "searches": 0, "forced": 0, "claims_unchecked": 0})
        question, index = Block("question", query.query), self._index_of(query)
        [reply] = yield [Ask(STANDARD.messages([question, *shown.blocks]), self.max_tokens)]
        draft = answer_of(text_of(reply), self.name)
        counts["claims_unchecked"] += len(draft.short_answers[self.claims :])
        checks = [_Check(self, query.query, answer, index, counts) for answer in draft.short_answers[: self.claims]]
        yield from self._run(checks)
        counts["claims_false"] = sum(check.verdict is False for check in checks)
        trace = {"draft": draft.text, "claims": [check.record for check in checks]}
        if self.mode == "repair" and counts["claims_false"]:
            blocks = [question, *_said(checks), *_evidence(checks)]
            [reply] = yield [Ask(REPAIR_ANSWER.messages(blocks), self.max_tokens)]
            return answer_of(text_of(reply), self.name, usage=counts, trace=trace)
        return _answer([check for check in checks if check.verdict], counts, trace)

    def _inline(self, query: Query) -> Steps:
        shown = self.show(query.documents)
        counts: Counter[str] = Counter({**shown.usage, "searches": 0, "forced": 0})
        question, index = Block("question", query.query), self._index_of(query)
        checks: list[_Check] = []
        while len(checks) < self.claims:
            [reply] = yield [Ask(NEXT.messages([question, *shown.blocks, *_said(checks)]), self.step_tokens)]
            answers = read_answers(text := text_of(reply))
            if answers is None:
                raise unreadable(NEXT.id, f"a line that begins with {MARK!r}", text)
            # Whoever has nothing new to say is done.
            fresh = {normal_form(answer): answer for answer in answers}
            new = [answer for form, answer in fresh.items() if form not in {normal_form(check.answer) for check in checks}]
            if not new:
                break
            latest = [_Check(self, query.query, answer, index, counts) for answer in new[: self.claims - len(checks)]]
            checks += latest
            yield from self._run(latest)
        counts["claims_false"] = sum(check.verdict is False for check in checks)
        return _answer([check for check in checks if check.verdict], counts, {"claims": [check.record for check in checks]})

    def _index_of(self, query: Query) -> DocumentIndex:
        return DocumentIndex(query.documents) if self.index is None else self.index

    def _run(self, checks: Sequence[_Check]) -> Generator[Step, list[Any], None]:
        """Checks side by side until each has a verdict."""
        while open_checks := [check for check in checks if check.verdict is None]:
            replies = yield [check.request() for check in open_checks]
            for check, reply in zip(open_checks, replies, strict=True):
                check.take(reply)


class _Check:
    """One claim under way: what was searched and found, and the verdict once there is one."""

    def __init__(self, system: Fire, question: str, answer: str, index: DocumentIndex, counts: Counter[str]) -> None:
        self.answer = answer
        self.verdict: bool | None = None
        self.searched: list[str] = []
        self.evidence: list[Block] = []
        self._system, self._question, self._index, self._counts = system, question, index, counts
        self._found: list[Hit] = []
        self._results: list[str] = []
        self._calls = self._repeats = 0

    @property
    def record(self) -> dict[str, Any]:
        return {"answer": self.answer, "verdict": self.verdict, "searches": self.searched}

    @property
    def forced(self) -> bool:
        return self._calls >= self._system.steps or self._repeats >= self._system.tolerance

    def request(self) -> Ask:
        blocks = [Block("question", self._question), Block("answer", self.answer), *self.evidence]
        return Ask((FORCE if self.forced else DECIDE).messages(blocks), self._system.step_tokens)

    def take(self, reply: Any) -> None:
        """Reads a verdict or runs a search. Raises StepFailed when the reply is neither."""
        text = needed_text(reply, self._counts)
        forced, names = self.forced, (VERDICT,) if self.forced else (VERDICT, SEARCH)
        field = read_field(text, names)
        if field is not None and field.name == SEARCH:
            self._calls += 1
            self._search(field.value)
            return
        label = read_label(text if field is None else field.value, LABELS)
        if label is None:
            raise unreadable(FORCE.id if forced else DECIDE.id, f"a line {VERDICT}: true or {VERDICT}: false", text)
        self.verdict = label == "true"
        self._counts["forced"] += forced

    def _search(self, wanted: str) -> None:
        self._counts["searches"] += 1
        hits = self._index.search(wanted, self._system.hits)
        pieces = [excerpt(hit.document.text, wanted, self._system.characters) for hit in hits]
        result = "\n".join(pieces)
        repeated = self._close(wanted, self.searched) or (bool(result) and self._close(result, self._results))
        self._repeats += repeated or not hits
        self.searched.append(wanted)
        if result:
            self._results.append(result)
        known = {block.text for block in self.evidence}
        for hit, piece in zip(hits, pieces, strict=True):
            if piece not in known:
                known.add(piece)
                self.evidence.append(Block("evidence", piece, about_document(hit.document, len(self.evidence) + 1)))
                self._found.append(hit)

    def _close(self, text: str, earlier: Sequence[str]) -> bool:
        """Whether a text is close to one of the last `tolerance` texts."""
        recent = list(earlier)[-self._system.tolerance :]
        if not recent:
            return False
        vectors = self._system.encoder.encode([text, *recent])
        return bool((vectors[1:] @ vectors[0]).max() > self._system.similar)

    @property
    def document_ids(self) -> list[str]:
        return list(dict.fromkeys(hit.document.id for hit in self._found))


def _said(checks: Sequence[_Check]) -> list[Block]:
    return [Block("answer", check.answer, {"verdict": LABELS[0] if check.verdict else LABELS[1]}) for check in checks]


def _evidence(checks: Sequence[_Check]) -> list[Block]:
    """The evidence of all checks, each piece once."""
    return list({block.text: block for check in checks for block in check.evidence}.values())


def _answer(kept: Sequence[_Check], counts: Counter[str], trace: dict[str, Any]) -> Answer:
    return listed([check.answer for check in kept], [check.document_ids for check in kept], usage=counts, trace=trace)


def _identity(encoder: Encoder) -> Any:
    resolved = getattr(encoder, "resolved", None)
    return type(encoder).__name__ if resolved is None else {"model": resolved.name, "sha256": resolved.sha256}
