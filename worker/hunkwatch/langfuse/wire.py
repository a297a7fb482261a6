"""Langfuse's own spelling, both ways: the only file with camelCase keys.

Decoding is fast where all is well (one msgspec pass a page) and patient where it is not: a row that cannot be decoded is named
with a reason and spoils nothing else. The forms are those of the recorded exchanges with 4.16 and of the SDK 5's types.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hunkwatch.core.model import Observation
from hunkwatch.errors import AskForLess
from hunkwatch.ports import ObservationKey, SeenScore

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hunkwatch.core.model import Score
    from hunkwatch.core.window import Window

MARKER = "Begin Patch"
TOOL = "apply_patch"
LEAST_FIELDS = "core"
DISCOVERY_FIELDS = "core,basic,time,trace_context,model"
WHOLE_FIELDS = f"{DISCOVERY_FIELDS},io,metadata"
SCORE_FIELDS = "core,details,subject"

_NOT_TOOLS = ["GENERATION", "AGENT"]


class _Row(msgspec.Struct, rename="camel", gc=False):
    """One observation, v1 or v2 form; the order is that of ``Observation``."""

    id: str
    trace_id: str
    start_time: datetime
    type: str | None = "SPAN"
    name: str | None = ""
    end_time: datetime | None = None
    parent_id: str | None = msgspec.field(default=None, name="parentObservationId")
    level: str | None = "DEFAULT"
    status_message: str | None = ""
    environment: str | None = "default"
    input: Any = None
    output: Any = None
    metadata: Any = None
    updated_at: datetime | None = None
    created_at: datetime | None = None
    trace_name: str | None = ""
    session_id: str | None = ""
    user_id: str | None = ""
    tags: tuple[str, ...] | None = ()
    model: str | None = ""


class _Meta(msgspec.Struct, rename="camel"):
    cursor: str | None = None
    total_pages: int = 0
    total_items: int = 0


class _Rows(msgspec.Struct):
    data: list[_Row]
    meta: _Meta = msgspec.field(default_factory=_Meta)


class ObservationPage(NamedTuple):
    """A page of observations, in the server's order."""

    observations: list[Observation]
    unreadable: dict[ObservationKey, str]
    cursor: str | None
    total_pages: int
    total_items: int


_decode_rows = msgspec.json.Decoder(_Rows).decode
_astuple = msgspec.structs.astuple
_observation = partial(tuple.__new__, Observation)


def observations(page: bytes) -> ObservationPage:
    """Decode a page of either version; raises AskForLess when it cannot be decoded at all."""
    try:
        rows = _decode_rows(page)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _observations_one_by_one(page)
    return ObservationPage([_tidied(row) for row in rows.data], {}, rows.meta.cursor or None, rows.meta.total_pages, rows.meta.total_items)


def observations_v2(page: bytes) -> tuple[list[Observation], str | None]:
    """Return the observations and the cursor of a v2 page."""
    decoded = observations(page)
    return decoded.observations, decoded.cursor


def observation(row: Mapping[str, Any]) -> Observation:
    """Read one observation in v1 or v2 form, or as an export writes it; raises ValueError when it is none."""
    try:
        return _tidied(msgspec.convert(_camel(row), _Row, strict=False))
    except (msgspec.ValidationError, RecursionError) as error:
        raise ValueError("not an observation: it needs id, traceId and startTime") from error


def _camel(row: Mapping[str, Any]) -> dict[str, Any]:
    """Take the snake_case names of an export for ours."""
    if "traceId" in row or "trace_id" not in row:
        return dict(row)
    spelled: dict[str, Any] = {}
    for name, value in row.items():
        head, *tail = str(name).split("_")
        spelled[head + "".join(part.title() for part in tail)] = value
    return spelled


def _tidied(row: _Row) -> Observation:
    made: Observation = _observation(_astuple(row))
    if (
        None in (row.name, row.status_message, row.trace_name, row.session_id, row.user_id, row.model, row.tags)
        or not row.environment
        or not row.type
        or not row.level
        or row.start_time.tzinfo is None
        or (row.metadata is not None and not isinstance(row.metadata, dict))
    ):
        return made._replace(
            name=row.name or "",
            status_message=row.status_message or "",
            trace_name=row.trace_name or "",
            session_id=row.session_id or "",
            user_id=row.user_id or "",
            model=row.model or "",
            tags=row.tags or (),
            environment=row.environment or "default",
            type=row.type or "SPAN",
            level=row.level or "DEFAULT",
            start_time=_aware(row.start_time),
            end_time=row.end_time and _aware(row.end_time),
            metadata=row.metadata if isinstance(row.metadata, dict) else None,
        )
    return made


