"""Whose request goes next: by urgency, then by age, inside one budget."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from hunkwatch.errors import RetryLater
from hunkwatch.langfuse.pace import Pace
from hunkwatch.langfuse.turns import Turns
from hunkwatch.ports import Urgency, urgency

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

FIVE = (Urgency.BACKFILL, Urgency.BACKGROUND, Urgency.LIVE, Urgency.DELIVERY, Urgency.LIVE)


class Patience:
    """Time that moves only to the earliest moment for which somebody waits, once everybody waits."""

    def __init__(self) -> None:
        """Start at zero."""
        self.passed = 0.0
        self.waiting: list[tuple[float, asyncio.Event]] = []

    def monotonic(self) -> float:
        """Return the seconds so far."""
        return self.passed

    async def sleep(self, seconds: float, *, unless: asyncio.Event) -> None:
        """Wait until the time has come or the event is set."""
        mine = (self.passed + seconds, unless)
        self.waiting.append(mine)
        try:
            await unless.wait()
        finally:
            self.waiting.remove(mine)

    async def until(self, done: Callable[[], bool]) -> None:
        """Let time pass until something is so."""
        while not done():
            for _ in range(20):
                await asyncio.sleep(0)
            if done():
                return
            self.passed, event = min(self.waiting, key=lambda pair: pair[0])
            event.set()


async def order(turns: Turns, clock: Patience, wanted: Iterable[Urgency]) -> list[tuple[Urgency, float]]:
    """Let requests of these kinds ask for a turn, one after another, and return in which order and when each began."""
    begun: list[tuple[Urgency, float]] = []

    async def ask(kind: Urgency) -> None:
        urgency.set(kind)
        await turns.next()
        begun.append((kind, clock.passed))

    tasks = [asyncio.create_task(ask(kind)) for kind in wanted]
    await clock.until(lambda: all(task.done() for task in tasks))
    await asyncio.gather(*tasks)
    return begun


async def test_delivery_goes_before_discovery_and_discovery_before_the_past() -> None:
    """With one request a minute that is taken, the most urgent goes first however late it came."""
    clock: Any = Patience()
    pace = Pace(60)
    pace.refused(0.0, wait=20.0, limit=0)
    begun = await order(Turns(pace, clock), clock, FIVE)

    assert sorted(FIVE) == [kind for kind, _ in begun]
    assert {20.0} == {at for _, at in begun}


async def test_a_full_budget_is_spent_in_the_same_order() -> None:
    """Each minute brings as many as the budget allows, the most urgent of those that wait."""
    clock: Any = Patience()
    pace = Pace(2)
    for at in (0.0, 10.0):
        pace.started(at)
    begun = await order(Turns(pace, clock), clock, FIVE[2:4])

    assert [(Urgency.DELIVERY, 60.0), (Urgency.LIVE, 70.0)] == begun


async def test_a_backfill_leaves_half_of_the_budget_to_others() -> None:
    """It may run in a process of its own, beside a worker that shares the server's limit with it."""
    clock: Any = Patience()
    turns = Turns(Pace(4), clock)
    begun = await order(turns, clock, [Urgency.BACKFILL] * 4)

    assert [0.0, 0.0, 60.0, 60.0] == [at for _, at in begun]


async def test_without_a_limit_nobody_waits() -> None:
    """On a server of one's own every request starts at once, whatever it is for."""
    clock: Any = Patience()

    assert [(kind, 0.0) for kind in FIVE] == await order(Turns(Pace(), clock), clock, FIVE)


async def test_whoever_is_overtaken_for_too_long_hears_when_to_come_back() -> None:
    """A starved request is the caller's again, so that its loop shows life and can be told to stop."""
    clock: Any = Patience()
    pace = Pace()
    pace.refused(0.0, wait=89.0, limit=0)
    turns = Turns(pace, clock)

    async def urgent() -> None:
        urgency.set(Urgency.DELIVERY)
        while True:
            await turns.next()
            pace.refused(clock.passed, wait=80.0, limit=0)

    busy = asyncio.create_task(urgent())
    starved = asyncio.create_task(turns.next())
    await clock.until(starved.done)
    busy.cancel()

    with pytest.raises(RetryLater, match="more urgent") as raised:
        await starved
    assert raised.value.after is not None


async def test_a_request_that_is_given_up_leaves_its_place(clock: Any) -> None:
    """Cancelling whoever stands first lets the next one go."""
    held = Pace()
    held.refused(clock.passed, wait=50.0, limit=0)
    patience: Any = Patience()
    patience.passed = clock.passed
    turns = Turns(held, patience)

    async def ask(kind: Urgency) -> None:
        urgency.set(kind)
        await turns.next()

    first, second = asyncio.create_task(ask(Urgency.DELIVERY)), asyncio.create_task(ask(Urgency.LIVE))
    await asyncio.sleep(0)
    first.cancel()
    await patience.until(second.done)

    assert first.cancelled()
    assert [] == turns._waiting
