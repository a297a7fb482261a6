"""Every loop says how urgent its requests are, and a plan's limits are kept."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from hunkwatch import errands
from hunkwatch.daemon import run
from hunkwatch.errors import Exit
from hunkwatch.langfuse.turns import Turns
from hunkwatch.ports import Urgency, urgency
from hunkwatch.sandbox import Habits
from hunkwatch.sandbox.habits import Plan

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    Call = Callable[..., dict[str, Any]]
    Clock = Any


async def test_delivery_goes_first_and_reading_again_last(world: Any) -> None:
    """Each loop's task carries its urgency to wherever it asks."""
    found = {}
    async with world.worker() as project:
        for loop in run.loops_of(project):
            stop = asyncio.Event()

            async def tick(name: str = loop.name, stop: asyncio.Event = stop) -> bool:
                found[name] = urgency.get()
                stop.set()
                return False

            await asyncio.create_task(run.keep_going(replace(loop, tick=tick), stop))

    expected = {"deliver": Urgency.DELIVERY, "reconcile": Urgency.BACKGROUND, "prune": Urgency.BACKGROUND}
    assert {name: expected.get(name, Urgency.LIVE) for name in found} == found
    assert set(expected) <= set(found)


async def test_a_backfill_on_a_small_plan_finishes_inside_its_limit(
    world: Any, clock: Clock, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On Hobby, 30 requests a minute for the whole organisation: the first 429 teaches the limit, and no second one is met."""
    asked: list[Urgency] = []
    real = Turns.next

    async def noted(turns: Turns) -> None:
        asked.append(urgency.get())
        await real(turns)

    monkeypatch.setattr(Turns, "next", noted)
    world.sandbox.habits = Habits(plan=Plan.HOBBY)
    world.add(*(call(f"t{day}", f"o{day}", clock.now() - timedelta(days=day)) for day in range(1, 20)))
    stretch = errands.stretch(clock.now() - timedelta(days=20), None, now=clock.now())
    report = await errands.backfill(world.settings, stretch, emit=world.told.append, clock=clock, patience=timedelta(hours=1))

    refused = [path for _, path, status in world.sandbox.requests if status == 429]
    assert (report.exit, report.calls, len({trace for trace, _, _ in world.shown()})) == (Exit.OK, 19, 19)
    assert len(refused) <= 2, refused
    assert asked.count(Urgency.BACKFILL) >= 6
    assert urgency.get() is Urgency.LIVE
