"""What every store promises, on every database it runs on."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from hunkwatch.core.model import Shape
from hunkwatch.errors import HunkwatchError
from hunkwatch.ports import Commit, Delivery, ObservationKey, TraceState
from hunkwatch.store import open_store

if TYPE_CHECKING:
    from hunkwatch.store import SqlStore

MINUTE = timedelta(minutes=1)


async def test_a_watermark_only_rises_and_only_in_its_lane(store: SqlStore, make: Any) -> None:
    """A sweep that is late with its commit cannot take the promise of a later one back."""
    for at in (make.now, make.later(hours=1), make.later(minutes=5)):
        await store.commit(Commit("project", watermark=at))
    await store.commit(Commit("project", lane="slow", watermark=make.now))

    found = [await store.watermark("project"), await store.watermark("project", "slow"), await store.watermark("other")]
    assert [make.later(hours=1), make.now, None] == found


async def test_an_entry_comes_back_as_it_was_written(store: SqlStore, make: Any) -> None:
    """Times to the microsecond, calls to the last field."""
    entry = make.entry(calls=(make.call(call_id="call-1", end_time=make.later(seconds=1)), make.call(index=1)), reason="odd")
    await store.commit(Commit("project", ledger=[entry]))

    assert {entry.key: entry} == await store.known("project", [entry.key, ObservationKey("trace-1", "absent")])


async def test_any_number_of_keys_can_be_asked_for(store: SqlStore, make: Any) -> None:
    """Neither database's limit on parameters is met."""
    entries = [make.entry(observation=f"o-{number}") for number in range(3000)]
    await store.commit(Commit("project", ledger=entries))
    keys = [entry.key for entry in entries] + [ObservationKey("other", f"o-{number}") for number in range(3000)]

    assert 3000 == len(await store.known("project", keys))


async def test_only_entries_with_calls_belong_to_a_trace(store: SqlStore, make: Any) -> None:
    """What is asked for to score a trace is what carries a call."""
    full = make.entry(observation="full", calls=(make.call(observation_id="full"),))
    await store.commit(Commit("project", ledger=[full, make.entry(observation="empty"), make.entry(trace="trace-2")]))

    assert {"trace-1": [full]} == dict(await store.entries_of("project", ["trace-1", "trace-2"]))


async def test_traces_with_calls_or_scores_are_listed_page_by_page(store: SqlStore, make: Any) -> None:
    """Every trace once, none of another project, none of which nothing was found, and the next page begins where the last ended."""
    traces = [f"trace-{number}" for number in range(1, 8)]
    full = [make.entry(trace=trace, calls=(make.call(trace_id=trace),)) for trace in traces[1:]]
    await store.commit(Commit("project", ledger=[*full, make.entry(trace="empty")], outbox=[make.row()]))

    found = [page := await store.trace_ids("project", limit=3)]
    while page:
        found.append(page := await store.trace_ids("project", after=page[-1], limit=3))

    assert ([traces[:3], traces[3:6], traces[6:], []], []) == (found, await store.trace_ids("other", limit=3))


async def test_a_commit_that_fails_midway_leaves_nothing(store: SqlStore, make: Any) -> None:
    """Ledger, outbox and watermark are written together or not at all."""
    bad = make.row(state=Delivery.DUE, reason=None)
    with pytest.raises((HunkwatchError, AttributeError, TypeError)):
        await store.commit(Commit("project", ledger=[make.entry()], outbox=[make.row(), bad], watermark=make.now))

    found = (
        await store.watermark("project"),
        await store.known("project", [make.entry().key]),
        await store.outbox_of("project", ["trace-1"]),
    )
    assert (None, {}, {}) == found


async def test_a_commit_the_database_refuses_leaves_nothing(store: SqlStore, make: Any) -> None:
    """The same when the last statement of the transaction fails."""
    lane: Any = None  # the column refuses it
    with pytest.raises(HunkwatchError):
        await store.commit(Commit("project", ledger=[make.entry()], outbox=[make.row()], lane=lane, watermark=make.now))

    found = (
        await store.watermark("project"),
        await store.known("project", [make.entry().key]),
        await store.outbox_of("project", ["trace-1"]),
    )
    assert (None, {}, {}) == found


