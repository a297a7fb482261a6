"""The whole worker against a sandbox that misbehaves: whatever goes wrong, in the end every score is there once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from hunkwatch import events
from hunkwatch.daemon import deliver, moves, sweep
from hunkwatch.errors import AskForLess, Refused, RetryLater
from hunkwatch.ports import Delivery, ObservationKey
from hunkwatch.sandbox import Delays, Fault, Habits, Plan, Wrong

if TYPE_CHECKING:
    from collections.abc import Callable

    Call = Callable[..., dict[str, Any]]
    Clock = Any

NAMES = {"blind_rewrite_patch", "retyped_lines_patch", "patch_shape"}
ROLLUPS = {"blind_rewrite", "blind_hunks", "retyped_lines"}


def everything(*subjects: tuple[str, str]) -> set[tuple[str, str | None, str]]:
    """Return every score that some calls should have."""
    on_observations = {(trace, observation, name) for trace, observation in subjects for name in NAMES}
    return on_observations | {(trace, None, name) for trace, _ in subjects for name in ROLLUPS}


async def test_scores_that_langfuse_drops_silently_are_sent_again(world: Any, clock: Clock, call: Call) -> None:
    """A 2xx is no proof: what a look misses is sent again until it shows."""
    world.sandbox.habits = Habits(dropped_scores=1.0)
    world.add(call("t1", "o1", clock.now()))
    async with world.worker() as project:
        await world.live(project, minutes=4)
        missing = world.shown()
        world.sandbox.habits = Habits()
        await world.live(project, minutes=20)

    assert missing == {}
    assert set(world.shown()) == everything(("t1", "o1"))


async def test_a_score_that_never_shows_becomes_a_dead_letter(world: Any, clock: Clock, call: Call) -> None:
    """After three sends it is given up, with its reason, and sent no more."""
    world.sandbox.habits = Habits(dropped_scores=1.0)
    world.adjust("scores", write=("patch_shape",))
    world.add(call("t1", "o1", clock.now()))
    async with world.worker() as project:
        await world.live(project, minutes=120)
        dead = await project.store.dead_letters(project.id)

    assert [(row.score.name, row.sent, row.reason) for row in dead] == [("patch_shape", 3, "sent 3 times, never seen")]
    assert [event.reason for event in world.heard(events.ScoreDied)] == ["sent 3 times, never seen"]


async def test_a_batch_with_bad_events_delivers_the_others(world: Any, clock: Clock, call: Call) -> None:
    """An error inside a 207 spoils only its own score, and time heals it."""
    world.sandbox.habits = Habits(seed=3, partial_errors=0.4)
    world.add(*(call(f"t{number}", "o", clock.now()) for number in range(6)))
    async with world.worker() as project:
        await world.live(project, minutes=3)
        some = len(world.shown())
        world.sandbox.habits = Habits()
        await world.live(project, minutes=60)
        status = await project.store.status(project.id, scorer="")

    assert 0 < some < 36
    assert len(world.shown()) + status.outbox[Delivery.DEAD] == 36


STORMS = {
    "429": Wrong.RATE_LIMITED,
    "500": Wrong.BROKEN,
    "503": Wrong.UNAVAILABLE,
    "502": Wrong.BAD_GATEWAY,
    "422": Wrong.TOO_HEAVY,
    "cut": Wrong.CUT,
    "refused": Wrong.REFUSED,
    "html": Wrong.GATEWAY_PAGE,
    "slow": Wrong.SLOW,
}


@pytest.mark.parametrize("wrong", STORMS.values(), ids=STORMS.keys())
async def test_a_storm_passes_and_every_score_is_there_once(wrong: Wrong, world: Any, clock: Clock, call: Call) -> None:
    """Half of all requests go wrong for a while; the work waits, and is done once."""
    async with world.worker() as project:
        # A slow answer takes real time, the others only say how long to wait.
        seconds = 0.05 if wrong is Wrong.SLOW else 7.0
        world.sandbox.habits = Habits(seed=11, faults=(Fault(wrong, share=0.5, seconds=seconds),))
        world.add(*(call(f"t{number}", f"o{number}", clock.now()) for number in range(3)))
        await world.live(project, minutes=4, every=30)
        world.sandbox.habits = Habits()
        await world.live(project, minutes=15, every=30)

    assert set(world.shown()) == everything(("t0", "o0"), ("t1", "o1"), ("t2", "o2"))


async def test_a_plan_with_thirty_requests_a_minute_is_enough(world: Any, clock: Clock, call: Call) -> None:
    """On the smallest Cloud plan the worker waits where it must and gets everything done."""
    world.sandbox.habits = Habits(plan=Plan.HOBBY, delays=Delays(score=6.0))
    world.add(*(call(f"t{number}", f"o{number}", clock.now() - timedelta(hours=number)) for number in range(20)))
    async with world.worker() as project:
        await world.live(project, minutes=30, every=30)

    assert set(world.shown()) == everything(*((f"t{number}", f"o{number}") for number in range(20)))


async def test_a_window_that_is_too_much_is_cut_in_two(world: Any, clock: Clock, call: Call) -> None:
    """422 asks for less: halves are tried until they pass, and nothing between them is lost."""
    starts = [clock.now() - timedelta(hours=3 * number) for number in range(1, 9)]
    async with world.worker() as project:
        world.add(*(call("t1", f"o{number}", start) for number, start in enumerate(starts)))
        world.sandbox.habits = Habits(faults=(Fault(Wrong.TOO_HEAVY, path="/api/public/v2/observations", times=14),))
        await world.live(project, minutes=3)

    assert world.heard(events.WindowHalved)
    assert set(world.shown()) == everything(*(("t1", f"o{number}") for number in range(8)))


async def test_a_window_that_brings_too_many_rows_is_cut_in_two(
    world: Any, clock: Clock, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a sweep keeps in memory is bounded, whatever the project's size."""
    monkeypatch.setattr(sweep, "MOST_ENTRIES", 10)
    world.add(*(call(f"t{number}", f"o{number}", clock.now() - timedelta(hours=number)) for number in range(1, 31)))
    await world.run(minutes=3)

    assert world.heard(events.WindowHalved)
    assert max(event.read for event in world.heard(events.WindowSwept)) <= 10
    assert set(world.shown()) == everything(*((f"t{number}", f"o{number}") for number in range(1, 31)))


