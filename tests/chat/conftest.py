"""The tiny model, built once."""

from __future__ import annotations

import pytest

from arbgraph.chat.transformers_chat import TransformersChat
from tests.chat.tiny import save_tiny


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory):
    return save_tiny(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def tiny(tiny_folder):
    return TransformersChat(str(tiny_folder), device="cpu")
