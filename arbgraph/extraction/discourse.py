"""What a document is about, and which pronouns stand for it.

A pronoun subject ("it", "he", "its roof") or a bare class noun ("the school") is replaced only when one candidate agrees with it in
number, gender and animacy and nothing in the sentence before competes; otherwise it stays as it is and is counted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from spacy.tokens import Span, Token

from arbgraph.extraction import lexicon as lex
from arbgraph.extraction.sentences import SMALL_WORDS
from arbgraph.extraction.syntax import is_statement, plural, subject_of, subtree

PRONOUNS = {"he": "male", "she": "female", "it": "thing", "they": "plural"}
POSSESSIVES = {"his": "male", "her": "female", "its": "thing", "their": "plural"}

_QUALIFIER = re.compile(r"\s*\(([^()]*)\)\s*$")
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")


@dataclass(frozen=True)
class Entity:
    """A candidate antecedent. `kind` is person, thing or "" (unknown); `classes` are the nouns that it is called by."""

    name: str
    kind: str = ""
    gender: str = ""
    plural: bool = False
    classes: frozenset[str] = frozenset()


def split_title(title: str) -> tuple[str, str]:
    """A title without its qualifier, and the qualifier: "Marula (lute)" -> ("Marula", "lute")."""
    match = _QUALIFIER.search(title)
    return (title[: match.start()].strip(), match.group(1)) if match else (title.strip(), "")


def title_entity(title: str) -> Entity | None:
    """The thing a title names, or None when the title is a headline: every word of a name is capitalised."""
    name, qualifier = split_title(title)
    words = _WORD.findall(name)
    if not words or len(words) > 6 or any(mark in name for mark in "?!:;|"):
        return None
    if not all(word[0].isupper() or word[0].isdigit() or word.lower() in SMALL_WORDS for word in words[1:]) or not words[0][0].isupper():
        return None
    if len(words) == 1 and not qualifier and not words[0][1:].isalnum():
        return None
    classes = {word.lower() for word in _WORD.findall(qualifier.split(",")[0])[-1:]} | ({words[-1].lower()} if len(words) > 1 else set())
    person = bool(classes & lex.PERSON_NOUNS)
    return Entity(name, "person" if person else "", "", False, frozenset(classes))


def _noun_phrase(head: Token) -> list[Token]:
    dropped = {t.i for child in head.children if child.dep_ in ("relcl", "appos", "acl") for t in child.subtree}
    tokens = [t for t in subtree(head) if t.i not in dropped]
    while tokens and tokens[-1].is_punct:
        tokens.pop()
    return tokens


def _phrase(tokens: list[Token]) -> str:
    text = "".join(t.text + (t.whitespace_ and " ") for t in tokens).strip()
    first = tokens[0]
    return text[0].lower() + text[1:] if first.i == first.sent.start and first.pos_ == "DET" else text


def _label(tokens: list[Token]) -> str:
    labels = [t.ent_type_ for t in tokens if t.ent_type_]
    return max(sorted(set(labels)), key=labels.count) if labels else ""


def _preceded(pronoun: Token, kind: str) -> bool:
    """Whether something before the pronoun in its own sentence could be meant instead."""
    for token in pronoun.sent:
        if token.i >= pronoun.i:
            return False
        if token.pos_ not in ("NOUN", "PROPN") or token.ent_type_ in (
            "DATE",
            "TIME",
            "CARDINAL",
            "ORDINAL",
            "MONEY",
            "PERCENT",
            "QUANTITY",
        ):
            continue
        person = token.ent_type_ == "PERSON" or token.lower_ in lex.PERSON_NOUNS
        if (
            (kind in ("male", "female") and person)
            or (kind == "plural" and plural(token))
            or (kind == "thing" and not person and not plural(token))
        ):
            return True
    return False


@dataclass
class Discourse:
    """Tracks one document, sentence by sentence: `resolve` first, then `advance`."""

    title: str = ""
    main: Entity | None = None
    focus: Entity | None = None
    resolved: int = 0
    unresolved: int = 0
    _named: Entity | None = None
    _rivals: frozenset[str] = frozenset()
    _objects: bool = False
    _blocked: bool = False
    _seen: int = 0
    _genders: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._named = title_entity(self.title) if self.title else None

    def restart(self, title: str) -> None:
        """Forgets everything but the counts: another passage, of another title, begins."""
        fresh = Discourse(title, resolved=self.resolved, unresolved=self.unresolved)
        self.__dict__.update(fresh.__dict__)

    @property
    def subject_name(self) -> str | None:
        """The name of what the document is about, as far as its text or its title tells."""
        entity = self.main or self._named
        return entity.name if entity is not None else None

    def resolve(self, span: Span, heads: list[Token]) -> dict[int, str]:
        """What to write in place of some tokens of a sentence, by token index."""
        written: dict[int, str] = {}
        local: Entity | None = None
        for number, head in enumerate(heads):
            subject = subject_of(head)
            if subject is None:
                continue
            pronoun, kind, possessive = self._pronoun(subject)
            if pronoun is not None and not _expletive(pronoun, head):
                entity = None if number == 0 and _preceded(pronoun, kind) else self._antecedent(kind, local if number else None, number > 0)
                if entity is None:
                    self.unresolved += 1
                else:
                    self.resolved += 1
                    name = entity.name
                    written[pronoun.i] = (name + ("'" if name.endswith("s") and entity.plural else "'s")) if possessive else name
                    if kind in ("male", "female"):
                        self._genders[name] = kind
            elif pronoun is None:
                entity = self._entity(subject)
                local = entity if number == 0 else None
        written.update(self._class_mentions(span, written))
        return written

    def _pronoun(self, subject: Token) -> tuple[Token | None, str, bool]:
        if subject.lower_ in PRONOUNS and subject.tag_ == "PRP":
            return subject, PRONOUNS[subject.lower_], False
        for child in subject.children:
            if child.dep_ == "poss" and child.lower_ in POSSESSIVES and child.tag_ == "PRP$" and child.i == subject.left_edge.i:
                return child, POSSESSIVES[child.lower_], True
        return None, "", False

    def _agrees(self, entity: Entity, kind: str) -> bool:
        if kind == "plural" or entity.plural:
            return kind == "plural" and entity.plural
        if kind == "thing":
            return entity.kind == "thing"
        words = {word.lower() for word in entity.name.split()}
        if words & (lex.MALE_NOUNS if kind == "female" else lex.FEMALE_NOUNS):
            # "Prince Andrei ... She": somebody else is meant.
            return False
        gender = entity.gender or self._genders.get(entity.name, "")
        return entity.kind == "person" and gender in ("", kind)

    def _antecedent(self, kind: str, local: Entity | None, within: bool) -> Entity | None:
        if local is not None and self._agrees(local, kind):
            return local
        if within:
            return None
        candidates = [self.focus] if self._seen else [self.main or self._named]
        if self.focus is None and self.main is not None and self.main.kind == "person" and not self._blocked:
            # Sentences about things came between; nobody else did.
            candidates = [self.main]
        for entity in candidates:
            if entity is None or not self._agrees(entity, kind):
                continue
            if kind in ("male", "female") and any(rival not in entity.name and entity.name not in rival for rival in self._rivals):
                return None
            if kind in ("thing", "plural") and self._objects:
                return None
            return entity
        return None

    def _class_mentions(self, span: Span, written: dict[int, str]) -> dict[int, str]:
        """Bare "the school" or "this school" anywhere in the sentence, when the document is about a school."""
        entity = self.main
        found: dict[int, str] = {}
        if entity is None or not entity.classes or not self._seen:
            return found
        for token in span:
            if token.lower_ not in entity.classes or token.tag_ != "NN" or token.i == 0 or token.i in written:
                continue
            before = token.doc[token.i - 1]
            bare = (
                before.lower_ in ("the", "this")
                and before.head.i == token.i
                and all(c.i == before.i or c.dep_ in ("punct", "case") for c in token.children)
            )
            if (
                bare
                and token.dep_ in ("nsubj", "nsubjpass", "pobj", "dobj", "poss")
                and before.i not in found
                and entity.name not in span.text
            ):
                found[before.i] = ""
                found[token.i] = entity.name
        return found

    def _entity(self, subject: Token) -> Entity | None:
        """The entity a subject names, None when it names nothing that a later pronoun could safely take up."""
        tokens = _noun_phrase(subject)
        if not tokens or subject.pos_ not in ("PROPN", "NOUN") or len(tokens) > 8:
            return None
        name, label = _phrase(tokens), subject.ent_type_ or _label(tokens[-1:])
        if subject.pos_ == "NOUN" and tokens[0].lower_ not in ("the", "this"):
            return None
        kind = (
            "person"
            if label == "PERSON" or subject.lower_ in lex.PERSON_NOUNS
            else "thing"
            if label in lex.THING_LABELS or subject.pos_ == "NOUN"
            else ""
        )
        if self.main is not None and (
            name == self.main.name or _same(name, self.main.name) or (subject.pos_ == "NOUN" and subject.lower_ in self.main.classes)
        ):
            return self.main
        return Entity(name, kind, "", plural(subject), frozenset())

    def _define(self, subject: Token, head: Token) -> None:
        """Learns what the document is about from a sentence such as "X is a school", or from a subject that its title names."""
        tokens = _noun_phrase(subject)
        name = _phrase(tokens) if tokens else ""
        entity = self._entity(subject)
        matches = self._named is not None and _same(name, self._named.name)
        if entity is None or (subject.pos_ != "PROPN" and not matches) or (self.title and not matches and self._named is not None):
            return
        attributes = [c for c in head.children if c.dep_ == "attr"] if head.lower_ in lex.BE_FINITE else []
        attributes += [c for a in attributes for c in a.children if c.dep_ == "conj"]
        defining = attributes and attributes[0].pos_ == "NOUN" and not any(c.dep_ == "neg" for c in head.children)
        if not defining and not matches:
            return
        nouns = {a.lower_ for a in attributes} if defining else set()
        person = bool(nouns & lex.PERSON_NOUNS)
        kind = "person" if person else "thing" if nouns and entity.kind != "person" else entity.kind
        if nouns and not person and entity.kind == "person" and not any(n.endswith(("er", "or", "ist", "ian", "man")) for n in nouns):
            kind = "thing"
        gender = "male" if nouns & lex.MALE_NOUNS else "female" if nouns & lex.FEMALE_NOUNS else ""
        classes = nouns | (set(self._named.classes) if matches and self._named else set())
        if subject.pos_ == "PROPN" and len(tokens) > 1 and kind == "thing":
            classes.add(subject.lower_)
        self.main = replace(entity, kind=kind, gender=gender, classes=frozenset(classes))
        self.focus = self.main

    def advance(self, span: Span, heads: list[Token], written: dict[int, str]) -> None:
        """Takes note of a sentence: its subject becomes the focus, other names in it become rivals."""
        heads = heads or ([span.root] if is_statement(span.root) else [])
        if heads:
            head = heads[-1]
            subject = subject_of(head)
            if head.lower_ in lex.REPORTING:
                # "He was fair," said Ann Lee: whom the speaker speaks of next is open.
                self.focus, self._blocked = None, True
                inside = set()
            elif subject is not None:
                self._refocus(subject, head, written)
                inside = {t.i for t in subject.subtree}
                self._objects = (
                    any(
                        child.dep_ in ("dobj", "attr")
                        and not plural(child)
                        and (child.pos_ == "PROPN" or child.left_edge.lower_ in ("the", "this"))
                        for child in head.children
                    )
                    and len(heads) == 1
                )
            else:
                inside = set()
            if self.focus is not None and self.main is not None and self.focus.name == self.main.name and head.lower_ in lex.BE_FINITE:
                self._objects = False
            self._rivals = frozenset(e.text for e in span.ents if e.label_ == "PERSON" and not any(t.i in inside for t in e))
        else:
            self.focus, self._rivals, self._objects = None, frozenset(), False
        self._seen += 1

    def _refocus(self, subject: Token, head: Token, written: dict[int, str]) -> None:
        if self.main is None and self._seen < 2:
            self._define(subject, head)
            if self.main is not None:
                return
        pronoun, _, possessive = self._pronoun(subject)
        if written.get(subject.i):
            name = written[subject.i]
            self.focus = self.main if self.main is not None and self.main.name == name else self.focus
        elif pronoun is not None:
            # "Its roof was rebuilt. It ...": the roof competes with its owner.
            self._blocked = self._blocked or (pronoun.i not in written and pronoun.lower_ in ("he", "she", "his", "her"))
            self.focus = None if possessive or pronoun.i not in written else self.focus
        elif subject.dep_ != "expl":
            self.focus = self._entity(subject)
            person = subject.ent_type_ == "PERSON" or subject.lower_ in lex.PERSON_NOUNS
            self._blocked = self.focus is not self.main and (self._blocked or person)


def _same(name: str, title: str) -> bool:
    """Whether a subject and a title name the same thing: the words of one follow each other in the other, a capitalised one among them."""
    left = [w.lower() for w in _WORD.findall(name) if w.lower() not in ("the", "a", "an")]
    right = [w.lower() for w in _WORD.findall(title) if w.lower() not in ("the", "a", "an")]
    short, long = sorted((left, right), key=len)
    if not short:
        return False
    return any(long[i : i + len(short)] == short for i in range(len(long) - len(short) + 1))


def _expletive(pronoun: Token, head: Token) -> bool:
    """Whether "it" stands for a clause ("it is known that", "it takes an hour to") and not for a thing."""
    if pronoun.lower_ != "it":
        return False
    if pronoun.dep_ == "expl" or head.lower_ in (
        "seems",
        "seemed",
        "appears",
        "appeared",
        "takes",
        "took",
        "rains",
        "rained",
        "snows",
        "snowed",
    ):
        return True
    dependents = {c.dep_ for c in head.children}
    if pronoun.dep_ == "nsubjpass" and dependents & {"ccomp", "xcomp"}:
        return True
    if head.lower_ in lex.BE_FINITE and ("ccomp" in dependents or ("acomp" in dependents and dependents & {"xcomp", "advcl"})):
        return True
    return any(
        t.lower_ in ("that", "who") and t.i > head.i and t.head.dep_ in ("ccomp", "relcl", "advcl") and head.lower_ in lex.BE
        for t in head.subtree
    )
