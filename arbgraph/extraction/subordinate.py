"""Relative clauses, appositions and participles -> statements about the noun they describe."""

from __future__ import annotations

from spacy.tokens import Token

from arbgraph.extraction import lexicon as lex
from arbgraph.extraction.coordination import predicates
from arbgraph.extraction.syntax import (
    Clause,
    SentenceState,
    Unit,
    closed,
    comma_before,
    definite,
    framed,
    is_finite,
    noun_phrase,
    plural,
    relative_pronoun,
    remove,
    subject_of,
    subtree,
)


def _ambiguous_head(noun: Token, clause: Token, pronoun: Token) -> bool:
    """Whether the relative clause could as well belong to another noun that agrees with its verb."""
    start = clause.left_edge.i
    if start - 1 - noun.i <= 1:
        # The noun is the nearest one. Inside a larger phrase ("the son of X, who") the outer noun competes if it agrees.
        outer = noun.head.head if noun.dep_ == "pobj" and noun.head.dep_ == "prep" else None
        if outer is None or outer.pos_ not in ("NOUN", "PROPN") or outer.lower_ in lex.PLACE_CLASSES or plural(outer) != plural(noun):
            return False
        person = outer.ent_type_ == "PERSON" or outer.lower_ in lex.PERSON_NOUNS
        return person == (pronoun.lower_ == "who") or pronoun.lower_ not in ("who", "which")
    between = [t for t in noun.doc[noun.i + 1 : start] if t.pos_ in ("NOUN", "PROPN") and t.dep_ in ("pobj", "conj", "dobj")]
    return any(plural(t) == plural(noun) for t in between)


def _number_agrees(noun: Token, verb: Token) -> bool:
    words = {child.lower_ for child in verb.children if child.dep_ in ("aux", "auxpass")} | {verb.lower_}
    if words & {"was", "is", "has"}:
        return not plural(noun)
    if words & {"were", "are", "have"}:
        return plural(noun)
    return True


def _relative(clause: Token, root: Token, state: SentenceState) -> None:
    """A non-restrictive relative clause becomes a statement about its noun."""
    noun = clause.head
    pronoun = relative_pronoun(clause)
    if pronoun is None or not comma_before(clause) or not is_finite(clause) or framed(clause, root):
        return
    if (
        pronoun.left_edge.i != clause.left_edge.i
        or not definite(noun)
        or noun.ent_type_ in ("DATE", "TIME", "CARDINAL", "PERCENT", "MONEY")
    ):
        return
    if noun.dep_ == "attr" and noun.head.i == root.i and any(t.lower_ == "it" for t in root.lefts):
        # "It is X who ...": the clause is the message, not a remark on X.
        return
    last = clause.right_edge.i >= state.span.end - 2
    copula = clause.lower_ in lex.BE and noun.dep_ == "pobj" and noun.pos_ != "PROPN"
    if pronoun.lower_ == "which" and last and noun.i > root.i and (clause.lower_ in lex.SENTENTIAL_VERBS or copula):
        return
    if _ambiguous_head(noun, clause, pronoun):
        return
    name = noun_phrase(noun, clause.left_edge.i, state)
    phrase = closed(name)
    body = [t for t in subtree(clause) if t.i != pronoun.i]
    if not phrase:
        return
    if pronoun.tag_ == "WP$" and pronoun.head.dep_ in lex.SUBJECT_DEPS:
        possessive = "'" if name[-1].text.endswith("s") and plural(noun) else "'s"
        subject: list[Unit] = [*name, possessive, *(t for t in subtree(pronoun.head) if t.i != pronoun.i)]
        rest = [t for t in body if t.i > pronoun.head.right_edge.i]
        state.derived.append(Clause((*subject, *rest), "relative", tuple(phrase)))
    elif pronoun.dep_ in ("nsubj", "nsubjpass") and pronoun.head.i == clause.i and _number_agrees(noun, clause):
        state.derived.extend(predicates(clause, phrase, [t for t in body if t.i > pronoun.i], "relative", state))
    elif pronoun.dep_ == "dobj" and pronoun.head.i == clause.i and subject_of(clause) is not None:
        at = max([clause.i, *(t.i for t in clause.children if t.dep_ == "prt")])
        units = [*(t for t in body if t.i <= at), *phrase, *(t for t in body if t.i > at)]
        state.derived.append(Clause(tuple(units), "relative", tuple(subtree(subject_of(clause) or clause))))
    else:
        return
    remove(clause, state)


def _apposition(appos: Token, root: Token, state: SentenceState) -> None:
    """ "Leonie Marsden, an architect, ..." states that she is an architect."""
    noun = appos.head
    if noun.pos_ != "PROPN" or appos.pos_ not in ("NOUN", "PROPN") or not comma_before(appos) or framed(appos, root):
        return
    first = appos.left_edge
    after = appos.right_edge.i + 1
    ended = after >= state.span.end or state.span.doc[after].text in (",", ".", "–", "—", ";")
    determined = first.lower_ in ("a", "an", "the", "its", "his", "her", "their")
    if not determined or not ended or any(child.dep_ in ("conj", "appos", "cc") for child in noun.children if child.i != appos.i):
        return
    if (
        any(child.dep_ in ("conj", "appos") for child in appos.children)
        or plural(noun) != plural(appos)
        or noun.ent_type_ in ("DATE", "TIME")
    ):
        return
    if noun.ent_type_ in ("GPE", "LOC", "FAC", "ORG") and appos.lower_ in lex.PERSON_NOUNS:
        return
    if noun.ent_type_ == "PERSON" and first.dep_ == "poss" and appos.lower_ not in lex.PERSON_NOUNS:
        # "by Helen Garner, her first published book": the book is not the writer.
        return
    phrase = closed(noun_phrase(noun, first.i, state))
    if not phrase or noun.dep_ in ("conj", "compound"):
        return
    state.derived.append(Clause((*phrase, "are" if plural(noun) else "is", *subtree(appos)), "apposition", tuple(phrase)))
    remove(appos, state)


