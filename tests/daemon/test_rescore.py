"""Everything on record worked out again: from the record where it can answer, from Langfuse where an older scorer graded."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from hunkwatch import errands
from hunkwatch.core import evaluate
from hunkwatch.daemon import rescore as again
from hunkwatch.daemon.rescore import Change
from hunkwatch.daemon.tenure import Tenure
from hunkwatch.errors import Exit, Halt
from hunkwatch.store import SqlStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from hunkwatch.daemon.rescore import Changes
    from hunkwatch.errands import RescoreReport

    Call = Callable[..., dict[str, Any]]
    Clock = Any

TRACE = ("blind_rewrite", "blind_hunks", "retyped_lines")
CALL = ("blind_rewrite_patch", "retyped_lines_patch", "patch_shape")


async def rescore(world: Any, **more: Any) -> RescoreReport:
    """Work everything out again."""
    return await errands.rescore(world.settings, emit=world.told.append, clock=world.clock, **more)


async def rehearse(world: Any) -> Changes:
    """Only say what would change."""
    return await errands.rehearse_rescore(world.settings, emit=world.told.append, clock=world.clock)


def reads(world: Any) -> int:
    """Count the requests for observations so far, but for the one that each start makes to see how the server answers."""
    paths = [path for _, path, _ in world.sandbox.requests]
    return sum("observations" in path for path in paths) - sum("projects" in path for path in paths)


@pytest.fixture
async def scored(world: Any, clock: Clock, call: Call) -> Any:
    """A world with two traces scored: t1 surgical and blind, t2 blind."""
    start = clock.now() - timedelta(hours=2)
    world.add(call("t1", "o1", start), call("t1", "o2", start + timedelta(minutes=1), blind=True), call("t2", "o3", start, blind=True))
    await world.once()
    clock.forward(hours=1)
    return world


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return what makes this program one with a newer scorer."""
    return lambda: monkeypatch.setattr(evaluate, "SCORER", "2")


async def test_nothing_changed_sends_nothing_and_reads_nothing(scored: Any) -> None:
    """A rescore for no reason costs no score and no observation."""
    written, read = scored.writes(), reads(scored)
    report = await rescore(scored)

    assert (report.exit, report.changes.traces, report.changes.sends, report.sent) == (Exit.OK, 2, 0, 0)
    assert (written, read) == (scored.writes(), reads(scored))


async def test_other_settings_are_answered_by_the_record(scored: Any) -> None:
    """Without paths every comment and metadata is another one, no value is; the rehearsal says so beforehand, without a write."""
    scores, read = scored.shown(), reads(scored)
    scored.adjust("scores", paths=False)
    written = scored.writes()
    would = await rehearse(scored)
    rehearsed = scored.writes()
    report = await rescore(scored)

    assert {change for _, change in would.scores} == {Change.WORDS}
    assert (would.scores, would.sends, 15) == (report.changes.scores, report.sent, report.sent)
    assert (scored.shown(), reads(scored)) == (scores, read)
    assert written == rehearsed
    assert "b.py" not in str(scored.sandbox.all_scores())


async def test_a_name_that_is_written_from_now_on_is_added(world: Any, clock: Clock, call: Call) -> None:
    """Scores that were not wanted before are new, the others stay as they are."""
    world.adjust("scores", write=("blind_rewrite",))
    world.add(call("t1", "o1", clock.now() - timedelta(hours=2)))
    await world.once()
    world.adjust("scores", write=("blind_rewrite", "blind_hunks", "patch_shape"))
    would = await rehearse(world)
    await rescore(world)

    assert dict(would.scores) == {("blind_hunks", Change.NEW): 1, ("patch_shape", Change.NEW): 1}
    assert {"blind_rewrite", "blind_hunks", "patch_shape"} == {name for _, _, name in world.shown()}


async def test_calls_of_an_older_scorer_are_read_again(scored: Any, newer: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is graded anew from Langfuse, once: a second rescore reads nothing any more."""
    newer()
    grade = evaluate.grading.grade
    monkeypatch.setattr(evaluate.grading, "grade", lambda given: _doubled(grade(given)))
    would = await rehearse(scored)
    before = scored.shown()
    first = await rescore(scored)
    second = await rescore(scored)

    assert (before["t1", None, "blind_hunks"], scored.shown()["t1", None, "blind_hunks"]) == (1, 2)
    assert (first.changes.read, first.changes.left, second.changes.read, second.sent) == (3, 0, 0, 0)
    assert (would.scores, would.sends) == (first.changes.scores, first.sent)
    assert 2 == would.scores["blind_hunks", Change.VALUE]
    assert {"2"} == {score["metadata"]["scorer"] for score in scored.sandbox.all_scores()}


async def test_the_start_of_a_call_that_is_read_again_stays(scored: Any, newer: Callable[[], None]) -> None:
    """No score moves to another day, and none is there twice."""
    before = {score["id"]: score["timestamp"] for score in scored.sandbox.all_scores()}
    newer()
    await rescore(scored)

    assert before == {score["id"]: score["timestamp"] for score in scored.sandbox.all_scores()}


async def test_a_trace_that_is_gone_from_langfuse_is_left_as_it_is(scored: Any, newer: Callable[[], None]) -> None:
    """Nothing is written about it; the other is rescored."""
    scored.forget("t1")
    newer()
    report = await rescore(scored)

    assert (report.changes.traces, report.changes.left, report.changes.read) == (1, 1, 1)
    assert {"t2"} == {trace for trace, _, _ in scored.shown()}


async def test_a_rehearsal_works_beside_a_worker_and_writes_nothing(scored: Any, newer: Callable[[], None]) -> None:
    """The state is open for reading only: not a byte of it changes."""
    newer()
    async with scored.worker():
        before = scored.state.read_bytes()
        would = await rehearse(scored)
        after = scored.state.read_bytes()

    assert (before, 15) == (after, would.sends)


async def test_purged_scores_come_back(scored: Any) -> None:
    """What was withdrawn follows from the record still."""
    scores = scored.shown()
    await errands.purge(scored.settings, emit=scored.told.append, clock=scored.clock)
    between = scored.shown()
    report = await rescore(scored)

    assert (between, scored.shown(), report.sent) == ({}, scores, 15)
    assert {change for _, change in report.changes.scores} == {Change.NEW}


async def test_it_waits_for_nobody_who_sweeps(scored: Any, clock: Clock) -> None:
    """While another process holds the project, nothing is worked out behind its back."""
    async with scored.worker() as project:
        assert isinstance(project.store, SqlStore)
        await Tenure(SqlStore(project.store._engine, holder="worker"), project.id, clock).renew()
        with pytest.raises(Halt) as raised:
            await again.run(project, patience=timedelta(0), tell=lambda _step: None, stop=asyncio.Event())

    assert Exit.TEMPORARY == raised.value.exit_code


async def test_no_state_is_told_so(world: Any) -> None:
    """A rehearsal of nothing has nothing to say."""
    with pytest.raises(Halt) as raised:
        await rehearse(world)

    assert (Exit.STATE, False) == (raised.value.exit_code, world.state.exists())


def _doubled(graded: Any) -> Any:
    """Grade as a scorer that sees twice as many blind hunks."""
    return replace(graded, hunks=2 * graded.hunks, blind_hunks=2 * graded.blind_hunks)
