"""Coordinated predicates -> one clause each, with the subject written out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spacy.tokens import Token

from arbgraph.extraction import lexicon as lex
from arbgraph.extraction.syntax import (
    Clause,
    SentenceState,
    Unit,
    conjuncts,
    is_finite,
    is_plural_verb,
    joined,
    qualifiers,
    reports,
    subject_of,
    subtree,
    trim,
)


def predicates(
    head: Token,
    subject: Sequence[Unit],
    body: Sequence[Token],
    kind: str,
    state: SentenceState,
    *,
    auxiliary: Sequence[Unit] = (),
    lead: Sequence[Token] = (),
) -> Iterator[Clause]:
    """A predicate and those coordinated with it, each with the subject written out.

    `body` is everything the head governs after its subject; `auxiliary` is written before the first predicate; `lead` holds
    adverbials that stand before the subject.
    """
    body = state.kept(body)
    allowed = {t.i for t in body}
    followers = [c for c in _splittable(head, subject, body, lead) if c.i in allowed]
    owned = {c.i: {t.i for t in c.subtree} for c in followers}
    for c in followers:
        for other in followers:
            if other.i != c.i and other.i in owned[c.i]:
                owned[c.i] -= {t.i for t in other.subtree}
    taken = set().union(*owned.values())
    if followers:
        taken |= {t.i for t in body if t.i > min(min(o) for o in owned.values()) and t.dep_ in ("cc", "punct")}
    main = trim([t for t in body if t.i not in taken])
    if body and body[0].text == "," and main and isinstance(subject[-1], Token):
        # "The law, if passed, would ban ...": the remark after the subject keeps its first comma.
        main = [body[0], *main]
    yield Clause((*lead, *subject, *auxiliary, *main), kind, tuple(subject))
    carried = _carried(head, auxiliary)
    for c in followers:
        own = [t for t in body if t.i in owned[c.i]]
        dates = any(t.ent_type_ in ("DATE", "TIME") for t in own)
        timed = [t for t in lead if not dates or not any(x.ent_type_ in ("DATE", "TIME") for x in lead)]
        helpers = carried if _shares(head, c) else []
        if c.tag_ == "VB":
            helpers = [h for h in helpers if isinstance(h, str) or h.lower_ not in lex.BE]
        yield Clause((*timed, *subject, *helpers, *trim(own)), "coordination", tuple(subject))


def _shares(head: Token, follower: Token) -> bool:
    """Whether a coordinated predicate leans on the auxiliaries of the first one."""
    if any(child.dep_ in ("aux", "auxpass") for child in follower.children):
        return False
    passive = any(child.dep_ == "auxpass" for child in head.children) or head.lower_ in lex.BE
    complements = {child.dep_ for child in follower.children}
    if passive and follower.tag_ in ("VBN", "VBD"):
        # The tagger confuses past tense and participle: an object tells them apart, except with verbs of naming.
        if follower.lower_ in lex.NAMING_PARTICIPLES:
            return True
        if complements & {"dobj", "attr", "xcomp", "ccomp"}:
            return False
        by = any(child.dep_ in ("prep", "agent") and child.lower_ in ("by", "with", "as") for child in follower.children)
        return follower.tag_ == "VBN" or by or follower.lower_ in lex.PASSIVE_PARTICIPLES
    return follower.tag_ in ("VB", "VBN", "VBG")


def _unclear(head: Token, follower: Token) -> bool:
    """Whether a participle after a passive may as well be a past tense: "was formed in 1891 and played in the league"."""
    if follower.tag_ != "VBN" or not follower.lower_.endswith("ed") or not any(child.dep_ == "auxpass" for child in head.children):
        return False
    if any(child.dep_ in ("aux", "auxpass", "dobj", "attr", "agent") for child in follower.children):
        return False
    by = any(child.dep_ == "prep" and child.lower_ in ("by", "with", "as") for child in follower.children)
    return not by and follower.lower_ not in lex.PASSIVE_PARTICIPLES | lex.NAMING_PARTICIPLES


def _carried(head: Token, auxiliary: Sequence[Unit]) -> list[Unit]:
    """Auxiliaries and negation of the first predicate that the next ones share when they have none of their own."""
    units: list[Unit] = list(auxiliary)
    if head.lower_ in lex.BE_FINITE and head.dep_ not in ("aux", "auxpass"):
        units.append(head)
    units += [
        c
        for c in head.children
        if (c.dep_ in ("aux", "auxpass", "neg") and c.i < head.i) or (c.dep_ == "neg" and head.lower_ in lex.BE_FINITE)
    ]
    return units


def _splittable(head: Token, subject: Sequence[Unit], body: Sequence[Token], lead: Sequence[Token]) -> list[Token]:
    """Predicates coordinated with `head` that can be stated on their own; none at all when the coordination is not plain."""
    found, words = conjuncts(head)
    found = [c for c in found if c.tag_ in lex.VERB_TAGS | {"MD"} and subject_of(c) is None]
    if not found or words & lex.DISJUNCTIONS or reports(head) or any(reports(c) for c in found):
        return []
    if any(isinstance(u, Token) and u.lower_ in lex.EMPTY_QUANTIFIERS for u in subject):
        return []
    lowered = [t.lower_ for t in body]
    if ("only" in lowered and "also" in lowered) or "both" in lowered:
        return []
    written = {t.i for t in lead}
    shared = [q for q in qualifiers(head) if q.i not in written]
    if shared or any(q.dep_ != "neg" and q.lower_ not in lex.HEDGES for c in found for q in qualifiers(c)):
        return []
    found = [c for c in found if is_finite(c) or c.tag_ in ("VB", "VBN", "VBG", "VBD")]
    accepted: list[Token] = []
    previous = head
    for c in found:
        if c.head.i != head.i and all(c.head.i != other.i for other in accepted):
            continue
        complement = [t for t in body if previous.i < t.i < c.left_edge.i and t.dep_ not in ("cc", "punct", "advmod", "prt", "neg")]
        if not complement and previous.i == c.head.i:
            # "was designed and built by X": what follows belongs to both, so they stay together.
            return accepted
        accepted.append(c)
        previous = c
    return accepted if _plain(head, accepted, body) else []


def _plain(head: Token, followers: Sequence[Token], body: Sequence[Token]) -> bool:
    """Whether coordinated predicates follow each other cleanly: nothing of the first after the last, each can stand without the others."""
    if not followers:
        return False
    owned = {t.i for c in followers for t in c.subtree}
    first = min(c.left_edge.i for c in followers)
    if any(t.i > first and t.i not in owned and t.dep_ not in ("cc", "punct") for t in body):
        return False
    for c in followers:
        if not joined(c.head, c) or _unclear(head, c):
            return False
        # "flows through the city and separates it": the object pronoun stands for something in the first predicate.
        if any(t.lower_ in ("it", "them", "him") and t.dep_ in ("dobj", "pobj", "dative") for t in c.subtree):
            return False
        if any(child.dep_ == "dobj" and child.pos_ == "NUM" for child in c.children):
            # "Forest covers 9,700 hectares, fields 2,350": a noun taken for a verb.
            return False
        if c.tag_ == "VBG" and head.tag_ != "VBG":
            return False
        if c.tag_ == "VB" and not any(isinstance(u, str) or u.dep_ == "aux" for u in _carried(head, ())) and subject_of(c) is None:
            return False
    return True


def distributed(head: Token, subject: Token, body: Sequence[Token], lead: Sequence[Token], state: SentenceState) -> list[Clause]:
    """ "A and B both joined": "both" and "each" say that the predicate holds of every coordinated subject."""
    members = [subject, *conjuncts(subject)[0]]
    marker = next((t for t in head.doc[subject.right_edge.i : head.i + 1] if t.lower_ in ("both", "each")), None)
    marker = marker or next((t for t in subject.children if t.dep_ == "preconj" and t.lower_ == "both"), None)
    if marker is None or len(members) != 2 or any(m.pos_ not in ("NOUN", "PROPN") for m in members) or is_plural_verb(head):
        return []
    rest = [t for t in state.kept(body) if t.i != marker.i]
    clauses = []
    for member in members:
        inner = {t.i for other in members if other.i != member.i and other.i in {s.i for s in member.subtree} for t in other.subtree}
        phrase = trim([t for t in subtree(member) if t.i not in inner and t.dep_ not in ("cc", "preconj") and t.i != marker.i])
        clauses += predicates(head, phrase, rest, "subject", state, lead=lead)
    return clauses
