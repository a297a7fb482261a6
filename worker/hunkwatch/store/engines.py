"""How each database is talked to: pools, what a connection is told first, and how long it may keep us waiting.

No wait on a database is without an end: a server that died, or froze, costs ``ANSWER`` and is then an error that passes by itself.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncEngine

ANSWER = timedelta(seconds=60)
"""Longest time that Postgres gets for one statement, or is waited for without a sign of life."""

_LOCK = timedelta(seconds=20)

_SILENCE = timedelta(seconds=15)
"""How long a transaction of a worker that lost its power may hold its locks, in the way of whoever takes over."""

_CONNECT_SECONDS = 10
_BUSY_SECONDS = 10
_POOL = 5


def postgres(url: str) -> AsyncEngine:
    """Return the engine of a Postgres state; what the address itself says of a connection beats what is set here."""
    given = sa.make_url(url)
    asked: dict[str, object] = {
        "connect_timeout": _CONNECT_SECONDS,
        "application_name": "hunkwatch",
        # The kernel notices a peer that is gone: at rest within a minute, with something under way within the answer's time.
        "keepalives_idle": 30,
        "keepalives_interval": 10,
        "keepalives_count": 3,
        "tcp_user_timeout": _milliseconds(ANSWER),
        "options": " ".join(
            f"-c {name}={_milliseconds(limit)}"
            for name, limit in (
                ("statement_timeout", ANSWER),
                ("lock_timeout", _LOCK),
                ("idle_in_transaction_session_timeout", _SILENCE),
                ("tcp_user_timeout", _SILENCE),
            )
        ),
    }
    engine = create_async_engine(
        given.set(drivername="postgresql+psycopg"),
        pool_size=_POOL,
        max_overflow=0,
        pool_timeout=ANSWER.total_seconds(),
        pool_pre_ping=True,
        hide_parameters=True,
        connect_args={name: value for name, value in asked.items() if name not in given.query},
    )
    # What several read before they write is serialised by row locks, whatever the server's default is.
    return engine.execution_options(isolation_level="READ COMMITTED")


def sqlite(path: Path, *, writing: bool) -> AsyncEngine:
    """Return the engine of a state file: one connection that writes, or several that only read what was committed."""
    query = {"mode": "rw" if writing else "ro", "uri": "true"}
    engine = create_async_engine(
        sa.URL.create("sqlite+aiosqlite", database=path.absolute().as_uri(), query=query),
        poolclass=AsyncAdaptedQueuePool,
        pool_size=1 if writing else 2,
        max_overflow=0,
        pool_timeout=ANSWER.total_seconds(),
        hide_parameters=True,
        connect_args={"timeout": _BUSY_SECONDS},
    )
    event.listen(engine.sync_engine, "connect", _prepare_to_write if writing else _prepare_to_read)
    event.listen(engine.sync_engine, "begin", _begin_to_write if writing else _begin_to_read)
    return engine


def _prepare_to_read(connection: Any, _record: object) -> None:
    connection.isolation_level = None


def _prepare_to_write(connection: Any, _record: object) -> None:
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    # What a power cut may take from the end of a WAL goes together: ledger, outbox and watermark. It is swept and sent again.
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.execute("PRAGMA journal_size_limit=67108864")
    cursor.close()


def _begin_to_write(connection: sa.Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _begin_to_read(connection: sa.Connection) -> None:
    connection.exec_driver_sql("BEGIN")


def _milliseconds(span: timedelta) -> int:
    return span // timedelta(milliseconds=1)