async def test_an_outbox_row_comes_back_as_it_was_written(store: SqlStore, make: Any) -> None:
    """A number stays a number, a label a label, and metadata keep their types."""
    number = make.row(score=make.score(metadata={"hunks": 4, "share": 0.5, "files": "a, b", "none": None}))
    label = make.row("score-2", score=make.score("score-2", name="patch_shape", value="new_file", observation_id="observation-1"))
    await store.commit(Commit("project", outbox=[number, label]))

    assert {"trace-1": [number, label]} == {
        trace: sorted(rows, key=lambda row: row.score.id) for trace, rows in (await store.outbox_of("project", ["trace-1"])).items()
    }


async def test_a_score_keeps_its_first_timestamp(store: SqlStore, make: Any) -> None:
    """The timestamp is part of the identity: a later commit changes the payload, never the day."""
    await store.commit(Commit("project", outbox=[make.row()]))
    changed = make.row(score=make.score(timestamp=make.later(days=1), value=0.5), fingerprint="print-2")
    await store.commit(Commit("project", outbox=[changed]))

    [row] = (await store.outbox_of("project", ["trace-1"]))["trace-1"]
    assert (make.now, 0.5, "print-2") == (row.score.timestamp, row.score.value, row.fingerprint)


async def test_a_claim_is_exclusive_until_it_ends(store: SqlStore, make: Any) -> None:
    """Nobody gets a claimed row before its claim is over, and then somebody does."""
    await store.commit(Commit("project", outbox=[make.row()]))
    first = await store.claim("project", [Delivery.DUE], now=make.now, until=make.now + MINUTE, limit=10)
    second = await store.claim("project", [Delivery.DUE], now=make.later(seconds=59), until=make.later(hours=1), limit=10)
    third = await store.claim("project", [Delivery.DUE], now=make.now + MINUTE, until=make.later(hours=1), limit=10)

    assert (1, 0, 1) == (len(first), len(second), len(third))


async def test_only_due_rows_of_the_states_asked_for_are_claimed(store: SqlStore, make: Any) -> None:
    """The longest due come first."""
    rows = [
        make.row("late", next_at=make.later(minutes=-1)),
        make.row("later", next_at=make.later(minutes=-5)),
        make.row("future", next_at=make.later(minutes=1)),
        make.row("seen", Delivery.SEEN),
    ]
    await store.commit(Commit("project", outbox=rows))

    claimed = await store.claim("project", [Delivery.DUE], now=make.now, until=make.now + MINUTE, limit=10)
    assert ["later", "late"] == [row.score.id for row in claimed]


async def test_settling_adopts_the_timestamp_that_was_found(store: SqlStore, make: Any) -> None:
    """A score that Langfuse already has is written on its own day."""
    await store.commit(Commit("project", outbox=[make.row(state=Delivery.NEW)]))
    [row] = await store.claim("project", [Delivery.NEW], now=make.now, until=make.now + MINUTE, limit=1)
    found = replace(row, state=Delivery.SEEN, score=replace(row.score, timestamp=make.later(days=-3)))
    await store.settle([found], now=make.now)

    [after] = (await store.outbox_of("project", ["trace-1"]))["trace-1"]
    assert (Delivery.SEEN, make.later(days=-3)) == (after.state, after.score.timestamp)


async def test_a_payload_that_changes_while_it_is_sent_is_sent_again(store: SqlStore, make: Any) -> None:
    """The answer to the old payload does not settle the new one."""
    await store.commit(Commit("project", outbox=[make.row()]))
    [row] = await store.claim("project", [Delivery.DUE], now=make.now, until=make.now + MINUTE, limit=1)
    await store.commit(Commit("project", outbox=[make.row(score=make.score(value=0.25), fingerprint="print-2")]))
    await store.settle([replace(row, state=Delivery.SENT, sent=1, next_at=make.now + MINUTE)], now=make.now)

    [after] = (await store.outbox_of("project", ["trace-1"]))["trace-1"]
    assert (Delivery.DUE, 0.25, "print-2", make.now) == (after.state, after.score.value, after.fingerprint, after.next_at)


