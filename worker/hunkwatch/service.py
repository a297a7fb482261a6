"""``run``: the worker as a service, for one project or for several, until a signal comes or going on makes no sense.

One state, one log, one set of metrics and one answer to the service manager; each project has its own settings, its own conversation with
Langfuse, its own loops and its own reloads.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

from hunkwatch import app, events
from hunkwatch.core import evaluate
from hunkwatch.daemon import leaving, reloading
from hunkwatch.daemon import run as loops
from hunkwatch.daemon.clock import SystemClock
from hunkwatch.daemon.crew import Crew, Member
from hunkwatch.daemon.pulse import Deadman
from hunkwatch.errors import Exit, Halt, HunkwatchError
from hunkwatch.settings import each

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

    from hunkwatch.daemon.project import Project
    from hunkwatch.events import Emit
    from hunkwatch.ports import Clock, Store
    from hunkwatch.settings import Settings
    from hunkwatch.telemetry import Opened
    from hunkwatch.telemetry.health import Health
    from hunkwatch.telemetry.systemd import Supervisor

T = TypeVar("T")

_LIFE_EVERY = timedelta(seconds=5)
_LAST_GRACE = timedelta(seconds=10)
"""What the process gets beyond the drain to close everything."""


async def run(
    settings: Settings,
    *,
    emit: Emit | None = None,
    clock: Clock | None = None,
    notices: Sequence[events.Event] = (),
    reload: Callable[[], Settings] | None = None,
) -> Exit:
    """Run until a signal comes or going on makes no sense. Without ``emit`` the settings' own log is used, ``notices`` first.

    SIGHUP makes every project go on with what ``reload`` returns, all or nothing; without ``reload`` the settings stay. A project that
    cannot be worked on leaves the others alone; the process ends with its error when none is left.
    """
    from hunkwatch.telemetry import serving  # noqa: PLC0415 (see the docstring of app)
    from hunkwatch.telemetry.systemd import Supervisor  # noqa: PLC0415 (see the docstring of app)

    clock = clock or SystemClock()
    began = clock.monotonic()
    voice = app.voice(settings, clock, notices)
    emit = emit or voice.emit
    supervisor = Supervisor(os.environ, pid=os.getpid())
    stop, guard = asyncio.Event(), Deadman(leaving.at_once)

    def stopping() -> None:
        supervisor.stopping()
        guard.leave_within(loops.DRAIN + _LAST_GRACE)

    async with AsyncExitStack() as stack:
        stack.callback(guard.close)
        stack.enter_context(leaving.signals(stop, emit, stopping))
        try:
            store = await leaving.unless(stop, stack.enter_async_context(app.state(settings)))
        except leaving.Stopped:
            return Exit.OK
        around = _Around(store, voice, supervisor, emit, clock, stop, reload or (lambda: settings))
        hired = [_Hired(name, its, around) for name, its in each(settings).items()]
        known = asyncio.Event()

        def opened() -> None:
            known.set()
            supervisor.ready()
            supervisor.status(_summary(crew))

        crew = Crew([one.member() for one in hired], emit=emit, clock=clock, opened=opened)
        stack.enter_context(reloading.hearing(*(event for one in hired for event in (one.again, one.wake))))

        async def refresh() -> None:
            for project in list(crew.working.values()):
                voice.metrics.show(project.id, await store.status(project.id, scorer=evaluate.SCORER), now=clock.now())

        await stack.enter_async_context(serving(settings, voice, clock=clock, refresh=refresh))
        alive = asyncio.create_task(_show_life(known, stop, clock, guard, supervisor, voice.health))
        stack.push_async_callback(_ended, alive)
        await crew.work(stop)
    if known.is_set():
        emit(events.WorkerStopped(clock.monotonic() - began))
    return Exit.OK


async def one_after_the_other(
    settings: Settings, work: Callable[[Settings, Emit, asyncio.Event], Awaitable[T]], *, notices: Sequence[events.Event] = ()
) -> Mapping[str, T | HunkwatchError]:
    """Do a piece of work for each project, by name; an error of one is its result and leaves the others alone, a signal ends them all."""
    stop, done = asyncio.Event(), dict[str, T | HunkwatchError]()
    emit = app.voice(settings, SystemClock(), notices).emit
    with leaving.signals(stop, emit):
        for name, its in each(settings).items():
            if stop.is_set():
                break
            try:
                done[name] = await work(its, emit, stop)
            except HunkwatchError as error:
                done[name] = error
    return done


@dataclass(frozen=True, slots=True)
class _Around:
    """What all projects of the process share."""

    store: Store
    voice: Opened
    supervisor: Supervisor
    emit: Emit
    clock: Clock
    stop: asyncio.Event
    load: Callable[[], Settings]


class _Hired:
    """One project of the process, with the settings that count for it now."""

    def __init__(self, name: str, settings: Settings, around: _Around) -> None:
        self._name = name
        self._settings = settings
        self._around = around
        self._tried = False
        self.again = asyncio.Event()
        self.wake = asyncio.Event()

    def member(self) -> Member:
        return Member(self._name, self._opened, self._serve, self.wake)

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Project]:
        around = self._around
        if self._tried:
            self._settings = await asyncio.to_thread(self._load)
            around.voice.hide(self._settings)
        self._tried = True
        self.again.clear()
        met = app.introduction(self._settings, around.emit, name=self._name)
        async with app.connected(self._settings, around.store, emit=around.emit, clock=around.clock, met=met) as project:
            yield project

    async def _serve(self, project: Project) -> None:
        around = self._around
        surroundings = reloading.Surroundings(
            load=self._load,
            connect=lambda others: app.connected(others, around.store, emit=around.emit, clock=around.clock, met=lambda _who: None),
            hide=around.voice.hide,
            adopt=around.voice.adopt,
            begun=lambda: around.supervisor.reloading(around.clock.monotonic()),
            done=around.supervisor.ready,
        )
        reloader = reloading.Reloader(self._settings, surroundings)
        try:
            await reloader.serve(project, stop=around.stop, again=self.again)
        finally:
            await reloader.close()
            with suppress(HunkwatchError):  # another replica then goes on when the lease ends
                await project.store.release(project.id)

    def _load(self) -> Settings:
        """Load the settings anew; raises BadSettings, or Halt where this project is not among them."""
        try:
            return each(self._around.load())[self._name]
        except KeyError:
            raise Halt(f"there is no project {self._name!r} any more", mend="Restart the worker.") from None


def _summary(crew: Crew) -> str:
    ids = ", ".join(project.id for project in crew.working.values())
    return f"watching project {ids}" if crew.size == 1 else f"watching {len(crew.working)} of {crew.size} projects: {ids}"


async def _show_life(  # noqa: PLR0913, PLR0917 - who is told, and what of
    known: asyncio.Event, stop: asyncio.Event, clock: Clock, guard: Deadman, supervisor: Supervisor, health: Health
) -> None:
    """Once a server is known, tell the deadman and the service manager that the loops turn, as long as they do."""
    await known.wait()
    every = min(_LIFE_EVERY, supervisor.watchdog_every or _LIFE_EVERY)
    while True:
        guard.alive()
        if not health.stuck(at=clock.monotonic()):
            supervisor.alive()
        await clock.sleep(every.total_seconds(), unless=stop)
        if stop.is_set():
            return


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
