"""Who may sweep a project, and who is there at all, inside a transaction that the caller holds.

Every process that asks for the lease says with it that it lives, whether it gets the lease or not. What one that is silent for longer
than it said had claimed is taken up by the others at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from hunkwatch.store import outbox, schema
from hunkwatch.store.writing import upsert

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

_LEASE, _REPLICA = schema.lease, schema.replica


async def take(connection: AsyncConnection, project: str, holder: str, *, until: int, now: int) -> bool:
    """Take or renew the lease until then; False while another process holds it."""
    await upsert(connection, _REPLICA, [{"project": project, "holder": holder, "until": until}])
    await _bury(connection, project, now)
    row = {"project": project, "holder": holder, "until": until}
    ours_or_over = sa.or_(_LEASE.c.holder == holder, _LEASE.c.until <= now)
    renewed = await connection.execute(sa.update(_LEASE).where(_LEASE.c.project == project, ours_or_over).values(row))
    if renewed.rowcount:
        return True
    if await _holder(connection, project) is None:
        await upsert(connection, _LEASE, [row], keep=set(row))
    return await _holder(connection, project) == holder


async def give_back(connection: AsyncConnection, project: str, holder: str) -> None:
    """End the lease if it is this process's, and its presence."""
    for table in (_LEASE, _REPLICA):
        await connection.execute(sa.delete(table).where(table.c.project == project, table.c.holder == holder))


async def _holder(connection: AsyncConnection, project: str) -> str | None:
    return (await connection.execute(sa.select(_LEASE.c.holder).where(_LEASE.c.project == project))).scalar()


async def _bury(connection: AsyncConnection, project: str, now: int) -> None:
    """End the claims of those that have not been heard of; several that do this at once share them out."""
    silent = sa.select(_REPLICA.c.holder).where(_REPLICA.c.project == project, _REPLICA.c.until <= now).with_for_update(skip_locked=True)
    for holder in (await connection.execute(silent)).scalars().all():
        await outbox.let_go(connection, project, holder)
        await connection.execute(sa.delete(_REPLICA).where(_REPLICA.c.project == project, _REPLICA.c.holder == holder))
