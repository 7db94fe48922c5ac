"""What an attempt passes before it goes out: limits a minute, pauses, stops, waits, money."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from recjudge_tui.domain.calls import Message, Request, Sampling
from recjudge_tui.runs import calls as limits_module
from recjudge_tui.runs.calls import (
    LONGEST_WAIT_S,
    Budget,
    BudgetLimitError,
    CallLimits,
    RateLimit,
)
from recjudge_tui.runs.estimate import Price
from tests.support.virtual_time import played

Times = list[tuple[int, float]]


def request(words: int = 1, max_tokens: int = 16) -> Request:
    text = "film " * words
    return Request(
        messages=(Message(role="user", content=text),),
        reply_schema={},
        sampling=Sampling(max_tokens=max_tokens),
    )


class Clock:
    """The two clocks that the gate reads, set by hand."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.wall = 5000.0

    def go(self, seconds: float, wall: float | None = None) -> None:
        self.now += seconds
        self.wall += seconds if wall is None else wall


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    stand_in = SimpleNamespace(monotonic=lambda: made.now, time=lambda: made.wall)
    monkeypatch.setattr(limits_module, "time", stand_in)
    return made


def in_gate(
    scene: Callable[[CallLimits, asyncio.Event], Coroutine[Any, Any, None]], **parts: Any
) -> CallLimits:
    """Play a scene in virtual time with a gate of its own."""

    async def play() -> CallLimits:
        stopping = asyncio.Event()
        gate = CallLimits(stopping, **parts)
        await scene(gate, stopping)
        return gate

    return played(play())


async def passing(gate: CallLimits, number: int, times: Times, ask: Request | None = None) -> None:
    await gate.enter(ask or request())
    times.append((number, asyncio.get_running_loop().time()))


def test_twelve_hundred_a_minute_are_twenty_in_any_second_and_in_order() -> None:
    times: Times = []

    async def scene(gate: CallLimits, _: asyncio.Event) -> None:
        await asyncio.gather(*(passing(gate, n, times) for n in range(40)))

    in_gate(scene, requests=RateLimit(1200))
    assert [n for n, _ in times] == list(range(40))
    moments = [t for _, t in times]
    assert moments[-1] - moments[0] == pytest.approx(1.95)
    for begin in moments:
        assert sum(begin <= t < begin + 1 - 1e-6 for t in moments) <= 20


@pytest.mark.parametrize("per_minute", [3.0, 60.0, 1200.0])
def test_no_minute_holds_more_than_its_limit_however_takers_come(clock: Clock, per_minute: float) -> None:
    bucket, rng, due = RateLimit(per_minute), random.Random(1), []
    for _ in range(500):
        due.append(clock.now + bucket.take(1))
        clock.go(rng.choice([0, 0, 0, rng.expovariate(per_minute / 60)]))
    assert due == sorted(due)
    assert all(b - a >= 60 / per_minute - 1e-6 for a, b in pairwise(due))


def test_backoff_grows_is_bounded_and_jitters() -> None:
    gate = CallLimits(asyncio.Event(), rng=random.Random(2))
    draws = [[gate.backoff(n) for _ in range(300)] for n in range(1, 12)]
    longest = [max(d) for d in draws]
    assert longest[0] == pytest.approx(0.5, rel=0.05)
    for n, (shorter, longer) in enumerate(pairwise(longest), start=2):
        assert longer == pytest.approx(min(0.5 * 2 ** (n - 1), LONGEST_WAIT_S), rel=0.05)
        assert longer >= shorter * 0.95
    assert all(min(d) >= 0.1 * max(d) * 0.9 for d in draws)
    assert len(set(draws[0])) == 300
    assert gate.backoff(100_000) <= LONGEST_WAIT_S


PRICE = Price("a dollar for every token of the reply", {"input": 0.0, "output": 1e6})


def budget_of(limit: float, spent: float = 0.0) -> Budget:
    return Budget(limit, PRICE, spent)


def test_a_budget_allows_only_calls_whose_highest_cost_it_covers() -> None:
    async def scene(gate: CallLimits, _: asyncio.Event) -> None:
        first = await gate.enter(request(max_tokens=40))
        second = await gate.enter(request(max_tokens=40))
        assert (first, second) == (40, 40)
        third = asyncio.create_task(gate.enter(request(max_tokens=40)))
        await asyncio.sleep(0.02)
        assert not third.done(), "20 are left, until somebody turns out to be cheaper"
        gate.leave(first, 5.0)
        assert await third == 40
        gate.leave(second, 40.0)
        gate.leave(40, None)
        assert gate.budget
        assert (gate.budget.spent, gate.budget.reserved) == (85, 0)
        with pytest.raises(
            BudgetLimitError, match=r"\$100\.00 would be exceeded: \$85\.00 .* up to \$16\.00"
        ):
            await gate.enter(request(max_tokens=16))
        assert await gate.enter(request(max_tokens=15)) == 15

    in_gate(scene, budget=budget_of(100))


def test_replies_dearer_than_reserved_teach_the_budget() -> None:
    async def scene(gate: CallLimits, _: asyncio.Event) -> None:
        for spent in (30, 60):
            gate.leave(await gate.enter(request(max_tokens=20)), 30.0)
            assert gate.budget
            assert gate.budget.spent == spent
        held = await gate.enter(request(max_tokens=20))
        second = asyncio.create_task(gate.enter(request(max_tokens=20)))
        await asyncio.sleep(0.02)
        assert not second.done(), "two of 20 would do by the reservation, but each has cost 30 so far"
        gate.leave(held, 30.0)
        with pytest.raises(BudgetLimitError):
            await second

    in_gate(scene, budget=budget_of(100))
