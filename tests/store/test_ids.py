"""Ids come back as they were given, whatever is in them and however long they are."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunkwatch.core.window import Window
from hunkwatch.ports import Commit, Delivery, TraceState
from hunkwatch.store import ids

if TYPE_CHECKING:
    from hunkwatch.store import SqlStore

LONG = "".join(chr(33 + at * at % 89) for at in range(9000))
ODD = {
    "nul": "tr\0ace",
    "replacement": "tr\ufffdace",
    "surrogate": "tr\ud800ace",
    "question": "tr?ace",
    "backslash": r"tr\u0000ace",
    "hash": r"\#0",
    "long": LONG,
    "long and odd": "\0" + LONG,
    "wide": "\U0001f9e9" * 200,
    "empty": "",
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
async def test_an_odd_id_is_answered_as_it_was_asked(store: SqlStore, make: Any, odd: str) -> None:
    """Every question about a trace or an observation is answered under the very id it was put on record with."""
    call = make.call(trace_id=odd, observation_id=odd, call_id=odd)
    entry = make.entry(trace=odd, observation=odd, calls=(call,))
    row = make.row(score=make.score(trace_id=odd, observation_id=odd))
    state = TraceState("project", odd, make.now, make.now, None)
    await store.commit(Commit("project", ledger=[entry], outbox=[row], traces=[state]))

    day = Window(make.later(hours=-1), make.later(hours=1))
    found: object = (
        await store.known("project", [entry.key]),
        await store.entries_of("project", [odd]),
        await store.recorded("project", day),
        await store.outbox_of("project", [odd]),
        await store.traces("project", [odd]),
        await store.due_traces("project", make.now, 9),
        await store.trace_ids("project", limit=9) if odd else [odd],
        await store.traces_with_calls("project", [odd]),
    )
    assert ({entry.key: entry}, {odd: [entry]}, [entry], {odd: [row]}, {odd: state}, [odd], [odd], {odd: {odd}}) == found


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
async def test_a_score_of_an_odd_id_is_claimed_and_settled_as_itself(store: SqlStore, make: Any, odd: str) -> None:
    """What goes to Langfuse names the trace as Langfuse does."""
    await store.commit(Commit("project", outbox=[make.row(score=make.score(trace_id=odd, observation_id=odd))]))
    [row] = await store.claim("project", [Delivery.DUE], now=make.now, until=make.later(hours=1), limit=1)
    await store.settle([replace(row, state=Delivery.DEAD)], now=make.now)

    [dead] = await store.dead_letters("project")
    assert [(odd, odd)] * 2 == [(one.score.trace_id, one.score.observation_id) for one in (row, dead)]


async def test_ids_that_look_alike_in_a_column_are_kept_apart(store: SqlStore, make: Any) -> None:
    """No two ids share a row, and none takes another's calls along."""
    entries = [make.entry(trace=odd, observation=odd, version=name) for name, odd in ODD.items()]
    await store.commit(Commit("project", ledger=entries))

    known = await store.known("project", [entry.key for entry in entries])
    assert {entry.key: entry.version for entry in entries} == {key: entry.version for key, entry in known.items()}


async def test_poison_of_an_odd_id_is_found_again(store: SqlStore, make: Any) -> None:
    """A row that cannot be read is not tried again for ever because its id is odd, too."""
    keys = [make.entry(trace=odd, observation=odd).key for odd in ODD.values()]
    for key in keys:
        await store.note_poison("project", key, "too large", now=make.now)

    assert dict.fromkeys(keys, "too large") == {key: entry.reason for key, entry in (await store.known("project", keys)).items()}


async def test_odd_ids_are_paged_through(store: SqlStore, make: Any) -> None:
    """A page begins behind an odd id as behind any other."""
    traces = sorted(set(ODD.values()) - {""})
    await store.commit(Commit("project", ledger=[make.entry(trace=trace, calls=(make.call(trace_id=trace),)) for trace in traces]))

    found = list(page := await store.trace_ids("project", limit=2))
    while page:
        found += (page := await store.trace_ids("project", after=page[-1], limit=2))
    assert traces == sorted(found)


async def test_the_words_of_a_long_id_go_when_nothing_names_it_any_more(store: SqlStore, make: Any) -> None:
    """Pruning leaves nothing of a hostile id behind."""
    old = make.later(days=-90)
    await store.commit(Commit("project", ledger=[make.entry(trace=LONG, observation=LONG, seen_at=old), make.entry(observation=LONG)]))
    await store.prune("project", before=make.now - timedelta(days=30))
    kept = await store.known("project", [make.entry(observation=LONG).key])
    await store.prune("project", before=make.later(days=1))
    async with store._engine.connect() as connection:
        left = (await connection.exec_driver_sql("SELECT count(*) FROM hunkwatch_long_id")).scalar()

    assert ([LONG], 0) == ([key.observation_id for key in kept], left)


@given(st.text(alphabet=st.characters(codec=None, exclude_categories=()), max_size=40), st.sampled_from(("", "x" * 190)))
def test_every_spelling_is_bounded_storable_and_one_way_or_another_reversible(text: str, padding: str) -> None:
    """Short enough for an index on both databases, free of what a column refuses, and read back as it was."""
    spelled = ids.spelled(padding + text)
    spelled.encode()

    assert "\0" not in spelled
    assert len(spelled.encode()) <= 4 * ids.LONGEST
    assert padding + text == (ids.unspelled(ids.escaped(padding + text)) if ids.is_long(spelled) else ids.unspelled(spelled))
