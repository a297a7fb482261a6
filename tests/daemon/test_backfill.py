"""The past, swept once: in a lane of its own, resumed where it stood, and without double work beside the live sweep."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from hunkwatch import errands, events
from hunkwatch.core import identity
from hunkwatch.daemon import backfill
from hunkwatch.daemon.tenure import Tenure
from hunkwatch.errors import Exit
from hunkwatch.store import SqlStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from hunkwatch.daemon.progress import Progress
    from hunkwatch.daemon.reports import OnceReport

    Call = Callable[..., dict[str, Any]]
    Clock = Any

DAY = timedelta(days=1)


async def fill(world: Any, *, days: float = 30, until: datetime | None = None, again: bool = False, **more: Any) -> OnceReport:
    """Sweep the last days."""
    now = world.clock.now()
    stretch = errands.stretch(now - timedelta(days=days), until, again=again, now=now)
    return await errands.backfill(world.settings, stretch, emit=world.told.append, clock=world.clock, **more)


@pytest.fixture(autouse=True)
def by_the_day(world: Any) -> None:
    """Sweep a day at a time, so that a stretch has parts."""
    world.adjust("sweep", span=DAY)


def parts(world: Any) -> list[events.WindowSwept]:
    """Return the windows that backfills have put on record."""
    return [swept for swept in world.heard(events.WindowSwept) if swept.lane.startswith("backfill:")]


async def test_the_past_is_scored_and_a_second_backfill_sweeps_nothing(world: Any, clock: Clock, call: Call) -> None:
    """Calls from before the first sweep get their scores; what a backfill has covered is not asked for again, also a day later."""
    world.add(call("t1", "o1", clock.now() - 20 * DAY), call("t2", "o2", clock.now() - 10 * DAY, blind=True))
    first = await fill(world)
    windows, scores = parts(world), world.shown()
    clock.forward(days=1)
    second = await fill(world)

    assert (first.exit, first.calls, first.sent, first.seen) == (Exit.OK, 2, 12, 12)
    assert (second.exit, second.observations, second.sent, world.shown()) == (Exit.OK, 0, 0, scores)
    assert (30, windows[-1].end) == (len(windows), parts(world)[30].start)


async def test_the_live_sweep_does_not_read_again_what_a_backfill_read(world: Any, clock: Clock, call: Call) -> None:
    """Same ledger, same ids: whichever came first did the work."""
    world.add(call("t1", "o1", clock.now() - 2 * DAY))
    await fill(world)
    written = world.writes()
    once = await world.once()
    again = await fill(world, again=True)

    assert (once.observations, once.sent, again.observations, again.sent, world.writes()) == (0, 0, 0, 0, written)


async def test_it_goes_on_where_a_kill_left_it(world: Any, clock: Clock, call: Call) -> None:
    """What was on record stays so; the next call begins at the lane's watermark, although its stretch begins a little later."""
    world.add(*(call(f"t{day}", f"o{day}", clock.now() - day * DAY) for day in range(2, 9)))
    killed = RuntimeError("killed")

    def tell(step: Progress) -> None:
        if step.done > step.total / 2:
            raise killed

    with pytest.raises(RuntimeError) as raised:
        await fill(world, days=10, tell=tell)
    before = parts(world)
    clock.forward(minutes=5)
    report = await fill(world, days=10)
    after = parts(world)[len(before) :]

    assert (raised.value, report.exit) == (killed, Exit.OK)
    assert before[-1].end == after[0].start
    assert {f"t{day}" for day in range(2, 9)} == {trace for trace, _, _ in world.shown()}
    assert 7 == len(world.heard(events.CallFound))


async def test_a_stop_ends_it_after_the_part_under_way(world: Any, clock: Clock, call: Call) -> None:
    """It is not finished then, and the next call ends it."""
    world.add(call("t1", "o1", clock.now() - 2 * DAY))
    stop = asyncio.Event()
    stretch = errands.stretch(clock.now() - 5 * DAY, None, now=clock.now())

    async with world.worker() as project:
        stopped = await backfill.run(project, stretch, patience=DAY, tell=lambda step: stop.set() if step.done else None, stop=stop)
    report = await fill(world, days=5)

    assert (stopped.finished, stopped.swept.caught_up) == (False, False)
    assert (len(parts(world)), report.exit, report.calls) == (5, Exit.OK, 1)


async def test_it_ends_before_its_end(world: Any, clock: Clock, call: Call) -> None:
    """What starts at ``until`` or later is left to others."""
    until = clock.now() - 3 * DAY
    world.add(call("t1", "o1", until - timedelta(milliseconds=1)), call("t2", "o2", until))
    await fill(world, until=until)

    assert {"t1"} == {trace for trace, _, _ in world.shown()}