def _aware(at: datetime) -> datetime:
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def _observations_one_by_one(page: bytes) -> ObservationPage:
    try:
        decoded = json.loads(page.decode("utf-8", "replace"))
        rows, meta = decoded["data"], decoded.get("meta") or {}
        cursor, pages, items = meta.get("cursor"), meta.get("totalPages"), meta.get("totalItems")
        rows = list(rows)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise AskForLess(f"the answer cannot be decoded: {type(error).__name__}") from error
    found: list[Observation] = []
    unreadable: dict[ObservationKey, str] = {}
    for row in rows:
        try:
            found.append(observation(row))
        except (ValueError, TypeError, AttributeError):
            if isinstance(row, dict) and isinstance(row.get("id"), str) and isinstance(row.get("traceId"), str):
                unreadable[ObservationKey(row["traceId"], row["id"])] = "the row cannot be decoded"
    return ObservationPage(
        found,
        unreadable,
        cursor if isinstance(cursor, str) and cursor else None,
        pages if isinstance(pages, int) else 0,
        items if isinstance(items, int) else 0,
    )


# ---------------------------------------------------------------- asking for observations


def discovery(names: Sequence[str]) -> list[list[dict[str, Any]]]:
    """Return the filters that together find every observation that may carry a call, on a server that filters by text.

    Never the input of a generation: each later one of a session repeats the patches of the earlier.
    """
    not_a_model = _options("type", "none of", _NOT_TOOLS)
    filters = [
        [_matches("input", MARKER), not_a_model],
        [_matches("output", MARKER), _options("type", "any of", ["GENERATION"])],
        [_matches("output", TOOL), _options("type", "any of", ["GENERATION"])],
    ]
    if names:
        filters.append([_options("name", "any of", list(names)), not_a_model])
    return filters


def by_id(ids: Sequence[str]) -> list[dict[str, Any]]:
    """Return the filter for these observations."""
    return [_options("id", "any of", list(ids))]


def _matches(column: str, value: str) -> dict[str, Any]:
    return {"type": "string", "column": column, "operator": "matches", "value": value}


def _options(column: str, operator: str, values: list[str]) -> dict[str, Any]:
    return {"type": "stringOptions", "column": column, "operator": operator, "value": values}


def query(  # noqa: PLR0913 - the parameters of the request
    *,
    fields: str = "",
    limit: int = 0,
    window: Window | None = None,
    filters: Sequence[Mapping[str, Any]] = (),
    cursor: str | None = None,
    page: int = 0,
    trace_id: str | None = None,
) -> dict[str, str]:
    """Return the query of a v1 or v2 read of observations. A window's times are ISO 8601 with milliseconds."""
    asked = {
        "fields": fields,
        "limit": str(limit or ""),
        "page": str(page or ""),
        "fromStartTime": spelled(window.start) if window else "",
        "toStartTime": spelled(window.end) if window else "",
        "filter": json.dumps(list(filters), separators=(",", ":")) if filters else "",
        "cursor": cursor or "",
        "traceId": trace_id or "",
    }
    return {name: value for name, value in asked.items() if value}


def spelled(at: datetime) -> str:
    """Return a time as Langfuse spells it: UTC, milliseconds."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z"


# ---------------------------------------------------------------- writing scores


def score_body(score: Score, *, config_id: str | None = None) -> dict[str, Any]:
    """Return a score as both write paths take it, the time aside."""
    body: dict[str, Any] = {
        "id": score.id,
        "traceId": score.trace_id,
        "name": score.name,
        "value": score.value,
        "dataType": "CATEGORICAL" if isinstance(score.value, str) else "NUMERIC",
        "environment": score.environment,
        "comment": score.comment,
        "metadata": dict(score.metadata),
    }
    if score.observation_id is not None:
        body["observationId"] = score.observation_id
    if config_id is not None:
        body["configId"] = config_id
    return body


def listed_score(score: Score, *, config_id: str | None = None) -> dict[str, Any]:
    """Return a score for the list form of ``POST /scores``, which takes its time in the body."""
    return {**score_body(score, config_id=config_id), "timestamp": score.timestamp.astimezone(UTC).isoformat(timespec="milliseconds")}


def ingestion_event(score: Score, *, config_id: str | None = None) -> dict[str, Any]:
    """Return a score as an event of ``POST /ingestion``; its id names score and payload, so a repetition is the same event."""
    body = score_body(score, config_id=config_id)
    name = f"{score.id}\x1f{score.metadata.get('fingerprint', '')}\x1f{config_id or ''}"
    return {
        "id": sha256(name.encode("utf-8", "replace")).hexdigest()[:32],
        "timestamp": score.timestamp.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "type": "score-create",
        "body": body,
    }


def encoded(value: object) -> bytes:
    """Return compact JSON; what no UTF-8 can spell is replaced."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace")


