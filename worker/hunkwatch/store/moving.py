"""A whole state from one database into another, SQLite or Postgres, in either direction: all of it or nothing, counted.

Who had a lease or a claim stays behind: the state is taken up afresh where it arrives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from hunkwatch.errors import Exit, Halt
from hunkwatch.store import faults, opening, rows, schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from sqlalchemy.ext.asyncio import AsyncConnection

_LEFT_BEHIND = (schema.lease, schema.replica)
_BATCH = 1000

TABLES = tuple(table for table in schema.metadata.sorted_tables if table not in _LEFT_BEHIND)
"""What a state consists of."""


async def migrate_state(source: str, target: str, *, now: datetime, tell: Callable[[int, int], None]) -> Mapping[str, int]:
    """Copy everything and return how many rows each table has; ``tell`` hears of rows copied and rows in all.

    The source keeps all it has and is read as it is at one moment. Raises Halt when a worker uses either of them, when the target has
    anything on record, or when the counts differ in the end, with nothing written.
    """
    if opening.is_same(source, target):
        raise Halt("source and target are one and the same", mend="Name another target.", exit_code=Exit.USAGE)
    if not await opening.exists(source):
        raise Halt("there is no state at the source", mend="Name the file or database that the worker has used.", exit_code=Exit.STATE)
    with faults.translated():
        async with opening.prepared(source) as old, opening.prepared(target) as new, old.connect() as reading, new.begin() as writing:
            if reading.dialect.name == "postgresql":
                # Every query sees what the first one saw, whoever writes meanwhile.
                await reading.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            for connection, where in ((reading, "source"), (writing, "target")):
                await _refuse_while_used(connection, where, rows.micros(now))
            await _refuse_unless_empty(writing)
            expected = await _counts(reading)
            total, done = sum(expected.values()), 0
            for table in TABLES:
                async for batch in (await reading.stream(sa.select(table))).mappings().partitions(_BATCH):
                    await writing.execute(sa.insert(table), [_taken_up_afresh(table, dict(row)) for row in batch])
                    done += len(batch)
                    tell(done, total)
            if (found := await _counts(writing)) != expected:
                raise Halt("the copy has other counts than the source", mend="Report it; nothing was written.", exit_code=Exit.INTERNAL)
    return found


def _taken_up_afresh(table: sa.Table, row: dict[str, object]) -> dict[str, object]:
    return {**row, "claimed_until": None, "claimed_by": None} if table is schema.outbox else row


async def _counts(connection: AsyncConnection) -> dict[str, int]:
    query = sa.union_all(*(sa.select(sa.literal(table.name), sa.func.count()).select_from(table) for table in TABLES))
    return {str(name): int(count) for name, count in await connection.execute(query)}


async def _refuse_unless_empty(connection: AsyncConnection) -> None:
    if any((await _counts(connection)).values()):
        raise Halt("the target has something on record already", mend="Name an empty database, or a new file.", exit_code=Exit.STATE)


async def _refuse_while_used(connection: AsyncConnection, where: str, now: int) -> None:
    alive = sa.union_all(*(sa.select(table.c.holder).where(table.c.until > now) for table in _LEFT_BEHIND))
    if (await connection.execute(alive.limit(1))).first():
        raise Halt(
            f"a worker uses the {where}",
            mend="Stop every worker on it first; one that was killed counts as gone after store.lease.",
            exit_code=Exit.STATE,
        )
