"""Three real processes share one project over a real Postgres and are killed at random while Langfuse misbehaves."""

from __future__ import annotations

import random
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from hunkwatch.sandbox import Fault, Habits, Wrong

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(600)]

REPLICAS = 3
KILLS = 20
SEED = 20_261_201
LEASE = 3.0
"""Seconds; all that is measured is measured in these."""

BAD_DAY = Habits(
    seed=SEED,
    faults=(
        Fault(Wrong.BROKEN, share=0.03),
        Fault(Wrong.RATE_LIMITED, share=0.02, method="GET", seconds=0.2),
        Fault(Wrong.TOO_HEAVY, share=0.02, method="GET"),
        Fault(Wrong.CUT, share=0.02),
        Fault(Wrong.SLOW, share=0.05, seconds=0.1),
    ),
    dropped_scores=0.1,
    partial_errors=0.1,
    duplicated_rows=0.3,
    resent_rows=0.3,
    late_rows=0.3,
    late_by=2.0,
)


@dataclass
class Fleet:
    """Some replicas of one worker, and what their database says of them."""

    station: Any
    url: str
    database: psycopg.Connection
    members: list[subprocess.Popen[str]] = field(default_factory=list)

    def grow(self) -> None:
        """Start a replica; its log goes nowhere, since nobody reads it."""
        more = {"HUNKWATCH_STORE__URL": self.url, "HUNKWATCH_STORE__LEASE": f"{LEASE:.0f}s", "HUNKWATCH_LOG__LEVEL": "error"}
        self.members.append(self.station.start("run", **more))

    def kill(self, member: subprocess.Popen[str]) -> None:
        """End a replica as a machine does that loses its power."""
        self.members.remove(member)
        member.kill()
        member.communicate()

    def holder(self) -> str | None:
        """Return who has the right to sweep now, None while nobody does."""
        found = self.database.execute("SELECT holder, until FROM hunkwatch_lease").fetchone()
        return found[0] if found and found[1] > datetime.now(UTC).timestamp() * 1e6 else None

    def all_there(self) -> bool:
        """Say whether every replica has been heard of."""
        try:
            heard = self.database.execute("SELECT holder FROM hunkwatch_replica").fetchall()
        except psycopg.errors.UndefinedTable:
            return False
        return all(any(f"-{member.pid}-" in holder for (holder,) in heard) for member in self.members)

    def done(self) -> bool:
        """Say whether everything that is expected was seen in Langfuse, and nothing else is on record."""
        return self.outbox() == {"seen": len(self.station.expected)}

    def outbox(self) -> dict[str, int]:
        """Count the scores by state."""
        return dict(self.database.execute("SELECT state, count(*) FROM hunkwatch_outbox GROUP BY state").fetchall())

    def has_in_hand(self, holder: str) -> bool:
        """Say whether a claim is left of a replica."""
        mine = (f"{holder}/%",)
        return self.database.execute("SELECT 1 FROM hunkwatch_outbox WHERE claimed_by LIKE %s LIMIT 1", mine).fetchone() is not None

    def member(self, holder: str) -> subprocess.Popen[str] | None:
        """Return the process of that name."""
        return next((member for member in self.members if f"-{member.pid}-" in holder), None)


@pytest.fixture
def fleet(station: Any, postgres_url: str) -> Iterator[Fleet]:
    """A project of three replicas in a database of its own."""
    with psycopg.connect(postgres_url, autocommit=True) as database:
        made = Fleet(station, postgres_url, database)
        yield made
        for member in list(made.members):
            made.kill(member)


def test_replicas_that_are_killed_at_random_lose_and_double_nothing(
    fleet: Fleet, station: Any, wait_until: Callable[[Callable[[], bool]], None]
) -> None:
    """Twenty kills among three replicas, traces arriving all the time: every score is there once, and no other."""
    moments = random.Random(SEED)  # noqa: S311 (moments, not secrets)
    for _ in range(REPLICAS):
        fleet.grow()
    wait_until(lambda: len(station.sandbox.requests) > REPLICAS * 3)
    station.sandbox.habits = BAD_DAY
    for kill in range(KILLS):
        station.add_traces(f"t{kill}a", f"t{kill}b")
        until = len(station.sandbox.requests) + moments.randint(2, 30)
        wait_until(lambda until=until: len(station.sandbox.requests) >= until)
        time.sleep(moments.uniform(0.0, 0.02))
        fleet.kill(moments.choice(fleet.members))
        fleet.grow()
    met = {status for _, _, status in station.sandbox.requests}
    station.sandbox.habits = Habits()

    with suppress(AssertionError):
        wait_until(fleet.done)
    if "dead" in fleet.outbox():
        station.finish("dead-letters", "retry", "--all", HUNKWATCH_STORE__URL=fleet.url)
        wait_until(fleet.done)

    assert fleet.outbox() == {"seen": len(station.expected)}

    assert len(met & {422, 429, 500}) > 1, "the bad day was a good one"
    assert [] == [member for member in fleet.members if member.poll() is not None], "a replica that was not killed has ended"
    assert station.shown() == station.expected


def test_the_work_of_a_dead_replica_is_taken_over_in_two_lease_periods(
    fleet: Fleet, station: Any, wait_until: Callable[[Callable[[], bool]], None]
) -> None:
    """Whoever sweeps is killed, again and again: another one does within two lease periods, and its claims are ended as well."""
    for _ in range(REPLICAS):
        fleet.grow()
    periods = []
    for kill in range(3):
        wait_until(lambda: fleet.all_there() and fleet.holder() is not None)
        station.add_traces(f"t{kill}")
        dead = fleet.holder()
        assert dead is not None
        victim = fleet.member(dead)
        assert victim is not None, "a stranger holds the project"
        fleet.kill(victim)
        killed = time.monotonic()
        wait_until(lambda dead=dead: fleet.holder() not in {None, dead})
        periods.append((time.monotonic() - killed) / LEASE)
        wait_until(lambda dead=dead: not fleet.has_in_hand(dead))
        fleet.grow()

    wait_until(fleet.done)
    assert station.shown() == station.expected
    assert max(periods) < 2, f"taken over after {[f'{each:.2f}' for each in periods]} lease periods"


def test_one_of_three_sweeps_and_keeps_the_project_while_the_others_come_and_go(
    fleet: Fleet, station: Any, wait_until: Callable[[Callable[[], bool]], None]
) -> None:
    """The right to sweep stays where it is as long as its holder lives."""
    station.add_traces("t0")
    for _ in range(REPLICAS):
        fleet.grow()
    wait_until(lambda: fleet.all_there() and fleet.done())
    holders = {fleet.holder() for _ in range(20) if time.sleep(0.05) is None}
    [holder] = holders
    assert holder is not None
    sweeper = fleet.member(holder)
    assert sweeper is not None
    for member in [member for member in fleet.members if member is not sweeper]:
        fleet.kill(member)
    station.add_traces("t1")

    wait_until(fleet.done)
    assert (holder, station.shown()) == (fleet.holder(), station.expected)
