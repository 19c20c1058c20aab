"""OpenAIChat against a real server on this machine: `transformers serve` with a tiny model and with the packaged one."""

from __future__ import annotations

import gc
import importlib.util
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pydantic import BaseModel

from arbgraph.chat import ChatError, Messages
from arbgraph.chat.cached import CachedChat
from arbgraph.chat.openai_chat import OpenAIChat
from arbgraph.chat.transformers_chat import DEFAULT_MODEL, TransformersChat
from arbgraph.models import ModelNotFoundError
from tests.chat.tiny import save_tiny

MISSING = [name for name in ("fastapi", "uvicorn", "openai") if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)}: pip install 'transformers[serving]' openai"),
]
STARTING = 900  # seconds that the server may take to load the model
ASKED = [
    Messages.of("What is the capital of France? Answer with one word.", "You are a careful assistant."),
    Messages.of("Name a colour."),
    Messages.of("ما هي عاصمة مصر؟"),
]


class Capital(BaseModel):
    capital: str


@contextmanager
def transformers_serve(model: Path) -> Iterator[str]:
    """Base URL of a server that is ready; it ends with the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start = "import sys; from transformers.cli.transformers import main; sys.argv[0] = 'transformers'; main()"
    flags = ["serve", str(model), "--host", "127.0.0.1", "--port", str(port), "--device", "cpu", "--dtype", "float32"]
    process = subprocess.Popen([sys.executable, "-c", start, *flags], env={**os.environ, "HF_HUB_OFFLINE": "1"})
    try:
        deadline = time.monotonic() + STARTING
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as reply:
                    if reply.status == 200:
                        break
            except (urllib.error.URLError, TimeoutError, ConnectionError):
                pass
            assert process.poll() is None, "the server ended while it started; see its output above"
            assert time.monotonic() < deadline, "the server did not come up"
            time.sleep(0.5)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()


def plain_folder(name: str, folder: Path) -> Path:
    """The model as an ordinary Hugging Face folder; the server does not read the packaged file."""
    if name == "tiny":
        return save_tiny(folder)
    try:
        chat = TransformersChat(name, device="cpu")
    except ModelNotFoundError as error:
        pytest.skip(str(error))
    # A dequantised model still says that it is quantised, and would refuse to be saved.
    chat.model.hf_quantizer = None
    if hasattr(chat.model.config, "quantization_config"):
        del chat.model.config.quantization_config
    chat.model.save_pretrained(folder)
    chat.tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("name", ["tiny", DEFAULT_MODEL])
def test_a_real_server_replies_as_the_same_model_in_this_process(tmp_path, name):
    folder = plain_folder(name, tmp_path / "model")
    local = TransformersChat(str(folder), device="cpu")
    here = local.complete(ASKED, max_tokens=12)
    del local
    gc.collect()
    with transformers_serve(folder) as url:
        server = OpenAIChat(str(folder), base_url=url, concurrency=1, timeout=900)
        chat = CachedChat(server, tmp_path / "replies.sqlite")
        served = chat.complete(ASKED, max_tokens=12)
        (shaped,) = chat.complete(ASKED[:1], Capital, max_tokens=24)
        asked = server.counts["http_requests"]
        assert chat.complete(ASKED, max_tokens=12) == served
        assert server.counts["http_requests"] == asked  # nothing is asked twice
        with pytest.raises(ChatError, match="no log-probabilities"):
            server.option_logprobs(ASKED[:1], ["A", "B"])
    # The server does not constrain replies and the models are small: whatever they wrote is validated, and never half taken.
    assert (shaped.value is None) != (shaped.failure is None)
    for remote, own in zip(served, here, strict=True):
        assert remote.text.strip() == own.text.strip()
        assert (remote.finish, remote.completion_tokens) == (own.finish, own.completion_tokens)
    if name == DEFAULT_MODEL:
        assert "Paris" in served[0].text
