"""Claims against texts: which text entails which claim, by a relation verifier (the default, offline) or a chat model.

`check` extracts the claims of answers, judges all of them and gives one `Checked` per answer; `check_stored` does so once and keeps the
judgements in a JSON Lines file, from which every metric can be computed again without a model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias, get_args

from arbgraph.extraction.cleaning import blocks, pieces_of
from arbgraph.extraction.sentences import split
from arbgraph.io import InputError, to_json_line
from arbgraph.schema import Document, content_id
from eval.metrics.claims import ClaimLabel, FactLabel
from eval.metrics.ragchecker import Entailment

if TYPE_CHECKING:
    from arbgraph.extraction.syntactic import SyntacticExtractor

# What a text says of a claim. `partial` is given by chat models only; it is no entailment.
Label: TypeAlias = Literal["support", "partial", "contradict", "neutral"]
SENTENCE_CHARS = 1_000  # longer sentences are cut
SHORT_WORDS = 8
_MARKUP = re.compile(r"\*\*|__|^#+\s+|^(?:[-*•]|\(?\d{1,3}[.)])(?:\s+|$)")
_FACT: dict[Label, FactLabel] = {"support": "consistent", "partial": "partial", "contradict": "contradictory", "neutral": "missing"}
_MATRICES = ("answer2response", "response2answer", "retrieved2response", "retrieved2answer", "evidence2response", "response2facts")


class Judgement(NamedTuple):
    """The label, None where the judge failed, and the probabilities of support, contradiction and neutrality, None where not given."""

    label: Label | None
    probabilities: tuple[float, float, float] | None = None


class Checker(Protocol):
    """Judges claims by texts. A claim's judgement depends on its own request alone."""

    def identity(self) -> dict[str, Any]:
        """Everything that decides a judgement, as plain JSON values."""
        ...

    def judge(self, requests: Sequence[tuple[str, Sequence[str]]]) -> list[list[Judgement]]:
        """For every (text, claims) one judgement per claim, in order."""
        ...


@dataclass(frozen=True)
class Matrix:
    """Labels `[claims][texts]`, None where the judge failed, and their probabilities in the same places where the judge gives them."""

    labels: tuple[tuple[Label | None, ...], ...]
    probabilities: tuple[tuple[tuple[float, float, float] | None, ...], ...] | None = None

    @property
    def entailed(self) -> tuple[tuple[bool, ...], ...]:
        """Where the text entails the claim."""
        return tuple(tuple(label == "support" for label in row) for row in self.labels)

    @property
    def failed(self) -> int:
        """Cells without a label."""
        return sum(label is None for row in self.labels for label in row)

    @classmethod
    def of(cls, columns: Sequence[Sequence[Judgement]], claims: int) -> Matrix:
        """From the judgements of every text, one per claim."""
        rows = [[column[row] for column in columns] for row in range(claims)]
        labels: tuple[tuple[Label | None, ...], ...] = tuple(tuple(cell.label for cell in row) for row in rows)
        given = any(cell.probabilities is not None for row in rows for cell in row)
        return cls(labels, tuple(tuple(cell.probabilities for cell in row) for row in rows) if given else None)

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Matrix:
        """From JSON. Raises ValueError on an unknown label."""
        labels: Any = tuple(tuple(row) for row in value["labels"])
        unknown = {label for row in labels for label in row} - {None, *get_args(Label)}
        if unknown:
            raise ValueError(f"unknown label {sorted(unknown)[0]!r}")
        given = value.get("probabilities")
        return cls(labels, given and tuple(tuple(cell and tuple(cell) for cell in row) for row in given))


@dataclass(frozen=True)
class Response:
    """An answer to be checked, and the texts to check it by.

    Attributes:
        id: of the question. query: its text. text: the answer. reference: the gold answer, empty where there is none.
        chunks: the retrieved texts. evidence: what the system wrote from, None where it is not known.
        facts: reference facts. response_claims, gold_claims: claims made elsewhere; None has them extracted.
    """

    id: str
    query: str
    text: str
    reference: str = ""
    chunks: tuple[str, ...] = ()
    evidence: tuple[str, ...] | None = None
    facts: tuple[str, ...] = ()
    response_claims: tuple[str, ...] | None = None
    gold_claims: tuple[str, ...] | None = None

    @property
    def content(self) -> str:
        """A hash of everything that is checked."""
        return content_id("response", json.dumps([value for name, value in asdict(self).items() if name != "id"], ensure_ascii=True))


