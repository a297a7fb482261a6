"""How late each producer's observations came lately: the largest lag of every hour, for two days."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from hunkwatch.store import rows, schema
from hunkwatch.store.writing import upsert

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy.ext.asyncio import AsyncConnection

_TABLE = schema.lag
_HOUR = 3_600_000_000
_KEPT = 48
_LATELY = 24


async def note(connection: AsyncConnection, project: str, lags: Mapping[str, float], *, at: int) -> None:
    """Put the largest lags of a commit on record, and drop what is too old to count."""
    hour = at // _HOUR
    found = [{"project": project, "producer": rows.clean(producer), "hour": hour, "seconds": lag} for producer, lag in sorted(lags.items())]
    await upsert(connection, _TABLE, found, largest="seconds")
    await connection.execute(sa.delete(_TABLE).where(_TABLE.c.project == project, _TABLE.c.hour < hour - _KEPT))


async def since(connection: AsyncConnection, project: str, at: int) -> list[float]:
    """Return the largest lag of each producer and hour, from the hour of that time on."""
    query = sa.select(_TABLE.c.seconds).where(_TABLE.c.project == project, _TABLE.c.hour >= at // _HOUR)
    return list((await connection.execute(query)).scalars())


async def lately(connection: AsyncConnection, project: str) -> dict[str, float]:
    """Return the largest lag by producer, over the day that ends with the newest one on record."""
    newest = sa.select(sa.func.max(_TABLE.c.hour)).where(_TABLE.c.project == project).scalar_subquery()
    query = (
        sa.select(_TABLE.c.producer, sa.func.max(_TABLE.c.seconds).label("seconds"))
        .where(_TABLE.c.project == project, _TABLE.c.hour > newest - _LATELY)
        .group_by(_TABLE.c.producer)
        .order_by(_TABLE.c.producer)
    )
    return {row.producer: row.seconds for row in await connection.execute(query)}
