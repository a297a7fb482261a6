"""Turn one window of start times into durable work.

Owns the order: read everything, grade it, work out the touched traces, then commit ledger, outbox, traces and watermark in one
transaction. A window that fails anywhere commits nothing and is swept again; one that is too much is cut in two.
Never talks to the score sink; see ``deliver``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hunkwatch import events
from hunkwatch.core import window as windows
from hunkwatch.daemon import lags, rollup
from hunkwatch.daemon.haul import Haul, bring_in, restore_forgotten, sampled
from hunkwatch.daemon.knife import Knife
from hunkwatch.errors import AskForLess
from hunkwatch.ports import Commit

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from hunkwatch.core.window import Window
    from hunkwatch.daemon.haul import Sighting
    from hunkwatch.daemon.project import Project
    from hunkwatch.ports import ObservationKey

LIVE = "live"

MOST_ENTRIES = 5000
"""A window that brings more is cut in two, so that memory stays flat and a long catch-up keeps what it has."""


@dataclass(frozen=True, slots=True)
class Swept:
    """What one tick brought. ``caught_up`` says that the present was reached, so that the next tick can wait."""

    caught_up: bool
    observations: int = 0
    read: int = 0
    calls: int = 0

    def __add__(self, later: Swept) -> Swept:
        """Add up two ticks."""
        return Swept(later.caught_up, self.observations + later.observations, self.read + later.read, self.calls + later.calls)


class Sweeper:
    """Sweeps one project's live lane. Remembers only what saves work; losing it costs nothing else."""

    def __init__(self, project: Project) -> None:
        """Start with nothing remembered."""
        self._project = project
        self._knife = Knife()
        self._remembered: Mapping[ObservationKey, Sighting] = {}
        self._mostly_unseen: bool | None = None

    async def tick(self) -> Swept:
        """Sweep the next window, in as many parts as the server needs."""
        project, sweep = self._project, self._project.sweep
        now = project.clock.now()
        watermark = await project.store.watermark(project.id)
        if self._mostly_unseen is None:
            self._mostly_unseen = watermark is None
        # A clock that once ran ahead must not leave a gap: what starts now is read now.
        reached = None if watermark is None else min(watermark, now)
        overlap = lags.overlap(sweep.overlap, await project.store.lags(project.id, since=now - lags.MEMORY))
        # A span that ends before the present could never reach it: the watermark stays behind by as much.
        span = max(sweep.span, sweep.settle + windows.AHEAD)
        ahead = windows.upcoming(reached, now=now, since=sweep.since, overlap=overlap, span=span)
        hauls: list[Haul] = []

        async def one(part: Window) -> None:
            # A part at the floor that is too much has one huge row, which only the second phase can single out.
            complete = bool(self._mostly_unseen) and windows.halves(part) is not None
            haul = await take(project, part, complete=complete, remembered=self._remembered, now=now)
            await record(project, haul, part, lane=LIVE, watermark=windows.watermark_after(part, now=now, settle=sweep.settle))
            self._mostly_unseen = haul.unseen * 2 > haul.rows
            hauls.append(haul)

        await self._knife.through(project, ahead, one)
        next_start = windows.watermark_after(ahead, now=now, settle=sweep.settle) - overlap
        sightings = {key: seen for haul in hauls for key, seen in haul.seen.items() if seen.start >= next_start}
        self._remembered = sightings
        return Swept(
            windows.is_newest(ahead, now=now),
            sum(haul.rows for haul in hauls),
            sum(haul.read for haul in hauls),
            sum(haul.calls for haul in hauls),
        )


async def take(project: Project, part: Window, *, complete: bool, remembered: Mapping[ObservationKey, Sighting], now: datetime) -> Haul:
    """Read and grade everything of a window that is not known; raises AskForLess when it is too much at once."""
    haul = Haul(now, project.clock.monotonic())
    can_be_cut = windows.halves(part) is not None
    async for page in project.source.candidates(part, complete=complete):
        await bring_in(project, haul, sampled(page, project.sweep.sample), remembered=remembered)
        if can_be_cut and len(haul.entries) > MOST_ENTRIES:
            raise AskForLess("the window brings more than is kept in memory at once")
    await restore_forgotten(project, haul)
    return haul


async def record(project: Project, haul: Haul, part: Window, *, lane: str, watermark: datetime | None) -> None:
    """Commit a haul with everything that follows from it, and say so."""
    async with project.turn:
        await _yield_to_newer(project, haul)
        outcome = await rollup.work_out(project, (), fresh=haul.fresh, now=haul.now)
        await project.store.commit(
            Commit(
                project.id,
                ledger=tuple(haul.entries.values()),
                outbox=outcome.outbox,
                traces=outcome.traces,
                lane=lane,
                watermark=watermark,
                lags={producer: lag.total_seconds() for producer, lag in haul.lags.items()},
            )
        )
    project.beat()
    project.emit(
        events.WindowSwept(
            project.id,
            lane,
            part.start,
            part.end,
            haul.rows,
            haul.read,
            haul.calls,
            len(outcome.outbox),
            project.clock.monotonic() - haul.began,
        )
    )
    for key in haul.regraded:
        for call in haul.entries[key].calls:
            project.emit(
                events.CallFound(project.id, call.trace_id, call.observation_id, call.producer, call.outcome.value, call.shape.value)
            )
    for producer, lag in haul.lags.items():
        project.emit(events.LagSeen(project.id, producer, lag.total_seconds()))


async def _yield_to_newer(project: Project, haul: Haul) -> None:
    """Drop what another lane has read in a newer version meanwhile."""
    for key, entry in (await project.store.known(project.id, list(haul.entries))).items():
        if entry.version > haul.entries[key].version:
            haul.forget(key)
