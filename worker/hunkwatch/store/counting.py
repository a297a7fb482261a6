"""What ``status`` and the metrics count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from hunkwatch.core.model import Shape
from hunkwatch.ports import Delivery, Status
from hunkwatch.store import lags, rows, schema

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

_UNDELIVERED = (Delivery.NEW, Delivery.DUE, Delivery.SENT)
_MOST_ROWS = 31 * 6


async def status(connection: AsyncConnection, project: str, *, scorer: str) -> Status:
    """Count everything on record of a project."""
    ledger, outbox, trace, call, watermark, sends = (
        schema.ledger,
        schema.outbox,
        schema.trace,
        schema.call,
        schema.watermark,
        schema.sends,
    )

    async def by(column: sa.Column[Any], *only: sa.ColumnElement[bool]) -> dict[str, int]:
        query = sa.select(column, sa.func.count()).where(column.table.c.project == project, *only).group_by(column).order_by(column)
        return {str(name): count for name, count in (await connection.execute(query))}

    async def one(query: sa.Select[Any]) -> Any:
        return (await connection.execute(query)).scalar()

    marks = sa.select(watermark.c.lane, watermark.c.at).where(watermark.c.project == project).order_by(watermark.c.lane)
    oldest = sa.select(sa.func.min(outbox.c.queued_at)).where(outbox.c.project == project, outbox.c.state.in_(_UNDELIVERED))
    days = (
        sa.select(sends.c.day, sends.c.name, sends.c["count"])
        .where(sends.c.project == project)
        .order_by(sends.c.day.desc(), sends.c.name)
        .limit(_MOST_ROWS)
    )
    counts = await by(outbox.c.state)
    undelivered_since = await one(oldest)
    return Status(
        watermarks={lane: rows.moment(at) for lane, at in (await connection.execute(marks))},
        outbox={state: counts.get(state.value, 0) for state in Delivery},
        oldest_undelivered=None if undelivered_since is None else rows.moment(undelivered_since),
        observations=await one(sa.select(sa.func.count()).select_from(ledger).where(ledger.c.project == project)),
        calls_by_producer=await by(call.c.producer),
        unresolved_by_producer=await by(call.c.producer, call.c.shape == Shape.UNRESOLVED.value),
        shapes=await by(call.c.shape),
        outcomes=await by(call.c.outcome),
        sent_per_day=[(day, name, count) for day, name, count in (await connection.execute(days))],
        older_scorer=await one(
            sa.select(sa.func.count())
            .select_from(outbox)
            .where(outbox.c.project == project, outbox.c.state == Delivery.SEEN.value, outbox.c.scorer != scorer)
        ),
        traces_waiting=await one(
            sa.select(sa.func.count()).select_from(trace).where(trace.c.project == project, trace.c.due_at.is_not(None))
        ),
        poison=await one(sa.select(sa.func.count()).select_from(ledger).where(ledger.c.project == project, ledger.c.reason != "")),
        lag_seconds=await lags.lately(connection, project),
    )
