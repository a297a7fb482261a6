"""A row of an export to a file, whatever its layout, to an ``Observation`` or to what a trace says of itself.

Known layouts: the blob storage export, enriched (``observations_v2``) and legacy (``observations`` and ``traces``), with snake_case
columns; the export from the UI and pages of the API, with camelCase ones. In CSV and Parquet, objects and lists may be JSON text.
Source of the columns: Langfuse's blob storage export field reference.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from hunkwatch.langfuse.wire import rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hunkwatch.core.model import Observation

FOLDERS = {"observations_v2": "observations", "observations": "observations", "traces": "traces", "scores": "", "manifests": ""}
"""What the files in a folder of an export hold; ``""`` is nothing of ours."""

COLUMNS = (
    "id", "trace_id", "traceId", "project_id", "projectId", "type", "name", "start_time", "startTime", "end_time", "endTime", "input",
    "output", "metadata", "level", "status_message", "statusMessage", "environment", "parent_observation_id", "parentObservationId",
    "created_at", "createdAt", "updated_at", "updatedAt", "trace_name", "traceName", "session_id", "sessionId", "user_id", "userId",
    "tags", "provided_model_name", "providedModelName", "model", "timestamp", "observations",
)  # fmt: skip
"""Every column that is looked at, in either spelling."""

_STRUCTURED = ("metadata", "tags")


class TraceContext(NamedTuple):
    """What a legacy export says of a trace in a file of its own."""

    trace_id: str
    name: str
    session_id: str
    user_id: str
    tags: tuple[str, ...]


def exported(row: Mapping[str, Any]) -> Observation:
    """Read one observation of an export; raises ValueError when it is none."""
    plain = {**row, **{name: _structured(row[name]) for name in _STRUCTURED if name in row}}
    if not plain.get("model"):
        plain["model"] = plain.get("provided_model_name") or plain.get("providedModelName")
    return rows.observation(plain)


def context(row: Mapping[str, Any]) -> TraceContext:
    """Read one row of a legacy export's traces; raises ValueError when it has no id."""
    trace_id = row.get("id")
    if not isinstance(trace_id, str) or not trace_id:
        raise ValueError("not a trace: it has no id")
    tags = _structured(row.get("tags"))
    return TraceContext(
        trace_id,
        _word(row, "name"),
        _word(row, "session_id", "sessionId"),
        _word(row, "user_id", "userId"),
        tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list | tuple) else (),
    )


def project(row: Mapping[str, Any]) -> str:
    """Return the project that a row names, ``""`` where it names none."""
    return _word(row, "project_id", "projectId")


def nested(row: Mapping[str, Any]) -> list[Mapping[str, Any]] | None:
    """Return the observations inside a trace that was written out whole, None for any other row."""
    inside = _structured(row.get("observations"))
    if not isinstance(inside, list) or not all(isinstance(each, dict) for each in inside):
        return None
    return [{"traceId": row.get("id"), **each} for each in inside]


def _word(row: Mapping[str, Any], *names: str) -> str:
    return next((value for name in names if isinstance(value := row.get(name), str) and value), "")


def _structured(value: object) -> object:
    """Return what a column holds: text that is JSON of an object or a list is that, and Parquet's maps are objects."""
    if isinstance(value, str) and value[:1] in {"{", "["}:
        try:
            return json.loads(value, strict=False)
        except (ValueError, RecursionError):
            return value
    if isinstance(value, list) and value and all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):  # noqa: PLR2004 - a pair
        return dict(value)
    return value
