"""The composition root: settings in, an opened worker out. The only file that names adapters.

Whoever opens registers its close on the one exit stack, so that everything closes in reverse order whatever happens.
Every function here is what one verb of the command line does; it raises only ``errors.HunkwatchError``, faults of ours aside.
Adapters are imported where they are opened, so that offline verbs load neither a database nor an HTTP client.
"""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol

from hunkwatch import events, ports
from hunkwatch.core import evaluate
from hunkwatch.daemon import leaving, moves, once, reports, tenure
from hunkwatch.daemon.clock import SystemClock
from hunkwatch.daemon.project import Project
from hunkwatch.errors import Exit, Halt, RetryLater
from hunkwatch.settings import each, without_password

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from hunkwatch.core.model import Observation
    from hunkwatch.events import Emit
    from hunkwatch.langfuse.links import Links
    from hunkwatch.langfuse.probe import Abilities
    from hunkwatch.ports import Clock
    from hunkwatch.settings import Settings
    from hunkwatch.telemetry import Opened

PATIENCE = timedelta(seconds=60)
"""How long ``run --once`` waits for Langfuse to show what was sent."""

_DECIDING = timedelta(minutes=1)
"""How long dead letters are held while somebody decides about them."""

_EVER = datetime(9000, 1, 1, tzinfo=UTC)
_ALL = 10_000_000

_LIFE_EVERY = timedelta(seconds=5)
_LAST_GRACE = timedelta(seconds=10)
"""What the process gets beyond the drain to close everything."""


class Opening(Protocol):
    """Opens a project to work on."""

    def __call__(self, settings: Settings, *, emit: Emit, clock: Clock) -> AbstractAsyncContextManager[Project]:
        """Open it."""
        ...


