"""The outbox's rows, inside a transaction that the caller holds. What becomes of a row that two wrote is in ``merging``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import sqlalchemy as sa

from hunkwatch.ports import Delivery
from hunkwatch.store import ids, merging, rows, schema
from hunkwatch.store.writing import chunks, replace_rows, upsert

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.ext.asyncio import AsyncConnection

    from hunkwatch.ports import OutboxRow

_TABLE = schema.outbox
_ACTIVE = (Delivery.NEW, Delivery.DUE, Delivery.SENT, Delivery.DOOMED, Delivery.DELETED)
_FIXED = {"timestamp", "trace_id", "observation_id", "name"}
"""What a score is; a later payload does not change it."""


async def queue(connection: AsyncConnection, project: str, wanted: Sequence[OutboxRow]) -> None:
    """Insert rows, or replace their predecessors as far as deliveries have not made more of them meanwhile."""
    if not wanted:
        return
    await ids.remember(connection, project, {text for row in wanted for text in (row.score.trace_id, row.score.observation_id)})
    present = await _present(connection, project, wanted)
    queued = [{**(columns := rows.of_outbox(row)), "queued_at": columns["next_at"]} for row in wanted]
    merged = [merging.committed(present.get(row.score.id), columns) for row, columns in zip(wanted, queued, strict=True)]
    await upsert(connection, _TABLE, merged, keep=_FIXED)


async def claim(  # noqa: PLR0913 - what the port asks, and who asks
    connection: AsyncConnection, project: str, states: Sequence[Delivery], *, now: int, until: int, limit: int, holder: str
) -> list[OutboxRow]:
    """Take due rows of these states, the longest due first; each state is one short walk along its index."""
    free = sa.or_(_TABLE.c.claimed_until.is_(None), _TABLE.c.claimed_until <= now)
    found: list[dict[str, Any]] = []
    for state in states:
        due = (
            sa.select(_TABLE)
            .where(_TABLE.c.project == project, _TABLE.c.state == state.value, _TABLE.c.next_at <= now, free)
            .order_by(_TABLE.c.next_at, _TABLE.c.score_id)
            .limit(limit)
            .with_for_update(skip_locked=True)
        )
        found += await ids.read(connection, project, due)
    found = sorted(found, key=lambda row: (row["next_at"], row["score_id"]))[:limit]
    name = f"{holder}/{uuid4().hex}"
    for chunk in chunks([row["score_id"] for row in found]):
        taken = {"claimed_until": until, "claimed_by": name}
        await connection.execute(sa.update(_TABLE).where(_TABLE.c.project == project, _TABLE.c.score_id.in_(chunk)).values(taken))
    return [rows.outbox(row, claim=f"{name}/{row['state']}") for row in found]


async def settle(connection: AsyncConnection, project: str, settled: Sequence[OutboxRow], *, now: int) -> None:
    """Write claimed rows back and end their claims; a row that is somebody else's by now is left alone."""
    present = await _present(connection, project, settled)
    ours = [row for row in settled if merging.is_ours(present.get(row.score.id), row)]
    if ours:
        written = [merging.settled(present[row.score.id], row, now) for row in ours]
        await replace_rows(connection, _TABLE, written, ("project", "score_id"))


async def let_go(connection: AsyncConnection, project: str, holder: str) -> None:
    """End every claim of a process that is gone."""
    name = f"{holder}/"
    its = sa.and_(_TABLE.c.claimed_until.is_not(None), sa.func.substr(_TABLE.c.claimed_by, 1, len(name)) == name)
    await connection.execute(sa.update(_TABLE).where(_TABLE.c.project == project, its).values(claimed_until=None, claimed_by=None))


async def next_due(connection: AsyncConnection, project: str) -> int | None:
    """Return the earliest time at which a row wants attention: one look at each state's index, one at what is claimed."""
    unclaimed = (
        sa.select(_TABLE.c.next_at)
        .where(_TABLE.c.project == project, _TABLE.c.state == state.value, _TABLE.c.claimed_until.is_(None))
        .order_by(_TABLE.c.next_at)
        .limit(1)
        for state in _ACTIVE
    )
    free_at = sa.case((_TABLE.c.claimed_until > _TABLE.c.next_at, _TABLE.c.claimed_until), else_=_TABLE.c.next_at)
    claimed = sa.select(sa.func.min(free_at)).where(
        _TABLE.c.project == project, _TABLE.c.claimed_until.is_not(None), _TABLE.c.state.in_(_ACTIVE)
    )
    times = [(await connection.execute(query)).scalar() for query in (*unclaimed, claimed)]
    return min((at for at in times if at is not None), default=None)


async def _present(connection: AsyncConnection, project: str, wanted: Sequence[OutboxRow]) -> dict[str, dict[str, Any]]:
    """Return the columns of these rows as they are now, held against everybody until the transaction ends."""
    present: dict[str, dict[str, Any]] = {}
    for chunk in chunks(sorted({row.score.id for row in wanted})):
        query = sa.select(_TABLE).where(_TABLE.c.project == project, _TABLE.c.score_id.in_(chunk)).order_by(_TABLE.c.score_id)
        present.update({row["score_id"]: dict(row) for row in (await connection.execute(query.with_for_update())).mappings()})
    return present
