"""Arbitration records: contradictions with their support context and the verdict that is right, one JSON object a line.

    {"query": "...", "claim_a": "...", "claim_b": "...", "context_a": [...], "context_b": [...], "winner": "a", "type": "numeric"}

A statement of a context is a string, or an object with `text` and any of `title`, `source`, `date` and `group`; statements of one
`group` are one source. `type` and `origin` (the data set) are optional and never shown to an arbitrator.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from torch import Tensor

from arbgraph.arbitrator.cases import ArbitrationCase, Statement
from arbgraph.io import BadRecord, InputError, read_records, write_json_lines
from arbgraph.schema import content_id

Winner = Literal["a", "b", "unknown"]
WINNERS: tuple[Winner, ...] = ("a", "b", "unknown")
_MIRRORED: dict[Winner, Winner] = {"a": "b", "b": "a", "unknown": "unknown"}


class ArbitrationRecord(BaseModel):
    """One contradiction and its verdict. `case` is what an arbitrator may see."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    query: str
    claim_a: str = Field(min_length=1)
    claim_b: str = Field(min_length=1)
    context_a: tuple[Statement, ...] = ()
    context_b: tuple[Statement, ...] = ()
    winner: Winner
    type: str = ""
    origin: str = ""

    @field_validator("context_a", "context_b", mode="before")
    @classmethod
    def _plain_statements(cls, value: Any) -> Any:
        return [{"text": entry} if isinstance(entry, str) else entry for entry in value] if isinstance(value, list | tuple) else value

    @property
    def case(self) -> ArbitrationCase:
        """The contradiction without its verdict, type and origin."""
        return ArbitrationCase(
            query=self.query, claim_a=self.claim_a, claim_b=self.claim_b, context_a=self.context_a, context_b=self.context_b
        )

    @property
    def key(self) -> str:
        """A hash of the query and both claims, whichever way round: records of one key are the same question put twice."""
        return content_id("record", self.query, *sorted((self.claim_a, self.claim_b)))

    def swapped(self) -> ArbitrationRecord:
        """The same record with the sides exchanged."""
        changed = {
            "claim_a": self.claim_b,
            "claim_b": self.claim_a,
            "context_a": self.context_b,
            "context_b": self.context_a,
            "winner": _MIRRORED[self.winner],
        }
        return self.model_copy(update=changed)


def outcomes(records: Iterable[ArbitrationRecord]) -> Tensor:
    """The verdicts as columns of an arbitrator's output, `[C]` long: 0 = a, 1 = b, 2 = unknown."""
    return torch.tensor([WINNERS.index(record.winner) for record in records], dtype=torch.long)


def read_arbitration_records(path: str | Path) -> list[ArbitrationRecord]:
    """All records of a `.jsonl` or `.json` file, gzipped or not.

    Raises InputError that names the file, the line and the field when a record cannot be used, because a verdict that is missing
    would change what is learned or measured.
    """
    return [_parsed(where, value) for where, value in read_records(path)]


def write_arbitration_records(path: str | Path, records: Iterable[ArbitrationRecord]) -> None:
    """Writes records as JSON Lines, whole or not at all; what a record leaves at its default is not written."""
    write_json_lines(path, (record.model_dump(mode="json", exclude_defaults=True) for record in records))


def _parsed(where: str, value: Any) -> ArbitrationRecord:
    if isinstance(value, BadRecord):
        raise InputError(str(value))
    if not isinstance(value, dict):
        raise InputError(f"{where}: not a JSON object; a record has query, claim_a, claim_b, context_a, context_b and winner")
    try:
        return ArbitrationRecord.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{where}: {place}: {first['msg']}; winner is a, b or unknown, and a context is a list of statements") from None
