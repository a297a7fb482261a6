"""A clock that stands still, one of every event, and a telemetry that writes into memory."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import pytest

from hunkwatch import events
from hunkwatch.settings import LogSection
from hunkwatch.telemetry.emit import Telemetry
from hunkwatch.telemetry.health import Health
from hunkwatch.telemetry.logs import open_log
from hunkwatch.telemetry.metrics import Metrics

if TYPE_CHECKING:
    import asyncio

EVENTS = get_args(events.Event)


@dataclass
class StillClock:
    """Time that moves when the test says so."""

    wall: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    seconds: float = 1000.0

    def now(self) -> datetime:
        """Return the wall time."""
        return self.wall

    def monotonic(self) -> float:
        """Return the monotonic seconds."""
        return self.seconds

    async def sleep(self, seconds: float, *, unless: asyncio.Event) -> None:
        """Move on at once."""
        del unless
        self.seconds += seconds


@dataclass
class Bench:
    """A telemetry and everything that comes out of it."""

    telemetry: Telemetry
    stream: io.StringIO
    metrics: Metrics
    health: Health
    clock: StillClock = field(default_factory=StillClock)

    @property
    def output(self) -> str:
        """Return all that was logged and all that is measured."""
        return self.stream.getvalue() + self.metrics.render().decode()


@pytest.fixture
def bench() -> Callable[..., Bench]:
    """Build a telemetry; every argument is a setting of [log], except ``secrets``."""

    def build(*, secrets: tuple[str, ...] = (), **settings: Any) -> Bench:
        stream, clock, metrics, health = io.StringIO(), StillClock(), Metrics(), Health()
        section = LogSection.model_validate({"format": "json", "level": "debug", **settings})
        log = open_log(section, stream, secrets=secrets, environ={})
        telemetry = Telemetry(log, metrics, health, clock=clock, repeat_every=section.repeat_every.total_seconds(), secrets=secrets)
        return Bench(telemetry, stream, metrics, health, clock)

    return build


@pytest.fixture
def an_event() -> Callable[..., Any]:
    """Build an event of a class with plain values, some replaced."""

    def build(kind: type, *, text: str = "word", **given: object) -> object:
        plain = {str: text, int: 2, float: 0.5, bool: False, datetime: datetime(2026, 1, 2, tzinfo=UTC), float | str: 0.5}
        types = get_type_hints(kind)
        return kind(**{item.name: given.get(item.name, plain[types[item.name]]) for item in fields(kind)})

    return build


@pytest.fixture(params=EVENTS, ids=lambda kind: kind.__name__)
def kind(request: pytest.FixtureRequest) -> type:
    """Every class of event, one after the other."""
    found: type = request.param
    return found
