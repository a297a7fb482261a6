"""Is the worker alive, and is it ready: two questions with answers that do not depend on Langfuse.

Alive: every loop that was heard of was heard of again within ``PATIENCE`` of when it had to be. A loop that fails and tries again
is alive. Ready: the server is known and no stop was asked for.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from hunkwatch import events

if TYPE_CHECKING:
    from collections.abc import Sequence

PATIENCE = timedelta(minutes=15)
"""How long one unit of work may take before its loop counts as stuck."""


class Health:
    """What the events say about the worker itself. Times are monotonic seconds."""

    def __init__(self) -> None:
        """Start out alive and not ready."""
        self._expected: dict[str, float] = {}
        self._started = False
        self._stopping = False

    def record(self, event: events.Event, *, at: float) -> None:
        """Take one event."""
        match event:
            case events.WorkerStarted():
                self._started = True
            case events.WorkerStopping() | events.WorkerStopped():
                self._stopping = True
            case events.LoopTicked():
                self._expected[event.loop] = at + event.wait
            case events.LoopFailed():
                self._expected[event.loop] = at + event.wait
            case _:
                return

    def stuck(self, *, at: float) -> Sequence[str]:
        """Return the loops that were not heard of for too long."""
        limit = at - PATIENCE.total_seconds()
        return sorted(loop for loop, expected in self._expected.items() if expected < limit)

    @property
    def ready(self) -> bool:
        """Say whether the worker knows its server and is not on its way out."""
        return self._started and not self._stopping
