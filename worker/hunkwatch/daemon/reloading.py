"""New settings for a running worker, all or nothing.

While the loops go on, the settings are loaded and checked and a new conversation with Langfuse is opened. Only when all of that has
worked do the loops drain and start again with it; otherwise nothing changes, and one event says what is wrong. The state stays open.
"""

from __future__ import annotations

import asyncio
import signal
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from hunkwatch import events
from hunkwatch.daemon import run
from hunkwatch.errors import Halt, HunkwatchError
from hunkwatch.settings import KEYS, BadSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Sequence
    from contextlib import AbstractAsyncContextManager

    from hunkwatch.daemon.project import Project
    from hunkwatch.settings import Settings

T = TypeVar("T")

FIXED = ("store.", "http.", "langfuse.base_url")
"""Settings of what stays as it is for as long as the process lives."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a reload needs of the process around it."""

    load: Callable[[], Settings]
    """Loads the settings as at the start; raises BadSettings."""
    connect: Callable[[Settings], AbstractAsyncContextManager[Project]]
    """Opens the same state's project anew."""
    hide: Callable[[Settings], None]
    """Keeps the settings' secrets out of all output from now on."""
    adopt: Callable[[Settings], None]
    """Makes the settings count for everything that is no loop."""
    begun: Callable[[], None]
    done: Callable[[], None]


class Reloader:
    """Holds the conversation that is under way, and the next one while it is prepared."""

    def __init__(self, settings: Settings, around: Surroundings) -> None:
        """Begin with the settings of the start; the conversation that was opened with them ends with the process."""
        self._settings = settings
        self._around = around
        self._held = AsyncExitStack()
        self._next: tuple[Settings, AsyncExitStack] | None = None

    async def close(self) -> None:
        """Close whatever is open."""
        if self._next:
            await self._next[1].aclose()
        await self._held.aclose()

    async def serve(self, project: Project, *, stop: asyncio.Event, again: asyncio.Event) -> None:
        """Keep the project's loops going until ``stop`` is set; answer each ``again`` with a reload."""
        while not stop.is_set():
            pause = asyncio.Event()
            waiting = asyncio.create_task(self._successor(project, stop=stop, again=again, pause=pause))
            try:
                await run.until_stopped(run.loops_of(project), stop=pause)
                project = await waiting
            finally:
                waiting.cancel()
                await asyncio.gather(waiting, return_exceptions=True)
            if self._next and not stop.is_set():
                await self._switch(*self._next, project)

    async def _successor(self, project: Project, *, stop: asyncio.Event, again: asyncio.Event, pause: asyncio.Event) -> Project:
        try:
            while True:
                await _unless(stop, again.wait())
                if stop.is_set():
                    return project
                again.clear()
                if successor := await _unless(stop, self._prepare(project)):
                    return successor
        finally:
            pause.set()

    async def _prepare(self, project: Project) -> Project | None:
        self._around.begun()
        try:
            settings = await asyncio.to_thread(self._around.load)
            self._around.hide(settings)
            if fixed := [key for key in changed(self._settings, settings) if key.startswith(FIXED)]:
                raise Halt(f"{', '.join(fixed)} cannot change while the worker runs", mend="Restart the worker.")
            async with AsyncExitStack() as opening:
                successor = await opening.enter_async_context(self._around.connect(settings))
                if successor.id != project.id:
                    raise Halt("the key belongs to another project", mend="Restart the worker.")
                self._next = settings, opening.pop_all()
        except HunkwatchError as error:
            project.emit(events.ReloadRefused(project.id, reason(error)))
            self._around.done()
            return None
        return successor

    async def _switch(self, settings: Settings, opened: AsyncExitStack, project: Project) -> None:
        what = changed(self._settings, settings)
        before, self._held, self._next, self._settings = self._held, opened, None, settings
        await before.aclose()
        self._around.adopt(settings)
        project.emit(events.SettingsReloaded(project.id, ", ".join(what)))
        self._around.done()


@contextmanager
def hearing(*again: asyncio.Event) -> Iterator[None]:
    """Set every event at each SIGHUP while the context is open."""
    loop = asyncio.get_running_loop()

    def heard() -> None:
        for event in again:
            event.set()

    loop.add_signal_handler(signal.SIGHUP, heard)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGHUP)


def changed(before: Settings, now: Settings) -> Sequence[str]:
    """Return the names of the settings that differ."""
    return [key for key in KEYS if _value(before, key) != _value(now, key)]


def _value(settings: Settings, key: str) -> object:
    section, _, name = key.partition(".")
    return getattr(getattr(settings, section), name)


def reason(error: HunkwatchError) -> str:
    """Say what is wrong and what to do, on one line."""
    if isinstance(error, BadSettings):
        return "; ".join(str(problem) for problem in error.problems)
    return f"{error}. {error.mend}" if isinstance(error, Halt) else str(error)


async def _unless(stop: asyncio.Event, work: Coroutine[object, object, T]) -> T | None:
    """Return what the work comes to, or None when ``stop`` is set before it ends; then it is cancelled."""
    task, stopped = asyncio.create_task(work), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        for each in (task, stopped):
            each.cancel()
        await asyncio.gather(task, stopped, return_exceptions=True)
