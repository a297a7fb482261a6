"""Sweep a stretch of the past, in a lane of its own, beside whatever the live sweep does.

Same ledger, same score ids: what is known is not read again, so the two never do work twice. A lane is named by where it starts, by the
share of the traces that it reads, and by the selection; its watermark says how far it got. A stretch that such lanes have covered is not
swept again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from hunkwatch import events
from hunkwatch.core import window as windows
from hunkwatch.core.window import Window
from hunkwatch.daemon import once, upkeep
from hunkwatch.daemon.knife import Knife
from hunkwatch.daemon.progress import Progress
from hunkwatch.daemon.sweep import Swept, record, take
from hunkwatch.daemon.tenure import Tenure
from hunkwatch.ports import Commit, Urgency, urgency

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable, Mapping

    from hunkwatch.daemon.progress import Tell
    from hunkwatch.daemon.project import Project

_PREFIX = "backfill"
_SPELLED = "%Y%m%dT%H%M%SZ"
_MARKED = 500
"""Traces that are marked in one transaction."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """What is to be swept: start times of a window; ``again`` also where it was swept before."""

    window: Window
    again: bool = False


def lane_of(since: datetime, share: float, scope: str = "") -> str:
    """Name the lane that begins at a time and reads a share of the traces, of everything or of what the scope names."""
    return f"{_PREFIX}:{since.astimezone(UTC):{_SPELLED}}:{share}" + (f":{scope}" if scope else "")


def reached(since: datetime, share: float, watermarks: Mapping[str, datetime], scope: str = "") -> datetime:
    """Return up to where everything from ``since`` on was swept before, for this share and scope or larger ones."""
    covered = sorted((start, end) for lane, end in watermarks.items() if (start := _start_of(lane, share, scope)) is not None)
    at = since
    for start, end in covered:
        if start <= at:
            at = max(at, end)
    return at


async def run(project: Project, stretch: Stretch, *, patience: timedelta, tell: Tell, stop: asyncio.Event) -> once.Pass:
    """Bring a stretch on record and deliver its scores; what a stop leaves undone, the next call does."""
    hasty, filling = once.hurried(project, patience), Backfill(stretch, tell=tell, stop=stop)
    swept = await filling.sweep(hasty)
    delivered, finished = await once.deliver_all(hasty, patience=patience, stop=stop)
    await _look_again(project, filling.shared)
    return once.Pass(swept, delivered, finished and swept.caught_up)


class Backfill:
    """One sweep of a stretch. ``shared`` are traces that it wrote while another process held the project."""

    def __init__(self, stretch: Stretch, *, tell: Tell, stop: asyncio.Event) -> None:
        """Take what is to be swept and who hears of it."""
        # A lane is named to the second.
        self._whole = Window(stretch.window.start.replace(microsecond=0), stretch.window.end)
        self._again = stretch.again
        self._tell = tell
        self._stop = stop
        self._complete = True
        self.shared: set[str] = set()

    async def sweep(self, project: Project) -> Swept:
        """Sweep part by part, from where the last sweep ended; ``caught_up`` says that the end was reached."""
        whole, knife, tenure = self._whole, Knife(), Tenure(project.store, project.id, project.clock, project.lease)
        at = await self._beginning(project)
        total = Swept(caught_up=at >= whole.end)
        ours = True

        async def one(part: Window) -> None:
            nonlocal at, total
            swept = await self._one(project, part, ours=ours)
            at, total = part.end, total + swept
            self._tell(self._progress(at, total))

        async def onward() -> None:
            nonlocal at
            ahead = Window(at, min(at + project.sweep.span, whole.end))
            await knife.through(project, ahead, one)
            at = ahead.end

        self._tell(self._progress(at, total))
        before = urgency.set(Urgency.BACKFILL)
        try:
            while at < whole.end and not self._stop.is_set():
                ours = await tenure.renew()
                with events.one_sweep():
                    await once.patiently(project, "backfill", onward, self._stop)
            await upkeep.everything(project, within=timedelta(minutes=1))
        finally:
            urgency.reset(before)
            await tenure.release()
        return replace(total, caught_up=at >= whole.end)

    async def _beginning(self, project: Project) -> datetime:
        whole = self._whole
        if self._again:
            return whole.start
        status = await project.store.status(project.id, scorer="")
        return min(reached(whole.start, project.sweep.sample, status.watermarks, project.scope), whole.end)

    async def _one(self, project: Project, part: Window, *, ours: bool) -> Swept:
        # A part at the floor that is too much has one huge row, which only the second phase can single out.
        complete = self._complete and windows.halves(part) is not None
        haul = await take(project, part, complete=complete, remembered={}, now=project.clock.now())
        lane = lane_of(self._whole.start, project.sweep.sample, project.scope)
        await record(project, haul, part, lane=lane, watermark=part.end)
        if haul.rows:
            self._complete = haul.unseen * 2 > haul.rows
        if not ours:
            self.shared.update(key.trace_id for key in haul.touching)
        return Swept(caught_up=False, observations=haul.rows, read=haul.read, calls=haul.calls)

    def _progress(self, at: datetime, total: Swept) -> Progress:
        whole = self._whole
        return Progress((at - whole.start).total_seconds(), (whole.end - whole.start).total_seconds(), total.read, total.calls)


def _start_of(lane: str, share: float, scope: str) -> datetime | None:
    """Return where a lane begins that reads at least this share of the traces and this scope, None for any other lane."""
    try:
        prefix, start, of_lane, *scopes = lane.split(":")
        if prefix != _PREFIX or float(of_lane) < share or scopes not in ([], [scope]):
            return None
        return datetime.strptime(start, _SPELLED).replace(tzinfo=UTC)
    except ValueError:
        return None


async def _look_again(project: Project, trace_ids: Iterable[str]) -> None:
    """Let traces be worked out once more: two processes that wrote at the same time may each have missed what the other found."""
    ids = sorted(trace_ids)
    for at in range(0, len(ids), _MARKED):
        async with project.turn:
            states, now = await project.store.traces(project.id, ids[at : at + _MARKED]), project.clock.now()
            due = [replace(state, due_at=now) for state in states.values()]
            await project.store.commit(Commit(project.id, traces=due))
