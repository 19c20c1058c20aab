"""The folder of one run: answers line by line while it is under way, and scores, configuration and surroundings when it is done.

- `predictions.jsonl`: one line per question, flushed as soon as it is there; `predictions.RANK.jsonl` while several processes write.
- `timings.jsonl`: seconds per question; wall time is no part of anything that repeats.
- `config.yaml`: complete, and readable by `--config`. `environment.json`: what else decides or surrounds the answers.
- `checked.jsonl`: judgements of claims, where a metric needs them; `ragchecker.json`: the same in the official tool's format.
- `metrics.json`: the scores, of predictions and judgements alone.

A killed run leaves whole lines and perhaps a torn last one, which is dropped; the next run goes on behind them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from arbgraph.io import InputError, to_json_line, whole_file
from eval.benchmarks.base import Item

PREDICTIONS, TIMINGS = "predictions", "timings"
OUR_FILES = (
    "predictions*.jsonl", "timings*.jsonl", "config.yaml", "environment.json", "metrics.json", "checked.jsonl", "ragchecker.json",
)  # fmt: skip
# Keys of the configuration that may differ between two sittings of one run: they do not change what is answered.
FREE = frozenset({"root", "batch_size", "metrics", "checker", "cache", "max_failed"})
# Parts of the environment that decide the answers.
DECISIVE = ("system", "data")


class RunFolder:
    """Reads and writes the files of a run. `rank` is that of this process where several write."""

    def __init__(self, path: str | Path, rank: int | None = None) -> None:
        self.path = Path(path)
        suffix = "" if rank is None else f".{rank}"
        self._predictions = self.path / f"{PREDICTIONS}{suffix}.jsonl"
        self._timings = self.path / f"{TIMINGS}{suffix}.jsonl"

    def claim(self, config: Mapping[str, Any], environment: Mapping[str, Any], *, overwrite: bool = False) -> None:
        """Makes the folder this run's own: new, or begun by a run of the same configuration.

        Raises InputError, and changes nothing, where the folder belongs to another configuration or holds other files. With `overwrite`,
        the files of the earlier run are removed; others never are.
        """
        found = sorted({file for pattern in OUR_FILES for file in self.path.glob(pattern)})
        if overwrite:
            for file in found:
                file.unlink()
        elif found:
            self._refuse_another(config, environment)
        elif self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
            raise InputError(f"{self.path}: holds files that are not of a run; give an empty or new folder")
        for name in (PREDICTIONS, TIMINGS):
            for file in self.path.glob(f"{name}*.jsonl"):
                _cut_torn_line(file)
        self.write_yaml("config.yaml", config)
        self.write_json("environment.json", environment)

    def _refuse_another(self, config: Mapping[str, Any], environment: Mapping[str, Any]) -> None:
        remedy = "give another --out, or --overwrite to start anew"
        earlier, surroundings = self.read_config(), self.read_json("environment.json")
        for key in sorted({*config, *earlier} - FREE):
            if config.get(key) != earlier.get(key):
                values = f"{key} was {earlier.get(key)!r} and is {config.get(key)!r}"
                raise InputError(f"{self.path}: belongs to a run of another configuration ({values}); {remedy}")
        for key in DECISIVE:
            if environment.get(key) != surroundings.get(key):
                changed = first_difference(surroundings.get(key), environment.get(key), key)
                raise InputError(f"{self.path}: belongs to a run whose {changed}; {remedy}")

    def read_config(self) -> dict[str, Any]:
        """`config.yaml`. Raises InputError where it is missing or broken."""
        path = self.path / "config.yaml"
        try:
            found = yaml.safe_load(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise InputError(f"{path}: no such file; the folder does not hold a run of eval.answers") from None
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: not valid YAML: {error}") from None
        if not isinstance(found, dict):
            raise InputError(f"{path}: expected a mapping of options")
        return found

    def read_json(self, name: str) -> dict[str, Any]:
        """A JSON file of the run. Raises InputError where it is missing or broken."""
        path = self.path / name
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise InputError(f"{path}: no such file; the folder does not hold a run of eval.answers") from None
        except ValueError as error:
            raise InputError(f"{path}: broken JSON: {error}") from None

    def predictions(self, items: Sequence[Item]) -> dict[str, dict[str, Any]]:
        """The stored line of every question that has one, by id.

        Raises InputError, naming file and line, on a line that is no prediction, a question that is none of the items or has changed since
        it was answered, and two different predictions of one question.
        """
        digests = {item.query.id: item.digest for item in items}
        found: dict[str, dict[str, Any]] = {}
        for file in sorted(self.path.glob(f"{PREDICTIONS}*.jsonl")):
            for number, row in _whole_lines(file):
                where = f"{file}: line {number}"
                if not isinstance(row, dict) or not {"id", "digest", "answer", "failed"} <= set(row):
                    raise InputError(f"{where}: no prediction; delete the line, and its question is asked again")
                identifier = row["id"]
                if identifier not in digests:
                    raise InputError(f"{where}: prediction for {identifier!r}, which is none of the {len(items)} questions of this run")
                if row["digest"] != digests[identifier]:
                    raise InputError(f"{where}: {identifier!r} has another question or other documents now than when it was answered")
                if found.setdefault(identifier, row) != row:
                    raise InputError(f"{where}: a second, different prediction for {identifier!r}; delete one of them")
        return found

    def append(self, rows: Iterable[Mapping[str, Any]], timings: Iterable[Mapping[str, Any]]) -> None:
        """Adds predictions, each line flushed on its own, then their timings."""
        for file, lines in ((self._predictions, rows), (self._timings, timings)):
            with file.open("a", encoding="utf-8", newline="\n") as stream:
                for line in lines:
                    stream.write(to_json_line(line) + "\n")
                    stream.flush()

    def timings(self) -> dict[str, float]:
        """Seconds by question, as far as they are known."""
        files = sorted(self.path.glob(f"{TIMINGS}*.jsonl"))
        return {row["id"]: row["seconds"] for file in files for _, row in _whole_lines(file)}

    def merge(self, items: Sequence[Item], rows: Mapping[str, Mapping[str, Any]]) -> None:
        """Writes predictions and timings into one file each, in the order of the items, and removes the files of single processes."""
        timings = self.timings()
        known = [item.query.id for item in items if item.query.id in rows]
        ordered = {
            PREDICTIONS: [rows[identifier] for identifier in known],
            TIMINGS: [{"id": identifier, "seconds": timings[identifier]} for identifier in known if identifier in timings],
        }
        for name, lines in ordered.items():
            with whole_file(self.path / f"{name}.jsonl") as stream:
                stream.writelines(to_json_line(line) + "\n" for line in lines)
            for file in self.path.glob(f"{name}.*.jsonl"):
                file.unlink()

    def write_json(self, name: str, value: Any) -> None:
        """A JSON file, indented, whole or not at all."""
        with whole_file(self.path / name) as stream:
            json.dump(value, stream, ensure_ascii=False, indent=1, allow_nan=False)
            stream.write("\n")

    def write_yaml(self, name: str, value: Mapping[str, Any]) -> None:
        """A YAML file, whole or not at all."""
        with whole_file(self.path / name) as stream:
            yaml.safe_dump(dict(value), stream, sort_keys=False, allow_unicode=True)


def _whole_lines(file: Path) -> list[tuple[int, Any]]:
    """(number, value) of every line that was written to its end. Raises InputError on one that is not JSON."""
    lines = file.read_bytes().split(b"\n")[:-1]
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            rows.append((number, json.loads(line)))
        except ValueError as error:
            raise InputError(f"{file}: line {number}: broken JSON ({error}); delete the line, and its question is asked again") from None
    return rows


def _cut_torn_line(file: Path) -> None:
    """Removes what stands behind the last line end: the beginning of a line that a killed run could not finish."""
    content = file.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        with file.open("r+b") as stream:
            stream.truncate(whole)


def first_difference(before: Any, now: Any, name: str) -> str:
    """Where two JSON values first differ, in words."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in sorted({*before, *now}):
            if before.get(key) != now.get(key):
                return first_difference(before.get(key), now.get(key), f"{name}.{key}")
    return f"{name} was {str(before)[:80]} and is {str(now)[:80]}"
