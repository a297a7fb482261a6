"""The store on one database, SQLite or Postgres: every method is one transaction.

SQLite has one connection, so that writers queue here and never meet a locked database; Postgres has a small pool and shares claims
between processes with SKIP LOCKED. The daemon decides which state a row moves to (``daemon.moves``); this room keeps two loops, or
two processes, that move the same row from undoing each other.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import sqlalchemy as sa

from hunkwatch.ports import Delivery
from hunkwatch.store import counting, faults, rows, schema
from hunkwatch.store.writing import replace_rows, upsert

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

    from hunkwatch.core.window import Window
    from hunkwatch.ports import Commit, LedgerEntry, ObservationKey, OutboxRow, Status, TraceState

_Item = TypeVar("_Item")

_CHUNK = 500
_ACTIVE = (Delivery.NEW, Delivery.DUE, Delivery.SENT, Delivery.DOOMED, Delivery.DELETED)
_LEAVING = (Delivery.DOOMED, Delivery.DELETED, Delivery.GONE)


class SqlStore:
    """An open store; made by ``open_store``. ``holder`` names this process in claims and leases."""

    def __init__(self, engine: AsyncEngine, *, holder: str) -> None:
        """Take an engine whose schema is at head."""
        self._engine = engine
        self._holder = holder
        self._turn = asyncio.Lock() if engine.dialect.name == "sqlite" else None

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[AsyncConnection]:
        with faults.translated():
            if self._turn is None:
                async with self._engine.begin() as connection:
                    yield connection
            else:
                async with self._turn, self._engine.begin() as connection:
                    yield connection

    # ------------------------------------------------------------ reading

    async def watermark(self, project: str, lane: str = "live") -> datetime | None:
        """Return how far the lane has read, or None before its first sweep."""
        table = schema.watermark
        query = sa.select(table.c.at).where(table.c.project == project, table.c.lane == lane)
        async with self._transaction() as connection:
            at = (await connection.execute(query)).scalar()
        return None if at is None else rows.moment(at)

    async def known(self, project: str, keys: Sequence[ObservationKey]) -> Mapping[ObservationKey, LedgerEntry]:
        """Return the ledger entries that exist among the keys; any number of keys."""
        table = schema.ledger
        named = {(rows.clean(key.trace_id), rows.clean(key.observation_id)): key for key in keys}
        found: dict[ObservationKey, LedgerEntry] = {}
        if not named:
            return found
        async with self._transaction() as connection:
            for chunk in _chunks(list(named)):
                query = sa.select(table).where(
                    table.c.project == project,
                    # Narrows the search to a prefix of the key, which the pairs alone do not.
                    table.c.trace_id.in_({trace_id for trace_id, _ in chunk}),
                    sa.tuple_(table.c.trace_id, table.c.observation_id).in_(chunk),
                )
                for row in (await connection.execute(query)).mappings():
                    found[named[row["trace_id"], row["observation_id"]]] = rows.entry(dict(row))
        return found

    async def entries_of(self, project: str, trace_ids: Sequence[str]) -> Mapping[str, Sequence[LedgerEntry]]:
        """Return every ledger entry of the traces that holds at least one call, by trace."""
        found: dict[str, list[LedgerEntry]] = defaultdict(list)
        async for row in self._of_traces(schema.ledger, project, trace_ids, schema.ledger.c.call_count > 0):
            found[row["trace_id"]].append(rows.entry(row))
        return dict(found)

    async def recorded(self, project: str, window: Window) -> Sequence[LedgerEntry]:
        """Return every ledger entry of the window, by its first start, that holds at least one call."""
        table = schema.ledger
        start, end = rows.micros(window.start), rows.micros(window.end)
        query = (
            sa.select(table)
            .where(table.c.project == project, table.c.first_start >= start, table.c.first_start < end, table.c.call_count > 0)
            .order_by(table.c.first_start, table.c.trace_id, table.c.observation_id)
        )
        async with self._transaction() as connection:
            return [rows.entry(dict(row)) for row in (await connection.execute(query)).mappings()]

    async def trace_ids(self, project: str, *, after: str = "", limit: int) -> Sequence[str]:
        """Return ids of traces that have calls or scores on record, in the database's order, beginning behind ``after``."""
        ledger, outbox = schema.ledger.c, schema.outbox.c
        with_calls = sa.select(ledger.trace_id).where(ledger.project == project, ledger.trace_id > after, ledger.call_count > 0)
        with_scores = sa.select(outbox.trace_id).where(outbox.project == project, outbox.trace_id > after)
        query = sa.union(with_calls, with_scores).order_by("trace_id").limit(limit)
        async with self._transaction() as connection:
            return list((await connection.execute(query)).scalars())

    async def outbox_of(self, project: str, trace_ids: Sequence[str]) -> Mapping[str, Sequence[OutboxRow]]:
        """Return every outbox row of the traces, whatever its state, by trace."""
        found: dict[str, list[OutboxRow]] = defaultdict(list)
        async for row in self._of_traces(schema.outbox, project, trace_ids):
            found[row["trace_id"]].append(rows.outbox(row))
        return dict(found)

    async def traces(self, project: str, trace_ids: Sequence[str]) -> Mapping[str, TraceState]:
        """Return what is known of when these traces are due."""
        return {row["trace_id"]: rows.trace(row) async for row in self._of_traces(schema.trace, project, trace_ids)}

    async def _of_traces(
        self, table: sa.Table, project: str, trace_ids: Sequence[str], *conditions: sa.ColumnElement[bool]
    ) -> AsyncIterator[dict[str, Any]]:
        named = sorted({rows.clean(trace_id) for trace_id in trace_ids})
        found: list[dict[str, Any]] = []
        if named:
            async with self._transaction() as connection:
                for chunk in _chunks(named):
                    query = sa.select(table).where(table.c.project == project, table.c.trace_id.in_(chunk), *conditions)
                    found += [dict(row) for row in (await connection.execute(query)).mappings()]
        for row in found:
            yield row

    async def due_traces(self, project: str, now: datetime, limit: int) -> Sequence[str]:
        """Return traces whose ``due_at`` has come, the longest due first."""
        table = schema.trace
        query = (
            sa.select(table.c.trace_id)
            .where(table.c.project == project, table.c.due_at <= rows.micros(now))
            .order_by(table.c.due_at, table.c.trace_id)
            .limit(limit)
        )
        async with self._transaction() as connection:
            return list((await connection.execute(query)).scalars())

    async def next_due(self, project: str) -> datetime | None:
        """Return the earliest time at which a trace or an outbox row wants attention, None when nothing does."""
        traces, outbox = schema.trace, schema.outbox
        free_at = sa.func.coalesce(outbox.c.claimed_until, outbox.c.next_at)
        due = sa.select(sa.func.min(traces.c.due_at)).where(traces.c.project == project, traces.c.due_at.is_not(None))
        waiting = sa.select(sa.func.min(sa.case((free_at > outbox.c.next_at, free_at), else_=outbox.c.next_at))).where(
            outbox.c.project == project, outbox.c.state.in_(_ACTIVE)
        )
        async with self._transaction() as connection:
            times = [(await connection.execute(query)).scalar() for query in (due, waiting)]
        return min((rows.moment(at) for at in times if at is not None), default=None)

    async def traces_with_calls(self, project: str, call_ids: Sequence[str]) -> Mapping[str, frozenset[str]]:
        """Return, by call id, the traces that hold a call of that id."""
        table = schema.call
        named = {rows.call_key(call_id): call_id for call_id in call_ids}
        found: dict[str, set[str]] = defaultdict(set)
        async with self._transaction() as connection:
            for chunk in _chunks(list(named)):
                query = (
                    sa.select(table.c.call_id, table.c.trace_id).where(table.c.project == project, table.c.call_id.in_(chunk)).distinct()
                )
                for call_id, trace_id in await connection.execute(query):
                    found[named[str(call_id)]].add(trace_id)
        return {call_id: frozenset(traces) for call_id, traces in found.items()}

    async def dead_letters(self, project: str) -> Sequence[OutboxRow]:
        """Return the dead letters, oldest first."""
        table = schema.outbox
        query = (
            sa.select(table)
            .where(table.c.project == project, table.c.state == Delivery.DEAD.value)
            .order_by(table.c.next_at, table.c.score_id)
        )
        async with self._transaction() as connection:
            return [rows.outbox(dict(row)) for row in (await connection.execute(query)).mappings()]

    async def projects(self) -> Sequence[str]:
        """Return the ids of all projects that anything is on record of."""
        tables = (schema.watermark, schema.ledger, schema.outbox)
        query = sa.union(*(sa.select(table.c.project).distinct() for table in tables))
        async with self._transaction() as connection:
            return sorted((await connection.execute(query)).scalars())

    async def status(self, project: str, *, scorer: str) -> Status:
        """Count everything."""
        async with self._transaction() as connection:
            return await counting.status(connection, project, scorer=scorer)

    # ------------------------------------------------------------ writing

    async def commit(self, commit: Commit) -> None:
        """Write it all, or nothing."""
        async with self._transaction() as connection:
            await _write_ledger(connection, commit.ledger)
            if commit.outbox:
                fixed = {"project", "score_id", "timestamp", "trace_id", "observation_id", "name"}
                await upsert(connection, schema.outbox, await _to_queue(connection, commit.outbox), keep=fixed)
            if commit.traces:
                await upsert(connection, schema.trace, [rows.of_trace(state) for state in commit.traces])
            if commit.watermark is not None:
                at = rows.micros(commit.watermark)
                await upsert(connection, schema.watermark, [{"project": commit.project, "lane": commit.lane, "at": at}], largest="at")

    async def note_poison(self, project: str, key: ObservationKey, reason: str, *, now: datetime) -> None:
        """Put an observation that could not be read on record, with the reason; the calls it had stay."""
        at = rows.micros(now)
        row = {
            "project": project,
            "trace_id": rows.clean(key.trace_id),
            "observation_id": rows.clean(key.observation_id),
            "first_start": at,
            "version": "",
            "fingerprint": "",
            "calls": "[]",
            "call_count": 0,
            "seen_at": at,
            "reason": rows.clean(reason),
        }
        async with self._transaction() as connection:
            await upsert(connection, schema.ledger, [row], keep=set(row) - {"seen_at", "reason"})

    async def prune(self, project: str, *, before: datetime) -> int:
        """Drop ledger entries last seen before; those whose trace still has undelivered scores or waits stay. Return how many went."""
        ledger, outbox, trace, call = schema.ledger, schema.outbox, schema.trace, schema.call
        at = rows.micros(before)
        younger = ledger.alias("younger")
        busy = sa.or_(
            sa.exists().where(outbox.c.project == project, outbox.c.trace_id == ledger.c.trace_id, outbox.c.state.in_(_ACTIVE)),
            sa.exists().where(trace.c.project == project, trace.c.trace_id == ledger.c.trace_id, trace.c.due_at.is_not(None)),
            sa.exists().where(younger.c.project == project, younger.c.trace_id == ledger.c.trace_id, younger.c.seen_at >= at),
        )
        async with self._transaction() as connection:
            old = sa.select(ledger.c.trace_id).where(ledger.c.project == project, ledger.c.seen_at < at, ~busy).distinct()
            named = list((await connection.execute(old)).scalars())
            gone = 0
            for chunk in _chunks(named):
                gone += (
                    await connection.execute(sa.delete(ledger).where(ledger.c.project == project, ledger.c.trace_id.in_(chunk)))
                ).rowcount
                for table in (call, trace):
                    await connection.execute(sa.delete(table).where(table.c.project == project, table.c.trace_id.in_(chunk)))
        return gone

    # ------------------------------------------------------------ claims

    async def claim(self, project: str, states: Sequence[Delivery], *, now: datetime, until: datetime, limit: int) -> Sequence[OutboxRow]:
        """Take due rows (``next_at`` <= now) for this process until ``until``; no other process gets them before that."""
        table, at = schema.outbox, rows.micros(now)
        free = sa.or_(table.c.claimed_until.is_(None), table.c.claimed_until <= at)
        query = (
            sa.select(table)
            .where(table.c.project == project, table.c.state.in_([state.value for state in states]), table.c.next_at <= at, free)
            .order_by(table.c.next_at, table.c.score_id)
            .limit(limit)
            .with_for_update(skip_locked=True)
        )
        async with self._transaction() as connection:
            found = [dict(row) for row in (await connection.execute(query)).mappings()]
            claim = f"{self._holder}/{uuid4().hex}"
            for chunk in _chunks([row["score_id"] for row in found]):
                taken = {"claimed_until": rows.micros(until), "claimed_by": claim}
                await connection.execute(sa.update(table).where(table.c.project == project, table.c.score_id.in_(chunk)).values(taken))
        return [rows.outbox(row, claim=f"{claim}/{row['state']}") for row in found]

    async def settle(self, settled: Sequence[OutboxRow], *, now: datetime, sends: Mapping[str, int] | None = None) -> None:
        """Write back claimed rows as they are now and end their claims; what a commit changed meanwhile wins, see ``_reconciled``."""
        if not settled:
            return
        table, at = schema.outbox, rows.micros(now)
        project = settled[0].project
        async with self._transaction() as connection:
            present: dict[str, dict[str, Any]] = {}
            for chunk in _chunks([row.score.id for row in settled]):
                query = sa.select(table).where(table.c.project == project, table.c.score_id.in_(chunk)).with_for_update()
                present.update({row["score_id"]: dict(row) for row in (await connection.execute(query)).mappings()})
            ours = [row for row in settled if _is_ours(row, present.get(row.score.id))]
            written = [_reconciled(present[row.score.id], row, at) for row in ours]
            if written:
                await replace_rows(connection, table, written, ("project", "score_id"))
            counts = [{"project": project, "day": f"{now:%Y-%m-%d}", "name": name, "count": count} for name, count in (sends or {}).items()]
            if counts:
                await upsert(connection, schema.sends, counts, add="count")

    # ------------------------------------------------------------ leases

    async def lease(self, project: str, *, until: datetime, now: datetime) -> bool:
        """Take or renew the project for this process; False while another process holds it."""
        table = schema.lease
        row = {"project": project, "holder": self._holder, "until": rows.micros(until)}
        async with self._transaction() as connection:
            ours_or_over = sa.or_(table.c.holder == self._holder, table.c.until <= rows.micros(now))
            renewed = await connection.execute(sa.update(table).where(table.c.project == project, ours_or_over).values(row))
            if renewed.rowcount:
                return True
            holder = (await connection.execute(sa.select(table.c.holder).where(table.c.project == project))).scalar()
            if holder is None:
                await upsert(connection, table, [row], keep=set(row))
                holder = (await connection.execute(sa.select(table.c.holder).where(table.c.project == project))).scalar()
            return holder == self._holder

    async def release(self, project: str) -> None:
        """Give the project back, if this process holds it."""
        table = schema.lease
        async with self._transaction() as connection:
            await connection.execute(sa.delete(table).where(table.c.project == project, table.c.holder == self._holder))


