"""/metrics, /livez and /readyz over plain HTTP, for a scraper and a supervisor on the same machine.

Knows GET and HEAD of three paths and nothing else: a request is at most 8 KB and five seconds, an answer closes the connection.
"""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from hunkwatch.errors import Exit, Halt
from hunkwatch.telemetry.metrics import CONTENT_TYPE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from hunkwatch.ports import Clock
    from hunkwatch.settings import HttpSection
    from hunkwatch.telemetry.health import Health
    from hunkwatch.telemetry.metrics import Metrics

PATHS = ("/metrics", "/livez", "/readyz")

_LARGEST_REQUEST = 8192
_PATIENCE = 5.0
_FRESH = 10.0


@dataclass(frozen=True, slots=True)
class _Answer:
    status: HTTPStatus
    body: bytes
    content_type: str = "text/plain; charset=utf-8"


class _Service:
    def __init__(self, metrics: Metrics, health: Health, clock: Clock, refresh: Callable[[], Awaitable[None]]) -> None:
        self._metrics = metrics
        self._health = health
        self._clock = clock
        self._refresh = refresh
        self._refreshed: float | None = None
        self._refreshing = asyncio.Lock()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            try:
                async with asyncio.timeout(_PATIENCE):
                    head = await reader.readuntil(b"\r\n\r\n")
            except (asyncio.IncompleteReadError, TimeoutError):
                writer.close()
                return
            except asyncio.LimitOverrunError:
                await _write(writer, _Answer(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, b"too large\n"), with_body=True)
                return
            method, _, rest = head.partition(b"\r\n")[0].decode("latin-1").partition(" ")
            answer = await self._answer(method, rest.partition(" ")[0].partition("?")[0])
            await _write(writer, answer, with_body=method != "HEAD")

    async def _answer(self, method: str, path: str) -> _Answer:
        if method not in {"GET", "HEAD"}:
            return _Answer(HTTPStatus.METHOD_NOT_ALLOWED, b"GET or HEAD\n")
        match path:
            case "/metrics":
                await self._bring_up_to_date()
                return _Answer(HTTPStatus.OK, self._metrics.render(), CONTENT_TYPE)
            case "/livez":
                stuck = self._health.stuck(at=self._clock.monotonic())
                return (
                    _Answer(HTTPStatus.SERVICE_UNAVAILABLE, f"stuck: {', '.join(stuck)}\n".encode())
                    if stuck
                    else _Answer(HTTPStatus.OK, b"ok\n")
                )
            case "/readyz":
                parked = "".join(f"parked: {name}: {reason}\n" for name, reason in self._health.parked.items())
                word, status = ("ok", HTTPStatus.OK) if self._health.ready else ("not ready", HTTPStatus.SERVICE_UNAVAILABLE)
                return _Answer(status, f"{word}\n{parked}".encode("utf-8", "replace"))
            case _:
                return _Answer(HTTPStatus.NOT_FOUND, f"{' '.join(PATHS)}\n".encode())

    async def _bring_up_to_date(self) -> None:
        async with self._refreshing:
            now = self._clock.monotonic()
            if self._refreshed is not None and now - self._refreshed < _FRESH:
                return
            self._refreshed = now
            with contextlib.suppress(Exception):
                await self._refresh()


async def _write(writer: asyncio.StreamWriter, answer: _Answer, *, with_body: bool) -> None:
    head = (
        f"HTTP/1.1 {answer.status.value} {answer.status.phrase}\r\nContent-Type: {answer.content_type}\r\n"
        f"Content-Length: {len(answer.body)}\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
    )
    writer.write(head.encode("latin-1") + (answer.body if with_body else b""))
    await writer.drain()
    writer.close()


@asynccontextmanager
async def serve(
    section: HttpSection, metrics: Metrics, health: Health, *, clock: Clock, refresh: Callable[[], Awaitable[None]]
) -> AsyncIterator[tuple[str, int]]:
    """Listen while the context is open and yield the address. Raises Halt when the address cannot be had.

    ``refresh`` brings gauges up to date before a scrape; its failure leaves them as they were.
    """
    service = _Service(metrics, health, clock, refresh)
    try:
        server = await asyncio.start_server(service.serve, section.host, section.port, limit=_LARGEST_REQUEST)
    except OSError as error:
        raise Halt(
            f"cannot listen on {section.host}:{section.port}: {error.strerror or type(error).__name__}",
            mend="Give [http] port (HUNKWATCH_HTTP__PORT) another number, or 0 to serve nothing.",
            exit_code=Exit.CONFIG,
        ) from error
    async with server:
        host, port = server.sockets[0].getsockname()[:2]
        yield host, port
