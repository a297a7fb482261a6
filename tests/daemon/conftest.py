"""What the daemon's tests share: a clock that nobody waits for, and builders of rows."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Protocol

import pytest

from hunkwatch.core.model import Score
from hunkwatch.ports import Delivery, OutboxRow, SeenScore

if TYPE_CHECKING:
    from collections.abc import Callable

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@dataclass
class FakeClock:
    """Time that moves only when somebody sleeps."""

    at: datetime = NOON
    passed: float = 0.0
    slept: list[float] = field(default_factory=list)
    wakes: list[Callable[[], None]] = field(default_factory=list)

    def now(self) -> datetime:
        """Return the wall clock."""
        return self.at

    def monotonic(self) -> float:
        """Return seconds since the clock was made, which no jump moves."""
        return self.passed

    def forward(self, **span: float) -> None:
        """Let time pass."""
        step = timedelta(**span)
        self.at += step
        self.passed += step.total_seconds()

    def jump(self, **span: float) -> None:
        """Set the wall clock, as somebody does by hand."""
        self.at += timedelta(**span)

    async def sleep(self, seconds: float, *, unless: asyncio.Event) -> None:
        """Let the time pass at once."""
        self.slept.append(seconds)
        if not unless.is_set():
            self.forward(seconds=seconds)
        for wake in self.wakes:
            wake()
        await asyncio.sleep(0)


class MakeRow(Protocol):
    """Builds an outbox row; what is not named does not matter to the test."""

    def __call__(  # noqa: D102 (the class says it)
        self, state: Delivery = ..., *, sent: int = ..., looks: int = ..., day: int = ...
    ) -> OutboxRow: ...


@pytest.fixture
def clock() -> FakeClock:
    """Noon of a day, and no waiting."""
    return FakeClock()


@pytest.fixture
def make_row() -> MakeRow:
    """Return a builder of outbox rows."""

    def make(
        state: Delivery = Delivery.NEW,
        *,
        sent: int = 0,
        looks: int = 0,
        day: int = 30,
    ) -> OutboxRow:
        score = Score(
            id="s1",
            name="blind_rewrite",
            value=1.0,
            trace_id="t1",
            observation_id=None,
            timestamp=datetime(2026, 11, day, 9, 0, tzinfo=UTC),
            environment="default",
            comment="",
            metadata={"fingerprint": "f1"},
        )
        return OutboxRow("p1", score, "f1", "1", state, NOON, sent, looks)

    return make


@pytest.fixture
def make_seen() -> Callable[[OutboxRow], SeenScore]:
    """Return a builder of what Langfuse shows when it shows a row exactly."""

    def make(row: OutboxRow) -> SeenScore:
        score = row.score
        return SeenScore(score.id, score.name, score.value, score.timestamp, row.fingerprint)

    return make
