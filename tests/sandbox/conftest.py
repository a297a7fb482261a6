"""A sandbox on a real socket with a clock that tests move, and observations to put into it."""

import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from hunkwatch.sandbox import Habits, Sandbox

KEYS = ("pk-lf-demo", "sk-lf-demo")
TLS = ssl.create_default_context()  # made once: each client would load the certificates anew
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-a\n+b\n*** End Patch"


@dataclass
class Served:
    """A served sandbox, a client with its key, and its clock."""

    sandbox: Sandbox
    client: httpx.AsyncClient
    clock: list[datetime]

    def wait(self, seconds: float) -> None:
        """Move the clock."""
        self.clock[0] += timedelta(seconds=seconds)

    async def get(self, path: str, **params: Any) -> Any:
        """The body of an answer that has to be good."""
        return (await self.client.get(f"/api/public{path}", params=params)).raise_for_status().json()

    async def rows(self, **params: Any) -> list[dict[str, Any]]:
        """The rows of one page of v2."""
        rows: list[dict[str, Any]] = (await self.get("/v2/observations", **params))["data"]
        return rows

    async def score(self, **body: Any) -> httpx.Response:
        """Post one score on trace ``t1``."""
        return await self.client.post("/api/public/scores", json={"traceId": "t1", "name": "q", "value": 1, **body})

    async def ingest(self, kind: str, body: dict[str, Any], id_: str = "e1", at: str | None = None) -> Any:
        """Send a batch of one event and give the answer's body."""
        moment = at or self.clock[0].isoformat()
        event = {"id": id_, "type": kind, "timestamp": moment, "body": body}
        return (await self.client.post("/api/public/ingestion", json={"batch": [event]})).json()

    async def export(self, span: dict[str, Any], **headers: str) -> httpx.Response:
        """Send one span as OTLP JSON."""
        begun = int(self.clock[0].timestamp() * 1000) * 10**6
        whole = {"traceId": "a" * 32, "spanId": "b" * 16, "name": "span", "startTimeUnixNano": begun, "endTimeUnixNano": begun, **span}
        request = {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "mine"}, "spans": [whole]}]}]}
        return await self.client.post("/api/public/otel/v1/traces", json=request, headers=headers)


Serve = Callable[..., Any]


def _sandbox(clock: list[datetime], habits: Habits | None, more: dict[str, Any]) -> Sandbox:
    return Sandbox(habits=habits, now=lambda: clock[0], **more)


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Serve sandboxes inside this process, without a socket; takes habits, and whatever else a sandbox takes."""
    async with AsyncExitStack() as stack:

        async def served(habits: Habits | None = None, **more: Any) -> Served:
            clock = [NOON]
            sandbox = _sandbox(clock, habits, more)
            transport = httpx.ASGITransport(sandbox.app)
            client = await stack.enter_async_context(httpx.AsyncClient(base_url="http://sandbox", auth=KEYS, transport=transport))
            return Served(sandbox, client, clock)

        yield served


@pytest.fixture
async def serve_on_socket() -> AsyncIterator[Serve]:
    """The same over a real socket."""
    async with AsyncExitStack() as stack:

        async def served(habits: Habits | None = None, **more: Any) -> Served:
            clock = [NOON]
            sandbox = _sandbox(clock, habits, more)
            url = await stack.enter_async_context(sandbox.serving())
            client = await stack.enter_async_context(httpx.AsyncClient(base_url=url, auth=KEYS, verify=TLS))
            return Served(sandbox, client, clock)

        yield served


@pytest.fixture
def tool() -> Callable[..., dict[str, Any]]:
    """Make an ``apply_patch`` observation in the form of v1: ``tool(number, **fields)``."""

    def made(number: int = 1, **more: Any) -> dict[str, Any]:
        start = f"2026-11-30T11:00:00.{number:03d}Z"
        row = {"id": f"o{number}", "traceId": "t1", "name": "apply_patch", "type": "TOOL", "startTime": start, "input": {"input": PATCH}}
        return row | more

    return made
