"""``migrate-store``: the state into another database."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from hunkwatch import errands, settings
from hunkwatch.cli import options, printing, waiting

if TYPE_CHECKING:
    from hunkwatch.daemon.progress import Progress


def migrate_store(  # noqa: PLR0913 - each is a flag
    *,
    target: Annotated[str, typer.Option("--to", metavar="FILE|URL", help="Where the state goes: a new file, or an empty database.")],
    source: Annotated[
        str | None, typer.Option("--from", metavar="FILE|URL", help="Where the state is; without it, where the settings say (store.url).")
    ] = None,
    as_json: options.AsJson = False,
    config: options.Config = None,
    log_level: options.LogLevel = None,
    assigned: options.Set = None,
) -> None:
    """Copy the state into another database, SQLite or Postgres, in either direction, and compare the counts.

    Stop every worker first. All of it arrives or nothing; the source keeps what it has. Then set store.url to the new place.
    """
    given = {"store.url": options.address(source), "log.level": log_level}
    loaded = options.load(config, given, assigned)
    place = options.load(config, {**given, "store.url": options.address(target)}, assigned).settings.store.url
    here, there = (settings.without_password(url) for url in (loaded.settings.store.url, place))
    with waiting.shown("migrate-store", rate=_rate) as tell:
        counts = asyncio.run(errands.migrate_store(loaded.settings.store.url, place, tell=tell))
    if as_json:
        printing.show_json({"from": here, "to": there, "rows": dict(counts)})
        return
    for name, count in counts.items():
        printing.show(f"{count:>10} {name}")
    printing.show(f"All {sum(counts.values())} rows are there and counted; set store.url to {printing.printable(there)}.")


def _rate(step: Progress, seconds: float) -> str:
    return f"{step.done:.0f} of {step.total:.0f} rows, {waiting.per_minute(round(step.done), seconds)}"
