"""What the reader is trained on: question sets and questions made by rule, cropped and varied as documents found on the web are."""

from __future__ import annotations

import math
import random
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightning as L
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Sampler

from arbgraph.models import resolve_model
from arbgraph.reader.readings import RAMDOCS, SETS, Reading, find_spans, ramdocs, read_rows, readings
from arbgraph.reader.tokens import ReaderTokenizer, Window
from arbgraph.splits import fold_of
from arbgraph.verifier.backbone import load_tokenizer
from train.data.cloze import plain_title
from train.data.records import furniture, record_readings

# Shares of the questions made by rule that are asked of a text without their answer.
SENTENCE_REMOVED, OTHER_PASSAGE = 0.16, 0.12
# Share of the questions of each form that takes part: bare fragments are the least like real questions.
KEPT = {"attribute": 1.0, "inverted": 0.5, "subject": 0.5, "fragment": 0.2}


@dataclass(frozen=True)
class Crop:
    """How a passage is varied: words kept, and the chances of page furniture around it and of punctuation set apart."""

    words: tuple[int, int] = (25, 120)
    framed: float = 0.1
    spaced: float = 0.15


def cropped(reading: Reading, rng: random.Random, crop: Crop) -> Reading:
    """A stretch of the passage that holds at least one of the answer's places, if any; the places in it keep their text."""
    words = [match.span() for match in re.finditer(r"\S+", reading.passage)]
    size = rng.randint(*crop.words)
    if len(words) <= size:
        return reading
    low, high = 0, len(words) - size
    if reading.spans:
        start, end = rng.choice(reading.spans)
        first = next(i for i, word in enumerate(words) if word[1] > start)
        last = next(i for i, word in enumerate(words) if word[1] >= end)
        low, high = max(0, min(last - size + 1, high)), max(0, min(first, high))
        low, high = min(low, high), max(low, high)
    at = 0 if low == 0 and rng.random() < 0.3 else rng.randint(low, high)
    if at and rng.random() < 0.5:
        # Half of the passages begin with a sentence, as paragraphs do.
        begins = [i for i in range(low, at + 1) if i == 0 or reading.passage[words[i - 1][1] - 1] in ".!?"]
        at = begins[-1] if begins else at
    return _cut(reading, words[at][0], words[min(at + size, len(words)) - 1][1])


def _cut(reading: Reading, start: int, end: int) -> Reading:
    spans = tuple((s - start, e - start) for s, e in reading.spans if s >= start and e <= end)
    if reading.spans and not spans:
        # An answer longer than the crop: the whole passage is the better text.
        return reading
    return Reading(reading.question, reading.passage[start:end], spans, reading.source)


def spaced(reading: Reading) -> Reading:
    """The same with punctuation set apart by spaces, as tokenised web text is ("in Burbank , California . [ 9 ]")."""
    pieces = list(re.finditer(r"\w+(?:[.,'’-]\w+)*|[^\w\s]", reading.passage))
    passage = " ".join(piece.group() for piece in pieces)
    places, length = [], 0
    for piece in pieces:
        places.append(length)
        length += len(piece.group()) + 1
    begins, ends = [piece.start() for piece in pieces], [piece.end() for piece in pieces]

    def moved(start: int, end: int) -> tuple[int, int]:
        first, last = bisect_right(begins, start) - 1, bisect_left(ends, end)
        return places[first] + start - begins[first], places[last] + end - begins[last]

    return Reading(reading.question, passage, tuple(moved(*span) for span in reading.spans), reading.source)


def framed(reading: Reading, rng: random.Random) -> Reading:
    """The same between menus, footers or tables of figures, as pages are cut from the web."""
    before = f"{furniture(rng)} " if rng.random() < 0.6 else ""
    after = f" {furniture(rng)}" if not before or rng.random() < 0.4 else ""
    spans = tuple((start + len(before), end + len(before)) for start, end in reading.spans)
    return Reading(reading.question, f"{before}{reading.passage}{after}", spans, reading.source)


