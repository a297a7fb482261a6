"""Read the last days again, slowly: for spans that came later than the overlap, and for rows that changed out of sight.

Each round has a lane of its own whose watermark says when it last ran to its end. Only discovery is repeated; what is known
and unchanged is not read again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hunkwatch.core.window import Window
from hunkwatch.daemon.haul import look_after_missing
from hunkwatch.daemon.knife import Knife
from hunkwatch.daemon.sweep import record, take
from hunkwatch.ports import Commit

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from hunkwatch.daemon.project import Project
    from hunkwatch.settings import SweepSection


@dataclass(frozen=True, slots=True)
class Round:
    """How often, and how far back."""

    lane: str
    every: timedelta
    reach: timedelta


def rounds(sweep: SweepSection) -> tuple[Round, ...]:
    """Return the rounds that the settings ask for; their lanes are named for what they are unless set otherwise."""
    return (
        Round("hourly", sweep.reconcile_every, sweep.reconcile_reach),
        Round("daily", sweep.deep_reconcile_every, sweep.deep_reconcile_reach),
    )


class Reconciler:
    """Makes one project's rounds."""

    def __init__(self, project: Project) -> None:
        """Start with nothing learned about how much the server takes."""
        self._project = project
        self._rounds = rounds(project.sweep)
        self._knife = Knife()

    async def tick(self) -> bool:
        """Make the first round that is due and say whether there was one."""
        project, now = self._project, self._project.clock.now()
        if await project.store.watermark(project.id) is None:
            return False
        for each in self._rounds:
            last = await project.store.watermark(project.id, each.lane)
            if last is None:
                # The first sweep has just read what the first round would.
                await project.store.commit(Commit(project.id, lane=each.lane, watermark=now))
            elif now - last >= each.every:
                await self._make(each, now)
                return True
        return False

    async def _make(self, each: Round, now: datetime) -> None:
        project = self._project

        async def one(part: Window) -> None:
            haul = await take(project, part, complete=False, remembered={}, now=now)
            await look_after_missing(project, haul, part)
            await record(project, haul, part, lane=each.lane, watermark=None)

        await self._knife.through(project, Window(now - each.reach, now), one)
        await project.store.commit(Commit(project.id, lane=each.lane, watermark=now))
