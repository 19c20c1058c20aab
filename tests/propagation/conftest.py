"""Oracle data of the propagation tests. It does not belong to the repository; the tests that want it skip without it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def oracle_data():
    """Folder of an oracle data set under $ARBGRAPH_DATA (default: ../shared/data beside the repository)."""

    def folder(name: str) -> Path:
        path = Path(os.environ.get("ARBGRAPH_DATA", REPOSITORY / "../shared/data")) / name
        if not path.is_dir():
            pytest.skip(f"no data set {name} at {path}; set ARBGRAPH_DATA to the folder that holds it")
        return path

    return folder
