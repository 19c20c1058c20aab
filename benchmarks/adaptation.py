"""Adapting a published verifier to a domain: what is gained there, what is forgotten elsewhere, with and without replay.

    python -m benchmarks.adaptation --data DATA [--checkpoint verifier-minilm] [--out outputs/adaptation] [--json OUT]

Trains every row of the table with `train.verifier` from one configuration, then scores all verifiers on the same pairs. Domains:
covid_fact (its own training rows, as a learning curve) and healthver (few shots from its dev split: half of the evidence texts; its
test rows with other evidence are scored, and the claims differ anyway). Dev rows choose the checkpoint; test rows are only scored.
"""

from __future__ import annotations

import copy
import hashlib
import time
from collections.abc import Mapping, Sequence
from json import dumps
from pathlib import Path
from typing import Any

import torch
import yaml
from jsonargparse import auto_cli
from rich.table import Table

from arbgraph.verifier import RelationVerifier
from arbgraph.verifier.calibration import DevScores, VerifierCalibration, calibrate_verifier
from arbgraph.verifier.pairs import LabelledPair, file_rows, read_pairs
from eval.measured import measured
from eval.metrics.classification import classification_report
from train.cli import fast_precision
from train.console import console
from train.data.pairs import label_tensor
from train.data.sources import PairSource
from train.verifier import main as train_verifier

CONFIG = Path(__file__).parent.parent / "configs/train/verifier/adapt_covid_fact.yaml"
DOMAINS, GENERAL = ("covid_fact", "healthver"), ("vitaminc", "cad_nli")


def few_shot_files(data: Path, out: Path) -> dict[str, str]:
    """Splits half of healthver's dev rows, by evidence, into `fit` (three in four claims) and `dev`; and keeps apart the `test` rows that
    share neither evidence nor claim with them. Returns the paths.
    """
    dev, test = (list(file_rows(data / "healthver" / f"{split}.jsonl.gz")) for split in ("dev", "test"))
    few = [row for row in dev if _bucket(row["premise"], 2)]
    seen = {_plain(row[side]) for row in few for side in ("premise", "hypothesis")}
    parts = {
        "fit": [row for row in few if _bucket(row["hypothesis"], 4)],
        "dev": [row for row in few if not _bucket(row["hypothesis"], 4)],
        "test": [row for row in test if _plain(row["premise"]) not in seen and _plain(row["hypothesis"]) not in seen],
    }
    paths = {}
    for part, rows in parts.items():
        path = out / "healthver_few" / f"{part}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        paths[part] = str(path.resolve())
    return paths


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _bucket(text: str, buckets: int) -> int:
    return hashlib.sha256(_plain(text).encode()).digest()[0] % buckets


