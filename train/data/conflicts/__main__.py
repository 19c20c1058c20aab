"""`python -m train.data.conflicts --config configs/train/conflicts/default.yaml --data DATA --out DIR`."""

from __future__ import annotations

from pathlib import Path

from jsonargparse import ArgumentParser
from rich.console import Console
from rich.table import Table

from train.data.conflicts.generate import Recipe, generate


def main() -> None:
    """Generates the pairs and prints the counts."""
    parser = ArgumentParser(prog="python -m train.data.conflicts", description=__doc__)
    parser.add_argument("--config", action="config")
    parser.add_class_arguments(Recipe, "recipe")
    parser.add_argument("--data", type=str, default="data", help="folder that holds the sentence files of the recipe")
    parser.add_argument("--out", type=str, required=True, help="folder to write to")
    arguments = parser.instantiate(parser.parse_args())
    report = generate(arguments.recipe, Path(arguments.out), Path(arguments.data))
    table = Table("category", *(f"{split} {label}" for split in ("train", "dev") for label in ("support", "contradict", "neutral")))
    for category, counts in report["train"]["counts"].items():
        table.add_row(category, *(str(n) for n in (*counts.values(), *report["dev"]["counts"][category].values())))
    Console().print(table, f"{report['train']['pairs']} train and {report['dev']['pairs']} dev pairs in {arguments.out}")


if __name__ == "__main__":
    main()
