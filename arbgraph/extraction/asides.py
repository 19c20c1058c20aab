"""What brackets say: birth and death dates become statements of the name before them, other contents stay where they stood."""

from __future__ import annotations

import re
from dataclasses import dataclass

from spacy.tokens import Span

from arbgraph.extraction.sentences import Aside, Sentence

_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?"
    r"|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_DATE = rf"(?:\d{{1,2}} {_MONTH},? \d{{4}}|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}|{_MONTH} \d{{4}}|\d{{4}})"
_LIFE = re.compile(
    rf"^(?:born |b\. )?(?P<born>{_DATE})(?P<birthplace> in [^–—-]{{2,40}}?)? ?(?:–|—|-|to) ?(?:died |d\. )?(?P<died>{_DATE})$"
)
_BORN = re.compile(rf"\b(?:born|b\.) (?:on |in )?(?P<born>{_DATE})(?P<rest>(?: in | at )[^;]{{2,60}})?$")
_DIED = re.compile(rf"\b(?:died|d\.) (?:on |in )?(?P<died>{_DATE})(?P<rest>(?: in | at )[^;]{{2,60}})?$")

# Letters beyond Latin.
_FOREIGN = re.compile("[\u0250-\u1dff\u2c00-\uffff]")
_SHORTEST_LIFE = 20
# Longer brackets that carry no statement (pronunciations, names in other scripts) only hinder the reader of a claim.
_SHOWN = 80


@dataclass(frozen=True)
class AsideClaim:
    """A statement read from a bracket: its text, and the tokens and the bracket that it came from."""

    text: str
    first: int
    aside: Aside


def anchors(span: Span, sentence: Sentence) -> dict[int, list[Aside]]:
    """Brackets by the index of the token they follow."""
    found: dict[int, list[Aside]] = {}
    for aside in sentence.asides:
        before = [t for t in span if t.idx < aside.at]
        after = [t for t in span.doc if t.idx >= aside.at]
        if before and (not after or after[0].i <= span.end):
            found.setdefault(before[-1].i, []).append(aside)
    return found


def _when(date: str) -> str:
    return f"in {date}" if re.fullmatch(rf"\d{{4}}|{_MONTH} \d{{4}}", date) else f"on {date}"


def _life(content: str, *, introduced: bool) -> list[str]:
    statements: list[str] = []
    for part in re.split(r"\s*;\s*", content):
        part = part.strip(" ,")
        if match := _LIFE.search(part):
            years = match["born"].isdigit() and match["died"].isdigit()
            if years and not (introduced and int(match["died"]) - int(match["born"]) >= _SHORTEST_LIFE):
                # Two years after a name may as well be a reign or a term of office.
                continue
            statements += [f"was born {_when(match['born'])}{match['birthplace'] or ''}", f"died {_when(match['died'])}"]
        elif match := _BORN.search(part):
            statements.append(f"was born {_when(match['born'])}{match['rest'] or ''}")
        elif match := _DIED.search(part):
            statements.append(f"died {_when(match['died'])}{match['rest'] or ''}")
    return statements


def aside_claims(span: Span, found: dict[int, list[Aside]], person: str | None) -> tuple[list[AsideClaim], set[int]]:
    """Statements read from the brackets of a sentence, and the tokens whose brackets they used up.

    `person` is the name of the person the sentence introduces, when it does; a pair of years after any other name is not a life.
    """
    claims: list[AsideClaim] = []
    used: set[int] = set()
    for index, asides in found.items():
        token = span.doc[index]
        entity = next((e for e in span.ents if e.start <= index < e.end and e.label_ == "PERSON"), None)
        start = entity.start if entity is not None and entity.end == index + 1 else None
        subject_end = next((t.i for t in span if t.dep_ in ("nsubj", "nsubjpass") and t.i == index), None)
        if person is not None and (subject_end is not None or (token.pos_ == "PROPN" and start is None)) and index - span.start < 12:
            name, first, introduced = person, span.start, True
        elif start is not None:
            name, first, introduced = span.doc[start : index + 1].text, start, False
        else:
            continue
        for aside in asides:
            statements = _life(aside.content.text, introduced=introduced)
            claims += [AsideClaim(f"{name} {statement}.", first, aside) for statement in statements]
            if statements:
                used.add(index)
    return claims, used


def shown(aside: Aside) -> str:
    """A bracket as it is shown inside a claim; empty when it is damaged or too long to help."""
    text = aside.content.text
    if len(text) > _SHOWN or not text or not (text[0].isalnum() or text[0] in "$€£+-") or _FOREIGN.search(text):
        return ""
    return f" ({text})"
