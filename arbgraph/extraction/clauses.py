"""One parsed sentence -> atomic clauses, by rules over the dependency tree.

A clause is a sequence of tokens of the sentence and of words written in ("was"). Split off are coordinated predicates and clauses,
non-restrictive relative clauses, appositions and participles; nothing is taken out of a frame (reported speech, conditions,
questions), and negation, modality, attribution and leading adverbials go with every clause they govern. Where a rule is unsure,
the longer clause is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
class _Sentence:
    """What the rules share while one sentence is taken apart."""

    span: Span
    removed: set[int] = field(default_factory=set)
    derived: list[Clause] = field(default_factory=list)

    def kept(self, tokens: Sequence[Token]) -> list[Token]:
        return [token for token in tokens if token.i not in self.removed]


def subject_of(head: Token) -> Token | None:
    """The grammatical subject of a predicate, None without one. Expletive "there" and "it" count."""
    found = [child for child in head.children if child.dep_ in lex.SUBJECT_DEPS]
    real = [child for child in found if child.dep_ != "expl"]
    return (real or found or [None])[0]


def is_finite(head: Token) -> bool:
    """Whether a predicate has tense: its own or its auxiliary's."""
    return head.tag_ in lex.FINITE_TAGS or any(child.dep_ in ("aux", "auxpass") and child.tag_ in lex.FINITE_TAGS for child in head.children)


def is_statement(head: Token) -> bool:
    """Whether a token heads a full clause. A subject suffices: the tagger takes some finite verbs for nouns or participles."""
    subject = subject_of(head)
    return subject is not None and (is_finite(head) or (head.tag_ in ("NNS", "VBN", "VB", "NN") and subject.dep_ != "csubj" and subject.i < head.i))


def plural(head: Token) -> bool:
    """Grammatical number of a noun phrase by its head."""
    return head.tag_ in ("NNS", "NNPS") or head.lower_ in ("they", "we", "these", "those") or any(child.dep_ == "conj" for child in head.children)


def _subtree(token: Token) -> list[Token]:
    return sorted(token.subtree, key=lambda t: t.i)


def _trim(tokens: list[Token]) -> list[Token]:
    """Without the punctuation and conjunctions at both ends that joined the clause to others."""
    while tokens and (tokens[-1].text in (",", ";", ":", "-", "–", "—") or tokens[-1].dep_ == "cc"):
        tokens = tokens[:-1]
    while tokens and (tokens[0].text in (",", ";", ":", ".", "-", "–", "—", ")", "]") or tokens[0].dep_ == "cc"):
        tokens = tokens[1:]
    return tokens


def _conjuncts(head: Token) -> tuple[list[Token], set[str]]:
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


def _framed(token: Token, root: Token) -> bool:
    """Whether anything between a token and the root stops it from being asserted on its own."""
    current = token
    while current.i != root.i and current.head.i != current.i:
        if current.dep_ in lex.FRAME_DEPS or (current.dep_ in ("relcl", "acl") and current.i != token.i):
            return True
        current = current.head
    return False


def _reports(head: Token) -> bool:
    return any(child.dep_ == "ccomp" for child in head.children) or head.lower_ in lex.REPORTING


def _conditions(head: Token) -> list[Token]:
    """Adverbial clauses that restrict when the predicate holds."""
    clauses = [child for child in head.children if child.dep_ == "advcl"]
    return [c for c in clauses if any(t.dep_ in ("mark", "advmod") and t.lower_ in lex.CONDITIONAL_MARKS for t in c.children)]


def _attribution(head: Token) -> list[Token]:
    return [child for child in head.children if child.dep_ == "prep" and child.lower_ == "according"]


def _independents(root: Token) -> list[Token]:
    """Heads of the clauses that stand on their own in a sentence: the root, and clauses joined to it with a subject of their own."""
    heads = [root]
    if not _reports(root):
        found, words = _conjuncts(root)
        if not words & lex.DISJUNCTIONS and "not" not in {t.lower_ for t in root.lefts if t.dep_ == "preconj"}:
            chain = {root.i}
            for conj in found:
                if conj.head.i in chain and conj.tag_ in lex.VERB_TAGS | {"MD"} and is_statement(conj):
                    heads.append(conj)
                    chain.add(conj.i)
                elif conj.head.i in chain and conj.tag_ in lex.VERB_TAGS:
                    chain.add(conj.i)
    if root.lower_ not in lex.REPORTING:
        for child in root.children:
            if child.dep_ in ("ccomp", "parataxis") and child.i < root.i and is_statement(child) and is_finite(child):
                between = root.doc[child.right_edge.i : (subject_of(root) or root).left_edge.i]
                marked = any(t.dep_ == "mark" for t in child.children)
                if not marked and any(t.text in (";", ":") for t in between):
                    heads.append(child)
    return sorted(heads, key=lambda t: t.i)


