"""Opening the state: which database, whose turn, which schema.

A SQLite state belongs to one process at a time (a lock beside the file, let go when the process ends however it ends); a reader may
look at it meanwhile. A Postgres state may be shared by any number of processes.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import sqlite3
from contextlib import asynccontextmanager, closing
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

import sqlalchemy as sa

from hunkwatch.errors import Exit, Halt
from hunkwatch.store import engines, faults, migrating, schema
from hunkwatch.store.store import SqlStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from datetime import datetime

    from sqlalchemy.ext.asyncio import AsyncEngine

_BUSY_SECONDS = 10
_MIGRATION = 4857246813
"""The number of the lock that whoever migrates a Postgres state holds."""


@asynccontextmanager
async def open_store(url: str, *, holder: str = "") -> AsyncIterator[SqlStore]:
    """Open the state for writing, with its schema brought to head.

    ``url`` is ``sqlite:////path/file.db`` or ``postgresql://...``; ``holder`` names this process in claims and leases, and must be
    its alone among all that share the state; without one it is made up.
    Raises Halt when the state is in use, damaged, not ours, out of reach or made by a newer version, RetryLater when it is busy.
    """
    holder = holder or f"{socket.gethostname()}-{os.getpid()}-{token_hex(4)}"
    path = _path(url)
    async with prepared(url) as engine:
        reading = engine if path is None else engines.sqlite(path, writing=False)
        try:
            yield SqlStore(engine, holder=holder, reading=reading)
        finally:
            await reading.dispose()


@asynccontextmanager
async def prepared(url: str) -> AsyncIterator[AsyncEngine]:
    """Open a database to write to, with the file held against others and the schema brought to head; raises as ``open_store`` does."""
    path = _path(url)
    with contextlib.ExitStack() as held:
        if path is not None:
            held.enter_context(_locked(path))
            # Before anything is written: even a change of the journal's mode would be one to somebody else's file.
            await exists(url)
        engine = engines.postgres(url) if path is None else engines.sqlite(path, writing=True)
        try:
            with faults.translated():
                async with engine.begin() as connection:
                    if path is None:
                        # Two processes that start at once must not migrate at once.
                        await connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATION)))
                        # A step over a large table may take its time.
                        await connection.execute(sa.text("SET LOCAL statement_timeout = 0"))
                    await connection.run_sync(migrating.migrate)
                    if path is not None:
                        # The file is ours alone: whoever holds a claim or a lease is dead, and what it had in hand is taken up at once.
                        await connection.execute(sa.update(schema.outbox).values(claimed_until=None, claimed_by=None))
                        await connection.execute(sa.delete(schema.lease))
                        await connection.execute(sa.delete(schema.replica))
            yield engine
        finally:
            await engine.dispose()


async def exists(url: str) -> bool:
    """Say whether there is a state of ours; raises Halt on one of a newer version, and on what is somebody else's."""
    async with open_for_reading(url) as store:
        return store is not None


def is_same(one: str, other: str) -> bool:
    """Say whether two addresses name one database, as far as the addresses tell."""
    paths = _path(one), _path(other)
    if paths != (None, None):
        return None not in paths and paths[0].resolve() == paths[1].resolve()  # type: ignore[union-attr] # neither is None here
    parts = [(url.host, url.port or 5432, url.database) for url in map(sa.make_url, (one, other))]
    return parts[0] == parts[1]


@asynccontextmanager
async def open_for_reading(url: str) -> AsyncIterator[SqlStore | None]:
    """Open the state beside whoever writes it; None when there is none yet. Changes nothing: no lock, no migration."""
    path = _path(url)
    if path is not None and not path.exists():
        yield None
        return
    engine = engines.postgres(url) if path is None else engines.sqlite(path, writing=False)
    try:
        with faults.translated():
            async with engine.connect() as connection:
                present = await connection.run_sync(migrating.check)
        yield SqlStore(engine, holder="reader") if present else None
    finally:
        await engine.dispose()


def copy_state(url: str, folder: Path) -> str:
    """Copy a SQLite state into a folder and return the copy's address; a missing one gives the address of a fresh one.

    A consistent copy whoever writes meanwhile. Serves backups and dry runs; a Postgres state is backed up with its own tools, and a dry
    run beside one starts afresh.
    """
    target = folder / "hunkwatch.db"
    path = _path(url)
    if path is not None and path.exists():
        with (
            faults.translated(),
            closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_BUSY_SECONDS)) as source,
            closing(sqlite3.connect(target)) as copy,
        ):
            source.backup(copy)
    return f"sqlite:///{target}"


def reset_state(url: str, *, now: datetime) -> Path | None:
    """Move a SQLite state aside, with everything beside it; return where it went, None when there was none."""
    path = _path(url)
    if path is None:
        raise Halt("a Postgres state is not moved aside", mend="Drop or rename its tables by hand.", exit_code=Exit.STATE)
    if not path.exists():
        return None
    aside = path.with_name(f"{path.name}.{now:%Y%m%dT%H%M%S}.aside")
    with faults.translated(), _locked(path):
        for suffix in ("", "-wal", "-shm"):
            part = path.with_name(path.name + suffix)
            if part.exists():
                part.rename(aside.with_name(aside.name + suffix))
    return aside


def _path(url: str) -> Path | None:
    """Return the file of a SQLite address, None for Postgres."""
    try:
        parsed = sa.make_url(url)
    except sa.exc.ArgumentError as error:
        raise Halt("store.url is no database address", mend='Use "sqlite:////path/file.db" or "postgresql://...".') from error
    if parsed.get_backend_name() == "sqlite":
        if not parsed.database or parsed.database == ":memory:":
            raise Halt("store.url names no file", mend='Use "sqlite:////path/file.db": a state in memory forgets everything.')
        return Path(parsed.database)
    if parsed.get_backend_name() in {"postgresql", "postgres"}:
        return None
    raise Halt("store.url names an unknown kind of database", mend='Use "sqlite:////path/file.db" or "postgresql://...".')


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the state file against a second process; the kernel lets go when this one ends."""
    with faults.translated():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in {errno.EWOULDBLOCK, errno.EACCES}:
                raise
            raise Halt(
                "another hunkwatch process uses this state file",
                mend="Stop it first, or give this one its own file; for several workers use Postgres.",
                exit_code=Exit.STATE,
            ) from error
        with faults.translated():
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        yield
    finally:
        os.close(lock)
