"""Everything withdrawn: within the quota of deletions, going on where it was interrupted, proven by a look."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from hunkwatch import app, errands, events
from hunkwatch.daemon import purge as purging
from hunkwatch.daemon.tenure import Tenure
from hunkwatch.errors import AskForLess, Exit, Halt, Refused
from hunkwatch.ports import Delivery, Parcel
from hunkwatch.sandbox import Habits
from hunkwatch.sandbox.habits import Plan
from hunkwatch.store import SqlStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from hunkwatch.daemon.progress import Progress
    from hunkwatch.daemon.purge import Purged
    from hunkwatch.ports import ScoreSink

    Call = Callable[..., dict[str, Any]]
    Clock = Any


async def purge(world: Any, **more: Any) -> Purged:
    """Withdraw everything."""
    return await errands.purge(world.settings, emit=world.told.append, clock=world.clock, **more)


async def count(world: Any) -> int:
    """Say how many scores a purge would withdraw."""
    return (await errands.count_to_purge(world.settings, emit=world.told.append, clock=world.clock))[1]


def deletions(world: Any) -> int:
    """Count the deletions that were asked for so far."""
    return sum(method == "DELETE" for method, _, _ in world.sandbox.requests)


async def scored(world: Any, call: Call, *, traces: int) -> None:
    """Score some traces of one call each: six scores a trace."""
    world.add(*(call(f"t{number}", f"o{number}", world.clock.now() - timedelta(hours=2)) for number in range(traces)))
    await world.once()
    world.clock.forward(hours=1)


async def test_every_score_goes_and_a_second_purge_finds_none(world: Any, call: Call) -> None:
    """Each is deleted once and looked for afterwards; then nothing is left to be asked."""
    await scored(world, call, traces=2)
    expected = await count(world)
    steps: list[Progress] = []
    first = await purge(world, tell=steps.append)
    asked = deletions(world)
    second = await purge(world)

    assert (12, 12) == (expected, asked)
    assert (first.found, first.gone, first.left, first.refused, first.wait) == (12, 12, 0, 0, None)
    assert (second.found, deletions(world), world.shown(), await count(world)) == (0, 12, {}, 0)
    assert ((0, 12), (12, 12)) == ((steps[0].done, steps[0].total), (steps[-1].done, steps[-1].total))
    assert 12 == len(world.heard(events.ScoreWithdrawn))


async def test_the_scores_of_others_stay(world: Any, call: Call, make_row: Callable[[], Any]) -> None:
    """Only what is on record as ours is withdrawn."""
    await scored(world, call, traces=1)
    async with world.worker() as project:
        await project.sink.send([Parcel(replace(make_row().score, id="theirs"))])
    await purge(world)

    assert ["theirs"] == [score["id"] for score in world.sandbox.all_scores()]


async def test_a_quota_that_is_used_up_is_told_and_the_next_day_goes_on(world: Any, clock: Clock, call: Call) -> None:
    """Forty-nine deletions a day: the first call says how many are left and for how long, the second ends it."""
    await scored(world, call, traces=10)
    world.sandbox.habits = Habits(plan=Plan.HOBBY)
    first = await purge(world)
    asked = deletions(world)
    early = await purge(world)
    tried = deletions(world) - asked
    clock.forward(days=1)
    last = await purge(world)

    assert (first.found, first.gone, first.left, first.refused) == (60, 49, 11, 0)
    assert first.wait is not None
    assert timedelta(hours=23) < first.wait <= timedelta(days=1)
    assert (11, 1) == (early.left, tried)
    assert (last.left, last.wait, world.shown()) == (0, None, {})


async def test_it_goes_on_where_a_kill_left_it(world: Any, call: Call) -> None:
    """No deletion that was noted is asked for again."""
    await scored(world, call, traces=2)
    killed = RuntimeError("killed")

    def tell(step: Progress) -> None:
        if deletions(world):
            raise killed
        del step

    with pytest.raises(RuntimeError) as raised:
        await purge(world, tell=tell)
    last = await purge(world)

    assert (raised.value, last.gone, last.left, deletions(world), world.shown()) == (killed, 12, 0, 12, {})


async def test_a_stop_ends_it_and_says_what_is_left(world: Any, call: Call) -> None:
    """Nothing is deleted after the stop."""
    await scored(world, call, traces=2)
    stop = asyncio.Event()
    stop.set()
    async with world.worker() as project:
        stopped = await purging.run(project, tell=lambda _step: None, stop=stop)

    assert (stopped.left, deletions(world), len(world.shown())) == (12, 0, 12)


async def test_what_never_got_there_is_looked_for_and_let_go(world: Any, clock: Clock, call: Call) -> None:
    """Scores that wait to be sent are not sent any more, and nothing is deleted for them."""
    world.add(call("t1", "o1", clock.now() - timedelta(hours=2)))
    async with world.worker() as project:
        await world.sweep(project)
    purged = await purge(world)

    assert (purged.found, purged.gone, purged.left, deletions(world), world.writes()) == (3, 3, 0, 0, 0)


@pytest.mark.parametrize("move", [None, app.discard_dead_letters])
async def test_scores_that_were_given_up_are_withdrawn_too(world: Any, clock: Clock, call: Call, move: Any) -> None:
    """A dead letter, and one that was discarded, may have got there in some form; what is there goes."""
    await scored(world, call, traces=1)
    world.sandbox.habits = Habits(dropped_scores=1.0)
    world.add(call("t0", "o0", clock.now() - timedelta(hours=3), blind=True))
    async with world.worker() as project:
        await world.live(project, minutes=120)
        dead = (await project.store.status(project.id, scorer="1")).outbox[Delivery.DEAD]
    world.sandbox.habits = Habits()
    there = len(world.shown())
    if move is not None:
        await move(world.settings, clock=clock)
    purged = await purge(world)

    assert (dead > 0, there > 0, purged.left, world.shown()) == (True, True, 0, {})


class Stubborn:
    """A sink that will not delete one score, whatever it is asked."""

    def __init__(self, sink: ScoreSink, kept: str, error: Exception) -> None:
        """Delete through a real one."""
        self.send, self.look_up = sink.send, sink.look_up
        self._sink, self._kept, self._error = sink, kept, error

    async def withdraw(self, score_id: str) -> None:
        """Delete any other score."""
        if score_id == self._kept:
            raise self._error
        await self._sink.withdraw(score_id)


async def test_a_deletion_that_is_refused_is_counted(world: Any, call: Call) -> None:
    """It becomes a dead letter with its reason, and the others go."""
    await scored(world, call, traces=1)
    kept = world.sandbox.all_scores()[0]["id"]
    async with world.worker() as project:
        stubborn = replace(project, sink=Stubborn(project.sink, kept, Refused("not this one")))
        purged = await purging.run(stubborn, tell=lambda _step: None, stop=asyncio.Event())
        dead = await project.store.dead_letters(project.id)

    assert (purged.found, purged.gone, purged.refused, purged.left) == (6, 5, 1, 0)
    assert [(kept, "deletion refused: not this one")] == [(row.score.id, row.reason) for row in dead]
    assert [kept] == [score["id"] for score in world.sandbox.all_scores()]


async def test_a_deletion_that_always_fails_ends_the_purge_with_what_is_left(world: Any, call: Call) -> None:
    """422 or 500 again and again for one score: the others go, and the purge does not try for ever."""
    await scored(world, call, traces=1)
    kept = world.sandbox.all_scores()[0]["id"]
    async with world.worker() as project:
        stubborn = replace(project, sink=Stubborn(project.sink, kept, AskForLess("422")))
        purged = await purging.run(stubborn, tell=lambda _step: None, stop=asyncio.Event())

    assert (purged.found, purged.gone, purged.refused, purged.left) == (6, 5, 0, 1)
    assert [kept] == [score["id"] for score in world.sandbox.all_scores()]


async def test_it_waits_for_nobody_who_sweeps(world: Any, clock: Clock, call: Call) -> None:
    """While another process holds the project, nothing is withdrawn that it would only write again."""
    await scored(world, call, traces=1)
    async with world.worker() as project:
        assert isinstance(project.store, SqlStore)
        await Tenure(SqlStore(project.store._engine, holder="worker"), project.id, clock).renew()
        with pytest.raises(Halt) as raised:
            await purging.run(project, tell=lambda _step: None, stop=asyncio.Event())

    assert (Exit.TEMPORARY, 6) == (raised.value.exit_code, len(world.shown()))
