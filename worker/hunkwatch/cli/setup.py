"""``setup``: score configs and a dashboard in Langfuse, put up or taken down."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from hunkwatch import errands
from hunkwatch.cli import options, printing
from hunkwatch.errors import Exit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hunkwatch.errands import SetupReport
    from hunkwatch.langfuse.setup import Step


def setup(  # noqa: PLR0913 - each is a flag
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="Take it all away: the dashboard and its widgets go, score configs are archived.")
    ] = False,
    as_json: options.AsJson = False,
    config: options.Config = None,
    project: options.Project = None,
    base_url: options.BaseUrl = None,
    log_level: options.LogLevel = None,
    assigned: options.Set = None,
) -> None:
    """Put up what makes the scores easy to see in Langfuse: a score config for each, and the dashboard "Patch quality".

    A second time changes nothing; what people made is left alone. Also estimates from the last day's data how many scores a month has.
    Langfuse cannot delete score configs, so --remove archives them; restart a worker that runs, since Langfuse drops what is sent with
    an archived one.
    """
    loaded = options.load_one(config, {"langfuse.base_url": base_url, "log.level": log_level}, assigned, project=project)
    match remove, dry_run:
        case False, False:
            report = asyncio.run(errands.set_up(loaded.settings))
        case False, True:
            report = asyncio.run(errands.rehearse_set_up(loaded.settings))
        case True, False:
            report = asyncio.run(errands.take_down(loaded.settings))
        case _:
            report = asyncio.run(errands.rehearse_take_down(loaded.settings))
    still_there = [step for step in report.steps if remove and step.did == "left"]
    if as_json:
        printing.show_json({"dry_run": dry_run, **_plain(report)})
    else:
        _show(report, dry_run=dry_run, remove=remove)
    if still_there:
        raise typer.Exit(Exit.FINDING)


def _plain(report: SetupReport) -> dict[str, object]:
    steps = [{"did": step.did.value, "kind": step.kind, "name": step.name, "note": step.note} for step in report.steps]
    return {"project": report.project, "steps": steps, "dashboard": report.dashboard, "remark": report.remark, "cost": report.cost}


def _show(report: SetupReport, *, dry_run: bool, remove: bool) -> None:
    if report.steps:
        printing.show(_table(report.steps, "would be " if dry_run else ""))
    elif remove:
        printing.show("There is nothing of ours to remove.")
    if report.remark:
        printing.show(f"{report.remark}.")
    if report.dashboard:
        printing.show(f"dashboard: {report.dashboard}")
    if report.cost:
        printing.show(f"cost: {report.cost}.")
    if dry_run:
        printing.show("Nothing was written.")


def _table(steps: Sequence[Step], mood: str) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column()
    for step in steps:
        name = f"{step.name} ({step.note})" if step.note else step.name
        said = step.did.value if step.did in {"unchanged", "left"} else f"{mood}{step.did.value}"
        table.add_row(Text(said), Text(step.kind), Text(printing.printable(name)))
    return table
