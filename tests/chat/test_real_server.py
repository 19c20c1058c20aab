"""OpenAIChat against a real server on this machine: `transformers serve` with the packaged model."""

from __future__ import annotations

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

import pytest
from pydantic import BaseModel

from arbgraph.chat import ChatError, Messages
from arbgraph.chat.cached import CachedChat
from arbgraph.chat.openai_chat import OpenAIChat
from arbgraph.chat.transformers_chat import DEFAULT_MODEL, TransformersChat
from arbgraph.models import ModelNotFoundError, resolve_model

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
def transformers_serve() -> Iterator[tuple[str, str]]:
    """Base URL and model name of a server that is ready; it ends with the block."""
    try:
        found = resolve_model(DEFAULT_MODEL)
    except ModelNotFoundError as error:
        pytest.skip(str(error))
    model = f"{found.path}:{found.gguf}"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start = "import sys; from transformers.cli.transformers import main; sys.argv[0] = 'transformers'; main()"
    flags = ["serve", model, "--host", "127.0.0.1", "--port", str(port), "--device", "cpu", "--dtype", "float32"]
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
        yield f"http://127.0.0.1:{port}/v1", model
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()


def test_a_real_server_replies_as_the_same_model_in_this_process(tmp_path):
    with transformers_serve() as (url, model):
        server = OpenAIChat(model, base_url=url, concurrency=1, timeout=600)
        chat = CachedChat(server, tmp_path / "replies.sqlite")
        served = chat.complete(ASKED, max_tokens=12)
        (shaped,) = chat.complete(ASKED[:1], Capital, max_tokens=24)
        asked = server.counts["http_requests"]
        assert chat.complete(ASKED, max_tokens=12) == served
        assert server.counts["http_requests"] == asked  # nothing is asked twice
        with pytest.raises(ChatError, match="no log-probabilities"):
            server.option_logprobs(ASKED[:1], ["A", "B"])
    # The server does not constrain replies and the model is small: whatever it wrote is validated, and never half taken.
    assert (shaped.value is None) != (shaped.failure is None)
    local = TransformersChat(device="cpu")
    for remote, here in zip(served, local.complete(ASKED, max_tokens=12), strict=True):
        assert remote.text.strip() == here.text.strip()
        assert remote.finish == here.finish
        assert remote.completion_tokens > 0
    assert "Paris" in served[0].text
