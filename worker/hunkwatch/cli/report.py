"""``report``: what was scored, in words and numbers that people can look at."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path  # noqa: TC003 - typer reads it when the verb is called
from typing import TYPE_CHECKING, Annotated

import typer

from hunkwatch import errands, settings
from hunkwatch.cli import options, pages, printing, waiting
from hunkwatch.cli.backfill import moment
from hunkwatch.report import Asked, compare, leaving_out, machine, terminal

if TYPE_CHECKING:
    from hunkwatch.daemon.progress import Progress


def report(  # noqa: PLR0913 - each is a flag
    *,
    since: Annotated[
        str | None, typer.Option("--since", metavar="DURATION|DATE", help="Count calls from then on: 30d ago, or a date or time (UTC).")
    ] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="DURATION|DATE", help="Count calls before then.")] = None,
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
    base_url: options.BaseUrl = None,
    state: options.State = None,
    assigned: options.Set = None,
) -> None:
    """Count what was scored, by day, environment, trace name, producer, model, session and file type.

    Reads the worker's own state, beside a worker that runs. Beside the counts: why calls have no number, how many failed to apply, and
    the twenty traces most worth opening, each with its page in Langfuse.
    """
    now = datetime.now(UTC)
    asked = Asked(
        since=None if since is None else moment(since, now=now, name="--since"),
        until=None if until is None else moment(until, now=now, name="--until"),
        compared=None if compared is None else _sides(compared),
        patterns=(*(() if keep_generated else leaving_out.GENERATED), *(leave_out or ())),
    )
    if (html is not None) + as_json + as_csv > 1:
        raise typer.BadParameter("--html, --json and --csv: give one of them")
    if with_patches and html is None:
        raise typer.BadParameter("--with-patches explains patches in the page: give --html FILE")
    if html is not None:
        pages.needed()
    flags = {"langfuse.base_url": base_url, "store.url": options.address(state)}
    loaded = options.load(config, flags, assigned, required=settings.CREDENTIALS if with_patches else ())
    with waiting.shown("report", rate=_rate) as tell:
        made = asyncio.run(errands.report(loaded.settings, asked, tell=tell))
    patches = None
    if with_patches:
        with waiting.shown("patches", rate=_rate) as tell:
            patches = asyncio.run(errands.patches(loaded.settings, made, tell=tell))
    if html is not None:
        pages.write(html, pages.of_report(made, patches))
    elif as_json:
        printing.show_json(machine.as_json(made))
    elif as_csv:
        for line in machine.as_csv(made):
            printing.write(f"{line}\n")
    else:
        printing.show(*terminal.rendered(made))


def _sides(text: str) -> tuple[compare.Side, compare.Side]:
    try:
        return compare.sides(text)
    except ValueError as error:
        raise typer.BadParameter(f"--compare: {error}") from error


def _rate(step: Progress, seconds: float) -> str:
    return f"{step.done:.0f} traces, {step.calls} calls, {waiting.per_minute(step.calls, seconds)}"
