"""The whole worker against the sandbox: nothing skipped, nothing doubled, nothing wrong left behind."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from hunkwatch import app, errands, events
from hunkwatch.daemon import upkeep
from hunkwatch.errors import Exit
from hunkwatch.ports import Delivery

if TYPE_CHECKING:
    from collections.abc import Callable

    Call = Callable[..., dict[str, Any]]
    Clock = Any


SURGICAL_CALL = {"blind_rewrite_patch": 1.0, "retyped_lines_patch": 0, "patch_shape": "no_blind_rewrite"}
BLIND_CALL = {"blind_rewrite_patch": 0.0, "retyped_lines_patch": 0, "patch_shape": "blind_rewrite"}


def on(trace: str, observation: str | None, scores: dict[str, float | str]) -> dict[tuple[str, str | None, str], float | str]:
    """Return scores as the world shows them."""
    return {(trace, observation, name): value for name, value in scores.items()}


def rollup(blind: int, hunks: int) -> dict[str, float | str]:
    """Return a trace's own scores."""
    return {"blind_rewrite": 1 - blind / hunks, "blind_hunks": blind, "retyped_lines": 0}


async def test_every_call_is_scored_once_and_a_second_pass_writes_nothing(world: Any, clock: Clock, call: Call) -> None:
    """Two traces, three calls, one of them blind: observations and traces get their numbers, and a second pass nothing new."""
    start = clock.now() - timedelta(hours=2)
    world.add(call("t1", "o1", start), call("t1", "o2", start + timedelta(minutes=1), blind=True), call("t2", "o3", start))

    first = await world.once()
    written = world.writes()
    second = await world.once()

    assert world.shown() == {
        **on("t1", "o1", SURGICAL_CALL),
        **on("t1", "o2", BLIND_CALL),
        **on("t1", None, rollup(1, 2)),
        **on("t2", "o3", SURGICAL_CALL),
        **on("t2", None, rollup(0, 1)),
    }
    assert (first.exit, first.calls, first.sent, first.seen, first.waiting) == (Exit.OK, 3, 15, 15, 0)
    assert (second.exit, second.calls, second.sent, world.writes() - written) == (Exit.OK, 0, 0, 0)


async def test_a_lost_state_leads_to_the_same_scores(world: Any, clock: Clock, call: Call) -> None:
    """Days later, on another calendar day, a worker that knows nothing finds its scores and doubles none."""
    world.add(call("t1", "o1", clock.now() - timedelta(hours=2)), call("t2", "o2", clock.now(), blind=True))
    await world.once()
    before, written = world.sandbox.all_scores(), world.writes()

    world.lose_state()
    clock.forward(days=3)
    report = await world.once()

    assert (world.sandbox.all_scores(), world.writes()) == (before, written)
    assert (report.sent, report.seen) == (0, 12)


async def test_a_lost_state_and_changed_data_change_scores_in_place(world: Any, clock: Clock, call: Call) -> None:
    """A score that was written with another timestamp is overwritten on the day it has."""
    start = clock.now() - timedelta(minutes=5)
    world.add(call("t1", "o1", start))
    await world.once()

    world.lose_state()
    clock.forward(days=2)
    world.add(call("t1", "o1", start, blind=True), call("t1", "o0", start - timedelta(days=1)))
    await world.once()

    assert world.shown() == {**on("t1", "o1", BLIND_CALL), **on("t1", "o0", SURGICAL_CALL), **on("t1", None, rollup(1, 2))}


async def test_a_span_that_arrives_late_is_found_by_the_overlap(world: Any, clock: Clock, call: Call) -> None:
    """An observation that Langfuse shows half an hour after its start is read by the next sweep."""
    async with world.worker() as project:
        await world.live(project, minutes=1)
        start = clock.now()
        clock.forward(minutes=30)
        world.add(call("t1", "o1", start))
        await world.live(project, minutes=3)

    assert world.shown() == {**on("t1", "o1", SURGICAL_CALL), **on("t1", None, rollup(0, 1))}


