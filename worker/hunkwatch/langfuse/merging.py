"""What both readers do with rows that come more than once: one row each, the newest update, the smallest start time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hunkwatch.ports import ObservationKey

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hunkwatch.core.model import Observation

OWN = "langfuse-"
"""Langfuse's own environments start so; what it evaluates there is not an agent's work."""


def key_of(row: Observation) -> ObservationKey:
    """Return what tells an observation from all others of its project."""
    return ObservationKey(row.trace_id, row.id)


def merged(rows: Iterable[Observation]) -> list[Observation]:
    """Return each row once: the newest update, with the smallest start time seen; never of Langfuse's own environments."""
    found: dict[ObservationKey, Observation] = {}
    for row in rows:
        if row.environment.startswith(OWN):
            continue
        other = found.get(key_of(row))
        found[key_of(row)] = row if other is None else _newer(other, row)
    return list(found.values())


def not_met_yet(rows: Iterable[Observation], met: dict[ObservationKey, Observation]) -> list[Observation]:
    """Return the rows that bring an earlier start or a later update than those in ``met``, and note them there without their text."""
    news: list[Observation] = []
    for row in rows:
        other = met.get(key_of(row))
        if other is not None and row.start_time >= other.start_time and _updated(row) <= _updated(other):
            continue
        slim = row._replace(input=None, output=None, metadata=None)
        met[key_of(row)] = slim if other is None else _newer(other, slim)
        news.append(row)
    return news


def _newer(one: Observation, other: Observation) -> Observation:
    newest = other if _updated(other) > _updated(one) else one
    start = min(one.start_time, other.start_time)
    return newest if newest.start_time == start else newest._replace(start_time=start)


def _updated(row: Observation) -> float:
    return row.updated_at.timestamp() if row.updated_at is not None else 0.0