def _definite(head: Token) -> bool:
    """Whether a noun phrase names something in particular, so that a statement about it can stand alone."""
    if head.pos_ == "PROPN":
        return True
    determiners = [child for child in head.children if child.dep_ in ("det", "poss")]
    return any(child.dep_ == "poss" or child.lower_ in ("the", "this", "these", "those") for child in determiners)


def _relative_pronoun(clause: Token) -> Token | None:
    for token in _subtree(clause):
        if token.tag_ in ("WDT", "WP", "WP$") and token.i < clause.i + 1:
            return token
    return None


def _comma_before(token: Token) -> bool:
    edge = token.left_edge.i
    return edge > 0 and token.doc[edge - 1].text in (",", "–", "—")


def _noun_phrase(head: Token, stop: int, state: _Sentence) -> list[Token]:
    """The tokens of a noun phrase up to `stop`, without what was split off it."""
    tokens = [t for t in _subtree(head) if t.i < stop and t.i not in state.removed and not (t.i < head.left_edge.i)]
    return _trim(tokens)


def _remove(clause: Token, state: _Sentence) -> None:
    """Takes a subtree and the commas around it out of the clause it stood in."""
    tokens = _subtree(clause)
    state.removed |= {t.i for t in tokens}
    before, after = clause.left_edge.i - 1, clause.right_edge.i + 1
    if before >= state.span.start and state.span.doc[before].text in (",", "–", "—"):
        state.removed.add(before)
    if after < state.span.end and state.span.doc[after].text in (",", "–", "—"):
        state.removed.add(after)


def _ambiguous_head(noun: Token, clause: Token, pronoun: Token) -> bool:
    """Whether the relative clause could as well belong to another noun that agrees with its verb."""
    start = clause.left_edge.i
    if start - 1 - noun.i <= 1:
        # The noun is the nearest one; it is ambiguous only inside "the X of Y, which".
        outer = noun.head.head if noun.dep_ == "pobj" and noun.head.lower_ == "of" else None
        named_class = outer is not None and outer.lower_ in ("city", "town", "village", "state", "island", "county", "river", "province", "district", "republic")
        return outer is not None and not named_class and outer.pos_ in ("NOUN", "PROPN") and plural(outer) == plural(noun) and pronoun.lower_ == "which"
    between = [t for t in noun.doc[noun.i + 1 : start] if t.pos_ in ("NOUN", "PROPN") and t.dep_ in ("pobj", "conj", "dobj")]
    return any(plural(t) == plural(noun) for t in between)


def _number_agrees(noun: Token, verb: Token) -> bool:
    words = {child.lower_ for child in verb.children if child.dep_ in ("aux", "auxpass")} | {verb.lower_}
    if words & {"was", "is", "has"}:
        return not plural(noun)
    if words & {"were", "are", "have"}:
        return plural(noun)
    return True


