"""``POST /api/public/ingestion``: a batch of events, each accepted or refused by itself, always answered with 207.

In ``events_only`` mode only scores and log lines are taken. An observation that comes in parts is merged by its id.
"""

import json
import uuid
from collections.abc import Mapping
from typing import Any

from hunkwatch.sandbox import answers, moments, rows, scorebody
from hunkwatch.sandbox.state import Room, State

ALWAYS = {"score-create", "sdk-log"}
KINDS = {
    "span", "generation", "event", "agent", "tool", "chain", "retriever", "evaluator", "embedding", "guardrail",
}  # fmt: skip
NOT_TAKEN = (
    'Event type "{}" is not accepted by /api/public/ingestion when LANGFUSE_MIGRATION_V4_WRITE_MODE is events_only. '
    "This endpoint only accepts score and log events. Upgrade the client or integration to a v4-compatible SDK or OTLP ingestion path. "
    "As a temporary migration bridge, set LANGFUSE_MIGRATION_V4_WRITE_MODE=dual on both the web and worker services and redeploy. Docs: "
    "https://langfuse.com/self-hosting/upgrade/upgrade-guides/upgrade-v3-to-v4"
)
NO_SUCH_TYPE = [{"code": "invalid_union", "errors": [], "note": "No matching discriminator", "discriminator": "type", "path": ["type"]}]


def take(state: State, room: Room, body: object) -> dict[str, Any]:
    """Take every good event of a batch and say what became of each."""
    batch = body.get("batch", answers.ABSENT) if isinstance(body, Mapping) else answers.ABSENT
    if not isinstance(batch, list):
        raise answers.Answer(400, {"message": "Invalid request data", "errors": [answers.expected("array", batch, ["batch"])]})
    successes, errors = [], []
    for event in batch:
        id_ = event.get("id", "unknown") if isinstance(event, Mapping) else "unknown"
        refusal = _refusal(state, event) or _chance(state, room, id_)
        if refusal is None:
            _apply(state, room, event)
            successes.append({"id": id_, "status": 201})
        else:
            errors.append({"id": id_, **refusal})
    return {"successes": successes, "errors": errors}


def _chance(state: State, room: Room, id_: str) -> dict[str, Any] | None:
    if not state.strikes("partial", room, str(id_), state.habits.partial_errors):
        return None
    return {"status": 500, "message": "Error processing events", "error": "Internal Server Error"}


def _refusal(state: State, event: object) -> dict[str, Any] | None:
    if not isinstance(event, Mapping) or not isinstance(event.get("id"), str):
        given = event.get("id", answers.ABSENT) if isinstance(event, Mapping) else answers.ABSENT
        return _invalid([answers.expected("string", given, ["id"])])
    kind = str(event.get("type"))
    if kind not in ALWAYS and not _known(kind):
        return _invalid([{**NO_SUCH_TYPE[0], "message": "Invalid input"}])
    if moments.parse(event.get("timestamp")) is None:
        return _invalid([answers.bad_time(["timestamp"])])
    if kind not in ALWAYS and state.is_v4 and not state.reads_v1:
        return {"status": 400, "message": "Event type not accepted", "error": NOT_TAKEN.format(kind)}
    body = event.get("body")
    if kind == "score-create" and (found := scorebody.issues(body)):
        return _invalid([{**issue, "path": ["body", *issue["path"]]} for issue in found])
    if kind not in ALWAYS and not isinstance(body, Mapping):
        return _invalid([answers.expected("object", body, ["body"])])
    return None


def _invalid(issues: list[answers.Issue]) -> dict[str, Any]:
    return {"status": 400, "message": "Invalid request data", "error": json.dumps(issues, indent=2, ensure_ascii=False)}


def _known(kind: str) -> bool:
    noun, _, verb = kind.rpartition("-")
    return (
        kind == "trace-create" or (noun in KINDS and verb in {"create", "update"}) or kind in {"observation-create", "observation-update"}
    )


def _apply(state: State, room: Room, event: Mapping[str, Any]) -> None:
    kind, body = event["type"], event.get("body") or {}
    if kind == "score-create":
        accept_score(state, room, body, timestamp=moments.parse(event["timestamp"]))
    elif kind == "trace-create":
        take_trace(state, room, body, event["timestamp"])
    elif kind != "sdk-log":
        _take_observation(state, room, kind.rpartition("-")[0], body, event["timestamp"])


def accept_score(state: State, room: Room, body: Mapping[str, Any], *, timestamp: int | None) -> str:
    """Queue a good score and give its id; some of them are lost on the way, if that is a habit."""
    id_ = body.get("id") or str(uuid.uuid4())
    moment = state.now() if timestamp is None else timestamp
    if not state.strikes("dropped", room, id_, state.habits.dropped_scores):
        room.scores.write({**body, "id": id_}, timestamp=moment, at=state.later(state.habits.delays.score))
        room.scores.advance(state.now())
    return id_


def take_trace(state: State, room: Room, body: Mapping[str, Any], timestamp: str) -> str:
    """Merge what is sent into a trace, tell its rows, and give its id."""
    id_ = body.get("id") or str(uuid.uuid4())
    known = room.traces.setdefault(id_, {"id": id_, "createdAt": state.now(), "timestamp": body.get("timestamp") or timestamp})
    known.update({key: value for key, value in body.items() if value is not None and key not in {"id", "timestamp"}})
    known["updatedAt"] = state.now()
    context = room.shelf.share(rows.context_from({**known, "traceName": known.get("name"), "traceMetadata": known.get("metadata")}))
    for row in room.shelf.of_traces([id_]):
        row.context = context
    root = rows.from_wire(
        {**known, "id": f"t-{id_}", "traceId": id_, "startTime": known["timestamp"]}, now=state.now(), share=room.shelf.share
    )
    root.metadata, root.context, root.seen = None, context, state.later(state.habits.delays.staged)
    root.seen_v1 = NEVER
    room.shelf.add([root])
    return id_


NEVER = 1 << 62


def _take_observation(state: State, room: Room, noun: str, body: Mapping[str, Any], timestamp: str) -> None:
    trace = body.get("traceId") or str(uuid.uuid4())
    id_ = body.get("id") or str(uuid.uuid4())
    known = [row for row in room.shelf.with_ids([id_]) if row.trace == trace]
    kind = {} if noun == "observation" else {"type": noun.upper()}
    parent = {} if body.get("parentObservationId") or known else {"parentObservationId": f"t-{trace}"}
    start = moments.write(known[0].start) if known else body.get("startTime") or timestamp
    wire = {**body, **kind, **parent, "id": id_, "traceId": trace, "startTime": body.get("startTime") or start}
    row = rows.from_wire(wire, now=state.now(), share=room.shelf.share)
    if known:
        row = rows.merged(known[0], row, wire)
    elif trace in room.traces:
        about = room.traces[trace]
        row.context = room.shelf.share(rows.context_from({**about, "traceName": about.get("name"), "traceMetadata": about.get("metadata")}))
    row.seen, row.seen_v1 = state.later(state.habits.delays.staged), state.later(state.habits.delays.ingestion)
    state.shelve(room, [row])
