"""JSON Lines that survive a kill: a run that was stopped leaves what it has done, and the next run goes on from there."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from arbgraph.io import InputError, open_text, to_json_line, whole_file
from arbgraph.schema import Query


class Sink:
    """The JSON output: lines are flushed to a `.resume` file and written under the final name, in input order, at the end.

    A run that was killed leaves the `.resume` file; the next run keeps those of its whole lines that it would write again.

    Args:
        target: the file; None writes nothing, `-` writes to standard output.
        queries: what the run is about.
        same: whether an earlier row is the row that this run would write for the query.

    `done` holds the ids of the queries that need no work. Raises InputError when the file cannot be written.
    """

    def __init__(self, target: str | None, queries: Sequence[Query], same: Callable[[dict[str, Any], Query], bool]) -> None:
        self.path = None if target in (None, "-") else Path(str(target))
        self.to_stdout = target == "-"
        self.done: set[str] = set()
        self._same = same
        self._queries = {query.id: query for query in queries}
        self._order = [query.id for query in queries]

    def __enter__(self) -> Sink:
        if self.path is not None:
            self.resume = self.path.with_name(self.path.name + ".resume")
            kept = self._kept_lines()
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self.stream = open_text(self.resume, "w", compressed=False)
            except OSError as error:
                raise InputError(f"{self.path}: cannot be written: {error.strerror}") from error
            self.stream.writelines(kept)
            self.stream.flush()
        return self

    def _kept_lines(self) -> list[str]:
        """Whole lines of an earlier run that this run would write again, byte for byte."""
        if not self.resume.exists():
            return []
        kept = []
        for line in self.resume.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True):
            try:
                row = json.loads(line)
            except ValueError:
                continue  # the line that was being written when the run was killed
            query = self._queries.get(row.get("id"))
            if query is not None and query.id not in self.done and line.endswith("\n") and self._same(row, query):
                self.done.add(query.id)
                kept.append(line)
        return kept

    def write(self, row: dict[str, Any]) -> None:
        """Writes one row; it must have the `id` of its query."""
        line = to_json_line(row) + "\n"
        if self.to_stdout:
            sys.stdout.write(line)
        elif self.path is not None:
            self.stream.write(line)
            self.stream.flush()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self.path is None:
            return
        self.stream.close()
        if kind is None:
            lines = {json.loads(line)["id"]: line for line in self.resume.read_text(encoding="utf-8").splitlines(keepends=True)}
            with whole_file(self.path) as stream:  # in the order of the input, compressed when the name says so
                stream.writelines(lines[identifier] for identifier in self._order)
            self.resume.unlink()
