"""Shared fixtures. The suite runs without a network: opening a connection to anything but this machine is an error."""

from __future__ import annotations

import os
import socket

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import pytest

_connect = socket.socket.connect


def _guarded(self: socket.socket, address):
    if self.family in (socket.AF_INET, socket.AF_INET6) and str(address[0]) not in ("127.0.0.1", "::1", "localhost"):
        raise RuntimeError(f"a test tried to reach {address[0]}; tests run without a network")
    return _connect(self, address)


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket.socket, "connect", _guarded)


@pytest.fixture(scope="session")
def encoder():
    """The packaged MiniLM encoder."""
    from arbgraph.encoder import SentenceEncoder

    return SentenceEncoder()


@pytest.fixture(scope="session")
def system(encoder):
    """The whole system with the default settings, loaded once."""
    from arbgraph.pipeline import ArbGraph

    return ArbGraph("default", encoder=encoder)
