"""Builds the records: drawn per situation, balanced between the sides, each question and each invented world in one part only."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from arbgraph.arbitrator.records import WINNERS, ArbitrationRecord, write_arbitration_records
from train.data.arbitration.decisions import distilled
from train.data.arbitration.material import Material
from train.data.arbitration.scenes import change_material, scene_material
from train.data.arbitration.situations import SITUATIONS, make_record
from train.data.arbitration.texts import Contrast, TextSource, read_stock
from train.data.conflicts.engine import Split, stable_hash
from train.data.conflicts.names import Names

GIVE_UP = 400  # draws in a row without a new record


@dataclass(frozen=True)
class ArbitrationRecipe:
    """How many records, and from what.

    Args:
        train_records, dev_records: of both files together with the distilled ones, which only join the training part.
        seed: of everything that is drawn.
        changing: share of records about facts that change, among the generated ones.
        real: share of records whose texts come from `sources`; less where these run out.
        repeats: how often a pair of claims from `sources` is used at most.
        max_chars: of all texts of a record together; what is longer is drawn anew.
        shares: of the records by situation, in any unit, for those that differ from the usual share; 0 leaves a situation out.
        sources: data files.
        decisions: decision logs (`arbgraph arbitrate --json FILE`), relative to the data root.
        confidence, doubt: least confidence of a decision with and without a winner.
    """

    train_records: int = 3000
    dev_records: int = 300
    seed: int = 0
    changing: float = 0.4
    real: float = 0.25
    repeats: int = 2
    max_chars: int = 900
    shares: Mapping[str, float] = field(default_factory=dict)
    sources: Sequence[TextSource] = ()
    decisions: Sequence[str] = ()
    confidence: float = 0.6
    doubt: float = 0.5

    def __post_init__(self) -> None:
        unknown = sorted(set(self.shares) - set(SITUATIONS))
        if unknown:
            raise ValueError(f"shares: no situation is called {', '.join(unknown)}; there are {', '.join(SITUATIONS)}")
        if min(self.shares.values(), default=0) < 0 or not sum(self.all_shares().values()):
            raise ValueError(f"shares: {dict(self.shares)}; they are at least 0 and not all 0")

    def all_shares(self) -> dict[str, float]:
        """The share of every situation, in the unit of `shares`."""
        return {name: self.shares.get(name, situation.share) for name, situation in SITUATIONS.items()}


class BuildError(RuntimeError):
    """No more new records could be drawn."""


def draw_records(recipe: ArbitrationRecipe, count: int, split: Split, contrasts: Sequence[Contrast]) -> list[ArbitrationRecord]:
    """`count` different records of a part, the sides of every situation in random order. Raises BuildError when the material runs out."""
    rng = Random(stable_hash("arbitration", str(recipe.seed), split))
    names = Names(rng, split)
    quotas = _quotas(count, recipe.all_shares())
    real = _repeated(contrasts, recipe.repeats, rng)
    made: dict[str, ArbitrationRecord] = {}
    barren = 0
    while sum(quotas.values()):
        if barren == GIVE_UP:
            raise BuildError(f"{GIVE_UP} draws in a row gave nothing new; missing of the {split} part: {dict(+quotas)}; ask for fewer")
        contrast = next(real, None) if rng.random() < recipe.real else None
        material = contrast.material(rng) if contrast is not None else _generated(recipe, rng, names, split)
        record = _fitting(quotas, material, rng, names) if material is not None else None
        if record is None or (record.key in made and record.origin == "generated") or _chars(record) > recipe.max_chars:
            barren += 1
            continue
        barren, quotas[record.type] = 0, quotas[record.type] - 1
        made[record.key if record.key not in made else f"{record.key}/{len(made)}"] = record
    records = list(made.values())
    rng.shuffle(records)
    return records


def _quotas(count: int, shares: Mapping[str, float]) -> Counter[str]:
    """How many records of each situation; what rounding leaves goes to the first of the wanted ones."""
    whole = sum(shares.values())
    quotas = Counter({name: int(count * share / whole) for name, share in shares.items()})
    quotas[next(name for name, share in shares.items() if share)] += count - sum(quotas.values())
    return quotas


def _repeated(contrasts: Sequence[Contrast], repeats: int, rng: Random) -> Iterator[Contrast]:
    for _ in range(repeats):
        yield from rng.sample(contrasts, len(contrasts))


def _generated(recipe: ArbitrationRecipe, rng: Random, names: Names, split: Split) -> Material | None:
    draw: Callable[..., Material | None] = change_material if rng.random() < recipe.changing else scene_material
    return draw(rng, names, split)


def _fitting(quotas: Counter[str], material: Material, rng: Random, names: Names) -> ArbitrationRecord | None:
    """A record in one of the situations that are still wanted, drawn by what is missing."""
    wanted = [name for name, left in quotas.items() if left > 0]
    name = rng.choices(wanted, [quotas[one] for one in wanted])[0]
    return make_record(name, material, rng, names)


def _chars(record: ArbitrationRecord) -> int:
    return sum(len(statement.line()) for statement in (*record.context_a, *record.context_b)) + len(record.claim_a) + len(record.claim_b)


def build(recipe: ArbitrationRecipe, out: Path, data: Path = Path("data")) -> dict[str, Any]:
    """Writes train.jsonl, dev.jsonl and report.json into `out`; returns the report.

    Raises InputError on a data file that cannot be used, BuildError when the material runs out.
    """
    stocks = {source.name: read_stock(source, data) for source in recipe.sources}
    taught: list[ArbitrationRecord] = []
    report: dict[str, Any] = {
        "sources": [
            {"name": s.name, "licence": s.licence, "train": len(stocks[s.name].parts["train"]), "dev": len(stocks[s.name].parts["dev"])}
            | {"dropped": dict(sorted((+stocks[s.name].dropped).items()))}
            for s in recipe.sources
        ],
        "decisions": {},
    }
    for path in recipe.decisions:
        records, counts = distilled(data / path, confidence=recipe.confidence, doubt=recipe.doubt)
        taught += records
        report["decisions"][path] = dict(counts)
    out.mkdir(parents=True, exist_ok=True)
    parts: tuple[tuple[Split, int, list[ArbitrationRecord]], ...] = (
        ("train", recipe.train_records, taught),
        ("dev", recipe.dev_records, []),
    )
    for split, count, extra in parts:
        contrasts = [contrast for source in recipe.sources for contrast in stocks[source.name].parts[split]]
        records = draw_records(recipe, max(0, count - len(extra)), split, contrasts) + extra
        Random(stable_hash("order", str(recipe.seed), split)).shuffle(records)
        write_arbitration_records(out / f"{split}.jsonl", records)
        report[split] = summary(records)
    (out / "report.json").write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return report


def summary(records: Sequence[ArbitrationRecord]) -> dict[str, Any]:
    """Records by type and winner, and by origin."""
    types = sorted({record.type for record in records})
    counts = Counter((record.type, record.winner) for record in records)
    return {
        "records": len(records),
        "by_type": {name: {winner: counts[name, winner] for winner in WINNERS} for name in types},
        "by_origin": dict(sorted(Counter(record.origin for record in records).items())),
    }