async def test_rows_that_come_twice_and_late_count_once(world: Any, clock: Clock, call: Call) -> None:
    """Duplicates, re-sent rows with a moved start and late rows all lead to one score each."""
    world.sandbox.habits = Habits(seed=5, duplicated_rows=0.5, resent_rows=0.5, late_rows=0.5, late_by=1200.0)
    async with world.worker() as project:
        world.add(*(call(f"t{number}", f"o{number}", clock.now()) for number in range(12)))
        await world.live(project, minutes=40, every=60)

    assert set(world.shown()) == everything(*((f"t{number}", f"o{number}") for number in range(12)))


async def test_one_huge_row_costs_only_itself(world: Any, clock: Clock, call: Call) -> None:
    """A row that no answer can hold is put on record with a reason; its neighbours are scored."""
    world.sandbox.habits = Habits(answer_limit=200_000)
    huge = "*** Begin Patch\n*** Add File: big.txt\n" + "+x\n" * 150_000 + "*** End Patch"
    world.add(call("t1", "o1", clock.now()), call("t2", "huge", clock.now(), input={"input": huge}), call("t3", "o3", clock.now()))
    async with world.worker() as project:
        await world.live(project, minutes=5)
        key = ObservationKey("t2", "huge")
        entry = (await project.store.known(project.id, [key]))[key]

    assert set(world.shown()) == everything(("t1", "o1"), ("t3", "o3"))
    assert entry.reason.startswith("too large")
    assert {event.observation for event in world.heard(events.PoisonSkipped)} == {"huge"}


