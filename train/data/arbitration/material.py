"""What records are made of: two claims and what may be said for either, and the voices that say it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from arbgraph.arbitrator.cases import Statement
from arbgraph.independence import is_copied_quote
from train.data.conflicts.banks import bank
from train.data.conflicts.engine import fill, overlap, sentence
from train.data.conflicts.names import Names

BANK = bank("arbitration")

TRIES = 8
DATED, TITLED, SOURCED, QUALIFIED = 0.45, 0.6, 0.85, 0.12  # shares of records whose statements show a date, a title, a source, a place
SPREAD_YEARS = 3

# Says something for side 0 or 1 in words that are not among those given; None when it runs out.
Say = Callable[[int, Sequence[str]], str | None]


@dataclass(frozen=True)
class Material:
    """Two claims and what may be said about them.

    Attributes:
        query: what was asked. claims: of side 0 and side 1; they contradict each other, unless `compatible`.
        say: a statement of one side, in fresh words. aside: one that bears on neither side.
        news: a statement that a side holds now and the other did before; None for what does not change.
        changes: the matter can change over time. subject: what both claims are about, for titles. origin: the data set.
        compatible: both claims can be true.
    """

    query: str
    claims: tuple[str, str]
    say: Say
    aside: Callable[[Sequence[str]], str | None] | None = None
    news: Callable[[int, str], str] | None = None
    changes: bool = False
    subject: str = ""
    origin: str = "generated"
    compatible: bool = False


@dataclass
class Voice:
    """One source: its name, the title of what it published, and when (year and month)."""

    source: str
    title: str
    year: int
    month: int


@dataclass
class Stage:
    """How the statements of one record show their origin, and the voices that were already given out."""

    rng: Random
    names: Names
    subject: str
    dates: str = "none"  # none, field, source or text
    titled: bool = True
    sourced: bool = True
    qualifier: str = ""
    start: int = 2010
    used: set[str] = field(default_factory=set)
    groups: int = 0

    @classmethod
    def of(cls, material: Material, rng: Random, names: Names) -> Stage:
        """A stage with its style drawn; the style is the same for both sides, so that it says nothing about the verdict."""
        return cls(
            rng,
            names,
            material.subject,
            dates=rng.choice(("field", "field", "source")) if rng.random() < DATED else "none",
            titled=rng.random() < TITLED,
            sourced=rng.random() < SOURCED,
            qualifier=rng.choice(BANK["QUALIFIERS"]) if rng.random() < QUALIFIED else "",
            start=rng.randint(1995, 2022),
        )

    def new_group(self) -> int:
        """The number of a further independent source."""
        self.groups += 1
        return self.groups - 1

    def voice(self, kind: str = "PLAIN", years: tuple[int, int] | None = None) -> Voice:
        """A source of its kind that no other statement of the record has."""
        for _ in range(TRIES):
            source = self.rng.choice(BANK[kind]).replace("{n}", self.names.stem())
            if source not in self.used:
                break
        self.used.add(source)
        title = self.rng.choice(BANK["TITLES"]).replace("{e}", self.subject) if self.subject else self.rng.choice(BANK["LOOSE_TITLES"])
        first, last = years or (self.start - SPREAD_YEARS, self.start)
        return Voice(source[0].upper() + source[1:], title[0].upper() + title[1:], self.rng.randint(first, last), self.rng.randint(1, 12))

    def statement(self, text: str, voice: Voice, group: int, qualifier: str | None = None) -> Statement:
        """The text as this voice published it, in the record's style."""
        qualifier = self.qualifier if qualifier is None else qualifier
        title = (f"{voice.title} ({qualifier})" if qualifier else voice.title) if self.titled or qualifier else ""
        source = voice.source if self.sourced else ""
        date = f"{voice.year}-{voice.month:02d}-{self.rng.randint(1, 28):02d}" if self.dates == "field" else ""
        if self.dates == "source":
            source = f"{source}, {BANK['MONTHS'][voice.month - 1]} {voice.year}".lstrip(", ")
        elif self.dates == "text":
            text = f"{BANK['MONTHS'][voice.month - 1]} {voice.year}: {text}"
        return Statement(text=text, title=title, source=source, date=date, group=group)


def spoken(material: Material, stage: Stage, side: int, voice: Voice, taken: Sequence[Statement]) -> Statement | None:
    """One statement of a side by this voice, as a source of its own; None when the words run out."""
    texts = [statement.text for statement in taken]
    text = fresh(lambda: material.say(side, texts), texts)
    return None if text is None else stage.statement(text, voice, stage.new_group())


def independent(
    material: Material,
    stage: Stage,
    side: int,
    count: int,
    *,
    kind: str = "PLAIN",
    years: tuple[int, int] | None = None,
    qualifier: str | None = None,
    taken: Sequence[Statement] = (),
) -> list[Statement] | None:
    """`count` statements of a side by sources of their own, none of which repeats another; None when the words run out."""
    made: list[Statement] = []
    for _ in range(count):
        texts = [statement.text for statement in (*taken, *made)]
        text = fresh(lambda texts=texts: material.say(side, texts), texts)
        if text is None:
            return None
        made.append(stage.statement(text, stage.voice(kind, years), stage.new_group(), qualifier))
    return made


def fresh(say: Callable[[], str | None], texts: Sequence[str]) -> str | None:
    """What `say` gives, once it is no copy of any of the texts."""
    for _ in range(TRIES):
        text = say()
        if text is not None and all(text.lower() != other.lower() and not is_copied_quote(text, other) for other in texts):
            return text
    return None


def copies(stage: Stage, original: Statement, voice: Voice, count: int, *, noticed: bool) -> list[Statement]:
    """The statement passed on by `count` further publications; they keep its group when the copying was noticed.

    Copies that nobody noticed name where they have it from, in so many words.
    """
    made = []
    for _ in range(count):
        text = original.text
        if not noticed or stage.rng.random() < 0.3:
            text = stage.rng.choice(BANK["PASSED_ON"]).replace("{o}", voice.source).replace("{s}", original.text.rstrip("."))
            text = text if text.endswith(")") else text + "."
        group = original.group if noticed else stage.new_group()
        assert group is not None
        made.append(stage.statement(text, stage.voice(years=(voice.year, voice.year + 1)), group))
    return made


def ordered(statements: Sequence[Statement], claim: str, rivals: Sequence[Statement] = ()) -> tuple[Statement, ...]:
    """One statement of every source first, nearest to the claim first; sources that also speak for the rival come last."""
    also_rival = {statement.group for statement in rivals}
    seen: dict[int | None, int] = {}
    places = []
    for rank, statement in enumerate(sorted(statements, key=lambda s: (-overlap(s.text, claim), *s.place()))):
        seen[statement.group] = seen.get(statement.group, -1) + 1
        places.append((statement.group in also_rival, seen[statement.group], rank, statement))
    return tuple(place[-1] for place in sorted(places, key=lambda place: place[:3]))


def filled(patterns: Sequence[str], fields: dict[str, str], rng: Random) -> str:
    """One of the patterns as a sentence."""
    return sentence(fill(rng.choice(list(patterns)), dict(fields), rng))
