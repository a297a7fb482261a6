"""One pass for cron, and its rehearsal: sweep until caught up, roll everything up, then deliver, or only see what would be.

What is done is on record at every step; a pass that ends early is finished by the next one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

from hunkwatch import events
from hunkwatch.daemon import deliver, moves, tenure, upkeep
from hunkwatch.daemon.deliver import Delivered
from hunkwatch.daemon.run import pause_after
from hunkwatch.daemon.sweep import Sweeper, Swept
from hunkwatch.errors import AskForLess, Exit, Halt, Refused, RetryLater
from hunkwatch.ports import Delivery

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping, Sequence

    from hunkwatch.daemon.project import Project
    from hunkwatch.daemon.tenure import Tenure
    from hunkwatch.ports import Parcel, Receipt, ScoreSink, SeenScore

T = TypeVar("T")

Sweeping = Callable[["Project"], Awaitable["Swept"]]
"""Brings the record up to date, one way or another."""

_TRIES = 5
_LOOK_EVERY = timedelta(seconds=3)
_SHORTEST_NAP = 0.05
_FAR = timedelta(days=3650)


@dataclass(frozen=True, slots=True)
class Pass:
    """What one pass did. ``finished`` says that Langfuse shows every score as it should be, dead letters aside."""

    swept: Swept
    delivered: Delivered
    finished: bool


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What a real pass would do, by score name."""

    swept: Swept
    would_send: Mapping[str, int]
    would_withdraw: Mapping[str, int]
    already_there: int


async def run(project: Project, *, patience: timedelta, stop: asyncio.Event) -> Pass:
    """Make one pass; a stop ends it after the unit under way."""
    hasty, right = hurried(project, patience), tenure.of(project)
    try:
        swept = await _sweep(hasty, right, stop)
    finally:
        await right.release()
    delivered, finished = await deliver_all(hasty, patience=patience, stop=stop)
    return Pass(swept, delivered, finished and swept.caught_up)


async def rehearse(project: Project, *, stop: asyncio.Event, sweeping: Sweeping | None = None) -> Rehearsal:
    """Make one pass (or do another sweep) that sends nothing; the project's store must be a throw-away."""
    onlooker = Onlooker(project.sink)
    muted = replace(hurried(project, timedelta(0)), sink=onlooker)
    right = tenure.of(project)
    swept = await (_sweep(muted, right, stop) if sweeping is None else sweeping(muted))
    seen = 0
    while not stop.is_set():
        looked = await patiently(muted, "look", lambda: deliver.look(muted), stop)
        if looked is None or looked.idle:
            break
        seen += looked.seen
    if stop.is_set():
        raise Halt("stopped before everything was counted", mend="Run it again.", exit_code=Exit.TEMPORARY)
    future = project.clock.now() + _FAR
    due = await project.store.claim(project.id, (Delivery.DUE,), now=future, until=future, limit=10_000_000)
    doomed = await project.store.claim(project.id, (Delivery.DELETED,), now=future, until=future, limit=10_000_000)
    return Rehearsal(
        swept,
        Counter(row.score.name for row in due),
        Counter(row.score.name for row in doomed if row.score.id in onlooker.withdrawn),
        seen,
    )


class Onlooker:
    """A sink that looks and touches nothing."""

    def __init__(self, sink: ScoreSink) -> None:
        """Look through a real one."""
        self._sink = sink
        self.withdrawn: set[str] = set()

    async def send(self, parcels: Sequence[Parcel]) -> Sequence[Receipt]:
        """Refuse to work: nobody sends in a rehearsal."""
        raise AssertionError(f"{len(parcels)} scores were about to be sent in a rehearsal")

    async def look_up(self, ids: Sequence[str]) -> Mapping[str, SeenScore]:
        """Look for real."""
        return await self._sink.look_up(ids)

    async def withdraw(self, score_id: str) -> None:
        """Note what would be deleted."""
        self.withdrawn.add(score_id)


def hurried(project: Project, patience: timedelta) -> Project:
    """Return the project with every trace counting as quiet, and with looks that fit into the patience."""
    return replace(
        project,
        sweep=project.sweep.model_copy(update={"quiet": timedelta(0)}),
        delivery=project.delivery.model_copy(update={"look_after": _looks(project.delivery.look_after, patience)}),
    )


def _looks(configured: tuple[timedelta, ...], patience: timedelta) -> tuple[timedelta, ...]:
    """Keep looks that leave time for another send; else look quickly, and leave another send to the next pass."""
    if sum(configured, timedelta(0)) < patience:
        return configured
    step = min(_LOOK_EVERY, configured[0])
    return (step,) * (patience // step + 2)


async def _sweep(project: Project, right: Tenure, stop: asyncio.Event) -> Swept:
    sweeper, total = Sweeper(project), Swept(caught_up=False)
    while not total.caught_up and not stop.is_set():
        if not await right.renew():
            raise Halt(
                "another worker sweeps this project at the moment",
                mend="Let it work, or stop it and run this again a minute later.",
                exit_code=Exit.TEMPORARY,
            )
        with events.one_sweep():
            swept = await patiently(project, "sweep", sweeper.tick, stop)
        if swept is not None:
            total += swept
    await upkeep.everything(project, within=timedelta(minutes=1))
    return total


async def deliver_all(project: Project, *, patience: timedelta, stop: asyncio.Event) -> tuple[Delivered, bool]:
    """Deliver what is due; the second word says whether Langfuse then shows every score as it should be, dead letters aside."""
    clock, total, deadline = project.clock, Delivered(), None
    while not stop.is_set():
        delivered = await patiently(project, "deliver", lambda: deliver.tick(project), stop)
        if delivered is None:
            break
        total += delivered
        if not delivered.idle:
            continue
        if deadline is None:
            deadline = clock.monotonic() + patience.total_seconds()
        left = deadline - clock.monotonic()
        due = await project.store.next_due(project.id)
        next_look = max(_SHORTEST_NAP, (due - clock.now()).total_seconds()) if due is not None else left
        outbox = (await project.store.status(project.id, scorer="")).outbox
        underway = any(outbox.get(state) for state in moves.UNDERWAY)
        if not underway and not (next_look < left and any(outbox.get(state) for state in moves.LEAVING)):
            return total, True
        if left <= 0:
            break
        await clock.sleep(min(next_look, left, _LOOK_EVERY.total_seconds()), unless=stop)
    return total, False


async def patiently(project: Project, what: str, tick: Callable[[], Awaitable[T]], stop: asyncio.Event) -> T | None:
    """Try until it works; None when told to stop. Raises Halt when it fails too often in a row."""
    failures = 0
    while not stop.is_set():
        try:
            return await tick()
        except (RetryLater, AskForLess, Refused) as error:
            failures += 1
            if failures >= _TRIES:
                raise Halt(
                    f"{what} failed {failures} times in a row: {error}",
                    mend="Run it again later; everything done so far is kept.",
                    exit_code=Exit.TEMPORARY,
                ) from error
            wait = pause_after(error, failures)
            project.emit(events.LoopFailed(project.id, what, str(error), wait))
            await project.clock.sleep(wait, unless=stop)
    return None
