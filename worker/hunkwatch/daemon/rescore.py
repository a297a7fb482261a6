"""Work out every trace on record again, after a change of the scorer or of the settings.

The record answers as far as it can. Calls that an older scorer graded are read from Langfuse once more; a trace of which one cannot be
read any more keeps its scores as they are. Whoever calls again after an interruption does only what is left.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from hunkwatch.core import evaluate
from hunkwatch.daemon import once, rollup, upkeep
from hunkwatch.daemon.haul import Haul, read_anew
from hunkwatch.daemon.progress import Progress
from hunkwatch.daemon.tenure import Tenure
from hunkwatch.errors import Exit, Halt
from hunkwatch.ports import Commit, Delivery

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

    from hunkwatch.daemon.deliver import Delivered
    from hunkwatch.daemon.progress import Tell
    from hunkwatch.daemon.project import Project
    from hunkwatch.ports import LedgerEntry, OutboxRow

BATCH = 100
"""Traces that are worked out in one transaction."""


class Change(StrEnum):
    """What happens to a score."""

    NEW = "new"
    """There was none, or it had been withdrawn."""
    VALUE = "value"
    """It gets another value."""
    WORDS = "words"
    """It keeps its value; comment or metadata are others."""
    WITHDRAWN = "withdrawn"


@dataclass(slots=True)
class Changes:
    """What a rescore changed, or would change."""

    traces: int = 0
    read: int = 0
    """Observations that were read again."""
    left: int = 0
    """Traces with calls of an older scorer that cannot be read any more: left as they are."""
    scores: Counter[tuple[str, Change]] = field(default_factory=Counter)

    @property
    def sends(self) -> int:
        """Count the scores that have to be sent."""
        return sum(count for (_, change), count in self.scores.items() if change is not Change.WITHDRAWN)


@dataclass(frozen=True, slots=True)
class Rescored:
    """What one call did. ``finished``: every trace was worked out, and Langfuse shows every score as it should be."""

    changes: Changes
    delivered: Delivered
    finished: bool


async def run(project: Project, *, patience: timedelta, tell: Tell, stop: asyncio.Event) -> Rescored:
    """Work everything out again and deliver it. Raises Halt while another process sweeps the project."""
    hasty, tenure = _at_once(project, patience), Tenure(project.store, project.id, project.clock, project.lease)
    try:
        changes, ended = await _through(hasty, tenure, tell, stop)
    finally:
        await tenure.release()
    delivered, finished = await once.deliver_all(hasty, patience=patience, stop=stop)
    return Rescored(changes, delivered, finished and ended)


async def rehearse(project: Project, *, tell: Tell, stop: asyncio.Event) -> Changes:
    """Say what ``run`` would change; writes nothing at all, so that the state may be open for reading only."""
    changes, ended = await _through(_at_once(project, timedelta(0)), None, tell, stop)
    if not ended:
        raise Halt("stopped before everything was counted", mend="Run it again.", exit_code=Exit.TEMPORARY)
    return changes


def _at_once(project: Project, patience: timedelta) -> Project:
    """Return the project with no trace waiting for its own scores."""
    hasty = once.hurried(project, patience)
    return replace(hasty, sweep=hasty.sweep.model_copy(update={"rollup_every": timedelta(0)}))


async def _through(project: Project, tenure: Tenure | None, tell: Tell, stop: asyncio.Event) -> tuple[Changes, bool]:
    """Go through all traces; without a tenure nothing is written. The second word says whether the end was reached."""
    ids, changes = await _all_traces(project), Changes()
    for at in range(0, len(ids), BATCH):
        tell(Progress(at, len(ids), changes.read))
        batch = ids[at : at + BATCH]
        if tenure is not None and not await tenure.renew():
            raise Halt(
                "another worker sweeps this project at the moment",
                mend="Stop it and run this again a minute later.",
                exit_code=Exit.TEMPORARY,
            )
        if not stop.is_set():
            await once.patiently(project, "rescore", lambda: _batch(project, batch, changes, writing=tenure is not None), stop)  # noqa: B023 - awaited at once
        if stop.is_set():
            return changes, False
    if tenure is not None:
        await upkeep.everything(project, within=timedelta(0))
    tell(Progress(len(ids), len(ids), changes.read))
    return changes, True


async def _all_traces(project: Project) -> Sequence[str]:
    ids: list[str] = []
    while page := await project.store.trace_ids(project.id, after=ids[-1] if ids else "", limit=10_000):
        ids += page
    return ids


async def _batch(project: Project, ids: Sequence[str], changes: Changes, *, writing: bool) -> None:
    async with project.turn:
        now = project.clock.now()
        fresh, left = await _graded_anew(project, ids)
        kept = [trace_id for trace_id in ids if trace_id not in left]
        wanted = [entry for entry in fresh if entry.key.trace_id not in left]
        outcome = await rollup.work_out(project, kept, fresh=wanted, now=now)
        before = {row.score.id: row for of_trace in (await project.store.outbox_of(project.id, kept)).values() for row in of_trace}
        if writing:
            await project.store.commit(Commit(project.id, ledger=wanted, outbox=outcome.outbox, traces=outcome.traces))
    changes.traces += len(kept)
    changes.read += len(fresh)
    changes.left += len(left)
    changes.scores.update((row.score.name, _change(before.get(row.score.id), row)) for row in outcome.outbox)
    project.beat()


async def _graded_anew(project: Project, ids: Sequence[str]) -> tuple[Sequence[LedgerEntry], frozenset[str]]:
    """Return entries of the traces as today's scorer grades them, and the traces of which one cannot be read any more."""
    recorded = [entry for of_trace in (await project.store.entries_of(project.id, ids)).values() for entry in of_trace]
    older = [entry for entry in recorded if _is_older(entry)]
    haul = Haul(project.clock.now(), project.clock.monotonic())
    await read_anew(project, haul, older)
    fresh = list(haul.entries.values())
    unread = {entry.key for entry in older} - haul.regraded
    return fresh, frozenset(key.trace_id for key in unread)


def _is_older(entry: LedgerEntry) -> bool:
    return any(call.graded_by != evaluate.SCORER for call in entry.calls)


def _change(before: OutboxRow | None, row: OutboxRow) -> Change:
    if row.state is Delivery.DOOMED:
        return Change.WITHDRAWN
    if before is None or before.state in {Delivery.DOOMED, Delivery.DELETED, Delivery.GONE}:
        return Change.NEW
    return Change.VALUE if before.score.value != row.score.value else Change.WORDS