async def test_a_span_that_arrives_a_day_late_is_found_by_reconciling(world: Any, clock: Clock, call: Call) -> None:
    """What comes long after the overlap is met when the last days are read again."""
    async with world.worker() as project:
        await world.live(project, minutes=1)
        start = clock.now()
        clock.forward(hours=40)
        await world.live(project, minutes=1)
        world.add(call("t1", "o1", start))
        await world.live(project, minutes=26 * 60, every=3600)
        await world.live(project, minutes=5)

    assert world.shown() == {**on("t1", "o1", SURGICAL_CALL), **on("t1", None, rollup(0, 1))}


async def test_the_rounds_reach_and_come_as_the_settings_say(world: Any, clock: Clock, call: Call) -> None:
    """A span that comes ten minutes late is out of a short overlap's reach, and found by a round that is made every quarter of an hour."""
    world.adjust("sweep", overlap=timedelta(minutes=1), reconcile_every=timedelta(minutes=15), reconcile_reach=timedelta(minutes=40))
    async with world.worker() as project:
        await world.live(project, minutes=1)
        start = clock.now()
        clock.forward(minutes=10)
        await world.live(project, minutes=1)
        world.add(call("t1", "o1", start))
        await world.live(project, minutes=2)
        before = world.shown()
        await world.live(project, minutes=17)

    assert before == {}
    assert world.shown() == {**on("t1", "o1", SURGICAL_CALL), **on("t1", None, rollup(0, 1))}


async def test_the_ledger_keeps_what_the_settings_say(world: Any, clock: Clock, call: Call) -> None:
    """What was read before that is dropped, its scores stay in Langfuse."""
    world.adjust("sweep", keep=timedelta(days=5))
    world.add(call("t1", "o1", clock.now()))
    async with world.worker() as project:
        await world.live(project, minutes=3)
        clock.forward(days=4, hours=23)
        early = await upkeep.prune(project)
        clock.forward(hours=2)
        late = await upkeep.prune(project)

    assert (early, late, len(world.shown())) == (0, 1, 6)


async def test_an_observation_whose_content_changes_is_scored_again_in_place(world: Any, clock: Clock, call: Call) -> None:
    """A span that is sent again with another patch changes its scores, and no second ones appear."""
    start = clock.now()
    async with world.worker() as project:
        world.add(call("t1", "o1", start))
        await world.live(project, minutes=3)
        before = world.shown()
        world.add(call("t1", "o1", start, blind=True))
        await world.live(project, minutes=5)

    assert before == {**on("t1", "o1", SURGICAL_CALL), **on("t1", None, rollup(0, 1))}
    assert world.shown() == {**on("t1", "o1", BLIND_CALL), **on("t1", None, rollup(1, 1))}


async def test_a_resend_without_a_change_of_content_sends_nothing(world: Any, clock: Clock, call: Call) -> None:
    """A newer version of the same content is read and noted, and that is all."""
    start = clock.now()
    async with world.worker() as project:
        world.add(call("t1", "o1", start))
        await world.live(project, minutes=3)
        written = world.writes()
        world.add(call("t1", "o1", start))
        await world.live(project, minutes=5)

    assert world.writes() == written


async def test_a_span_sent_again_with_another_start_is_one_span(world: Any, clock: Clock, call: Call) -> None:
    """Langfuse then holds two rows, on two days; the scores stay where the first was."""
    clock.at = clock.at.replace(hour=23, minute=59)
    start = clock.now()
    async with world.worker() as project:
        world.add(call("t1", "o1", start))
        await world.live(project, minutes=3)
        before = world.sandbox.all_scores()
        world.add(call("t1", "o1", start + timedelta(minutes=4)))
        await world.live(project, minutes=5)

    assert world.sandbox.all_scores() == before