async def test_progress_runs_from_nothing_to_everything(world: Any, clock: Clock, call: Call) -> None:
    """The steps never fall, and the last one is the whole."""
    world.add(call("t1", "o1", clock.now() - DAY / 2))
    steps: list[Progress] = []
    await fill(world, days=3, tell=steps.append)

    assert [0, 86400, 172800, 259200] == [step.done for step in steps]
    assert (259200, 1, 1) == (steps[-1].total, steps[-1].observations, steps[-1].calls)


async def test_a_rehearsal_says_what_is_then_sent_and_writes_nothing(world: Any, clock: Clock, call: Call) -> None:
    """As many scores as a real backfill sends, and no state file."""
    world.add(call("t1", "o1", clock.now() - 20 * DAY))
    stretch = errands.stretch(clock.now() - 30 * DAY, None, now=clock.now())
    would = await errands.rehearse_backfill(world.settings, stretch, emit=world.told.append, clock=clock)
    untouched = (world.writes(), world.state.exists())
    report = await fill(world)

    assert (untouched, sum(would.would_send.values())) == ((0, False), report.sent)


# ---------------------------------------------------------------- sampling


async def test_a_larger_share_adds_to_the_smaller(world: Any, clock: Clock, call: Call) -> None:
    """Half of the traces are read whole and the others not at all; a later backfill of all of them reads only those."""
    traces = [f"t{number}" for number in range(12)]
    world.add(*(call(trace, f"{trace}-{part}", clock.now() - 2 * DAY) for trace in traces for part in (1, 2)))
    chosen = {trace for trace in traces if identity.sampled(trace, 0.5)}
    world.adjust("sweep", sample=0.5)
    half = await fill(world)
    some = {trace for trace, _, _ in world.shown()}
    once = await world.once()
    world.adjust("sweep", sample=1.0)
    whole = await fill(world)

    assert 0 < len(chosen) < len(traces)
    assert (some, half.observations, once.observations) == (chosen, 2 * len(chosen), 0)
    assert {trace for trace, _, _ in world.shown()} == set(traces)
    assert whole.observations == 2 * (len(traces) - len(chosen))


async def test_a_trace_outside_the_share_keeps_its_scores_and_is_not_asked_for_again(world: Any, clock: Clock, call: Call) -> None:
    """Neither the sweep nor the rounds read it, whatever becomes of it in Langfuse."""
    start = clock.now() - timedelta(hours=2)
    world.add(call("t1", "o1", start))
    await world.once()
    scores, before = world.shown(), len(world.heard(events.WindowSwept))
    world.adjust("sweep", sample=0.0)
    clock.forward(minutes=1)
    world.add(call("t1", "o1", start, blind=True))
    async with world.worker() as project:
        await world.live(project, minutes=200, every=600)
    swept = world.heard(events.WindowSwept)[before:]

    assert {"live", "hourly"} == {each.lane for each in swept}
    assert (world.shown(), sum(each.read for each in swept)) == (scores, 0)


# ---------------------------------------------------------------- lanes


START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("lanes", "days"),
    [
        ({}, 0),
        ({"live": 9, "hourly": 9}, 0),
        ({backfill.lane_of(START, 1.0): 5}, 5),
        ({backfill.lane_of(START - DAY, 1.0): 5}, 5),
        ({backfill.lane_of(START + DAY, 1.0): 5}, 0),
        ({backfill.lane_of(START - 9 * DAY, 1.0): -3}, 0),
        ({backfill.lane_of(START, 0.5): 5}, 5),
        ({backfill.lane_of(START, 0.25): 5}, 0),
        ({backfill.lane_of(START, 1.0): 5, backfill.lane_of(START + 4 * DAY, 1.0): 9}, 9),
        ({backfill.lane_of(START, 1.0): 5, backfill.lane_of(START + 6 * DAY, 1.0): 9}, 5),
        ({"backfill:nonsense:1": 5, "backfill:": 5}, 0),
    ],
)
def test_only_what_was_covered_without_a_gap_is_passed(lanes: dict[str, int], days: int) -> None:
    """By lanes that began no later and read as large a share, one joined to the other."""
    watermarks = {lane: START + end * DAY for lane, end in lanes.items()}

    assert START + days * DAY == backfill.reached(START, 0.5, watermarks)


async def test_beside_another_process_traces_are_looked_at_once_more(world: Any, clock: Clock, call: Call) -> None:
    """On a shared database the worker that holds the project works out again what the backfill wrote meanwhile."""
    world.add(call("t1", "o1", clock.now() - 2 * DAY))
    stretch = errands.stretch(clock.now() - 5 * DAY, None, now=clock.now())
    async with world.worker() as project:
        assert isinstance(project.store, SqlStore)
        other = SqlStore(project.store._engine, holder="worker")
        await Tenure(other, project.id, clock).renew()
        clock.forward(seconds=1)
        done = await backfill.run(
            replace(project, clock=clock), stretch, patience=timedelta(minutes=20), tell=lambda _step: None, stop=asyncio.Event()
        )
        due = await other.due_traces(project.id, clock.now(), 10)

    assert (done.finished, due, {"t1"}) == (True, ["t1"], {trace for trace, _, _ in world.shown()})
