"""The real time: the wall clock in UTC, seconds that never jump, and a sleep that an event cuts short."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime


class SystemClock:
    """The machine's own time; tests pass another."""

    def now(self) -> datetime:
        """Return the wall clock, aware, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds that never jump."""
        return time.monotonic()

    async def sleep(self, seconds: float, *, unless: asyncio.Event) -> None:
        """Sleep, or return early once the event is set."""
        if seconds <= 0 or unless.is_set():
            await asyncio.sleep(0)
            return
        try:
            async with asyncio.timeout(seconds):
                await unless.wait()
        except TimeoutError:
            return
