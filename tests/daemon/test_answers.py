"""What became of a call that only a model's answer records: the next generation of the session tells, however late it comes."""

from __future__ import annotations

import json
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from hunkwatch import events
from hunkwatch.daemon import upkeep
from hunkwatch.errors import RetryLater
from hunkwatch.sandbox import Fault, Habits, Wrong

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    Clock = Any
    Wire = dict[str, Any]

PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n keep\n-old = 1\n+old = 2\n*** End Patch"
FINE = {"query": "apply_patch", "result": "Successfully applied patch to the following files:\na.py", "success": True}
BROKEN = {"error": "apply_patch failed: no such context", "success": False}

READINGS = pytest.mark.parametrize("version", ["4.16.0", "3.120.0"])


def part(call_id: str) -> Wire:
    """Return a call as a message part."""
    return {"type": "tool_call", "id": call_id, "name": "apply_patch", "arguments": {"input": PATCH}}


def answer(call_id: str, response: object) -> Wire:
    """Return the result of a call as a message part."""
    return {"type": "tool_call_response", "id": call_id, "response": response}


@pytest.fixture
def turn(stamped: Callable[[datetime], str]) -> Callable[..., Wire]:
    """Return a builder of generations: what was told before, what is asked for now."""

    def make(  # noqa: PLR0913 - what a turn is made of
        trace: str, span: str, start: datetime, *, asks: str = "", told: tuple[Wire, ...] = (), session: str = "s"
    ) -> Wire:
        said = [part(asks)] if asks else [{"type": "text", "content": "done"}]
        return {
            "id": span,
            "traceId": trace,
            "type": "GENERATION",
            "name": "chat gpt",
            "startTime": stamped(start),
            "endTime": stamped(start + timedelta(seconds=5)),
            "sessionId": session or None,
            "input": json.dumps([{"role": "user", "parts": [{"type": "text", "content": "go"}]}, {"role": "tool", "parts": list(told)}]),
            "output": json.dumps([{"role": "assistant", "parts": said, "finish_reason": "tool_call"}]),
        }

    return make


def outcomes(world: Any) -> dict[str, str]:
    """Return what the scores say became of the calls, by observation or trace."""
    return {row["observationId"] or row["traceId"]: row["metadata"]["outcomes"] for row in world.sandbox.scores()}


@READINGS
async def test_the_next_generation_of_the_session_tells(world: Any, clock: Clock, turn: Any, version: str) -> None:
    """Two turns of a session in traces of their own: the second's input says that the first's patch failed, the last stays unknown."""
    world.sandbox.version = version
    start = clock.now() - timedelta(hours=2)
    world.add(turn("t1", "g1", start, asks="call_one1"))
    world.add(turn("t2", "g2", start + timedelta(minutes=2), asks="call_two2", told=(answer("call_one1", BROKEN),)))

    await world.once()

    assert outcomes(world) == {"g1": "failed 1", "t1": "failed 1", "g2": "unknown 1", "t2": "unknown 1"}


@READINGS
async def test_within_a_trace_without_a_session_the_trace_is_the_session(world: Any, clock: Clock, turn: Any, version: str) -> None:
    """The next generation of the same trace answers, one of another trace does not."""
    world.sandbox.version = version
    start = clock.now() - timedelta(hours=2)
    world.add(turn("t1", "g1", start, asks="call_one1", session=""), turn("t2", "g2", start, asks="call_two2", session=""))
    told = (answer("call_one1", FINE), answer("call_two2", FINE))
    world.add(turn("t1", "g3", start + timedelta(minutes=1), told=told, session=""))

    await world.once()

    assert outcomes(world) == {"g1": "applied 1", "t1": "applied 1", "g2": "unknown 1", "t2": "unknown 1"}


@READINGS
@pytest.mark.parametrize("later", [timedelta(minutes=3), timedelta(minutes=40), timedelta(hours=8)])
async def test_an_answer_may_come_sweeps_later(world: Any, clock: Clock, turn: Any, version: str, later: timedelta) -> None:
    """The call is on record and perhaps scored before anything answers it; a worker that was started again still learns of it."""
    world.sandbox.version = version
    world.add(turn("t1", "g1", clock.now(), asks="call_one1"))
    await world.once()
    clock.forward(seconds=later.total_seconds())
    await world.once()
    world.add(turn("t2", "g2", clock.now(), told=(answer("call_one1", FINE),)))
    clock.forward(days=1)
    await world.once()

    assert outcomes(world) == {"g1": "applied 1", "t1": "applied 1"}
    assert {row["metadata"]["flags"] for row in world.sandbox.scores() if row["observationId"]} == {"answered 1"}