def _chunks(items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
    return (items[at : at + _CHUNK] for at in range(0, len(items), _CHUNK))


async def _write_ledger(connection: AsyncConnection, entries: Sequence[LedgerEntry]) -> None:
    if not entries:
        return
    table = schema.call
    await upsert(connection, schema.ledger, [rows.of_entry(entry) for entry in entries], least="first_start")
    place = sa.and_(
        table.c.project == sa.bindparam("p"), table.c.trace_id == sa.bindparam("t"), table.c.observation_id == sa.bindparam("o")
    )
    keys = [{"p": entry.project, "t": rows.clean(entry.key.trace_id), "o": rows.clean(entry.key.observation_id)} for entry in entries]
    await connection.execute(sa.delete(table).where(place), keys)
    calls = [row for entry in entries for row in rows.calls_of(entry)]
    if calls:
        await connection.execute(sa.insert(table), calls)


def _queued(row: OutboxRow) -> dict[str, Any]:
    columns = rows.of_outbox(row)
    return {**columns, "queued_at": columns["next_at"]}


def _is_ours(row: OutboxRow, present: Mapping[str, Any] | None) -> bool:
    """Say whether a settlement still counts: its claim may have run out and the row be somebody else's by now."""
    return present is not None and (not row.claim or present["claimed_by"] == row.claim.rpartition("/")[0])


async def _to_queue(connection: AsyncConnection, wanted: Sequence[OutboxRow]) -> list[dict[str, Any]]:
    """Return the columns of committed rows, given what deliveries have made of them since the committer looked."""
    table = schema.outbox
    present: dict[str, dict[str, Any]] = {}
    for chunk in _chunks([row.score.id for row in wanted]):
        query = sa.select(table).where(table.c.project == wanted[0].project, table.c.score_id.in_(chunk)).with_for_update()
        present.update({row["score_id"]: dict(row) for row in (await connection.execute(query)).mappings()})
    return [_committed(present.get(row.score.id), _queued(row)) for row in wanted]


def _committed(present: Mapping[str, Any] | None, columns: dict[str, Any]) -> dict[str, Any]:
    if present is None:
        return columns
    was, wanted = Delivery(present["state"]), Delivery(columns["state"])
    if wanted in {Delivery.NEW, Delivery.DUE}:
        if was in {Delivery.SENT, Delivery.SEEN} and present["fingerprint"] == columns["fingerprint"]:
            # It went out meanwhile as it is wanted: sending it again would only be paid again.
            return {name: present[name] for name in columns}
        if was is Delivery.DELETED:
            # A deletion under way would take the score that is sent before it happened.
            return {**columns, "next_at": max(columns["next_at"], present["next_at"])}
    if wanted is Delivery.DOOMED:
        return {**columns, "sent": max(columns["sent"], present["sent"])}
    return columns


def _reconciled(present: dict[str, Any], row: OutboxRow, now: int) -> dict[str, Any]:
    """Return the columns to write for a settled row, given what a commit may have made of it since it was claimed.

    A payload that was changed stays and is due at once (still to be looked up if it never was); a doom that came meanwhile stays;
    a score that is wanted again stays wanted. The found timestamp and the number of sends are facts and always kept.
    """
    columns = {**rows.of_outbox(row), "claimed_until": None, "claimed_by": None}
    was = Delivery(present["state"])
    changed = present["fingerprint"] != row.fingerprint
    if row.claim:
        # The claim says in which state the row was handed out: another one now was a commit's doing, and nobody else's.
        moved = was is not Delivery(row.claim.rpartition("/")[2])
        doomed, revived = was is Delivery.DOOMED and moved, was not in _LEAVING and moved
    else:
        doomed, revived = was is Delivery.DOOMED and row.state not in _LEAVING, was not in _LEAVING and row.state in _LEAVING
    if not (changed or doomed or revived):
        return columns
    kept = {name: value for name, value in present.items() if name not in {"timestamp", "sent", "claimed_until", "claimed_by"}}
    merged = {**columns, **kept, "looks": 0}
    if doomed or was in _LEAVING:
        return {**merged, "next_at": max(now, present["next_at"])}
    # A deletion under way would take the new score with it: what it asked for is given time to happen.
    next_at = columns["next_at"] if row.state is Delivery.DELETED else now
    state = Delivery.NEW if was is Delivery.NEW and row.state is Delivery.NEW else Delivery.DUE
    return {**merged, "state": state.value, "next_at": next_at, "sent": 0}
