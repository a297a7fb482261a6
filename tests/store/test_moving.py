"""A whole state moves between databases: the same in the end, or nothing at all."""

from __future__ import annotations

import os
import subprocess
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa

from hunkwatch.errors import Halt
from hunkwatch.ports import Commit, Delivery, TraceState
from hunkwatch.store import migrate_state, moving, open_for_reading, open_store, schema

if TYPE_CHECKING:
    from pathlib import Path


async def fill(url: str, make: Any, *, entries: int = 3) -> None:
    """Put something of everything on record, with ids and texts that no database takes as they are."""
    odd = make.entry(observation="odd\ud800\0" + "long" * 300, calls=(make.call(call_id="c" * 5000, why="\0"),))
    async with open_store(url) as store:
        await store.commit(
            Commit(
                "project",
                ledger=[odd, *(make.entry(observation=f"o-{number}", calls=(make.call(),)) for number in range(entries))],
                outbox=[make.row(f"score-{number:05}", state) for number, state in enumerate(Delivery)],
                traces=[TraceState("project", "trace-1", make.now, make.later(minutes=1), None)],
                watermark=make.now,
                lags={"cline": 12.5},
            )
        )
        [row, *_] = await store.claim("project", [Delivery.DUE], now=make.now, until=make.later(hours=1), limit=1)
        await store.settle([row], now=make.now, sends={"blind_rewrite": 2})
        await store.claim("project", [Delivery.DUE], now=make.now, until=make.later(hours=1), limit=1)


async def picture(url: str) -> dict[str, list[tuple[object, ...]]]:
    """Every row of a state, claims aside."""
    async with open_for_reading(url) as store:
        assert store is not None
        async with store._look() as connection:
            return {
                table.name: sorted(
                    (tuple(row) for row in await connection.execute(sa.select(*(c for c in table.c if not c.name.startswith("claimed"))))),
                    key=repr,
                )
                for table in moving.TABLES
            }


def unheard(_done: int, _total: int) -> None:
    """Nobody waits."""


async def test_a_state_moves_into_a_new_file_with_all_it_holds(tmp_path: Path, make: Any) -> None:
    """Every table, counted and heard of; what was claimed is free where it arrives, and the source keeps everything."""
    source, target = f"sqlite:///{tmp_path}/old.db", f"sqlite:///{tmp_path}/new/new.db"
    await fill(source, make)
    heard: list[tuple[int, int]] = []
    counts = await migrate_state(source, target, now=make.now, tell=lambda done, total: heard.append((done, total)))

    assert await picture(source) == await picture(target)
    assert {name: len(rows) for name, rows in (await picture(target)).items()} == dict(counts)
    assert 0 not in counts.values(), "a table was not tried"
    assert (sum(counts.values()),) * 2 == heard[-1]
    async with open_store(target) as store:
        assert 1 == len(await store.claim("project", [Delivery.DUE], now=make.now, until=make.now, limit=9))


@pytest.mark.postgres
async def test_a_state_moves_to_postgres_and_back(tmp_path: Path, postgres_url: str, make: Any) -> None:
    """More rows than one batch, both ways, nothing changes."""
    first, last = f"sqlite:///{tmp_path}/first.db", f"sqlite:///{tmp_path}/last.db"
    await fill(first, make, entries=2500)
    there = await migrate_state(first, postgres_url, now=make.now, tell=unheard)
    back = await migrate_state(postgres_url, last, now=make.now, tell=unheard)

    assert there == back
    assert await picture(first) == await picture(postgres_url) == await picture(last)


async def test_a_target_that_holds_anything_is_refused(tmp_path: Path, make: Any) -> None:
    """Two states are never mixed, and nothing is overwritten."""
    source, target = f"sqlite:///{tmp_path}/old.db", f"sqlite:///{tmp_path}/new.db"
    await fill(source, make)
    async with open_store(target) as store:
        await store.commit(Commit("other", watermark=make.now))
    before = await picture(target)
    with pytest.raises(Halt, match="on record already"):
        await migrate_state(source, target, now=make.now, tell=unheard)

    assert before == await picture(target)


