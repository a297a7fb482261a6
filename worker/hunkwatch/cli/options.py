"""The flags that several verbs share, and the settings that come of them."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hunkwatch import settings
from hunkwatch.settings import duration

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

_PANEL = "Settings (a flag beats the environment, the environment beats the file)"

Config = Annotated[
    Path | None,
    typer.Option("--config", "-c", metavar="FILE", help="Configuration file instead of the usual places.", rich_help_panel=_PANEL),
]
BaseUrl = Annotated[
    str | None,
    typer.Option("--base-url", metavar="URL", help="Address of the Langfuse server (LANGFUSE_BASE_URL).", rich_help_panel=_PANEL),
]
State = Annotated[
    str | None,
    typer.Option("--state", metavar="FILE|URL", help="State file, or database address (store.url).", rich_help_panel=_PANEL),
]
Since = Annotated[
    str | None,
    typer.Option("--since", metavar="DURATION", help="How far back the very first sweep starts, like 7d.", rich_help_panel=_PANEL),
]
LogLevel = Annotated[
    str | None,
    typer.Option("--log-level", metavar="LEVEL", help="debug, info, warning or error.", rich_help_panel=_PANEL),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Any other setting; may be given again and again.", rich_help_panel=_PANEL),
]
Sample = Annotated[
    float | None,
    typer.Option(
        "--sample",
        metavar="SHARE",
        min=0,
        max=1,
        help="Share of the traces that is read, 0 to 1, chosen by trace id (sweep.sample).",
        rich_help_panel=_PANEL,
    ),
]
Project = Annotated[
    str | None,
    typer.Option("--project", metavar="NAME", help="Only this one of the [[projects]] in the file.", rich_help_panel=_PANEL),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def load(
    config: Path | None,
    flags: Mapping[str, object],
    assigned: Sequence[str] | None,
    *,
    required: Collection[str] = (),
    project: str | None = None,
) -> settings.Loaded:
    """Load the settings under these flags (by ``section.key``), ``--set`` ones and the process's environment. Raises BadSettings.

    With a ``project``, its settings alone.
    """
    given: dict[str, object] = {}
    for assignment in assigned or ():
        key, separator, value = assignment.partition("=")
        if not separator:
            raise typer.BadParameter(f"{key!r} has no value; write --set SECTION.KEY=VALUE")
        given[key.strip()] = value.strip()
    given.update({key: value for key, value in flags.items() if value is not None})
    loaded = settings.load(environ=os.environ, flags=given, config=config, required=required)
    if project is None:
        return loaded
    by_name = settings.each(loaded.settings)
    if project not in by_name or not loaded.settings.projects:
        known = f"there are: {', '.join(by_name)}" if loaded.settings.projects else "the configuration has no [[projects]]"
        raise typer.BadParameter(f"there is no project {project!r}; {known}", param_hint="--project")
    return replace(loaded, settings=by_name[project])


def load_one(
    config: Path | None, flags: Mapping[str, object], assigned: Sequence[str] | None, *, project: str | None = None
) -> settings.Loaded:
    """Load what work on a single project needs; where several are configured, one has to be named."""
    loaded = load(config, flags, assigned, required=settings.CREDENTIALS, project=project)
    match list(settings.each(loaded.settings)):
        case [only]:
            return replace(loaded, settings=settings.each(loaded.settings)[only])
        case several:
            raise typer.BadParameter(f"there are several projects, name one of them: {', '.join(several)}", param_hint="--project")


def address(state: str | None) -> str | None:
    """Return the database address that ``--state`` means: itself, or that of a SQLite file."""
    if state is None or "://" in state:
        return state
    return f"sqlite:///{Path(state).expanduser().absolute()}"


def moment(text: str, *, now: datetime, name: str) -> datetime:
    """Return the time that a flag means: so long ago, a date, or a time; without a zone it is UTC."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        try:
            return (now - duration.parse(text)).replace(microsecond=0)
        except (ValueError, OverflowError) as error:
            raise typer.BadParameter(f'{name} should be like "30d", 2026-01-31 or 2026-01-31T12:00:00Z') from error
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)
