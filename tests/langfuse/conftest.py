"""What the adapter's tests share: time that nobody waits for, a scripted network edge, recorded exchanges, the sandbox on a socket."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from pydantic import SecretStr

from hunkwatch.core.model import Score
from hunkwatch.langfuse.http import Http
from hunkwatch.settings import LangfuseSection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from hunkwatch.events import Event

RECORDED = Path(__file__).parent / "recorded"
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
BASE = "https://langfuse.example/base/"


@dataclass
class FakeClock:
    """Time that moves only when somebody sleeps."""

    at: datetime = NOON
    passed: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def now(self) -> datetime:
        """Return the wall clock."""
        return self.at

    def monotonic(self) -> float:
        """Return seconds that never jump."""
        return self.passed

    def forward(self, seconds: float) -> None:
        """Let time pass."""
        self.at += timedelta(seconds=seconds)
        self.passed += seconds

    async def sleep(self, seconds: float, *, unless: asyncio.Event) -> None:  # noqa: ARG002 - the port's signature
        """Let the time pass at once."""
        self.slept.append(seconds)
        self.forward(seconds)
        await asyncio.sleep(0)


@dataclass
class Edge:
    """A network edge that answers from a script, and keeps what was asked and what was told."""

    clock: FakeClock
    asked: list[httpx.Request] = field(default_factory=list)
    told: list[Event] = field(default_factory=list)

    def http(self, answer: Callable[[httpx.Request], httpx.Response], **options: Any) -> Http:
        """Return a conversation whose every request is answered by ``answer``."""

        def handle(request: httpx.Request) -> httpx.Response:
            self.asked.append(request)
            return answer(request)

        client = httpx.AsyncClient(base_url=BASE, transport=httpx.MockTransport(handle), auth=("pk-lf-test", "sk-lf-test"))
        return Http(client, clock=self.clock, emit=self.told.append, **options)

    def script(self, *answers: httpx.Response | Exception, **options: Any) -> Http:
        """Return a conversation that gives these answers in their order."""
        waiting = iter(answers)

        def answer(_request: httpx.Request) -> httpx.Response:
            given = next(waiting)
            if isinstance(given, Exception):
                raise given
            return given

        return self.http(answer, **options)

    def told_of(self, kind: type[Event]) -> list[Any]:
        """Return the events of one kind."""
        return [event for event in self.told if isinstance(event, kind)]


@pytest.fixture
def clock() -> FakeClock:
    """Noon of a day, and no waiting."""
    return FakeClock()


@pytest.fixture
def edge(clock: FakeClock) -> Edge:
    """A network edge to be scripted."""
    return Edge(clock)


@pytest.fixture
def recorded() -> Callable[[str], dict[str, Any]]:
    """Return a reader of recorded exchanges by their number."""

    def read(number: str) -> dict[str, Any]:
        (path,) = RECORDED.glob(f"{number}-*.json")
        exchange: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return exchange

    return read


@pytest.fixture
def replayed(recorded: Callable[[str], dict[str, Any]]) -> Callable[[str], httpx.Response]:
    """Return a maker of the recorded answer by its number."""

    def answer(number: str) -> httpx.Response:
        given = recorded(number)["response"]
        body = given["body"] if isinstance(given["body"], str) else json.dumps(given["body"])
        return httpx.Response(given["status"], headers=given["headers"], content=body.encode())

    return answer


@pytest.fixture
def make_score() -> Callable[..., Score]:
    """Return a builder of scores; what is not named does not matter to the test."""

    def make(identity: str = "s1", **parts: Any) -> Score:
        given: dict[str, Any] = {
            "id": identity,
            "name": "blind_rewrite",
            "value": 0.75,
            "trace_id": "t1",
            "observation_id": None,
            "timestamp": datetime(2026, 11, 30, 9, 0, 0, 250_000, tzinfo=UTC),
            "environment": "default",
            "comment": "One of four hunks is blind.",
            "metadata": {"fingerprint": f"f-{identity}", "scorer": "1"},
        }
        return Score(**{**given, **parts})

    return make


@pytest.fixture
def make_section() -> Callable[[str], LangfuseSection]:
    """Return a builder of the settings that lead to a sandbox."""

    def make(base_url: str, **parts: Any) -> LangfuseSection:
        return LangfuseSection(base_url=base_url, **{"public_key": "pk-lf-demo", "secret_key": SecretStr("sk-lf-demo"), **parts})

    return make


@pytest.fixture
def on_socket(edge: Edge) -> Callable[[str, tuple[str, str]], Any]:
    """Return an opener of a conversation over a real socket."""

    @asynccontextmanager
    async def opened(base_url: str, keys: tuple[str, str]) -> AsyncIterator[Http]:
        async with httpx.AsyncClient(base_url=f"{base_url}/", auth=keys) as client:
            yield Http(client, clock=edge.clock, emit=edge.told.append)

    return opened
