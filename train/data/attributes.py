"""Terse questions for the attributes of a passage's subject ("Where was X born?", "What is the population of X?"), found by pattern.

The wordings are those in which people and benchmarks ask for entities of one name. A pattern that meets nothing asks nothing; the answer
is always the matched text.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from arbgraph.schema import content_id
from train.data.cloze import Cloze, plain_title, stands_in

MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
DATE = rf"(?:\d{{1,2}} (?:{MONTHS}),? \d{{4}}|(?:{MONTHS}) \d{{1,2}},? \d{{4}}|(?:{MONTHS}),? \d{{4}}|\d{{4}})"
NAME = r"(?:[A-Z][\w.'’-]*(?: (?:(?:de|of|the|von|van|and|da|del|la|di|bin|al) ){0,2}[A-Z][\w.'’-]*){0,4})"
PLACE = rf"(?:{NAME}(?:, {NAME}){{0,3}})"
NUMBER = r"(?:\d{1,3}(?:,\d{3})+|\d+)"

BANK = yaml.safe_load(Path(__file__).with_name("attributes.yaml").read_text(encoding="utf-8"))
# Kind of subject by the noun of its definition, for "the film X" and for questions that only make sense of a kind.
KIND_OF: dict[str, str] = {noun: kind for kind, nouns in BANK["kinds"].items() for noun in nouns.split()}


def _compiled(pattern: str) -> re.Pattern[str]:
    for name, inner in (("DATE", DATE), ("NAME", NAME), ("PLACE", PLACE), ("NUMBER", NUMBER)):
        pattern = pattern.replace(f"<{name}>", inner)
    return re.compile(pattern)


TABLES = {kind: [(_compiled(row["pattern"]), tuple(row["asked"])) for row in rows] for kind, rows in BANK["patterns"].items()}
TABLES["other"] = TABLES["place"]
RELATIVE = re.compile(r"^(He|She|It|They|His|Her|Its|Their|The (?:\w+ )?(?:" + "|".join(KIND_OF) + r"))\b")
FURTHER = re.compile(r"\b(?:by|starring|that|which|who|in|of|about|from|for|with|located|based|known)\b|[,(]")
DEFINITION = re.compile(r"\b(?:is|was|are|were) (?:an?|the|one of) (?P<words>[^.;]{3,90})")


def kind_of(sentence: str) -> tuple[str, str]:
    """Kind and noun of the subject that a sentence defines ("work", "film"); two empty texts where it defines none that is known."""
    match = DEFINITION.search(sentence)
    if match:
        # The head noun is the last one before what is said of it: "a French writer and film director born in ...".
        words = re.findall(r"[a-z-]+", FURTHER.split(match["words"])[0].lower())
        for word in reversed(words):
            if word in KIND_OF:
                return KIND_OF[word], word
    return "", ""


def attribute_questions(title: str, text: str, sentences: list[tuple[int, int]]) -> list[Cloze]:
    """Questions for attributes of the subject, at most two a pattern; the same passage gives the same questions.

    Sentences that speak of something else are left out: only those count that name the subject or point back to it.
    """
    name = plain_title(title) or _leading_name(text)
    if not name or not sentences:
        return []
    rng = random.Random(content_id("attributes", title, text))
    kind, noun = next(((k, n) for k, n in (kind_of(text[start:end]) for start, end in sentences[:2]) if k), ("", ""))
    if not kind:
        return []
    found: list[Cloze] = []
    last = name.split()[-1].lower()
    for number, (start, end) in enumerate(sentences):
        sentence = text[start:end]
        if number and not RELATIVE.match(sentence) and last not in sentence.lower():
            continue
        for pattern, wordings in TABLES[kind]:
            match = pattern.search(sentence)
            if match and match["a"].strip():
                # A name pattern takes in the full stop of an initial, and of the sentence.
                answer = match["a"].rstrip(" .,'’-")
                place = (start + match.start("a"), start + match.start("a") + len(answer))
                for question in _asked(wordings, match, name, noun, kind, rng):
                    if not stands_in(text[place[0] : place[1]], question):
                        found.append(Cloze(question, *place, (start, end), "attribute"))
    return found


def _asked(wordings: tuple[str, ...], match: re.Match[str], name: str, noun: str, kind: str, rng: random.Random) -> Iterator[str]:
    for wording in rng.sample(wordings, min(len(wordings), 2)):
        yield wording.format(x=_called(name, noun, kind, rng), k=match.groupdict().get("k", ""))


def _called(name: str, noun: str, kind: str, rng: random.Random) -> str:
    """The subject as a question calls it: its name, its kind and name, in quotes, or the last name with a title."""
    draw = rng.random()
    if kind == "work":
        return f'"{name}"' if draw < 0.35 else f'the {noun} "{name}"' if draw < 0.6 else f"the {noun} {name}" if draw < 0.75 else name
    if kind == "person" and draw < 0.12 and " " in name:
        return f"{rng.choice(['Judge', 'Admiral', 'Dr.', 'General', 'Senator', 'Professor', 'Bishop', 'Captain'])} {name.split()[-1]}"
    if draw < 0.2:
        return name.split(",")[0]
    return f"the {name}" if kind == "other" and draw < 0.45 and not name.lower().startswith("the ") else name


def _leading_name(text: str) -> str:
    match = re.match(rf"(?:The )?({NAME})(?= (?:is|was|\())", text)
    return match[1] if match else ""
