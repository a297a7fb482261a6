"""Traces and sessions of the v1 reading, put together from their observations and from ``trace-create`` events."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from starlette.datastructures import QueryParams

from hunkwatch.sandbox import answers, filters, legacy, legacyscores, moments, pages
from hunkwatch.sandbox.filters import Condition
from hunkwatch.sandbox.rows import Row, text_of
from hunkwatch.sandbox.scores import Score
from hunkwatch.sandbox.state import Room

PARTS = ("core", "io", "scores", "observations", "metrics")
FROM_SPAN = ("attributes", "resourceAttributes", "scope")
AVERAGES = {"scores_avg", "Scores (numeric)"}
CATEGORIES = {"score_categories", "Scores (categorical)"}
Trace = dict[str, Any]


def assemble(room: Room, id_: str, now: int) -> tuple[Trace, list[Row]] | None:
    """A trace's own fields and its rows, or None if nobody has written to it."""
    rows = legacy.newest(room.shelf.of_traces([id_]), now)
    record = room.traces.get(id_)
    if not rows and record is None:
        return None
    written = dict(_from_record(record)) if record else {}
    return {"id": id_, "projectId": room.project.id} | (_from_rows(rows) | written if rows else BARE | written), rows


BARE: Trace = {
    "name": None, "timestamp": None, "environment": "default", "tags": [], "bookmarked": False, "release": None, "version": None,
    "userId": None, "sessionId": None, "public": False, "input": None, "output": None, "metadata": {},
}  # fmt: skip


