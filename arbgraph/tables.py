"""Conflicting tables: (object, attribute, source, value) rows become one evidence graph, and credibility a value per item.

An item is an object and an attribute. Each of its distinct values is a claim; the sources of the rows assert it; the values
of an item contradict each other. Sources are shared by all items, so the whole table is one graph.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

import torch
from torch import Tensor

from arbgraph.graph import EvidenceGraph
from arbgraph.io import InputError
from arbgraph.schema import content_id
from arbgraph.values import Kind, infer_kind, normalise, overlap, position, specificity

Item = tuple[str, str]

# Probability that two values of an item contradict each other; the rest is neutral.
CERTAINTY = 0.98
# Pairs grow with the square of the values of an item.
MOST_VALUES = 2000


@dataclass(frozen=True)
class Columns:
    """Names of the columns that hold object, attribute, source and value; without `attribute` all rows share one."""

    object: str = "object"
    attribute: str | None = "attribute"
    source: str = "source"
    value: str = "value"


@dataclass(frozen=True)
class Row:
    """One assertion; of a truth table `source` is empty."""

    object: str
    attribute: str
    source: str
    value: str

    @property
    def item(self) -> Item:
        return self.object, self.attribute


@dataclass(frozen=True)
class ClaimTable:
    """A table as a graph of N claims over I items and S sources.

    `items [I]` and `sources [S]` are sorted; `item [N]` is the item number and `value [N]` the value of every claim;
    `kinds` tells how the values of every attribute were read; `labelled [I]` marks items with a given truth (label in
    `graph.label`); `diagnostics` counts what was left out or merged.
    """

    graph: EvidenceGraph
    items: list[Item]
    sources: list[str]
    item: Tensor
    value: list[str]
    kinds: dict[str, Kind]
    labelled: Tensor
    diagnostics: dict[str, int] = field(default_factory=dict)

    def claim_ids(self) -> list[str]:
        """Content hash of every claim's object, attribute and value."""
        return [content_id("claim", *self.items[i], value) for i, value in zip(self.item.tolist(), self.value, strict=True)]

    def best(self, p: Tensor) -> Tensor:
        """The claim of every item `[I]` with the highest score `p [N]`; of equal ones the first in order of value."""
        order = torch.argsort(p, descending=True, stable=True)
        order = order[torch.argsort(self.item[order], stable=True)]
        sizes = torch.bincount(self.item, minlength=len(self.items))
        return order[torch.cumsum(sizes, 0) - sizes]

    def verdicts(self, p: Tensor) -> list[dict[str, object]]:
        """One row per item: the most credible value, its score, how many sources assert it, and the values against it."""
        best = self.best(p).tolist()
        values: list[list[str]] = [[] for _ in self.items]
        for i, value in zip(self.item.tolist(), self.value, strict=True):
            values[i].append(value)
        count, score = self.graph.sources.tolist(), p.tolist()
        return [
            {
                "object": name,
                "attribute": attribute,
                "value": self.value[claim],
                "credibility": score[claim],
                "sources": count[claim],
                "rivals": [v for v in values[number] if v != self.value[claim]],
            }
            for number, ((name, attribute), claim) in enumerate(zip(self.items, best, strict=True))
        ]


def read_rows(path: str | Path, columns: Columns | None = None, *, truth: bool = False) -> list[Row]:
    """Rows of a `.csv`, `.tsv`, `.jsonl` (each also `.gz`) or `.parquet` file. A truth table needs no source column.

    Raises InputError, naming the file and the line or column, for a file that cannot be read, a missing column, or a row
    without an object or source. Empty values are kept here, and counted when the graph is built.
    """
    columns = columns or Columns()
    path = Path(path)
    names = [columns.object, *([columns.attribute] if columns.attribute else []), *([] if truth else [columns.source]), columns.value]
    rows: list[Row] = []
    for where, record in _records(path):
        missing = [name for name in names if name not in record]
        if missing:
            raise InputError(
                f"{where}: no column {missing[0]!r}; there are {', '.join(map(repr, record))}. Map the columns to the names of your file"
            )
        read = {name: "" if record[name] is None else str(record[name]).strip() for name in names}
        empty = next((name for name in names[:-1] if not read[name]), None)
        if empty is not None:
            raise InputError(f"{where}: column {empty!r} is empty; every row needs it")
        attribute = read[columns.attribute] if columns.attribute else columns.value
        rows.append(Row(read[columns.object], attribute, "" if truth else read[columns.source], read[columns.value]))
    if not rows:
        raise InputError(f"{path}: holds no rows; expected columns {', '.join(map(repr, names))}")
    return rows


def _records(path: Path) -> Iterable[tuple[str, Mapping[str, object]]]:
    kind = [suffix for suffix in path.suffixes if suffix != ".gz"][-1:]
    if kind == [".parquet"]:
        yield from _parquet(path)
        return
    if kind not in ([".csv"], [".tsv"], [".jsonl"]):
        raise InputError(f"{path}: the name must end in .csv, .tsv, .jsonl (also .gz) or .parquet")
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 (byte {error.start}); save the file as UTF-8") from None
    except (OSError, EOFError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    if kind == [".jsonl"]:
        yield from _json_lines(path, text)
        return
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter="\t" if kind == [".tsv"] else ",")
    for record in reader:
        where = f"{path}: line {reader.line_num}"
        if None in record or None in record.values():
            raise InputError(f"{where}: has not as many fields as the header; quote values that hold the separator")
        yield where, record