async def test_a_payload_that_changes_before_the_first_look_is_still_looked_up(store: SqlStore, make: Any) -> None:
    """A look that failed leaves the row to be looked up, whatever it wants by now."""
    await store.commit(Commit("project", outbox=[make.row(state=Delivery.NEW)]))
    [row] = await store.claim("project", [Delivery.NEW], now=make.now, until=make.now + MINUTE, limit=1)
    await store.commit(Commit("project", outbox=[make.row(state=Delivery.NEW, fingerprint="print-2")]))
    await store.settle([row], now=make.now)

    [after] = (await store.outbox_of("project", ["trace-1"]))["trace-1"]
    assert (Delivery.NEW, "print-2") == (after.state, after.fingerprint)


async def test_a_doom_that_comes_during_a_send_is_not_forgotten(store: SqlStore, make: Any) -> None:
    """A score that no longer follows from the data is withdrawn although its send was under way."""
    await store.commit(Commit("project", outbox=[make.row()]))
    [row] = await store.claim("project", [Delivery.DUE], now=make.now, until=make.now + MINUTE, limit=1)
    await store.commit(Commit("project", outbox=[make.row(state=Delivery.DOOMED)]))
    await store.settle([replace(row, state=Delivery.SENT, sent=1, next_at=make.now + MINUTE)], now=make.now)

    [after] = (await store.outbox_of("project", ["trace-1"]))["trace-1"]
    assert (Delivery.DOOMED, 1) == (after.state, after.sent)


async def test_a_score_wanted_again_during_its_deletion_is_sent_after_it(store: SqlStore, make: Any) -> None:
    """The deletion under way is given time, then the score is written again."""
    await store.commit(Commit("project", outbox=[make.row(state=Delivery.DOOMED)]))
    [row] = await store.claim("project", [Delivery.DOOMED], now=make.now, until=make.now + MINUTE, limit=1)
    await store.commit(Commit("project", outbox=[make.row()]))
    await store.settle([replace(row, state=Delivery.DELETED, next_at=make.now + MINUTE)], now=make.now)

    [after] = (await store.outbox_of("project", ["trace-1"]))["trace-1"]
    assert (Delivery.DUE, make.now + MINUTE) == (after.state, after.next_at)


async def test_settling_ends_the_claim_and_counts_the_sends_of_the_day(store: SqlStore, make: Any) -> None:
    """What was sent is counted by day and name, which is what a bill is made of."""
    await store.commit(Commit("project", outbox=[make.row()]))
    for _ in range(2):
        [row] = await store.claim("project", [Delivery.DUE], now=make.now, until=make.now + MINUTE, limit=1)
        await store.settle([row], now=make.now, sends={"blind_rewrite": 2})

    status = await store.status("project", scorer="1")
    assert [("2026-05-04", "blind_rewrite", 4)] == list(status.sent_per_day)


async def test_a_score_that_langfuse_shows_keeps_its_identity_and_no_words(store: SqlStore, make: Any) -> None:
    """What is never sent again as it is takes little room; a changed payload brings its own words."""
    await store.commit(Commit("project", outbox=[make.row(state=Delivery.SENT)]))
    [row] = await store.claim("project", [Delivery.SENT], now=make.now, until=make.now + MINUTE, limit=1)
    assert row.score.comment
    assert row.score.metadata
    await store.settle([replace(row, state=Delivery.SEEN)], now=make.now)
    [rests] = (await store.outbox_of("project", [row.score.trace_id]))[row.score.trace_id]
    await store.commit(Commit("project", outbox=[replace(row, fingerprint="another", state=Delivery.DUE)]))
    [again] = (await store.outbox_of("project", [row.score.trace_id]))[row.score.trace_id]

    assert (replace(row.score, comment="", metadata={}), row.fingerprint) == (rests.score, rests.fingerprint)
    assert (row.score, Delivery.DUE) == (again.score, again.state)


