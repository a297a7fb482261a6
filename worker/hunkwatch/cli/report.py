"""``report``: what was scored, in words and numbers that people can look at."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path  # noqa: TC003 - typer reads it when the verb is called
from typing import TYPE_CHECKING, Annotated

import typer

from hunkwatch import errands, settings
from hunkwatch.cli import options, pages, printing, waiting
from hunkwatch.errors import Exit, Halt
from hunkwatch.report import Asked, compare, leaving_out, machine, terminal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hunkwatch.daemon.backfill import Stretch
    from hunkwatch.daemon.progress import Progress, Tell
    from hunkwatch.report import Report
    from hunkwatch.report.explained import Patches


def report(  # noqa: PLR0913 - each is a flag
    *,
    since: Annotated[
        str | None, typer.Option("--since", metavar="DURATION|DATE", help="Count calls from then on: 30d ago, or a date or time (UTC).")
    ] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="DURATION|DATE", help="Count calls before then.")] = None,
    from_langfuse: Annotated[
        bool, typer.Option("--from-langfuse", help="Read Langfuse instead of the state, since --since or sweep.since; writes nothing.")
    ] = False,
    from_parquet: Annotated[
        Path | None, typer.Option("--from-parquet", metavar="DIR|FILE", help="Count what `bulk` wrote instead of the state.")
    ] = None,
    leave_out: Annotated[
        list[str] | None, typer.Option("--leave-out", metavar="GLOB", help="Leave files out, like 'docs/*'; may be given again and again.")
    ] = None,
    keep_generated: Annotated[
        bool, typer.Option("--keep-generated", help="Count generated files and lockfiles too, which are left out otherwise.")
    ] = False,
    compared: Annotated[
        str | None, typer.Option("--compare", metavar="A..B", help="Compare two periods, like 2026-01..2026-02, or two models.")
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write a page with plots that opens anywhere, also offline."),
    ] = None,
    with_patches: Annotated[
        bool,
        typer.Option("--with-patches", help="Explain the patches of the traces worth opening in the page; this shows code."),
    ] = False,
    as_json: options.AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV: a line for the total, each member of a group, each trace.")] = False,
    config: options.Config = None,
    project: options.Project = None,
    base_url: options.BaseUrl = None,
    state: options.State = None,
    assigned: options.Set = None,
) -> None:
    """Count what was scored, by day, environment, trace name, producer, model, session and file type.

    Reads the worker's own state, beside a worker that runs, unless --from-langfuse or --from-parquet say otherwise. Beside the counts: why
    calls have no number, how many failed to apply, and the twenty traces most worth opening, each with its page in Langfuse. Several
    projects are counted together; --project counts one of them, and asks Langfuse which its keys belong to.
    """
    _at_most_one({"--html": html is not None, "--json": as_json, "--csv": as_csv})
    _at_most_one({"--from-langfuse": from_langfuse, "--from-parquet": from_parquet is not None})
    _at_most_one({"--project": project is not None, "--from-parquet": from_parquet is not None})
    if with_patches and html is None:
        raise typer.BadParameter("--with-patches explains patches in the page: give --html FILE")
    if html is not None:
        pages.needed()
    now = datetime.now(UTC)
    asked = Asked(
        since=None if since is None else options.moment(since, now=now, name="--since"),
        until=None if until is None else options.moment(until, now=now, name="--until"),
        compared=None if compared is None else _sides(compared),
        patterns=(*(() if keep_generated else leaving_out.GENERATED), *(leave_out or ())),
    )
    flags = {"langfuse.base_url": base_url, "store.url": options.address(state)}
    required = settings.CREDENTIALS if with_patches or from_langfuse or project else ()
    loaded = options.load(config, flags, assigned, required=required, project=project).settings
    with waiting.shown("report", rate=_rate) as tell:
        if from_langfuse:
            made = asyncio.run(errands.report_from_langfuse(loaded, asked, _stretch(asked, loaded, now), tell=tell))
        elif from_parquet is not None:
            made = _from_parquet(loaded, asked, from_parquet, tell)
        elif project is not None:
            made = asyncio.run(errands.report_of_key(loaded, asked, tell=tell))
        else:
            made = asyncio.run(errands.report(loaded, asked, tell=tell))
    if html is not None:
        pages.write(html, pages.of_report(made, _patches(loaded, made) if with_patches else None))
    else:
        _print(made, as_json=as_json, as_csv=as_csv)


def _print(made: Report, *, as_json: bool, as_csv: bool) -> None:
    if as_json:
        printing.show_json(machine.as_json(made))
    elif as_csv:
        for line in machine.as_csv(made):
            printing.write(f"{line}\n")
    else:
        printing.show(*terminal.rendered(made))


def _patches(loaded: settings.Settings, made: Report) -> Mapping[tuple[str, str], Patches]:
    with waiting.shown("patches", rate=_rate) as tell:
        return asyncio.run(errands.patches(loaded, made, tell=tell))


def _at_most_one(given: Mapping[str, bool]) -> None:
    if sum(given.values()) > 1:
        raise typer.BadParameter(f"{', '.join(given)}: give one of them")


def _stretch(asked: Asked, loaded: settings.Settings, now: datetime) -> Stretch:
    try:
        return errands.stretch(asked.since or now - loaded.sweep.since, asked.until, now=now)
    except ValueError as error:
        raise typer.BadParameter(f"--since and --until: {error}") from error


def _from_parquet(loaded: settings.Settings, asked: Asked, place: Path, tell: Tell) -> Report:
    if find_spec("pyarrow") is None:
        raise Halt("pyarrow is not installed", mend='Install it with pip install "hunkwatch[bulk]".', exit_code=Exit.USAGE)
    return errands.report_from_parquet(loaded, asked, place, tell=tell)


def _sides(text: str) -> tuple[compare.Side, compare.Side]:
    try:
        return compare.sides(text)
    except ValueError as error:
        raise typer.BadParameter(f"--compare: {error}") from error


def _rate(step: Progress, seconds: float) -> str:
    return f"{step.done:.0f} traces, {step.calls} records of calls, {waiting.per_minute(step.calls, seconds)}"
