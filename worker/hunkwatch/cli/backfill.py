"""``backfill``: the past, once, as far back as somebody wants."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from hunkwatch import errands
from hunkwatch.cli import options, waiting
from hunkwatch.cli.run import show_dry_run, show_pass

if TYPE_CHECKING:
    from hunkwatch.daemon.progress import Progress


def backfill(  # noqa: PLR0913 - each is a flag
    *,
    since: Annotated[
        str, typer.Option("--since", metavar="DURATION|DATE", help="Where to begin: 30d ago, or a date or time like 2026-01-31 (UTC).")
    ],
    until: Annotated[
        str | None,
        typer.Option("--until", metavar="DURATION|DATE", help="Where to end, before this; now unless given.", show_default=False),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Read everything and write nothing; say how many scores a real backfill would send.")
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="Sweep also what an earlier backfill has covered.")] = False,
    sample: options.Sample = None,
    as_json: options.AsJson = False,
    config: options.Config = None,
    project: options.Project = None,
    base_url: options.BaseUrl = None,
    state: options.State = None,
    log_level: options.LogLevel = None,
    assigned: options.Set = None,
) -> None:
    """Score observations of the past, once, and deliver like `run --once`.

    Goes on where an interrupted one stopped, and sweeps nothing twice that a backfill has covered, unless --again says so. What the
    worker knows already is not read again. A state file belongs to one process: stop the worker meanwhile. On Postgres, backfill
    runs beside it. Exits with 75 when something is left: run it again.
    """
    now = datetime.now(UTC)
    try:
        stretch = errands.stretch(
            options.moment(since, now=now, name="--since"),
            None if until is None else options.moment(until, now=now, name="--until"),
            again=again,
            now=now,
        )
    except ValueError as error:
        raise typer.BadParameter(f"--since and --until: {error}") from error
    flags = {"langfuse.base_url": base_url, "sweep.sample": sample, "store.url": options.address(state), "log.level": log_level}
    loaded = options.load_one(config, flags, assigned, project=project)
    with waiting.shown("backfill", rate=_rate) as tell:
        if dry_run:
            would = asyncio.run(errands.rehearse_backfill(loaded.settings, stretch, tell=tell, notices=loaded.deprecated))
        else:
            report = asyncio.run(errands.backfill(loaded.settings, stretch, tell=tell, notices=loaded.deprecated))
    if dry_run:
        show_dry_run(would, as_json=as_json)
    else:
        show_pass(report, as_json=as_json)


def _rate(step: Progress, seconds: float) -> str:
    return f"{step.observations} read, {step.calls} records of calls, {waiting.per_minute(step.observations, seconds)}"