async def test_the_next_thing_due_is_the_earliest_of_traces_and_scores(store: SqlStore, make: Any) -> None:
    """A daemon at rest sleeps until then, and a score at rest wants nothing."""
    assert await store.next_due("project") is None
    await store.commit(Commit("project", outbox=[make.row(state=Delivery.SEEN, next_at=make.later(hours=-1))]))
    assert await store.next_due("project") is None
    await store.commit(Commit("project", outbox=[make.row("score-2", next_at=make.later(minutes=9))]))
    assert make.later(minutes=9) == await store.next_due("project")
    await store.commit(Commit("project", traces=[TraceState("project", "trace-1", make.now, make.later(minutes=3), None)]))

    assert make.later(minutes=3) == await store.next_due("project")


async def test_due_traces_come_longest_due_first(store: SqlStore, make: Any) -> None:
    """Those that are not due, or wait for nothing, do not come."""
    dues = {"b": make.later(minutes=-1), "a": make.later(minutes=-2), "c": make.later(minutes=1), "d": None}
    await store.commit(Commit("project", traces=[TraceState("project", trace, make.now, due, None) for trace, due in dues.items()]))

    assert ["a", "b"] == list(await store.due_traces("project", make.now, 10))


async def test_copies_of_a_call_are_found_by_its_id(store: SqlStore, make: Any) -> None:
    """An entry that no longer holds the call no longer answers for it."""
    for trace in ("trace-1", "trace-2"):
        await store.commit(Commit("project", ledger=[make.entry(trace=trace, calls=(make.call(trace_id=trace, call_id="call-1"),))]))
    both: object = await store.traces_with_calls("project", ["call-1", "absent"])
    await store.commit(Commit("project", ledger=[make.entry(trace="trace-2")]))
    one: object = await store.traces_with_calls("project", ["call-1"])

    assert ({"call-1": {"trace-1", "trace-2"}}, {"call-1": {"trace-1"}}) == (both, one)


async def test_poison_is_on_record_and_keeps_the_calls_it_had(store: SqlStore, make: Any) -> None:
    """An observation that cannot be read any more does not lose what was known of it."""
    entry = make.entry(calls=(make.call(),))
    await store.commit(Commit("project", ledger=[entry]))
    await store.note_poison("project", entry.key, "too large", now=make.later(minutes=1))
    await store.note_poison("project", ObservationKey("trace-9", "new"), "too large", now=make.now)

    known = await store.known("project", [entry.key, ObservationKey("trace-9", "new")])
    assert [("too large", entry.calls), ("too large", ())] == [(known[key].reason, known[key].calls) for key in sorted(known, key=str)]
    assert 2 == (await store.status("project", scorer="1")).poison


async def test_pruning_never_breaks_a_trace_that_is_not_finished(store: SqlStore, make: Any) -> None:
    """Old entries go, except where their trace has scores on their way, dead letters, a rollup that waits, or younger entries."""
    old = make.later(days=-90)
    entries = [make.entry(trace=trace, seen_at=old) for trace in ("done", "owing", "dead", "waiting", "mixed")]
    entries.append(make.entry(trace="mixed", observation="young"))
    await store.commit(
        Commit(
            "project",
            ledger=entries,
            outbox=[
                make.row(score=make.score(trace_id="owing")),
                make.row("score-2", Delivery.DEAD, score=make.score("score-2", trace_id="dead")),
            ],
            traces=[TraceState("project", "waiting", old, make.now, None), TraceState("project", "done", old, None, old)],
        )
    )

    assert 1 == await store.prune("project", before=make.later(days=-30))
    left = await store.known("project", [entry.key for entry in entries])
    assert {"owing", "dead", "waiting", "mixed"} == {key.trace_id for key in left}


