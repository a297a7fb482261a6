"""Opening the state: whose turn it is, what is refused, what an operator is told."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import create_async_engine

from hunkwatch.errors import Exit, Halt, RetryLater
from hunkwatch.ports import Commit, Delivery
from hunkwatch.store import copy_state, faults, open_for_reading, open_store, reset_state, schema

if TYPE_CHECKING:
    from pathlib import Path


def address(path: Path) -> str:
    """The address of a state file."""
    return f"sqlite:///{path}"


async def test_a_new_state_belongs_to_its_user_alone(tmp_path: Path) -> None:
    """Folder and file are closed to others."""
    path = tmp_path / "new" / "state.db"
    async with open_store(address(path)):
        pass

    assert (0o700, 0o600) == (path.parent.stat().st_mode & 0o777, path.stat().st_mode & 0o777)


async def test_a_second_process_is_refused_and_told_what_to_do(tmp_path: Path) -> None:
    """Two writers on one state file would deliver twice."""
    path = tmp_path / "state.db"
    async with open_store(address(path)):
        with pytest.raises(Halt) as refused:
            async with open_store(address(path)):
                pass

    assert ("another hunkwatch process uses this state file", Exit.STATE) == (str(refused.value), refused.value.exit_code)
    assert refused.value.mend


async def test_a_killed_process_leaves_no_lock(tmp_path: Path) -> None:
    """The kernel lets go of the lock, however the process ended."""
    path = tmp_path / "state.db"
    holder = (
        "import asyncio, os, sys\n"
        "from hunkwatch.store import open_store\n"
        "async def main():\n"
        "    async with open_store(sys.argv[1]):\n"
        "        os.kill(os.getpid(), 9)\n"
        "asyncio.run(main())\n"
    )
    ended = await asyncio.create_subprocess_exec(sys.executable, "-c", holder, address(path))
    code = await asyncio.wait_for(ended.wait(), 60)
    async with open_store(address(path)) as store:
        assert (-9, None) == (code, await store.watermark("project"))


async def test_a_reader_looks_beside_the_writer(tmp_path: Path, make: Any) -> None:
    """``status`` works while the worker runs, and changes nothing."""
    path = tmp_path / "state.db"
    async with open_store(address(path)) as store:
        await store.commit(Commit("project", watermark=make.now))
        async with open_for_reading(address(path)) as reader:
            assert reader is not None
            found = await reader.watermark("project")

    assert make.now == found


async def test_a_reader_of_nothing_makes_nothing(tmp_path: Path) -> None:
    """Looking at a state that is not there does not create it."""
    async with open_for_reading(address(tmp_path / "absent" / "state.db")) as reader:
        assert reader is None

    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("opener", [open_store, open_for_reading])
async def test_a_newer_schema_is_refused(store_url: str, opener: Any) -> None:
    """A state that a newer version made is left alone."""
    async with open_store(store_url):
        pass
    engine = create_async_engine(sa.make_url(store_url).set(drivername=_driver(store_url)))
    async with engine.begin() as connection:
        await connection.execute(sa.text("UPDATE hunkwatch_schema_version SET version_num = '9999'"))
    await engine.dispose()

    with pytest.raises(Halt, match="newer version of hunkwatch") as refused:
        async with opener(store_url):
            pass
    assert Exit.STATE == refused.value.exit_code


async def test_a_file_that_is_no_database_is_refused_and_can_be_moved_aside(tmp_path: Path, make: Any) -> None:
    """Nothing is deleted: the file is moved aside only when that is asked for, and a fresh state takes its place."""
    path = tmp_path / "state.db"
    path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(Halt, match="not a database") as refused:
        async with open_store(address(path)):
            pass
    aside = reset_state(address(path), now=make.now)
    async with open_store(address(path)) as store:
        assert await store.watermark("project") is None

    assert Exit.STATE == refused.value.exit_code
    assert aside is not None
    assert aside.read_bytes().startswith(b"not a database")


async def test_somebody_elses_database_is_left_alone(tmp_path: Path) -> None:
    """A file that holds other tables is named by mistake: not one of ours is put beside them."""
    path = tmp_path / "theirs.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE customers (name TEXT)")
    before = path.read_bytes()
    with pytest.raises(Halt, match="not a state of hunkwatch") as refused:
        async with open_store(address(path)):
            pass

    assert (Exit.STATE, before) == (refused.value.exit_code, path.read_bytes())


@pytest.mark.postgres
async def test_other_tables_in_one_postgres_are_neighbours(postgres_url: str) -> None:
    """A shared database is fine, since our names are our own; a table of our name without a version is not ours."""
    engine = create_async_engine(sa.make_url(postgres_url).set(drivername="postgresql+psycopg"))
    async with engine.begin() as connection:
        await connection.execute(sa.text("CREATE TABLE ledger (name TEXT)"))
    async with open_store(postgres_url) as store:
        assert await store.watermark("project") is None
    async with engine.begin() as connection:
        await connection.execute(sa.text("DROP TABLE hunkwatch_schema_version"))
    await engine.dispose()
    with pytest.raises(Halt, match="not a state of hunkwatch"):
        async with open_store(postgres_url):
            pass


async def test_a_long_read_does_not_wait_for_a_long_write(tmp_path: Path, make: Any) -> None:
    """``status`` in the worker itself sees what was committed before, while a commit is under way."""
    async with open_store(address(tmp_path / "state.db")) as store:
        await store.commit(Commit("project", watermark=make.now))
        async with store._transaction():
            assert make.now == (await store.status("project", scorer="1")).watermarks["live"]


async def test_a_damaged_page_is_refused_and_told_what_to_do(tmp_path: Path, make: Any) -> None:
    """The file is kept as it is: only --reset-state moves it aside."""
    path = tmp_path / "state.db"
    async with open_store(address(path)) as store:
        await store.commit(Commit("project", outbox=[make.row(f"score-{number}") for number in range(200)]))
    damaged = bytearray(path.read_bytes())
    damaged[4096:] = b"\xa5" * (len(damaged) - 4096)
    path.write_bytes(damaged)
    with pytest.raises(Halt, match="damaged") as refused:
        async with open_store(address(path)):
            pass

    assert (Exit.STATE, True) == (refused.value.exit_code, "--reset-state" in refused.value.mend)


async def test_a_state_in_use_is_not_moved_aside(tmp_path: Path, make: Any) -> None:
    """A running worker keeps its file."""
    path = tmp_path / "state.db"
    async with open_store(address(path)):
        with pytest.raises(Halt, match="another hunkwatch process"):
            reset_state(address(path), now=make.now)

    assert path.exists()


async def test_a_folder_that_cannot_be_made_is_one_clear_error(tmp_path: Path) -> None:
    """A file where a folder should be, for one."""
    (tmp_path / "file").write_text("")
    with pytest.raises(Halt, match="cannot be opened") as refused:
        async with open_store(address(tmp_path / "file" / "state.db")):
            pass

    assert Exit.STATE == refused.value.exit_code


async def test_a_full_disk_stops_the_commit_and_loses_nothing(tmp_path: Path, make: Any) -> None:
    """What was acknowledged before is there; what was not is not; the process stops with a clear word."""
    path = tmp_path / "state.db"
    async with open_store(address(path)) as store:
        await store.commit(Commit("project", watermark=make.now))
        async with store._engine.begin() as connection:
            pages = (await connection.exec_driver_sql("PRAGMA page_count")).scalar()
            await connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")
        rows = [make.row(f"score-{number}", score=make.score(f"score-{number}", comment="x" * 4000)) for number in range(50)]
        with pytest.raises(Halt, match="disk") as refused:
            await store.commit(Commit("project", outbox=rows, watermark=make.later(hours=1)))
        assert (make.now, {}) == (await store.watermark("project"), await store.outbox_of("project", ["trace-1"]))

    assert Exit.STATE == refused.value.exit_code


async def test_a_copy_is_whole_while_the_writer_writes(tmp_path: Path, make: Any) -> None:
    """A backup or a dry run starts from everything that was committed."""
    path = tmp_path / "state.db"
    (tmp_path / "copy").mkdir()
    async with open_store(address(path)) as store:
        await store.commit(Commit("project", outbox=[make.row()], watermark=make.now))
        copy = copy_state(address(path), tmp_path / "copy")
        await store.commit(Commit("project", watermark=make.later(hours=1)))
    async with open_store(copy) as store:
        rows = await store.claim("project", [Delivery.DUE], now=make.now, until=make.now, limit=9)
        assert (make.now, 1) == (await store.watermark("project"), len(rows))


async def test_a_copy_put_in_place_is_a_restored_state(tmp_path: Path, make: Any) -> None:
    """Backup and restore: copy while running, stop, put the copy in place, start."""
    path = tmp_path / "state.db"
    (tmp_path / "backup").mkdir()
    async with open_store(address(path)) as store:
        await store.commit(Commit("project", ledger=[make.entry()], watermark=make.now))
        copy_state(address(path), tmp_path / "backup")
    for part in tmp_path.glob("state.db*"):
        part.unlink()
    (tmp_path / "backup" / "hunkwatch.db").rename(path)
    async with open_store(address(path)) as store:
        assert (make.now, 1) == (await store.watermark("project"), len(await store.known("project", [make.entry().key])))


@pytest.mark.parametrize("url", ["mysql://host/db", "sqlite://", "sqlite:///:memory:", "nonsense"])
async def test_an_address_that_cannot_hold_a_state_is_refused(url: str) -> None:
    """A state in memory forgets everything; other databases are not supported."""
    with pytest.raises(Halt, match=r"store\.url"):
        async with open_store(url):
            pass


async def test_a_postgres_that_is_away_is_asked_again_later() -> None:
    """A connection that is refused passes by itself; the caller waits, and no password is told."""
    with pytest.raises(RetryLater) as away:
        async with open_store("postgresql://user:hidden-word@127.0.0.1:1/none"):
            pass

    assert "hidden-word" not in str(away.value)


async def test_migrations_and_the_tables_say_the_same(store_url: str, tmp_path: Path) -> None:
    """A state migrated step by step is the one that is made at once from the tables."""
    async with open_store(store_url):
        pass
    fresh = f"sqlite:///{tmp_path / 'fresh.db'}" if store_url.startswith("sqlite") else _second_database(store_url)
    made = create_async_engine(sa.make_url(fresh).set(drivername=_driver(fresh)))
    async with made.begin() as connection:
        await connection.run_sync(schema.metadata.create_all)
    migrated = create_async_engine(sa.make_url(store_url).set(drivername=_driver(store_url)))
    try:
        assert await _picture(made) == await _picture(migrated)
    finally:
        await made.dispose()
        await migrated.dispose()
        if not store_url.startswith("sqlite"):
            _drop(store_url, fresh)


async def test_two_processes_that_start_at_once_migrate_once(tmp_path: Path) -> None:
    """Opening twice in a row changes nothing the second time."""
    path = tmp_path / "state.db"
    for _ in range(2):
        async with open_store(address(path)):
            pass
    with closing(sqlite3.connect(path)) as connection:
        assert [("0002",)] == connection.execute("SELECT version_num FROM hunkwatch_schema_version").fetchall()


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (sqlite3.SQLITE_BUSY, RetryLater),
        (sqlite3.SQLITE_LOCKED, RetryLater),
        (sqlite3.SQLITE_FULL, Halt),
        (sqlite3.SQLITE_READONLY_DBMOVED, Halt),
        (sqlite3.SQLITE_IOERR_WRITE, Halt),
        (sqlite3.SQLITE_CORRUPT_VTAB, Halt),
    ],
)
def test_sqlite_errors_are_sorted_by_code(code: int, expected: type[Exception]) -> None:
    """Extended codes fall to their primary code."""
    error = sqlite3.OperationalError("any words")
    error.sqlite_errorcode = code

    assert expected is type(faults.of(error, lost=False))


def test_the_states_in_the_check_are_the_states_of_the_port() -> None:
    """The column takes what the daemon writes and nothing else."""
    text = next(
        str(check.sqltext) for check in schema.outbox.constraints if isinstance(check, sa.CheckConstraint) and "state" in str(check.sqltext)
    )

    assert set(text.removeprefix("state IN (").removesuffix(")").split(", ")) == {f"'{state}'" for state in Delivery}


def _driver(url: str) -> str:
    return "sqlite+aiosqlite" if url.startswith("sqlite") else "postgresql+psycopg"


def _second_database(url: str) -> str:
    import psycopg  # noqa: PLC0415 - only where there is a Postgres

    with psycopg.connect(os.environ["HUNKWATCH_TEST_POSTGRES"], autocommit=True) as admin:
        admin.execute(f'CREATE DATABASE "{url.rsplit("/", maxsplit=1)[1]}_fresh"')
    return f"{url}_fresh"


def _drop(_url: str, fresh: str) -> None:
    import psycopg  # noqa: PLC0415 - only where there is a Postgres

    with psycopg.connect(os.environ["HUNKWATCH_TEST_POSTGRES"], autocommit=True) as admin:
        admin.execute(f'DROP DATABASE "{fresh.rsplit("/", maxsplit=1)[1]}" WITH (FORCE)')


async def _picture(engine: Any) -> dict[str, object]:
    """Everything that the database itself says of its tables."""

    def look(connection: sa.Connection) -> dict[str, object]:
        inspector = sa.inspect(connection)
        return {
            table: {
                "columns": [(column["name"], str(column["type"]), column["nullable"]) for column in inspector.get_columns(table)],
                "key": inspector.get_pk_constraint(table),
                "indexes": sorted((index["name"], tuple(index["column_names"])) for index in inspector.get_indexes(table)),
                "checks": sorted((check["name"], check["sqltext"]) for check in inspector.get_check_constraints(table)),
            }
            for table in inspector.get_table_names()
            if table != schema.VERSION_TABLE
        }

    async with engine.connect() as connection:
        found: dict[str, object] = await connection.run_sync(look)
        return found
