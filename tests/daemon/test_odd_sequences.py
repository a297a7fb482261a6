"""Sequences that somebody malicious, or a very bad night, would choose: in the end every score is there once, and right."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import SecretStr

from hunkwatch.daemon import deliver, run, tenure, upkeep
from hunkwatch.daemon.sweep import Sweeper
from hunkwatch.errors import Exit, Halt, RetryLater
from hunkwatch.ports import Delivery
from hunkwatch.sandbox import Habits
from hunkwatch.sandbox import Project as SandboxProject
from hunkwatch.store import SqlStore, copy_state

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from hunkwatch.daemon.project import Project
    from hunkwatch.ports import Parcel, Receipt

    Call = Callable[..., dict[str, Any]]
    Clock = Any

NAMES = ("blind_rewrite_patch", "retyped_lines_patch", "patch_shape")
ROLLUPS = ("blind_rewrite", "blind_hunks", "retyped_lines")


def everything(*subjects: tuple[str, str]) -> set[tuple[str, str | None, str]]:
    """Return every score that some calls should have."""
    on_observations = {(trace, observation, name) for trace, observation in subjects for name in NAMES}
    return on_observations | {(trace, None, name) for trace, _ in subjects for name in ROLLUPS}


def content(world: Any) -> list[dict[str, Any]]:
    """Return what Langfuse holds, without the times of its last writes."""
    return [{key: value for key, value in row.items() if key != "updatedAt"} for row in world.sandbox.all_scores()]


def beside(project: Project, name: str) -> Project:
    """Return another worker on the same state, with nothing else in common."""
    assert isinstance(project.store, SqlStore)
    return replace(project, store=SqlStore(project.store._engine, holder=name), turn=asyncio.Lock())


class Mailman:
    """A sink that does something odd with what it is to send; everything else is done for real."""

    def __init__(self, project: Project) -> None:
        """Do the rest through the real one."""
        self._sink = project.sink
        self.look_up, self.withdraw = self._sink.look_up, self._sink.withdraw
        self.odd = True
        self._held: Sequence[Parcel] = ()

    async def send(self, parcels: Sequence[Parcel]) -> Sequence[Receipt]:
        """Send for real."""
        return await self._sink.send(parcels)


class Ungrateful(Mailman):
    """Takes everything and says that it did not."""

    async def send(self, parcels: Sequence[Parcel]) -> Sequence[Receipt]:
        """Send, then fail."""
        receipts = await self._sink.send(parcels)
        if self.odd:
            raise RetryLater("500")
        return receipts


class Eager(Mailman):
    """Sends everything twice."""

    async def send(self, parcels: Sequence[Parcel]) -> Sequence[Receipt]:
        """Send, and send."""
        await self._sink.send(parcels)
        return await self._sink.send(parcels)


class Late(Mailman):
    """Delivers each batch only after the next one."""

    async def send(self, parcels: Sequence[Parcel]) -> Sequence[Receipt]:
        """Send the newer, then the older."""
        receipts = await self._sink.send(parcels)
        if self.odd and self._held:
            await self._sink.send(self._held)
        self._held = parcels
        return receipts


@pytest.mark.parametrize("oddity", [Ungrateful, Eager, Late])
async def test_an_odd_mailman_doubles_and_changes_nothing(oddity: type[Mailman], world: Any, clock: Clock, call: Call) -> None:
    """Accepted but answered 500, accepted twice, delivered out of order around a change: the last payload is there, once."""
    start = clock.now()
    world.add(call("t1", "o1", start), call("t2", "o2", start))
    async with world.worker() as project:
        mailman = oddity(project)
        odd = replace(project, sink=mailman)
        await world.live(odd, minutes=2)
        world.add(call("t1", "o1", start, blind=True))
        await world.live(odd, minutes=3)
        mailman.odd = False
        await world.live(odd, minutes=20)
        status = await project.store.status(project.id, scorer="")

    shown = world.shown()
    assert set(shown) == everything(("t1", "o1"), ("t2", "o2"))
    assert (shown["t1", "o1", "patch_shape"], shown["t2", "o2", "patch_shape"]) == ("blind_rewrite", "no_blind_rewrite")
    assert status.outbox[Delivery.DEAD] == 0


async def test_a_process_that_dies_between_claim_and_send_holds_nothing_up(world: Any, clock: Clock, call: Call) -> None:
    """What it had in hand is sent by the next one, without waiting for the claims to end."""
    world.add(call("t1", "o1", clock.now()))
    async with world.worker() as project:
        await world.sweep(project)
        await deliver.look(project)
        now = clock.now()
        held = await project.store.claim(project.id, (Delivery.DUE,), now=now, until=now + timedelta(days=9), limit=99)
    await world.run(minutes=3)

    assert len(held) == len(NAMES)
    assert set(world.shown()) == everything(("t1", "o1"))


async def test_two_workers_on_one_state_send_each_score_once(world: Any, clock: Clock, call: Call) -> None:
    """They sweep and deliver in turns, step by step, whoever holds the project; no score costs two units."""
    async with world.worker() as one:
        two = beside(one, "two")
        await world.sweep(one)
        sweepers, rights = (Sweeper(one), Sweeper(two)), (tenure.of(one), tenure.of(two))
        for number in range(6):
            world.add(call(f"t{number}", f"o{number}", clock.now()))
            await asyncio.gather(*(right.renew() for right in rights), *(sweeper.tick() for sweeper in sweepers))
            await asyncio.gather(*(worker(project) for worker in (upkeep.tick, deliver.look, deliver.send) for project in (one, two)))
            clock.forward(seconds=40)
        for _ in range(30):
            await asyncio.gather(*(right.renew() for right in rights))
            await asyncio.gather(*(worker(project) for worker in (upkeep.tick, deliver.look, deliver.send) for project in (one, two)))
            clock.forward(seconds=20)
        status = await one.store.status(one.id, scorer="")

    assert set(world.shown()) == everything(*((f"t{number}", f"o{number}") for number in range(6)))
    assert dict.fromkeys((*NAMES, *ROLLUPS), 6) == {name: count for _, name, count in status.sent_per_day}


async def test_a_lease_that_is_lost_in_the_middle_of_a_send_doubles_nothing(world: Any, clock: Clock, call: Call) -> None:
    """The first worker hangs in its send until its claims have ended; the second sends; then the first comes back to life."""
    world.add(call("t1", "o1", clock.now()))
    async with world.worker() as one:
        two = beside(one, "two")
        await world.sweep(one)
        await deliver.look(one)
        arrived, go_on = asyncio.Event(), asyncio.Event()

        class Hanging(Mailman):
            async def send(self, parcels: Sequence[Parcel]) -> Sequence[Receipt]:
                arrived.set()
                await go_on.wait()
                return await self._sink.send(parcels)

        hanging = asyncio.create_task(deliver.send(replace(one, sink=Hanging(one))))
        await arrived.wait()
        clock.forward(minutes=10)
        await world.live(two, minutes=2)
        go_on.set()
        await hanging
        await world.live(two, minutes=10)
        status = await one.store.status(one.id, scorer="")

    assert set(world.shown()) == everything(("t1", "o1"))
    assert status.outbox[Delivery.SEEN] == len(everything(("t1", "o1")))


@pytest.mark.parametrize("hours", [-1, 1])
@pytest.mark.parametrize("after", [0, 1, 4])
async def test_a_clock_that_jumps_loses_and_doubles_nothing(hours: int, after: int, world: Any, clock: Clock, call: Call) -> None:
    """An hour back or forth, during the quiet wait, the send, the look or at rest: what came before and what comes after is there once."""
    async with world.worker() as project:
        world.add(call("t1", "o1", clock.now()))
        await world.live(project, minutes=after)
        clock.jump(hours=hours)
        world.add(call("t2", "o2", clock.now()))
        await world.live(project, minutes=70, every=120)
        clock.jump(hours=-hours)
        world.add(call("t3", "o3", clock.now()))
        await world.live(project, minutes=70, every=120)

    assert set(world.shown()) == everything(("t1", "o1"), ("t2", "o2"), ("t3", "o3"))


async def test_another_project_under_the_same_state_touches_nothing(world: Any, clock: Clock, call: Call) -> None:
    """The key is swapped for another project's and back: each has its own scores, and none is written anew."""
    other = SandboxProject(id="project-2", public_key="pk-lf-two", secret_key="sk-lf-two")
    world.sandbox._state.rooms[other.id] = type(world.sandbox)(projects=(other,))._state.rooms[other.id]
    world.add(call("t1", "o1", clock.now()))
    await world.once()
    before = world.sandbox.all_scores()
    ours = world.settings.langfuse
    world.adjust("langfuse", public_key=other.public_key, secret_key=SecretStr(other.secret_key))
    row = call("t1", "o1", clock.now(), blind=True)
    world.sandbox.add_observations([row], project=other.id)
    swapped = await world.once()
    theirs = world.sandbox.all_scores(project=other.id)
    world.adjust("langfuse", public_key=ours.public_key, secret_key=ours.secret_key)
    back = await world.once()

    assert (6, 0) == (swapped.sent, back.sent)
    assert before == world.sandbox.all_scores()
    assert {"blind_rewrite"} == {score["stringValue"] for score in theirs if score["name"] == "patch_shape"}
    assert set() == {score["id"] for score in theirs} & {score["id"] for score in before}