def _relative(clause: Token, root: Token, state: _Sentence) -> None:
    """A non-restrictive relative clause becomes a statement about its noun."""
    noun = clause.head
    pronoun = _relative_pronoun(clause)
    if pronoun is None or not _comma_before(clause) or not is_finite(clause) or _framed(clause, root):
        return
    if pronoun.left_edge.i != clause.left_edge.i or not _definite(noun) or noun.ent_type_ in ("DATE", "TIME", "CARDINAL", "PERCENT", "MONEY"):
        return
    last = clause.right_edge.i >= state.span.end - 2
    if pronoun.lower_ == "which" and last and clause.lower_ in lex.SENTENTIAL_VERBS and noun.i > root.i:
        return
    if _ambiguous_head(noun, clause, pronoun):
        return
    phrase = _noun_phrase(noun, clause.left_edge.i, state)
    body = [t for t in _subtree(clause) if t.i != pronoun.i]
    if not phrase:
        return
    if pronoun.tag_ == "WP$" and pronoun.head.dep_ in lex.SUBJECT_DEPS:
        possessive = "'" if phrase[-1].text.endswith("s") and plural(noun) else "'s"
        subject: list[Unit] = [*phrase, possessive, *(t for t in _subtree(pronoun.head) if t.i != pronoun.i)]
        rest = [t for t in body if t.i > pronoun.head.right_edge.i]
        state.derived.append(Clause((*subject, *rest), "relative", tuple(phrase)))
    elif pronoun.dep_ in ("nsubj", "nsubjpass") and pronoun.head.i == clause.i and _number_agrees(noun, clause):
        state.derived.extend(_predicates(clause, phrase, [t for t in body if t.i > pronoun.i], "relative", state))
    elif pronoun.dep_ == "dobj" and pronoun.head.i == clause.i and subject_of(clause) is not None:
        at = max([clause.i, *(t.i for t in clause.children if t.dep_ == "prt")])
        units = [*(t for t in body if t.i <= at), *phrase, *(t for t in body if t.i > at)]
        state.derived.append(Clause(tuple(units), "relative", tuple(_subtree(subject_of(clause) or clause))))
    else:
        return
    _remove(clause, state)


def _apposition(appos: Token, root: Token, state: _Sentence) -> None:
    """"Leonie Marsden, an architect, ..." states that she is an architect."""
    noun = appos.head
    if noun.pos_ != "PROPN" or appos.pos_ not in ("NOUN", "PROPN") or not _comma_before(appos) or _framed(appos, root):
        return
    first = appos.left_edge
    after = appos.right_edge.i + 1
    closed = after >= state.span.end or state.span.doc[after].text in (",", ".", "–", "—", ";")
    determined = first.lower_ in ("a", "an", "the", "its", "his", "her", "their")
    if not determined or not closed or any(child.dep_ in ("conj", "appos", "cc") for child in noun.children if child.i != appos.i):
        return
    if any(child.dep_ in ("conj", "appos") for child in appos.children) or plural(noun) != plural(appos) or noun.ent_type_ in ("DATE", "TIME"):
        return
    phrase = _noun_phrase(noun, first.i, state)
    if not phrase or noun.dep_ in ("conj", "compound"):
        return
    state.derived.append(Clause((*phrase, "are" if plural(noun) else "is", *_subtree(appos)), "apposition", tuple(phrase)))
    _remove(appos, state)


def _be(subject: Token, present: bool) -> str:
    if plural(subject) or subject.lower_ == "you":
        return "are" if present else "were"
    return "is" if present else "was"


def _participle(clause: Token, root: Token, subject: Token, state: _Sentence) -> None:
    """"Built in 1899, the bridge ..." states that the bridge was built in 1899."""
    if clause.tag_ != "VBN" or clause.lower_ in lex.PREPOSITIONAL_PARTICIPLES or clause.right_edge.i >= subject.left_edge.i or _framed(root, root):
        return
    if any(child.dep_ in ("mark", "aux", "auxpass", "neg", "conj", *lex.SUBJECT_DEPS) for child in clause.children) or subject.dep_ in ("expl", "csubj"):
        return
    if clause.left_edge.i != clause.i and clause.left_edge.dep_ != "advmod" or clause.left_edge.lower_ in lex.CONDITIONAL_MARKS:
        return
    if state.span.doc[clause.right_edge.i + 1].text != ",":
        return
    phrase = _noun_phrase(subject, subject.right_edge.i + 1, state)
    stative = clause.lower_ in lex.STATIVE_PARTICIPLES and root.tag_ in ("VBZ", "VBP")
    state.derived.append(Clause((*phrase, _be(subject, stative), *_subtree(clause)), "participle", tuple(phrase)))
    _remove(clause, state)


