"""Whose request goes next, where one of the server's limits makes them wait: the most urgent, and among equals the longest waiting.

A request that waits is not under way, so a later one that is more urgent overtakes it. None waits for ever: past ``LONGEST`` the
caller hears when to come back.
"""

from __future__ import annotations

import asyncio
import heapq
from datetime import timedelta
from itertools import count
from typing import TYPE_CHECKING

from hunkwatch.errors import RetryLater
from hunkwatch.ports import Urgency, urgency

if TYPE_CHECKING:
    from hunkwatch.langfuse.pace import Pace
    from hunkwatch.ports import Clock

LONGEST = timedelta(seconds=90)
"""No request waits longer than this for its turn."""

_COME_BACK = timedelta(seconds=30)
_BACKFILL_SHARE = 2
"""Of our budget, a backfill takes one part in so many: it may run beside a worker that it must not slow down."""


class Turns:
    """The requests of one limit, in the order in which they may start."""

    def __init__(self, pace: Pace, clock: Clock) -> None:
        """Keep the order; ``pace`` keeps the budget."""
        self.pace = pace
        self._clock = clock
        self._waiting: list[tuple[Urgency, int, asyncio.Event]] = []
        self._numbers = count()

    async def next(self) -> None:
        """Return when it is the caller's turn, and count its request; raises RetryLater when that would take too long."""
        mine = (urgency.get(), next(self._numbers), asyncio.Event())
        began = self._clock.monotonic()
        heapq.heappush(self._waiting, mine)
        try:
            while (wait := self._wait(mine)) > 0:
                left = LONGEST.total_seconds() - (self._clock.monotonic() - began)
                if wait > left and self._waiting[0] is mine:
                    raise RetryLater("the server's limit is used up", after=timedelta(seconds=wait))
                if left <= 0:
                    raise RetryLater("the server's limit is used up by what is more urgent", after=_COME_BACK)
                mine[2].clear()
                await self._clock.sleep(min(wait, left), unless=mine[2])
            self.pace.started(self._clock.monotonic())
        finally:
            self._waiting.remove(mine)
            heapq.heapify(self._waiting)
            if self._waiting:
                self._waiting[0][2].set()

    def _wait(self, mine: tuple[Urgency, int, asyncio.Event]) -> float:
        """Return how long to wait before looking again: for the limit at the head of the queue, else for whoever stands before."""
        if self._waiting[0] is not mine:
            return LONGEST.total_seconds()
        return self.pace.wait(self._clock.monotonic(), share=_BACKFILL_SHARE if mine[0] is Urgency.BACKFILL else 1)