async def test_a_trace_that_is_deleted_midway_costs_only_itself(world: Any, clock: Clock, call: Call) -> None:
    """Between sweep and send it vanishes: the others are scored, and the worker comes to rest."""
    world.add(call("t1", "o1", clock.now()), call("t2", "o2", clock.now()))
    async with world.worker() as project:
        await world.sweep(project)
        world.forget("t1")
        await world.live(project, minutes=60, every=60)
        due = await project.store.next_due(project.id)

    assert {key for key in world.shown() if key[0] == "t2"} == everything(("t2", "o2"))
    assert due is None


async def test_an_old_backup_put_back_changes_nothing_that_is_right(world: Any, clock: Clock, call: Call, tmp_path: Path) -> None:
    """The state forgets a day: new calls keep their scores, changed ones their change, and a withdrawn score stays away."""
    world.adjust("sweep", reconcile_every=timedelta(minutes=10))
    start = clock.now()
    world.add(call("t1", "o1", start), call("t2", "o2", start))
    await world.run(minutes=5)
    (tmp_path / "backup").mkdir()
    copy_state(world.settings.store.url, tmp_path / "backup")
    world.add(call("t1", "o1", start, blind=True), call("t3", "o3", clock.now()))
    world.add(call("t2", "o2", start, name="read_file", input={"path": "a"}, output=""))
    await world.run(minutes=40)
    before = content(world)

    world.lose_state()
    (tmp_path / "backup" / "hunkwatch.db").rename(world.state)
    clock.forward(days=1)
    world.adjust("sweep", deep_reconcile_every=timedelta(minutes=10))
    await world.run(minutes=40)

    assert set(world.shown()) == everything(("t1", "o1"), ("t3", "o3"))
    assert before == content(world)


