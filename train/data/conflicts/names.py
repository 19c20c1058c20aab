"""Invented names by a syllable model. Train and dev draw from disjoint halves of the name space."""

from __future__ import annotations

import re
from random import Random

from train.data.conflicts.banks import bank
from train.data.conflicts.engine import Split, stable_hash

BANK = bank("names")

DEV_SHARE = 8  # one name stem in this many belongs to dev

ONSETS = BANK["ONSETS"]
VOWELS = [*"aaaaeeeeiiiooouu", "ai", "ea", "ie", "oo"]
CODAS = BANK["CODAS"]
TOWN_ENDS = BANK["TOWN_ENDS"]
GIVEN = BANK["GIVEN"]
FIRMS = BANK["FIRMS"]
UNWANTED = BANK["UNWANTED"]  # syllables that would make a rude or slighting name
STREETS = ["Street", "Lane", "Road", "Avenue", "Row", "Hill", "Square", "Quay", "Wharf", "Terrace"]


APPOSITION_SHARE = 0.16
VERB = re.compile(rf" (?:{'|'.join(BANK['VERBS'])}|\w+ed)\b")
APPOSITIONS = BANK["APPOSITIONS"]


class Names:
    """A source of fresh names for one split. Within one object no name is given twice until `reset`."""

    def __init__(self, rng: Random, split: Split) -> None:
        self.rng, self.split = rng, split
        self.used: set[str] = set()
        self.kinds: dict[str, str] = {}

    def reset(self) -> None:
        """Forgets which names were given, at the start of a new scene."""
        self.used.clear()
        self.kinds.clear()

    def _syllable(self, coda: bool) -> str:
        rng = self.rng
        return rng.choice(ONSETS) + rng.choice(VOWELS) + (rng.choice(CODAS) if coda else "")

    def stem(self, ends: list[str] | None = None) -> str:
        """A capitalised invented word of one to three syllables that belongs to this split."""
        rng = self.rng
        while True:
            shape = rng.choice(("C", "OC", "OO", "OC", "OOC"))
            word = "".join(self._syllable(part == "C") for part in shape)
            if ends and rng.random() < 0.75:
                word += rng.choice(ends)
            if rng.random() < 0.15 and not ends:
                word += rng.choice("aeo")
            if not 4 <= len(word) <= 11 or any(word[i] == word[i + 1] == word[i + 2] for i in range(len(word) - 2)):
                continue
            if any(part in word for part in UNWANTED):
                continue
            in_dev = stable_hash("name", word) % DEV_SHARE == 0
            if in_dev == (self.split == "dev") and word not in self.used:
                self.used.add(word)
                return word.capitalize()

    def _noted(self, name: str, kind: str) -> str:
        self.kinds[name] = kind
        return name

    def appose(self, text: str, rng: Random) -> str:
        """Now and then puts an apposition behind a name that is followed by a verb; it touches nothing that any family asks about."""
        if rng.random() >= APPOSITION_SHARE:
            return text
        for name in rng.sample(sorted(self.kinds), len(self.kinds)):
            at = text.find(name)
            before, after = text[max(at - 4, 0) : at], text[at + len(name) :]
            if at >= 0 and not before.endswith("the ") and VERB.match(after):
                return f"{text[:at]}{name}, {rng.choice(APPOSITIONS[self.kinds[name]])},{after}"
        return text

    def town(self) -> str:
        """A town."""
        return self._noted(self.stem(TOWN_ENDS), "town")

    def surname(self) -> str:
        """A family name."""
        return self.stem()

    def person(self) -> str:
        """A full name."""
        return self._noted(f"{self.rng.choice(GIVEN)} {self.surname()}", "person")

    def couple(self) -> tuple[str, str]:
        """Two people with different given names."""
        first, second = self.rng.sample(GIVEN, 2)
        return self._noted(f"{first} {self.surname()}", "person"), self._noted(f"{second} {self.surname()}", "person")

    def company(self) -> str:
        """A firm."""
        rng = self.rng
        tail = rng.choice(FIRMS)
        return self._noted(rng.choice((f"{self.stem()} {tail}", f"{self.stem()} & {self.stem()}", f"{self.stem()} {tail}")), "company")

    def street(self) -> str:
        """A street."""
        return f"{self.stem()} {self.rng.choice(STREETS)}"

    def river(self) -> str:
        """A river, with article."""
        name = self.stem()
        return self.rng.choice((f"the river {name}", f"the {name}"))

    def place(self, kind: str) -> str:
        """A named thing of a kind, with article: 'the Brenk tunnel'."""
        return f"the {self.rng.choice((self.stem, self.town))()} {kind}"

    def title(self) -> str:
        """The title of a book, film or song, quoted."""
        rng = self.rng
        noun = rng.choice(
            [
                "Orchard",
                "Ferryman",
                "Lantern",
                "Winter",
                "Garden",
                "Clockmaker",
                "Harbour",
                "Letter",
                "Sparrow",
                "Mirror",
                "Island",
                "Weaver",
                "Shore",
                "Tower",
                "Glass",
            ]
        )
        return rng.choice((f"'The {self.stem()} {noun}'", f"'{noun} of {self.stem()}'", f"'The {noun} at {self.town()}'"))
