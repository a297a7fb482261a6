"""The loops of one project, and how they live with errors.

RetryLater costs a pause that grows; Halt and everything unforeseen end all loops. A stop lets each loop finish its unit of work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from hunkwatch import events
from hunkwatch.daemon import deliver, pulse, tenure, upkeep
from hunkwatch.daemon.pulse import Pulse
from hunkwatch.daemon.reconcile import Reconciler
from hunkwatch.daemon.sweep import Sweeper
from hunkwatch.errors import AskForLess, Refused, RetryLater
from hunkwatch.ports import Urgency, urgency

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hunkwatch.daemon.project import Project

DRAIN = timedelta(seconds=20)
"""How long a unit of work may take to finish after a stop."""

_URGENCY = {"deliver": Urgency.DELIVERY, "reconcile": Urgency.BACKGROUND, "prune": Urgency.BACKGROUND}
"""Whose requests go before the others, or after them, where a limit makes them wait."""

_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0
_UPKEEP_EVERY = 5.0
_RECONCILE_EVERY = 60.0
_PRUNE_EVERY = 3600.0
_PRUNES = 10
"""So often at least within the time that the ledger keeps a trace."""


Make = Callable[["Project"], Callable[[], Awaitable[bool]]]
"""Makes a loop's tick for a project whose ``beat`` is the loop's own."""


@dataclass(frozen=True, slots=True)
class Loop:
    """One thing that is done again and again; ``tick`` says whether there is more to do at once."""

    name: str
    project: Project
    pause: float
    tick: Callable[[], Awaitable[bool]]
    pulse: Pulse
    turn: Callable[[], AbstractContextManager[None]] = nullcontext
    """What surrounds each unit of work and what is said of it."""
    urgency: Urgency = Urgency.LIVE


def loops_of(project: Project) -> list[Loop]:
    """Return the loops that keep one project scored.

    Only the process that holds the project sweeps it; every process delivers, since rows are claimed one by one.
    """
    right, sweep = tenure.of(project), project.sweep
    between_rounds = min(_RECONCILE_EVERY, sweep.reconcile_every.total_seconds())

    def as_holder(make: Make) -> Make:
        def gated(heard: Project) -> Callable[[], Awaitable[bool]]:
            tick = make(heard)

            async def when_held() -> bool:
                return await tick() if right.held or await right.renew() else False

            return when_held

        return gated

    async def renew() -> bool:
        await right.renew()
        return False

    return [
        _loop(project, "lease", right.renew_every.total_seconds(), lambda _heard: renew),
        _loop(project, "sweep", sweep.every.total_seconds(), as_holder(_sweeping), events.one_sweep),
        _loop(project, "reconcile", between_rounds, as_holder(_reconciling), events.one_sweep),
        _loop(project, "upkeep", _UPKEEP_EVERY, as_holder(_upkeeping)),
        _loop(project, "prune", min(_PRUNE_EVERY, sweep.keep.total_seconds() / _PRUNES), as_holder(_pruning)),
        _loop(project, "deliver", project.delivery.every.total_seconds(), _delivering),
    ]


async def until_stopped(loops: Sequence[Loop], *, stop: asyncio.Event, drain: timedelta = DRAIN) -> None:
    """Keep every loop going until ``stop`` is set, then give the units under way ``drain`` to finish.

    Raises the first Halt, or what was unforeseen, after the other loops have ended.
    """
    tasks = [asyncio.create_task(keep_going(loop, stop), name=f"{loop.name} {loop.project.id}") for loop in loops]
    clock = loops[0].project.clock
    tasks.append(asyncio.create_task(pulse.watch([loop.pulse for loop in loops], clock=clock, stop=stop), name="watch"))
    try:
        stopped = asyncio.create_task(stop.wait())
        waiting: set[asyncio.Task[object]] = {*tasks, stopped}
        while not stopped.done() and not any(task.done() for task in tasks):
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if not any(task.done() and task.exception() for task in tasks):
            await asyncio.wait(tasks, timeout=drain.total_seconds(), return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    for result in results:
        if isinstance(result, Exception):
            raise result


async def keep_going(loop: Loop, stop: asyncio.Event) -> None:
    """Tick until ``stop`` is set; after an error that time may heal, wait as long as the server asks, or ever longer."""
    clock, project, failures = loop.project.clock, loop.project, 0
    urgency.set(loop.urgency)
    while not stop.is_set():
        began = clock.monotonic()
        with loop.turn():
            try:
                more = await loop.tick()
            except (RetryLater, AskForLess, Refused) as error:
                failures += 1
                wait = pause_after(error, failures)
                project.emit(events.LoopFailed(project.id, loop.name, str(error), wait))
            else:
                failures = 0
                wait = 0.0 if more else loop.pause
                project.emit(events.LoopTicked(project.id, loop.name, clock.monotonic() - began, wait))
        loop.pulse.rest(wait)
        await clock.sleep(wait, unless=stop)
        loop.pulse.beat()


def pause_after(error: RetryLater | AskForLess | Refused, failures: int) -> float:
    """Return how many seconds to wait: what the server asked for, or ever longer."""
    own = min(_FIRST_PAUSE * 2.0 ** (failures - 1), _LONGEST_PAUSE)
    asked = error.after if isinstance(error, RetryLater) else None
    return own if asked is None else max(asked.total_seconds(), 0.1)


def _loop(project: Project, name: str, pause: float, make: Make, turn: Callable[[], AbstractContextManager[None]] = nullcontext) -> Loop:
    heart = Pulse(name, project.clock)
    heard = replace(project, beat=heart.beat)
    return Loop(name, heard, pause, make(heard), heart, turn, _URGENCY.get(name, Urgency.LIVE))


def _sweeping(project: Project) -> Callable[[], Awaitable[bool]]:
    sweeper = Sweeper(project)

    async def tick() -> bool:
        return not (await sweeper.tick()).caught_up

    return tick


def _reconciling(project: Project) -> Callable[[], Awaitable[bool]]:
    return Reconciler(project).tick


def _upkeeping(project: Project) -> Callable[[], Awaitable[bool]]:
    async def tick() -> bool:
        return await upkeep.tick(project) > 0

    return tick


def _pruning(project: Project) -> Callable[[], Awaitable[bool]]:
    async def tick() -> bool:
        await upkeep.prune(project)
        return False

    return tick


def _delivering(project: Project) -> Callable[[], Awaitable[bool]]:
    async def tick() -> bool:
        return not (await deliver.tick(project)).idle

    return tick
