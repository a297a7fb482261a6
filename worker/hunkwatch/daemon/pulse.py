"""Notice when a loop gets nowhere, and when nothing in the process does.

A loop that waits on purpose says until when; one that works calls ``beat`` after each step that got somewhere.
"""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING

from hunkwatch.errors import Exit, Halt

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from hunkwatch.ports import Clock

STALL = timedelta(minutes=15)
"""How long one step may take before its loop counts as stuck: far longer than a request with all its tries and waits."""

_EVERY = 5.0


class Pulse:
    """One loop's sign of life."""

    def __init__(self, name: str, clock: Clock) -> None:
        """Count from now."""
        self.name = name
        self._clock = clock
        self._awaited = clock.monotonic()

    def beat(self) -> None:
        """Note a step that got somewhere."""
        self._awaited = self._clock.monotonic()

    def rest(self, seconds: float) -> None:
        """Note that nothing will be heard for a while, on purpose."""
        self._awaited = self._clock.monotonic() + seconds

    def late(self) -> float:
        """Return for how many seconds it has been silent without leave."""
        return self._clock.monotonic() - self._awaited


async def watch(pulses: Sequence[Pulse], *, clock: Clock, stop: asyncio.Event, stall: timedelta = STALL) -> None:
    """Return once ``stop`` is set; raises Halt when a loop has been silent for too long."""
    while not stop.is_set():
        for pulse in pulses:
            if pulse.late() > stall.total_seconds():
                raise Halt(
                    f"the {pulse.name} loop made no progress for {int(stall.total_seconds())} seconds",
                    mend="Let the supervisor start the worker again; if this repeats, run it with HUNKWATCH_LOG__LEVEL=debug.",
                    exit_code=Exit.INTERNAL,
                )
        await clock.sleep(_EVERY, unless=stop)


class Deadman:
    """Ends the process from a thread of its own when the event loop is held up for too long, or does not leave in time."""

    def __init__(self, leave: Callable[[str], None], *, stall: timedelta = STALL) -> None:
        """Call ``leave`` with the reason; it must not return to anything that matters."""
        self._leave = leave
        self._until = time.monotonic() + stall.total_seconds()
        self._stall = stall.total_seconds()
        self._final = False
        self._closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._guard, name="deadman", daemon=True)
        self._thread.start()

    def alive(self) -> None:
        """Say from the event loop that it turns."""
        if not self._final:
            self._until = time.monotonic() + self._stall

    def leave_within(self, span: timedelta) -> None:
        """From now on signs of life do not count: whatever hangs, the process ends within the span."""
        with self._changed:
            self._until = time.monotonic() + span.total_seconds()
            self._final = True
            self._changed.notify()

    def close(self) -> None:
        """Stand down."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _guard(self) -> None:
        with self._changed:
            while not self._closed and (left := self._until - time.monotonic()) > 0:
                self._changed.wait(timeout=left)
            if self._closed:
                return
        self._leave("the shutdown took too long" if self._final else "the event loop is held up")