def _from_record(record: Mapping[str, Any]) -> Trace:
    known = {"input": None, "output": None, "metadata": {}} | {key: record[key] for key in BARE if record.get(key) is not None}
    created = moments.write(record["createdAt"] // 1000 * 1000)
    return {
        **known,
        "timestamp": moments.write(moments.parse(record["timestamp"]) or 0),
        "createdAt": created,
        "updatedAt": moments.write(record["updatedAt"]),
    }


def _from_rows(rows: Sequence[Row]) -> Trace:
    root = min(rows, key=lambda row: (row.parent is not None and row.parent != f"t-{row.trace}", row.start))
    context = next((row.context for row in rows if row.context.name), root.context)
    own = json.loads(context.metadata) if context.metadata else {}
    return {
        "name": context.name or root.name,
        "timestamp": moments.write(min(row.start for row in rows)),
        "environment": root.environment,
        "tags": list(context.tags),
        "bookmarked": context.bookmarked,
        "release": context.release or None,
        "version": root.version or None,
        "userId": context.user or None,
        "sessionId": context.session or None,
        "public": context.public,
        "input": legacy.parsed(text_of(root.input)),
        "output": legacy.parsed(text_of(root.output)),
        "metadata": own | {key: (root.metadata or {})[key] for key in FROM_SPAN if key in (root.metadata or {})},
        "createdAt": moments.write(min(row.created for row in rows) // 1000 * 1000),
        "updatedAt": moments.write(max(row.updated for row in rows)),
    }


def one(room: Room, id_: str, params: QueryParams, now: int) -> Trace:
    """The body of ``GET /traces/{id}`` with the parts that ``fields`` names, or a 404."""
    found = assemble(room, id_, now)
    if found is None:
        raise answers.missing(f"Trace {id_} not found within authorized project")
    trace, rows = found
    parts = frozenset(params.get("fields", ",".join(PARTS)).split(","))
    scores = [legacyscores.plain(score, room) for score in room.scores.of_traces([id_], now)] if "scores" in parts else []
    details = [legacy.as_detail(row, room.project.id) for row in rows] if "observations" in parts else []
    return {
        **(trace if "io" in parts else trace | {"input": None, "output": None, "metadata": {}}),
        "externalId": None,
        "scores": scores,
        "latency": _latency(rows),
        "observations": details,
        **_path(room, id_),
        "totalCost": _cost(rows),
    }


def listed(room: Room, params: QueryParams, now: int) -> dict[str, Any]:
    """The body of ``GET /traces``."""
    page, limit = pages.numbers(params)
    holds = [*_plain(params), *_filtered(room, params, now)]
    found = [pair for id_ in {*room.shelf.traces(), *room.traces} if (pair := assemble(room, id_, now))]
    column, _, direction = params.get("orderBy", "timestamp.desc").partition(".")
    kept = [pair for pair in found if all(hold(pair[0]) for hold in holds)]
    kept.sort(key=lambda pair: (str(pair[0].get(column) or ""), pair[0]["id"]), reverse=direction.lower() != "asc")
    part, meta = pages.cut(kept, page, limit)
    parts = frozenset(params.get("fields", ",".join(PARTS)).split(","))
    return {"data": [_row(room, trace, rows, parts, now) for trace, rows in part], "meta": meta}


def _row(room: Room, trace: Trace, rows: Sequence[Row], parts: frozenset[str], now: int) -> Trace:
    scores = [score["id"] for score in room.scores.of_traces([trace["id"]], now)] if "scores" in parts else []
    return {
        **(trace if "io" in parts else trace | {"input": None, "output": None, "metadata": {}}),
        "observations": [row.id for row in rows] if "observations" in parts else [],
        "scores": scores,
        "totalCost": _cost(rows) if "metrics" in parts else -1,
        "latency": _latency(rows) if "metrics" in parts else -1,
        **_path(room, trace["id"]),
        "externalId": None,
    }


def _path(room: Room, id_: str) -> dict[str, str]:
    return {"htmlPath": f"/project/{room.project.id}/traces/{id_}"}


def _latency(rows: Sequence[Row]) -> float:
    if not rows:
        return 0
    return answers.whole((max(row.end or row.start for row in rows) - min(row.start for row in rows)) / 1000)


def _cost(rows: Sequence[Row]) -> float:
    costs: list[float] = [((row.extras or {}).get("costDetails") or {}).get("total", 0) for row in rows]
    return sum(costs)


def _plain(params: QueryParams) -> list[Callable[[Trace], bool]]:
    exact = {key: params[key] for key in ("name", "userId", "sessionId", "version", "release") if key in params}
    holds: list[Callable[[Trace], bool]] = [lambda trace: all(trace[key] == value for key, value in exact.items())]
    if tags := set(params.getlist("tags")):
        holds.append(lambda trace: tags.issubset(trace["tags"]))
    if environments := params.getlist("environment"):
        holds.append(lambda trace: trace["environment"] in environments)
    times = {key: moments.parse(params[key]) for key in ("fromTimestamp", "toTimestamp") if key in params}
    if bad := [answers.bad_time([key]) for key, moment in times.items() if moment is None]:
        raise answers.invalid(bad)
    low, high = times.get("fromTimestamp"), times.get("toTimestamp")
    if low is not None:
        holds.append(lambda trace: _moment(trace) >= low)
    if high is not None:
        holds.append(lambda trace: _moment(trace) < high)
    return holds


def _moment(trace: Trace) -> int:
    return moments.parse(trace["timestamp"]) or 0


def _filtered(room: Room, params: QueryParams, now: int) -> list[Callable[[Trace], bool]]:
    if not params.get("filter"):
        return []
    return [_condition(room, condition, now) for condition in filters.read(params["filter"])]


def _condition(room: Room, condition: Condition, now: int) -> Callable[[Trace], bool]:
    def scores(trace: Trace) -> list[Score]:
        return [score for score in room.scores.of_traces([trace["id"]], now) if score["name"] == condition.key]

    if condition.column in AVERAGES:
        compare = filters.COMPARE[condition.operator]

        def on_average(trace: Trace) -> bool:
            values = [score["value"] for score in scores(trace) if score["dataType"] in {"NUMERIC", "BOOLEAN"}]
            return bool(values) and compare(sum(values) / len(values), condition.value)

        return on_average
    if condition.column in CATEGORIES:
        wanted = condition.operator == "any of"
        return lambda trace: any(score["stringValue"] in condition.value for score in scores(trace)) is wanted
    if condition.column in BARE and condition.type in {"string", "stringOptions"}:
        if condition.type == "stringOptions":
            return lambda trace: (trace[condition.column] in condition.value) is (condition.operator == "any of")
        compare_texts = filters.TEXT_COMPARE[condition.operator]
        return lambda trace: compare_texts(trace[condition.column] or "", condition.value)
    raise answers.refused(f"Column {condition.column} does not match a UI / CH table mapping.")


def sessions(room: Room, params: QueryParams, now: int) -> dict[str, Any]:
    """The body of ``GET /sessions``."""
    page, limit = pages.numbers(params)
    kept: dict[str, dict[str, Any]] = {}
    for id_ in {*room.shelf.traces(), *room.traces}:
        found = assemble(room, id_, now)
        if found and found[0]["sessionId"]:
            session = _session(room, found[0])
            old = kept.setdefault(session["id"], session)
            old["createdAt"] = min(old["createdAt"], session["createdAt"])
    everything = sorted(kept.values(), key=lambda session: (session["createdAt"], session["id"]), reverse=True)
    part, meta = pages.cut(everything, page, limit)
    return {"data": part, "meta": {key: meta[key] for key in ("totalItems", "totalPages", "page", "limit")}}


def session(room: Room, id_: str, now: int) -> dict[str, Any]:
    """The body of ``GET /sessions/{id}``, or a 404."""
    found = [
        pair[0] for trace in {*room.shelf.traces(), *room.traces} if (pair := assemble(room, trace, now)) and pair[0]["sessionId"] == id_
    ]
    if not found:
        raise answers.missing("Session not found within authorized project")
    found.sort(key=_moment, reverse=True)
    created = min(trace["createdAt"] for trace in found)
    return {**_session(room, found[0]), "createdAt": created, "traces": [trace | {"externalId": None} for trace in found]}


def _session(room: Room, trace: Trace) -> dict[str, Any]:
    return {"id": trace["sessionId"], "createdAt": trace["createdAt"], "projectId": room.project.id, "environment": trace["environment"]}
