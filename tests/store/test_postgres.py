"""A Postgres that restarts, vanishes or freezes: the store says so in bounded time, loses nothing, and goes on when it is back."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
import sqlalchemy as sa

from hunkwatch.errors import RetryLater
from hunkwatch.ports import Commit, Delivery
from hunkwatch.store import SqlStore, engines, open_store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.postgres


@dataclass
class Wire:
    """What lies between a worker and its Postgres: passes everything on, nothing, or is cut."""

    host: str
    port: int
    flowing: asyncio.Event = field(default_factory=asyncio.Event)
    _writers: list[asyncio.StreamWriter] = field(default_factory=list)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take one connection, unless nothing flows."""
        if not self.flowing.is_set():
            writer.transport.abort()
            return
        there, back = await asyncio.open_connection(self.host, self.port)
        self._writers += [writer, back]
        self._tasks += [asyncio.create_task(self._pass_on(reader, back)), asyncio.create_task(self._pass_on(there, writer))]

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                await self.flowing.wait()
                writer.write(data)
        writer.close()

    def cut(self) -> None:
        """End every connection in the middle of whatever it carries."""
        for writer in self._writers:
            writer.transport.abort()

    async def close(self) -> None:
        """Take everything down."""
        self.cut()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@asynccontextmanager
async def wired(url: str) -> AsyncIterator[tuple[Wire, str]]:
    """A wire before a Postgres, and the address of its near end."""
    real = sa.make_url(url)
    wire = Wire(real.host or "", real.port or 5432)
    wire.flowing.set()
    server = await asyncio.start_server(wire.meet, "127.0.0.1", 0)
    near = real.set(host="127.0.0.1", port=server.sockets[0].getsockname()[1])
    try:
        yield wire, near.render_as_string(hide_password=False)
    finally:
        await wire.close()
        server.close()


async def test_a_restart_of_postgres_costs_one_try_at_most(postgres_url: str, make: Any) -> None:
    """The server ends every connection; at rest nobody notices, and what was under way passes by itself."""
    async with open_store(postgres_url) as store:
        await store.commit(Commit("project", watermark=make.now))
        _end_all_connections(postgres_url)
        assert make.now == await store.watermark("project")

        async def interrupted() -> None:
            async with store._transaction() as connection:
                _end_all_connections(postgres_url)
                await connection.execute(sa.text("SELECT 1"))

        with pytest.raises(RetryLater):
            await interrupted()
        await store.commit(Commit("project", watermark=make.later(hours=1)))
        assert make.later(hours=1) == await store.watermark("project")


async def test_a_wire_that_is_cut_in_a_commit_leaves_all_of_it_or_nothing(postgres_url: str, make: Any) -> None:
    """Whoever hears of an error asks again with the same, which is then there once."""
    commit = Commit("project", ledger=[make.entry()], outbox=[make.row()], watermark=make.now)
    async with wired(postgres_url) as (wire, near), open_store(near) as store:
        cutting = asyncio.create_task(store.commit(commit))
        await asyncio.sleep(0)
        wire.cut()
        with suppress(RetryLater):
            await cutting
        there = (await store.watermark("project") is not None, len(await store.known("project", [make.entry().key])) == 1)
        await store.commit(commit)
        rows = (await store.outbox_of("project", ["trace-1"]))["trace-1"]

    assert there in {(True, True), (False, False)}
    assert [Delivery.DUE] == [row.state for row in rows]


async def test_a_frozen_postgres_holds_nobody_up_for_ever(postgres_url: str, make: Any) -> None:
    """A server that takes the question and never answers is given up after a bound, and asked again when it is back."""
    async with wired(postgres_url) as (wire, near), open_store(near) as store:
        hasty = SqlStore(store._engine, holder="hasty", patience=timedelta(milliseconds=200))
        await hasty.commit(Commit("project", watermark=make.now))
        wire.flowing.clear()
        with pytest.raises(RetryLater, match="does not answer"):
            await hasty.watermark("project")
        wire.flowing.set()
        assert make.now == await store.watermark("project")


async def test_a_lock_that_somebody_holds_passes_by_itself(postgres_url: str, make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who forgot a transaction over our tables costs a wait with an end."""
    monkeypatch.setattr(engines, "_LOCK", timedelta(milliseconds=100))
    async with open_store(postgres_url) as store:
        with psycopg.connect(postgres_url) as other:
            other.execute("LOCK TABLE hunkwatch_watermark")
            with pytest.raises(RetryLater):
                await store.commit(Commit("project", watermark=make.now))
            other.rollback()
        await store.commit(Commit("project", watermark=make.now))


async def test_the_address_has_the_last_word_on_a_connection(postgres_url: str) -> None:
    """What an operator writes into the address is not overruled; the rest is ours."""
    engine = engines.postgres(f"{postgres_url}?application_name=mine&connect_timeout=3")
    try:
        async with engine.connect() as connection:
            names = ("application_name", "statement_timeout", "lock_timeout", "transaction_isolation")
            found = [(await connection.execute(sa.text(f"SHOW {name}"))).scalar() for name in names]
    finally:
        await engine.dispose()

    assert ["mine", "1min", "20s", "read committed"] == found


def _end_all_connections(url: str) -> None:
    name = sa.make_url(url).database
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()", (name,))
