"""``demo`` and ``sandbox``: the whole thing without a Langfuse, which needs the extra ``demo``. ``seed``: sample traces for yours."""

from __future__ import annotations

from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hunkwatch.cli import options, printing
from hunkwatch.errors import Exit, Halt

if TYPE_CHECKING:
    from collections.abc import Iterator


class Mode(StrEnum):
    """How the server writes: what 4.x does by itself, or what it does while it is moved from 3.x."""

    EVENTS_ONLY = "events_only"
    DUAL = "dual"


def demo(
    *,
    page: Annotated[Path, typer.Option("--page", metavar="FILE", help="Where the page of the report goes.")] = Path("hunkwatch-demo.html"),
    serve: Annotated[bool, typer.Option("--serve", help="Then serve the page on this machine alone, until Ctrl-C.")] = False,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port for --serve; 0 takes a free one.")] = 0,
) -> None:
    """Start a small Langfuse, send it traces of coding agents, run the worker, show the scores, write the page of the report."""
    with _extra():
        from hunkwatch.demo.serve import serve as show  # noqa: PLC0415 - needs the extra
        from hunkwatch.demo.stage import main  # noqa: PLC0415 - needs the extra
    try:
        code = main(page, then=(lambda written: show(written, port=port)) if serve else None)
    except OSError as error:
        raise Halt(f"{error.filename or page}: {error.strerror}", mend="Name another file or port.", exit_code=Exit.USAGE) from None
    if code:
        raise typer.Exit(code)


def seed(
    *,
    config: options.Config = None,
    project: options.Project = None,
    base_url: options.BaseUrl = None,
    assigned: options.Set = None,
) -> None:
    """Send the sample traces of the demo to your Langfuse and wait until it shows them; `hunkwatch run` then scores them."""
    loaded = options.load_one(config, {"langfuse.base_url": base_url}, assigned, project=project)
    from hunkwatch.demo.seed import seed as plant  # noqa: PLC0415 - the SDK takes a second to load

    planted = plant(loaded.settings.langfuse)
    printing.show(f"{planted.traces} traces with {planted.observations} observations can be seen in {loaded.settings.langfuse.base_url}")


def sandbox(
    *,
    version: Annotated[str, typer.Option("--version", metavar="VERSION", help="Langfuse version that it answers as.")] = "4.16.0",
    mode: Annotated[Mode, typer.Option("--mode", help="Write mode that it answers in.")] = Mode.EVENTS_ONLY,
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 3000,
) -> None:
    """Serve a small Langfuse-compatible API from memory, to try agents and the worker against; Ctrl-C ends it.

    Prints the three variables that point an agent, or `hunkwatch run`, at it.
    """
    with _extra():
        from hunkwatch.sandbox import Project, Sandbox, serve  # noqa: PLC0415 - needs the extra
    project = Project()

    def announce(url: str) -> None:
        keys = {"BASE_URL": url, "PUBLIC_KEY": project.public_key, "SECRET_KEY": project.secret_key}
        printing.show(*(f"export LANGFUSE_{name}={value}" for name, value in keys.items()))
        printing.finish()

    try:
        serve(Sandbox(version, mode.value, projects=(project,)), host=host, port=port, ready=announce)
    except OSError as error:
        mend = "Give --port another number; 0 takes a free one."
        raise Halt(f"cannot listen on {host}:{port}: {error.strerror}", mend=mend, exit_code=Exit.USAGE) from None


@contextmanager
def _extra() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("hunkwatch"):
            raise
        mend = 'Install it with pip install "hunkwatch[demo]".'
        raise Halt(f"{error.name} is not installed", mend=mend, exit_code=Exit.USAGE) from None
