"""Look again at traces whose time has come: a quiet trace is rolled up, a request that nobody executed ripens, an answer is looked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hunkwatch import events
from hunkwatch.daemon import answers, rollup
from hunkwatch.ports import Commit

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, timedelta

    from hunkwatch.daemon.answers import Question
    from hunkwatch.daemon.project import Project

BATCH = 200
"""Traces that are worked out in one transaction."""

_ALL = 10_000_000


async def tick(project: Project) -> int:
    """Roll up one batch of due traces and return how many they were."""
    now = project.clock.now()
    async with project.turn:
        ids = await project.store.due_traces(project.id, now, BATCH)
        open_questions = await _roll_up(project, ids) if ids else ()
    await _ask(project, open_questions, by=now)
    return len(ids)


async def prune(project: Project) -> int:
    """Drop what was read longer than ``sweep.keep`` ago; a trace that does come back is read whole again."""
    return await project.store.prune(project.id, before=project.clock.now() - project.sweep.keep)


async def everything(project: Project, *, within: timedelta) -> int:
    """Roll up every trace that is due or becomes due within a while, each once, and return how many they were."""
    by = project.clock.now() + within
    ids = await project.store.due_traces(project.id, by, _ALL)
    for at in range(0, len(ids), BATCH):
        async with project.turn:
            open_questions = await _roll_up(project, ids[at : at + BATCH])
        await _ask(project, open_questions, by=by)
    return len(ids)


async def _roll_up(project: Project, ids: Sequence[str]) -> Sequence[Question]:
    outcome = await rollup.work_out(project, ids, now=project.clock.now())
    await project.store.commit(Commit(project.id, outbox=outcome.outbox, traces=outcome.traces))
    project.beat()
    project.emit(events.TracesRolledUp(project.id, len(ids), len(outcome.outbox) - outcome.withdrawn, outcome.withdrawn))
    return outcome.questions


async def _ask(project: Project, open_questions: Sequence[Question], *, by: datetime) -> None:
    """Put the questions whose time has come and record what is told; an error leaves them due."""
    asked = [question for question in open_questions if question.at <= by]
    if not asked:
        return
    told = await answers.seek(project, asked)
    ids = {question.key.trace_id for question in asked}
    async with project.turn:
        known = await project.store.known(project.id, [key for key, outcomes in told.items() if outcomes])
        settled = {key: answers.settled(entry, told[key]) for key, entry in known.items()}
        fresh = [entry for key, entry in settled.items() if entry != known[key]]
        outcome = await rollup.work_out(project, ids, fresh=fresh, now=project.clock.now(), asked_by=by)
        await project.store.commit(Commit(project.id, ledger=fresh, outbox=outcome.outbox, traces=outcome.traces))
    project.beat()
    project.emit(events.AnswersSought(project.id, len(asked), len(fresh)))