def _reduced(clause: Token, root: Token, state: SentenceState) -> None:
    """ "The firm, founded in 1974, makes boats" states that the firm was founded in 1974."""
    noun = clause.head
    after = clause.right_edge.i + 1
    if not comma_before(clause) or clause.left_edge.i != clause.i or after >= state.span.end or state.span.doc[after].text != ",":
        return
    if (
        noun.dep_ not in ("nsubj", "nsubjpass")
        or not definite(noun)
        or framed(clause, root)
        or clause.lower_ in lex.PREPOSITIONAL_PARTICIPLES
    ):
        return
    if any(child.dep_ in ("mark", "aux", "neg", "conj") for child in clause.children):
        return
    phrase = closed(noun_phrase(noun, clause.left_edge.i, state))
    if phrase:
        state.derived.append(Clause((*phrase, _be(noun, _present(clause, root)), *subtree(clause)), "participle", tuple(phrase)))
        remove(clause, state)


def _present(participle: Token, root: Token) -> bool:
    """Whether a participle describes a state that lasts ("located in"), in a sentence in the present tense."""
    return participle.lower_ in lex.STATIVE_PARTICIPLES and root.tag_ in ("VBZ", "VBP")


def _copula(root: Token, present: bool) -> str:
    """The form of "be" that agrees with the copula of the sentence: a name such as "Flesh and Bone" is one thing."""
    if root.lower_ in ("are", "were"):
        return "are" if present else "were"
    return "is" if present else "was"


def _be(subject: Token, present: bool) -> str:
    if plural(subject) or subject.lower_ == "you":
        return "are" if present else "were"
    return "is" if present else "was"


def participle(clause: Token, root: Token, subject: Token, state: SentenceState) -> None:
    """ "Built in 1899, the bridge ..." states that the bridge was built in 1899."""
    if (
        clause.tag_ != "VBN"
        or clause.lower_ in lex.PREPOSITIONAL_PARTICIPLES
        or clause.right_edge.i >= subject.left_edge.i
        or framed(root, root)
    ):
        return
    if any(child.dep_ in ("mark", "aux", "auxpass", "neg", "conj", *lex.SUBJECT_DEPS) for child in clause.children) or subject.dep_ in (
        "expl",
        "csubj",
    ):
        return
    if (clause.left_edge.i != clause.i and clause.left_edge.dep_ != "advmod") or clause.left_edge.lower_ in lex.CONDITIONAL_MARKS:
        return
    if state.span.doc[clause.right_edge.i + 1].text != ",":
        return
    phrase = closed(noun_phrase(subject, subject.right_edge.i + 1, state))
    state.derived.append(Clause((*phrase, _be(subject, _present(clause, root)), *subtree(clause)), "participle", tuple(phrase)))
    remove(clause, state)


def attribute_clauses(root: Token, subject: Token, state: SentenceState) -> None:
    """ "X is a school founded in 1912" also states that X was founded in 1912; the sentence itself stays whole."""
    if root.lower_ not in lex.BE_FINITE or subject.dep_ == "expl" or subject.lower_ in ("it", "that", "this", "what", "there"):
        return
    children = list(root.children)
    if any(child.dep_ in ("neg", "aux") for child in children) or any(t.lower_ in lex.EMPTY_QUANTIFIERS for t in subject.subtree):
        return
    for attribute in (child for child in children if child.dep_ == "attr" and child.i > root.i):
        if plural(attribute) or any(child.dep_ == "neg" for child in attribute.children):
            continue
        phrase = closed(noun_phrase(subject, subject.right_edge.i + 1, state))
        for clause in (child for child in attribute.children if child.i > attribute.i):
            if clause.dep_ == "acl" and clause.tag_ == "VBN" and not any(c.dep_ in ("aux", "mark", "neg") for c in clause.children):
                state.derived.extend(
                    predicates(clause, phrase, subtree(clause), "participle", state, auxiliary=[_copula(root, _present(clause, root))])
                )
            elif clause.dep_ == "relcl" and is_finite(clause) and not comma_before(clause):
                pronoun = relative_pronoun(clause)
                if (
                    pronoun is not None
                    and pronoun.dep_ in ("nsubj", "nsubjpass")
                    and pronoun.head.i == clause.i
                    and pronoun.left_edge.i == clause.left_edge.i
                ):
                    body = [t for t in subtree(clause) if t.i > pronoun.i]
                    state.derived.extend(predicates(clause, phrase, body, "relative", state))


def split_off(root: Token, state: SentenceState) -> None:
    """Relative clauses, appositions and participles of the whole sentence, innermost last."""
    for token in state.span:
        if token.dep_ == "relcl":
            _relative(token, root, state)
        elif token.dep_ == "appos":
            _apposition(token, root, state)
        elif token.dep_ == "acl" and token.tag_ == "VBN":
            _reduced(token, root, state)