@dataclass(frozen=True)
class Checked:
    """A checked answer: its claims, those of the gold answer, and what entails what, by the names of `_MATRICES`.

    `content` is that of the response as it was given, `judge` a hash of checker and extractor. Vectors are matrices with one column.
    """

    id: str
    content: str
    judge: str
    response_claims: tuple[str, ...]
    gold_claims: tuple[str, ...]
    matrices: Mapping[str, Matrix]

    @property
    def failed(self) -> int:
        """Cells that the judge failed on."""
        return sum(matrix.failed for matrix in self.matrices.values())

    def entailment(self) -> Entailment | None:
        """The arrays of RAGChecker's metrics; None where the judge failed on any of their cells: a failure is no judgement."""
        found = {name: matrix for name, matrix in self.matrices.items() if name != "response2facts"}
        if any(matrix.failed for matrix in found.values()):
            return None
        evidence = found.get("evidence2response")
        return Entailment(
            answer2response=_column(found["answer2response"]),
            response2answer=_column(found["response2answer"]),
            retrieved2response=found["retrieved2response"].entailed,
            retrieved2answer=found["retrieved2answer"].entailed,
            evidence2response=evidence.entailed if evidence else None,
        )

    def facts(self) -> tuple[FactLabel, ...] | None:
        """What the answer says of every reference fact; None without facts or where the judge failed."""
        matrix = self.matrices.get("response2facts")
        if matrix is None or matrix.failed:
            return None
        return tuple(_FACT[label] for (label,) in matrix.labels if label is not None)

    def claims(self) -> tuple[ClaimLabel, ...] | None:
        """Whether any chunk supports each response claim; relevance is not judged. None where the judge failed."""
        matrix = self.matrices["retrieved2response"]
        return None if matrix.failed else tuple("supported" if any(row) else "unsupported" for row in matrix.entailed)

    def fields(self) -> dict[str, Any]:
        """The fields of `Scored` that rest on judgements; what is None is left out by the metrics and counted."""
        return {"entailment": self.entailment(), "facts": self.facts(), "claims": self.claims()}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Checked:
        """From JSON. Raises ValueError or KeyError on another form."""
        matrices = {name: Matrix.from_dict(value["matrices"][name]) for name in _MATRICES if name in value["matrices"]}
        ours, gold = tuple(value["response_claims"]), tuple(value["gold_claims"])
        return cls(value["id"], value["content"], value["judge"], ours, gold, matrices)


def _column(matrix: Matrix) -> tuple[bool, ...]:
    return tuple(row[0] for row in matrix.entailed)


def claims_of(texts: Sequence[tuple[str, str]], extractor: SyntacticExtractor) -> list[tuple[str, ...]]:
    """The distinct claims of every (question, text), in order of mention; none for an empty text.

    An answer is short and all of it counts, so a sentence from which the extractor takes nothing (a list item, a bare name) is a claim as
    it stands; one of at most `SHORT_WORDS` words gets the question in front, without which it says nothing. Questions are no claims.
    """
    documents = [Document(id=f"{place:08d}", text=text) for place, (_, text) in enumerate(texts) if text.strip()]
    mentioned: list[list[tuple[int, int, str]]] = [[] for _ in texts]
    for claim in extractor.extract([documents])[0].claims if documents else ():
        for mention in claim.mentions:
            mentioned[int(mention.document_id)].append((mention.start, mention.end, claim.text))
    found = []
    for (question, text), mentions in zip(texts, mentioned, strict=True):
        rest = [(start, end, one) for start, end, one in _sentences(text) if all(end <= a or b <= start for a, b, _ in mentions)]
        bare = [(start, end, f"{question} {one}".strip() if len(one.split()) <= SHORT_WORDS else one) for start, end, one in rest]
        found.append(tuple(dict.fromkeys(one for _, _, one in sorted([*mentions, *bare]))))
    return found


