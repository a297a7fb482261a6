"""``rescore``: everything on record once more, after a change of the scorer or of the settings."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from hunkwatch import errands
from hunkwatch.cli import options, printing, waiting
from hunkwatch.daemon.rescore import Change
from hunkwatch.errors import Exit

if TYPE_CHECKING:
    from hunkwatch.daemon.progress import Progress
    from hunkwatch.daemon.rescore import Changes


def rescore(  # noqa: PLR0913 - each is a flag
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Write nothing; say by score name what would change, and how many scores would be sent.")
    ] = False,
    as_json: options.AsJson = False,
    config: options.Config = None,
    project: options.Project = None,
    base_url: options.BaseUrl = None,
    state: options.State = None,
    log_level: options.LogLevel = None,
    assigned: options.Set = None,
) -> None:
    """Work out all traces on record again, and deliver what changed like `run --once`.

    For after an upgrade with another scorer, or other settings. Only calls that an older scorer graded are read from Langfuse again; a
    trace of which one is gone there keeps its scores. Right scores that scores.write no longer names stay. The worker has to be
    stopped meanwhile; --dry-run works beside it. Exits with 75 when something is left: run it again.
    """
    flags = {"langfuse.base_url": base_url, "store.url": options.address(state), "log.level": log_level}
    loaded = options.load_one(config, flags, assigned, project=project)
    with waiting.shown("rescore", rate=_rate) as tell:
        if dry_run:
            changes = asyncio.run(errands.rehearse_rescore(loaded.settings, tell=tell, notices=loaded.deprecated))
        else:
            report = asyncio.run(errands.rescore(loaded.settings, tell=tell, notices=loaded.deprecated))
    if dry_run:
        _show_changes(changes, as_json=as_json, would=True)
        return
    _show_changes(report.changes, as_json=as_json, would=False, sent=report.sent, seen=report.seen)
    if report.exit is not Exit.OK:
        raise typer.Exit(report.exit)


def _show_changes(changes: Changes, *, as_json: bool, would: bool, **delivered: int) -> None:
    names = sorted({name for name, _ in changes.scores})
    counts = {name: {change.value: changes.scores[name, change] for change in Change} for name in names}
    if as_json:
        printing.show_json(
            {"traces": changes.traces, "read": changes.read, "left": changes.left, "scores": counts, "to_send": changes.sends, **delivered}
        )
        return
    if counts:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in ("score", "new", "other value", "other words", "withdrawn"):
            table.add_column(column, justify="left" if column == "score" else "right")
        for name, by_change in counts.items():
            table.add_row(Text(name), *(str(count) for count in by_change.values()))
        printing.show(table)
    printing.show(f"{changes.traces} traces worked out again, {changes.read} observations read again.")
    if changes.left:
        printing.show(f"{changes.left} traces have calls of an older scorer that cannot be read any more: left as they are.")
    if would:
        printing.show(f"A real rescore would send {changes.sends} scores. Nothing was written.")
    else:
        printing.show(f"{delivered['sent']} scores sent, {delivered['seen']} seen in Langfuse.")


def _rate(step: Progress, seconds: float) -> str:
    return f"{step.done:.0f} of {step.total:.0f} traces, {waiting.per_minute(round(step.done), seconds)}"
