"""Rewordings of a parsed English sentence that keep, or only weaken, what it says.

Fronting, clefts, passives turned active, modifiers dropped, synonyms.

Every rewording is built from token positions, so that the same one can be made for an edited copy of the sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import TYPE_CHECKING

from train.data.conflicts.banks import bank

BANK = bank("rewording")

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

Edit = dict[int, str]  # token position -> new text ('' deletes it)

SYNONYMS = BANK["SYNONYMS"]
ALWAYS_SAFE = BANK["ALWAYS_SAFE"]
IRREGULAR = BANK["IRREGULAR"]
DROPPABLE = ("relcl", "appos", "advcl", "acl", "npadvmod", "parataxis")
BLOCKS_DROPPING = re.compile(
    r"\b(?:no|not|never|none|nor|neither|nobody|nothing|without|only|few|fewer|less|least|most|all|every|each|any|first|last|if|unless|when|than|until|hardly|rarely|solely|exclusively|n't)\b|n't",
    re.IGNORECASE,
)


def root_of(doc: Doc) -> Token:
    """The root of a one-sentence document."""
    return next(token for token in doc if token.head == token)


def subject_of(doc: Doc) -> list[int]:
    """Token positions of the subject of the root (contiguous), or [] where it has none before the verb."""
    root = root_of(doc)
    for child in root.lefts:
        if child.dep_ in ("nsubj", "nsubjpass"):
            span = [token.i for token in child.subtree]
            return span if span == list(range(span[0], span[-1] + 1)) else []
    return []


def say(doc: Doc, order: Sequence[int], edit: Edit) -> str:
    """The text of the tokens in that order, with the edit applied, without the final full stop and capital only on names."""
    parts = []
    for place, i in enumerate(order):
        token = doc[i]
        text = edit.get(i, token.text)
        if i == 0 and i not in edit and token.ent_type_ == "" and token.pos_ != "PROPN" and token.text != "I":
            text = text[0].lower() + text[1:]
        follows = place + 1 < len(order) and order[place + 1] == i + 1
        parts.append(text + (token.whitespace_ if follows else " "))
    text = re.sub(r"\s+", " ", "".join(parts)).strip().rstrip(".")
    return re.sub(r"\s*,\s*(?=[,.]|$)", "", text).strip()


def _body(doc: Doc) -> list[int]:
    end = len(doc) - 1 if doc[-1].text in ".!" else len(doc)
    return list(range(end))


def fronted(doc: Doc) -> list[int] | None:
    """A prepositional phrase that ends the sentence and hangs on the root, moved to the front."""
    body, root, subject = _body(doc), root_of(doc), subject_of(doc)
    if not body or not subject or subject[0] != 0:
        return None
    for child in root.rights:
        span = [token.i for token in child.subtree]
        if (
            child.dep_ == "prep"
            and child.text in ("in", "on", "at", "during", "after", "before", "since", "by", "for")
            and span[-1] == body[-1]
            and len(span) <= 6
            and span[0] > root.i
        ):
            return span + [i for i in body if i < span[0]]
    return None


def dropped(doc: Doc, keep: set[int], rng: Random) -> list[int] | None:
    """One modifier (relative clause, apposition, adverb, final phrase) left out; None where that could change more than detail."""
    if BLOCKS_DROPPING.search(doc.text):
        return None
    root = root_of(doc)
    options = []
    for token in doc:
        span = {t.i for t in token.subtree}
        final_phrase = (
            token.dep_ == "prep"
            and token.head == root
            and token.i > root.i + 1
            and any(c.dep_ in ("dobj", "attr", "pobj", "agent", "prep") and c.i < token.i for c in root.rights)
        )
        manner = token.dep_ == "advmod" and token.head == root and token.tag_ == "RB" and token.text.endswith("ly")
        if (token.dep_ in DROPPABLE or final_phrase or manner) and not span & keep and root.i not in span and len(span) < 0.6 * len(doc):
            options.append(span)
    if not options:
        return None
    gone = set(rng.choice(options))
    before, after = min(gone) - 1, max(gone) + 1
    if before >= 0 and after < len(doc) and doc[before].text == "," == doc[after].text:
        gone |= {before, after}
    if keep & gone:
        return None
    kept = [i for i in _body(doc) if i not in gone]
    while kept and doc[kept[-1]].text in (",", "(", "-", "and", ";"):
        kept.pop()
    return kept if len(kept) >= 5 else None


def cleft(doc: Doc, edit: Edit) -> str | None:
    """'it was X that ...' for a name or definite noun phrase as subject of a past or present verb."""
    subject, root = subject_of(doc), root_of(doc)
    if (
        not subject
        or subject[0] != 0
        or len(subject) > 5
        or doc[subject[-1]].pos_ not in ("PROPN", "NOUN")
        or doc[subject[0]].lower_ in ("a", "an", "some", "many", "no", "there", "few")
    ):
        return None
    verb = next((t for t in doc[subject[-1] + 1 : root.i + 1] if t.pos_ in ("AUX", "VERB")), root)
    if verb.i != subject[-1] + 1 or verb.tag_ not in ("VBD", "VBZ"):
        return None
    word = "was" if verb.tag_ == "VBD" else "is"
    head = say(doc, subject, edit)
    link = "who" if any(doc[i].ent_type_ == "PERSON" for i in subject) else "that"
    return f"it {word} {head} {link} {say(doc, [i for i in _body(doc) if i > subject[-1]], edit)}"


def active(doc: Doc, edit: Edit) -> str | None:
    """'X was directed by Y [rest]' as 'Y directed X [rest]'."""
    root, subject = root_of(doc), subject_of(doc)
    agent = next((c for c in root.rights if c.dep_ == "agent"), None)
    if (
        root.tag_ != "VBN"
        or agent is None
        or not subject
        or subject[0] != 0
        or doc[subject[-1] + 1].lower_ not in ("was", "were")
        or subject[-1] + 2 != root.i
    ):
        return None
    span = [t.i for t in agent.subtree]
    if len(span) < 2 or span[0] != root.i + 1:
        return None
    past = IRREGULAR.get(
        root.lower_, root.lower_ if root.lower_.endswith("ed") or root.lower_ in ("built", "made", "led", "founded", "found") else None
    )
    if past is None:
        return None
    if root.i in edit:
        return None
    rest = [i for i in _body(doc) if i > span[-1]]
    return f"{say(doc, span[1:], edit)} {past} {say(doc, subject, edit)} {say(doc, rest, edit) if rest else ''}".strip()


def synonymous(text: str, rng: Random) -> str:
    """One or two words replaced by synonyms."""
    options = [(a, b) for pair in SYNONYMS for a, b in (pair, pair[::-1]) if re.search(rf"\b{re.escape(a)}\b", text)]
    for a, b in rng.sample(options, min(len(options), 2)):
        text = re.sub(rf"\b{re.escape(a)}\b", b, text, count=1)
    return text


def rewordings(doc: Doc, edit: Edit, keep: set[int], rng: Random, weaken: bool = True) -> list[str]:
    """Different wordings of the edited sentence, the plain one first. `keep` are positions that a shortened wording must not lose.

    With `weaken` false (for a denied sentence) nothing is dropped.
    """
    plain = say(doc, _body(doc), edit)
    found = [plain]
    makers: list[Callable[[], str | None]] = [
        lambda: say(doc, order, edit) if (order := fronted(doc)) else None,
        lambda: cleft(doc, edit) if rng.random() < 0.35 else None,
        lambda: active(doc, edit),
        lambda: say(doc, order, edit) if weaken and (order := dropped(doc, keep, rng)) else None,
        lambda: say(doc, order, edit) if weaken and (order := dropped(doc, keep, rng)) else None,
        lambda: synonymous(plain, rng),
    ]
    for make in makers:
        text = make()
        if text and text not in found:
            found.append(text)
            other = synonymous(text, rng)
            if other not in found:
                found.append(other)
    if len(found) < 3 or rng.random() < 0.3:
        found.append(rng.choice(ALWAYS_SAFE[1:]).replace("{s}", rng.choice(found)))
    return found
