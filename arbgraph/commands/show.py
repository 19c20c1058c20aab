"""`arbgraph show`: renders arbitrations that were written earlier; prints the schema and the settings."""

from __future__ import annotations

import json
import sys
from typing import Any

from arbgraph.commands.common import console, print_view
from arbgraph.io import BadRecord, InputError, read_records
from arbgraph.settings import PROFILES, Settings, load_settings


def options(parser: Any) -> None:
    parser.add_argument("arbitration", type=str | None, nargs="?", default=None, help="what `arbgraph arbitrate --json` wrote; - for stdin")
    parser.add_argument("--schema", action="store_true", help="print the JSON Schema of an arbitration")
    parser.add_argument("--settings", action="store_true", help="print every setting with its meaning and the profiles' values")
    parser.add_argument("--limit", type=int, default=12, help="claims shown per status")


def run(arbitration: str | None, schema: bool, settings: bool, limit: int) -> int:
    """Renders arbitrations that were written earlier."""
    from pydantic import ValidationError

    from arbgraph.schema import Arbitration

    if schema:
        sys.stdout.write(json.dumps(Arbitration.model_json_schema(), indent=2) + "\n")
    if settings:
        _print_settings()
    if arbitration is None:
        if schema or settings:
            return 0
        raise InputError("name a file that `arbgraph arbitrate --json` wrote, or use --schema or --settings")
    for where, record in read_records(arbitration):
        if isinstance(record, BadRecord):
            raise InputError(str(record))
        try:
            print_view(Arbitration.model_validate(record), limit)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(part) for part in first["loc"])
            raise InputError(f"{where}: not an arbitration: {field}: {first['msg']}; see `arbgraph show --schema`") from None
    return 0


def _print_settings() -> None:
    from rich.table import Table

    profiles = {profile: load_settings(profile) for profile in PROFILES}
    table = Table("setting", "value", "meaning", box=None, padding=(0, 2, 0, 0))
    for name, field in Settings.model_fields.items():
        values = {profile: str(getattr(settings, name)) for profile, settings in profiles.items()}
        same = len(set(values.values())) == 1
        shown = values["default"] if same else "\n".join(f"{value} ({profile})" for profile, value in values.items())
        table.add_row(name, shown, field.description or "")
    console().print(table)