def _json_lines(path: Path, text: str) -> Iterable[tuple[str, Mapping[str, object]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(f"{path}: line {number}: broken JSON: {error.msg}") from None
        if not isinstance(record, dict):
            raise InputError(f"{path}: line {number}: expected an object of columns, found {type(record).__name__}")
        yield f"{path}: line {number}", record


def _parquet(path: Path) -> Iterable[tuple[str, Mapping[str, object]]]:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import read_table
    except ImportError:
        raise InputError(f"{path}: reading parquet needs the package pyarrow; install it or save the table as CSV") from None
    try:
        records = read_table(path).to_pylist()
    except (OSError, ArrowException) as error:
        raise InputError(f"{path}: cannot be read as parquet: {error}") from None
    for number, record in enumerate(records, 1):
        yield f"{path}: row {number}", record


def build_table(
    rows: Sequence[Row],
    truth: Sequence[Row] = (),
    *,
    kinds: Mapping[str, Kind] | Kind | None = None,
    tolerance: float = 0.0,
    all_categories: bool = False,
    partial_agreement: bool = False,
) -> ClaimTable:
    """The graph of a table.

    Args:
        rows: the assertions. truth: the true value of some items; sets `graph.label`.
        kinds: how values are read (`arbgraph.values.KINDS`), for all attributes or by attribute; the rest is inferred, and the
            outcome is in `ClaimTable.kinds`.
        tolerance: numbers of an item within this distance of each other are one value; so are times (minutes) and dates (days).
        all_categories: every value of a category attribute is a candidate for each of its items, asserted or not.
        partial_agreement: similar values support each other to the degree of their similarity, in place of a plain contradiction.

    `graph.similarity [E]` is the similarity of two values: Jaccard index of names or words, exp(-distance / scale) for numbers, times and
    dates, with the median distance of rival values of the attribute as the scale. `graph.facet` holds the attribute, `graph.category`
    the category or -1. Priors are 0.5. The result does not depend on the order of the rows.

    Raises InputError for an unknown attribute in `kinds`, two truths of one item, or an item of more than 2000 values.
    """
    counts: Counter[str] = Counter()
    read = _read_kinds(rows, kinds)
    asserted: dict[Item, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for row in rows:
        value = normalise(row.value, read[row.attribute])
        if value is None:
            counts["empty_values"] += 1
        elif row.source in asserted[row.item][value]:
            counts["repeated_assertions"] += 1
        else:
            asserted[row.item][value].add(row.source)
    if not any(asserted.values()):
        raise InputError("the table holds no value that is not empty")
    if tolerance > 0:
        counts["merged_values"] = sum(_merge(values, read[item[1]], tolerance) for item, values in asserted.items())
    counts["several_values_of_one_source"] = sum(
        several > 1 for values in asserted.values() for several in Counter(s for v in values.values() for s in v).values()
    )
    vocabulary: dict[str, set[str]] = defaultdict(set)
    for (_, attribute), values in asserted.items():
        if read[attribute] == "category":
            vocabulary[attribute] |= set(values)
    if all_categories:
        for (_, attribute), values in asserted.items():
            for value in vocabulary.get(attribute, ()):
                values.setdefault(value, set())
    items = sorted(item for item, values in asserted.items() if values)
    return _assemble(items, asserted, read, vocabulary, _truths(truth, asserted, read, tolerance, counts), counts, partial_agreement)


def _read_kinds(rows: Sequence[Row], kinds: Mapping[str, Kind] | Kind | None) -> dict[str, Kind]:
    values: dict[str, list[str]] = defaultdict(list)
    objects: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        values[row.attribute].append(row.value)
        objects[row.attribute].add(row.object)
    given: Mapping[str, Kind] = dict.fromkeys(values, kinds) if isinstance(kinds, str) else kinds or {}
    unknown = sorted(set(given) - set(values))
    if unknown:
        raise InputError(f"kinds names the attribute {unknown[0]!r}; the table has {', '.join(map(repr, sorted(values)))}")
    return {name: given.get(name) or infer_kind(values[name], len(objects[name])) for name in sorted(values)}


def _merge(values: dict[str, set[str]], kind: Kind, tolerance: float) -> int:
    """Joins values that lie within `tolerance` of the smallest of their group, in place; the most asserted one names it."""
    placed = sorted((x, value) for value in values if (x := position(value, kind)) is not None)
    groups: list[list[str]] = []
    low = -float("inf")
    for x, value in placed:
        if x - low <= tolerance:
            groups[-1].append(value)
        else:
            groups.append([value])
            low = x
    for group in groups:
        name = max(group, key=lambda value: len(values[value]))  # The first, so the smallest, of equally many.
        for value in group:
            if value != name:
                values[name] |= values.pop(value)
    return len(placed) - len(groups)


def _truths(
    truth: Sequence[Row], asserted: Mapping[Item, dict[str, set[str]]], kinds: Mapping[str, Kind], tolerance: float, counts: Counter[str]
) -> dict[Item, str]:
    """The true value of every item of the table that has one; `""` where nobody asserts it."""
    found: dict[Item, str] = {}
    for row in truth:
        if row.attribute not in kinds or not asserted.get(row.item):
            counts["truths_of_unknown_items"] += 1
            continue
        value = normalise(row.value, kinds[row.attribute])
        if value is None:
            counts["empty_truths"] += 1
            continue
        there = asserted[row.item]
        if value not in there and tolerance > 0 and (x := position(value, kinds[row.attribute])) is not None:
            near = [(abs(x - y), v) for v in there if (y := position(v, kinds[row.attribute])) is not None and abs(x - y) <= tolerance]
            value = min(near)[1] if near else value
        named = value if value in there else ""
        if found.setdefault(row.item, named) != named:
            raise InputError(f"item {row.item}: the truth table gives more than one value; keep one")
        counts["truths_nobody_asserts"] += not there.get(value)
    return found


def _assemble(
    items: list[Item],
    asserted: Mapping[Item, Mapping[str, set[str]]],
    kinds: dict[str, Kind],
    vocabulary: Mapping[str, set[str]],
    truth: Mapping[Item, str],
    counts: Counter[str],
    partial_agreement: bool,
) -> ClaimTable:
    sources = sorted({source for item in items for voices in asserted[item].values() for source in voices})
    source_number = {name: number for number, name in enumerate(sources)}
    facets = {name: number for number, name in enumerate(kinds)}
    categories = {pair: number for number, pair in enumerate((a, v) for a in sorted(vocabulary) for v in sorted(vocabulary[a]))}
    value: list[str] = []
    item_of, facet, category, details, label = [], [], [], [], []
    links: list[tuple[int, int]] = []
    pairs: list[tuple[int, int]] = []
    for number, item in enumerate(items):
        attribute, first = item[1], len(value)
        for name in sorted(asserted[item]):
            links += [(len(value), source_number[source]) for source in sorted(asserted[item][name])]
            value.append(name)
            item_of.append(number)
            facet.append(facets[attribute])
            category.append(categories.get((attribute, name), -1))
            details.append(specificity(name, kinds[attribute]))
            label.append(float(truth[item] == name) if item in truth else float("nan"))
        if len(value) - first > MOST_VALUES:
            raise InputError(
                f"item {item}: {len(value) - first} different values, more than {MOST_VALUES}; normalise them or use a tolerance"
            )
        pairs += combinations(range(first, len(value)), 2)
    links_index = torch.tensor(links, dtype=torch.long).view(-1, 2).T.contiguous()
    counts["sources_with_one_assertion"] = int((torch.bincount(links_index[1], minlength=len(sources)) == 1).sum())
    similar = _similarities(value, [items[i][1] for i in item_of], kinds, pairs)
    agree = similar * CERTAINTY if partial_agreement else torch.zeros_like(similar)
    graph = EvidenceGraph.build(
        torch.full((len(value),), 0.5, dtype=torch.float64),
        torch.tensor(pairs, dtype=torch.long).view(-1, 2).T.contiguous(),
        torch.stack([agree, CERTAINTY - agree, torch.full_like(agree, 1 - CERTAINTY)], dim=-1),
        similarity=similar,
        source_index=links_index,
        num_sources=len(sources),
        specificity=torch.tensor(details, dtype=torch.float64),
        label=torch.tensor(label, dtype=torch.float64),
        facet=torch.tensor(facet, dtype=torch.long),
        category=torch.tensor(category, dtype=torch.long),
    )
    labelled = torch.tensor([item in truth for item in items])
    ordered = {name: int(counts[name]) for name in sorted(counts) if counts[name]}
    return ClaimTable(graph, items, sources, torch.tensor(item_of), value, kinds, labelled, ordered)


def _similarities(value: list[str], attribute: list[str], kinds: Mapping[str, Kind], pairs: Sequence[tuple[int, int]]) -> Tensor:
    """Similarity `[E]` of the two values of every pair, in [0, 1]."""
    result = torch.zeros(len(pairs), dtype=torch.float64)
    distances: dict[str, dict[int, float]] = defaultdict(dict)
    where = {i: position(value[i], kinds[attribute[i]]) for i in {i for pair in pairs for i in pair}}
    for e, (a, b) in enumerate(pairs):
        x, y = where[a], where[b]
        if x is not None and y is not None:
            distances[attribute[a]][e] = abs(x - y)
        else:
            result[e] = overlap(value[a], value[b], kinds[attribute[a]])
    for of_attribute in distances.values():
        rows = torch.tensor(list(of_attribute), dtype=torch.long)
        distance = torch.tensor(list(of_attribute.values()), dtype=torch.float64)
        result[rows] = torch.exp(-distance / distance.median().clamp(min=1e-12))
    return result
