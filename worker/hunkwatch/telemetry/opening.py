"""Open a worker's whole telemetry from its settings: one log, one registry, one health, one ``emit``."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from hunkwatch.settings import secrets_of
from hunkwatch.telemetry import http, logs
from hunkwatch.telemetry.emit import Telemetry
from hunkwatch.telemetry.health import Health
from hunkwatch.telemetry.metrics import Metrics

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from structlog.typing import FilteringBoundLogger

    from hunkwatch.events import Emit
    from hunkwatch.ports import Clock
    from hunkwatch.settings import Settings


@dataclass(frozen=True, slots=True)
class Opened:
    """What a worker says, counts and answers for."""

    emit: Emit
    log: FilteringBoundLogger
    metrics: Metrics
    health: Health
    hide: Callable[[Settings], None]
    """Keeps the secrets of other settings out of all output too."""
    adopt: Callable[[Settings], None]
    """Goes on as another [log] says."""


def open_telemetry(settings: Settings, stream: TextIO, *, clock: Clock, environ: Mapping[str, str]) -> Opened:
    """Write to the stream as [log] says; none of the settings' secrets can pass."""
    secrets = secrets_of(settings)
    log = logs.open_log(settings.log, stream, secrets=secrets, environ=environ)
    metrics, health = Metrics(), Health()
    repeat_every = settings.log.repeat_every.total_seconds()
    telemetry = Telemetry(log, metrics, health, clock=clock, repeat_every=repeat_every, secrets=secrets)

    def hide(others: Settings) -> None:
        telemetry.hide(secrets_of(others))

    def adopt(others: Settings) -> None:
        renewed = logs.open_log(others.log, stream, secrets=(*secrets, *secrets_of(others)), environ=environ)
        telemetry.adopt(renewed, others.log.repeat_every.total_seconds())

    return Opened(telemetry.emit, log, metrics, health, hide, adopt)


@asynccontextmanager
async def serving(settings: Settings, opened: Opened, *, clock: Clock, refresh: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Serve /metrics, /livez and /readyz while the context is open, unless [http] port is 0; foreign warnings are passed on."""
    with logs.adopting(opened.log):
        if not settings.http.port:
            yield
            return
        async with http.serve(settings.http, opened.metrics, opened.health, clock=clock, refresh=refresh):
            yield