def made_by_rule(paths: Sequence[str], seed: int, limit: int, kept: Mapping[str, float] = KEPT) -> list[Reading]:
    """At most `limit` questions of `train.data.synthetic_questions` with their passages: most answered, some asked of a text without the
    answer. Which ones depends on the seed."""
    records = [record for path in paths for record in read_rows(Path(path))]
    by_word: dict[str, list[int]] = defaultdict(list)
    for number, record in enumerate(records):
        for word in sorted(set(plain_title(record["title"]).lower().split())):
            by_word[word].append(number)
    rng = random.Random(seed)
    asked = [(record, one) for record in records for one in record["questions"] if rng.random() < kept[one["style"]]]
    rng.shuffle(asked)
    made: list[Reading] = []
    for record, one in asked:
        if len(made) == limit:
            break
        draw = rng.random()
        source = f"made by rule: {one['style']}"
        if draw < SENTENCE_REMOVED:
            reading = _without_sentence(record, one, source)
        elif draw < SENTENCE_REMOVED + OTHER_PASSAGE:
            reading = _elsewhere(record, one, source, records, by_word, rng)
        else:
            reading = _answered(record, one, source, rng)
        if reading is not None:
            made.append(reading)
    return made


def _answered(record: dict[str, Any], one: dict[str, Any], source: str, rng: random.Random) -> Reading:
    text, (start, end) = record["text"], (one["start"], one["end"])
    answer, title = text[start:end], record["title"]
    spans = find_spans(text, [answer]) if len(re.findall(r"[^\W\d]", answer)) > 3 else ()
    spans = spans if (start, end) in spans else ((start, end),)
    if title and not text.startswith(title[:20]) and rng.random() < 0.3:
        shift = len(title) + 1
        text, spans = f"{title} {text}", tuple((s + shift, e + shift) for s, e in spans)
    return Reading(one["question"], text, spans, source)


def _without_sentence(record: dict[str, Any], one: dict[str, Any], source: str) -> Reading | None:
    """The rest of the passage, where it does not repeat the answer: the same subject, other statements."""
    start, end = one["sentence"]
    rest = f"{record['text'][:start]}{record['text'][end:]}".strip()
    if len(rest.split()) < 10 or find_spans(rest, [record["text"][one["start"] : one["end"]]]):
        return None
    return Reading(one["question"], rest, (), source)


def _elsewhere(
    record: dict[str, Any], one: dict[str, Any], source: str, records: list[Any], by_word: dict[str, list[int]], rng: random.Random
) -> Reading | None:
    """A passage with a word of the title in its own title, or any other, that does not hold the answer."""
    words = [word for word in plain_title(record["title"]).lower().split() if 1 < len(by_word[word]) < 200]
    pool = by_word[rng.choice(words)] if words and rng.random() < 0.7 else range(len(records))
    other = records[rng.choice(pool)]
    if other["text"] == record["text"] or find_spans(other["text"], [record["text"][one["start"] : one["end"]]]):
        return None
    return Reading(one["question"], other["text"], (), source)


class Order(Sampler[list[int]]):
    """Batches of similar length, questions made by rule mostly first and question sets mostly last, or `mixed`; one plan for a seed.

    The next pass leaves out the first `skip` batches, once.
    """

    def __init__(
        self, lengths: Sequence[int], ruled: Sequence[bool], *, batch_size: int, seed: int, block: int = 24, mixed: bool = False
    ) -> None:
        self.skip = 0
        rng = random.Random(seed)
        keys = [rng.random() if mixed else 1 - math.sqrt(rng.random()) if rule else math.sqrt(rng.random()) for rule in ruled]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        self.batches: list[list[int]] = []
        for start in range(0, len(order), block * batch_size):
            rows = sorted(order[start : start + block * batch_size], key=lengths.__getitem__)
            batches = [rows[first : first + batch_size] for first in range(0, len(rows), batch_size)]
            rng.shuffle(batches)
            self.batches += batches

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[list[int]]:
        # When the first batch is asked for, and not before: a resumed trainer makes its iterator first.
        begin, self.skip = self.skip, 0
        yield from self.batches[begin:]


