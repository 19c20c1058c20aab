"""The processes of a run, and what surrounds it: versions, revision, hardware, hashes of the data."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from arbgraph.checkpoint import file_sha256
from arbgraph.io import InputError

PACKAGES = ("arbgraph", "torch", "transformers", "peft", "numpy", "spacy", "torch-geometric", "accelerate", "openai")
# Questions cost very different times, and the first process to finish waits for the last.
PATIENCE = timedelta(days=7)


@dataclass(frozen=True)
class Processes:
    """Which process this is, of how many, and how all wait for each other."""

    rank: int = 0
    count: int = 1
    wait: Callable[[], None] = lambda: None

    @property
    def first(self) -> bool:
        """Whether this process speaks and writes for all."""
        return self.rank == 0


def find_processes() -> Processes:
    """The processes that `accelerate launch` or `torchrun` started; one, where neither did. Raises InputError without accelerate."""
    wanted = int(os.environ.get("WORLD_SIZE", "1"))
    if wanted < 2:
        return Processes()
    import torch

    try:
        from accelerate import PartialState
        from accelerate.utils import parse_flag_from_env
    except ImportError:
        raise InputError("several processes need accelerate: pip install 'arbgraph[llm]'") from None
    cpu = parse_flag_from_env("ACCELERATE_USE_CPU") or not torch.accelerator.is_available()
    state = PartialState(cpu=cpu, timeout=PATIENCE)
    if state.num_processes != wanted:
        # Each process would take itself for the only one, and all would answer everything.
        raise InputError(f"{wanted} processes were started, but accelerate sees {state.num_processes}; check the launch command")
    return Processes(state.process_index, state.num_processes, state.wait_for_everyone)


def environment(system: dict[str, Any], files: Sequence[Path], root: Path, processes: int, seed: int) -> dict[str, Any]:
    """Everything about a run that its options do not say, in plain JSON values."""
    return {
        "system": system,
        "data": {_relative(file, root): file_sha256(file) for file in files},
        "seed": seed,
        "date": datetime.now(UTC).date().isoformat(),
        "versions": {"python": platform.python_version(), **{name: found for name in PACKAGES if (found := _version(name))}},
        "revision": _revision(),
        "hardware": _hardware(),
        "processes": processes,
        "command": " ".join(sys.argv[1:]),
    }


def _relative(file: Path, root: Path) -> str:
    return file.relative_to(root).as_posix() if file.is_relative_to(root) else file.name


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _revision() -> str | None:
    """The git revision of the code, with `+changes` where files differ from it; None outside a repository."""
    where = Path(__file__).parent
    try:
        revision = subprocess.run(["git", "rev-parse", "HEAD"], cwd=where, capture_output=True, text=True, check=True)
        changes = subprocess.run(["git", "status", "--porcelain", "-uno"], cwd=where, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return revision.stdout.strip() + ("+changes" if changes.stdout.strip() else "")


def _hardware() -> str:
    import torch

    from eval.measured import describe_hardware

    graphics = f"{torch.cuda.device_count()} x {torch.cuda.get_device_name()}, " if torch.cuda.is_available() else ""
    return graphics + describe_hardware()
