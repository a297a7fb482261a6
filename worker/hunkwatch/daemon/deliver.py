"""Bring the outbox into Langfuse and prove it.

One tick takes what is due: first it looks (which is how a score is proven, found or missed), then it deletes, then it sends.
What became of a batch is written even when the process is told to stop meanwhile. How rows move is in ``moves``.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from hunkwatch import events
from hunkwatch.daemon import moves
from hunkwatch.errors import AskForLess, Refused, RetryLater
from hunkwatch.ports import Delivery, Parcel, Verdict

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping, Sequence

    from hunkwatch.daemon.project import Project
    from hunkwatch.ports import OutboxRow, Receipt, SeenScore

LOOK_BATCH = 100
"""Most scores in one look: what one request of Langfuse's v3 scores answers."""

LEASE = timedelta(minutes=5)
"""How long claimed rows are ours: longer than a send with all its tries can take."""

_AFTER_A_FAILED_DELETION = timedelta(minutes=1)
_FAILED_DELETIONS = 3
"""So many in one batch, and it is not the scores that are at fault."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """What one tick did. ``idle`` says that nothing was due."""

    looked: int = 0
    seen: int = 0
    sent: int = 0
    died: int = 0
    withdrawn: int = 0

    @property
    def idle(self) -> bool:
        """Say whether nothing was due."""
        return self == Delivered()

    def __add__(self, other: Delivered) -> Delivered:
        """Add up two ticks."""
        return Delivered(
            self.looked + other.looked,
            self.seen + other.seen,
            self.sent + other.sent,
            self.died + other.died,
            self.withdrawn + other.withdrawn,
        )


async def tick(project: Project) -> Delivered:
    """Look at one batch of what is due, then send one; raises RetryLater or Halt with everything put back.

    A look or a deletion that fails does not hold up what is to be sent, unless the server asked for a pause.
    """
    looked, failed = Delivered(), None
    try:
        looked = await look(project)
    except (RetryLater, AskForLess, Refused) as error:
        if isinstance(error, RetryLater) and error.after is not None:
            raise
        failed = error
    delivered = looked + await send(project)
    if failed is not None:
        raise failed
    return delivered


async def look(project: Project) -> Delivered:
    """Look up one batch of due rows in Langfuse, move them on, and ask for the deletions that follow."""
    now = project.clock.now()
    rows = await project.store.claim(project.id, moves.LOOKED_AT, now=now, until=now + LEASE, limit=LOOK_BATCH)
    if not rows:
        return Delivered()
    try:
        shown = await _shown(project, [row.score.id for row in rows])
    except BaseException as error:
        await _put_back(project, rows, error)
        raise
    moved = [_after_look(project, row, shown.get(row.score.id)) for row in rows]
    to_delete = [row for row in moved if row.state is Delivery.DOOMED and row.score.id in shown]
    await _to_the_end(project.store.settle([row for row in moved if row not in to_delete], now=project.clock.now()))
    project.beat()
    seen = _report_looks(project, rows, moved)
    withdrawn = await _withdraw(project, to_delete)
    died = sum(row.state is Delivery.DEAD for row in moved)
    return Delivered(looked=len(rows), seen=seen, died=died, withdrawn=withdrawn)


async def send(project: Project) -> Delivered:
    """Send one batch of due rows and note what the server said of each."""
    now = project.clock.now()
    rows = await project.store.claim(project.id, (Delivery.DUE,), now=now, until=now + LEASE, limit=project.delivery.batch)
    if not rows:
        return Delivered()
    sends = project.delivery.sends
    parcels = [Parcel(row.score, with_config=not moves.is_last_send(row, sends=sends)) for row in rows]
    try:
        receipts = await project.sink.send(parcels)
    except BaseException as error:
        await _put_back(project, rows, error)
        raise
    moved = [_after_send(project, row, receipt) for row, receipt in zip(rows, receipts, strict=True)]
    counted = Counter(row.score.name for row in moved if row.state is Delivery.SENT)
    await _to_the_end(project.store.settle(moved, now=project.clock.now(), sends=counted))
    project.beat()
    _report_sends(project, moved, receipts)
    return Delivered(sent=counted.total(), died=len(rows) - counted.total())


def _after_look(project: Project, row: OutboxRow, seen: SeenScore | None) -> OutboxRow:
    delivery = project.delivery
    return moves.looked(row, seen, look_after=delivery.look_after, sends=delivery.sends, now=project.clock.now())


def _after_send(project: Project, row: OutboxRow, receipt: Receipt) -> OutboxRow:
    now = project.clock.now()
    if receipt.verdict is Verdict.REFUSED:
        return moves.refused(row, receipt.reason, now=now)
    return moves.sent(row, look_after=project.delivery.look_after, now=now, doubt=receipt.reason)


async def _shown(project: Project, ids: Sequence[str]) -> Mapping[str, SeenScore]:
    """Look up scores, in halves where all of them at once are too much."""
    try:
        return await project.sink.look_up(ids)
    except AskForLess:
        if len(ids) == 1:
            raise
        half = len(ids) // 2
        return {**await _shown(project, ids[:half]), **await _shown(project, ids[half:])}


async def _withdraw(project: Project, rows: Sequence[OutboxRow]) -> int:
    """Ask for deletions one by one and return how many were taken; one that fails costs the others nothing."""
    asked = failed = 0
    for position, row in enumerate(rows):
        try:
            await project.sink.withdraw(row.score.id)
        except Refused as error:
            now = project.clock.now()
            await _to_the_end(project.store.settle([moves.deletion_refused(row, str(error), now=now)], now=now))
            project.emit(events.ScoreDied(project.id, row.score.id, row.score.name, row.score.trace_id, f"deletion refused: {error}"))
            continue
        except BaseException as error:
            if isinstance(error, RetryLater) and error.after is not None:
                # The day's quota of deletions: these rows wait for as long as the server said, nothing else does.
                await _put_back(project, rows[position:], error)
                return asked
            failed += 1
            if not isinstance(error, RetryLater | AskForLess) or failed >= _FAILED_DELETIONS:
                await _put_back(project, rows[position:], error)
                raise
            now, wait = project.clock.now(), _AFTER_A_FAILED_DELETION
            await _to_the_end(project.store.settle([moves.put_back(row, at=now + wait)], now=now))
            project.emit(events.LoopFailed(project.id, "deliver", f"a deletion failed: {error}", wait.total_seconds()))
            continue
        now = project.clock.now()
        await _to_the_end(project.store.settle([moves.deletion_asked(row, now=now)], now=now))
        asked += 1
        project.beat()
    return asked


async def _put_back(project: Project, rows: Sequence[OutboxRow], error: BaseException) -> None:
    now = project.clock.now()
    after = error.after if isinstance(error, RetryLater) else None
    at = now + (after or timedelta(0))
    await _to_the_end(project.store.settle([moves.put_back(row, at=at) for row in rows], now=now))


async def _to_the_end(writing: Coroutine[None, None, None]) -> None:
    """Finish a write although we are cancelled meanwhile: its outcome is the only trace of a request already answered."""
    task = asyncio.ensure_future(writing)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise


def _report_looks(project: Project, rows: Sequence[OutboxRow], moved: Sequence[OutboxRow]) -> int:
    looks = [(before, after) for before, after in zip(rows, moved, strict=True) if before.state in {Delivery.NEW, Delivery.SENT}]
    seen = sum(after.state is Delivery.SEEN for _, after in looks)
    missing = sum(before.state is Delivery.SENT and after.state is not Delivery.SEEN for before, after in looks)
    if seen or missing:
        project.emit(events.ScoresSeen(project.id, seen, missing))
    for before, after in zip(rows, moved, strict=True):
        score = after.score
        if after.state is Delivery.DEAD:
            project.emit(events.ScoreDied(project.id, score.id, score.name, score.trace_id, after.reason))
        if after.state is Delivery.GONE and before.state is Delivery.DELETED:
            project.emit(events.ScoreWithdrawn(project.id, score.id, score.name, score.trace_id))
    return seen


def _report_sends(project: Project, moved: Sequence[OutboxRow], receipts: Sequence[Receipt]) -> None:
    verdicts: Mapping[Verdict, int] = Counter(receipt.verdict for receipt in receipts)
    project.emit(
        events.ScoresSent(
            project.id, verdicts.get(Verdict.ACCEPTED, 0), verdicts.get(Verdict.UNCERTAIN, 0), verdicts.get(Verdict.REFUSED, 0)
        )
    )
    for row in moved:
        score = row.score
        if row.state is Delivery.SENT:
            project.emit(events.ScoreValueSent(project.id, score.name, score.trace_id, score.value))
        else:
            project.emit(events.ScoreDied(project.id, score.id, score.name, score.trace_id, row.reason))
