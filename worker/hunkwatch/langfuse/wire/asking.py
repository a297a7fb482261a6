"""Questions for observations: which rows, which fields, which stretch of start times.

Start times go in as parameters and never as a condition: a condition on a column drops every parameter of that column.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hunkwatch.core.window import Window

MARKER = "Begin Patch"
TOOL = "apply_patch"
OVERFLOW = "source=field_size_limit"
"""What stands in the token of a field that the server moved into its media store."""

LEAST_FIELDS = "core"
DISCOVERY_FIELDS = "core,basic,time,trace_context,model"
WHOLE_FIELDS = f"{DISCOVERY_FIELDS},io,metadata"
"""Metadata is cut at 200 characters unless input and output are asked for with it."""

GENERATION = "GENERATION"
SESSION = "sessionId"
TRACE = "traceId"
"""Columns that name where a generation belongs."""

_MODELS = [GENERATION, "AGENT"]


def discovery(names: Sequence[str]) -> list[list[dict[str, Any]]]:
    """Return the filters that together find every observation that may carry a call, on a server that filters by text.

    Never the input of a generation: each later one of a session repeats the patches of the earlier.
    """
    not_a_model, a_model = _options("type", "none of", _MODELS), _options("type", "any of", _MODELS)
    filters = [
        [_text("input", "matches", MARKER), not_a_model],
        [*_only_named("input"), not_a_model],
        [_text("output", "matches", MARKER), a_model],
        [*_only_named("output"), a_model],
    ]
    if names:
        filters.append([_text("name", "contains", TOOL), not_a_model])
    if others := [name for name in names if TOOL not in name]:
        filters.append([_options("name", "any of", others), not_a_model])
    return filters


def overflowed() -> list[list[dict[str, Any]]]:
    """Return the filters that find arguments in the media store, whatever their tool is called."""
    return [
        [_text("input", "matches", OVERFLOW), _options("type", "none of", _MODELS)],
        [_text("output", "matches", OVERFLOW), _options("type", "any of", _MODELS)],
    ]


def _only_named(column: str) -> list[dict[str, Any]]:
    """Return the conditions for a text that names the tool and shows no marker: the patch has none, or a program puts it together."""
    return [_text(column, "matches", TOOL), _text(column, "does not contain", MARKER)]


def one_of(column: str, values: Sequence[str]) -> dict[str, Any]:
    """Return the condition that a column holds one of the values; for ``tags``, at least one of them."""
    return {"type": "arrayOptions" if column == "tags" else "stringOptions", "column": column, "operator": "any of", "value": list(values)}


def none_of(column: str, values: Sequence[str]) -> dict[str, Any]:
    """Return the condition that a column holds none of the values."""
    return _options(column, "none of", list(values))


def by_id(ids: Sequence[str]) -> list[dict[str, Any]]:
    """Return the filter for these observations."""
    return [_options("id", "any of", list(ids))]


def generations_of(column: str, homes: Sequence[str]) -> list[dict[str, Any]]:
    """Return the filter for the generations of these sessions or traces."""
    return [_options("type", "any of", [GENERATION]), _options(column, "any of", list(homes))]


def query(  # noqa: PLR0913 - the parameters of the request
    *,
    fields: str = "",
    limit: int = 0,
    window: Window | None = None,
    filters: Sequence[Mapping[str, Any]] = (),
    cursor: str | None = None,
    page: int = 0,
    trace_id: str | None = None,
    kind: str = "",
) -> dict[str, str]:
    """Return the query of a v1 or v2 read of observations. A window's times widen to whole milliseconds."""
    asked = {
        "fields": fields,
        "limit": str(limit or ""),
        "page": str(page or ""),
        "fromStartTime": spelled(window.start) if window else "",
        "toStartTime": spelled(window.end + timedelta(microseconds=999)) if window else "",
        "filter": json.dumps(list(filters), separators=(",", ":"), ensure_ascii=False) if filters else "",
        "cursor": cursor or "",
        "traceId": trace_id or "",
        "type": kind,
    }
    return {name: value for name, value in asked.items() if value}


def trace_query(session: str = "", window: Window | None = None) -> dict[str, str]:
    """Return the query for a trace's own fields, or for the first traces of a session that began in the window."""
    if window is None:
        return {"fields": LEAST_FIELDS}
    asked = {"sessionId": session, "fromTimestamp": spelled(window.start), "toTimestamp": spelled(window.end)}
    return {**asked, "orderBy": "timestamp.asc", "limit": "2", "fields": LEAST_FIELDS}


def page_query(page: int, limit: int) -> dict[str, str]:
    """Return the query for one page of anything that comes in numbered pages."""
    return {"page": str(page), "limit": str(limit)}


def spelled(at: datetime) -> str:
    """Return a time as Langfuse spells it: UTC, whole milliseconds, rounded down."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z"


def _text(column: str, operator: str, value: str) -> dict[str, Any]:
    return {"type": "string", "column": column, "operator": operator, "value": value}


def _options(column: str, operator: str, values: list[str]) -> dict[str, Any]:
    return {"type": "stringOptions", "column": column, "operator": operator, "value": values}