class EventAnswer(NamedTuple):
    """What the server said of one event."""

    id: str
    status: int
    message: str


def event_answers(content: bytes) -> list[EventAnswer]:
    """Decode the answer of ``POST /ingestion``."""
    decoded = _json_object(content)
    answers: list[EventAnswer] = []
    for kind in ("successes", "errors"):
        entries = decoded.get(kind)
        for entry in entries if isinstance(entries, list) else []:
            if isinstance(entry, dict):
                status = entry.get("status")
                message = entry.get("message")
                answers.append(
                    EventAnswer(
                        str(entry.get("id", "")), status if isinstance(status, int) else 0, message if isinstance(message, str) else ""
                    )
                )
    return answers


# ---------------------------------------------------------------- reading scores


def scores_query(ids: Sequence[str]) -> dict[str, str]:
    """Return the query of a v3 read of scores by id."""
    return {"id": ",".join(ids), "fields": SCORE_FIELDS, "limit": str(len(ids))}


def scores_query_v2(ids: Sequence[str]) -> dict[str, str]:
    """Return the query of a v2 read of scores by id."""
    return {"scoreIds": ",".join(ids), "limit": str(len(ids))}


def seen_scores(content: bytes) -> dict[str, SeenScore]:
    """Decode a page of scores of either version. Of two rows with one id the newer update is kept."""
    entries = _json_object(content).get("data")
    found: dict[str, SeenScore] = {}
    newest: dict[str, str] = {}
    for entry in entries if isinstance(entries, list) else []:
        seen = _seen_score(entry) if isinstance(entry, dict) else None
        if seen is None:
            continue
        updated = str(entry.get("updatedAt") or "")
        if seen.id not in found or updated > newest[seen.id]:
            found[seen.id] = seen
            newest[seen.id] = updated
    return found


def _seen_score(entry: Mapping[str, Any]) -> SeenScore | None:
    identity, name, value = entry.get("id"), entry.get("name"), entry.get("value")
    metadata = entry.get("metadata")
    if isinstance(entry.get("stringValue"), str) and entry.get("dataType") == "CATEGORICAL":
        value = entry["stringValue"]
    try:
        at = _aware(datetime.fromisoformat(str(entry.get("timestamp"))))
    except ValueError:
        return None
    if not isinstance(identity, str) or not isinstance(name, str) or isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    fingerprint = metadata.get("fingerprint") if isinstance(metadata, dict) else None
    shown = value if isinstance(value, str) else float(value)
    return SeenScore(identity, name, shown, at, fingerprint if isinstance(fingerprint, str) else "")


# ---------------------------------------------------------------- who answers


def version_of(content: bytes) -> str:
    """Return the version of a health answer, ``""`` when it tells none."""
    version = _json_object(content).get("version")
    return version if isinstance(version, str) else ""


class Named(NamedTuple):
    """A project as the server names it."""

    id: str
    name: str


def project_of(content: bytes) -> Named | None:
    """Return the project of a key."""
    entries = _json_object(content).get("data")
    first = entries[0] if isinstance(entries, list) and entries else None
    if not isinstance(first, dict) or not isinstance(first.get("id"), str):
        return None
    name = first.get("name")
    return Named(first["id"], name if isinstance(name, str) else "")


def message_of(content: bytes) -> str:
    """Return the short message of an error answer, cleaned: one line, printable, 200 characters at most."""
    message = _json_object(content).get("message")
    if not isinstance(message, str):
        return ""
    line = " ".join(message.split())
    return "".join(character for character in line if character.isprintable())[:200]


class Limit(NamedTuple):
    """What a 429 tells of itself."""

    limit: int
    wait: float | None


def limit_of(content: bytes) -> Limit:
    """Return the limit and the wait of a 429's body."""
    details = _json_object(content).get("details")
    limit, wait = (details.get("limit"), details.get("retryAfterSeconds")) if isinstance(details, dict) else (None, None)
    return Limit(limit if isinstance(limit, int) else 0, float(wait) if isinstance(wait, int | float) and wait >= 0 else None)


def _json_object(content: bytes) -> dict[str, Any]:
    try:
        decoded = json.loads(content.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return {}
    return decoded if isinstance(decoded, dict) else {}
