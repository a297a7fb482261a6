"""The work that somebody starts by hand: one function a verb, as in ``app``, which opens what it needs.

Each ends by itself and goes on where an interruption left it; long work tells how far it got.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import groupby
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from hunkwatch import app
from hunkwatch.core import evaluate
from hunkwatch.core.window import Window
from hunkwatch.daemon import backfill as filling
from hunkwatch.daemon import estimating, handover, once, reports
from hunkwatch.daemon import purge as purging
from hunkwatch.daemon import rescore as rescoring
from hunkwatch.daemon.clock import SystemClock
from hunkwatch.daemon.progress import Progress
from hunkwatch.errors import Exit, Halt, HunkwatchError
from hunkwatch.report import Report, explained, reading
from hunkwatch.settings import each

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
    from datetime import datetime, timedelta
    from pathlib import Path

    from hunkwatch.bulk import settle
    from hunkwatch.daemon.progress import Tell
    from hunkwatch.events import Emit, Event
    from hunkwatch.langfuse import Langfuse
    from hunkwatch.langfuse.http import Http
    from hunkwatch.langfuse.links import Links
    from hunkwatch.langfuse.setup import Hand, Step
    from hunkwatch.ports import Clock, LedgerEntry
    from hunkwatch.report import Asked
    from hunkwatch.report.explained import Patches
    from hunkwatch.report.made import Link
    from hunkwatch.settings import Settings


_HANDED = 1000
"""Observations that are taken on record in one transaction, unless one trace has more."""


def _nobody_waits(_progress: Progress) -> None: ...


@dataclass(frozen=True, slots=True)
class RescoreReport:
    """What a rescore did."""

    exit: Exit
    changes: rescoring.Changes
    sent: int
    seen: int


async def backfill(  # noqa: PLR0913 - what to do, and for whom
    settings: Settings,
    stretch: filling.Stretch,
    *,
    tell: Tell = _nobody_waits,
    emit: Emit | None = None,
    clock: Clock | None = None,
    patience: timedelta = app.PATIENCE,
    notices: Sequence[Event] = (),
) -> reports.OnceReport:
    """Sweep a stretch of the past, then deliver as ``run_once`` does."""
    clock = clock or SystemClock()
    async with app.at_work(settings, app.opened, emit=emit, clock=clock, notices=notices) as (project, stop):
        done = await filling.run(project, stretch, patience=patience, tell=tell, stop=stop)
        status = await project.store.status(project.id, scorer=evaluate.SCORER)
    return reports.of_pass(project.id, done, status)


async def rehearse_backfill(  # noqa: PLR0913 - what to do, and for whom
    settings: Settings,
    stretch: filling.Stretch,
    *,
    tell: Tell = _nobody_waits,
    emit: Emit | None = None,
    clock: Clock | None = None,
    notices: Sequence[Event] = (),
) -> reports.DryRunReport:
    """Sweep on a throw-away copy of the state, and say what a real backfill would send."""
    clock = clock or SystemClock()
    async with app.at_work(settings, app.on_copy, emit=emit, clock=clock, notices=notices) as (project, stop):
        work = filling.Backfill(stretch, tell=tell, stop=stop)
        done = await once.rehearse(project, stop=stop, sweeping=work.sweep)
        status = await project.store.status(project.id, scorer=evaluate.SCORER)
    return reports.of_rehearsal(project.id, done, status)


async def rescore(  # noqa: PLR0913 - what to do, and for whom
    settings: Settings,
    *,
    tell: Tell = _nobody_waits,
    emit: Emit | None = None,
    clock: Clock | None = None,
    patience: timedelta = app.PATIENCE,
    notices: Sequence[Event] = (),
) -> RescoreReport:
    """Work out every trace on record again, then deliver as ``run_once`` does."""
    clock = clock or SystemClock()
    async with app.at_work(settings, app.opened, emit=emit, clock=clock, notices=notices) as (project, stop):
        done = await rescoring.run(project, patience=patience, tell=tell, stop=stop)
    code = Exit.OK if done.finished else Exit.TEMPORARY
    return RescoreReport(code, done.changes, done.delivered.sent, done.delivered.seen)


async def rehearse_rescore(
    settings: Settings,
    *,
    tell: Tell = _nobody_waits,
    emit: Emit | None = None,
    clock: Clock | None = None,
    notices: Sequence[Event] = (),
) -> rescoring.Changes:
    """Say what a rescore would change, beside whoever writes the state; writes nothing anywhere."""
    clock = clock or SystemClock()
    async with app.at_work(settings, app.beside, emit=emit, clock=clock, notices=notices) as (project, stop):
        return await rescoring.rehearse(project, tell=tell, stop=stop)


async def count_to_purge(settings: Settings, *, emit: Emit | None = None, clock: Clock | None = None) -> tuple[str, int]:
    """Return the project and how many scores a purge would withdraw; writes nothing."""
    clock = clock or SystemClock()
    async with app.at_work(settings, app.beside, emit=emit, clock=clock) as (project, _stop):
        return project.id, await purging.count(project.id, project.store, now=clock.now())


async def purge(
    settings: Settings,
    *,
    tell: Tell = _nobody_waits,
    emit: Emit | None = None,
    clock: Clock | None = None,
    notices: Sequence[Event] = (),
) -> purging.Purged:
    """Withdraw every score that was ever written, as far as the day's quota goes."""
    clock = clock or SystemClock()
    async with app.at_work(settings, app.opened, emit=emit, clock=clock, notices=notices) as (project, stop):
        return await purging.run(project, tell=tell, stop=stop)


