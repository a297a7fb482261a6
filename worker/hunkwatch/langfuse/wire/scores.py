"""Scores as they are written and as they are shown."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from hunkwatch.langfuse.wire import salvage
from hunkwatch.langfuse.wire.answers import json_object, json_rows, short
from hunkwatch.langfuse.wire.asking import spelled
from hunkwatch.ports import SeenScore

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hunkwatch.core.model import Score

SCORE_FIELDS = "core,details,subject"

# ---------------------------------------------------------------- writing


def score_body(score: Score, *, config_id: str | None = None) -> dict[str, Any]:
    """Return a score as both write paths take it, the time aside; all of it, each time, since Langfuse merges."""
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
    return {**score_body(score, config_id=config_id), "timestamp": spelled(score.timestamp)}


def ingestion_event(score: Score, *, config_id: str | None = None) -> dict[str, Any]:
    """Return a score as an event of ``POST /ingestion``.

    The event's id names its whole content, so a repetition is the same event and a change is another. Raises ValueError for a score
    that JSON cannot carry.
    """
    body = score_body(score, config_id=config_id)
    at = spelled(score.timestamp)
    return {"id": sha256(encoded([at, body])).hexdigest()[:32], "timestamp": at, "type": "score-create", "body": body}


def batch(events: Sequence[bytes]) -> bytes:
    """Return the body of ``POST /ingestion``."""
    return b'{"batch":[' + b",".join(events) + b"]}"


def encoded(value: object) -> bytes:
    """Return compact JSON; a character that UTF-8 cannot carry is replaced. Raises ValueError for NaN and infinity."""
    return salvage.mended(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)).encode()


class EventAnswer(NamedTuple):
    """What the server said of one event."""

    id: str
    status: int
    message: str


def event_answers(content: bytes) -> list[EventAnswer]:
    """Decode the answer of ``POST /ingestion``."""
    said = json_object(content)
    answers: list[EventAnswer] = []
    for kind in ("successes", "errors"):
        entries = said.get(kind)
        for entry in entries if isinstance(entries, list) else []:
            if isinstance(entry, dict):
                status = entry.get("status")
                answers.append(EventAnswer(str(entry.get("id", "")), status if isinstance(status, int) else 0, short(entry.get("message"))))
    return answers


class ListTold(NamedTuple):
    """What the 207 of ``POST /scores`` counts; ``message`` is the first complaint, which names no score."""

    rejected: int | None
    message: str


def list_told(content: bytes) -> ListTold:
    """Decode the 207 of ``POST /scores``."""
    said = json_object(content)
    rejected, errors = said.get("rejected"), said.get("errors")
    first = errors[0] if isinstance(errors, list) and errors and isinstance(errors[0], dict) else {}
    return ListTold(rejected if isinstance(rejected, int) else None, short(first.get("message")))


# ---------------------------------------------------------------- reading back


def scores_query(ids: Sequence[str]) -> dict[str, str]:
    """Return the query of a v3 read of scores by id."""
    return {"id": ",".join(ids), "fields": SCORE_FIELDS, "limit": str(len(ids))}


def scores_query_v2(ids: Sequence[str]) -> dict[str, str]:
    """Return the query of a v2 read of scores by id."""
    return {"scoreIds": ",".join(ids), "limit": str(len(ids))}


def seen_scores(content: bytes) -> dict[str, SeenScore]:
    """Decode a page of scores of either version. Of two rows with one id the newer update is kept."""
    found: dict[str, SeenScore] = {}
    newest: dict[str, str] = {}
    for row in json_rows(content):
        seen = _seen_score(row)
        if seen is None:
            continue
        updated = str(row.get("updatedAt") or "")
        if seen.id not in found or updated > newest[seen.id]:
            found[seen.id] = seen
            newest[seen.id] = updated
    return found


def _seen_score(row: Mapping[str, Any]) -> SeenScore | None:
    identity, name, value, metadata = row.get("id"), row.get("name"), row.get("value"), row.get("metadata")
    if isinstance(row.get("stringValue"), str) and row.get("dataType") == "CATEGORICAL":
        value = row["stringValue"]
    try:
        at = datetime.fromisoformat(str(row.get("timestamp")))
    except ValueError:
        return None
    if not isinstance(identity, str) or not isinstance(name, str) or isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    fingerprint = metadata.get("fingerprint") if isinstance(metadata, dict) else None
    shown = value if isinstance(value, str) else float(value)
    at = at.astimezone(UTC) if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return SeenScore(identity, name, shown, at, fingerprint if isinstance(fingerprint, str) else "")
