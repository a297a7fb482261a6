"""/metrics, /livez and /readyz over a real socket."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import pytest

from hunkwatch import events
from hunkwatch.errors import Exit, Halt
from hunkwatch.settings import HttpSection
from hunkwatch.telemetry import http
from hunkwatch.telemetry.health import PATIENCE

ANYWHERE = HttpSection(port=0)


async def nothing() -> None:
    """Refresh nothing."""


async def ask(address: tuple[str, int], request: bytes) -> tuple[str, str]:
    """Send a request and return the status line and the body; the server closes."""
    reader, writer = await asyncio.open_connection(*address)
    writer.write(request)
    answer = (await reader.read()).decode()
    writer.close()
    head, _, body = answer.partition("\r\n\r\n")
    return head.split("\r\n", 1)[0], body


async def get(address: tuple[str, int], path: str, method: str = "GET") -> tuple[str, str]:
    """Ask for one path."""
    return await ask(address, f"{method} {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())


def serving(here: Any, refresh: Any = nothing) -> Any:
    """Serve a bench on a free port."""
    return http.serve(ANYWHERE, here.metrics, here.health, clock=here.clock, refresh=refresh)


async def test_ready_follows_start_and_stop(bench: Callable[..., Any], an_event: Callable[..., Any]) -> None:
    """False before the first probe and after the signal, while alive all the time."""
    here = bench()
    async with serving(here) as address:
        seen = []
        for event in (None, an_event(events.WorkerStarted), an_event(events.WorkerStopping)):
            if event:
                here.telemetry.emit(event)
            seen.append([(await get(address, path))[0].split()[1] for path in ("/readyz", "/livez")])

    assert seen == [["503", "200"], ["200", "200"], ["503", "200"]]


async def test_a_loop_that_is_silent_too_long_is_not_alive(bench: Callable[..., Any], an_event: Callable[..., Any]) -> None:
    """The answer names the loop; failing and trying again counts as living."""
    here = bench()
    async with serving(here) as address:
        here.telemetry.emit(an_event(events.LoopTicked, loop="sweep"))
        here.telemetry.emit(an_event(events.LoopFailed, loop="deliver", wait=3600.0))
        here.clock.seconds += PATIENCE.total_seconds() + 10

        answer = await get(address, "/livez")

    assert answer == ("HTTP/1.1 503 Service Unavailable", "stuck: sweep\n")


async def test_a_scrape_brings_the_gauges_up_to_date_at_most_every_few_seconds(bench: Callable[..., Any]) -> None:
    """A scraper that asks often does not ask the database as often."""
    here, refreshed = bench(), []

    async def refresh() -> None:
        refreshed.append(here.clock.seconds)

    async with serving(here, refresh) as address:
        for seconds in (0, 1, 30):
            here.clock.seconds += seconds
            status, body = await get(address, "/metrics")

    assert (status, refreshed) == ("HTTP/1.1 200 OK", [1000.0, 1031.0])
    assert "# TYPE hunkwatch_build_info gauge" in body


async def test_a_failing_refresh_leaves_the_rest_of_the_page(bench: Callable[..., Any]) -> None:
    """A locked database does not take the metrics away."""

    async def refresh() -> None:
        raise Halt("locked", mend="wait")

    async with serving(bench(), refresh) as address:
        assert (await get(address, "/metrics"))[0] == "HTTP/1.1 200 OK"


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (b"GET /nothing HTTP/1.1\r\n\r\n", "HTTP/1.1 404 Not Found"),
        (b"GET /livez?x=1 HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK"),
        (b"POST /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 405 Method Not Allowed"),
        (b"\xff\xfe nonsense\r\n\r\n", "HTTP/1.1 405 Method Not Allowed"),
        (b"GET /livez HTTP/1.1\r\nX: " + b"x" * 20000, "HTTP/1.1 431 Request Header Fields Too Large"),
    ],
)
async def test_odd_requests_get_plain_answers(request_: bytes, expected: str, bench: Callable[..., Any]) -> None:
    """Nothing that arrives at the port raises or hangs."""
    async with serving(bench()) as address:
        assert expected == (await ask(address, request_))[0]


async def test_head_has_no_body(bench: Callable[..., Any]) -> None:
    """HEAD answers like GET without the page."""
    async with serving(bench()) as address:
        assert await get(address, "/livez", "HEAD") == ("HTTP/1.1 200 OK", "")


async def test_a_caller_that_leaves_early_hurts_nobody(bench: Callable[..., Any]) -> None:
    """The next one is answered."""
    async with serving(bench()) as address:
        _, writer = await asyncio.open_connection(*address)
        writer.write(b"GET /li")
        writer.close()
        await writer.wait_closed()

        assert (await get(address, "/livez"))[0] == "HTTP/1.1 200 OK"


async def test_a_taken_port_is_a_configuration_error_with_its_mend(bench: Callable[..., Any]) -> None:
    """Two workers with the default port are told what to change."""
    here = bench()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        section = HttpSection(port=taken.getsockname()[1])
        with pytest.raises(Halt) as caught:
            async with http.serve(section, here.metrics, here.health, clock=here.clock, refresh=nothing):
                pass

    assert caught.value.exit_code == Exit.CONFIG
    assert "HUNKWATCH_HTTP__PORT" in caught.value.mend