class ReaderCollator:
    """Readings -> a padded batch, with `gold` `[G, 3]`: row, first token and width of every answer that the window holds."""

    def __init__(self, tokenizer: ReaderTokenizer, width: int) -> None:
        self.tokenizer, self.width = tokenizer, width

    def window(self, reading: Reading) -> tuple[Window, list[tuple[int, int]]]:
        """The first window that holds an answer, or the first, and its answers as first token and width."""
        windows = self.tokenizer.windows(reading.question, reading.passage)
        for window in windows:
            gold = gold_tokens(window, reading.spans, self.width)
            if gold:
                return window, gold
        return windows[0], []

    def __call__(self, rows: Sequence[Reading]) -> dict[str, Tensor]:
        made = [self.window(reading) for reading in rows]
        gold = [(row, first, width) for row, (_, spans) in enumerate(made) for first, width in spans]
        # An answer that no window can hold is neither answered nor unanswered; such a row has no part in the loss.
        known = torch.tensor([bool(spans) or not reading.spans for reading, (_, spans) in zip(rows, made, strict=True)])
        # Few distinct lengths: a CPU keeps programs and buffers for every shape that it meets.
        return self.tokenizer.batch([window for window, _ in made], multiple=16) | {
            "gold": torch.tensor(gold, dtype=torch.long).reshape(-1, 3),
            "known": known,
        }


def gold_tokens(window: Window, spans: Sequence[tuple[int, int]], width: int) -> list[tuple[int, int]]:
    """The answers that lie in a window, as first token and number of further tokens, where they begin and end with words."""
    firsts = {offset[0]: place for place, offset in enumerate(window.offsets) if window.starts[place]}
    lasts = {offset[1]: place for place, offset in enumerate(window.offsets) if window.ends[place]}
    found = []
    for start, end in spans:
        if start in firsts and end in lasts and 0 <= lasts[end] - firsts[start] < width:
            found.append((firsts[start], lasts[end] - firsts[start]))
    return found