async def report_from_langfuse(  # noqa: PLR0913 - what to count, and for whom
    settings: Settings,
    asked: Asked,
    stretch: filling.Stretch,
    *,
    tell: Tell = _nobody_waits,
    emit: Emit | None = None,
    clock: Clock | None = None,
) -> Report:
    """Read a stretch of the past of each project into a throw-away state and count it; nothing is written and no state is needed."""
    clock = clock or SystemClock()
    survey, links = asked.survey(), {}
    for one in each(settings).values():
        with TemporaryDirectory(prefix="hunkwatch-") as folder:
            empty = one.store.model_copy(update={"url": f"sqlite:///{folder}/none.db"})
            async with app.at_work(one.model_copy(update={"store": empty}), app.on_copy, emit=emit, clock=clock) as (project, stop):
                await filling.Backfill(stretch, tell=tell, stop=stop).sweep(project)
                if stop.is_set():
                    raise Halt("stopped before everything was counted", mend="Run it again.", exit_code=Exit.TEMPORARY)
                async for calls in reading.traces(project.store, project.id, tell=lambda _done, _total, _calls: None):
                    survey.add(project.id, calls, asked.keeps)
                links[project.id] = app.links(one, project.id)
    return Report(survey, asked, "Langfuse", clock.now(), _leading(links))


def report_from_parquet(settings: Settings, asked: Asked, place: Path, *, tell: Tell = _nobody_waits, clock: Clock | None = None) -> Report:
    """Count the calls in the files that ``bulk`` wrote."""
    from hunkwatch.report import parquet  # noqa: PLC0415 - needs an extra

    survey, projects = asked.survey(), set()
    found = parquet.files(place)
    for project, calls in parquet.traces(found, tell=lambda done, total, calls: tell(Progress(done, total, calls=calls))):
        projects.add(project)
        survey.add(project, calls, asked.keeps)
    return Report(survey, asked, f"{place.name or place}", (clock or SystemClock()).now(), _leading(app.links_to(settings, projects)))


async def report(settings: Settings, asked: Asked, *, tell: Tell = _nobody_waits, clock: Clock | None = None) -> Report:
    """Count everything on record, beside whoever writes it; asks Langfuse nothing."""
    return await _of_record(settings, asked, None, tell, clock or SystemClock())


async def report_of_key(settings: Settings, asked: Asked, *, tell: Tell = _nobody_waits, clock: Clock | None = None) -> Report:
    """Count what is on record of the project that the key belongs to; Langfuse is asked which that is."""
    clock = clock or SystemClock()
    async with _talking(settings, clock) as langfuse:
        project = langfuse.abilities.project_id
    return await _of_record(settings, asked, project, tell, clock)