async def test_everything_is_counted(store: SqlStore, make: Any) -> None:
    """What status shows is what is on record."""
    await store.commit(
        Commit(
            "project",
            ledger=[
                make.entry(
                    calls=(make.call(), make.call(index=1, producer="cline"), make.call(index=2, producer="pi", shape=Shape.UNRESOLVED))
                )
            ],
            outbox=[make.row(), make.row("score-2", Delivery.SEEN, scorer="0"), make.row("score-3", Delivery.SEEN)],
            watermark=make.now,
        )
    )

    status = await store.status("project", scorer="1")
    assert ({"codex-plugin": 1, "cline": 1, "pi": 1}, {"pi": 1}, {"no_blind_rewrite": 2, "unresolved": 1}, {"applied": 3}) == (
        status.calls_by_producer,
        status.unresolved_by_producer,
        status.shapes,
        status.outcomes,
    )
    assert (1, 2, 1, 1, make.now) == (
        status.outbox[Delivery.DUE],
        status.outbox[Delivery.SEEN],
        status.older_scorer,
        status.observations,
        status.watermarks["live"],
    )


async def test_text_that_no_database_takes_is_stored_all_the_same(store: SqlStore, make: Any) -> None:
    """Lone surrogates and NUL bytes in ids, paths and comments cost nothing but themselves."""
    entry = make.entry(observation="odd\ud800\0id", calls=(make.call(why="\ud800\0"),))
    await store.commit(Commit("project", ledger=[entry], outbox=[make.row(score=make.score(comment="\udfff\0", metadata={"a": "\ud800"}))]))

    assert [entry.key] == list(await store.known("project", [entry.key]))
    assert 1 == len(await store.outbox_of("project", ["trace-1"]))


async def test_projects_do_not_see_each_other(store: SqlStore, make: Any) -> None:
    """One project's rows are never another's."""
    await store.commit(Commit("project", ledger=[make.entry()], outbox=[make.row()], watermark=make.now))

    assert {} == await store.known("other", [make.entry().key])
    assert [] == list(await store.claim("other", [Delivery.DUE], now=make.now, until=make.later(hours=1), limit=9))
    assert ["project"] == list(await store.projects())


async def test_dead_letters_come_oldest_first(store: SqlStore, make: Any) -> None:
    """An operator works them off in order."""
    rows = [make.row("young", Delivery.DEAD, reason="refused"), make.row("old", Delivery.DEAD, next_at=make.later(hours=-1))]
    await store.commit(Commit("project", outbox=rows))

    assert ["old", "young"] == [row.score.id for row in await store.dead_letters("project")]


async def test_what_was_written_is_there_after_a_restart(store_url: str, make: Any) -> None:
    """A second process finds everything."""
    async with open_store(store_url) as store:
        await store.commit(Commit("project", ledger=[make.entry()], watermark=make.now))
    async with open_store(store_url) as store:
        assert (make.now, 1) == (await store.watermark("project"), len(await store.known("project", [make.entry().key])))


async def test_the_largest_lag_of_each_producer_is_on_record_for_a_day(store: SqlStore, make: Any) -> None:
    """What status shows and what widens the overlap: the largest of an hour, not the last; what is older counts no more."""
    early, now = make.entry(seen_at=make.later(hours=-30)), make.entry()
    for entry, lags in ((early, {"cline": 900.0}), (now, {"cline": 60.0, "codex-plugin": 5.0}), (now, {"cline": 20.0})):
        await store.commit(Commit("project", ledger=[entry], lags=lags))

    assert {"cline": 60.0, "codex-plugin": 5.0} == dict((await store.status("project", scorer="1")).lag_seconds)
    assert [5.0, 60.0] == sorted(await store.lags("project", since=make.later(hours=-24)))
    assert [5.0, 60.0, 900.0] == sorted(await store.lags("project", since=make.later(hours=-30)))
    await store.commit(Commit("project", ledger=[make.entry(seen_at=make.later(hours=48))], lags={"cline": 1.0}))
    assert [1.0, 5.0, 60.0] == sorted(await store.lags("project", since=make.later(hours=-50)))


