"""A page's bytes to ``Observation``s.

One msgspec pass where every row is well formed, row by row where one is not: nulls, other types, invalid UTF-8, lone surrogates, depth
without end. What still makes no observation is named with a reason and spoils nothing else.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec

from hunkwatch.core.model import Observation
from hunkwatch.errors import RetryLater
from hunkwatch.langfuse.wire import salvage
from hunkwatch.ports import ObservationKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""Stands for a start time that cannot be read; no real observation starts then."""

_Time = Annotated[datetime, msgspec.Meta(tz=True)]


class _Row(msgspec.Struct, rename="camel", gc=False):
    """A well-formed row, as v2 gives them; the order is that of ``Observation``."""

    id: str
    trace_id: str
    start_time: _Time
    type: str = "SPAN"
    name: str = ""
    end_time: _Time | None = None
    parent_id: str | None = msgspec.field(default=None, name="parentObservationId")
    level: str = "DEFAULT"
    status_message: str = ""
    environment: str = "default"
    input: Any = None
    output: Any = None
    metadata: dict[str, Any] | None = None
    updated_at: _Time | None = None
    created_at: _Time | None = None
    trace_name: str = ""
    session_id: str = ""
    user_id: str = ""
    tags: tuple[str, ...] = ()
    model: str = ""


class _Meta(msgspec.Struct, rename="camel"):
    cursor: str | None = None
    total_pages: int = 0
    total_items: int = 0


class _Rows(msgspec.Struct):
    data: list[_Row]
    meta: _Meta = msgspec.field(default_factory=_Meta)


class _RawRows(msgspec.Struct):
    data: list[msgspec.Raw]
    meta: _Meta = msgspec.field(default_factory=_Meta)


class ObservationPage(NamedTuple):
    """A page of observations, in the server's order. ``lost_starts`` are the start times of unreadable rows, where they can be read."""

    observations: list[Observation]
    unreadable: dict[ObservationKey, str]
    cursor: str | None
    total_pages: int
    total_items: int
    lost_starts: tuple[datetime, ...] = ()


_decode_rows = msgspec.json.Decoder(_Rows).decode
_decode_raw_rows = msgspec.json.Decoder(_RawRows).decode
_make = Observation._make
_fields_of = msgspec.structs.astuple


def observations(page: bytes) -> ObservationPage:
    """Decode a page of either version; raises RetryLater only for what is no page at all."""
    try:
        decoded = _decode_rows(page)
    except (ValueError, RecursionError):
        return _row_by_row(page)
    rows = list(map(_make, map(_fields_of, decoded.data)))
    for row in rows:
        if row.start_time.tzinfo is not UTC or not row.id or not row.trace_id:
            return _row_by_row(page)
    meta = decoded.meta
    return ObservationPage(rows, {}, meta.cursor or None, meta.total_pages, meta.total_items)


def observations_v2(page: bytes) -> tuple[list[Observation], str | None]:
    """Return the observations that could be decoded, and the cursor of the next v2 page."""
    decoded = observations(page)
    return decoded.observations, decoded.cursor


def observation(row: Mapping[str, Any]) -> Observation:
    """Read one observation in v1 or v2 form, or as an export writes it; raises ValueError when it is none."""
    read = _lenient(_camel(row))
    if flaw := _flaw(read):
        raise ValueError(f"not an observation: {flaw}")
    return read


def observation_of(raw: bytes) -> Observation:
    """Read one row's bytes; a member that cannot be decoded stays text. Raises ValueError when it makes no observation."""
    read = _from_bytes(raw)
    if flaw := _flaw(read):
        raise ValueError(f"not an observation: {flaw}")
    return read


def _row_by_row(page: bytes) -> ObservationPage:
    rows, meta = _raw_rows(page)
    found: list[Observation] = []
    lost: list[Observation] = []
    for raw in rows:
        read = _from_bytes(raw)
        (lost if _flaw(read) else found).append(read)
    unreadable = {ObservationKey(row.trace_id, row.id): _flaw(row) for row in lost}
    starts = tuple(row.start_time for row in lost if row.start_time != EPOCH)
    return ObservationPage(found, unreadable, meta.cursor or None, meta.total_pages, meta.total_items, starts)


def _raw_rows(page: bytes) -> tuple[Iterable[bytes], _Meta]:
    try:
        decoded = _decode_raw_rows(page)
    except (ValueError, RecursionError):
        parts = salvage.members(page)
        data, meta = parts.get("data", b""), salvage.value(parts.get("meta", b"{}"))
        if not data.startswith(b"[") or not isinstance(meta, dict):
            raise RetryLater("Langfuse answered something that is no page of rows") from None
        cursor = meta.get("cursor")
        known = _Meta(cursor if isinstance(cursor, str) else None, _count(meta.get("totalPages")), _count(meta.get("totalItems")))
        return salvage.elements(data), known
    return map(bytes, decoded.data), decoded.meta


def _from_bytes(raw: bytes) -> Observation:
    try:
        row = msgspec.json.decode(raw)
    except (ValueError, RecursionError):
        row = salvage.value(raw)
        if not isinstance(row, dict):
            row = {name: salvage.value(part) for name, part in salvage.members(raw).items()}
    return _lenient(row if isinstance(row, dict) else {})


def _lenient(row: Mapping[str, Any]) -> Observation:
    metadata, tags = row.get("metadata"), row.get("tags")
    return Observation(
        id=_text(row.get("id")),
        trace_id=_text(row.get("traceId")),
        start_time=_time(row.get("startTime")) or EPOCH,
        type=_text(row.get("type")) or "SPAN",
        name=_text(row.get("name")),
        end_time=_time(row.get("endTime")),
        parent_id=_text(row.get("parentObservationId")) or None,
        level=_text(row.get("level")) or "DEFAULT",
        status_message=_text(row.get("statusMessage")),
        environment=_text(row.get("environment")) or "default",
        input=row.get("input"),
        output=row.get("output"),
        metadata=metadata if isinstance(metadata, dict) else None if metadata in (None, "") else {"metadata": metadata},
        updated_at=_time(row.get("updatedAt")),
        created_at=_time(row.get("createdAt")),
        trace_name=_text(row.get("traceName")),
        session_id=_text(row.get("sessionId")),
        user_id=_text(row.get("userId")),
        tags=tuple(map(_text, tags)) if isinstance(tags, list | tuple) else (),
        model=_text(row.get("model")),
    )


def _flaw(row: Observation) -> str:
    if not row.id:
        return "it has no id"
    if not row.trace_id:
        return "it belongs to no trace"
    return "its start time cannot be read" if row.start_time == EPOCH else ""


def _camel(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Take the snake_case names of an export for ours."""
    if "traceId" in row or "trace_id" not in row:
        return row
    named: dict[str, Any] = {}
    for name, value in row.items():
        head, *tail = str(name).split("_")
        named[head + "".join(part.title() for part in tail)] = value
    return named


def _text(value: object) -> str:
    match value:
        case str():
            return value
        case None:
            return ""
        case _:
            try:
                return json.dumps(value)
            except RecursionError:
                return ""


def _time(value: object) -> datetime | None:
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else value
        if not isinstance(at, datetime):
            return None
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0
