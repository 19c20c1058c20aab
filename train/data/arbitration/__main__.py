"""`python -m train.data.arbitration --config configs/train/arbitrator/records.yaml --data DATA --out DIR`."""

from __future__ import annotations

from pathlib import Path

from jsonargparse import ArgumentParser
from rich.console import Console
from rich.table import Table

from arbgraph.arbitrator.records import WINNERS
from arbgraph.io import InputError
from train.data.arbitration.build import ArbitrationRecipe, BuildError, build


def main(args: list[str] | None = None) -> None:
    """Builds the records and prints the counts."""
    parser = ArgumentParser(prog="python -m train.data.arbitration", description=__doc__)
    parser.add_argument("--config", action="config")
    parser.add_class_arguments(ArbitrationRecipe, "recipe")
    parser.add_argument("--data", type=str, default="data", help="folder that holds the files of the recipe")
    parser.add_argument("--out", type=str, required=True, help="folder to write to")
    arguments = parser.instantiate(parser.parse_args(args))
    report = build(arguments.recipe, Path(arguments.out), Path(arguments.data))
    columns = [(split, winner) for split in ("train", "dev") for winner in WINNERS]
    table = Table("type", *(f"{split} {winner}" for split, winner in columns))
    for name in sorted(report["train"]["by_type"].keys() | report["dev"]["by_type"].keys()):
        table.add_row(name, *(str(report[split]["by_type"].get(name, {}).get(winner, 0)) for split, winner in columns))
    origins = ", ".join(f"{count} {name}" for name, count in report["train"]["by_origin"].items())
    Console().print(table, f"{report['train']['records']} train ({origins}) and {report['dev']['records']} dev records in {arguments.out}")


if __name__ == "__main__":
    try:
        main()
    except (InputError, BuildError) as error:
        raise SystemExit(f"error: {error}") from error
