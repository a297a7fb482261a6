"""The store on one database, SQLite or Postgres: every method is one transaction.

SQLite has one connection that writes, where writers queue and never meet a locked database, and others that read beside it; Postgres
has a small pool and shares claims between processes with SKIP LOCKED. Commits of one project follow one another on both.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from hunkwatch.ports import Delivery
from hunkwatch.store import counting, engines, faults, ids, lags, leases, ledger, merging, outbox, rows, schema
from hunkwatch.store.writing import chunks, upsert

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from datetime import datetime, timedelta

    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

    from hunkwatch.core.window import Window
    from hunkwatch.ports import Commit, LedgerEntry, ObservationKey, OutboxRow, Status, TraceState

_COMMITS = 4857246814
"""Sets the locks of commits apart from whatever else is locked by a number."""

PATIENCE = engines.ANSWER * 2
"""Longest time that one transaction on Postgres may take: the server bounds a statement, but one that is frozen bounds nothing."""


class SqlStore:
    """An open store; made by ``open_store``. ``holder`` names this process in claims and leases."""

    def __init__(self, engine: AsyncEngine, *, holder: str, reading: AsyncEngine | None = None, patience: timedelta = PATIENCE) -> None:
        """Take an engine whose schema is at head, and another to read with where a reader must not wait for writers."""
        self._engine = engine
        self._reading = reading or engine
        self._holder = holder
        self._turn = asyncio.Lock() if engine.dialect.name == "sqlite" else None
        # A file answers, or gives an error; nothing is won by leaving it halfway.
        self._patience = None if self._turn else patience.total_seconds()

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[AsyncConnection]:
        with faults.translated():
            if self._turn is None:
                async with asyncio.timeout(self._patience), self._engine.begin() as connection:
                    yield connection
            else:
                async with self._turn, self._engine.begin() as connection:
                    yield connection

    @asynccontextmanager
    async def _look(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that only reads what was committed."""
        with faults.translated():
            async with asyncio.timeout(self._patience), self._reading.begin() as connection:
                yield connection

    # ------------------------------------------------------------ reading

    async def watermark(self, project: str, lane: str = "live") -> datetime | None:
        """Return how far the lane has read, or None before its first sweep."""
        table = schema.watermark
        query = sa.select(table.c.at).where(table.c.project == project, table.c.lane == lane)
        async with self._look() as connection:
            at = (await connection.execute(query)).scalar()
        return None if at is None else rows.moment(at)

    async def known(self, project: str, keys: Sequence[ObservationKey]) -> Mapping[ObservationKey, LedgerEntry]:
        """Return the ledger entries that exist among the keys; any number of keys."""
        async with self._look() as connection:
            entries = [rows.entry(row) for row in await ledger.among(connection, project, keys)]
        return {entry.key: entry for entry in entries}

    async def entries_of(self, project: str, trace_ids: Sequence[str]) -> Mapping[str, Sequence[LedgerEntry]]:
        """Return every ledger entry of the traces that holds at least one call, by trace."""
        found: dict[str, list[LedgerEntry]] = defaultdict(list)
        for row in await self._of_traces(schema.ledger, project, trace_ids, schema.ledger.c.call_count > 0):
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
        async with self._look() as connection:
            return [rows.entry(row) for row in await ids.read(connection, project, query)]

    async def trace_ids(self, project: str, *, after: str = "", limit: int) -> Sequence[str]:
        """Return ids of traces that have calls or scores on record, in the database's order, beginning behind ``after``."""
        entries, scores, behind = schema.ledger.c, schema.outbox.c, ids.spelled(after)
        with_calls = sa.select(entries.trace_id).where(entries.project == project, entries.trace_id > behind, entries.call_count > 0)
        with_scores = sa.select(scores.trace_id).where(scores.project == project, scores.trace_id > behind)
        query = sa.union(with_calls, with_scores).order_by("trace_id").limit(limit)
        async with self._look() as connection:
            return [row["trace_id"] for row in await ids.read(connection, project, query)]

    async def outbox_of(self, project: str, trace_ids: Sequence[str]) -> Mapping[str, Sequence[OutboxRow]]:
        """Return every outbox row of the traces, whatever its state, by trace."""
        found: dict[str, list[OutboxRow]] = defaultdict(list)
        for row in await self._of_traces(schema.outbox, project, trace_ids):
            found[row["trace_id"]].append(rows.outbox(row))
        return dict(found)

    async def traces(self, project: str, trace_ids: Sequence[str]) -> Mapping[str, TraceState]:
        """Return what is known of when these traces are due."""
        return {row["trace_id"]: rows.trace(row) for row in await self._of_traces(schema.trace, project, trace_ids)}

    async def _of_traces(
        self, table: sa.Table, project: str, trace_ids: Sequence[str], *conditions: sa.ColumnElement[bool]
    ) -> list[dict[str, Any]]:
        named = sorted({ids.spelled(trace_id) for trace_id in trace_ids})
        found: list[dict[str, Any]] = []
        if named:
            async with self._look() as connection:
                for chunk in chunks(named):
                    query = sa.select(table).where(table.c.project == project, table.c.trace_id.in_(chunk), *conditions)
                    found += await ids.read(connection, project, query)
        return found

    async def due_traces(self, project: str, now: datetime, limit: int) -> Sequence[str]:
        """Return traces whose ``due_at`` has come, the longest due first."""
        table = schema.trace
        query = (
            sa.select(table.c.trace_id)
            .where(table.c.project == project, table.c.due_at <= rows.micros(now))
            .order_by(table.c.due_at, table.c.trace_id)
            .limit(limit)
        )
        async with self._look() as connection:
            return [row["trace_id"] for row in await ids.read(connection, project, query)]

    async def next_due(self, project: str) -> datetime | None:
        """Return the earliest time at which a trace or an outbox row wants attention, None when nothing does."""
        table = schema.trace
        due = sa.select(sa.func.min(table.c.due_at)).where(table.c.project == project, table.c.due_at.is_not(None))
        async with self._look() as connection:
            times = [(await connection.execute(due)).scalar(), await outbox.next_due(connection, project)]
        return min((rows.moment(at) for at in times if at is not None), default=None)

    async def traces_with_calls(self, project: str, call_ids: Sequence[str]) -> Mapping[str, frozenset[str]]:
        """Return, by call id, the traces that hold a call of that id."""
        table = schema.call
        named = {ids.spelled(call_id): call_id for call_id in call_ids}
        found: dict[str, set[str]] = defaultdict(set)
        async with self._look() as connection:
            for chunk in chunks(list(named)):
                query = (
                    sa.select(table.c.call_id, table.c.trace_id).where(table.c.project == project, table.c.call_id.in_(chunk)).distinct()
                )
                for row in await ids.read(connection, project, query):
                    found[named[row["call_id"]]].add(row["trace_id"])
        return {call_id: frozenset(traces) for call_id, traces in found.items()}

    async def dead_letters(self, project: str) -> Sequence[OutboxRow]:
        """Return the dead letters, oldest first."""
        table = schema.outbox
        query = (
            sa.select(table)
            .where(table.c.project == project, table.c.state == Delivery.DEAD.value)
            .order_by(table.c.next_at, table.c.score_id)
        )
        async with self._look() as connection:
            return [rows.outbox(row) for row in await ids.read(connection, project, query)]

    async def projects(self) -> Sequence[str]:
        """Return the ids of all projects that anything is on record of."""
        tables = (schema.watermark, schema.ledger, schema.outbox)
        query = sa.union(*(sa.select(table.c.project).distinct() for table in tables))
        async with self._look() as connection:
            return sorted((await connection.execute(query)).scalars())

    async def status(self, project: str, *, scorer: str) -> Status:
        """Count everything."""
        async with self._look() as connection:
            return await counting.status(connection, project, scorer=scorer)

    async def lags(self, project: str, *, since: datetime) -> Sequence[float]:
        """Return the largest lag of each producer and hour since then, in seconds."""
        async with self._look() as connection:
            return await lags.since(connection, project, rows.micros(since))

    # ------------------------------------------------------------ writing

    async def commit(self, commit: Commit) -> None:
        """Write it all, or nothing."""
        project = commit.project
        async with self._transaction() as connection:
            if connection.dialect.name == "postgresql":
                # What is read in here to be merged stays true until it is written, also while nothing is on record yet.
                await connection.execute(sa.select(sa.func.pg_advisory_xact_lock(sa.func.hashtextextended(project, _COMMITS))))
            await ledger.write(connection, project, commit.ledger)
            await outbox.queue(connection, project, commit.outbox)
            await _schedule(connection, project, commit.traces)
            if commit.lags and commit.ledger:
                await lags.note(connection, project, commit.lags, at=rows.micros(max(entry.seen_at for entry in commit.ledger)))
            if commit.watermark is not None:
                at = rows.micros(commit.watermark)
                await upsert(connection, schema.watermark, [{"project": project, "lane": commit.lane, "at": at}], largest="at")

    async def note_poison(self, project: str, key: ObservationKey, reason: str, *, now: datetime) -> None:
        """Put an observation that could not be read on record, with the reason; the calls it had stay."""
        async with self._transaction() as connection:
            await ledger.note_poison(connection, project, key, reason, rows.micros(now))

    async def prune(self, project: str, *, before: datetime) -> int:
        """Drop ledger entries last seen before; traces with younger ones or with anything not at rest stay. Return how many went."""
        async with self._transaction() as connection:
            return await ledger.prune(connection, project, rows.micros(before))

    # ------------------------------------------------------------ claims

    async def claim(self, project: str, states: Sequence[Delivery], *, now: datetime, until: datetime, limit: int) -> Sequence[OutboxRow]:
        """Take due rows (``next_at`` <= now) for this process until ``until``; no other process gets them before that."""
        ends = rows.micros(until)
        async with self._transaction() as connection:
            return await outbox.claim(connection, project, states, now=rows.micros(now), until=ends, limit=limit, holder=self._holder)

    async def settle(self, settled: Sequence[OutboxRow], *, now: datetime, sends: Mapping[str, int] | None = None) -> None:
        """Write back claimed rows as they are now and end their claims; what a commit changed meanwhile wins (``merging.settled``)."""
        if not settled:
            return
        project = settled[0].project
        async with self._transaction() as connection:
            await outbox.settle(connection, project, settled, now=rows.micros(now))
            counts = [{"project": project, "day": f"{now:%Y-%m-%d}", "name": name, "count": count} for name, count in (sends or {}).items()]
            if counts:
                await upsert(connection, schema.sends, counts, add="count")

    # ------------------------------------------------------------ leases

    async def lease(self, project: str, *, until: datetime, now: datetime) -> bool:
        """Take or renew the project for this process; False while another process holds it.

        Says that this process lives, too: what others claimed that are not heard of any more becomes free.
        """
        async with self._transaction() as connection:
            return await leases.take(connection, project, self._holder, until=rows.micros(until), now=rows.micros(now))

    async def release(self, project: str) -> None:
        """Give the project back, if this process holds it."""
        async with self._transaction() as connection:
            await leases.give_back(connection, project, self._holder)


async def _schedule(connection: AsyncConnection, project: str, states: Sequence[TraceState]) -> None:
    if not states:
        return
    await ids.remember(connection, project, {state.trace_id for state in states})
    table = schema.trace
    columns = [rows.of_trace(state) for state in states]
    present: dict[str, dict[str, Any]] = {}
    for chunk in chunks(sorted({str(row["trace_id"]) for row in columns})):
        query = sa.select(table).where(table.c.project == project, table.c.trace_id.in_(chunk)).with_for_update()
        present.update({row["trace_id"]: dict(row) for row in (await connection.execute(query)).mappings()})
    await upsert(connection, table, [merging.scheduled(present.get(str(row["trace_id"])), row) for row in columns])