async def test_an_earlier_start_that_shows_up_later_moves_no_score(world: Any, clock: Clock, call: Call) -> None:
    """The timestamp of a score that was sent is part of its identity for ever."""
    clock.at = clock.at.replace(hour=0, minute=5)
    start = clock.now()
    async with world.worker() as project:
        world.add(call("t1", "o1", start))
        await world.live(project, minutes=3)
        world.add(call("t1", "o1", start - timedelta(minutes=10)))
        await world.live(project, minutes=5)

    assert world.shown() == {**on("t1", "o1", SURGICAL_CALL), **on("t1", None, rollup(0, 1))}


async def test_a_call_that_is_none_any_more_loses_its_scores(world: Any, clock: Clock, call: Call) -> None:
    """An observation that turns out to hold no patch has its scores withdrawn, and so has its trace."""
    start = clock.now()
    async with world.worker() as project:
        world.add(call("t1", "o1", start))
        await world.live(project, minutes=3)
        world.add(call("t1", "o1", start, input={"path": "a.py"}, output="", name="read_file"))
        await world.live(project, minutes=70, every=60)

    assert world.shown() == {}


async def test_a_deleted_trace_is_let_go(world: Any, clock: Clock, call: Call) -> None:
    """What vanishes from Langfuse is neither withdrawn nor written again."""
    async with world.worker() as project:
        world.add(call("t1", "o1", clock.now()))
        await world.live(project, minutes=3)
        written = world.writes()
        world.forget("t1")
        await world.live(project, minutes=70, every=60)

    assert world.writes() == written


async def test_a_request_is_scored_once_nobody_executed_it(world: Any, clock: Clock, call: Call) -> None:
    """A call known only from a model's answer waits for its grace; the tool that then ran takes the scores over."""
    start = clock.now()
    asked = call("t1", "g1", start, type="GENERATION", name="gpt", input=None, output=tool_request("c1"))
    async with world.worker() as project:
        world.add(asked)
        await world.live(project, minutes=9)
        waiting = world.shown()
        await world.live(project, minutes=4)
        ripe = world.shown()
        world.add(call("t1", "o1", start, metadata={"tool_call_id": "c1"}, input={"input": SURGICAL, "call_id": "c1"}))
        await world.live(project, minutes=20)

    assert waiting == {}
    assert ripe == {**on("t1", "g1", SURGICAL_CALL), **on("t1", None, rollup(0, 1))}
    assert set(world.shown()) == {*on("t1", "o1", SURGICAL_CALL), *on("t1", None, rollup(0, 1))}


async def test_a_trace_that_goes_on_is_rolled_up_now_and_then(world: Any, clock: Clock, call: Call) -> None:
    """A call every fifty seconds for twenty minutes costs a handful of rollups, not one a call."""
    async with world.worker() as project:
        for number in range(24):
            world.add(call("t1", f"o{number:02}", clock.now()))
            await world.live(project, minutes=50 / 60, every=50)
        await world.live(project, minutes=5)
        status = await project.store.status(project.id, scorer="")

    sends = {name: count for _, name, count in status.sent_per_day}
    assert (sends["patch_shape"], 2 <= sends["blind_rewrite"] <= 4) == (24, True)
    assert world.shown()["t1", None, "blind_rewrite"] == 1.0


async def test_only_the_chosen_scores_are_written(world: Any, clock: Clock, call: Call) -> None:
    """Each score costs a unit: what is not asked for is not sent."""
    world.adjust("scores", write=("blind_rewrite",))
    world.add(call("t1", "o1", clock.now() - timedelta(hours=1)))

    await world.once()

    assert world.shown() == on("t1", None, {"blind_rewrite": 1.0})


async def test_a_dry_run_counts_and_writes_nothing(world: Any, clock: Clock, call: Call) -> None:
    """It says what a real pass would send, and leaves Langfuse and the state as they were."""
    world.add(call("t1", "o1", clock.now() - timedelta(hours=1)), call("t2", "o2", clock.now() - timedelta(hours=1), blind=True))

    report = await app.dry_run(world.settings, emit=world.told.append, clock=clock)

    assert report.would_send == dict.fromkeys([*SURGICAL_CALL, *rollup(0, 1)], 2)
    assert (report.calls, report.already_there, world.writes(), world.state.exists()) == (2, 0, 0, False)