async def test_a_state_that_is_deleted_under_the_running_worker_is_a_lost_state(world: Any, clock: Clock, call: Call) -> None:
    """It goes on with what it holds open; the next one starts from nothing, and ends with the same scores."""
    world.add(call("t1", "o1", clock.now()))
    async with world.worker() as project:
        await world.live(project, minutes=1)
        world.lose_state()
        world.add(call("t2", "o2", clock.now()))
        await world.live(project, minutes=3)
    clock.forward(days=1)
    before = world.sandbox.all_scores()
    report = await world.once()

    assert set(world.shown()) == everything(("t1", "o1"), ("t2", "o2"))
    assert (0, before) == (report.sent, world.sandbox.all_scores())


async def test_a_call_that_comes_and_goes_ends_as_the_data_says(world: Any, clock: Clock, call: Call) -> None:
    """A patch, none, a patch, while Langfuse needs a minute for each write and deletion: the last word counts."""
    from hunkwatch.sandbox import Delays  # noqa: PLC0415 (one test needs it)

    world.adjust("sweep", reconcile_every=timedelta(minutes=1), reconcile_reach=timedelta(hours=2), overlap=timedelta(hours=2))
    world.sandbox.habits = Habits(delays=Delays(score=60.0, deletion=60.0))
    start = clock.now()
    none = {"name": "read_file", "input": {"path": "a"}, "output": ""}
    async with world.worker() as project:
        for version in ({}, none, {}, none, {"blind": True}):
            world.add(call("t1", "o1", start, **version))
            await world.live(project, minutes=2.5)
        await world.live(project, minutes=45, every=30)

    assert set(world.shown()) == everything(("t1", "o1"))
    assert world.shown()["t1", "o1", "patch_shape"] == "blind_rewrite"


async def test_one_span_id_in_two_traces_is_two_observations(world: Any, clock: Clock, call: Call) -> None:
    """A span id is unique only within its trace."""
    world.add(call("t1", "same", clock.now()), call("t2", "same", clock.now(), blind=True))
    await world.run(minutes=4)

    shown = world.shown()
    assert set(shown) == everything(("t1", "same"), ("t2", "same"))
    assert (shown["t1", "same", "patch_shape"], shown["t2", "same", "patch_shape"]) == ("no_blind_rewrite", "blind_rewrite")


async def test_a_server_that_hangs_for_ever_ends_the_worker_with_a_clear_word(world: Any) -> None:
    """A sweep that never comes back, without any error, is noticed; the supervisor is told to start the worker again."""

    async def never(*_args: Any, **_kwargs: Any) -> Any:
        await asyncio.Event().wait()
        yield

    async with world.worker() as project:
        stuck = replace(project, source=type("Stuck", (), {"candidates": never})())
        with pytest.raises(Halt, match="the sweep loop made no progress") as raised:
            await run.until_stopped([loop for loop in run.loops_of(stuck) if loop.name == "sweep"], stop=asyncio.Event())

    assert Exit.INTERNAL == raised.value.exit_code