def configure(recipe: dict[str, Any], folder: Path, *, checkpoint: str, data: Path, rows: int, epochs: int, replay: bool) -> dict[str, Any]:
    """The recipe for one run: so many domain rows and epochs, and per epoch as many replayed pairs, or none."""
    config = copy.deepcopy(recipe)
    config["model"] |= {"init_from": checkpoint, "output": str(folder / "checkpoint")}
    domain, *general = config["data"]["train"]
    domain["cap"] = rows
    for source in general:
        source["weight"] = rows / (len(general) * source["cap"])
    config["data"] |= {"root": str(data), "train": [domain, *general] if replay else [domain]}
    # Two looks at the dev sets, half-way and at the end.
    halves = {"val_check_interval": 0.5} if epochs == 1 else {"val_check_interval": 1.0, "check_val_every_n_epoch": epochs // 2}
    config["trainer"] |= {"max_epochs": epochs, "default_root_dir": str(folder), **halves}
    config["trainer"]["logger"]["init_args"]["save_dir"] = str(folder)
    return config


def fit(config: dict[str, Any], folder: Path) -> Path:
    """Trains one configuration; returns the checkpoint folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "run.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    train_verifier(["fit", "--config", str(path)])
    return folder / "checkpoint"


def of_healthver(recipe: dict[str, Any], files: dict[str, str]) -> dict[str, Any]:
    """The recipe with healthver in covid_fact's place."""
    config = copy.deepcopy(recipe)
    config["data"]["train"][0] = {"path": files["fit"], "name": "healthver", "licence": "not stated"}
    config["data"]["dev"][0] = {"path": files["dev"], "name": "healthver"}
    config["data"]["test"] = [{"path": files["test"], "name": "healthver"}]
    for callback in config["trainer"]["callbacks"]:
        if callback["init_args"].get("monitor"):
            callback["init_args"]["monitor"] = "dev/healthver/macro_f1"
    return config


def load(folder: str | Path, max_tokens: int) -> RelationVerifier:
    """A verifier in the fast precision, reading pairs as long as the adapted ones do."""
    verifier = RelationVerifier.load(folder, precision="bf16" if fast_precision("auto").startswith("bf16") else "fp32")
    verifier.tokenizer.max_tokens = max_tokens
    return verifier


Logits = dict[str, torch.Tensor]


def read(verifier: RelationVerifier, sets: Mapping[str, list[LabelledPair]]) -> Logits:
    """Logits `[N, 3]` per set, evidence read first."""
    return {name: verifier.logits([(pair.a, pair.b) for pair in pairs]) for name, pairs in sets.items()}


def score(logits: Logits, sets: Mapping[str, list[LabelledPair]], calibration: VerifierCalibration) -> dict[str, Any]:
    """A report per set."""
    return {
        name: classification_report(calibration.directed.log_probabilities(rows).exp(), label_tensor(sets[name]))
        for name, rows in logits.items()
    }


def recalibrated(verifier: RelationVerifier, recipe: dict[str, Any], data: Path) -> VerifierCalibration:
    """The verifier calibrated anew on the recipe's dev sets, without training."""
    sources = [PairSource(**entry) for entry in recipe["data"]["dev"]]
    sets = {source.name: source.read(data) for source in sources}
    return calibrate_verifier([DevScores(name, label_tensor(sets[name]), rows) for name, rows in read(verifier, sets).items()])


def run(data: Path, checkpoint: str, out: Path, rows: Sequence[int], epochs: Sequence[int], limit: int, few_shot: bool) -> dict[str, Any]:
    """All rows of the table, each printed once measured, with what was measured, when and where."""
    recipe = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
    longest = recipe["model"]["max_tokens"]
    files = few_shot_files(data, out)
    plans = [("covid_fact", recipe, size, count, True) for size, count in zip(rows, epochs, strict=True)]
    plans.append(("covid_fact", recipe, rows[-1], epochs[-1], False))
    if few_shot:
        shots = len(read_pairs(files["fit"]))
        plans += [("healthver", of_healthver(recipe, files), shots, 1, replay) for replay in (True, False)]
    sets = {}
    for name in (*DOMAINS, *GENERAL):
        pairs = read_pairs(files["test"] if name == "healthver" else data / name / "test.jsonl.gz")
        sets[name] = [pairs[number * len(pairs) // limit] for number in range(limit)] if len(pairs) > limit else pairs
    table: list[dict[str, Any]] = []

    def add(reports: dict[str, Any], domain: str, size: int = 0, replay: str = "", seconds: float = 0.0) -> None:
        table.append({"adapted to": domain, "rows": size, "replay": replay, "seconds": seconds, "sets": reports})
        console.print("  ".join(shown(table[-1])))

    start = load(checkpoint, longest)
    logits = read(start, sets)
    add(score(logits, sets, start.calibration), "nothing")
    add(score(logits, sets, recalibrated(start, recipe, data)), "covid_fact, calibration only")
    for domain, source, size, count, replay in plans:
        folder = out / f"{domain}-{size}{'' if replay else '-no-replay'}"
        config = configure(source, folder, checkpoint=checkpoint, data=data, rows=size, epochs=count, replay=replay)
        began = time.process_time()
        trained = load(fit(config, folder), longest)
        spent = time.process_time() - began
        add(score(read(trained, sets), sets, trained.calibration), domain, size, "yes" if replay else "no", spent)
    return {
        **measured(),
        "start": start.describe()["sha256"],
        "pairs": {name: len(pairs) for name, pairs in sets.items()},
        "rows": table,
    }


def shown(row: Mapping[str, Any]) -> list[str]:
    """A row of the table as text."""
    scores = [f"{report['macro_f1']:.3f} ({report['accuracy']:.3f})" for report in row["sets"].values()]
    return [row["adapted to"], str(row["rows"]), row["replay"], *scores, f"{row['seconds']:.0f}"]


def main(
    data: str,
    checkpoint: str = "verifier-minilm",
    out: str = "outputs/adaptation",
    rows: tuple[int, ...] = (100, 500, 2000),
    epochs: tuple[int, ...] = (4, 2, 1),
    limit: int = 500,
    few_shot: bool = True,
    json: str | None = None,
) -> None:
    """Prints the table of gains and forgetting.

    Args:
        data: folder with covid_fact, healthver, vitaminc, cad_nli and semi_auto_wiki.
        checkpoint: the verifier to start from.
        out: folder for configurations, logs and checkpoints of every run, and the table as Markdown (`table.md`).
        rows: domain rows of the learning curve.
        epochs: passes over them, one number per entry of `rows`.
        limit: at most this many test pairs of each set, evenly spaced.
        few_shot: also adapt to healthver.
        json: also write everything to this file.
    """
    if len(rows) != len(epochs):
        raise SystemExit(f"--rows has {len(rows)} numbers and --epochs {len(epochs)}; give one number of epochs for each")
    results = run(Path(data).resolve(), checkpoint, Path(out), rows, epochs, limit, few_shot)
    table = Table(title=f"macro-F1 (accuracy) on test pairs, evidence read first; {results['hardware']}, {results['date']}")
    header = ["adapted to", "rows", "replay", *(f"{name} ({count})" for name, count in results["pairs"].items()), "CPU seconds"]
    for name in header:
        table.add_column(name, justify="left" if name in ("adapted to", "replay") else "right")
    for row in results["rows"]:
        table.add_row(*shown(row))
    console.print(table)
    lines = [header, ["---"] * len(header), *(shown(row) for row in results["rows"])]
    (Path(out) / "table.md").write_text("".join(f"| {' | '.join(line)} |\n" for line in lines), encoding="utf-8")
    if json:
        Path(json).write_text(dumps(results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    auto_cli(main, as_positional=False)
