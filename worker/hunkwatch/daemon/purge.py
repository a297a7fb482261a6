"""Withdraw every score that was ever written, within the day's quota of deletions.

First every score on record becomes one to be withdrawn, then they are looked up, deleted and looked for once more. An interruption or a
quota that is used up costs nothing: the next call goes on with what is left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from hunkwatch.daemon import deliver, moves, once
from hunkwatch.daemon.progress import Progress
from hunkwatch.daemon.tenure import Tenure
from hunkwatch.errors import Exit, Halt, RetryLater
from hunkwatch.ports import Commit, Delivery

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Mapping, Sequence
    from datetime import datetime

    from hunkwatch.daemon.progress import Tell
    from hunkwatch.daemon.project import Project
    from hunkwatch.ports import OutboxRow, Parcel, Receipt, ScoreSink, SeenScore, Store

BATCH = 200
"""Traces whose scores are withdrawn in one transaction."""

LONG = timedelta(minutes=15)
"""A wait that nobody sits out: the day's quota is used up."""

STUCK = timedelta(minutes=5)
"""How long nothing may go, beyond the pauses between looks, before a call ends with what is left."""

_PAGE = 10_000


@dataclass(frozen=True, slots=True)
class Purged:
    """What one call did."""

    found: int
    """Scores that may have been in Langfuse when this call began."""
    gone: int
    """Scores that are gone, proven by a look."""
    left: int
    """Scores still to be deleted, or not yet proven gone."""
    refused: int
    """Scores that Langfuse would not delete."""
    wait: timedelta | None
    """How long until deletions are taken again, None when no quota stood in the way."""


async def run(project: Project, *, tell: Tell, stop: asyncio.Event) -> Purged:
    """Withdraw everything. Raises Halt while another process sweeps the project."""
    tenure, sink = Tenure(project.store, project.id, project.clock, project.lease), _Rationed(project.sink)
    rationed = replace(project, sink=sink)
    try:
        await _doom(rationed, tenure, stop)
        found = left = await _leaving(rationed)
        deferred, moved_at = False, project.clock.monotonic()
        longest = sum(project.delivery.look_after, STUCK)
        while left and not stop.is_set():
            tell(Progress(found - left, found))
            await _hold(tenure)
            looked = await once.patiently(rationed, "purge", lambda: deliver.look(rationed), stop)
            if sink.wait is not None and not deferred:
                # What was asked for is still proven; the others are not even looked up until deletions are taken again.
                await _defer(rationed, until=project.clock.now() + sink.wait)
                deferred = True
            before, left = left, await _leaving(rationed)
            if left < before:
                moved_at = project.clock.monotonic()
            if deferred and not await _leaving(rationed, Delivery.DELETED):
                break
            if project.clock.monotonic() - moved_at > longest.total_seconds():
                break
            if looked is not None and looked.idle and left:
                await project.clock.sleep(await _nap(project, tenure), unless=stop)
    finally:
        await tenure.release()
    tell(Progress(found - left, found))
    outbox = (await project.store.status(project.id, scorer="")).outbox
    refused = outbox.get(Delivery.DEAD, 0)
    # A stop may have come before everything was to be withdrawn.
    untouched = sum(outbox.get(state, 0) for state in (*moves.UNDERWAY, Delivery.SEEN))
    return Purged(found + untouched, max(found - left - refused, 0), left + untouched, refused, sink.wait)


async def count(project_id: str, store: Store, *, now: datetime) -> int:
    """Say how many scores a call would withdraw."""
    return sum([len(rows) async for rows in _to_withdraw(project_id, store, now=now)])


class _Rationed:
    """The sink as it is, until the day's quota is used up: then ``wait`` says for how long, and nothing more is asked of it."""

    def __init__(self, sink: ScoreSink) -> None:
        self._sink = sink
        self.wait: timedelta | None = None

    async def send(self, parcels: Sequence[Parcel]) -> Sequence[Receipt]:
        return await self._sink.send(parcels)

    async def look_up(self, ids: Sequence[str]) -> Mapping[str, SeenScore]:
        return await self._sink.look_up(ids)

    async def withdraw(self, score_id: str) -> None:
        try:
            await self._sink.withdraw(score_id)
        except RetryLater as error:
            if error.after is not None and error.after >= LONG:
                self.wait = error.after
            raise


async def _doom(project: Project, tenure: Tenure, stop: asyncio.Event) -> None:
    """Let every score be withdrawn, those that waited for a quota at once: it may be there again."""
    now = project.clock.now()
    async for rows in _to_withdraw(project.id, project.store, now=now):
        await _hold(tenure)
        async with project.turn:
            await project.store.commit(Commit(project.id, outbox=rows))
        if stop.is_set():
            return


async def _to_withdraw(project_id: str, store: Store, *, now: datetime) -> AsyncIterator[Sequence[OutboxRow]]:
    after = ""
    while ids := await store.trace_ids(project_id, after=after, limit=_PAGE):
        after = ids[-1]
        for at in range(0, len(ids), BATCH):
            of_traces = await store.outbox_of(project_id, ids[at : at + BATCH])
            rows = [_withdrawn(row, now=now) for of_trace in of_traces.values() for row in of_trace]
            if wanted := [row for row in rows if row is not None]:
                yield wanted


def _withdrawn(row: OutboxRow, *, now: datetime) -> OutboxRow | None:
    return replace(row, next_at=now) if row.state is Delivery.DOOMED else moves.purged(row, now=now)


async def _leaving(project: Project, *states: Delivery) -> int:
    outbox = (await project.store.status(project.id, scorer="")).outbox
    return sum(outbox.get(state, 0) for state in states or moves.LEAVING)


async def _nap(project: Project, tenure: Tenure) -> float:
    """Return the seconds until something is due, as far as the lease allows."""
    due, most = await project.store.next_due(project.id), tenure.renew_every.total_seconds()
    until_due = most if due is None else (due - project.clock.now()).total_seconds()
    # What is overdue although a look found nothing to do is a trace, which does not matter any more.
    return min(until_due, most) if until_due > 0 else most


async def _defer(project: Project, *, until: datetime) -> None:
    async for rows in _to_withdraw(project.id, project.store, now=until):
        doomed = [row for row in rows if row.state is Delivery.DOOMED]
        async with project.turn:
            await project.store.commit(Commit(project.id, outbox=doomed))


async def _hold(tenure: Tenure) -> None:
    if not await tenure.renew():
        raise Halt(
            "another worker sweeps this project at the moment",
            mend="Stop it and run this again a minute later; what it writes meanwhile would stay.",
            exit_code=Exit.TEMPORARY,
        )