async def test_a_row_that_breaks_the_grader_costs_only_itself(
    world: Any, clock: Clock, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever one observation does to the core, it is named, and the loop goes on."""
    from hunkwatch.core import evaluate  # noqa: PLC0415 (only to break it)

    real = evaluate.grade_observation

    def brittle(row: Any) -> Any:
        if row.id == "bad":
            raise MemoryError
        return real(row)

    monkeypatch.setattr(evaluate, "grade_observation", brittle)
    world.add(call("t1", "o1", clock.now()), call("t2", "bad", clock.now()))
    async with world.worker() as project:
        await world.live(project, minutes=5)
        status = await project.store.status(project.id, scorer="")

    assert set(world.shown()) == everything(("t1", "o1"))
    assert (status.poison, [event.reason for event in world.heard(events.PoisonSkipped)]) == (1, ["grading failed: MemoryError"])


async def test_a_send_that_was_not_noted_is_not_doubled(world: Any, clock: Clock, call: Call) -> None:
    """The process dies between the server's answer and its own note of it; the next one sends again, which changes nothing."""
    world.add(call("t1", "o1", clock.now() - timedelta(hours=1)))
    async with world.worker() as project:
        await world.sweep(project)
        await deliver.look(project)
        rows = await project.store.claim(project.id, (Delivery.DUE,), now=clock.now(), until=clock.now() + timedelta(hours=9), limit=99)
        await project.sink.send([deliver.Parcel(row.score) for row in rows])
    before = world.sandbox.all_scores()
    await world.run(minutes=5)

    assert [row for row in world.sandbox.all_scores() if row["observationId"]] == before
    assert set(world.shown()) == everything(("t1", "o1"))


async def test_a_send_under_way_is_noted_although_the_worker_stops(world: Any, clock: Clock, call: Call) -> None:
    """A cancelled delivery writes what the server said before it ends."""
    world.add(call("t1", "o1", clock.now()))
    async with world.worker() as project:
        await world.sweep(project)
        await deliver.look(project)
        settle, writing = project.store.settle, asyncio.Event()

        async def slowly(*args: Any, **kwargs: Any) -> None:
            writing.set()
            await asyncio.sleep(0)
            await settle(*args, **kwargs)

        project.store.settle = slowly
        sending = asyncio.create_task(deliver.send(project))
        await writing.wait()
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        status = await project.store.status(project.id, scorer="")

    assert (status.outbox[Delivery.SENT], status.outbox[Delivery.DUE]) == (3, 0)


class Reluctant:
    """A sink whose deletions of one score go wrong; everything else is done for real."""

    def __init__(self, sink: Any, kept: str, error: Exception) -> None:
        """Do the rest through a real one."""
        self.send, self.look_up = sink.send, sink.look_up
        self._sink, self._kept, self._error = sink, kept, error

    async def withdraw(self, score_id: str) -> None:
        """Delete any other score."""
        if score_id == self._kept:
            raise self._error
        await self._sink.withdraw(score_id)


@pytest.mark.parametrize("error", [AskForLess("422"), RetryLater("500"), Refused("400")], ids=["422", "500", "400"])
async def test_a_deletion_that_always_fails_holds_up_nothing_else(error: Exception, world: Any, clock: Clock, call: Call) -> None:
    """The other deletions are done, and new scores are sent, however often this one goes wrong."""
    start = clock.now()
    async with world.worker() as project:
        world.add(*(call(f"t{number}", "o", start) for number in range(3)))
        await world.live(project, minutes=3)
        kept = world.sandbox.all_scores()[0]["id"]
        stubborn = replace(project, sink=Reluctant(project.sink, kept, error))
        world.add(*(call(f"t{number}", "o", start, name="read_file", input={"path": "a"}, output="") for number in range(3)))
        world.add(call("fresh", "o", clock.now()))
        await world.live(stubborn, minutes=75, every=120)
        failing = world.sandbox.all_scores()
        if isinstance(error, Refused):
            dead = await project.store.claim(project.id, (Delivery.DEAD,), now=clock.now(), until=clock.now(), limit=9)
            await project.store.settle([moves.requeued(row, now=clock.now()) for row in dead], now=clock.now())
        await world.live(project, minutes=20, every=30)

    assert {kept} == {row["id"] for row in failing if row["traceId"] != "fresh"}
    assert everything(("fresh", "o")) == {
        (row["traceId"], row["observationId"] or None, row["name"]) for row in failing if row["traceId"] == "fresh"
    }
    assert everything(("fresh", "o")) == set(world.shown())


async def test_rows_go_back_when_the_server_is_away(world: Any, clock: Clock, call: Call) -> None:
    """A send that nobody answered leaves its rows due, unclaimed and unsent."""
    world.add(call("t1", "o1", clock.now()))
    async with world.worker() as project:
        await world.sweep(project)
        await deliver.look(project)
        world.sandbox.habits = Habits(faults=(Fault(Wrong.UNAVAILABLE),))
        with pytest.raises(RetryLater):
            await deliver.send(project)
        world.sandbox.habits = Habits()
        again = await deliver.send(project)

    assert again.sent == 3


async def test_deletions_over_the_quota_wait_and_nothing_else_does(world: Any, clock: Clock, call: Call) -> None:
    """Fifty deletions a day on the smallest plan: the rest goes the next day, and new scores are sent meanwhile."""
    start = clock.now()
    async with world.worker() as project:
        world.add(*(call(f"t{number}", "o", start) for number in range(10)))
        await world.live(project, minutes=3)
        world.sandbox.habits = Habits(plan=Plan.HOBBY)
        world.add(*(call(f"t{number}", "o", start, name="read_file", input={"path": "a"}, output="") for number in range(10)))
        await world.live(project, minutes=100, every=120)
        left = len(world.shown())
        world.add(call("fresh", "o", clock.now()))
        await world.live(project, minutes=10, every=60)
        fresh = {key for key in world.shown() if key[0] == "fresh"}
        await world.live(project, minutes=25 * 60, every=1800)
        await world.live(project, minutes=10)

    assert (left, fresh) == (11, everything(("fresh", "o")))
    assert set(world.shown()) == everything(("fresh", "o"))
