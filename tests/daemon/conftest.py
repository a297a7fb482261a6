"""What the daemon's tests share: a clock that nobody waits for, and builders of rows."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import pytest
from pydantic import SecretStr

from hunkwatch import app, events
from hunkwatch.core.model import Score
from hunkwatch.daemon import deliver, upkeep
from hunkwatch.daemon.reconcile import Reconciler
from hunkwatch.daemon.sweep import Sweeper
from hunkwatch.errors import RetryLater
from hunkwatch.ports import Delivery, OutboxRow, SeenScore
from hunkwatch.sandbox import Project as SandboxProject
from hunkwatch.sandbox import Sandbox
from hunkwatch.sandbox.shelf import Shelf
from hunkwatch.settings import HttpSection, LangfuseSection, Settings, StoreSection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from hunkwatch.daemon.project import Project
    from hunkwatch.daemon.reports import OnceReport

T = TypeVar("T")

_LONGEST_NAP = 300.0

KEYS = SandboxProject(id="project-1", public_key="pk-lf-test", secret_key="sk-lf-test")

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


SURGICAL = "*** Begin Patch\n*** Update File: a.py\n@@\n keep\n-old = 1\n+old = 2\n more\n*** End Patch"
BLIND = "*** Begin Patch\n*** Update File: b.py\n@@\n-a1\n-a2\n-a3\n-a4\n+b1\n+b2\n+b3\n+b4\n*** End Patch"

Wire = dict[str, Any]


def tool_call(trace: str, span: str, start: datetime, *, blind: bool = False, **changes: Any) -> Wire:
    """Return an observation of a tool that ran ``apply_patch``, in the form of Langfuse's v1 reading."""
    row: Wire = {
        "id": span,
        "traceId": trace,
        "type": "TOOL",
        "name": "apply_patch",
        "startTime": stamp(start),
        "endTime": stamp(start + timedelta(seconds=1)),
        "input": {"input": BLIND if blind else SURGICAL},
        "output": "Success. Updated the following files:\nM a.py",
        "environment": "production",
    }
    return {**row, **changes}


def stamp(at: datetime) -> str:
    """Spell a time as Langfuse does."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class World:
    """A sandbox Langfuse, a state on disk, a worker, and one clock for all of them."""

    def __init__(self, clock: FakeClock, folder: Path, base_url: str, sandbox: Sandbox) -> None:
        """Start at rest."""
        self.clock = clock
        self.sandbox = sandbox
        self.told: list[events.Event] = []
        self.state = folder / "hunkwatch.db"
        self.settings = Settings(
            langfuse=LangfuseSection(base_url=base_url, public_key=KEYS.public_key, secret_key=SecretStr(KEYS.secret_key)),
            store=StoreSection(url=f"sqlite:///{self.state}"),
            http=HttpSection(port=0),
        )

    def adjust(self, section: str, **values: Any) -> None:
        """Change settings of one section."""
        changed = getattr(self.settings, section).model_copy(update=values)
        self.settings = self.settings.model_copy(update={section: changed})

    def add(self, *rows: Wire) -> None:
        """Let Langfuse show observations from now on."""
        now = stamp(self.clock.now())
        self.sandbox.add_observations({"createdAt": now, "updatedAt": now, **row} for row in rows)

    @asynccontextmanager
    async def worker(self) -> AsyncIterator[Project]:
        """Open the real worker, nothing replaced but the clock."""
        async with app.opened(self.settings, emit=self.told.append, clock=self.clock) as project:
            yield project

    async def live(self, project: Project, *, minutes: float, every: float = 15.0) -> None:
        """Let the loops turn for a while of the world's time, which goes in long steps where nothing is due."""
        until = self.clock.now() + timedelta(minutes=minutes)
        sweeper, reconciler = Sweeper(project), Reconciler(project)

        async def sweep_once() -> bool:
            return not (await sweeper.tick()).caught_up

        async def deliver_once() -> bool:
            return not (await deliver.tick(project)).idle

        async def upkeep_once() -> bool:
            return await upkeep.tick(project) > 0

        while self.clock.now() < until:
            for tick in (sweep_once, reconciler.tick, upkeep_once, deliver_once):
                try:
                    while await tick():
                        pass
                except RetryLater as error:
                    self.told.append(events.LoopFailed(project.id, "any", str(error), 0.0))
            due = await project.store.next_due(project.id)
            until_due = _LONGEST_NAP if due is None else (due - self.clock.now()).total_seconds()
            self.clock.forward(seconds=max(every, min(until_due, _LONGEST_NAP, (until - self.clock.now()).total_seconds())))

    async def sweep(self, project: Project) -> None:
        """Read everything up to now."""
        sweeper = Sweeper(project)
        while not (await sweeper.tick()).caught_up:
            pass

    async def run(self, *, minutes: float) -> None:
        """Start the worker, let it live, close it."""
        async with self.worker() as project:
            await self.live(project, minutes=minutes)

    async def once(self) -> OnceReport:
        """Make one pass, as cron does."""
        return await app.run_once(self.settings, emit=self.told.append, clock=self.clock)

    def lose_state(self) -> None:
        """Delete everything that the worker knows."""
        for path in self.state.parent.glob(f"{self.state.name}*"):
            path.unlink()

    def forget(self, trace: str) -> None:
        """Let somebody delete a trace in Langfuse; its scores go with it."""
        room = self.sandbox._state.rooms[KEYS.id]
        kept = [row for row in room.shelf.newest_first(None, None) if row.trace != trace]
        room.shelf = Shelf()
        room.shelf.add(kept)
        for score in self.sandbox.scores():
            if score["traceId"] == trace:
                room.scores.delete(score["id"], at=self.sandbox._state.now())

    def shown(self) -> dict[tuple[str, str | None, str], float | str]:
        """Return the scores that Langfuse holds once all that is under way is done, by subject and name; each must be there once."""
        rows = self.sandbox.all_scores()
        scores = {(row["traceId"], row["observationId"] or None, row["name"]): _value(row) for row in rows}
        assert len(rows) == len(scores), "a score is there twice"
        return scores

    def writes(self) -> int:
        """Count the requests so far that change something in Langfuse."""
        return sum(method != "GET" for method, _, _ in self.sandbox.requests)

    def heard(self, kind: type[T]) -> list[T]:
        """Return the events of one kind."""
        return [event for event in self.told if isinstance(event, kind)]


def _value(row: Wire) -> float | str:
    value = row["stringValue"] if row["dataType"] == "CATEGORICAL" else row["value"]
    assert isinstance(value, float | int | str)
    return value


@pytest.fixture
def call() -> Callable[..., Wire]:
    """Return the builder of tool calls."""
    return tool_call


@pytest.fixture
async def world(clock: FakeClock, tmp_path: Path) -> AsyncIterator[World]:
    """Return a sandbox without bad habits and a worker that has never run."""
    sandbox = Sandbox(projects=(KEYS,), now=clock.now)
    async with sandbox.serving() as base_url:
        yield World(clock, tmp_path, base_url, sandbox)


@pytest.fixture
def stamped() -> Callable[[datetime], str]:
    """Return how Langfuse spells a time."""
    return stamp