@dataclass(frozen=True, slots=True)
class StatusReport:
    """The state as it is on disk, by project."""

    store: str
    """Where the state lives, without any password."""
    scorer: str
    projects: Mapping[str, ports.Status] = field(default_factory=dict)
    links: Mapping[str, Links] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that ``check`` looked at. ``mend`` is one sentence that says what to do, "" where all is well."""

    subject: str
    ok: bool
    message: str
    mend: str = ""
    exit: Exit = Exit.OK


@asynccontextmanager
async def opened(settings: Settings, *, emit: Emit, clock: Clock, rehearsing: bool = False) -> AsyncIterator[Project]:
    """Open Langfuse and the state, say who is there, and yield the project to work on."""
    async with state(settings) as store:
        met = introduction(settings, emit, rehearsing=rehearsing)
        async with connected(settings, store, emit=emit, clock=clock, met=met) as project:
            yield project


def state(settings: Settings) -> AbstractAsyncContextManager[ports.Store]:
    """Open the state for work."""
    from hunkwatch.store import open_store  # noqa: PLC0415 (see the module's docstring)

    return open_store(settings.store.url, holder=tenure.own_name())


def introduction(settings: Settings, emit: Emit, *, name: str = "", rehearsing: bool = False) -> Callable[[Abilities], None]:
    """Return what says who answers, how it is talked to, and where people look at what scores low."""

    def started(who: Abilities) -> None:
        version, answers = metadata.version("hunkwatch"), (who.project_id, who.server, who.reader.value, who.writer.value, who.why)
        emit(events.WorkerStarted(*answers, version=version, scorer=evaluate.SCORER, dry_run=rehearsing, name=name))
        where = links(settings, who.project_id)
        emit(events.LinksMade(who.project_id, where.traces(), where.observations()))

    return started


@asynccontextmanager
async def on_copy(settings: Settings, *, emit: Emit, clock: Clock) -> AsyncIterator[Project]:
    """Open Langfuse and a throw-away copy of the state."""
    from hunkwatch.store import copy_state  # noqa: PLC0415 (see the module's docstring)

    with TemporaryDirectory(prefix="hunkwatch-") as folder:
        copy = await asyncio.to_thread(copy_state, settings.store.url, Path(folder))
        throwaway = settings.model_copy(update={"store": settings.store.model_copy(update={"url": copy})})
        async with opened(throwaway, emit=emit, clock=clock, rehearsing=True) as project:
            yield project


@asynccontextmanager
async def beside(settings: Settings, *, emit: Emit, clock: Clock) -> AsyncIterator[Project]:
    """Open Langfuse, and the state for reading only, whoever writes it meanwhile."""
    from hunkwatch.store import open_for_reading  # noqa: PLC0415 (see the module's docstring)

    async with open_for_reading(settings.store.url) as store:
        if store is None:
            raise Halt("there is no state yet", mend="Run `hunkwatch run --once` first.", exit_code=Exit.STATE)
        async with connected(settings, store, emit=emit, clock=clock, met=lambda _who: None) as project:
            yield project


@asynccontextmanager
async def recorded(settings: Settings) -> AsyncIterator[tuple[ports.Store, Sequence[str]]]:
    """Open the state for reading only, whoever writes it meanwhile, with the projects on record; asks Langfuse nothing."""
    from hunkwatch.store import open_for_reading  # noqa: PLC0415 (see the module's docstring)

    async with open_for_reading(settings.store.url) as store:
        if store is None:
            raise Halt("there is no state yet", mend="Run `hunkwatch run --once` first.", exit_code=Exit.STATE)
        yield store, await store.projects()


@asynccontextmanager
async def at_work(  # noqa: PLR0913 - what to open, and for whom
    settings: Settings,
    opening: Opening,
    *,
    emit: Emit | None,
    clock: Clock,
    notices: Sequence[events.Event] = (),
    stop: asyncio.Event | None = None,
) -> AsyncIterator[tuple[Project, asyncio.Event]]:
    """Open what a piece of work needs, with the event that a signal sets; ``emit`` and ``notices`` as for ``run``.

    With a ``stop``, whoever gave it listens to the signals.
    """
    emit = emit or voice(settings, clock, notices).emit
    async with AsyncExitStack() as stack:
        if stop is None:
            stop = asyncio.Event()
            stack.enter_context(leaving.signals(stop, emit))
        yield await leaving.unless(stop, stack.enter_async_context(opening(settings, emit=emit, clock=clock))), stop


@asynccontextmanager
async def connected(
    settings: Settings, store: ports.Store, *, emit: Emit, clock: Clock, met: Callable[[Abilities], None]
) -> AsyncIterator[Project]:
    """Open Langfuse beside a state that is open, let ``met`` know who answers, and yield the project."""
    from hunkwatch.langfuse import Reading, open_langfuse  # noqa: PLC0415 (see the module's docstring)

    reading = Reading(settings.select, settings.discover)
    async with open_langfuse(settings.langfuse, clock=clock, emit=emit, reading=reading) as langfuse:
        met(langfuse.abilities)
        yield Project(
            id=langfuse.abilities.project_id,
            source=langfuse.source,
            sink=langfuse.sink,
            store=store,
            clock=clock,
            emit=emit,
            sweep=settings.sweep,
            delivery=settings.delivery,
            scores=settings.scores,
            lease=settings.store.lease,
            scope=settings.scope(),
        )


async def run_once(  # noqa: PLR0913 - what to do, and for whom
    settings: Settings,
    *,
    emit: Emit | None = None,
    clock: Clock | None = None,
    patience: timedelta = PATIENCE,
    notices: Sequence[events.Event] = (),
    stop: asyncio.Event | None = None,
) -> reports.OnceReport:
    """Sweep until caught up, roll everything up, deliver, and wait for Langfuse to show it."""
    clock = clock or SystemClock()
    async with at_work(settings, opened, emit=emit, clock=clock, notices=notices, stop=stop) as (project, stopped):
        done = await once.run(project, patience=patience, stop=stopped)
        status = await project.store.status(project.id, scorer=evaluate.SCORER)
    return reports.of_pass(project.id, done, status)


async def dry_run(
    settings: Settings,
    *,
    emit: Emit | None = None,
    clock: Clock | None = None,
    notices: Sequence[events.Event] = (),
    stop: asyncio.Event | None = None,
) -> reports.DryRunReport:
    """Do everything on a throw-away copy of the state, except writing to Langfuse, and report what a real run would send."""
    clock = clock or SystemClock()
    async with at_work(settings, on_copy, emit=emit, clock=clock, notices=notices, stop=stop) as (project, stopped):
        done = await once.rehearse(project, stop=stopped)
        status = await project.store.status(project.id, scorer=evaluate.SCORER)
    return reports.of_rehearsal(project.id, done, status)


async def status(settings: Settings) -> StatusReport:
    """Count everything on record, beside whoever writes it; asks Langfuse nothing."""
    from hunkwatch.store import open_for_reading  # noqa: PLC0415 (see the module's docstring)

    place = without_password(settings.store.url)
    async with open_for_reading(settings.store.url) as store:
        if store is None:
            return StatusReport(place, evaluate.SCORER)
        counted = {project: await store.status(project, scorer=evaluate.SCORER) for project in await store.projects()}
    return StatusReport(place, evaluate.SCORER, counted, links_to(settings, counted))


def links(settings: Settings, project: str) -> Links:
    """Return the addresses of a project in Langfuse's UI."""
    from hunkwatch.langfuse.links import Links  # noqa: PLC0415 (see the module's docstring)

    return Links(settings.langfuse.base_url, project, settings.scores.link_below)


def links_to(settings: Settings, projects: Iterable[str]) -> Mapping[str, Links]:
    """Return the addresses of projects on record; none where there are several servers, since the state does not say which is on which."""
    served = {one.langfuse.base_url: one for one in each(settings).values()}
    return {project: links(one, project) for project in projects for one in served.values()} if len(served) == 1 else {}