async def test_a_dry_run_after_a_pass_would_send_nothing(world: Any, clock: Clock, call: Call) -> None:
    """The state is copied, so that what was done counts as done."""
    world.add(call("t1", "o1", clock.now() - timedelta(hours=1)))
    await world.once()
    written = world.writes()

    report = await app.dry_run(world.settings, emit=world.told.append, clock=clock)

    assert (report.would_send, report.would_withdraw, world.writes()) == ({}, {}, written)


async def test_a_dry_run_without_a_state_finds_what_is_there(world: Any, clock: Clock, call: Call) -> None:
    """Scores of an earlier life are looked up and not counted as sends."""
    world.add(call("t1", "o1", clock.now() - timedelta(hours=1)))
    await world.once()
    world.lose_state()

    report = await app.dry_run(world.settings, emit=world.told.append, clock=clock)

    assert (report.would_send, report.already_there) == ({}, 6)


async def test_at_rest_delivery_asks_langfuse_nothing(world: Any, clock: Clock, call: Call) -> None:
    """Once everything is seen, only the sweep talks to the server."""
    async with world.worker() as project:
        world.add(call("t1", "o1", clock.now()))
        await world.live(project, minutes=10)
        before = [path for _, path, _ in world.sandbox.requests if "scores" in path or "ingestion" in path]
        await world.live(project, minutes=30)
        after = [path for _, path, _ in world.sandbox.requests if "scores" in path or "ingestion" in path]

    assert after == before


async def test_a_clock_that_ran_ahead_leaves_no_gap(world: Any, clock: Clock, call: Call) -> None:
    """A watermark from a wrong hour does not hide what starts in the right one."""
    async with world.worker() as project:
        await world.live(project, minutes=1)
        clock.jump(hours=6)
        await world.live(project, minutes=1)
        clock.jump(hours=-6)
        world.add(call("t1", "o1", clock.now()))
        await world.live(project, minutes=3)

    assert world.shown() == {**on("t1", "o1", SURGICAL_CALL), **on("t1", None, rollup(0, 1))}


async def test_a_pruned_trace_that_comes_back_is_read_whole(world: Any, clock: Clock, call: Call) -> None:
    """Months later a call is added to an old trace: its scores are about all of its calls, and none is withdrawn."""
    world.adjust("sweep", span=timedelta(days=60))
    world.add(call("t1", "o1", clock.now(), blind=True))
    async with world.worker() as project:
        await world.live(project, minutes=3)
        clock.forward(days=120)
        pruned = await project.store.prune(project.id, before=clock.now())
        await world.live(project, minutes=3)
        world.add(call("t1", "o2", clock.now()))
        await world.live(project, minutes=15)

    assert pruned == 1
    assert world.shown() == {**on("t1", "o1", BLIND_CALL), **on("t1", "o2", SURGICAL_CALL), **on("t1", None, rollup(1, 2))}


async def test_a_copied_call_is_marked_in_both_traces(world: Any, clock: Clock, call: Call) -> None:
    """Whichever trace came first, both say that the call is also elsewhere."""
    async with world.worker() as project:
        world.add(call("t1", "o1", clock.now(), metadata={"tool_call_id": "c1"}, input={"input": SURGICAL, "call_id": "c1"}))
        await world.live(project, minutes=3)
        world.add(call("t2", "o2", clock.now(), metadata={"tool_call_id": "c1"}, input={"input": SURGICAL, "call_id": "c1"}))
        await world.live(project, minutes=5)
        entries = await project.store.entries_of(project.id, ["t1", "t2"])

    assert {call.call_id for of_trace in entries.values() for entry in of_trace for call in entry.calls} == {"c1"}
    flags = {row["traceId"]: row["metadata"]["flags"] for row in world.sandbox.all_scores() if row["name"] == "patch_shape"}
    assert all("also_in" in flags[trace] for trace in ("t1", "t2"))


