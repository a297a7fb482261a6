"""Observations in the v1 reading: parsed input and output, null where nothing is, one row per id, numbered pages."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from starlette.datastructures import QueryParams

from hunkwatch.sandbox import answers, filters, moments, observations, pages
from hunkwatch.sandbox.rows import Row, metadata_of, text_of
from hunkwatch.sandbox.shelf import Shelf
from hunkwatch.sandbox.state import Room

LARGEST = 2**53


def listed(room: Room, params: QueryParams, now: int) -> dict[str, Any]:
    """The body of ``GET /observations``."""
    page, limit = pages.numbers(params)
    as_events = params.get("useEventsTable") == "true"
    plain = observations.plain_conditions(params)
    filtered = filters.parse(params["filter"]) if params.get("filter") else []
    query = observations.Query(filters.merge(filtered, plain), frozenset(), len(room.shelf), None, frozenset())
    asked = str(sorted((key, value) for key, value in params.multi_items() if key not in {"page", "limit"}))
    find = _events if as_events else _rows
    rows = room.shelf.remembered(asked, now, lambda: find(room.shelf, query, now))
    part, meta = pages.cut(rows, page, limit)
    write = as_event if as_events else as_listed
    return {"data": [write(row, room.project.id) for row in part], "meta": meta}


def _rows(shelf: Shelf, query: observations.Query, now: int) -> list[Row]:
    holds = filters.compile_all(query.conditions)
    return newest([row for row in observations.candidates(shelf, query) if holds(row)], now)


def _events(shelf: Shelf, query: observations.Query, now: int) -> list[Row]:
    return observations.select(shelf, query, now)[0]


def newest(rows: list[Row], now: int) -> list[Row]:
    """One row per trace and id, the last update, of those that v1 already shows."""
    kept: dict[tuple[str, str], Row] = {}
    for row in rows:
        if row.seen_v1 <= now:
            old = kept.setdefault((row.trace, row.id), row)
            if row.updated > old.updated:
                kept[row.trace, row.id] = row
    return sorted(kept.values(), key=lambda row: (row.start, row.updated, row.id), reverse=True)


def one(room: Room, id_: str, now: int) -> dict[str, Any]:
    """The body of ``GET /observations/{id}``, or a 404."""
    rows = newest(room.shelf.with_ids([id_]), now)
    if not rows:
        raise answers.missing(f"Observation with id {id_} not found")
    return as_listed(rows[0], room.project.id)


def as_listed(row: Row, project: str) -> dict[str, Any]:
    """A row of the list, which knows no prices of what has no model."""
    prices = {"modelId": None, "inputPrice": None, "outputPrice": None, "totalPrice": None}
    return {**dict(_head(row, project)), **dict(_middle(row)), **prices, **dict(_tail(row)), **dict(_usage(row))}


def as_detail(row: Row, project: str) -> dict[str, Any]:
    """A row inside ``GET /traces/{id}``, whose prices are numbers."""
    prices = {"inputPrice": 0, "outputPrice": 0, "totalPrice": 0}
    return {**dict(_head(row, project)), **dict(_middle(row)), **prices, **dict(_tail(row)), "modelId": None, **dict(_usage(row))}


def as_event(row: Row, project: str) -> dict[str, Any]:
    """A row of the list with ``useEventsTable=true``: the events table's own empty texts and flat metadata."""
    body = as_listed(row, project)
    body.update(
        {key: body[key] or "" for key in ("parentObservationId", "statusMessage", "version", "model", "promptId", "promptName", "modelId")}
    )
    body["modelParameters"] = body["modelParameters"] or {}
    body["metadata"] = {key: observations.unquoted(text) for key, text in metadata_of(row).items()}
    return {**body, "latency": body["latency"] or None}


def _head(row: Row, project: str) -> Iterator[tuple[str, Any]]:
    parent = None if row.parent == f"t-{row.trace}" else row.parent
    yield from (
        ("id", row.id),
        ("traceId", row.trace),
        ("startTime", moments.write(row.start)),
        ("endTime", moments.write_or_none(row.end)),
    )
    yield from (("projectId", project), ("parentObservationId", parent), ("type", row.type), ("environment", row.environment))
    yield from (("name", row.name), ("level", row.level), ("statusMessage", row.status or None), ("version", row.version or None))
    yield from (("createdAt", moments.write(row.created)), ("updatedAt", moments.write(row.updated)))
    yield from (("input", parsed(text_of(row.input))), ("output", parsed(text_of(row.output))), ("metadata", _metadata(row.metadata or {})))


def _middle(row: Row) -> Iterator[tuple[str, Any]]:
    extras: Mapping[str, Any] = row.extras or {}
    yield from (("model", row.model or None), ("modelParameters", extras.get("modelParameters")))
    yield from ((key, extras.get(key)) for key in ("completionStartTime", "promptId", "promptName", "promptVersion"))
    took = None if row.end is None else answers.whole((row.end - row.start) / 1000)
    yield from (("latency", took), ("timeToFirstToken", None))
    yield from (("usageDetails", extras.get("usageDetails") or {}), ("costDetails", extras.get("costDetails") or {}))
    yield from (("usagePricingTierId", None), ("usagePricingTierName", None))


def _tail(row: Row) -> Iterator[tuple[str, Any]]:
    cost = (row.extras or {}).get("costDetails") or {}
    yield from (("calculatedInputCost", cost.get("input")), ("calculatedOutputCost", cost.get("output")))
    yield "calculatedTotalCost", cost.get("total", 0)


def _usage(row: Row) -> Iterator[tuple[str, Any]]:
    usage = (row.extras or {}).get("usageDetails") or {}
    counts = {name: usage.get(name, 0) for name in ("input", "output", "total")}
    yield "unit", "TOKENS"
    yield from (("promptTokens", counts["input"]), ("completionTokens", counts["output"]), ("totalTokens", counts["total"]))
    yield "usage", {"unit": "TOKENS", **counts}


def parsed(text: str | None) -> Any:
    """What a text means as JSON, or the text; whole numbers that JavaScript cannot hold become texts."""
    if not text:
        return None
    try:
        return json.loads(text, parse_int=_held)
    except (ValueError, RecursionError):
        return text


def _held(digits: str) -> int | str:
    try:
        number = int(digits)
    except ValueError:
        return digits
    return number if -LARGEST < number < LARGEST else digits


def _metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {key: parsed(value) if isinstance(value, str) else value for key, value in metadata.items()}
