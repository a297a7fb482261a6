"""``dead-letters``: the scores that were given up, and what to do with them once the cause is mended."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from hunkwatch import app
from hunkwatch.cli import options, printing

if TYPE_CHECKING:
    from hunkwatch.ports import OutboxRow

verbs = typer.Typer(help="List the scores that were given up; send them again, or let them go.", no_args_is_help=True)

Ids = Annotated[list[str] | None, typer.Argument(metavar="[SCORE_ID]...", help="Ids as `dead-letters list` shows them.")]
Everything = Annotated[bool, typer.Option("--all", help="All of them.")]


@verbs.command("list")
def show(
    *, as_json: options.AsJson = False, config: options.Config = None, state: options.State = None, assigned: options.Set = None
) -> None:
    """List every dead letter with its reason, oldest first; works while a worker runs."""
    loaded = options.load(config, {"store.url": options.address(state)}, assigned)
    found = [(project, row) for project, rows in asyncio.run(app.dead_letters(loaded.settings)).items() for row in rows]
    if as_json:
        for project, row in found:
            printing.show_json(_as_json(project, row))
        return
    if not found:
        printing.remark("no dead letters")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("score", "name", "trace", "observation", "sent", "reason"):
        table.add_column(column)
    for _, row in found:
        cells = (row.score.id, row.score.name, row.score.trace_id, row.score.observation_id or "-", str(row.sent), row.reason)
        table.add_row(*(Text(printing.printable(cell)) for cell in cells))
    printing.show(table)


@verbs.command()
def retry(
    ids: Ids = None,
    *,
    everything: Everything = False,
    config: options.Config = None,
    state: options.State = None,
    assigned: options.Set = None,
) -> None:
    """Put dead letters back into the outbox; the next run sends them. No worker may be running on a state file."""
    chosen = _chosen(ids, everything=everything)
    loaded = options.load(config, {"store.url": options.address(state)}, assigned)
    count = asyncio.run(app.retry_dead_letters(loaded.settings, chosen))
    printing.show(f"{count} will be sent again by the next run.")


@verbs.command()
def discard(
    ids: Ids = None,
    *,
    everything: Everything = False,
    config: options.Config = None,
    state: options.State = None,
    assigned: options.Set = None,
) -> None:
    """Let dead letters go; a score that changes comes back by itself. No worker may be running on a state file."""
    chosen = _chosen(ids, everything=everything)
    loaded = options.load(config, {"store.url": options.address(state)}, assigned)
    count = asyncio.run(app.discard_dead_letters(loaded.settings, chosen))
    printing.show(f"{count} discarded.")


def _chosen(ids: list[str] | None, *, everything: bool) -> tuple[str, ...]:
    """Return the ids, or none at all for everything, which has to be said and not just left out."""
    if bool(ids) == everything:
        raise typer.BadParameter("name the scores, or say --all")
    return tuple(ids or ())


def _as_json(project: str, row: OutboxRow) -> dict[str, object]:
    return {
        "project": project,
        "score_id": row.score.id,
        "name": row.score.name,
        "value": row.score.value,
        "trace_id": row.score.trace_id,
        "observation_id": row.score.observation_id,
        "sent": row.sent,
        "reason": row.reason,
    }