async def test_the_first_line_says_who_answers(world: Any) -> None:
    """Reader and writer are chosen by looking, and named."""
    async with world.worker():
        pass

    started = world.heard(events.WorkerStarted)
    assert [(one.project, one.server) for one in started] == [("project-1", "4.16.0")]


async def test_dead_letters_can_be_tried_again(world: Any, clock: Clock, call: Call) -> None:
    """Once the cause is mended, a dead letter is sent as if for the first time."""
    from hunkwatch.sandbox import Habits  # noqa: PLC0415 (the module is heavy and one test needs it)

    world.sandbox.habits = Habits(dropped_scores=1.0)
    world.add(call("t1", "o1", clock.now()))
    async with world.worker() as project:
        await world.live(project, minutes=40)
        outbox = (await project.store.status(project.id, scorer="")).outbox
    world.sandbox.habits = Habits()

    retried = await app.retry_dead_letters(world.settings, clock=clock)
    await world.run(minutes=3)

    assert (outbox[Delivery.DEAD], retried) == (6, 6)
    assert world.shown() == {**on("t1", "o1", SURGICAL_CALL), **on("t1", None, rollup(0, 1))}


async def test_a_discarded_dead_letter_stays_discarded_until_its_payload_changes(world: Any, clock: Clock, call: Call) -> None:
    """A rescore, another call in the trace and a new start bring nothing back; another patch does."""
    from hunkwatch.sandbox import Habits  # noqa: PLC0415 (the module is heavy and one test needs it)

    world.adjust("scores", write=("patch_shape",))
    start = clock.now()
    world.sandbox.habits = Habits(dropped_scores=1.0)
    world.add(call("t1", "o1", start))
    await world.run(minutes=40)
    world.sandbox.habits = Habits()

    discarded = await app.discard_dead_letters(world.settings, clock=clock)
    world.add(call("t1", "o2", clock.now()))
    await world.run(minutes=5)
    await errands.rescore(world.settings, emit=world.told.append, clock=clock)
    without = world.shown()
    world.add(call("t1", "o1", start, blind=True))
    await world.run(minutes=90)

    assert (discarded, set(without)) == (1, {("t1", "o2", "patch_shape")})
    assert world.shown() == {("t1", "o1", "patch_shape"): "blind_rewrite", ("t1", "o2", "patch_shape"): "no_blind_rewrite"}


SURGICAL = "*** Begin Patch\n*** Update File: a.py\n@@\n keep\n-old = 1\n+old = 2\n more\n*** End Patch"


def tool_request(call_id: str) -> dict[str, Any]:
    """Return a model's answer that asks for the tool."""
    arguments = '{"input": "' + SURGICAL.replace("\n", "\\n") + '"}'
    return {
        "role": "assistant",
        "tool_calls": [{"id": call_id, "type": "function", "function": {"name": "apply_patch", "arguments": arguments}}],
    }


@pytest.mark.parametrize("order", ["model tool agent", "agent tool model", "tool agent model"])
async def test_one_call_is_counted_once_in_whatever_order_its_records_come(world: Any, clock: Clock, call: Call, order: str) -> None:
    """Each record comes a sweep apart; in the end the call stands where the tool ran, and nothing is left where it stood before."""
    start = clock.now() - timedelta(hours=3)
    asked = json.dumps(
        [{"role": "assistant", "tool_calls": [{"id": "call_0001", "name": "apply_patch", "arguments": call("", "", start)["input"]}]}]
    )
    rows = {
        "agent": call("t1", "agent", start, type="AGENT", name="turn", input="go", output=asked),
        "model": call("t1", "model", start + timedelta(seconds=1), type="GENERATION", name="llm", input="go", output=asked),
        "tool": call("t1", "tool", start + timedelta(seconds=2), metadata={"call_id": "call_0001"}),
    }
    for name in order.split():
        world.add(rows[name])
        await world.once()
        clock.forward(minutes=1)

    assert world.shown() == {**on("t1", "tool", SURGICAL_CALL), **on("t1", None, rollup(0, 1))}
