"""The rate limit on a fake clock: no minute ever holds more than it may, and nothing waits longer than it must."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbgraph.chat.limits import WINDOW, RateLimit


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def limit(clock, **limits):
    return RateLimit(**limits, clock=clock, sleep=clock.sleep)


def test_two_requests_a_minute_by_hand():
    clock = Clock()
    rate = limit(clock, requests=2)
    times = []
    for _ in range(5):
        rate.acquire()
        times.append(clock.now)
    assert times == [0, 0, 60, 60, 120]
    assert rate.sent == 5


def test_tokens_by_hand():
    clock = Clock()
    rate = limit(clock, tokens=100)
    times = []
    for tokens in (60, 40, 10, 500, 5):
        rate.acquire(tokens)
        times.append(clock.now)
        clock.now += 10
    # 60 at 0 and 40 at 10 fill the minute; 10 fits when the 60 has left; 500 goes alone; 5 waits until that has left.
    assert times == [0, 10, 60, 120, 180]


def test_without_limits_nothing_waits_and_nothing_piles_up():
    clock = Clock()
    rate = limit(clock)
    for _ in range(1000):
        rate.acquire(10**6)
    assert clock.slept == []
    assert len(rate._window) == 1


def test_a_hold_stops_everything_and_a_shorter_one_does_not_shorten_it():
    clock = Clock()
    rate = limit(clock)
    rate.hold(30)
    rate.hold(5)
    rate.acquire()
    assert clock.now == 30


@given(
    st.integers(1, 5),
    st.integers(1, 50),
    st.lists(st.tuples(st.floats(0, 40), st.integers(0, 60)), max_size=40),
)
def test_no_window_ever_holds_more_than_the_limits(requests, tokens, arrivals):
    clock = Clock()
    rate = limit(clock, requests=requests, tokens=tokens)
    sent = []
    for pause, cost in arrivals:
        clock.now += pause
        rate.acquire(cost)
        sent.append((clock.now, cost))
    for begin, _ in sent:
        inside = [cost for at, cost in sent if begin <= at < begin + WINDOW]
        assert len(inside) <= requests
        assert sum(inside) <= tokens or len([cost for cost in inside if cost]) == 1


@pytest.mark.parametrize("limits", [{"requests": 0}, {"tokens": -1}])
def test_a_limit_below_one_is_refused(limits):
    with pytest.raises(ValueError, match="per minute"):
        RateLimit(**limits)
