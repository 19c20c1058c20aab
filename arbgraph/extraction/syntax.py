"""What the clause rules ask of a dependency tree, and the clause that they build."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from spacy.tokens import Span, Token

from arbgraph.extraction import lexicon as lex

# A token of the sentence, or a word written in.
Unit = Token | str


@dataclass(frozen=True)
class Clause:
    """Units in reading order. `subject` holds the units that are its subject; `kind` names the construction it came from."""

    units: tuple[Unit, ...]
    kind: str
    subject: tuple[Unit, ...] = ()


@dataclass
class SentenceState:
    """What the rules share while one sentence is taken apart."""

    span: Span
    removed: set[int] = field(default_factory=set)
    derived: list[Clause] = field(default_factory=list)

    def kept(self, tokens: Sequence[Token]) -> list[Token]:
        return [token for token in tokens if token.i not in self.removed]


def subject_of(head: Token) -> Token | None:
    """The grammatical subject of a predicate, None without one. Expletive "there" and "it" count."""
    found = [child for child in head.children if child.dep_ in lex.SUBJECT_DEPS]
    real = [child for child in found if child.dep_ != "expl"] or found
    # Of two, the nearer one before the verb: the other is a heading ("Larne line: a ticket costs ...") that the parser took in.
    before = [child for child in real if child.i < head.i]
    return before[-1] if before else real[0] if real else None


def is_finite(head: Token) -> bool:
    """Whether a predicate has tense: its own or its auxiliary's."""
    return head.tag_ in lex.FINITE_TAGS or any(
        child.dep_ in ("aux", "auxpass") and child.tag_ in lex.FINITE_TAGS for child in head.children
    )


def is_statement(head: Token) -> bool:
    """Whether a token heads a full clause. A subject suffices: the tagger takes some finite verbs for nouns or participles."""
    subject = subject_of(head)
    return subject is not None and (
        is_finite(head) or (head.tag_ in ("NNS", "VBN", "VB", "NN") and subject.dep_ != "csubj" and subject.i < head.i)
    )


def is_plural_verb(head: Token) -> bool:
    """Whether the predicate shows plural agreement, which would be wrong with a single subject."""
    words = {child.lower_ for child in head.children if child.dep_ in ("aux", "auxpass")} | {head.lower_}
    return bool(words & {"were", "are", "have"}) or (is_finite(head) and head.tag_ == "VBP")


def plural(head: Token) -> bool:
    """Grammatical number of a noun phrase by its head."""
    name = head.tag_ == "NNPS" and head.ent_type_ in ("ORG", "GPE", "PERSON", "WORK_OF_ART", "PRODUCT", "FAC", "EVENT")
    return (
        (head.tag_ in ("NNS", "NNPS") and not name)
        or head.lower_ in ("they", "we", "these", "those")
        or any(child.dep_ == "conj" for child in head.children)
    )


def subtree(token: Token) -> list[Token]:
    return sorted(token.subtree, key=lambda t: t.i)


def trim(tokens: list[Token]) -> list[Token]:
    """Without the punctuation and conjunctions at both ends that joined the clause to others."""
    while tokens and (tokens[-1].text in (",", ";", ":", ".", "-", "–", "—") or tokens[-1].dep_ == "cc"):
        tokens = tokens[:-1]
    while tokens and (tokens[0].text in (",", ";", ":", ".", "-", "–", "—", ")", "]") or tokens[0].dep_ == "cc"):
        tokens = tokens[1:]
    return tokens


def conjuncts(head: Token) -> tuple[list[Token], set[str]]:
    """The predicates coordinated with `head`, in order, and the lower-case conjunctions between them."""
    found: list[Token] = []
    words: set[str] = set()
    frontier = [head]
    while frontier:
        current = frontier.pop(0)
        words |= {child.lower_ for child in current.children if child.dep_ in ("cc", "preconj")}
        for child in current.children:
            if child.dep_ == "conj":
                found.append(child)
                frontier.append(child)
    return found, words


def joined(first: Token, second: Token) -> bool:
    """Whether a conjunction or a comma stands between two predicates; without one, the parser took a participle for a verb."""
    return any(t.dep_ == "cc" or t.text in (",", ";", "&", "–", "—") for t in first.doc[first.i : second.i])


def framed(token: Token, root: Token) -> bool:
    """Whether anything between a token and the root stops it from being asserted on its own."""
    current = token
    while current.i != root.i and current.head.i != current.i:
        if current.dep_ in lex.FRAME_DEPS or (current.dep_ in ("relcl", "acl") and current.i != token.i):
            return True
        current = current.head
    return False


def reports(head: Token) -> bool:
    return any(child.dep_ == "ccomp" for child in head.children) or head.lower_ in lex.REPORTING


def conditions(head: Token) -> list[Token]:
    """Adverbial clauses that restrict when the predicate holds."""
    clauses = [child for child in head.children if child.dep_ == "advcl"]
    return [c for c in clauses if any(t.dep_ in ("mark", "advmod") and t.lower_ in lex.CONDITIONAL_MARKS for t in c.children)]


def qualifiers(head: Token) -> list[Token]:
    """Conditions, attributions and hedges of a predicate: none of them may be lost when it is split from others."""
    hedges = [child for child in head.children if child.dep_ in ("advmod", "neg") and child.lower_ in lex.HEDGES]
    return [*conditions(head), *attribution(head), *hedges]


def attribution(head: Token) -> list[Token]:
    return [child for child in head.children if child.dep_ == "prep" and child.lower_ == "according"]


def definite(head: Token) -> bool:
    """Whether a noun phrase names something in particular, so that a statement about it can stand alone."""
    if head.pos_ == "PROPN":
        return True
    determiners = [child for child in head.children if child.dep_ in ("det", "poss")]
    return any(child.dep_ == "poss" or child.lower_ in ("the", "this", "these", "those") for child in determiners)


def relative_pronoun(clause: Token) -> Token | None:
    for token in subtree(clause):
        if token.tag_ in ("WDT", "WP", "WP$") and token.i < clause.i + 1:
            return token
    return None


def comma_before(token: Token) -> bool:
    edge = token.left_edge.i
    return edge > 0 and token.doc[edge - 1].text in (",", "–", "—")


def noun_phrase(head: Token, stop: int, state: SentenceState) -> list[Token]:
    """The tokens of a noun phrase up to `stop`, without what was split off it."""
    tokens = [t for t in subtree(head) if t.i < stop and t.i not in state.removed and not (t.i < head.left_edge.i)]
    return trim(tokens)


def closed(phrase: Sequence[Token]) -> list[Unit]:
    """A noun phrase ready for a predicate: a remark inside it ("my aide, Ann Lee") needs its second comma."""
    last = phrase[-1] if phrase else None
    remark = any(t.text == "," for t in phrase) and not any(t.dep_ == "cc" for t in phrase)
    return [*phrase, ","] if remark and last is not None else list(phrase)


def remove(clause: Token, state: SentenceState) -> None:
    """Takes a subtree and the commas around it out of the clause it stood in."""
    tokens = subtree(clause)
    state.removed |= {t.i for t in tokens}
    before, after = clause.left_edge.i - 1, clause.right_edge.i + 1
    if before >= state.span.start and state.span.doc[before].text in (",", "–", "—"):
        state.removed.add(before)
    if after < state.span.end and state.span.doc[after].text in (",", "–", "—"):
        state.removed.add(after)