async def test_a_settlement_that_comes_after_its_claim_changes_nothing(store: SqlStore, make: Any) -> None:
    """Whoever got the row next has the word: a process that was away too long cannot take a finished score back."""
    await store.commit(Commit("project", outbox=[make.row()]))
    [slow] = await store.claim("project", [Delivery.DUE], now=make.now, until=make.now + MINUTE, limit=1)
    [quick] = await store.claim("project", [Delivery.DUE], now=make.now + MINUTE, until=make.later(hours=1), limit=1)
    await store.settle([replace(quick, state=Delivery.SEEN, sent=1)], now=make.now + MINUTE)
    await store.settle([slow], now=make.now + 2 * MINUTE)

    [after] = (await store.outbox_of("project", ["trace-1"]))["trace-1"]
    assert (Delivery.SEEN, 1) == (after.state, after.sent)


async def test_a_commit_from_an_old_look_sends_nothing_twice(store: SqlStore, make: Any) -> None:
    """What was sent meanwhile as it is wanted is not due again."""
    await store.commit(Commit("project", outbox=[make.row(state=Delivery.SENT, sent=1, next_at=make.later(minutes=1))]))
    await store.commit(Commit("project", outbox=[make.row()]))

    [after] = (await store.outbox_of("project", ["trace-1"]))["trace-1"]
    assert (Delivery.SENT, 1, make.later(minutes=1)) == (after.state, after.sent, after.next_at)


async def test_a_score_wanted_again_from_an_old_look_waits_for_the_deletion(store: SqlStore, make: Any) -> None:
    """The committer saw the row before its deletion was asked for; the new score is still not taken along."""
    await store.commit(Commit("project", outbox=[make.row(state=Delivery.DELETED, next_at=make.later(minutes=1))]))
    await store.commit(Commit("project", outbox=[make.row(fingerprint="print-2")]))

    [after] = (await store.outbox_of("project", ["trace-1"]))["trace-1"]
    assert (Delivery.DUE, make.later(minutes=1)) == (after.state, after.next_at)


async def test_the_earliest_start_ever_seen_stays(store: SqlStore, make: Any) -> None:
    """Whoever commits later with a later start does not move the day of a score."""
    for start in (make.now, make.later(days=-1), make.later(days=1)):
        await store.commit(Commit("project", ledger=[make.entry(first_start=start)]))

    [entry] = (await store.known("project", [make.entry().key])).values()
    assert make.later(days=-1) == entry.first_start


async def test_a_call_id_of_any_length_is_on_record_and_found(store: SqlStore, make: Any) -> None:
    """A hostile id costs its own index entry a hash, and stops nobody."""
    long = "".join(chr(33 + at * at % 90) for at in range(9000))
    await store.commit(Commit("project", ledger=[make.entry(calls=(make.call(call_id=long),))]))

    assert {long: {"trace-1"}} == await store.traces_with_calls("project", [long, long[:300]])


async def test_a_deletion_that_is_refused_is_not_asked_for_again(store: SqlStore, make: Any) -> None:
    """A doomed row that was handed out as such may end as a dead letter; only a doom that came meanwhile is kept."""
    await store.commit(Commit("project", outbox=[make.row(state=Delivery.DOOMED)]))
    [row] = await store.claim("project", [Delivery.DOOMED], now=make.now, until=make.now + MINUTE, limit=1)
    await store.settle([replace(row, state=Delivery.DEAD, reason="refused")], now=make.now)

    [after] = (await store.outbox_of("project", ["trace-1"]))["trace-1"]
    assert (Delivery.DEAD, "refused") == (after.state, after.reason)


async def test_a_doom_that_comes_during_a_refused_send_is_not_forgotten(store: SqlStore, make: Any) -> None:
    """The refusal of the send says nothing about the deletion that is wanted by now."""
    await store.commit(Commit("project", outbox=[make.row()]))
    [row] = await store.claim("project", [Delivery.DUE], now=make.now, until=make.now + MINUTE, limit=1)
    await store.commit(Commit("project", outbox=[make.row(state=Delivery.DOOMED)]))
    await store.settle([replace(row, state=Delivery.DEAD, sent=1, reason="refused")], now=make.now)

    [after] = (await store.outbox_of("project", ["trace-1"]))["trace-1"]
    assert Delivery.DOOMED == after.state
