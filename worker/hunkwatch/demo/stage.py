"""The demo from start to end: everything real but the server, on 127.0.0.1, and nothing left behind.

Owns the order: serve, send, wait until the server shows it, work, read back, work again (which must write nothing), show.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from pydantic import SecretStr
from rich.console import Console

from hunkwatch import app, errands, settings
from hunkwatch.demo import harvest, send, sessions, show
from hunkwatch.errors import Exit
from hunkwatch.report import Asked
from hunkwatch.report import page as pages
from hunkwatch.report.made import no_link
from hunkwatch.sandbox import Project, Sandbox

if TYPE_CHECKING:
    from hunkwatch.daemon.reports import OnceReport
    from hunkwatch.demo.harvest import Row
    from hunkwatch.events import Event
    from hunkwatch.report import Report

_PATIENCE = timedelta(seconds=20)
_EVERY = timedelta(hours=3)
"""Between two sessions, so that the report has some days to show."""

_FOREIGN = ("LANGFUSE_", "OTEL_", "HUNKWATCH_")


@dataclass(frozen=True, slots=True)
class Played:
    """What a demo did: the traces as their scores show them, and both passes of the worker."""

    rows: tuple[Row, ...]
    first: OnceReport
    again: OnceReport
    report: Report

    @property
    def exit(self) -> Exit:
        """OK when every planted call was found, nothing else was, and the second pass sent nothing."""
        good = all(row.found == row.planted and not row.strays for row in self.rows) and not self.again.sent
        return self.first.exit or self.again.exit or (Exit.OK if good else Exit.FINDING)


def main(page: Path, *, then: Callable[[Path], None] | None = None) -> Exit:
    """Play the demo on stdout and write the page of its report; ``then`` gets the page once everything else is said."""
    console = Console(highlight=False)
    played = run(console if console.is_terminal else Console(highlight=False, width=show.WIDTH), page)
    if then is not None:
        then(page)
    return played.exit


def run(console: Console, page: Path) -> Played:
    """Play the demo, print it, and write the page."""
    started = time.monotonic()
    planted = sessions.load()
    project = Project(id="demo", public_key=f"pk-lf-{token_hex(8)}", secret_key=f"sk-lf-{token_hex(8)}", name="demo")
    with _by_itself(), TemporaryDirectory(prefix="hunkwatch-demo-") as folder:
        sandbox = Sandbox(projects=(project,))
        with sandbox.serving_in_thread() as base_url:
            console.print(f"A sandbox answers as Langfuse {sandbox.version} on {base_url}")
            keys = {"base_url": base_url, "public_key": project.public_key, "secret_key": project.secret_key}
            sent = send.send(planted, **keys, until=datetime.now(UTC), every=_EVERY)
            spans = sum(one.observations for one in sent)
            agents = len({one.session.agent for one in sent if one.planted})
            _wait_until(lambda: harvest.visible(**keys) >= spans)
            console.print(f"The Langfuse SDK sent it {len(sent)} traces of {agents} kinds of agents, {spans} observations")
            configured = _settings(Path(folder), **keys)
            first, again = asyncio.run(_work(configured))
            report, text = asyncio.run(_report(configured))
            rows = harvest.harvest(sent, **keys)
    page.write_text(text, "utf-8")
    played = Played(rows, first, again, report)
    console.print(f"The worker read {first.observations} observations and sent {first.sent} scores; a second pass sent {again.sent}")
    console.print(f"All of it took {time.monotonic() - started:.1f} seconds\n")
    show.out(console, rows, page=page)
    return played


async def _work(configured: settings.Settings) -> tuple[OnceReport, OnceReport]:
    first = await app.run_once(configured, emit=_say_nothing, patience=_PATIENCE)
    return first, await app.run_once(configured, emit=_say_nothing, patience=_PATIENCE)


async def _report(configured: settings.Settings) -> tuple[Report, str]:
    """Return the report and its page: with patches, which are nobody's secret, and without links, since the server ends with the demo."""
    counted = await errands.report(configured, Asked())
    patches = await errands.patches(configured, counted)
    made = replace(counted, link=no_link, source="the sample project of the demo")
    return made, pages.of_report(made, heading="Hunkwatch demo", patches=patches)


def _settings(folder: Path, *, base_url: str, public_key: str, secret_key: str) -> settings.Settings:
    """Return the defaults, but for a server that shows a score at once and traces that are hours old."""
    return settings.Settings(
        langfuse=settings.LangfuseSection(base_url=base_url, public_key=public_key, secret_key=SecretStr(secret_key)),
        sweep=settings.SweepSection(request_grace=timedelta(0)),
        delivery=settings.DeliverySection(
            every=timedelta(milliseconds=100), look_after=(timedelta(milliseconds=200), timedelta(seconds=1), timedelta(seconds=5))
        ),
        store=settings.StoreSection(url=f"sqlite:///{folder}/hunkwatch.db"),
    )


@contextmanager
def _by_itself() -> Iterator[None]:
    """Hide proxies and other programs' Langfuse variables from the SDK: the demo talks to this machine alone."""
    hidden = {name: text for name, text in os.environ.items() if name.startswith(_FOREIGN) or name.lower().endswith("_proxy")}
    for name in hidden:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(hidden)


def _wait_until(ready: Callable[[], bool]) -> None:
    until = time.monotonic() + _PATIENCE.total_seconds()
    while not ready() and time.monotonic() < until:
        time.sleep(0.1)


def _say_nothing(event: Event) -> None:
    del event
