"""Chat models by name."""

from __future__ import annotations

import subprocess
import sys

import pytest

from arbgraph.chat import ChatError
from arbgraph.chat.cached import CachedChat
from arbgraph.chat.load import open_chat
from arbgraph.chat.openai_chat import OpenAIChat
from arbgraph.chat.transformers_chat import TransformersChat


def test_names_of_servers():
    hosted = open_chat("openai:some-model")
    assert isinstance(hosted, OpenAIChat)
    assert (hosted.name, hosted.base_url) == ("some-model", None)
    local = open_chat("openai:org/model@v2@http://127.0.0.1:8000/v1", concurrency=3)
    assert isinstance(local, OpenAIChat)
    assert (local.name, local.base_url, local.concurrency) == ("org/model@v2", "http://127.0.0.1:8000/v1", 3)
    assert local.revision != hosted.revision


def test_a_local_model_and_a_cache(tiny_folder, tmp_path):
    chat = open_chat(f"hf:{tiny_folder}", cache=tmp_path / "replies.sqlite", device="cpu")
    assert isinstance(chat, CachedChat)
    assert isinstance(chat.inner, TransformersChat)
    assert chat.name == str(tiny_folder)


def test_none_is_no_model_and_anything_else_is_refused():
    assert open_chat("none") is None
    for name in ("", "gpt", "hf:", "openai:", "http://x"):
        with pytest.raises(ChatError, match="write smollm2, hf:NAME"):
            open_chat(name)


def test_importing_the_package_loads_neither_torch_nor_a_client():
    modules = "arbgraph.chat, arbgraph.chat.load, arbgraph.chat.prompts, arbgraph.chat.openai_chat"
    code = f"import sys, {modules}; print({{'torch', 'openai', 'transformers'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={}, check=True)
    assert done.stdout.strip() == "set()"
