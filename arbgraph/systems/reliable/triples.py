"""Documents -> (subject; predicate; object) triples, by a chat model guided by annotated documents of a similar kind."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from arbgraph.chat.base import Messages
from arbgraph.chat.prompts import Prompt
from arbgraph.chat.quoting import Block
from arbgraph.extraction.cleaning import MappedText
from arbgraph.extraction.sentences import split
from arbgraph.schema import Document
from arbgraph.systems.examples import after_examples
from arbgraph.systems.readings import contains, normal_form

Split = Literal["sentences", "period"]

EXTRACT = Prompt(
    id="reliable-extract",
    version=1,
    rules=(
        "You write down the facts of a document as triples, one on each line: subject | relation | object. Subject and object are the "
        "document's title or words copied from the document; name the subject in full."
    ),
    task="Write the facts of the document as lines of the form: subject | relation | object",
)

_LONGEST_SENTENCE = 2000  # characters
_LONGEST_TRIPLE = 300  # characters; longer ones are no atomic facts, and would crowd out the other options
_LEAD = re.compile(r"^\s*(?:[-*•]|\(?\d{1,3}[.):])\s*")
_DRESS = " \t<>[]{}\"'`*"


@dataclass(frozen=True)
class Triple:
    """One fact, the number of its document (from 0), and its credibility in [0, 1] (None: not rated)."""

    subject: str
    predicate: str
    object: str
    document: int
    credibility: float | None = None

    def __str__(self) -> str:
        return f"({self.subject}; {self.predicate}; {self.object})"

    @property
    def encoded(self) -> str:
        """The text whose vector stands for the triple (Eq. 2). In prompts, angle brackets would have to be escaped."""
        return f"<{self.subject}; {self.predicate}; {self.object}>"


@dataclass(frozen=True)
class Annotated:
    """A document with its triples."""

    title: str
    text: str
    triples: tuple[tuple[str, str, str], ...]

    @property
    def described(self) -> str:
        return f"{self.title} {self.text}"

    def solved(self) -> tuple[Messages, str]:
        """The request for the triples of this document, and the reply."""
        lines = "\n".join(" | ".join(triple) for triple in self.triples)
        return request(Block("document", self.text, {"title": self.title}), "sentences", ()), lines


def request(block: Block, how: Split, exemplars: Sequence[Annotated]) -> Messages:
    """The conversation that asks for the triples of a document: exemplars as earlier turns, the document one sentence on a line."""
    asked = EXTRACT.messages([replace(block, text="\n".join(sentences(block.text, how)))])
    return after_examples(asked, [exemplar.solved() for exemplar in exemplars])


def sentences(text: str, how: Split) -> list[str]:
    """The sentences of a text: by a splitter that knows abbreviations, or cut at every period as the paper does."""
    if how == "period":
        return [part.strip() for part in text.split(".") if part.strip()]
    return [run.text.text.strip() for run in split(MappedText.of(text), _LONGEST_SENTENCE) if run.text.text.strip()]


def read_triples(reply: str, document: Document, number: int, counts: Counter[str]) -> list[Triple]:
    """The triples of a reply, each once, whose subject and object are the title or words of the document.

    `triples_unreadable` counts lines without three parts, `triples_ungrounded` those with words of the model's own, `triples_long`
    those too long to be one fact.
    """
    text = normal_form(f"{document.title} . {document.text}")
    found: dict[Triple, None] = {}
    for triple in _lines(reply, number, counts):
        if len(str(triple)) > _LONGEST_TRIPLE:
            counts["triples_long"] += 1
        elif contains(text, normal_form(triple.subject)) and contains(text, normal_form(triple.object)):
            found[triple] = None
        else:
            counts["triples_ungrounded"] += 1
    return list(found)


def _lines(reply: str, number: int, counts: Counter[str]) -> Iterator[Triple]:
    for line in filter(str.strip, reply.splitlines()):
        parts = [_bare(part) for part in _LEAD.sub("", line).strip().strip("|").split("|")]
        if len(parts) == 3 and all(parts):
            yield Triple(*parts, document=number)
        else:
            counts["triples_unreadable"] += 1


def _bare(part: str) -> str:
    """A part without quotes and brackets around it; parentheses that close inside it belong to it, as in `Velm (town)`."""
    part = part.strip(_DRESS)
    opened = part.count("(") - part.count(")")
    return part[1:] if opened > 0 and part.startswith("(") else part[:-1] if opened < 0 and part.endswith(")") else part


ANNOTATED = (
    Annotated(
        "Hilde Marrow",
        "Hilde Marrow (12 May 1901 – 3 June 1977) was a Danish botanist. She taught at Aarhus University and wrote Mosses of Jutland.",
        (
            ("Hilde Marrow", "was born on", "12 May 1901"),
            ("Hilde Marrow", "died on", "3 June 1977"),
            ("Hilde Marrow", "was", "Danish botanist"),
            ("Hilde Marrow", "taught at", "Aarhus University"),
            ("Hilde Marrow", "wrote", "Mosses of Jutland"),
        ),
    ),
    Annotated(
        "The Salt Road (film)",
        "The Salt Road is a 1968 drama film directed by Ivo Tesch and starring Lena Korb. It was shot in Trieste.",
        (
            ("The Salt Road", "was released in", "1968"),
            ("The Salt Road", "is", "drama film"),
            ("The Salt Road", "was directed by", "Ivo Tesch"),
            ("The Salt Road", "stars", "Lena Korb"),
            ("The Salt Road", "was shot in", "Trieste"),
        ),
    ),
    Annotated(
        "Velm",
        "Velm is a town in the district of Orren. It has 8,210 inhabitants. The river Aske flows through Velm.",
        (
            ("Velm", "is", "town"),
            ("Velm", "lies in", "district of Orren"),
            ("Velm", "has inhabitants", "8,210"),
            ("river Aske", "flows through", "Velm"),
        ),
    ),
    Annotated(
        "Corvin Motors",
        "Corvin Motors is a maker of lorries based in Leeds. It was founded by George Corvin in 1921 and bought by Halden Group in 1984.",
        (
            ("Corvin Motors", "is", "maker of lorries"),
            ("Corvin Motors", "is based in", "Leeds"),
            ("Corvin Motors", "was founded by", "George Corvin"),
            ("Corvin Motors", "was founded in", "1921"),
            ("Corvin Motors", "was bought by", "Halden Group"),
        ),
    ),
    Annotated(
        "Northern Rovers",
        "Northern Rovers are a football club from Inverlee. They play at Kelvin Park and won the Highland Cup in 2004 under Sam Doyle.",
        (
            ("Northern Rovers", "are", "football club"),
            ("Northern Rovers", "come from", "Inverlee"),
            ("Northern Rovers", "play at", "Kelvin Park"),
            ("Northern Rovers", "won", "Highland Cup"),
            ("Northern Rovers", "were managed by", "Sam Doyle"),
        ),
    ),
    Annotated(
        "Paper Lanterns",
        "Paper Lanterns is the second album by the band Quiet Harbour. The song Low Tide, written by Amy Finch, reached number 4.",
        (
            ("Paper Lanterns", "is", "second album"),
            ("Paper Lanterns", "was recorded by", "Quiet Harbour"),
            ("Low Tide", "was written by", "Amy Finch"),
            ("Low Tide", "reached", "number 4"),
        ),
    ),
)