def _attribute_clauses(root: Token, subject: Token, state: _Sentence) -> None:
    """"X is a school founded in 1912" also states that X was founded in 1912; the sentence itself stays whole."""
    if root.lower_ not in lex.BE_FINITE or subject.dep_ == "expl" or subject.lower_ in ("it", "that", "this", "what", "there"):
        return
    children = list(root.children)
    if any(child.dep_ in ("neg", "aux") for child in children) or any(t.lower_ in lex.EMPTY_QUANTIFIERS for t in subject.subtree):
        return
    for attribute in (child for child in children if child.dep_ == "attr" and child.i > root.i):
        if plural(attribute) or any(child.dep_ == "neg" for child in attribute.children):
            continue
        phrase = _noun_phrase(subject, subject.right_edge.i + 1, state)
        for clause in (child for child in attribute.children if child.i > attribute.i):
            if clause.dep_ == "acl" and clause.tag_ == "VBN" and not any(c.dep_ in ("aux", "mark", "neg") for c in clause.children):
                state.derived.extend(_predicates(clause, phrase, _subtree(clause), "participle", state, auxiliary=[root.lower_]))
            elif clause.dep_ == "relcl" and is_finite(clause) and not _comma_before(clause):
                pronoun = _relative_pronoun(clause)
                if pronoun is not None and pronoun.dep_ in ("nsubj", "nsubjpass") and pronoun.head.i == clause.i and pronoun.left_edge.i == clause.left_edge.i:
                    body = [t for t in _subtree(clause) if t.i > pronoun.i]
                    state.derived.extend(_predicates(clause, phrase, body, "relative", state))


def _predicates(
    head: Token, subject: Sequence[Unit], body: Sequence[Token], kind: str, state: _Sentence, *, auxiliary: Sequence[Unit] = (), lead: Sequence[Token] = ()
) -> Iterator[Clause]:
    """A predicate and those coordinated with it, each with the subject written out.

    `body` is everything the head governs after its subject; `auxiliary` is written before the first predicate; `lead` holds
    adverbials that stand before the subject.
    """
    body = state.kept(body)
    allowed = {t.i for t in body}
    conjuncts = [c for c in _splittable(head, subject, body) if c.i in allowed]
    owned = {c.i: {t.i for t in c.subtree} for c in conjuncts}
    for c in conjuncts:
        for other in conjuncts:
            if other.i != c.i and other.i in owned[c.i]:
                owned[c.i] -= {t.i for t in other.subtree}
    taken = set().union(*owned.values()) if owned else set()
    main = _trim([t for t in body if t.i not in taken])
    yield Clause((*lead, *subject, *auxiliary, *main), kind, tuple(subject))
    carried = _carried(head, auxiliary)
    for c in conjuncts:
        own = [t for t in body if t.i in owned[c.i]]
        dates = any(t.ent_type_ in ("DATE", "TIME") for t in own)
        timed = [t for t in lead if not dates or not any(x.ent_type_ in ("DATE", "TIME") for x in lead)]
        helpers = carried if c.tag_ in ("VB", "VBN", "VBG") and not any(x.dep_ in ("aux", "auxpass") for x in c.children) else []
        if c.tag_ == "VB":
            helpers = [h for h in helpers if isinstance(h, str) or h.lower_ not in lex.BE]
        yield Clause((*timed, *subject, *helpers, *_trim(own)), "coordination", tuple(subject))


def _carried(head: Token, auxiliary: Sequence[Unit]) -> list[Unit]:
    """Auxiliaries and negation of the first predicate that the next ones share when they have none of their own."""
    units: list[Unit] = list(auxiliary)
    if head.lower_ in lex.BE_FINITE and head.dep_ not in ("aux", "auxpass"):
        units.append(head)
    units += [c for c in head.children if c.dep_ in ("aux", "auxpass", "neg") and c.i < head.i or c.dep_ == "neg" and head.lower_ in lex.BE_FINITE]
    return units


def _splittable(head: Token, subject: Sequence[Unit], body: Sequence[Token]) -> list[Token]:
    """Predicates coordinated with `head` that can be stated on their own; none at all when the coordination is not plain."""
    found, words = _conjuncts(head)
    found = [c for c in found if c.tag_ in lex.VERB_TAGS | {"MD"} and subject_of(c) is None]
    if not found or words & lex.DISJUNCTIONS or _reports(head) or any(_reports(c) for c in found):
        return []
    if any(isinstance(u, Token) and u.lower_ in lex.EMPTY_QUANTIFIERS for u in subject):
        return []
    lowered = [t.lower_ for t in body]
    if "only" in lowered and "also" in lowered or "both" in lowered:
        return []
    restricting = [t for c in found for t in _conditions(c) if t.i > c.i] + [t for t in _conditions(head) if t.i > head.i]
    if restricting:
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
    return accepted


