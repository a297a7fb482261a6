"""Take calls that were found elsewhere on record, trace by trace, and deliver their scores as any others.

What the record knows already in the same version or a newer one is passed over, so handing over twice, or beside a worker, does nothing
twice. Whoever calls again after an interruption does what is left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hunkwatch.daemon import once, rollup, upkeep
from hunkwatch.daemon.progress import Progress
from hunkwatch.daemon.tenure import Tenure
from hunkwatch.errors import Exit, Halt
from hunkwatch.ports import Commit

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable, Sequence
    from datetime import timedelta

    from hunkwatch.daemon.deliver import Delivered
    from hunkwatch.daemon.progress import Tell
    from hunkwatch.daemon.project import Project
    from hunkwatch.ports import LedgerEntry


@dataclass(frozen=True, slots=True)
class HandedOver:
    """What one call did. ``finished``: all of it is on record, and Langfuse shows every score as it should be."""

    entries: int
    delivered: Delivered
    finished: bool


async def run(  # noqa: PLR0913 - the whole contract in one call
    project: Project,
    pieces: Iterable[Sequence[Sequence[LedgerEntry]]],
    *,
    of: int,
    patience: timedelta,
    tell: Tell,
    stop: asyncio.Event,
) -> HandedOver:
    """Record pieces (``of`` how many) of batches with whole traces, and deliver. Raises Halt while another process sweeps the project."""
    hasty, tenure = once.hurried(project, patience), Tenure(project.store, project.id, project.clock)
    taken, done = 0, 0
    try:
        for piece in pieces:
            for batch in piece:
                if not await tenure.renew():
                    raise Halt(
                        "another worker sweeps this project at the moment",
                        mend="Stop it and run this again a minute later; what is done is kept.",
                        exit_code=Exit.TEMPORARY,
                    )
                taken += await once.patiently(hasty, "handover", lambda: _record(hasty, batch), stop) or 0  # noqa: B023 - awaited at once
            if stop.is_set():
                break
            done += 1
            tell(Progress(done, of, taken))
        await upkeep.everything(hasty, within=hasty.sweep.quiet)
    finally:
        await tenure.release()
    delivered, finished = await once.deliver_all(hasty, patience=patience, stop=stop)
    return HandedOver(taken, delivered, finished and done == of)


async def _record(project: Project, batch: Sequence[LedgerEntry]) -> int:
    async with project.turn:
        now = project.clock.now()
        known = await project.store.known(project.id, [entry.key for entry in batch])
        news = [
            replace(entry, project=project.id, seen_at=now)
            for entry in batch
            if entry.key not in known or known[entry.key].version < entry.version
        ]
        if news:
            outcome = await rollup.work_out(project, (), fresh=news, now=now)
            await project.store.commit(Commit(project.id, ledger=news, outbox=outcome.outbox, traces=outcome.traces))
    project.beat()
    return len(news)
