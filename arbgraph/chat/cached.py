"""CachedChat: replies of another chat model, kept in one SQLite file that several processes may share."""

from __future__ import annotations

import json
import math
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arbgraph.chat.base import ChatError, ChatModel, Messages, Reply, Request
from arbgraph.chat.replay import reply_key, reply_of, reply_value, score_key, write_recording
from arbgraph.schema import Failed

if TYPE_CHECKING:
    from torch import Tensor

VERSION = 1
BUSY_SECONDS = 60.0
SCORES_PER_CALL = 64  # prompts scored between two writes: what a killed run loses at most


class CachedChat(ChatModel):
    """Asks `inner` only what the file does not hold. Every reply is written as soon as it arrives, so a killed run loses none.

    The key covers model, revision, parameters, turns, prompt version, schema, options and the limit of tokens. Failures of the
    backend are not stored: the next run tries again. What a model really said is stored, also when it cannot be used.
    When two processes ask the same thing at once, both return the reply that was written first.
    `counts` has `cache_hits` and `cache_misses` beside those of every chat model.

    Args:
        inner: the model that is asked.
        path: the SQLite file; created with its folder. It must lie on a local disk, because write-ahead logging needs shared memory.
    """

    def __init__(self, inner: ChatModel, path: str | Path) -> None:
        super().__init__()
        self.inner, self.path = inner, Path(path)
        self.name, self.revision = inner.name, inner.revision
        self._local = threading.local()
        self._connection()

    @property
    def parameters(self) -> dict[str, Any]:
        return self.inner.parameters

    def count_tokens(self, text: str) -> int:
        return self.inner.count_tokens(text)

    def _connection(self) -> sqlite3.Connection:
        """A connection of this thread in this process: SQLite connections must not cross either border."""
        if getattr(self._local, "pid", None) != os.getpid():
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
                _prepare(connection, self.path)
            except (sqlite3.Error, OSError) as error:
                raise ChatError(f"{self.path}: cannot be used as a reply cache: {error}; give another file, or delete it") from error
            self._local.connection, self._local.pid = connection, os.getpid()
        return self._local.connection

    def _stored(self, key: str) -> Any:
        row = self._connection().execute("SELECT value FROM replies WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        try:
            return json.loads(row[0])
        except ValueError as error:
            raise ChatError(f"{self.path}: the entry {key[:12]} is damaged ({error}); delete the file") from None

    def _store(self, values: Sequence[tuple[str, Any]]) -> list[Any]:
        """Writes values that are not there yet, in one transaction; returns what the file now holds."""
        rows = [(key, json.dumps(value, ensure_ascii=True, allow_nan=False)) for key, value in values]
        connection = self._connection()
        connection.execute("BEGIN IMMEDIATE")
        try:
            connection.executemany("INSERT OR IGNORE INTO replies (key, value) VALUES (?, ?)", rows)
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        return [self._stored(key) for key, _ in values]

    def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Reply | Failed]]:
        keys = [reply_key(self.identity(), request) for request in requests]
        missing = []
        for row, key in enumerate(keys):
            value = self._stored(key)
            if value is None:
                missing.append(row)
            else:
                self.counts["cache_hits"] += 1
                yield row, reply_of(value)
        self.counts["cache_misses"] += len(missing)
        if not missing:
            return
        for position, reply in self.inner.generate([requests[row] for row in missing]):
            row = missing[position]
            if isinstance(reply, Reply):
                (value,) = self._store([(keys[row], reply_value(reply))])
                reply = reply_of(value)
            yield row, reply

    def option_logprobs(self, prompts: Sequence[Messages], options: Sequence[str]) -> Tensor:
        import torch

        keys = [score_key(self.identity(), messages, options) for messages in prompts]
        scores = {key: self._stored(key) for key in dict.fromkeys(keys)}
        asked = dict(zip(keys, prompts, strict=True))
        missing = [key for key, value in scores.items() if value is None]
        self.counts["cache_hits"] += len(scores) - len(missing)
        self.counts["cache_misses"] += len(missing)
        for start in range(0, len(missing), SCORES_PER_CALL):
            part = missing[start : start + SCORES_PER_CALL]
            fresh = self.inner.option_logprobs([asked[key] for key in part], options).tolist()
            whole = [(key, row) for key, row in zip(part, fresh, strict=True) if all(map(math.isfinite, row))]
            scores.update(zip(part, fresh, strict=True))
            scores.update(zip((key for key, _ in whole), self._store(whole), strict=True))
        return torch.tensor([scores[key] for key in keys], dtype=torch.float64).view(len(prompts), len(options))

    def export(self, path: str | Path) -> int:
        """Writes everything that the file holds as a recording under this model's identity; returns the number of replies.

        Keys of other models are written too and are never asked for.
        """
        rows = self._connection().execute("SELECT key, value FROM replies").fetchall()
        write_recording(path, self.identity(), {key: json.loads(value) for key, value in rows})
        return len(rows)


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    _write_ahead(connection)
    connection.execute("PRAGMA synchronous = NORMAL")
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    if found not in (0, VERSION):
        raise ChatError(f"{path}: reply cache of version {found}, but this version reads {VERSION}; give another file")
    if found == 0:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Turns write-ahead logging on. SQLite does not wait for another process that is doing the same, hence the loop."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