class ReaderData(L.LightningDataModule):
    """Training readings, dev readings by set, and what of them was lost.

    Args:
        root: folder of the question sets.
        synthetic: files of `train.data.synthetic_questions`.
        synthetic_examples: at most this many of their questions.
        kept: share of the questions made by rule that takes part, by form (attribute, inverted, subject, fragment).
        mixed: question sets and questions made by rule in any order, in place of the latter first.
        records: readings of invented pages (`train.data.records`).
        copies: how often every reading of the question sets is seen, each time cropped anew; below 1, a share of them.
        dev_cap: at most this many dev readings a set.
        ramdocs: train on RAMDocs dev too, so often; 0 keeps it for measuring.
        ramdocs_held, ramdocs_folds: the fold of its questions that is kept for measuring and not trained on; null trains on all of them.
        batch_size: readings a batch.
        seed: of choosing, cropping and order.
        base, max_tokens, width: taken from the model.
    """

    def __init__(
        self,
        root: str = "data",
        synthetic: list[str] | None = None,
        synthetic_examples: int = 60000,
        kept: dict[str, float] | None = None,
        mixed: bool = False,
        records: int = 12000,
        copies: float = 2.0,
        dev_cap: int = 60,
        ramdocs: int = 0,
        ramdocs_held: int | None = None,
        ramdocs_folds: int = 5,
        batch_size: int = 32,
        seed: int = 0,
        base: str = "sentence-transformers/all-MiniLM-L6-v2",
        max_tokens: int = 224,
        width: int = 30,
        offline: bool = True,
    ) -> None:
        super().__init__()
        self.root, self.synthetic, self.synthetic_examples = root, synthetic or [], synthetic_examples
        self.records, self.copies, self.kept, self.mixed = records, copies, {**KEPT, **(kept or {})}, mixed
        self.dev_cap, self.ramdocs, self.batch_size, self.seed = dev_cap, ramdocs, batch_size, seed
        if ramdocs_held is not None and not 0 <= ramdocs_held < ramdocs_folds:
            raise ValueError(f"ramdocs_held is {ramdocs_held}; give a fold from 0 to {ramdocs_folds - 1}, or null")
        self.ramdocs_held, self.ramdocs_folds = ramdocs_held, ramdocs_folds
        self.collator: Any = self.make_collator(base, max_tokens, width, offline)
        self.train_rows: list[Reading] = []
        self.dev_sets: dict[str, list[Reading]] = {}
        self.counts: list[dict[str, Any]] = []

    def make_collator(self, base: str, max_tokens: int, width: int, offline: bool) -> Any:
        """What makes batches of readings for the model to be trained."""
        tokenizer = load_tokenizer(resolve_model(base, offline=offline))
        return ReaderCollator(ReaderTokenizer(tokenizer, max_tokens=max_tokens), width)

    def setup(self, stage: str | None = None) -> None:
        """Reads everything once."""
        if not self.dev_sets:
            found, _ = readings(self.root, "dev")
            self.dev_sets = {name: sorted(rows, key=_shuffled)[: self.dev_cap] for name, rows in found.items() if rows}
            if measured := self._ramdocs_dev(trained=False):
                self.dev_sets["ramdocs/dev"] = measured
        if not self.train_rows and stage == "fit":
            self._fill()

    def _ramdocs_dev(self, *, trained: bool) -> list[Reading]:
        """The readings of RAMDocs dev that are trained on, or those that are measured on: no question is both."""
        rows = ramdocs(self.root, "dev")[0]
        held = self.ramdocs_held
        inside = [bool(self.ramdocs) and (held is None or fold_of(row.question, self.ramdocs_folds) != held) for row in rows]
        return [row for row, used in zip(rows, inside, strict=True) if used == trained]

    def _fill(self) -> None:
        rng = random.Random(self.seed)
        found, lost = readings(self.root, "train")
        if self.ramdocs:
            found["ramdocs/dev"], lost["ramdocs/dev"] = self._ramdocs_dev(trained=True), ramdocs(self.root, "dev")[1]
        licences = {one.name: one.licence for one in SETS} | {"ramdocs/dev": RAMDOCS.licence}
        rows: list[Reading] = []
        for name, some in found.items():
            times = float(self.ramdocs) if name == "ramdocs/dev" else self.copies
            part = rng.sample(some, round(times % 1 * len(some)))
            rows += some * int(times) + part
            answered = sum(bool(one.spans) for one in some)
            self.counts.append(
                {"set": name, "licence": licences[name], "answered": answered, "none": len(some) - answered, "lost": lost[name]}
            )
        ruled = made_by_rule(self.synthetic, self.seed, self.synthetic_examples, self.kept) + record_readings(self.records, self.seed)
        for source in sorted({one.source for one in ruled}):
            some = [one for one in ruled if one.source == source]
            answered = sum(bool(one.spans) for one in some)
            licence = "none: invented" if source.endswith("record") else "texts of the sets above"
            self.counts.append({"set": source, "licence": licence, "answered": answered, "none": len(some) - answered, "lost": 0})
        rows += ruled
        crop = Crop()
        self.train_rows = []
        for one in rows:
            one = cropped(one, rng, crop)
            one = framed(one, rng) if rng.random() < crop.framed else one
            self.train_rows.append(spaced(one) if rng.random() < crop.spaced else one)

    def train_dataloader(self) -> DataLoader[Any]:
        lengths = [len(one.question) + len(one.passage) for one in self.train_rows]
        ruled = [one.source.startswith("made by rule") for one in self.train_rows]
        order = Order(lengths, ruled, batch_size=self.batch_size, seed=self.seed, mixed=self.mixed)
        return DataLoader(self.train_rows, batch_sampler=order, collate_fn=self.collator)  # pyright: ignore[reportArgumentType]

    def val_dataloader(self) -> DataLoader[Any]:
        # The names of the dev sets: a set is read as a whole, as the finished reader reads.
        return DataLoader(list(self.dev_sets), batch_size=None)  # pyright: ignore[reportArgumentType]


def _shuffled(reading: Reading) -> str:
    from arbgraph.schema import content_id

    return content_id("reading", reading.question, reading.passage)
