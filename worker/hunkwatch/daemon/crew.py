"""Several projects in one process, each left alone by what goes wrong with another.

A project that cannot be opened, or that comes to a Halt, is parked: it is opened anew after a while, with settings loaded anew, and at once
when the settings are to be reloaded. The process ends with the error only when no project is left to work on: all are parked by a Halt,
or none could be opened at the start. With a single project that is what its errors mean anyway.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, TypeGuard

from hunkwatch import events
from hunkwatch.daemon import reloading
from hunkwatch.daemon.run import pause_after
from hunkwatch.errors import AskForLess, Halt, HunkwatchError, Refused, RetryLater

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from contextlib import AbstractAsyncContextManager

    from hunkwatch.daemon.project import Project
    from hunkwatch.events import Emit
    from hunkwatch.ports import Clock

PARKED = timedelta(minutes=5)
"""How long a project that came to a Halt is left alone: a key or a permission may be mended at the server."""


@dataclass(frozen=True, slots=True)
class Member:
    """One project of several. ``name`` is what its owner calls it, ``""`` for the only one.

    ``open`` opens it with the settings as they are then; ``serve`` keeps its loops going until a stop.
    """

    name: str
    open: Callable[[], AbstractAsyncContextManager[Project]]
    serve: Callable[[Project], Awaitable[None]]
    wake: asyncio.Event
    """Set to open a parked project at once."""


class Crew:
    """The projects of one process, and which of them work."""

    def __init__(self, members: Sequence[Member], *, emit: Emit, clock: Clock, opened: Callable[[], None] = lambda: None) -> None:
        """Call ``opened`` each time a project was opened."""
        self._members = members
        self._emit = emit
        self._clock = clock
        self._opened = opened
        self._errors: dict[str, Exception] = {}
        self._ids: dict[str, str] = {}
        self._begun = False
        self._lost = asyncio.Event()
        self.working: dict[str, Project] = {}
        """The projects that are open, by name."""

    @property
    def size(self) -> int:
        """Return how many projects there are, working or not."""
        return len(self._members)

    async def work(self, stop: asyncio.Event) -> None:
        """Keep every project going until ``stop`` is set; raises the first error once none is left to work on."""
        tasks = {member.name: asyncio.create_task(self._keep(member, stop), name=f"project {member.name}") for member in self._members}
        ends: list[asyncio.Task[object]] = [asyncio.create_task(event.wait()) for event in (self._lost, stop)]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            for name, task in tasks.items():
                if name not in self.working:  # nothing is under way there that would be worth waiting for
                    task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)
        finally:
            for ending in (*tasks.values(), *ends):
                ending.cancel()
            await asyncio.gather(*tasks.values(), *ends, return_exceptions=True)
        if self._lost.is_set():
            raise next(iter(self._errors.values()))

    async def _keep(self, member: Member, stop: asyncio.Event) -> None:
        failures = 0
        while not stop.is_set():
            try:
                async with member.open() as project:
                    self._enter(member, project)
                    try:
                        await member.serve(project)
                    finally:
                        del self.working[member.name]
            except Exception as error:  # noqa: BLE001 - whatever one project comes to, the others go on
                failures = failures + 1 if member.name in self._errors else 1
                await self._park(member, error, failures, stop)
            else:
                return

    def _enter(self, member: Member, project: Project) -> None:
        twin = next((name for name, other in self.working.items() if other.id == project.id), None)
        if twin is not None:
            raise Halt(f"its keys belong to the same project as those of {twin}", mend="Keep one entry for each project.")
        self._begun = True
        self._errors.pop(member.name, None)
        self._ids[member.name] = project.id
        self.working[member.name] = project
        self._opened()

    async def _park(self, member: Member, error: Exception, failures: int, stop: asyncio.Event) -> None:
        self._errors[member.name] = error
        if stop.is_set():
            return
        if len(self._errors) == len(self._members) and not (self._begun and any(map(_passes, self._errors.values()))):
            self._lost.set()
            return
        wait = pause_after(error, failures) if _passes(error) else PARKED.total_seconds()
        self._emit(events.ProjectParked(self._ids.get(member.name, ""), member.name, _reason(error), wait))
        member.wake.clear()
        await self._clock.sleep(wait, unless=member.wake)


def _passes(error: Exception) -> TypeGuard[RetryLater | AskForLess | Refused]:
    """Say whether time may heal it."""
    return isinstance(error, RetryLater | AskForLess | Refused)


def _reason(error: Exception) -> str:
    return reloading.reason(error) if isinstance(error, HunkwatchError) else f"unexpected {type(error).__name__}"