async def test_nothing_is_moved_from_nowhere_or_onto_itself(tmp_path: Path, make: Any) -> None:
    """Both are slips of the one who types, and make no file."""
    source = f"sqlite:///{tmp_path}/old.db"
    with pytest.raises(Halt, match="no state at the source"):
        await migrate_state(source, f"sqlite:///{tmp_path}/new.db", now=make.now, tell=unheard)
    with pytest.raises(Halt, match="one and the same"):
        await migrate_state(source, f"sqlite:///{tmp_path}/./old.db", now=make.now, tell=unheard)

    assert [] == list(tmp_path.iterdir())


async def test_a_state_file_in_use_is_not_moved(tmp_path: Path, make: Any) -> None:
    """What the worker writes after the copy would be lost."""
    source = f"sqlite:///{tmp_path}/old.db"
    async with open_store(source):
        with pytest.raises(Halt, match="another hunkwatch process"):
            await migrate_state(source, f"sqlite:///{tmp_path}/new.db", now=make.now, tell=unheard)


@pytest.mark.postgres
async def test_a_postgres_in_use_is_not_moved(tmp_path: Path, postgres_url: str, make: Any) -> None:
    """A replica that was heard of lately may write on; one that is silent for longer than its lease is gone."""
    async with open_store(postgres_url) as store:
        await store.commit(Commit("project", watermark=make.now))
        await store.lease("project", until=make.now + timedelta(minutes=1), now=make.now)
    with pytest.raises(Halt, match="a worker uses the source"):
        await migrate_state(postgres_url, f"sqlite:///{tmp_path}/new.db", now=make.now, tell=unheard)
    counts = await migrate_state(postgres_url, f"sqlite:///{tmp_path}/new.db", now=make.now + timedelta(minutes=1), tell=unheard)

    assert 1 == counts[schema.watermark.name]


async def test_a_copy_that_is_cut_short_leaves_an_empty_target(tmp_path: Path, make: Any) -> None:
    """It can be run again at once."""
    source, target = f"sqlite:///{tmp_path}/old.db", f"sqlite:///{tmp_path}/new.db"
    await fill(source, make)

    def cut(done: int, _total: int) -> None:
        if done > 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await migrate_state(source, target, now=make.now, tell=cut)
    assert not any((await picture(target)).values())
    await migrate_state(source, target, now=make.now, tell=unheard)
    assert await picture(source) == await picture(target)


@pytest.mark.postgres
async def test_a_dump_of_a_running_postgres_restores_to_a_state_that_goes_on(postgres_url: str, tmp_path: Path, make: Any) -> None:
    """The backup that the operations page names: pg_dump of our tables, pg_restore into another database, and the worker starts there."""
    await fill(postgres_url, make)
    other = f"{postgres_url}_restored"
    name, dump = other.rsplit("/", maxsplit=1)[1], tmp_path / "hunkwatch.dump"
    async with open_store(postgres_url):
        _run("pg_dump", "--format=custom", "--table=hunkwatch_*", f"--file={dump}", f"--dbname={postgres_url}")
    admin = f"--dbname={os.environ['HUNKWATCH_TEST_POSTGRES']}"
    _run("psql", admin, "--quiet", "--command", f'CREATE DATABASE "{name}"')
    try:
        _run("pg_restore", "--exit-on-error", "--no-owner", f"--dbname={other}", str(dump))
        assert await picture(postgres_url) == await picture(other)
        async with open_store(other) as store:
            await store.commit(Commit("project", watermark=make.later(hours=1)))
            assert make.later(hours=1) == await store.watermark("project")
    finally:
        _run("psql", admin, "--quiet", "--command", f'DROP DATABASE "{name}" WITH (FORCE)')


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, timeout=60)
