"""Wordings, casts, word lists and places of the generator, as YAML: one file per module that uses it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml


@cache
def bank(name: str) -> dict[str, Any]:
    """The mapping in `name`.yaml beside this module, from constant names to their values. Raises FileNotFoundError for an unknown bank."""
    return yaml.safe_load((Path(__file__).parent / f"{name}.yaml").read_text(encoding="utf-8"))
