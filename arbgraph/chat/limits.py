"""RateLimit: at most so many requests and tokens in any minute, over all threads."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

WINDOW = 60.0
_SHORTEST_WAIT = 1e-3  # a wait of a few ulps would not move the clock


class RateLimit:
    """A sliding window: in no interval of 60 seconds are more than `requests` sent, nor requests worth more than `tokens`.

    A single request worth more than `tokens` goes alone, when the window is empty. `hold` stops everything for a while, as a
    server's Retry-After asks.

    Args:
        requests, tokens: per minute; None is no limit.
        clock, sleep: seconds that never run backwards, and how to let them pass.

    `sent` counts the requests let through. Raises ValueError on a limit below 1.
    """

    def __init__(
        self,
        requests: int | None = None,
        tokens: int | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        for name, value in (("requests", requests), ("tokens", tokens)):
            if value is not None and value < 1:
                raise ValueError(f"{name} per minute is {value}; give at least 1, or None for no limit")
        self.requests, self.tokens = requests, tokens
        self.sent = 0
        self._clock, self._sleep = clock, sleep
        self._lock = threading.Lock()
        self._window: deque[tuple[float, int]] = deque()
        self._held_until = float("-inf")

    def acquire(self, tokens: int = 0) -> None:
        """Waits until a request worth `tokens` may be sent, and books it."""
        while True:
            with self._lock:
                now = self._clock()
                wait = self._wait(now, tokens)
                if wait <= 0:
                    self._window.append((now, tokens))
                    self.sent += 1
                    return
            self._sleep(max(wait, _SHORTEST_WAIT))

    def hold(self, seconds: float) -> None:
        """Lets nothing through for so many seconds."""
        with self._lock:
            self._held_until = max(self._held_until, self._clock() + seconds)

    def _wait(self, now: float, tokens: int) -> float:
        """Seconds until the request fits; 0 or less when it fits now."""
        if now < self._held_until:
            return self._held_until - now
        if self.requests is None and self.tokens is None:
            self._window.clear()
            return 0.0
        while self._window and now - self._window[0][0] >= WINDOW:
            self._window.popleft()
        wait = 0.0
        if self.requests is not None and len(self._window) >= self.requests:
            wait = self._window[len(self._window) - self.requests][0] + WINDOW - now
        if self.tokens is not None:
            booked = sum(cost for _, cost in self._window)
            for at, cost in self._window:
                if booked + tokens <= self.tokens:
                    break
                booked -= cost
                wait = max(wait, at + WINDOW - now)
        return wait
