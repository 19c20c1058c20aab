"""An OpenAI-compatible server in a thread that can misbehave on purpose, and counts what it sees."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Behaviour = Callable[["Handler", dict[str, Any], int], None]


class Handler(BaseHTTPRequestHandler):
    """Handles one request by the server's behaviour. `protocol_version` keeps connections open, as real servers do."""

    protocol_version = "HTTP/1.1"
    server: StubServer  # type: ignore[assignment]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        state = self.server
        with state.lock:
            number = len(state.requests)
            state.requests.append(body)
            state.headers.append(dict(self.headers))
            state.open += 1
            state.most_open = max(state.most_open, state.open)
        try:
            state.behaviour(self, body, number)
        finally:
            with state.lock:
                state.open -= 1

    def log_message(self, format: str, *args: Any) -> None:
        """No log."""

    def send(self, status: int, value: Any, **headers: str) -> None:
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", headers.pop("content_type", "application/json"))
        self.send_header("Content-Length", headers.pop("length", str(len(data))))
        for name, content in headers.items():
            self.send_header(name.replace("_", "-"), content)
        self.end_headers()
        self.wfile.write(data)

    def reply(self, text: str | None, finish: str = "stop", usage: bool = True, **message: Any) -> None:
        """A chat completion."""
        value: dict[str, Any] = {
            "id": "x",
            "object": "chat.completion",
            "created": 0,
            "model": "stub",
            "choices": [{"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}],
        }
        if usage:
            value["usage"] = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
        self.send(200, value)

    def error(self, status: int, message: str, **headers: str) -> None:
        self.send(status, {"error": {"message": message, "type": "stub"}}, **headers)

    def cut(self) -> None:
        """Closes the connection without a word."""
        self.close_connection = True
        self.connection.close()


class StubServer(ThreadingHTTPServer):
    """Requests seen, their headers, how many were open at once at most, and the behaviour that handles them."""

    daemon_threads = True

    def __init__(self, behaviour: Behaviour) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.behaviour = behaviour
        self.lock = threading.Lock()
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.open = self.most_open = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


@contextmanager
def serving(behaviour: Behaviour) -> Iterator[StubServer]:
    server = StubServer(behaviour)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
