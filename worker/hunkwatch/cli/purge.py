"""``purge``: every score that we ever wrote, away."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from hunkwatch import errands
from hunkwatch.cli import options, printing, waiting
from hunkwatch.errors import Exit
from hunkwatch.settings import duration

if TYPE_CHECKING:
    from hunkwatch.daemon.progress import Progress
    from hunkwatch.daemon.purge import Purged


def purge(  # noqa: PLR0913 - each is a flag
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: options.AsJson = False,
    config: options.Config = None,
    project: options.Project = None,
    base_url: options.BaseUrl = None,
    state: options.State = None,
    log_level: options.LogLevel = None,
    assigned: options.Set = None,
) -> None:
    """Delete every score on record from Langfuse, after asking, within the day's quota of deletions.

    Stop the worker first: it would go on to score what comes. `rescore` brings the scores back. Langfuse Cloud takes a limited number of
    deletions a day; when it is used up, or on a signal, purge says how many are left and exits with 75: run it again and it goes on.
    """
    flags = {"langfuse.base_url": base_url, "store.url": options.address(state), "log.level": log_level}
    loaded = options.load_one(config, flags, assigned, project=project)
    if not yes:
        project, count = asyncio.run(errands.count_to_purge(loaded.settings))
        server = loaded.settings.langfuse.base_url
        if not typer.confirm(f"Delete up to {count} scores of project {printing.printable(project)} at {server}?", err=True):
            raise typer.Exit(Exit.USAGE)
    with waiting.shown("purge", rate=_rate) as tell:
        purged = asyncio.run(errands.purge(loaded.settings, tell=tell, notices=loaded.deprecated))
    _show(purged, as_json=as_json)
    if purged.left:
        raise typer.Exit(Exit.TEMPORARY)
    if purged.refused:
        raise typer.Exit(Exit.FINDING)


def _show(purged: Purged, *, as_json: bool) -> None:
    if as_json:
        wait = None if purged.wait is None else purged.wait.total_seconds()
        printing.show_json({**asdict(purged), "wait": wait})
        return
    printing.show(f"{purged.gone} of {purged.found} scores are gone.")
    if purged.refused:
        printing.show(f"{purged.refused} were refused; `hunkwatch dead-letters list` says why.")
    if purged.left and purged.wait is not None:
        pause = duration.render(timedelta(seconds=round(purged.wait.total_seconds())))
        printing.show(f"{purged.left} are left: the quota of deletions is used up. Run it again in {pause}.")
    elif purged.left:
        printing.show(f"{purged.left} are left; run it again.")


def _rate(step: Progress, seconds: float) -> str:
    return f"{step.done:.0f} of {step.total:.0f} scores, {waiting.per_minute(round(step.done), seconds)}"
