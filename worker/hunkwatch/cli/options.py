"""The flags that several verbs share, and the settings that come of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hunkwatch import settings

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
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def load(
    config: Path | None, flags: Mapping[str, object], assigned: Sequence[str] | None, *, required: Collection[str] = ()
) -> settings.Loaded:
    """Load the settings under these flags (by ``section.key``), ``--set`` ones and the process's environment. Raises BadSettings."""
    given: dict[str, object] = {}
    for assignment in assigned or ():
        key, separator, value = assignment.partition("=")
        if not separator:
            raise typer.BadParameter(f"{key!r} has no value; write --set SECTION.KEY=VALUE")
        given[key.strip()] = value.strip()
    given.update({key: value for key, value in flags.items() if value is not None})
    return settings.load(environ=os.environ, flags=given, config=config, required=required)


def address(state: str | None) -> str | None:
    """Return the database address that ``--state`` means: itself, or that of a SQLite file."""
    if state is None or "://" in state:
        return state
    return f"sqlite:///{Path(state).expanduser().absolute()}"