async def _of_record(settings: Settings, asked: Asked, only: str | None, tell: Tell, clock: Clock) -> Report:
    survey = asked.survey()
    async with app.recorded(settings) as (store, recorded):
        projects = [project for project in recorded if only in {None, project}]
        for project in projects:

            def told(done: int, total: int, calls: int) -> None:
                tell(Progress(done, total, calls=calls))

            async for calls in reading.traces(store, project, tell=told):
                survey.add(project, calls, asked.keeps)
    return Report(survey, asked, "the state of the worker", clock.now(), _leading(app.links_to(settings, projects)))


async def patches(
    settings: Settings, made: Report, *, tell: Tell = _nobody_waits, clock: Clock | None = None
) -> Mapping[tuple[str, str], Patches]:
    """Read those of the traces worth opening that the keys can see, and explain their patches, by project and trace."""
    lines = made.survey.worth_opening()
    found: dict[tuple[str, str], Patches] = {}
    for one in each(settings).values():
        async with _talking(one, clock or SystemClock()) as langfuse:
            project = langfuse.abilities.project_id
            for line in (line for line in lines if line.project == project):
                observations = await langfuse.source.fetch(trace_id=line.trace_id)
                found[project, line.trace_id] = explained.of_trace(line.trace_id, observations)
                tell(Progress(len(found), len(lines), calls=sum(len(each.calls) for each in found.values())))
    return found


def _leading(links: Mapping[str, Links]) -> Link:
    return lambda project, trace_id: links[project].trace(trace_id) if project in links else ""


async def hand_over(  # noqa: PLR0913 - what to do, and for whom
    settings: Settings,
    out: str,
    *,
    tell: Tell = _nobody_waits,
    emit: Emit | None = None,
    clock: Clock | None = None,
    patience: timedelta = app.PATIENCE,
    notices: Sequence[Event] = (),
) -> handover.HandedOver:
    """Take what ``bulk`` harvested into a folder on record, and deliver its scores as ``run_once`` does.

    Raises Halt when the export is of another project than the key.
    """
    from hunkwatch.bulk import run as bulk  # noqa: PLC0415 - needs an extra

    pieces = bulk.pieces_of(out)
    clock = clock or SystemClock()
    async with app.at_work(settings, app.opened, emit=emit, clock=clock, notices=notices) as (project, stop):
        batches = _batches(pieces, project.id)
        return await handover.run(project, batches, of=len(pieces), patience=patience, tell=tell, stop=stop)


def _batches(pieces: Sequence[settle.Task], project: str) -> Iterator[Sequence[Sequence[LedgerEntry]]]:
    """Yield by piece the whole traces of it, in batches that one transaction takes."""
    from hunkwatch.bulk import settle  # noqa: PLC0415 - needs an extra

    for piece in pieces:
        batches: list[list[LedgerEntry]] = [[]]
        for _, of_trace in groupby(settle.entries(piece), key=lambda entry: entry.key.trace_id):
            its = list(of_trace)
            if any(entry.project not in {"", project} for entry in its):
                raise Halt("the export is of another project than the key", mend="Use the key of the project that was exported.")
            if len(batches[-1]) + len(its) > _HANDED:
                batches.append([])
            batches[-1] += its
        yield batches


async def migrate_store(source: str, target: str, *, tell: Tell = _nobody_waits, clock: Clock | None = None) -> Mapping[str, int]:
    """Copy the state from one address to another, all of it or nothing, and return the rows by table; asks Langfuse nothing."""
    from hunkwatch.store import migrate_state  # noqa: PLC0415 (adapters are imported where they are opened)

    now = (clock or SystemClock()).now()
    return await migrate_state(source, target, now=now, tell=lambda done, total: tell(Progress(done, total)))


def stretch(since: datetime, until: datetime | None, *, again: bool = False, now: datetime | None = None) -> filling.Stretch:
    """Return the stretch between two times; without an end, or with one to come, it ends now. Raises ValueError for an empty one."""
    now = now or SystemClock().now()
    end = now if until is None else min(until, now)
    if since >= end:
        raise ValueError("nothing lies between the two times")
    return filling.Stretch(Window(since, end), again)


