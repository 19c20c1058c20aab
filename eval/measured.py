"""When and on what something was measured or trained."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime

import torch


def describe_hardware() -> str:
    """Cores, architecture and threads."""
    return f"{os.cpu_count()} CPU cores ({platform.machine()}), {torch.get_num_threads()} threads"


def measured() -> dict[str, str]:
    """Date and hardware, as every `metrics.json` begins."""
    return {"date": datetime.now(UTC).date().isoformat(), "hardware": describe_hardware()}
