"""Anchors from real sentences: a typed value of a parsed claim (year, number, place, agent, polarity, antonym) and its subject are changed.

Subject and value give a grid of four statements: equal subject and value support, equal subject and other value contradict, another
subject is neutral. A verb that asks for something else ('was announced in' for 'was released in') gives a further neutral one. An edited
sentence is the anchor as often as an unedited one, so that an odd combination is no sign of a label.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from train.data.conflicts.banks import bank
from train.data.conflicts.engine import Scene, Split, stable_hash
from train.data.conflicts.families.geo import COUNTRIES, cities
from train.data.conflicts.rewording import Edit, rewordings, root_of, subject_of
from train.data.conflicts.values import Quantity

BANK = bank("sentences")

if TYPE_CHECKING:
    from spacy.tokens import Doc

DEV_SHARE = 12  # one sentence in this many belongs to dev
YEAR = re.compile(r"^(1[5-9]\d\d|20[0-2]\d)$")
DIGITS = re.compile(r"^\d{1,3}(?:,\d{3})+$|^\d+(?:\.\d)?$")
BOUNDS = set(BANK["BOUNDS"])
EVENTS = set(BANK["EVENTS"])
PLACED = {"bear", "die", "locate", "base", "situate", "headquarter", "bury", "hold", "raise", "found", "set"}
AGENTIVE = set(BANK["AGENTIVE"])
# event -> other events of the same thing, as participle or past
SHIFTS = BANK["SHIFTS"]
ANTONYMS = BANK["ANTONYMS"]
CATEGORY = BANK["CATEGORY"]


@dataclass(frozen=True)
class SentenceFile:
    """A JSONL(.gz) file of pairs whose texts may serve as anchors. `columns` name them."""

    path: str
    columns: Sequence[str] = ("premise", "hypothesis")
    cap: int = 20_000


def plain(text: str) -> str:
    """Undoes Penn-Treebank spacing."""
    text = re.sub(r"\s+([,.;:?!)%])|\s+('s\b|n't\b)", r"\1\2", text.replace("``", '"').replace("''", '"'))
    return re.sub(r"([(])\s+", r"\1", re.sub(r"\s+", " ", text)).strip()


def usable(text: str) -> bool:
    """A stand-alone statement of 6 to 20 words without quotes, brackets, pronoun subjects or questions."""
    words = text.split()
    return (
        6 <= len(words) <= 20
        and text[0].isupper()
        and text[-1] == "."
        and not re.search(r"[\"\[\]{}|()/:;*_<>#]|\.\.|\. ", text)
        and words[0]
        not in {
            "He",
            "She",
            "They",
            "It",
            "This",
            "These",
            "That",
            "Those",
            "His",
            "Her",
            "Their",
            "There",
            "We",
            "I",
            "You",
            "But",
            "And",
            "However",
            "Its",
            "Who",
            "If",
            "When",
            "Also",
        }
        and not re.search(r"\b(?:I|you|we|my|your|our)\b", text)
    )


def promising(text: str) -> bool:
    """Whether the sentence may hold a year, number, place or agent to change; others are needed in small numbers only."""
    return bool(re.search(r"\d|\bby [A-Z]|\b(?:born|based|located|situated|held|headquartered|buried|died) (?:in|at)\b", text))


def read_sentences(files: Iterable[SentenceFile], folder: Path) -> tuple[list[str], dict[str, int]]:
    """Distinct usable sentences, and how many each file gave. Raises FileNotFoundError with the remedy, KeyError for a missing column."""
    found: dict[str, None] = {}
    counts: dict[str, int] = {}
    for source in files:
        path = folder / source.path
        if not path.exists():
            raise FileNotFoundError(f"sentence file {path} is not there; give its folder with --data, or an empty recipe.sentences")
        before = len(found)
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as stream:
            for number, line in enumerate(stream, 1):
                raw = json.loads(line)
                for column in source.columns:
                    if column not in raw:
                        raise KeyError(f"{path}, line {number}: no column {column!r}; it has {sorted(raw)}")
                    text = plain(raw[column])
                    if (
                        len(found) - before < source.cap
                        and text not in found
                        and usable(text)
                        and (promising(text) or stable_hash("spare", text) % 4 == 0)
                    ):
                        found[text] = None
        counts[source.path] = len(found) - before
    return list(found), counts


@dataclass
class Stock:
    """Parsed sentences of one split by what can be edited in them, and subjects and names to swap in."""

    edits: dict[str, list[Doc]] = field(default_factory=lambda: defaultdict(list))
    subjects: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    people: list[str] = field(default_factory=list)
    about: dict[str, list[Doc]] = field(default_factory=lambda: defaultdict(list))


def _year(doc: Doc) -> list[int]:
    years = [t.i for t in doc if YEAR.match(t.text)]
    root = root_of(doc)
    bounded = (
        any(
            t.lower_ in ("before", "after", "since", "until", "till", "by", "from", "between", "until", "prior")
            for t in doc[max(years[0] - 5, 0) : years[0]]
        )
        if years
        else True
    )
    fits = (
        len(years) == 1
        and not bounded
        and root.lemma_ in EVENTS
        and doc[years[0] - 1].lower_ in ("in", ",", *(m.lower() for m in MONTH_NAMES))
    )
    return years if fits and not any(t.ent_type_ == "DATE" and YEAR.search(t.text) and t.i not in years for t in doc) else []


MONTH_NAMES = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")


def _number(doc: Doc) -> list[int]:
    numbers = [t.i for t in doc if DIGITS.match(t.text) and not YEAR.match(t.text)]
    if len(numbers) != 1 or any(YEAR.match(t.text) for t in doc if t.i in numbers):
        return []
    token = doc[numbers[0]]
    if (
        token.ent_type_ not in ("CARDINAL", "QUANTITY", "MONEY", "PERCENT")
        or token.i == 0
        or doc[token.i - 1].pos_ == "PROPN"
        or {t.lower_ for t in doc[max(token.i - 2, 0) : token.i]} & BOUNDS
        or float(token.text.replace(",", "")) < 4
    ):
        return []
    return numbers if token.i + 1 < len(doc) and doc[token.i + 1].pos_ in ("NOUN", "NUM", "SYM", "ADJ") else []


def _place(doc: Doc) -> list[int]:
    places = [e for e in doc.ents if e.label_ == "GPE"]
    if (
        len(places) != 1
        or root_of(doc).lemma_ not in PLACED
        or places[0].root.dep_ != "pobj"
        or places[0].root.head.lower_ not in ("in", "at")
    ):
        return []
    return list(range(places[0].start, places[0].end)) if places[0].root.head.head in (root_of(doc), root_of(doc).head) else []


def _agent(doc: Doc) -> list[int]:
    root = root_of(doc)
    agent = next((c for c in root.rights if c.dep_ == "agent"), None)
    if root.lemma_ not in AGENTIVE or agent is None:
        return []
    span = [t.i for t in agent.subtree][1:]
    return span if 1 < len(span) <= 3 and all(doc[i].ent_type_ == "PERSON" for i in span) else []


def _negation(doc: Doc) -> list[int]:
    root = root_of(doc)
    if (
        any(t.dep_ == "neg" or t.lower_ in ("no", "never", "only", "none", "any", "some", "not") for t in doc)
        or any(c.dep_ in ("conj", "advcl", "ccomp") for c in root.children)
        or len(doc) > 17
    ):
        return []
    verb = next((c for c in root.lefts if c.dep_ in ("aux", "auxpass")), root)
    if verb == root and root.lemma_ != "be" and root.tag_ not in ("VBD", "VBZ", "VBP"):
        return []
    return [verb.i]


def _antonym(doc: Doc) -> list[int]:
    found = [t.i for t in doc if t.lower_ in ANTONYMS and t.ent_type_ in ("", "ORDINAL") and t.i > 0]
    return found if len(found) == 1 and not any(t.dep_ == "neg" for t in doc) else []


FINDERS = {"year": _year, "number": _number, "place": _place, "agent": _agent, "negation": _negation, "antonym": _antonym}


def name_kind(doc: Doc, subject: Sequence[int]) -> str:
    """The entity type of a subject that is one name, 'NAME' for a name without a type, '' for anything else."""
    kinds = {doc[i].ent_type_ for i in subject}
    if len(kinds) == 1 and (kind := next(iter(kinds))) in ("PERSON", "ORG", "WORK_OF_ART", "FAC", "PRODUCT", "GPE", "EVENT"):
        return kind
    named = all(doc[i].text[0].isupper() or doc[i].lower_ in ("of", "the", "and", "in", "for", "a") for i in subject)
    plural = root_of(doc).tag_ == "VBP" or any(t.lower_ in ("are", "were", "have") for t in root_of(doc).lefts)
    return "NAME" if named and doc[subject[-1]].pos_ == "PROPN" and not plural and kinds & {""} else ""


def stock_up(docs: Iterable[Doc]) -> dict[Split, Stock]:
    """Sorts parsed sentences into the two splits by a hash of their text, and by what can be edited."""
    stocks: dict[Split, Stock] = {"train": Stock(), "dev": Stock()}
    for doc in docs:
        if len(list(doc.sents)) != 1 or root_of(doc).pos_ not in ("VERB", "AUX"):
            continue
        subject = subject_of(doc)
        if not subject or subject[0] != 0 or len(subject) > 6:
            continue
        root = root_of(doc)
        if root.tag_ == "VBN" and not any(c.dep_ in ("aux", "auxpass") for c in root.lefts):
            continue
        stock = stocks["dev" if stable_hash("sentence", doc.text) % DEV_SHARE == 0 else "train"]
        if kind := name_kind(doc, subject):
            name = " ".join(doc[subject[0] : subject[-1] + 1].text.split())
            stock.subjects[kind].append(name)
            stock.about[name].append(doc)
            stock.people += [
                e.text for e in doc.ents if e.label_ == "PERSON" and len(e.text.split()) == 2 and re.fullmatch(r"[A-Z]\w+ [A-Z]\w+", e.text)
            ]
            for name, finder in FINDERS.items():
                if finder(doc):
                    stock.edits[name].append(doc)
    return stocks


def _changed(kind: str, doc: Doc, stock: Stock, rng: Random) -> tuple[Edit, Edit, set[int]] | None:
    """Two edits that exclude each other (the first usually empty) and the positions they concern."""
    at = FINDERS[kind](doc)
    text = doc[at[0] : at[-1] + 1].text
    rest = dict.fromkeys(at[1:], "")
    if kind == "year":
        year = int(text) + rng.choice((-1, 1)) * rng.choice((1, 2, 3, 4, 6, 9, 12, 20))
        return {}, {at[0]: str(min(year, 2021))}, set(at)
    if kind == "number":
        value = float(text.replace(",", ""))
        new = max(1.0, float(f"{value * rng.choice((0.4, 0.55, 0.7, 0.8, 1.25, 1.5, 1.8, 2.4)):.{2 if value < 1000 else 3}g}"))
        new = round(new, 1) if "." in text else float(round(new))
        if new == value:
            new = value + 3
        if new > 100 and doc[at[0] + 1].text in ("%", "percent"):
            new = round(value / 2, 1) if "." in text else float(round(value / 2))
        return {}, {at[0]: f"{new:,.1f}" if "." in text else f"{int(new):,}" if "," in text else f"{int(new)}"}, set(at)
    if kind == "place":
        abroad = [c for c in sorted(COUNTRIES) if c not in ("England", "the United States", "India", "Canada", "Australia")]
        options = (
            abroad
            if text in COUNTRIES or text in ("United States", "U.S.", "United Kingdom")
            else [city for country in abroad for city, _ in cities(country)]
        )
        return {}, {at[0]: rng.choice([o for o in options if o not in doc.text]), **rest}, set(at)
    if kind == "agent":
        options = [p for p in stock.people if p not in doc.text]
        return ({}, {at[0]: rng.choice(options), **rest}, set(at)) if options else None
    if kind == "antonym":
        return {}, {at[0]: ANTONYMS[text.lower()]}, set(at)
    verb = doc[at[0]]
    if verb.pos_ == "AUX" or verb.lemma_ == "be":
        return {}, {at[0]: f"{verb.text} not" if verb.text != "can" else "cannot"}, set(at)
    do = {"VBD": "did", "VBZ": "does", "VBP": "do"}[verb.tag_]
    return {}, {at[0]: f"{do} not {verb.lemma_}"}, set(at)


def scene_of(kind: str, doc: Doc, stock: Stock, rng: Random) -> Scene | None:
    """The grid of a sentence: two subjects by two values, and the shifted verb; None where nothing can be swapped in."""
    made = _changed(kind, doc, stock, rng)
    subject = subject_of(doc)
    label = name_kind(doc, subject)
    options = [s for s in stock.subjects[label] if s not in doc.text and s.split()[-1] not in doc.text]
    if made is None or not options:
        return None
    true, false, keep = made
    other = {subject[0]: rng.choice(options), **dict.fromkeys(subject[1:], "")}
    scene = Scene(CATEGORY[kind], f"sentence.{kind}")
    keep = keep | set(subject)
    for s_name, s_edit in (("", {}), ("subject_", other)):
        for v_name, v_edit in (("true", true), ("false", false)):
            weaken = not (kind == "negation" and v_name == "false")
            scene.add(s_name + v_name, rewordings(doc, {**s_edit, **v_edit}, keep, rng, weaken))
        scene.contradict((f"{s_name}true", f"{s_name}false"))
    root = root_of(doc)
    shiftable = root.lower_ in SHIFTS and not any(c.dep_ == "conj" for c in root.children)
    if shiftable and rng.random() < 0.5 and root.i not in keep and kind in ("year", "number", "place", "agent"):
        shifted = {root.i: rng.choice(SHIFTS[root.lower_])}
        for v_name, v_edit in (("true", true), ("false", false)):
            scene.add_partner(f"shift_{v_name}", rewordings(doc, {**v_edit, **shifted}, keep, rng))
    _equivalent(scene, kind, doc, false, keep, rng)
    _same_subject(scene, doc, stock, rng)
    return scene


def _same_subject(scene: Scene, doc: Doc, stock: Stock, rng: Random) -> None:
    """Another statement about the same subject, with another verb and hardly a word in common: neutral."""
    subject = subject_of(doc)
    name = " ".join(doc[subject[0] : subject[-1] + 1].text.split())
    words = {t.lemma_ for t in doc[subject[-1] + 1 :] if t.is_alpha and not t.is_stop}
    others = [
        d
        for d in stock.about[name]
        if root_of(d).lemma_ != root_of(doc).lemma_ and not words & {t.lemma_ for t in d[subject[-1] + 1 :] if t.is_alpha and not t.is_stop}
    ]
    others = [d for d in others if not (any(YEAR.match(t.text) for t in d) and any(YEAR.match(t.text) for t in doc))]
    if others:
        other = rng.choice(others)
        scene.add_partner("same_subject", rewordings(other, {}, set(subject_of(other)), rng))


def _equivalent(scene: Scene, kind: str, doc: Doc, false: Edit, keep: set[int], rng: Random) -> None:
    """The same value in other terms: a decade for a year, a rounded or bounded number."""
    if kind not in ("year", "number"):
        return
    at = next(i for i in keep if i in false)
    for name, text in (("true", doc[at].text), ("false", false[at])):
        if kind == "year" and doc[at - 1].lower_ == "in" and int(text) // 10 % 10:
            said = f"the {text[:3]}0s"
        elif (
            kind == "number"
            and doc[at - 1].lower_
            not in ("$", "a", "an", "the", "about", "around", "approximately", "roughly", "some", "his", "her", "its", "their")
            and doc[at + 1].text not in ("%", "percent", "million", "billion")
            and float(text.replace(",", "")) > 20
        ):
            said = Quantity(float(text.replace(",", "")), "people").approx(rng)
        else:
            continue
        scene.add_partner(f"rough_{name}", rewordings(doc, {at: said}, keep, rng))
        scene.support((name, f"rough_{name}"))
        if kind == "number" or text[:3] != (doc[at].text if name == "false" else false[at])[:3]:
            scene.contradict(("false" if name == "true" else "true", f"rough_{name}"))
        else:
            scene.support(("false" if name == "true" else "true", f"rough_{name}"))


def count_edits(stock: Stock) -> dict[str, int]:
    """Sentences per kind of edit."""
    return dict(sorted(Counter({kind: len(docs) for kind, docs in stock.edits.items()}).items()))


def sentence_scenes(category: str, stock: Stock, rng: Random) -> Iterator[Scene]:
    """Scenes of every sentence that can be edited for the category, in a seeded order; the order repeats with other edits."""
    work = [(kind, doc) for kind in sorted(stock.edits) if CATEGORY[kind] == category for doc in stock.edits[kind]]
    rng.shuffle(work)
    for kind, doc in work:
        scene = scene_of(kind, doc, stock, rng)
        if scene is not None:
            yield scene
