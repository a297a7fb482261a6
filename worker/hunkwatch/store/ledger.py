"""The ledger's rows, and those of the calls in them, inside a transaction that the caller holds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from hunkwatch.ports import Delivery
from hunkwatch.store import ids, rows, schema
from hunkwatch.store.writing import chunks, upsert

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sqlalchemy.ext.asyncio import AsyncConnection

    from hunkwatch.ports import LedgerEntry, ObservationKey

_UNSETTLED = (Delivery.NEW, Delivery.DUE, Delivery.SENT, Delivery.DEAD, Delivery.DOOMED, Delivery.DELETED)

_ASKED = {
    # CROSS JOIN keeps SQLite from walking the ledger and searching the keys.
    "sqlite": f"""FROM json_each(:keys) AS asked CROSS JOIN {schema.ledger.name} AS found
        ON found.trace_id = json_extract(asked.value, '$[0]') AND found.observation_id = json_extract(asked.value, '$[1]')""",
    "postgresql": f"""FROM unnest(CAST(:traces AS text[]), CAST(:observations AS text[])) AS asked (trace_id, observation_id)
        JOIN {schema.ledger.name} AS found USING (trace_id, observation_id)""",
}


async def among(connection: AsyncConnection, project: str, keys: Collection[ObservationKey], *names: str) -> list[dict[str, Any]]:
    """Return the rows of those keys that are on record, all their columns or the named ones; one look-up a key, in one question."""
    pairs = sorted({(ids.spelled(key.trace_id), ids.spelled(key.observation_id)) for key in keys})
    if not pairs:
        return []
    dialect, given = connection.dialect.name, {"project": project}
    if dialect == "sqlite":
        parameters: dict[str, object] = {**given, "keys": json.dumps(pairs)}
    else:
        parameters = {**given, "traces": [pair[0] for pair in pairs], "observations": [pair[1] for pair in pairs]}
    columns = [column for column in schema.ledger.c if not names or column.name in names]
    query = sa.text(f"SELECT {', '.join(f'found.{column.name}' for column in columns)} {_ASKED[dialect]} WHERE found.project = :project")
    return await ids.read(connection, project, query.bindparams(**parameters))


async def write(connection: AsyncConnection, project: str, entries: Sequence[LedgerEntry]) -> None:
    """Insert entries or replace their predecessors, with their calls; a first start only moves earlier, the last of two of a key counts."""
    if not entries:
        return
    last = {entry.key: entry for entry in entries}
    before = await among(connection, project, last, "trace_id", "observation_id", "call_count")
    await ids.remember(connection, project, {text for key in last for text in (key.trace_id, key.observation_id)})
    await upsert(connection, schema.ledger, [rows.of_entry(entry) for entry in entries], least="first_start")
    table = schema.call
    place = sa.and_(table.c.project == project, table.c.trace_id == sa.bindparam("t"), table.c.observation_id == sa.bindparam("o"))
    had_calls = [{"t": ids.spelled(row["trace_id"]), "o": ids.spelled(row["observation_id"])} for row in before if row["call_count"]]
    if had_calls:
        await connection.execute(sa.delete(table).where(place), had_calls)
    calls = [row for entry in last.values() for row in rows.calls_of(entry)]
    if calls:
        await upsert(connection, table, calls)


async def note_poison(connection: AsyncConnection, project: str, key: ObservationKey, reason: str, at: int) -> None:
    """Put an observation that could not be read on record; the calls it had stay."""
    row = {
        "project": project,
        "trace_id": ids.spelled(key.trace_id),
        "observation_id": ids.spelled(key.observation_id),
        "first_start": at,
        "version": "",
        "fingerprint": "",
        "calls": "[]",
        "call_count": 0,
        "seen_at": at,
        "reason": rows.clean(reason),
    }
    await ids.remember(connection, project, (key.trace_id, key.observation_id))
    await upsert(connection, schema.ledger, [row], keep=set(row) - {"seen_at", "reason"})


async def prune(connection: AsyncConnection, project: str, before: int) -> int:
    """Drop traces of which nothing was seen since and nothing is under way; return how many entries went."""
    ledger, outbox, trace, call = schema.ledger, schema.outbox, schema.trace, schema.call
    younger = ledger.alias("younger")
    busy = sa.or_(
        sa.exists().where(outbox.c.project == project, outbox.c.trace_id == ledger.c.trace_id, outbox.c.state.in_(_UNSETTLED)),
        sa.exists().where(trace.c.project == project, trace.c.trace_id == ledger.c.trace_id, trace.c.due_at.is_not(None)),
        sa.exists().where(younger.c.project == project, younger.c.trace_id == ledger.c.trace_id, younger.c.seen_at >= before),
    )
    old = sa.select(ledger.c.trace_id).where(ledger.c.project == project, ledger.c.seen_at < before, ~busy).distinct()
    named = list((await connection.execute(old)).scalars())
    gone = 0
    for chunk in chunks(named):
        gone += (await connection.execute(sa.delete(ledger).where(ledger.c.project == project, ledger.c.trace_id.in_(chunk)))).rowcount
        for table in (call, trace):
            await connection.execute(sa.delete(table).where(table.c.project == project, table.c.trace_id.in_(chunk)))
        at_rest = sa.and_(outbox.c.project == project, outbox.c.trace_id.in_(chunk))
        # One that was given up may be in Langfuse after all, so it stays.
        await connection.execute(sa.delete(outbox).where(at_rest, outbox.c.state == Delivery.GONE.value, outbox.c.reason == ""))
        # What proves that a score is ours to keep or to withdraw stays; its words come anew with the next payload.
        await connection.execute(sa.update(outbox).where(at_rest).values(comment="", metadata="{}"))
    await ids.forget(connection, project)
    return gone
