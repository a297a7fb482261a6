"""Is the worker alive, and is it ready: two questions with answers that do not depend on Langfuse.

Alive: every loop that was heard of was heard of again within ``PATIENCE`` of when it had to be. A loop that fails and tries again
is alive. Ready: the server of at least one project is known and no stop was asked for.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from hunkwatch import events

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PATIENCE = timedelta(minutes=15)
"""How long one unit of work may take before its loop counts as stuck."""


class Health:
    """What the events say about the worker itself. Times are monotonic seconds."""

    def __init__(self) -> None:
        """Start out alive and not ready."""
        self._expected: dict[tuple[str, str], float] = {}
        self._working: set[str] = set()
        self._parked: dict[str, str] = {}
        self._stopping = False

    def record(self, event: events.Event, *, at: float) -> None:
        """Take one event."""
        match event:
            case events.WorkerStarted():
                self._working.add(event.name)
                self._parked.pop(event.name, None)
            case events.ProjectParked():
                self._working.discard(event.name)
                self._parked[event.name] = event.reason
                self._expected = {key: expected for key, expected in self._expected.items() if key[0] != event.project}
            case events.WorkerStopping() | events.WorkerStopped():
                self._stopping = True
            case events.LoopTicked():
                self._expected[event.project, event.loop] = at + event.wait
            case events.LoopFailed():
                self._expected[event.project, event.loop] = at + event.wait
            case _:
                return

    def stuck(self, *, at: float) -> Sequence[str]:
        """Return the loops that were not heard of for too long."""
        limit = at - PATIENCE.total_seconds()
        several = len({project for project, _ in self._expected}) > 1
        silent = [key for key, expected in self._expected.items() if expected < limit]
        return sorted(f"{loop} of {project}" if several else loop for project, loop in silent)

    @property
    def ready(self) -> bool:
        """Say whether the worker knows a server and is not on its way out."""
        return bool(self._working) and not self._stopping

    @property
    def parked(self) -> Mapping[str, str]:
        """Return the projects that are not worked on now, by name, with the reason."""
        return dict(sorted(self._parked.items()))
