"""How the loops live with errors, stops and stalls."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, cast

import pytest

from hunkwatch import events
from hunkwatch.daemon import pulse, run
from hunkwatch.daemon.pulse import Deadman, Pulse
from hunkwatch.errors import Exit, Halt, Refused, RetryLater

if TYPE_CHECKING:
    from collections.abc import Callable

    from hunkwatch.daemon.project import Project
    from hunkwatch.ports import Clock


@dataclass
class Bench:
    """As much of a project as a loop needs: a clock and somebody to tell."""

    clock: Clock
    id: str = "p1"
    told: list[events.Event] = field(default_factory=list)

    def emit(self, event: events.Event) -> None:
        """Listen."""
        self.told.append(event)


@pytest.fixture
def stop() -> asyncio.Event:
    """Return what ends the loops."""
    return asyncio.Event()


def loop_of(bench: Bench, stop: asyncio.Event, script: list[Callable[[], bool]], *, pause: float = 30.0) -> run.Loop:
    """Return a loop that follows a script and stops after it."""
    steps = iter(script)

    async def tick() -> bool:
        step = next(steps, None)
        if step is None:
            stop.set()
            return False
        return step()

    return run.Loop("sweep", cast("Project", bench), pause, tick, Pulse("sweep", bench.clock))


def fails(error: Exception) -> Callable[[], bool]:
    """Return a step that raises."""

    def step() -> bool:
        raise error

    return step


async def test_a_loop_waits_its_pause_only_when_nothing_is_left(clock: Clock, stop: asyncio.Event) -> None:
    """More to do means no pause; nothing to do means the whole one."""
    bench = Bench(clock)

    await run.keep_going(loop_of(bench, stop, [lambda: True, lambda: False]), stop)

    assert [event.wait for event in bench.told if isinstance(event, events.LoopTicked)][:2] == [0.0, 30.0]


async def test_a_failed_sweep_is_told_apart_from_the_next(clock: Clock, stop: asyncio.Event) -> None:
    """What is said during a turn, and of its failure, names the turn's own sweep; between two turns there is none."""
    bench, within, said = Bench(clock), list[str](), list[str]()

    def note(then: Callable[[], bool]) -> Callable[[], bool]:
        def step() -> bool:
            within.append(events.SWEEP.get())
            return then()

        return step

    bench.emit = lambda _event: said.append(events.SWEEP.get())  # type: ignore[method-assign] # listens to the sweep alone
    loop = loop_of(bench, stop, [note(fails(RetryLater("away"))), note(lambda: False)])

    await run.keep_going(replace(loop, turn=events.one_sweep), stop)

    assert (within, len(set(within)), "") == (said[:2], 2, events.SWEEP.get())
    assert all(within)


async def test_errors_that_time_heals_cost_ever_longer_pauses(clock: Clock, stop: asyncio.Event) -> None:
    """The pause doubles up to a minute and starts anew after a success."""
    bench = Bench(clock)
    away = fails(RetryLater("away"))

    await run.keep_going(loop_of(bench, stop, [away] * 8 + [lambda: False, away]), stop)

    waits = [event.wait for event in bench.told if isinstance(event, events.LoopFailed)]
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 1.0]


async def test_the_servers_own_wish_is_obeyed(clock: Clock, stop: asyncio.Event) -> None:
    """Retry-After is longer or shorter than our own pause, and wins."""
    bench = Bench(clock)

    await run.keep_going(loop_of(bench, stop, [fails(RetryLater("busy", after=timedelta(seconds=47)))]), stop)

    assert [event.wait for event in bench.told if isinstance(event, events.LoopFailed)] == [47.0]


async def test_a_refused_question_does_not_end_the_worker(clock: Clock, stop: asyncio.Event) -> None:
    """A server that refuses a loop's question today may take it tomorrow."""
    bench = Bench(clock)

    await run.keep_going(loop_of(bench, stop, [fails(Refused("no"))]), stop)

    assert [event.reason for event in bench.told if isinstance(event, events.LoopFailed)] == ["no"]


async def test_a_halt_ends_every_loop(clock: Clock, stop: asyncio.Event) -> None:
    """One loop that cannot go on takes the others with it, and its own word comes out."""
    bench, ended = Bench(clock), asyncio.Event()

    async def forever() -> bool:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return False

    other = run.Loop("deliver", cast("Project", bench), 1.0, forever, Pulse("deliver", clock))
    halting = loop_of(bench, stop, [fails(Halt("wrong key", mend="Mend it.", exit_code=Exit.PERMISSION))])

    with pytest.raises(Halt, match="wrong key"):
        await run.until_stopped([other, halting], stop=stop)
    assert ended.is_set()


async def test_what_nobody_foresaw_ends_the_worker_too(clock: Clock, stop: asyncio.Event) -> None:
    """A bug is not retried for ever in silence."""
    with pytest.raises(ZeroDivisionError):
        await run.until_stopped([loop_of(Bench(clock), stop, [fails(ZeroDivisionError())])], stop=stop)


async def test_a_stop_lets_the_unit_under_way_finish(clock: Clock, stop: asyncio.Event) -> None:
    """The work that had begun when the stop came is done when the worker ends."""
    bench, done = Bench(clock), []

    async def tick() -> bool:
        stop.set()
        for _ in range(10):
            await asyncio.sleep(0)
        done.append(True)
        return True

    await run.until_stopped([run.Loop("sweep", cast("Project", bench), 1.0, tick, Pulse("sweep", clock))], stop=stop)

    assert done == [True]


async def test_a_unit_that_does_not_finish_is_cut_off(clock: Clock, stop: asyncio.Event) -> None:
    """Nothing hangs on a dead server: after the drain the unit is cancelled."""
    cut = asyncio.Event()

    async def tick() -> bool:
        stop.set()
        try:
            await asyncio.Event().wait()
        finally:
            cut.set()
        return False

    loop = run.Loop("sweep", cast("Project", Bench(clock)), 1.0, tick, Pulse("sweep", clock))
    await run.until_stopped([loop], stop=stop, drain=timedelta(milliseconds=10))

    assert cut.is_set()


async def test_a_silent_loop_ends_the_worker(clock: Clock, stop: asyncio.Event) -> None:
    """A loop that gets nowhere is a fault that a supervisor mends by starting again."""
    with pytest.raises(Halt) as halted:
        await pulse.watch([Pulse("sweep", clock)], clock=clock, stop=stop)

    assert (halted.value.exit_code, "sweep" in str(halted.value)) == (Exit.INTERNAL, True)


def test_a_loop_that_rests_on_purpose_is_not_silent(clock: Clock) -> None:
    """A wait that the server asked for is no stall, however long."""
    heart = Pulse("deliver", clock)
    heart.rest(seconds=7200.0)

    assert heart.late() <= 0


def test_a_held_up_event_loop_ends_the_process() -> None:
    """When the event loop itself is held up, a thread leaves for it."""
    left: list[str] = []
    gone = threading.Event()

    def leave(reason: str) -> None:
        left.append(reason)
        gone.set()

    Deadman(leave, stall=timedelta(milliseconds=20))

    assert gone.wait(timeout=10)
    assert left == ["the event loop is held up"]


def test_a_shutdown_that_hangs_is_cut_short() -> None:
    """Once the process is leaving, signs of life do not keep it."""
    left: list[str] = []
    gone = threading.Event()

    def leave(reason: str) -> None:
        left.append(reason)
        gone.set()

    guard = Deadman(leave)
    guard.leave_within(timedelta(milliseconds=20))
    guard.alive()

    assert gone.wait(timeout=10)
    assert left == ["the shutdown took too long"]