def _sentences(text: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, sentence) without list marks and emphasis; questions and marks without a word are left out."""
    for block in blocks(pieces_of(text)[0], SENTENCE_CHARS):
        for run in split(block, SENTENCE_CHARS):
            sentence = _MARKUP.sub("", run.text.text).strip()
            if any(map(str.isalnum, sentence)) and not sentence.endswith("?"):
                yield run.text.starts[0], run.text.ends[-1], sentence


def judge_identity(checker: Checker, extractor: SyntacticExtractor | None) -> dict[str, Any]:
    """Checker and extractor, in plain JSON values."""
    meta = extractor.nlp.meta if extractor is not None else None
    return {
        "checker": checker.identity(),
        "extractor": meta and {"spacy_model": meta["name"], "version": meta["version"], "short_words": SHORT_WORDS},
    }


def _hash(identity: Mapping[str, Any]) -> str:
    return content_id("judge", json.dumps(identity, sort_keys=True))


def check(responses: Sequence[Response], checker: Checker, extractor: SyntacticExtractor | None = None) -> list[Checked]:
    """Judges the claims of every answer and gold answer; equal requests are judged once.

    Raises ValueError where claims must be extracted and there is no extractor.
    """
    filled = _with_claims(responses, extractor)
    requests: dict[tuple[str, tuple[str, ...]], list[Judgement]] = {}
    for response in filled:
        requests.update({request: [] for _, texts, claims in _tables(response) for text in texts if _to_ask(request := (text, claims))})
    for request, judged in zip(requests, checker.judge(list(requests)), strict=True):
        requests[request] = judged
    judge = _hash(judge_identity(checker, extractor))
    return [_checked(with_claims, given.content, requests, judge) for given, with_claims in zip(responses, filled, strict=True)]


def _to_ask(request: tuple[str, tuple[str, ...]]) -> bool:
    return bool(request[0].strip() and request[1])


def _tables(response: Response) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """(name, texts, claims) of every matrix of a response whose claims are known."""
    ours, gold = response.response_claims or (), response.gold_claims or ()
    yield "answer2response", (response.reference,), ours
    yield "response2answer", (response.text,), gold
    yield "retrieved2response", response.chunks, ours
    yield "retrieved2answer", response.chunks, gold
    if response.evidence is not None:
        yield "evidence2response", response.evidence, ours
    if response.facts:
        yield "response2facts", (response.text,), response.facts


def _with_claims(responses: Sequence[Response], extractor: SyntacticExtractor | None) -> list[Response]:
    wanted = [(r.query, r.text) for r in responses if r.response_claims is None]
    wanted += [(r.query, r.reference) for r in responses if r.gold_claims is None]
    texts = list(dict.fromkeys(pair for pair in wanted if pair[1].strip()))
    if texts and extractor is None:
        raise ValueError("some responses come without claims; give an extractor, or the claims")
    found = dict(zip(texts, claims_of(texts, extractor), strict=True)) if extractor is not None else {}
    filled = []
    for r in responses:
        ours = r.response_claims if r.response_claims is not None else found.get((r.query, r.text), ())
        gold = r.gold_claims if r.gold_claims is not None else found.get((r.query, r.reference), ())
        filled.append(replace(r, response_claims=ours, gold_claims=gold))
    return filled


def _checked(response: Response, content: str, judged: Mapping[tuple[str, tuple[str, ...]], list[Judgement]], judge: str) -> Checked:
    matrices = {}
    for name, texts, claims in _tables(response):
        # An empty text entails nothing, and nobody need be asked.
        nothing = [Judgement("neutral")] * len(claims)
        matrices[name] = Matrix.of([judged.get((text, claims), nothing) for text in texts], len(claims))
    return Checked(response.id, content, judge, response.response_claims or (), response.gold_claims or (), matrices)


# Stored judgements


def read_checked(path: str | Path) -> list[Checked]:
    """The rows of a file that `check_stored` wrote; a last line that was cut off is left out. Raises InputError, naming the line."""
    rows = []
    lines = Path(path).read_text(encoding="utf-8").split("\n") if Path(path).exists() else []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            rows.append(Checked.from_dict(json.loads(line)))
        except (ValueError, KeyError, TypeError) as error:
            if number == len(lines):  # Without a line end: the run was killed while it wrote.
                break
            raise InputError(f"{path}: line {number}: not a checked response ({error}); remove the line or the file") from None
    return rows


def check_stored(
    responses: Sequence[Response],
    checker: Checker | None,
    path: str | Path,
    extractor: SyntacticExtractor | None = None,
    *,
    batch: int = 16,
) -> list[Checked]:
    """Like `check`, asking only for what the file does not hold yet and adding it, `batch` responses at a time.

    What the judge failed on is asked again, and the later row counts. Without a checker nothing is asked: every response must be in the
    file. Raises InputError where one is not, or where the file holds judgements of several judges and no checker says which are meant.
    """
    stored = read_checked(path)
    judges = sorted({row.judge for row in stored})
    if checker is None and len(judges) > 1:
        raise InputError(f"{path}: holds the judgements of {len(judges)} judges; give the checker whose judgements are meant")
    judge = _hash(judge_identity(checker, extractor)) if checker is not None else (judges[0] if judges else "")
    known = {row.content: row for row in stored if row.judge == judge}
    asked_again = {content for content, row in known.items() if row.failed and checker is not None}
    missing = list({r.content: r for r in responses if r.content not in known or r.content in asked_again}.values())
    if missing and checker is None:
        raise InputError(
            f"{path}: {len(missing)} of {len(responses)} responses are not in it, the first is {missing[0].id!r}; check them first"
        )
    if missing and checker is not None:
        _repair_end(Path(path))
        for start in range(0, len(missing), batch):
            part = missing[start : start + batch]
            with Path(path).open("a", encoding="utf-8", newline="\n") as stream:
                for row in check(part, checker, extractor):
                    known[row.content] = row
                    stream.write(to_json_line(asdict(row)) + "\n")
    return [_renamed(known[r.content], r.id) for r in responses]


def _renamed(row: Checked, name: str) -> Checked:
    """The row under another question's id: equal texts are judged once."""
    return row if row.id == name else replace(row, id=name)


def _repair_end(path: Path) -> None:
    """Cuts off a last line without a line end, which a killed run left."""
    path.parent.mkdir(parents=True, exist_ok=True)
    raw = path.read_bytes() if path.exists() else b""
    if raw and not raw.endswith(b"\n"):
        with path.open("r+b") as stream:
            stream.truncate(raw.rfind(b"\n") + 1)
