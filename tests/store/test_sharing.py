"""Several processes on one Postgres: who may sweep, who delivers what, and what becomes of what a dead one had in hand."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from hunkwatch.ports import Commit, Delivery
from hunkwatch.store import SqlStore, open_store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.postgres

MINUTE = timedelta(minutes=1)


@pytest.fixture
async def both(postgres_url: str) -> AsyncIterator[tuple[SqlStore, SqlStore]]:
    """Two processes on one state."""
    async with open_store(postgres_url, holder="one") as one, open_store(postgres_url, holder="two") as two:
        yield one, two


async def test_two_processes_never_claim_the_same_row(both: tuple[SqlStore, SqlStore], make: Any) -> None:
    """On one Postgres, every row goes to exactly one of several claimants, however they race."""
    one, two = both
    await one.commit(Commit("project", outbox=[make.row(f"score-{number:03}") for number in range(200)]))
    claims = [store.claim("project", [Delivery.DUE], now=make.now, until=make.now + MINUTE, limit=25) for store in (one, two) * 6]
    claimed = [row.score.id for rows in await asyncio.gather(*claims) for row in rows]

    assert len(claimed) == len(set(claimed))
    assert 200 == len(claimed)


async def test_a_project_is_leased_to_one_process_at_a_time(both: tuple[SqlStore, SqlStore], make: Any) -> None:
    """A lease is renewed by its holder, refused to others, and free once it is over or given back."""
    one, two = both
    first = await asyncio.gather(*(store.lease("project", until=make.now + MINUTE, now=make.now) for store in (one, two)))
    assert 1 == sum(first)
    winner, loser = (one, two) if first[0] else (two, one)
    renewed = await winner.lease("project", until=make.now + 2 * MINUTE, now=make.now)
    refused = await loser.lease("project", until=make.now + 3 * MINUTE, now=make.now + MINUTE)
    taken = await loser.lease("project", until=make.now + 4 * MINUTE, now=make.now + 2 * MINUTE)
    await loser.release("project")
    again = await winner.lease("project", until=make.now + 5 * MINUTE, now=make.now + 2 * MINUTE)

    assert (True, False, True, True) == (renewed, refused, taken, again)


async def test_what_a_dead_process_had_claimed_is_free_once_it_is_not_heard_of(both: tuple[SqlStore, SqlStore], make: Any) -> None:
    """Its claims were for longer than its lease; what one that lives has claimed stays its own."""
    alive = both[1]
    await alive.commit(Commit("project", outbox=[make.row("score-1"), make.row("score-2")]))
    for store in both:
        await store.lease("project", until=make.now + MINUTE, now=make.now)
        assert 1 == len(await store.claim("project", [Delivery.DUE], now=make.now, until=make.later(hours=1), limit=1))
    early = await alive.claim("project", [Delivery.DUE], now=make.now + MINUTE, until=make.later(hours=1), limit=9)
    taken = await alive.lease("project", until=make.now + 2 * MINUTE, now=make.now + MINUTE)
    freed = await alive.claim("project", [Delivery.DUE], now=make.now + MINUTE, until=make.later(hours=1), limit=9)

    assert (0, True, 1) == (len(early), taken, len(freed))


async def test_who_was_only_away_settles_nothing_that_others_took_over(both: tuple[SqlStore, SqlStore], make: Any) -> None:
    """A machine that slept comes back after its work was done by another: its own note of it changes nothing."""
    asleep, alive = both
    await alive.commit(Commit("project", outbox=[make.row()]))
    await asleep.lease("project", until=make.now + MINUTE, now=make.now)
    [slow] = await asleep.claim("project", [Delivery.DUE], now=make.now, until=make.later(hours=1), limit=1)
    await alive.lease("project", until=make.now + 2 * MINUTE, now=make.now + MINUTE)
    await asleep.settle([slow], now=make.now + MINUTE)
    [row] = await alive.claim("project", [Delivery.DUE], now=make.now + MINUTE, until=make.later(hours=1), limit=1)
    await asleep.settle([slow], now=make.now + MINUTE)

    assert [] == list(await asleep.claim("project", [Delivery.DUE], now=make.now + MINUTE, until=make.later(hours=1), limit=9))
    assert "score-1" == row.score.id


async def test_two_that_wake_at_once_bury_the_dead_without_waiting_for_each_other(both: tuple[SqlStore, SqlStore], make: Any) -> None:
    """Both were away for longer than the lease: one of them gets it, no deadlock, whoever asks first."""
    for _ in range(10):
        now = make.now + MINUTE
        await asyncio.gather(*(store.lease("project", until=now, now=make.now) for store in both))
        got = await asyncio.gather(*(store.lease("project", until=now + MINUTE, now=now) for store in both))
        assert 1 == sum(got)
        await asyncio.gather(*(store.release("project") for store in both))
