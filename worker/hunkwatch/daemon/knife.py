"""Cut windows into parts that the server and our memory can take, and learn how long a part may be."""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING

from hunkwatch import events
from hunkwatch.core import window as windows
from hunkwatch.core.window import Window
from hunkwatch.errors import AskForLess, RetryLater
from hunkwatch.ports import ObservationKey

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import timedelta

    from hunkwatch.daemon.project import Project

_PATIENCE = 5
"""How often a part at the floor may be too much before it is put on record and passed."""


class Knife:
    """Remembers what was too much, so that the same question is not asked twice."""

    def __init__(self) -> None:
        """Start without any bound."""
        self._longest: timedelta | None = None
        self._stuck: Counter[Window] = Counter()

    async def through(self, project: Project, ahead: Window, work: Callable[[Window], Awaitable[None]]) -> None:
        """Do the work part by part, oldest first; a part that is too much is cut in two and tried again.

        Raises what the work raises, except AskForLess. One second that stays too much is put on record and passed.
        """
        waiting = deque(self._parts(ahead))
        while waiting:
            part = waiting.popleft()
            try:
                await work(part)
            except AskForLess as error:
                halves = windows.halves(part)
                if halves is None:
                    await self._give_up(project, part, error)
                    continue
                project.emit(events.WindowHalved(project.id, part.start, part.end))
                self._longest = halves[0].end - halves[0].start
                waiting.extendleft(reversed(halves))
            else:
                self._stuck.pop(part, None)
                self._dare_more(part)

    def _parts(self, ahead: Window) -> list[Window]:
        if self._longest is None:
            return [ahead]
        parts, start = [], ahead.start
        while ahead.end - start > self._longest:
            parts.append(Window(start, start + self._longest))
            start += self._longest
        return [*parts, Window(start, ahead.end)]

    def _dare_more(self, part: Window) -> None:
        if self._longest is not None and part.end - part.start >= self._longest:
            self._longest *= 2

    async def _give_up(self, project: Project, part: Window, error: AskForLess) -> None:
        self._stuck[part] += 1
        if self._stuck[part] < _PATIENCE:
            raise RetryLater(f"one second of observations from {part.start.isoformat()} is too much for the server") from error
        del self._stuck[part]
        name = f"{part.start.isoformat()} to {part.end.isoformat()}"
        project.emit(events.PoisonSkipped(project.id, "", name, "too much for the server"))
        await project.store.note_poison(project.id, ObservationKey("", name), "too much for the server", now=project.clock.now())