def _leading(head: Token, subject: Token, state: _Sentence) -> list[Token]:
    """Adverbials before the subject, with their comma."""
    tokens: list[Token] = []
    for child in head.children:
        if child.i < subject.left_edge.i and child.dep_ in ("prep", "npadvmod", "advcl", "advmod", "pcomp"):
            tokens += _subtree(child)
    kept = [t for t in tokens if t.i not in state.removed]
    if not kept:
        return []
    last = max(t.i for t in kept)
    if last + 1 < state.span.end and state.span.doc[last + 1].text == ",":
        kept.append(state.span.doc[last + 1])
    return sorted(kept, key=lambda t: t.i)


def _distributed(head: Token, subject: Token, body: Sequence[Token], lead: Sequence[Token], state: _Sentence) -> list[Clause]:
    """"A and B both joined": "both" and "each" say that the predicate holds of every coordinated subject."""
    members = [subject, *_conjuncts(subject)[0]]
    marker = next((t for t in head.doc[subject.right_edge.i : head.i + 1] if t.lower_ in ("both", "each")), None)
    marker = marker or next((t for t in subject.children if t.dep_ == "preconj" and t.lower_ == "both"), None)
    if marker is None or len(members) != 2 or any(m.pos_ not in ("NOUN", "PROPN") for m in members) or is_plural_verb(head):
        return []
    rest = [t for t in state.kept(body) if t.i != marker.i]
    clauses = []
    for member in members:
        inner = {t.i for other in members if other.i != member.i and other.i in {s.i for s in member.subtree} for t in other.subtree}
        phrase = _trim([t for t in _subtree(member) if t.i not in inner and t.dep_ not in ("cc", "preconj") and t.i != marker.i])
        clauses += _predicates(head, phrase, rest, "subject", state, lead=lead)
    return clauses


def is_plural_verb(head: Token) -> bool:
    """Whether the predicate shows plural agreement, which would be wrong with a single subject."""
    words = {child.lower_ for child in head.children if child.dep_ in ("aux", "auxpass")} | {head.lower_}
    return bool(words & {"were", "are", "have"}) or (is_finite(head) and head.tag_ == "VBP")


def _split_off(root: Token, state: _Sentence) -> None:
    """Relative clauses, appositions and participles of the whole sentence, innermost last."""
    for token in state.span:
        if token.dep_ == "relcl":
            _relative(token, root, state)
        elif token.dep_ == "appos":
            _apposition(token, root, state)


def _clause(head: Token, others: Sequence[Token], state: _Sentence) -> list[Clause]:
    """The clauses of one independent head."""
    outside = {t.i for other in others for t in other.subtree if other.i in {s.i for s in head.subtree}}
    tokens = [t for t in _subtree(head) if t.i not in outside]
    subject = subject_of(head)
    assert subject is not None
    if not _attribution(head):
        for child in list(head.children):
            if child.dep_ == "advcl":
                _participle(child, head, subject, state)
        _attribute_clauses(head, subject, state)
    tokens = _trim(state.kept(tokens))
    phrase = [t for t in _subtree(subject) if t.i not in state.removed]
    trimmed = _trim(phrase)
    lead = _leading(head, subject, state)
    plain = subject.i < head.i and all(t.i > phrase[-1].i or t in phrase or t in lead for t in tokens) if phrase else False
    if not plain or subject.dep_ in ("csubj", "csubjpass"):
        return [Clause(tuple(tokens), "main", tuple(trimmed))]
    body = [t for t in tokens if t.i > phrase[-1].i]
    if lead and lead[0].lower_ in lex.CONNECTIVES and len([t for t in lead if t.text != ","]) == 1:
        lead = []
    distributed = _distributed(head, subject, body, lead, state)
    if distributed:
        return distributed
    return list(_predicates(head, trimmed, body, "main", state, lead=lead))


def independent_heads(span: Span) -> list[Token]:
    """The predicates that a sentence asserts, in order, each with a subject of its own; empty for a fragment."""
    return [head for head in _independents(span.root) if is_statement(head)]


def clauses_of(span: Span) -> list[Clause]:
    """The clauses of a parsed sentence, in reading order; empty when its root heads no statement."""
    root = span.root
    heads = independent_heads(span)
    if not heads:
        return []
    state = _Sentence(span)
    if not _attribution(root):
        for head in heads:
            _split_off(head, state)
    found: list[Clause] = []
    for head in heads:
        found += _clause(head, [h for h in heads if h.i != head.i], state)
    return found + state.derived
