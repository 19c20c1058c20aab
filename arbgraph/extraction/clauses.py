"""One parsed sentence -> atomic clauses, by rules over the dependency tree.

A clause is a sequence of tokens of the sentence and of words written in ("was"). Split off are coordinated predicates and clauses,
non-restrictive relative clauses, appositions and participles; nothing is taken out of a frame (reported speech, conditions,
questions), and negation, modality, attribution and leading adverbials go with every clause they govern. Where a rule is unsure,
the longer clause is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from spacy.tokens import Span, Token

from arbgraph.extraction import lexicon as lex
from arbgraph.extraction.coordination import distributed, predicates
from arbgraph.extraction.subordinate import attribute_clauses, participle, split_off
from arbgraph.extraction.syntax import (
    Clause,
    SentenceState,
    Unit,
    attribution,
    conditions,
    conjuncts,
    is_finite,
    is_statement,
    joined,
    qualifiers,
    reports,
    subject_of,
    subtree,
    trim,
)


def _independents(root: Token) -> list[Token]:
    """Heads of the clauses that stand on their own in a sentence: the root, and clauses joined to it with a subject of their own."""
    heads = [root]
    found, words = conjuncts(root)
    # What stands before the first clause or after the last may reach both: then they stay together.
    start = (subject_of(root) or root).left_edge.i
    hedged = any(q.i < start for q in qualifiers(root))
    qualified = hedged or any(attribution(head) or conditions(head) for head in [root, *found])
    separable = not reports(root) and not qualified and not words & lex.DISJUNCTIONS
    chain = {root.i}
    for conj in found if separable else []:
        if conj.head.i in chain and joined(conj.head, conj) and conj.tag_ in lex.VERB_TAGS | {"MD"}:
            chain.add(conj.i)
            if is_statement(conj):
                heads.append(conj)
    if root.lower_ not in lex.REPORTING:
        for child in root.children:
            if child.dep_ in ("ccomp", "parataxis") and child.i < root.i and is_statement(child) and is_finite(child):
                between = root.doc[child.right_edge.i : (subject_of(root) or root).left_edge.i]
                marked = any(t.dep_ == "mark" for t in child.children)
                if not marked and any(t.text in (";", ":") for t in between):
                    heads.append(child)
    return sorted(heads, key=lambda t: t.i)


def _leading(head: Token, subject: Token, state: SentenceState) -> list[Token]:
    """Adverbials before the subject, with their comma."""
    tokens: list[Token] = []
    for child in head.children:
        if child.i < subject.left_edge.i and child.dep_ in ("prep", "npadvmod", "advcl", "advmod", "pcomp"):
            tokens += subtree(child)
    kept = [t for t in tokens if t.i not in state.removed]
    if not kept:
        return []
    last = max(t.i for t in kept)
    if last + 1 < state.span.end and state.span.doc[last + 1].text == ",":
        kept.append(state.span.doc[last + 1])
    return sorted(kept, key=lambda t: t.i)


def _remarks(phrase: Sequence[Token]) -> bool:
    return any(t.text == "," for t in phrase)


def _clause(head: Token, others: Sequence[Token], state: SentenceState) -> list[Clause]:
    """The clauses of one independent head."""
    outside = {t.i for other in others for t in other.subtree if other.i in {s.i for s in head.subtree}}
    tokens = [t for t in subtree(head) if t.i not in outside]
    subject = subject_of(head)
    assert subject is not None
    if not attribution(head):
        for child in list(head.children):
            if child.dep_ == "advcl":
                participle(child, head, subject, state)
        attribute_clauses(head, subject, state)
    tokens = trim(state.kept(tokens))
    inside = {t.i for t in subtree(subject)}
    phrase = [t for t in state.span if min(inside) <= t.i <= max(inside) and t.i not in state.removed]
    trimmed = trim(phrase)
    after = trimmed[-1].i + 1 if trimmed else 0
    # The remark inside "the machinery, wood and hemp, can be seen" keeps its second comma.
    named: list[Unit] = (
        [*trimmed, ","] if _remarks(trimmed) and after < state.span.end and state.span.doc[after].text == "," else list(trimmed)
    )
    lead = _leading(head, subject, state)
    plain = subject.i < head.i and all(t.i > phrase[-1].i or t in phrase or t in lead for t in tokens) if phrase else False
    if not plain or phrase[-1].dep_ == "cc" or subject.dep_ in ("csubj", "csubjpass"):
        return [Clause(tuple(tokens), "main", tuple(trimmed))]
    body = [t for t in tokens if t.i > phrase[-1].i]
    if lead and lead[0].lower_ in lex.CONNECTIVES and len([t for t in lead if t.text != ","]) == 1:
        lead = []
    return distributed(head, subject, body, lead, state) or list(predicates(head, named, body, "main", state, lead=lead))


def independent_heads(span: Span) -> list[Token]:
    """The predicates that a sentence asserts, in order, each with a subject of its own; empty for a fragment."""
    return [head for head in _independents(span.root) if is_statement(head)]


def clauses_of(span: Span) -> list[Clause]:
    """The clauses of a parsed sentence, in reading order; empty when its root heads no statement."""
    root = span.root
    heads = independent_heads(span)
    if not heads:
        return []
    state = SentenceState(span)
    if not attribution(root):
        for head in heads:
            split_off(head, state)
    found: list[Clause] = []
    for head in heads:
        found += _clause(head, [h for h in heads if h.i != head.i], state)
    return found + state.derived