def reset_state(settings: Settings) -> Path | None:
    """Move a state file that is beyond repair aside; return where it went, None when there was none."""
    from hunkwatch.store import reset_state as move  # noqa: PLC0415 (see the module's docstring)

    return move(settings.store.url, now=SystemClock().now())


async def dead_letters(settings: Settings) -> Mapping[str, Sequence[ports.OutboxRow]]:
    """Return the dead letters by project, oldest first."""
    from hunkwatch.store import open_for_reading  # noqa: PLC0415 (see the module's docstring)

    async with open_for_reading(settings.store.url) as store:
        if store is None:
            return {}
        return {project: await store.dead_letters(project) for project in await store.projects()}


async def retry_dead_letters(settings: Settings, ids: Sequence[str] = (), *, clock: Clock | None = None) -> int:
    """Send dead letters again, all of them without ``ids``; return how many."""
    return await _redecide(settings, ids, moves.requeued, clock or SystemClock())


async def discard_dead_letters(settings: Settings, ids: Sequence[str] = (), *, clock: Clock | None = None) -> int:
    """Give dead letters up, all of them without ``ids``; return how many. A changed payload brings its score back."""
    return await _redecide(settings, ids, moves.discarded, clock or SystemClock())


async def check(settings: Settings, *, clock: Clock | None = None) -> Sequence[Finding]:
    """Look at everything a run needs in one pass; writes nothing anywhere."""
    from hunkwatch.langfuse import check_langfuse  # noqa: PLC0415 (see the module's docstring)

    found = await check_langfuse(settings.langfuse, clock=clock or SystemClock(), emit=lambda _event: None)
    return [
        *(Finding(one.subject, ok=one.ok, message=one.message, mend=one.mend, exit=one.exit) for one in found),
        await _check_state(settings),
    ]


async def fetch(settings: Settings, subject: str) -> tuple[Sequence[Observation], Links]:
    """Return whole observations by trace id or by observation id, empty when there is none, and where their project is looked at."""
    from hunkwatch.langfuse import Reading, open_langfuse  # noqa: PLC0415 (see the module's docstring)

    clock, everything = SystemClock(), Reading(discover=settings.discover)
    async with open_langfuse(settings.langfuse, clock=clock, emit=voice(settings, clock).emit, reading=everything) as langfuse:
        found = await langfuse.source.fetch(trace_id=subject) or await langfuse.source.fetch(observation_id=subject)
        return found, links(settings, langfuse.abilities.project_id)


def observation(row: Mapping[str, Any]) -> Observation:
    """Read one observation as Langfuse's API or export writes it, v1 or v2 form; raises ValueError when it is none."""
    from hunkwatch.langfuse import wire  # noqa: PLC0415 (see the module's docstring)

    return wire.observation(row)


async def _check_state(settings: Settings) -> Finding:
    from hunkwatch.store import open_for_reading  # noqa: PLC0415 (see the module's docstring)

    place = without_password(settings.store.url)
    try:
        async with open_for_reading(settings.store.url) as store:
            projects = None if store is None else await store.projects()
    except Halt as halt:
        return Finding("state", ok=False, message=str(halt), mend=halt.mend, exit=halt.exit_code)
    except RetryLater as error:
        return Finding("state", ok=False, message=str(error), mend="Try again.", exit=Exit.STATE)
    told = "not there yet; the first run makes it" if projects is None else f"{len(projects)} projects on record"
    return Finding("state", ok=True, message=f"{place}: {told}")


async def _redecide(settings: Settings, ids: Sequence[str], move: Callable[..., ports.OutboxRow], clock: Clock) -> int:
    from hunkwatch.store import open_store  # noqa: PLC0415 (see the module's docstring)

    count, now = 0, clock.now()
    async with open_store(settings.store.url) as store:
        for project in await store.projects():
            # Claimed, so that a worker beside us and this decision do not undo each other.
            rows = await store.claim(project, (ports.Delivery.DEAD,), now=_EVER, until=now + _DECIDING, limit=_ALL)
            chosen = [row for row in rows if not ids or row.score.id in ids]
            others = [row for row in rows if row not in chosen]
            await store.settle([*(move(row, now=now) for row in chosen), *others], now=now)
            count += len(chosen)
    return count


def voice(settings: Settings, clock: Clock, notices: Sequence[events.Event] = ()) -> Opened:
    """Open how the worker speaks, and say at once what was noticed before it could."""
    from hunkwatch.telemetry import open_telemetry  # noqa: PLC0415 (see the module's docstring)

    opened = open_telemetry(settings, sys.stderr, clock=clock, environ=os.environ)
    for notice in notices:
        opened.emit(notice)
    return opened
