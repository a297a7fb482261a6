"""``run``: the worker itself, one pass of it, or a pass that only says what it would do."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated

import typer

from hunkwatch import app, settings
from hunkwatch.cli import options, printing
from hunkwatch.errors import Exit

if TYPE_CHECKING:
    from hunkwatch.daemon import reports


def run(  # noqa: PLR0913 - each is a flag
    *,
    once: Annotated[
        bool, typer.Option("--once", help="Make one pass, wait until Langfuse shows the scores (up to 60 s), and leave; for cron.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Make one pass without writing anything; say how many scores a real run would send.")
    ] = False,
    reset: Annotated[
        bool, typer.Option("--reset-state", help="First move the state file aside. Langfuse keeps every score; the next pass adopts them.")
    ] = False,
    as_json: options.AsJson = False,
    config: options.Config = None,
    base_url: options.BaseUrl = None,
    since: options.Since = None,
    sample: options.Sample = None,
    state: options.State = None,
    log_level: options.LogLevel = None,
    assigned: options.Set = None,
) -> None:
    """Watch a Langfuse project: find apply_patch calls, score them, write the scores back.

    Needs LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY, and LANGFUSE_BASE_URL unless it is Langfuse Cloud (EU). Runs until SIGTERM or
    Ctrl-C and finishes what is under way. --once exits with 75 when scores were sent but not yet seen: run it again.
    """
    flags = {
        "langfuse.base_url": base_url,
        "sweep.since": since,
        "sweep.sample": sample,
        "store.url": options.address(state),
        "log.level": log_level,
    }
    loaded = options.load(config, flags, assigned, required=settings.CREDENTIALS)
    if reset and dry_run:
        raise typer.BadParameter("--dry-run changes nothing, --reset-state does: give one of them")
    if reset and (aside := app.reset_state(loaded.settings)):
        printing.remark(f"the state was moved to {aside}")
    if dry_run:
        show_dry_run(asyncio.run(app.dry_run(loaded.settings, notices=loaded.deprecated)), as_json=as_json)
    elif once:
        show_pass(asyncio.run(app.run_once(loaded.settings, notices=loaded.deprecated)), as_json=as_json)
    else:

        def reload() -> settings.Settings:
            return options.load(config, flags, assigned, required=settings.CREDENTIALS).settings

        code = asyncio.run(app.run(loaded.settings, notices=loaded.deprecated, reload=reload))
        if code is not Exit.OK:
            raise typer.Exit(code)


def show_pass(report: reports.OnceReport, *, as_json: bool) -> None:
    """Print what a pass did, and leave with its code."""
    if as_json:
        printing.show_json(_plain(report))
    else:
        found = f"{report.observations} observations read, {report.calls} calls found"
        printing.show(f"{found}, {report.sent} scores sent, {report.seen} seen in Langfuse.")
        printing.show(f"Calls on record: {_counts(report.shapes)}.")
        if report.waiting:
            printing.show(f"{report.waiting} scores are still on their way; run it again.")
        if report.dead:
            printing.show(f"{report.dead} scores were given up; `hunkwatch status` says how many, the log says why.")
        if report.poison:
            printing.show(f"{report.poison} observations could not be read; they are on record with the reason.")
    if report.exit is not Exit.OK:
        raise typer.Exit(report.exit)


def show_dry_run(report: reports.DryRunReport, *, as_json: bool) -> None:
    """Print what a real pass would do."""
    if as_json:
        printing.show_json(_plain(report))
        return
    total = sum(report.would_send.values())
    printing.show(f"{report.observations} observations read, {report.calls} calls found: {_counts(report.shapes)}.")
    printing.show(f"A real run would send {total} scores: {_counts(report.would_send)}.")
    if any(report.would_withdraw.values()):
        printing.show(f"It would delete {sum(report.would_withdraw.values())} scores: {_counts(report.would_withdraw)}.")
    printing.show(f"{report.already_there} scores are in Langfuse already. Nothing was written.")


def _plain(report: reports.OnceReport | reports.DryRunReport) -> dict[str, object]:
    values = {field.name: getattr(report, field.name) for field in fields(report)}
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in values.items()}


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items(), key=lambda item: -item[1]) if count) or "none"
