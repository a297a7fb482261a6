"""Look again at traces whose time has come: a quiet trace is rolled up, a request that nobody executed ripens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hunkwatch import events
from hunkwatch.daemon import rollup
from hunkwatch.ports import Commit

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from hunkwatch.daemon.project import Project

BATCH = 200
"""Traces that are worked out in one transaction."""

_ALL = 10_000_000


async def tick(project: Project) -> int:
    """Roll up one batch of due traces and return how many they were."""
    async with project.turn:
        ids = await project.store.due_traces(project.id, project.clock.now(), BATCH)
        if ids:
            await _roll_up(project, ids)
    return len(ids)


async def prune(project: Project) -> int:
    """Drop what was read longer than ``sweep.keep`` ago; a trace that does come back is read whole again."""
    return await project.store.prune(project.id, before=project.clock.now() - project.sweep.keep)


async def everything(project: Project, *, within: timedelta) -> int:
    """Roll up every trace that is due or becomes due within a while, each once, and return how many they were."""
    ids = await project.store.due_traces(project.id, project.clock.now() + within, _ALL)
    for at in range(0, len(ids), BATCH):
        async with project.turn:
            await _roll_up(project, ids[at : at + BATCH])
    return len(ids)


async def _roll_up(project: Project, ids: Sequence[str]) -> None:
    outcome = await rollup.work_out(project, ids, now=project.clock.now())
    await project.store.commit(Commit(project.id, outbox=outcome.outbox, traces=outcome.traces))
    project.beat()
    project.emit(events.TracesRolledUp(project.id, len(ids), len(outcome.outbox) - outcome.withdrawn, outcome.withdrawn))