# ---------------------------------------------------------------- what stands in Langfuse beside the scores


@dataclass(frozen=True, slots=True)
class SetupReport:
    """What a setup did, or would do. ``dashboard`` is its address, ``remark`` why there is none; ``cost`` a sentence."""

    project: str
    steps: Sequence[Step]
    dashboard: str = ""
    remark: str = ""
    cost: str = ""


async def set_up(settings: Settings, *, clock: Clock | None = None) -> SetupReport:
    """Put up score configs and a dashboard, or bring them back to what they should be."""
    from hunkwatch.langfuse import setup  # noqa: PLC0415 (adapters are imported where they are opened)

    return await _put_up(settings, setup.Writing, clock or SystemClock())


async def rehearse_set_up(settings: Settings, *, clock: Clock | None = None) -> SetupReport:
    """Say what a setup would do; writes nothing."""
    from hunkwatch.langfuse import setup  # noqa: PLC0415 (adapters are imported where they are opened)

    return await _put_up(settings, setup.Looking, clock or SystemClock())


async def take_down(settings: Settings, *, clock: Clock | None = None) -> SetupReport:
    """Remove the dashboard with its widgets and archive the score configs."""
    from hunkwatch.langfuse import setup  # noqa: PLC0415 (adapters are imported where they are opened)

    return await _take_down(settings, setup.Writing, clock or SystemClock())


async def rehearse_take_down(settings: Settings, *, clock: Clock | None = None) -> SetupReport:
    """Say what would be removed; writes nothing."""
    from hunkwatch.langfuse import setup  # noqa: PLC0415 (adapters are imported where they are opened)

    return await _take_down(settings, setup.Looking, clock or SystemClock())


async def cost(settings: Settings, *, clock: Clock | None = None) -> str:
    """Say in a sentence what a month would come to, from the last day's data; writes nothing."""
    from hunkwatch.langfuse import FEW_ATTEMPTS  # noqa: PLC0415 (adapters are imported where they are opened)

    clock = clock or SystemClock()
    try:
        async with _talking(settings, clock, attempts=FEW_ATTEMPTS) as langfuse:
            return await _cost(settings, langfuse, clock)
    except HunkwatchError as error:
        return f"not known: {error}"


async def _cost(settings: Settings, langfuse: Langfuse, clock: Clock) -> str:
    try:
        return str(await estimating.estimate(langfuse.source, settings, now=clock.now()))
    except HunkwatchError as error:
        return f"not known: {error}"


@asynccontextmanager
async def _talking(settings: Settings, clock: Clock, **patience: int) -> AsyncIterator[Langfuse]:
    from hunkwatch.langfuse import Reading, open_langfuse  # noqa: PLC0415 (adapters are imported where they are opened)

    reading = Reading(settings.select, settings.discover)
    async with open_langfuse(settings.langfuse, clock=clock, emit=_nobody_listens, reading=reading, **patience) as langfuse:
        yield langfuse


async def _put_up(settings: Settings, hand: Callable[[Http], Hand], clock: Clock) -> SetupReport:
    from hunkwatch.langfuse import setup  # noqa: PLC0415 (adapters are imported where they are opened)

    async with _talking(settings, clock) as langfuse:
        steps, dashboard = await langfuse.put_up(hand)
        project, server = langfuse.abilities.project_id, langfuse.abilities.server
        told = await _cost(settings, langfuse, clock)
    if isinstance(dashboard, setup.NoDashboards):
        remark = f"Langfuse {server} has no API for dashboards, so it gets none: they came with {setup.DASHBOARDS_SINCE}"
        return SetupReport(project, steps, remark=remark, cost=told)
    return SetupReport(project, steps, app.links(settings, project).dashboard(dashboard) if dashboard else "", cost=told)


async def _take_down(settings: Settings, hand: Callable[[Http], Hand], clock: Clock) -> SetupReport:
    async with _talking(settings, clock) as langfuse:
        return SetupReport(langfuse.abilities.project_id, await langfuse.take_down(hand))


def _nobody_listens(_event: Event) -> None: ...