async def test_looking_for_an_answer_ends(world: Any, clock: Clock, turn: Any) -> None:
    """A call that nothing answers is asked about four times in a day and never again."""
    world.add(turn("t1", "g1", clock.now(), asks="call_one1"))
    sought = []
    for hours in (0, 0.2, 1, 5, 24, 48, 96):
        clock.forward(hours=hours)
        await world.once()
        sought.append(len(world.heard(events.AnswersSought)))

    assert sought == [1, 2, 3, 3, 4, 4, 4]
    assert outcomes(world) == {"g1": "unknown 1", "t1": "unknown 1"}


async def test_a_long_session_costs_a_handful_of_requests(world: Any, clock: Clock, turn: Any) -> None:
    """Of thirty calls in one session all learn what became of them, from four requests."""
    start = clock.now() - timedelta(hours=3)
    told: tuple[Wire, ...] = ()
    for number in range(30):
        world.add(turn("t1", f"g{number}", start + timedelta(minutes=number), asks=f"call_{number:04}", told=told))
        told = (*told, answer(f"call_{number:04}", FINE if number % 3 else BROKEN))
    world.add(turn("t1", "end", start + timedelta(minutes=31), told=told))

    async with world.worker() as project:
        await world.sweep(project)
        before = len(world.sandbox.requests)
        await upkeep.everything(project, within=timedelta(minutes=1))
        requests = len(world.sandbox.requests) - before
        entries = (await project.store.entries_of(project.id, ["t1"]))["t1"]

    assert Counter(call.outcome.value for entry in entries for call in entry.calls) == {"applied": 20, "failed": 10}
    assert requests <= 4, "where they are, what comes next (twice), the newest of it"


async def test_ids_that_each_turn_counts_anew_are_not_mixed_up(world: Any, clock: Clock, turn: Any) -> None:
    """Where every turn calls its call ``c1``, each is answered by the generation right behind it."""
    start = clock.now() - timedelta(hours=2)
    rows = [("g1", "c1", ()), ("g2", "c1", (answer("c1", BROKEN),)), ("g3", "", (answer("c1", FINE),))]
    world.add(*(turn(f"t{at}", span, start + timedelta(minutes=at), asks=asks, told=told) for at, (span, asks, told) in enumerate(rows)))

    await world.once()

    assert {key: found for key, found in outcomes(world).items() if key[0] == "g"} == {"g1": "failed 1", "g2": "applied 1"}


async def test_a_server_that_fails_meanwhile_is_asked_again(world: Any, clock: Clock, turn: Any) -> None:
    """While nothing can be read, no question is lost: it is put again when the server is back."""
    async with world.worker() as project:
        world.add(turn("t1", "g1", clock.now(), asks="call_one1"))
        await world.sweep(project)
        world.add(turn("t2", "g2", clock.now() + timedelta(seconds=30), told=(answer("call_one1", FINE),)))
        clock.forward(minutes=2)
        world.sandbox.habits = Habits(faults=(Fault(Wrong.UNAVAILABLE, path="/api/public/v2/observations"),))
        with pytest.raises(RetryLater):
            await upkeep.tick(project)
        world.sandbox.habits = Habits()
        await upkeep.tick(project)

    assert [(event.asked, event.answered) for event in world.heard(events.AnswersSought)] == [(1, 1)]


async def test_a_known_answer_survives_a_reading_anew(world: Any, clock: Clock, turn: Any) -> None:
    """A span that is sent again with another text keeps what a later message told of its call."""
    start = clock.now() - timedelta(hours=2)
    world.add(turn("t1", "g1", start, asks="call_one1"), turn("t1", "g2", start + timedelta(minutes=1), told=(answer("call_one1", FINE),)))
    await world.once()
    clock.forward(minutes=5)
    again = turn("t1", "g1", start, asks="call_one1")
    world.add({**again, "output": again["output"].replace("old = 2", "old = 3")})
    await world.once()

    assert outcomes(world) == {"g1": "applied 1", "t1": "applied 1"}
