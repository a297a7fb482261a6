"""``run``: the worker itself, one pass of it, or a pass that only says what it would do."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated

import typer

from hunkwatch import app, service, settings
from hunkwatch.cli import failures, options, printing
from hunkwatch.daemon import reports
from hunkwatch.errors import Exit, HunkwatchError

if TYPE_CHECKING:
    from hunkwatch.events import Emit


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
    project: options.Project = None,
    base_url: options.BaseUrl = None,
    since: options.Since = None,
    sample: options.Sample = None,
    state: options.State = None,
    log_level: options.LogLevel = None,
    assigned: options.Set = None,
) -> None:
    """Watch a Langfuse project, or each of several: find apply_patch calls, score them, write the scores back.

    Needs LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY, and LANGFUSE_BASE_URL unless it is Langfuse Cloud (EU). Runs until SIGTERM or
    Ctrl-C and finishes what is under way. --once exits with 75 when scores were sent but not yet seen: run it again. With [[projects]]
    in the configuration, one that cannot be worked on leaves the others alone.
    """
    flags = {
        "langfuse.base_url": base_url,
        "sweep.since": since,
        "sweep.sample": sample,
        "store.url": options.address(state),
        "log.level": log_level,
    }
    loaded = options.load(config, flags, assigned, required=settings.CREDENTIALS, project=project)
    if reset and dry_run:
        raise typer.BadParameter("--dry-run changes nothing, --reset-state does: give one of them")
    if reset and (aside := app.reset_state(loaded.settings)):
        printing.remark(f"the state was moved to {aside}")
    several = bool(loaded.settings.projects)
    if several and (dry_run or once):
        _leave_with(_show_each(_each(loaded, dry_run=dry_run), as_json=as_json))
    elif dry_run:
        show_dry_run(asyncio.run(app.dry_run(loaded.settings, notices=loaded.deprecated)), as_json=as_json)
    elif once:
        show_pass(asyncio.run(app.run_once(loaded.settings, notices=loaded.deprecated)), as_json=as_json)
    else:

        def reload() -> settings.Settings:
            return options.load(config, flags, assigned, required=settings.CREDENTIALS, project=project).settings

        code = asyncio.run(service.run(loaded.settings, notices=loaded.deprecated, reload=reload))
        _leave_with(code)


def _leave_with(code: Exit) -> None:
    if code is not Exit.OK:
        raise typer.Exit(code)


_Results = Mapping[str, reports.OnceReport | reports.DryRunReport | HunkwatchError]
"""What became of each project, by name."""


def _each(loaded: settings.Loaded, *, dry_run: bool) -> _Results:
    """Make one pass for each project, or rehearse it."""

    async def work(its: settings.Settings, emit: Emit, stop: asyncio.Event) -> reports.OnceReport | reports.DryRunReport:
        return await (app.dry_run if dry_run else app.run_once)(its, emit=emit, stop=stop)

    return asyncio.run(service.one_after_the_other(loaded.settings, work, notices=loaded.deprecated))


def _show_each(results: _Results, *, as_json: bool) -> Exit:
    """Print what each project came to; return the first code that is not OK."""
    codes: list[Exit] = []
    told: dict[str, object] = {}
    for name, result in results.items():
        if isinstance(result, HunkwatchError):
            lines, code = failures.explain(result)
            codes.append(Exit(code))
            told[name] = {"error": " ".join(lines)}
            if not as_json:
                printing.remark(f"{name}: {lines[0]}", *lines[1:])
            continue
        codes.append(result.exit if isinstance(result, reports.OnceReport) else Exit.OK)
        told[name] = _plain(result)
        if not as_json:
            printing.show(f"{name}:")
            if isinstance(result, reports.OnceReport):
                _tell_pass(result)
            else:
                _tell_dry_run(result)
    if as_json:
        printing.show_json({"projects": told})
    return next((code for code in codes if code is not Exit.OK), Exit.OK)


def show_pass(report: reports.OnceReport, *, as_json: bool) -> None:
    """Print what a pass did, and leave with its code."""
    if as_json:
        printing.show_json(_plain(report))
    else:
        _tell_pass(report)
    _leave_with(report.exit)


def _tell_pass(report: reports.OnceReport) -> None:
    found = f"{report.observations} observations read, {report.calls} records of calls found"
    printing.show(f"{found}, {report.sent} scores sent, {report.seen} seen in Langfuse.")
    printing.show(f"Records of calls, by shape: {_counts(report.shapes)}.")
    if report.waiting:
        printing.show(f"{report.waiting} scores are still on their way; run it again.")
    if report.dead:
        printing.show(f"{report.dead} scores were given up; `hunkwatch status` says how many, the log says why.")
    if report.poison:
        printing.show(f"{report.poison} observations could not be read; they are on record with the reason.")


def show_dry_run(report: reports.DryRunReport, *, as_json: bool) -> None:
    """Print what a real pass would do."""
    if as_json:
        printing.show_json(_plain(report))
    else:
        _tell_dry_run(report)


def _tell_dry_run(report: reports.DryRunReport) -> None:
    total = sum(report.would_send.values())
    printing.show(f"{report.observations} observations read, {report.calls} records of calls found: {_counts(report.shapes)}.")
    printing.show(f"A real run would send {total} scores: {_counts(report.would_send)}.")
    if any(report.would_withdraw.values()):
        printing.show(f"It would delete {sum(report.would_withdraw.values())} scores: {_counts(report.would_withdraw)}.")
    printing.show(f"{report.already_there} scores are in Langfuse already. Nothing was written.")


def _plain(report: reports.OnceReport | reports.DryRunReport) -> dict[str, object]:
    values = {field.name: getattr(report, field.name) for field in fields(report)}
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in values.items()}


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items(), key=lambda item: -item[1]) if count) or "none"
